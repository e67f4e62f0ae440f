"""What an agent or a model API writes, cut into raw JSON values. Sans-IO: bytes in, values out.

Rule 1: a line ends at byte 0x0A and nowhere else: U+2028, U+0085 and a lone CR are content. One CR
        before the LF, a UTF-8 BOM at the very start and blank lines are nothing.
Rule 2: how the bytes were cut into reads never changes the values.
Rule 3: no line is fatal. What is no JSON value comes out as a RAW event in its place, whole; only
        of a line or SSE event over the cap nothing is kept but its length.
Rule 4: every value can be stored and read back (`msgspec.json`) and walked by recursive code.
        So invalid UTF-8 and lone surrogates become U+FFFD; NaN, the infinities and numbers out of
        range become null; nesting past MAX_DEPTH is refused.
Rule 5: the body says itself what it is. The first line that is an SSE field (`data:`, `event:`,
        `id:`, `retry:`, or a `:` comment) makes it SSE, the first that is a JSON object or array
        makes it JSON lines, and so it stays. Noise before that is RAW and decides nothing.
Rule 6: in SSE the values are the events' data; `[DONE]` and the other fields are nothing. A line
        that is no field ends the event before it (so order is kept) and is a value if it is a
        JSON object, else RAW: noise that looks like SSE hides no object that comes after it.

A JSON value printed over several lines is out of scope: each of its lines is read alone.
SSE: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from mobox.events import Raw

__all__ = ["END", "MAX_DEPTH", "MAX_LINE", "Item", "JsonLines", "decode"]

MAX_LINE: Final = 16 * 1024 * 1024
"""The bytes of one line, or of the data of one SSE event, that are held in memory."""

MAX_DEPTH: Final = 200
"""How deep objects and arrays may nest. Python stops at 1000 frames, of which recursive code may
use two a level; the rest is for its callers and for the levels that the log wraps around it."""

END: Final = b"\n\n"
"""What ends whatever is open: one LF for the line, and one for the SSE event it belongs to."""

Item: TypeAlias = bytes | Raw
"""The bytes that should be one JSON value, or the event that stands for what is none."""

_BOM: Final = b"\xef\xbb\xbf"
_MAX_DIGITS: Final = 4300  # msgspec reads no longer integer, and CPython prints none
_SSE_STARTS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
_SSE_IGNORED: Final = (b"", b"event", b"id", b"retry")  # the empty name is a comment's
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class JsonLines:
    """Reads JSON lines or SSE, whichever comes; holds only what has not ended yet."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._line = _Held(max_line, "oversized line")
        self._bom = _BOM
        self._read: Callable[[list[Item]], list[Item]] | None = None

    def feed(self, data: bytes) -> list[Any]:
        """The values of what these bytes complete, in order."""
        return [decode(item) if isinstance(item, bytes) else item for item in self.split(data)]

    def close(self) -> list[Any]:
        """The values of what was not ended."""
        return self.feed(END)

    def split(self, data: bytes) -> list[Item]:
        """`feed` without the decoding, for whoever has a decoder of their own."""
        *lines, rest = data.split(b"\n")
        items = (self._read or self._decide)(self._ended(lines)) if lines else []
        self._line.add(rest)
        return items

    def _ended(self, lines: list[bytes]) -> list[Item]:
        # Only the first can have begun in an earlier read; the others are whole as they are.
        first, *others = lines
        whole = [self._line.end(first)]
        whole += [line if len(line) <= self._max_line else self._line.end(line) for line in others]
        return [item.removesuffix(b"\r") if isinstance(item, bytes) else item for item in whole]

    def _decide(self, lines: list[Item]) -> list[Item]:
        lines[0], self._bom = _without(self._bom, lines[0]), b""
        for number, line in enumerate(lines):
            if _is_sse(line):
                self._read = _ServerSentEvents(self._max_line).read
                return _not_blank(lines[:number]) + self._read(lines[number:])
            if _is_json(line):
                self._read = _not_blank
                break
        return _not_blank(lines)


def _without(prefix: bytes, line: Item) -> Item:
    return line.removeprefix(prefix) if isinstance(line, bytes) else line


def _is_sse(line: Item) -> bool:
    return isinstance(line, bytes) and line.startswith(_SSE_STARTS)


def _is_json(line: Item) -> bool:
    return isinstance(line, bytes) and isinstance(decode(line), dict | list)


def _not_blank(lines: list[Item]) -> list[Item]:
    return [line for line in lines if not isinstance(line, bytes) or line.strip()]


class _ServerSentEvents:
    """Lines in, the data of each event out."""

    def __init__(self, max_data: int) -> None:
        self._data = _Held(max_data, "oversized event")

    def read(self, lines: list[Item]) -> list[Item]:
        return [item for line in lines for item in self._read_line(line)]

    def _read_line(self, line: Item) -> list[Item]:
        if not isinstance(line, bytes):
            return [*self._dispatch(), line]
        if not line.strip():
            return self._dispatch()
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            self._data.add(b"\n" + value if self._data.size else value)
            return []
        return [] if name in _SSE_IGNORED else [*self._dispatch(), _stray(line)]

    def _dispatch(self) -> list[Item]:
        data = self._data.end(b"")
        is_nothing = isinstance(data, bytes) and data.strip() in (b"", b"[DONE]")
        return [] if is_nothing else [data]


def _stray(line: bytes) -> Item:
    return line if line.lstrip().startswith(b"{") else _as_text(line, "not SSE")


class _Held:
    """Bytes that come in pieces: kept up to a cap, past it only counted."""

    def __init__(self, cap: int, past_cap: str) -> None:
        self.size = 0
        self._cap = cap
        self._past_cap = past_cap
        # A bytearray grows in place: `bytes += bytes` would be quadratic for a large line that
        # arrives in small reads, and a list of the pieces costs 40 bytes of memory for each.
        self._kept = bytearray()

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size <= self._cap:
            self._kept += piece
        else:
            self._kept.clear()

    def end(self, piece: bytes) -> Item:
        """All the pieces, of which this is the last, as one."""
        if self.size == 0 and len(piece) <= self._cap:
            return piece
        self.add(piece)
        fits = self.size <= self._cap
        whole = bytes(self._kept) if fits else _dropped(self.size, self._past_cap)
        self._kept.clear()
        self.size = 0
        return whole


def decode(line: bytes) -> Any:
    """The JSON value that `line` is, or the RAW event that says why it is none."""
    try:
        value = _STRICT.decode(line)
    except (ValueError, RecursionError):
        return _decode_leniently(line)
    return _as_text(line, "nested too deeply") if _is_deep(line, value) else value


def _decode_leniently(line: bytes) -> Any:
    try:
        value = _storable(_LENIENT.decode(line.decode(errors="replace")))
    except RecursionError:
        return _as_text(line, "nested too deeply")
    except ValueError:
        return _as_text(line, "not JSON")
    return _as_text(line, "nested too deeply") if _is_deep(line, value) else value


def _storable(value: Any) -> Any:
    """`value` without surrogates; the decoder has already joined those that were pairs."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return value


def _is_deep(line: bytes, value: Any) -> bool:
    # Most lines are too short to nest that deep or have too few brackets: they are not walked.
    if len(line) <= 2 * MAX_DEPTH or line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    level, depth = [[value]], 0
    while level and depth <= MAX_DEPTH:
        level, depth = [inner for outer in level for inner in _containers(outer)], depth + 1
    return bool(level)


def _containers(outer: Any) -> list[Any]:
    values = outer.values() if isinstance(outer, dict) else outer
    return [value for value in values if isinstance(value, dict | list)]


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


def _as_text(line: bytes, source: str) -> Raw:
    return Raw(raw=line.decode(errors="backslashreplace"), source=source)


def _dropped(size: int, source: str) -> Raw:
    return Raw(raw={"dropped_bytes": size}, source=source)
