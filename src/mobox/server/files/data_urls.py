"""Decodes `data:` URLs piece by piece.

https://www.rfc-editor.org/rfc/rfc2397

Base64 may lack its padding and contain white space, as browsers accept it.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

PREFIX: Final = "data:"
_WHITE_SPACE: Final = b" \t\r\n\f"
_BASE64: Final = re.compile(r"(.*?)\s*;\s*base64\s*", re.DOTALL | re.IGNORECASE)
_ESCAPE: Final = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|[^u])", re.DOTALL)
_WHOLE: Final = re.compile(rb"(?:[^\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+", re.DOTALL)
_ESCAPED: Final = re.compile(rb"%[0-9a-fA-F]?\Z")


class Header(NamedTuple):
    """What stands before the comma."""

    media_type: str
    is_base64: bool


def read_header(text: str) -> Header:
    """The header of a `data:` URL, given all that is before the comma."""
    about = text.removeprefix(PREFIX)
    match = _BASE64.fullmatch(about)
    return Header(about if match is None else match[1], match is not None)


def unescaped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a JSON string; its encoder may have escaped any character of base64."""
    held = b""
    for piece in pieces:
        held += piece
        match = _WHOLE.match(held)
        end = match.end() if match is not None else 0
        yield _ESCAPE.sub(_character, held[:end])
        held = held[end:]
    if held:
        raise ValueError("it ends within an escape")


def _character(escape: re.Match[bytes]) -> bytes:
    text: str = json.loads(b'"%b"' % escape[0])
    return text.encode(errors="replace")


def decoded(pieces: Iterable[bytes], *, is_base64: bool) -> Iterator[bytes]:
    """The bytes that are written in pieces of text; raises `ValueError` if it is not base64."""
    plain = _without_percent(pieces)
    return _from_base64(plain) if is_base64 else plain


def _without_percent(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held = b""
    for piece in pieces:
        held += piece
        cut = _ESCAPED.search(held)
        end = len(held) if cut is None else cut.start()
        yield unquote_to_bytes(held[:end]) if b"%" in held else held[:end]
        held = held[end:]
    yield held


def _from_base64(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held, is_over = b"", False
    for piece in pieces:
        held += piece.translate(None, _WHITE_SPACE)
        end = len(held) // 4 * 4
        if end:
            yield _quads(held[:end], is_over)
            is_over = held[end - 1 : end] == b"="
            held = held[end:]
    if held:
        yield _quads(held + b"=" * (-len(held) % 4), is_over)


def _quads(text: bytes, is_over: bool) -> bytes:
    if is_over:
        raise ValueError("there is more after its end")
    return binascii.a2b_base64(text, strict_mode=True)  # whose error is a ValueError
