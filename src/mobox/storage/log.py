"""The log of every run: the interface that stores implement, and its values.

Rule 1: a run is found by its owner (`Chats.run`). What takes a `RunId` instead of an owner takes a
        run that was found already: a `str` out of a URL is a type error there.
Rule 2: `seq` is dense per run and `id` increases over the whole store; both are given in the
        transaction that checks the writer's epoch.
Rule 3: the status of a run changes in the transaction of the events that change it.
Rule 4: nothing is returned, or shown to a reader, before it is committed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Literal, NewType, Protocol

from msgspec import Struct

from mobox.errors import ProtocolError
from mobox.events import Done, DoneReason, LogEntry, StreamEvent
from mobox.turn import Frontend
from mobox.waiting import waits_after

__all__ = [
    "PAGE",
    "Asking",
    "Log",
    "Position",
    "RawEntry",
    "RawLine",
    "Run",
    "RunId",
    "Status",
    "keep_raw",
    "pages",
    "status_after",
]

RunId = NewType("RunId", str)
"""The id of a run that its owner was asked for."""

Status = Literal["running", "waiting", "done"]

PAGE = 512
"""How many entries a reader takes at once: a slow one holds no more than this."""


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One execution of an agent, in one or more legs; also one assistant message."""

    id: RunId
    chat_id: str
    owner: str
    agent: str
    framework: str
    status: Status = "running"
    epoch: int = 1
    """Which writer may append: it grows with every leg and every takeover."""
    leg: int = 1
    lease_owner: str | None = None
    """The store, opened in some process, whose writer renews the lease."""
    lease_until: int | None = None
    tail_seq: int = 0
    started_at: int
    ended_at: int | None = None
    reason: DoneReason | None = None
    stop_requested_at: int | None = None
    superseded: bool = False
    raw_lines: int = 0
    """How many raw lines came, kept or not."""
    raw_bytes: int = 0


class Position(Struct, frozen=True):
    """How far a log has come. The tail only grows, and the status changes only with it."""

    tail: int
    status: Status


class Asking(Struct, frozen=True, kw_only=True):
    """A request that a run answers."""

    name: str | None = None
    """What the client calls it."""
    after: int = 0
    """The entry after which its answer begins."""
    frontend: Frontend | None = None
    """What the page brought along."""


class RawLine(Struct, frozen=True):
    """A vendor's line, and which events of its batch it made: `events[first:last]`."""

    line: bytes
    first: int = 0
    last: int | None = None


class RawEntry(Struct, frozen=True, kw_only=True):
    """A vendor's line as it is kept; one that made no event has `last_seq` before `first_seq`."""

    n: int
    line: bytes
    first_seq: int
    last_seq: int


class Log(Protocol):
    """What writes runs and what reads them."""

    async def append(
        self,
        run_id: RunId,
        epoch: int,
        events: Sequence[StreamEvent],
        ts: int | None,
        raw: Sequence[RawLine] = (),
    ) -> list[LogEntry]:
        """Commit events, and the lines they were parsed from; `Fenced` if the epoch is over.

        PAUSED lets the run wait and gives up its lease, DONE ends it.
        """

    async def next_leg(
        self, run_id: RunId, epoch: int, events: Sequence[StreamEvent], ts: int | None
    ) -> Run:
        """Let a waiting run go on under a new epoch, with the answers that `events` tell.

        `Fenced` if somebody else did, `RunActive` if its chat has a running one.
        """

    async def note(self, run_id: RunId, asking: Asking) -> None:
        """Keep what a client asked of a run that goes on; `begin_turn` does so by itself."""

    async def asked(self, run_id: RunId) -> list[Asking]:
        """What clients asked of a run, oldest first, as far as they gave it a name or a page."""

    async def queue(self, run_id: RunId, epoch: int) -> None:
        """Leave a run of ours to whoever claims it first, for `Settings.queue_seconds`."""

    async def claim(
        self, agents: Collection[str], limit: int, *, sparing: Collection[str] = ()
    ) -> list[Run]:
        """Own queued runs of these agents, each under a new epoch, those that wait longest first.

        No two who claim get the same one. Runs of the owners `sparing` are left where they are.
        """

    async def is_anybody_at_work(self) -> bool:
        """Whether a run is being executed that has said something."""

    async def expired(self) -> list[Run]:
        """Running runs whose writers let their leases go, or that nobody claimed in time."""

    async def take_over(self, run_id: RunId, epoch: int) -> Run:
        """Own an expired or queued run under a new epoch; `Fenced` if it is somebody's."""

    async def stopping(self) -> list[Run]:
        """Running runs whose lease is ours and that somebody asked to stop."""

    async def still_there(self, run_ids: Collection[RunId]) -> dict[RunId, Run]:
        """These runs as they are now; those that were deleted are left out."""

    async def read(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[LogEntry]:
        """The next entries, at least one and at most `limit`; none at the tail."""

    async def beyond(self, run_id: RunId, seq: int) -> Position:
        """Wait until the log is longer than `seq`, or has ended."""

    def follow(
        self, run_id: RunId, after: int = 0, *, through_pauses: bool = True
    ) -> AsyncIterator[Sequence[LogEntry]]:
        """All entries after `after`, as they come, until the run ends, or waits if asked so."""

    async def raw_lines(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[RawEntry]:
        """The vendor's lines after number `after`, as far as they were kept."""


async def pages(
    log: Log, run_id: RunId, after: int = 0, through: int | None = None
) -> AsyncIterator[list[LogEntry]]:
    """A log, from its first entry or after another, to `through` or where it ends now."""
    limit = PAGE
    while through is None or (limit := min(PAGE, through - after)) > 0:
        page = await log.read(run_id, after, limit)
        if not page:
            return
        yield page
        after = page[-1].seq


def status_after(status: Status, events: Sequence[StreamEvent]) -> Status:
    """The status of a run that had `status`, once it has said `events`."""
    if Done in map(type, events[:-1]):
        raise ProtocolError(f"{events[-1].type} after DONE")
    if events and isinstance(events[-1], Done):
        return "done"
    return "waiting" if waits_after(status == "waiting", events) else "running"


def keep_raw(
    raw: Sequence[RawLine], seqs: range, tally: tuple[int, int], cap: int
) -> tuple[list[RawEntry], tuple[int, int]]:
    """The lines to keep of those that made the events `seqs`, and the run's new tally.

    A tally is how many lines came and how many bytes; from `cap` bytes on nothing is kept.
    """
    lines, size = tally
    kept = []
    for line in raw:
        lines, size = lines + 1, size + len(line.line)
        last = len(seqs) if line.last is None else line.last
        if size <= cap:
            first_seq, last_seq = seqs.start + line.first, seqs.start + last - 1
            entry = RawEntry(n=lines, line=line.line, first_seq=first_seq, last_seq=last_seq)
            kept.append(entry)
    return kept, (lines, size)
