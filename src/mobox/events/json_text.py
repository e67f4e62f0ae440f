"""Decodes JSON text into values that can be stored and read back, whatever wrote it.

Agents write JSON that databases and browsers cannot read: what msgspec refuses is read again by the
standard library and sanitized. Invalid UTF-8 and lone surrogates become
U+FFFD; NaN, the infinities and numbers out of range become null; nesting past MAX_DEPTH is refused,
and so is text of more than MAX_CONTAINERS brackets.
"""

from __future__ import annotations

import json
import math
import re
from typing import Final

import msgspec

from mobox.errors import NotJson
from mobox.events import JSON, Raw

MAX_DEPTH: Final = 200
"""How deep objects and arrays may nest. Python stops at 1000 frames, of which recursive code may
use two a level; the rest is for its callers and for the levels that the log wraps around it."""

SHORT: Final = 2 * MAX_DEPTH
"""No text up to this length can nest past MAX_DEPTH: every level takes two brackets."""

MAX_CONTAINERS: Final = 500_000
"""How many opening brackets a text may have, including those in strings: each takes 2 bytes of a
line, but 60 of memory, and time in which the event loop is blocked."""

TOO_DEEP: Final = "nested too deeply"
TOO_MANY: Final = "too many objects and arrays"
_MAX_DIGITS: Final = 4300  # msgspec reads no longer integer, and CPython prints none
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def decode_json(text: bytes) -> JSON:
    """Decode `text`; raises `NotJson` with the reason if it is not JSON."""
    brackets = 0 if len(text) <= SHORT else text.count(b"[") + text.count(b"{")
    if brackets > MAX_CONTAINERS:
        raise NotJson(TOO_MANY)
    try:
        value = _STRICT.decode(text)
    except (ValueError, RecursionError):
        value = _decode_leniently(text)
    if brackets > MAX_DEPTH and _is_deep(value):  # most texts need no walk
        raise NotJson(TOO_DEEP)
    return value


def is_shallow(text: bytes) -> bool:
    """Whether `text` is too short or has too few brackets to nest too deeply. Cheap."""
    return len(text) <= SHORT or text.count(b"[") + text.count(b"{") <= MAX_DEPTH


def kept(text: bytes, why: str) -> Raw:
    """The RAW event for text which is not JSON."""
    return Raw(raw=text.decode(errors="backslashreplace"), source=why)


def _decode_leniently(text: bytes) -> JSON:
    try:
        return _storable(_LENIENT.decode(text.decode(errors="replace")))
    except RecursionError:
        raise NotJson(TOO_DEEP) from None
    except ValueError:
        raise NotJson("not JSON") from None


def _storable(value: JSON) -> JSON:
    """`value` without surrogates; the decoder has already joined those that were pairs."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return value


def _is_deep(value: JSON) -> bool:
    level: list[JSON] = [[value]]
    for _ in range(MAX_DEPTH + 1):  # no call for each container: a line may have millions
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
    return bool(level)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _integer(text: str) -> int | None:
    return int(text) if len(text) <= _MAX_DIGITS else None


def _null(_constant: str) -> None:
    return None


# msgspec reads almost everything. What it refuses is read again by the standard library, which
# takes control characters inside strings, lone surrogates and NaN, but is slower.
_STRICT: Final = msgspec.json.Decoder()
_LENIENT: Final = json.JSONDecoder(
    parse_float=_finite, parse_int=_integer, parse_constant=_null, strict=False
)
