"""Splits the output of an agent or a model API into JSON values. Sans-IO: bytes in, values out.

Rule 1: a line ends at byte 0x0A only: U+2028, U+0085 and a lone CR are content. One CR before the
        LF, a UTF-8 BOM at the very start and blank lines are ignored.
Rule 2: how the bytes were split into reads never changes the values.
Rule 3: no line is fatal. A line that is not JSON becomes a RAW event in its place, complete; only
        of a line or SSE event over the size limit nothing but the length is kept.
Rule 4: every value can be stored and read back (`msgspec.json`) and walked by recursive code; see
        `mobox.events.json_text`.
Rule 5: the format is detected. The first line that is an SSE field (`data:`, `event:`, `id:`,
        `retry:`, or a `:` comment) makes it SSE, the first that is a JSON object or array makes it
        JSON lines, for good; but a logger may have written that one, so a `data:` line with an
        object still switches to SSE. Noise before that is RAW and decides nothing.
Rule 6: in SSE the values are the events' data; `[DONE]` and other fields are ignored. A line that
        is not a field ends the event before it (to keep the order) and is a value if it is a JSON
        object, else RAW: noise that looks like SSE hides no later object.

A JSON value that spans several lines is not supported: each line is read separately.
SSE: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from mobox.errors import NotJson
from mobox.events import Raw, json_text

MAX_LINE: Final = 16 * 1024 * 1024
"""The maximum size of one line, or of the data of one SSE event, in bytes."""

END: Final = b"\n\n"
"""Ends an open line and its SSE event: one LF for each."""

Item: TypeAlias = bytes | Raw
"""The bytes of one JSON value, or the RAW event of something that is not JSON."""

_BOM: Final = b"\xef\xbb\xbf"
_SSE_STARTS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
_SSE_OBJECTS: Final = (b"data: {", b"data:{")
_SSE_IGNORED: Final = (b"", b"event", b"id", b"retry")  # the empty name is a comment's


class JsonLines:
    """Reads JSON lines or SSE; buffers only the incomplete line or event."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._line = _Held(max_line, "oversized line")
        self._bom = _BOM
        self._read: Callable[[list[Item]], list[Item]] | None = None
        self._is_plain = False  # it is JSON lines
        self._longest = -1  # lines up to this length may pass unchecked; -1 for none

    def feed(self, data: bytes) -> list[Any]:
        """The values that these bytes complete, in order."""
        return [decode(item) if isinstance(item, bytes) else item for item in self.split(data)]

    def close(self) -> list[Any]:
        """The values of the incomplete rest."""
        return self.feed(END)

    def split(self, data: bytes) -> list[Item]:
        """`feed` without decoding, for callers that have their own decoder."""
        line, end, rest = data.partition(b"\n")
        # Most reads are one whole line. In braces it is not blank, nor SSE, and has no CR.
        if end and not rest and len(line) <= self._longest and line[:1] + line[-1:] == b"{}":
            return [line]
        lines = data.split(b"\n")
        rest = lines.pop()
        if len(data) <= self._longest and _is_easy(data):
            items: list[Item] = [*lines]
            if min(map(len, lines), default=0) <= 8:
                items = _not_blank(items)
        else:
            items = (self._read or self._decide)(self._ended(lines, data)) if lines else []
        if rest:
            self._line.add(rest)
        self._longest = self._max_line if self._is_plain and not self._line.size else -1
        return items

    def _ended(self, lines: list[bytes], data: bytes) -> list[Item]:
        # Only the first line can continue an earlier read; the others are complete.
        is_continued = self._line.size > 0
        items: list[Item] = [self._line.end(lines[0]), *lines[1:]]
        if not is_continued and len(data) <= self._max_line and _is_easy(data):
            return items
        cap = self._max_line
        items[1:] = [line if len(line) <= cap else self._line.end(line) for line in lines[1:]]
        return [item.removesuffix(b"\r") if isinstance(item, bytes) else item for item in items]

    def _decide(self, lines: list[Item]) -> list[Item]:
        if isinstance(lines[0], bytes):
            lines[0] = lines[0].removeprefix(self._bom)
        self._bom = b""
        for number, line in enumerate(lines):
            if _starts(line, _SSE_STARTS):
                return self._turn_to_sse(lines, number)
            if isinstance(line, bytes) and isinstance(decode(line), dict | list):
                self._read, self._is_plain = self._read_plain, True
                return _not_blank(lines[:number]) + self._read(lines[number:])
        return _not_blank(lines)

    def _read_plain(self, lines: list[Item]) -> list[Item]:
        for number, line in enumerate(lines):
            if _starts(line, _SSE_OBJECTS):
                return self._turn_to_sse(lines, number)
        return _not_blank(lines)

    def _turn_to_sse(self, lines: list[Item], number: int) -> list[Item]:
        self._read, self._is_plain = _ServerSentEvents(self._max_line).read, False
        return _not_blank(lines[:number]) + self._read(lines[number:])


def _is_easy(data: bytes) -> bool:
    """Whether no line ends in a CR or starts like SSE data."""
    return b"\r" not in data and b"\ndata:" not in data and not data.startswith(b"data:")


def _starts(line: Item, starts: tuple[bytes, ...]) -> bool:
    return isinstance(line, bytes) and line.startswith(starts)


def _not_blank(lines: list[Item]) -> list[Item]:
    return [line for line in lines if isinstance(line, Raw) or len(line) > 8 or line.strip()]


class _ServerSentEvents:
    """Parses SSE lines; returns the data of each event."""

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
        if name in _SSE_IGNORED:
            return []
        is_object = line.lstrip().startswith(b"{")
        return [*self._dispatch(), line if is_object else json_text.kept(line, "not SSE")]

    def _dispatch(self) -> list[Item]:
        data = self._data.end(b"")
        is_nothing = isinstance(data, bytes) and data.strip() in (b"", b"[DONE]")
        return [] if is_nothing else [data]


class _Held:
    """A buffer of bytes, kept up to a limit and only counted beyond it."""

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
        """Add the last piece; returns the whole."""
        if self.size == 0 and len(piece) <= self._cap:
            return piece
        self.add(piece)
        whole: Item = bytes(self._kept)
        if self.size > self._cap:
            whole = Raw(raw={"dropped_bytes": self.size}, source=self._past_cap)
        self._kept.clear()
        self.size = 0
        return whole


def decode(line: bytes) -> Any:
    """Decode a line; returns a RAW event with the reason if it is not JSON."""
    try:
        return json_text.decode_json(line)
    except NotJson as problem:
        return json_text.kept(line, str(problem))
