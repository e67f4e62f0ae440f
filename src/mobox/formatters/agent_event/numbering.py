"""The fields of every event of the contract: its three numbers, its id, its time and its state.

`blockIndex` orders the blocks of a run, `eventIndex` the events of a session, without a gap, and
`sequenceNumber` all that is stored: it is the log entry's id, which increases over the whole store.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

import msgspec

from mobox.errors import InvalidCursor
from mobox.events import JSON, LogEntry

Documents = list[bytes]

DEFAULT: Final = "v1"
PROFILES: Final = {DEFAULT: False, "document": True}
"""Whether each stored event is also sent as pending, before it is sent as persisted."""

encode: Final = msgspec.json.Encoder().encode
_CHUNK: Final = b'%b%b%b,"eventIndex":%d,"eventId":%b%d.%d","timestamp":"%b"}'


class Numbering:
    """Adds these fields to the events of one run."""

    def __init__(
        self, message_id: str, first: int, last_known: int, *, sends_pending: bool
    ) -> None:
        self.message_id = message_id
        self.retracted: list[int] = []
        """The blocks that the next event retracts."""
        self._first = self._next = first
        self._last_known = last_known
        self._sends_pending = sends_pending
        self._id_opening = encode(f"{message_id}.")[:-1]
        self._seq = self._frame = self._id = 0
        self._ts: int | None = None
        self._when = b""

    @property
    def count(self) -> int:
        """How many events there are so far."""
        return self._next - self._first

    def turn_to(self, entry: LogEntry) -> None:
        """The next events belong to `entry`."""
        self._seq, self._frame, self._id = entry.seq, 0, entry.id
        # Without times, use values that at least sort in order.
        ts = entry.ts if entry.ts is not None else entry.seq
        if ts != self._ts:
            self._ts, self._when = ts, iso(ts).encode()

    def persisted(self, kind: str, **fields: JSON) -> Documents:
        """A complete event, which is in the log."""
        document = {
            "type": kind,
            "messageId": self.message_id,
            **fields,
            **self._retracted_blocks(),
        }
        index, frame = self._take()
        if index <= self._last_known:
            return []
        event_id = f"{self.message_id}.{self._seq}.{frame}"
        document |= {"eventIndex": index, "eventId": event_id, "timestamp": self._when.decode()}
        last = document | {"sequenceNumber": self._id, "persistenceState": "persisted"}
        if not self._sends_pending:
            return [encode(last)]
        return [encode(document | {"persistenceState": "pending"}), encode(last)]

    def chunk_of_entry(self, entry: LogEntry, prefix: bytes, text: str) -> Documents:
        """`chunk` for an entry that is another delta of the last block."""
        index = self._next
        self._next = index + 1
        if index <= self._last_known:
            return []
        ts = entry.ts if entry.ts is not None else entry.seq
        if ts != self._ts:
            self._ts, self._when = ts, iso(ts).encode()
        about = (prefix, encode(text), b"", index, self._id_opening, entry.seq, 1, self._when)
        return [_CHUNK % about]

    def chunk(self, prefix: bytes, text: str, **more: JSON) -> Documents:
        """A delta of a block; `prefix` is all that the block's deltas have in common."""
        more |= self._retracted_blocks()
        index, frame = self._take()
        if index <= self._last_known:
            return []
        besides = b"," + encode(more)[1:-1] if more else b""
        name = (self._id_opening, self._seq, frame)
        return [_CHUNK % (prefix, encode(text), besides, index, *name, self._when)]

    def chunk_prefix(self, kind: str, **fields: JSON) -> bytes:
        """A chunk up to its text: all that stays the same while its block is open."""
        about = {"type": kind, "messageId": self.message_id, **fields}
        return encode(about | {"persistenceState": "transient"})[:-1] + b',"content":'

    def _take(self) -> tuple[int, int]:
        """The index of the next event, and which of its entry's events it is."""
        index, self._next = self._next, self._next + 1
        self._frame += 1
        return index, self._frame

    def _retracted_blocks(self) -> dict[str, JSON]:
        if not self.retracted:
            return {}
        blocks, self.retracted = self.retracted, []
        return {"retracted": blocks}


class Place(NamedTuple):
    """The first run of a session that a client may not have completely."""

    run: int
    """The index of the run in the session; that of the last run if the client has all events."""
    first_event_index: int
    """The index of this run's first event."""


def place_of(last_event_index: int, counts: Sequence[int]) -> Place:
    """Where a client continues; `counts` are the numbers of events of its session's runs so far.

    -1 is a client that has none. An index past the last event belongs to another session.
    """
    starts = list(accumulate(counts, initial=0))
    if not -1 <= last_event_index < starts[-1]:
        raise InvalidCursor(last_event_index, starts[-1] - 1)
    ends = enumerate(starts[1:])
    run = next((n for n, end in ends if last_event_index + 1 < end), max(0, len(counts) - 1))
    return Place(run, starts[run])


_DAY: Final = 24 * 60 * 60
_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def iso(ms: int) -> str:
    """The time `ms` milliseconds after the start of 1970, as `Date.toISOString` writes it.

    Computed here, because formatters import no `datetime`: it has a clock.
    """
    seconds, thousandths = divmod(ms, 1000)
    days, second = divmod(seconds, _DAY)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"{_date(days)}T{hour:02}:{minute:02}:{second:02}.{thousandths:03}Z"


@lru_cache(maxsize=16)
def _date(days: int) -> str:
    year = 1970 + days // 366
    while _first_day(year + 1) <= days:
        year += 1
    day = days - _first_day(year)
    is_leap = _first_day(year + 1) - _first_day(year) == 366
    starts = list(accumulate((*_LENGTHS[:1], 28 + is_leap, *_LENGTHS[2:-1]), initial=0))
    month = bisect_right(starts, day)
    return f"{year:04}-{month:02}-{day - starts[month - 1] + 1:02}"


def _first_day(year: int) -> int:
    """How many days after the start of 1970 that year starts."""
    return 365 * (year - 1970) + _leap_days(year - 1) - _leap_days(1969)


def _leap_days(year: int) -> int:
    return year // 4 - year // 100 + year // 400
