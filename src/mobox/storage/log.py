"""The log of every run: the interface that stores implement, and its values.

Rule 1: a run is looked up by its owner (`Chats.run`). A method with a `RunId` and no owner takes a
        run that was looked up before: a `str` from a URL is a type error there.
Rule 2: `seq` is dense per run and `id` increases over the whole store; both are assigned in the
        transaction that checks the writer's epoch.
Rule 3: the status of a run changes in the transaction of the events that change it.
Rule 4: nothing is returned, or visible to a reader, before it is committed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Final, Literal, NewType, Protocol

from msgspec import Struct

from mobox.errors import ProtocolError
from mobox.events import Done, DoneReason, LogEntry, StreamEvent
from mobox.events.turn import Frontend, TurnKind
from mobox.events.waiting import waits_after
from mobox.storage.permissions import Permission

RECORDED: Final = "recording"
"""The agent of a run that was kept from a recording. No agent has this name: nobody executes it."""

RunId = NewType("RunId", str)
"""The id of a run whose owner was checked."""

Status = Literal["running", "waiting", "done"]

ReaderState = Literal["reading", "left"]
"""Of a process that serves a run's clients: it has one, or its last one disconnected by itself."""

PAGE = 512
"""How many entries a reader gets at once: a slow one holds no more than this in memory."""


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer of an agent, in one or more attempts; also one assistant message."""

    id: RunId
    chat_id: str
    owner: str
    agent: str
    framework: str
    status: Status = "running"
    epoch: int = 1
    """Which writer may append: it grows with every attempt and every takeover."""
    leg: int = 1
    lease_owner: str | None = None
    """The opened store, in some process, whose writer renews the lease."""
    lease_until: int | None = None
    tail_seq: int = 0
    started_at: int
    ended_at: int | None = None
    reason: DoneReason | None = None
    stop_requested_at: int | None = None
    superseded: bool = False
    kind: TurnKind = "message"
    """Why it was started."""
    back_to: str | None = None
    """The user message to which its edit, regeneration or retry went back."""
    raw_lines: int = 0
    """How many raw lines were received, stored or not."""
    raw_bytes: int = 0
    unstarted: int = 0
    """The epoch of an attempt whose agent has certainly not been started yet."""
    requeued: int = 0
    """How often it was queued again because its process failed before the hand-over."""


class Position(Struct, frozen=True):
    """The length and status of a log. The tail only grows; the status changes only with it."""

    tail: int
    status: Status


class ClientRequest(Struct, frozen=True, kw_only=True):
    """A client's request that a run answers."""

    name: str | None = None
    """The client's name for it."""
    after: int = 0
    """The entry after which its answer starts."""
    frontend: Frontend | None = None
    """The data that the page sent with it."""


class RawLine(Struct, frozen=True):
    """A vendor's line, and the events of its batch parsed from it: `events[first:last]`."""

    line: bytes
    first: int = 0
    last: int | None = None


class RawEntry(Struct, frozen=True, kw_only=True):
    """A vendor's line as stored; one that gave no event has `last_seq` before `first_seq`."""

    n: int
    line: bytes
    first_seq: int
    last_seq: int


class Log(Protocol):
    """Writes and reads the logs of runs."""

    async def append(
        self,
        run_id: RunId,
        epoch: int,
        events: Sequence[StreamEvent],
        ts: int | None,
        raw: Sequence[RawLine] = (),
        permissions: Sequence[Permission] = (),
    ) -> list[LogEntry]:
        """Commit events, and the lines they were parsed from; `Fenced` if the epoch is outdated.

        PAUSED makes the run wait and releases its lease, DONE ends it. `permissions` are those that
        answers in `events` create: the chat gets them with the same commit, unless it has the like.
        """

    async def next_attempt(  # noqa: PLR0913
        self,
        run_id: RunId,
        epoch: int,
        events: Sequence[StreamEvent],
        ts: int | None,
        permissions: Sequence[Permission] = (),
        request: ClientRequest | None = None,
        *,
        queue: bool = False,
    ) -> Run:
        """Resume a waiting run under a new epoch, with the answers in `events`.

        `Fenced` if another process did, `RunActive` if its chat has a running run. `permissions` as
        in `append`; the client's request is stored with the same commit. With `queue`, any process
        may claim it from then on; else the lease is ours.
        """

    async def granted(self, run_id: RunId) -> list[Permission]:
        """The permissions of the run's chat that are for the run's agent, oldest first."""

    async def note(self, run_id: RunId, request: ClientRequest) -> None:
        """Store a client's request to a resumed run; others are stored with what they start."""

    async def asked(self, run_id: RunId) -> list[ClientRequest]:
        """The clients' requests to a run that have a name or frontend data, oldest first."""

    async def hand_over(self, run_id: RunId, epoch: int) -> None:
        """Commit that the agent is about to get its turn; `Fenced` if the run is not ours.

        From then on the agent may act, so that no other process may start this attempt again.
        """

    async def queue(self, run_id: RunId, epoch: int) -> None:
        """Queue a run of ours for any process to claim, for `Settings.queue`."""

    async def requeue(self, run_id: RunId, epoch: int) -> None:
        """Queue an expired run again whose agent did not get its turn; else `Fenced`."""

    async def claim(
        self, agents: Collection[str], limit: int, *, sparing: Collection[str] = ()
    ) -> list[Run]:
        """Claim queued runs of these agents, each under a new epoch, longest queued first.

        No two processes claim the same run. Runs of the owners `sparing` stay queued.
        """

    async def has_active_worker(self) -> bool:
        """Whether a run with at least one event is being executed by any process."""

    async def expired(self) -> list[Run]:
        """Running runs whose leases expired, and queued ones that were not claimed in time."""

    async def left_waiting(self, before: int) -> list[Run]:
        """Waiting runs that a stop, or a later message of their chat, should have ended by then.

        The process that was to end them has died.
        """

    async def take_over(self, run_id: RunId, epoch: int) -> Run:
        """Take over an expired or queued run under a new epoch; `Fenced` if its lease is valid."""

    async def stopping(self) -> list[Run]:
        """Running runs whose lease is ours and that have a stop request."""

    async def set_reader(self, run_id: RunId, state: ReaderState | None) -> None:
        """Store whether clients of this process read the run; `None` removes what was stored."""

    async def readers(self, run_id: RunId) -> set[ReaderState]:
        """The states of all processes that have or had clients of the run."""

    async def is_running(self, lease_owner: str) -> bool | None:
        """Whether the process that owns a lease is running; `None` if that cannot be known."""

    async def still_there(self, run_ids: Collection[RunId]) -> dict[RunId, Run]:
        """These runs as they are now, without deleted ones."""

    async def read(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[LogEntry]:
        """The next entries, at least one and at most `limit`; none at the tail."""

    async def beyond(self, run_id: RunId, seq: int) -> Position:
        """Wait until the log is longer than `seq`, or has ended."""

    def follow(
        self, run_id: RunId, after: int = 0, *, through_pauses: bool = True
    ) -> AsyncIterator[Sequence[LogEntry]]:
        """All entries after `after`, live, until the run ends, or pauses if so requested."""

    async def raw_lines(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[RawEntry]:
        """The stored vendor's lines after number `after`."""


async def pages(
    log: Log, run_id: RunId, after: int = 0, through: int | None = None
) -> AsyncIterator[list[LogEntry]]:
    """The pages of a log after entry `after`, to `through` or to its present end."""
    limit = PAGE
    while through is None or (limit := min(PAGE, through - after)) > 0:
        page = await log.read(run_id, after, limit)
        if not page:
            return
        yield page
        after = page[-1].seq


def active_of(runs: Sequence[Run]) -> Run | None:
    """The running one of a chat's runs, else the last waiting one, in the order of the store."""
    active = [run for run in runs if not run.superseded and run.status != "done"]
    running = [run for run in active if run.status == "running"]
    return (running or active)[-1] if active else None


def status_after(status: Status, events: Sequence[StreamEvent]) -> Status:
    """The status of a run with `status` after `events` were appended."""
    if Done in map(type, events[:-1]):
        raise ProtocolError(f"{events[-1].type} after DONE")
    if events and isinstance(events[-1], Done):
        return "done"
    return "waiting" if waits_after(status == "waiting", events) else "running"


def keep_raw(
    raw: Sequence[RawLine], seqs: range, tally: tuple[int, int], cap: int
) -> tuple[list[RawEntry], tuple[int, int]]:
    """The lines to store of those that gave the events `seqs`, and the run's new tally.

    A tally counts received lines and bytes; beyond `cap` bytes no line is stored.
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
