"""Reads the recorded calls of a run: a list of them, and the bodies of one.

Rule 1: nothing is read whole into a list: a cassette may have 64 MB.
Rule 2: a line that is damaged, or that is still being written, is left out; numbers stay.
Rule 3: bodies are shortened, after the caller has removed credentials from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw, Struct

from mobox.models.cassettes import Recorded, body_of

MOST_LISTED: Final = 500
MOST_OF_BODY: Final = 1 << 19
"""Characters of a request or a response that are shown."""

_MODEL: Final = re.compile(r"models/([^/:]+)")


class ModelCall(Struct, rename="camel", kw_only=True):
    """A call of a model."""

    n: int
    """From 1 on, in the order in which calls ended."""
    provider: str
    method: str
    path: str
    model: str
    status: int
    started_at: int
    """In milliseconds; 0 in cassettes of older versions."""
    duration_ms: int
    request_size: int
    response_size: int
    """About: bytes of the bodies as they are stored."""
    cut: bool
    """The provider broke off."""


class ModelCallBodies(Struct, rename="camel", kw_only=True):
    """The request and the response of a call, as text, without credentials."""

    headers: dict[str, str]
    request: str
    response: str
    shortened: bool
    """Whether the end of a body was left out."""


class _Line(Struct):
    """A recorded call, without decoding its bodies."""

    provider: str
    method: str
    path: str
    status: int
    request: Raw = Raw(b"null")
    chunks: Raw = Raw(b"[]")
    cut: bool = False
    started_at: int = 0
    duration_ms: int = 0


class _Named(Struct):
    model: str = ""


_line: Final = msgspec.json.Decoder(_Line)
_named: Final = msgspec.json.Decoder(_Named)
_recorded: Final = msgspec.json.Decoder(Recorded)


def list_calls(file: Path) -> tuple[list[ModelCall], bool]:
    """The first calls of a cassette, and whether there are more; none, if there is no file."""
    calls = list(islice(_calls(file), MOST_LISTED + 1))
    return calls[:MOST_LISTED], len(calls) > MOST_LISTED


def read_call(file: Path, n: int, redact: Callable[[str], str]) -> ModelCallBodies | None:
    """The bodies of one call."""
    for number, line in _lines(file):
        if number == n:
            try:
                call = _recorded.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return None
            return _bodies(call, redact)
    return None


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with file.open("rb") as lines:
            yield from enumerate(lines, 1)
    except FileNotFoundError:
        return


def _calls(file: Path) -> Iterator[ModelCall]:
    for n, line in _lines(file):
        try:
            call = _line.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        yield ModelCall(
            n=n,
            provider=call.provider,
            method=call.method,
            path=call.path,
            model=_model_of(call),
            status=call.status,
            started_at=call.started_at,
            duration_ms=call.duration_ms,
            request_size=len(bytes(call.request)),
            response_size=len(bytes(call.chunks)),
            cut=call.cut,
        )


def _model_of(call: _Line) -> str:
    """The model that was asked for: it is in the request, or in the path."""
    try:
        named = _named.decode(call.request).model
    except msgspec.DecodeError:
        named = ""
    in_path = _MODEL.search(call.path)
    return named or (in_path[1] if in_path is not None else "")


def _bodies(call: Recorded, redact: Callable[[str], str]) -> ModelCallBodies:
    request = _request_text(call)
    response = b"".join(body_of(each) for each in call.chunks).decode("utf-8", "replace")
    whole = [redact(request), redact(response)]
    return ModelCallBodies(
        headers={name: redact(value) for name, value in call.headers.items()},
        request=whole[0][:MOST_OF_BODY],
        response=whole[1][:MOST_OF_BODY],
        shortened=any(len(text) > MOST_OF_BODY for text in whole),
    )


def _request_text(call: Recorded) -> str:
    if isinstance(call.request, str):
        return call.request
    return msgspec.json.format(msgspec.json.encode(call.request), indent=2).decode()
