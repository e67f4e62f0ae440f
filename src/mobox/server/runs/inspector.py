"""The inspector's rows: a raw line, the events parsed from it, and their frames per format.

Rule 1: a row is a log entry; a line is shown at the first entry parsed from it or, if there is
        none, at the next entry.
Rule 2: lines are committed with their events, so the lines of all read entries are stored, unless
        they were pruned.
Rule 3: documents that end a response where the run waits are shown at PAUSED, separately: a
        response that continues there does not have them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Final

import msgspec
from msgspec import Struct

from mobox.events import JSON, LogEntry, Paused, StreamEvent
from mobox.events.waiting import waits_after
from mobox.formatters import Formatter
from mobox.parsers.detection import is_unread
from mobox.storage.log import Log, RawEntry, RunId

LONGEST: Final = 256 * 1024
"""Bytes of a line, an event or a frame in a row."""
FORMATTED: Final = 8 << 20
"""Bytes of a log whose frames are shown: formatters keep what they have formatted."""
_BEGINNING: Final = 2000
_UNFORMATTED: Final = (
    "frames are left out from here on, as the log is too long; read it in one format with "
    "GET /api/runs/{run_id}/events?format={name}"
)
_MANY: Final = 16
"""Entries that are formatted in a thread, so that other requests go on."""


class InspectedLine(Struct, rename="camel", kw_only=True):
    """A raw line of the agent; one without events has `lastSeq` before `firstSeq`."""

    n: int
    first_seq: int
    last_seq: int
    line: str


class Shortened(Struct, kw_only=True):
    """An event or a frame that is too long for a row: its type, bytes and first characters.

    The whole of it is in `GET /api/runs/{run_id}/events`.
    """

    type: str
    shortened: int
    beginning: str


class InspectedEntry(Struct, rename="camel", kw_only=True):
    """A log entry, the raw lines it was parsed from, and its frames in each format."""

    seq: int
    id: int
    ts: int | None
    event: StreamEvent | Shortened
    lines: list[InspectedLine]
    frames: dict[str, list[JSON]]
    endings: dict[str, list[JSON]]
    """Documents that end a response here; only where the run starts to wait."""
    waits: bool
    """Whether the run waits for an answer after this entry."""
    unread: bool
    """Whether this is a line, or a part of one, that the parser did not recognize."""


class Inspector:
    """Formats a log as inspector rows, with these formatters."""

    def __init__(self, log: Log | None, run_id: RunId, formatters: Mapping[str, Formatter]) -> None:
        self._log = log
        self._run_id = run_id
        self._formatters = formatters
        self._waits = False
        self._lines: deque[RawEntry] = deque()  # thousands may have no entry
        self._line = 0
        self._left = FORMATTED

    async def format_all(self, entries: Sequence[LogEntry]) -> list[list[bytes]]:
        """One document for each entry."""
        await self._read_lines(entries[-1].seq)
        if len(entries) < _MANY:
            return [[document] for document in self.rows(entries)]
        return [[document] for document in await asyncio.to_thread(self.rows, entries)]

    def rows(self, entries: Sequence[LogEntry], lines: Sequence[RawEntry] = ()) -> list[bytes]:
        """The rows of entries; `lines` are further lines, for a log that no store has."""
        self._lines += lines
        return [msgspec.json.encode(self._row(entry)) for entry in entries]

    def pause(self) -> list[bytes]:
        """Nothing: PAUSED has a row."""
        return []

    def resume(self) -> list[bytes]:
        """Nothing: each row has its own `seq`."""
        return []

    def _row(self, entry: LogEntry) -> InspectedEntry:
        event, encoded = entry.event, msgspec.json.encode(entry.event)
        self._waits = waits_after(self._waits, [event])
        self._left -= len(encoded)
        frames = self._frames(entry)
        return InspectedEntry(
            seq=entry.seq,
            id=entry.id,
            ts=entry.ts,
            event=event if len(encoded) <= LONGEST else _shortened(event.type, encoded),
            lines=list(self._lines_before(entry.seq)),
            frames=frames,
            endings=self._endings() if isinstance(event, Paused) else {},
            waits=self._waits,
            unread=is_unread(event),
        )

    def _frames(self, entry: LogEntry) -> dict[str, list[JSON]]:
        """The frames of an entry; where the log is too long, a note once, and no more."""
        if self._left >= 0:
            return {
                name: [_shown(document) for document in formatter.format(entry)]
                for name, formatter in self._formatters.items()
            }
        names, self._formatters = list(self._formatters), {}
        notes = {name: _UNFORMATTED.format(run_id=self._run_id, name=name) for name in names}
        return {
            name: [{"type": "shortened", "shortened": 0, "beginning": note}]
            for name, note in notes.items()
        }

    def _endings(self) -> dict[str, list[JSON]]:
        """The documents that end a response, from copies: a formatter cannot continue after it."""
        ended = {name: deepcopy(each).pause() for name, each in self._formatters.items()}
        return {name: [*map(_shown, documents)] for name, documents in ended.items() if documents}

    async def _read_lines(self, through: int) -> None:
        """Read raw lines until there is one of a later entry."""
        assert self._log is not None
        while not self._lines or self._lines[-1].first_seq <= through:
            found = await self._log.raw_lines(self._run_id, self._line)
            if not found:
                return
            self._lines += found
            self._line = found[-1].n

    def _lines_before(self, seq: int) -> Iterator[InspectedLine]:
        """The lines up to this entry that no earlier row has shown."""
        while self._lines and self._lines[0].first_seq <= seq:
            line = self._lines.popleft()
            yield InspectedLine(
                n=line.n,
                first_seq=line.first_seq,
                last_seq=line.last_seq,
                line=_line(line.line),
            )


def _shortened(type_: str, document: bytes) -> Shortened:
    beginning = document[:_BEGINNING].decode("utf-8", "replace")
    return Shortened(type=type_, shortened=len(document), beginning=beginning)


def _line(line: bytes) -> str:
    if len(line) <= LONGEST:
        return line.decode("utf-8", "replace")
    return line[:_BEGINNING].decode("utf-8", "replace") + f" [shortened: {len(line):,} bytes]"


def _shown(document: bytes) -> JSON:
    """A document in a row: JSON as it is; anything else, such as `[DONE]`, as a string."""
    if len(document) > LONGEST:
        return msgspec.to_builtins(_shortened("shortened", document))
    return msgspec.Raw(document) if document.startswith(b"{") else document.decode()
