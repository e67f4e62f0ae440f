"""What a recording is: an agent's output, a log of Mobox, or a cassette; and its framework.

Rule 1: only the shapes of the first lines count, as in `mobox.parsers.detection`.
Rule 2: what cannot be a recording is refused with a sentence that says why.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import Struct

from mobox.capture.jsonlines import JsonLines
from mobox.errors import InvalidRequest
from mobox.events import JSON
from mobox.models.cassettes import Recorded, response_of
from mobox.parsers import EmittedParser, check_framework
from mobox.parsers.detection import Detector, Guess

Kind = Literal["output", "log", "cassette"]

AUTO: Final = "auto"
LOG: Final = "log"
"""In place of a framework: the entries of a log are events already."""
_FIRST: Final = 1 << 20
"""Bytes that are looked at."""
_LOG_KEYS: Final = {"seq", "id", "ts", "event"}
_CALL_KEYS: Final = {"provider", "method", "path", "status"}


class Recording(Struct, frozen=True, kw_only=True):
    """A recording, and how it is read."""

    data: bytes
    kind: Kind
    framework: str
    guess: Guess | None = None
    """What its lines look like."""
    calls: tuple[Recorded, ...] = ()
    """Of a cassette."""


def open_recording(data: bytes, framework: str = AUTO) -> Recording:
    """Find out what it is; `framework` is a person's choice. Raises `InvalidRequest`."""
    _check_text(data)
    first = _first_values(data)
    kind = _kind_of(first[0] if first else None)
    calls = _read_calls(data) if kind == "cassette" else ()
    seen = _values_of_calls(calls) if kind == "cassette" else first
    guess = None if kind == "log" else _guess(seen)
    if framework == AUTO:
        found = guess.framework if guess is not None else None
        framework = LOG if kind == "log" else found or EmittedParser.framework
    if framework != LOG:
        check_framework(framework)
        kind = "output" if kind == "log" else kind
    return Recording(data=data, kind=kind, framework=framework, guess=guess, calls=calls)


def _check_text(data: bytes) -> None:
    if not data.strip():
        raise InvalidRequest("", "the file is empty")
    if b"\0" in data[:_FIRST]:
        raise InvalidRequest("", "expected text: JSON lines, an SSE body or a cassette")


def _first_values(data: bytes) -> list[JSON]:
    lines = JsonLines()
    values = lines.feed(data[:_FIRST])
    if len(data) <= _FIRST:
        values += lines.close()
    return values


def _kind_of(first: JSON) -> Kind:
    keys = first.keys() if isinstance(first, dict) else set()
    if keys >= _LOG_KEYS and isinstance(first["event"], dict):
        return "log"
    return "cassette" if keys >= _CALL_KEYS else "output"


def _guess(values: list[JSON]) -> Guess | None:
    detector = Detector()
    for value in values:
        detector.see(value)
    return detector.guess()


# Cassettes

_decode_call: Final = msgspec.json.Decoder(Recorded).decode


def _read_calls(data: bytes) -> tuple[Recorded, ...]:
    lines = [line for line in data.splitlines() if line.strip()]
    return tuple(_call(line, number) for number, line in enumerate(lines, 1))


def _call(line: bytes, number: int) -> Recorded:
    try:
        call = _decode_call(line)
        response_of(call)
    except msgspec.DecodeError as error:
        raise InvalidRequest("", f"line {number} of the cassette: {error}") from None
    except (KeyError, ValueError, RecursionError):
        problem = 'expected chunks that are text, or {"base64": "…"}'
        raise InvalidRequest("", f"line {number} of the cassette: {problem}") from None
    return call


def _values_of_calls(calls: tuple[Recorded, ...]) -> list[JSON]:
    """The values of the first response that has some."""
    for call in calls:
        lines = JsonLines()
        if values := lines.feed(response_of(call)) + lines.close():
            return values
    return []
