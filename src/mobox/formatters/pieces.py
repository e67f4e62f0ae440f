"""Formats many deltas of a text at once: most of what any protocol sends."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mobox.events.entries import Texts

_encoder = msgspec.json.Encoder()
_encode, _encode_lines = _encoder.encode, _encoder.encode_lines


LINE_END = b"\n"


def format_pieces(prefix: bytes, pieces: Sequence[str], between: bytes) -> bytes:
    """For each piece a document: `prefix`, its JSON and a closing brace.

    Encoded in one call, as lines: no JSON text has a line end in it, so lines separate them.
    """
    end = b"}" + between + prefix
    if type(pieces) is Texts:
        texts = pieces.joined(end)
        return b"%b%b}" % (prefix, texts) if texts else b""
    if len(pieces) == 1:
        return b"%b%b}" % (prefix, _encode(pieces[0]))
    lines = _encode_lines(pieces).replace(LINE_END, end)
    return prefix + lines[: 1 - len(end)]


def split(joined: bytes) -> list[bytes]:
    """Split documents that are separated by line ends."""
    return joined.split(LINE_END) if joined else []
