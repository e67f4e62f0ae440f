"""Batches of events for a database's writer, encoded as JSON lists, and what appending them gives.

Consecutive deltas of a block become one item of a list, with all their texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import msgspec
from msgspec import Struct

from mobox.errors import CorruptLog
from mobox.events import AnyEvent, LogEntry, StreamEvent, decode
from mobox.events.entries import AnyDeltas, Deltas, Piece, gathered, spread
from mobox.storage.log import ClientRequest, Position, RawLine, Run, RunId, status_after
from mobox.storage.permissions import Permission

EVENTS_PER_ROW = 256
"""A longer append becomes several rows, so that reading a page decodes little more than it."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[list[AnyEvent | AnyDeltas]]).decode
_decode_raw = msgspec.json.Decoder(list[list[msgspec.Raw]]).decode
_decode_deltas: Callable[[msgspec.Raw], Deltas] = msgspec.json.Decoder(AnyDeltas).decode


def encode_events(events: Sequence[StreamEvent]) -> list[tuple[int, bytes]]:
    """The events as rows: how many, and their JSON."""
    if len(events) == 1:  # a streamed delta
        return [(1, _encode(events))]
    rows = (events[i : i + EVENTS_PER_ROW] for i in range(0, len(events), EVENTS_PER_ROW))
    return [(len(row), _encode(gathered(row))) for row in rows]


def regathered(rows: bytes) -> bytes:
    """The events of consecutive rows, joined with commas, encoded as one row."""
    return _encode(gathered(spread(decode_pieces(rows))))


def decode_pieces(rows: bytes) -> list[Piece]:
    """The events of consecutive rows, joined with commas: decoded at once."""
    lists = b"[%b]" % rows
    try:
        return list(chain.from_iterable(_decode(lists)))
    except msgspec.DecodeError:
        return _foreign_pieces(lists)


def _foreign_pieces(lists: bytes) -> list[Piece]:
    """The events of another version: unknown ones become RAW, as everywhere.

    The contents of gathered deltas are not checked: a version that stores them in another form has
    another name for them.
    """
    try:
        pieces = list(chain.from_iterable(_decode_raw(lists)))
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not lists of events: {error}: {lists[:80]!r}") from error
    return list(map(_foreign_piece, pieces))


def _foreign_piece(piece: msgspec.Raw) -> Piece:
    try:
        return _decode_deltas(piece)
    except msgspec.DecodeError:
        return decode(b'{"seq":0,"id":0,"ts":null,"event":%b}' % bytes(piece)).event


# Batches


class Append(Struct, frozen=True, kw_only=True):
    run_id: RunId
    epoch: int
    events: Sequence[StreamEvent]
    ts: int | None
    raw: Sequence[RawLine] = ()
    rows: list[tuple[int, bytes]]
    permissions: Sequence[Permission] = ()
    request: ClientRequest | None = None
    """The client's request that these events answer: it is stored with them."""
    queue: bool = False
    """Whether any process may claim the run that is resumed; else the lease is ours."""
    is_plain: bool
    """The run stays `running`: nothing but its log changes."""

    @property
    def size(self) -> int:
        return sum(len(data) for _, data in self.rows)


class Appended(Struct, frozen=True):
    run_id: RunId
    position: Position
    entries: list[LogEntry]
    size: int


class NextAttempt(Struct, frozen=True):
    """A resumed run, and the answers it resumes with."""

    run: Run
    answers: Appended


def prepare(
    run_id: RunId,
    epoch: int,
    events: Sequence[StreamEvent],
    ts: int | None,
    raw: Sequence[RawLine] = (),
    permissions: Sequence[Permission] = (),
) -> Append:
    """Encode and check a batch here, so that an invalid one fails only its caller."""
    if ts is not None and not -(2**63) <= ts < 2**63:
        raise OverflowError(f"timestamp {ts} is out of range")
    return Append(
        run_id=run_id,
        epoch=epoch,
        events=events,
        ts=ts,
        raw=raw,
        rows=encode_events(events),
        permissions=permissions,
        is_plain=not permissions and status_after("running", events) == "running",
    )
