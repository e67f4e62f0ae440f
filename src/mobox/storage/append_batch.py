"""Batches of events for a database's writer, and the results of appending them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from mobox.events import LogEntry, StreamEvent
from mobox.storage.encoding import encode_events
from mobox.storage.log import Position, RawLine, Run, RunId, status_after

__all__ = ["Append", "Appended", "NextAttempt", "prepare"]


class Append(Struct, frozen=True, kw_only=True):
    """A batch to append."""

    run_id: RunId
    epoch: int
    events: Sequence[StreamEvent]
    ts: int | None
    raw: Sequence[RawLine] = ()
    rows: list[tuple[int, bytes]]
    is_plain: bool
    """The run stays `running`: nothing but its log changes."""

    @property
    def size(self) -> int:
        return sum(len(data) for _, data in self.rows)


class Appended(Struct, frozen=True):
    """An appended batch."""

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
        is_plain=status_after("running", events) == "running",
    )
