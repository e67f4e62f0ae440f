"""The log of the store in memory.

Nothing here awaits between reading and writing, so every method is atomic.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from mobox.errors import Fenced, InvalidCursor, RunActive, RunNotFound
from mobox.events import LogEntry, StreamEvent
from mobox.events.message import Message
from mobox.events.turn import HistoryMessage, UserMessage
from mobox.settings import Settings
from mobox.storage.chats import Chat
from mobox.storage.following import Following
from mobox.storage.log import PAGE, ClientRequest, Position, RawEntry, RawLine, Run, RunId, keep_raw
from mobox.storage.notifications import RunNotice
from mobox.storage.runs import (
    Lease,
    after_events,
    claimed,
    in_next_attempt,
    is_queued,
    queued,
    taken_over,
)


class Row:
    """A message: a user's, or the run of an assistant's."""

    def __init__(self, n: int, created_at: int, content: UserMessage | RunId) -> None:
        self.n = n
        self.created_at = created_at
        self.content = content
        self.superseded = False

    def outline(self) -> HistoryMessage:
        if isinstance(self.content, UserMessage):
            return HistoryMessage(id=self.content.id, role="user")
        return HistoryMessage(id=self.content, role="assistant")


class Thread:
    """A chat with its messages and runs."""

    def __init__(self, chat: Chat, n: int) -> None:
        self.chat = chat
        self.n = n
        self.rows: list[Row] = []
        self.runs: list[RunId] = []

    def live(self) -> list[Row]:
        return [row for row in self.rows if not row.superseded]

    def add(self, now: int, content: UserMessage | RunId) -> None:
        self.rows.append(Row(len(self.rows) + 1, now, content))


class Recording:
    """A run and its log."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.entries: list[LogEntry] = []
        self.raw: list[RawEntry] = []
        self.asked: list[ClientRequest] = []
        self.folded: Message | None = None
        self.folded_seq = 0


class MemoryLog(Following):
    """Stores runs and their logs in dictionaries."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(poll_seconds=None)
        self._settings = settings
        self._chats_made = 0
        self._holder = f"memory-{secrets.token_hex(8)}"
        self._id = 0
        self._threads: dict[str, Thread] = {}
        self._recordings: dict[RunId, Recording] = {}

    # Writers

    async def append(
        self,
        run_id: RunId,
        epoch: int,
        events: Sequence[StreamEvent],
        ts: int | None,
        raw: Sequence[RawLine] = (),
    ) -> list[LogEntry]:
        recording = self._recording(run_id, epoch)
        run = after_events(recording.run, epoch, events, self._lease(), self._settings.clock())
        self._check_alone(recording.run, run)
        seqs = range(recording.run.tail_seq + 1, run.tail_seq + 1)
        tally = (run.raw_lines, run.raw_bytes)
        kept, (lines, size) = keep_raw(raw, seqs, tally, self._settings.raw_bytes)
        recording.raw += kept
        run = replace(run, raw_lines=lines, raw_bytes=size)
        return self._commit(recording, run, events, ts)

    async def next_attempt(
        self, run_id: RunId, epoch: int, events: Sequence[StreamEvent], ts: int | None
    ) -> Run:
        recording = self._recording(run_id, epoch)
        run = in_next_attempt(recording.run, epoch, events, self._lease(), self._settings.clock())
        self._check_alone(recording.run, run)
        self._commit(recording, run, events, ts)
        return recording.run

    async def note(self, run_id: RunId, request: ClientRequest) -> None:
        if run_id not in self._recordings:
            raise RunNotFound(run_id)
        self._recordings[run_id].asked.append(request)

    async def asked(self, run_id: RunId) -> list[ClientRequest]:
        recording = self._recordings.get(run_id)
        return [*recording.asked] if recording is not None else []

    async def queue(self, run_id: RunId, epoch: int) -> None:
        recording = self._recording(run_id, epoch)
        recording.run = queued(recording.run, epoch, self._settings.queued_until())
        self._notify(RunNotice(work=True))

    async def claim(
        self, agents: Collection[str], limit: int, *, sparing: Collection[str] = ()
    ) -> list[Run]:
        now = self._settings.clock()
        waiting = [
            run
            for run in self._running()
            if is_queued(run, now) and run.agent in agents and run.owner not in sparing
        ]
        oldest = sorted(waiting, key=lambda run: run.lease_until or 0)[:limit]
        for run in oldest:
            self._recordings[run.id].run = claimed(run, self._lease(), now)
        return [self._recordings[run.id].run for run in oldest]

    async def has_active_worker(self) -> bool:
        return any(run.lease_owner is not None and run.tail_seq for run in self._running())

    async def expired(self) -> list[Run]:
        now = self._settings.clock()
        return [run for run in self._running() if (run.lease_until or 0) <= now]

    async def take_over(self, run_id: RunId, epoch: int) -> Run:
        recording = self._recording(run_id, epoch)
        now = self._settings.clock()
        recording.run = taken_over(recording.run, epoch, self._lease(), now)
        return recording.run

    async def stopping(self) -> list[Run]:
        return [
            run
            for run in self._running()
            if run.lease_owner == self._holder and run.stop_requested_at is not None
        ]

    async def still_there(self, run_ids: Collection[RunId]) -> dict[RunId, Run]:
        known = self._recordings.keys() & set(run_ids)
        return {run_id: self._recordings[run_id].run for run_id in known}

    def _running(self) -> list[Run]:
        runs = [recording.run for recording in self._recordings.values()]
        return [run for run in runs if run.status == "running"]

    def _recording(self, run_id: RunId, epoch: int) -> Recording:
        if run_id not in self._recordings:
            raise Fenced(run_id, epoch)
        return self._recordings[run_id]

    def _lease(self) -> Lease:
        """A lease that never expires: the store and its writers are in one process."""
        return Lease(self._holder, sys.maxsize)

    def _check_alone(self, before: Run, after: Run) -> None:
        """One running run per chat, also when a waiting one resumes."""
        if after.status == "running" and before.status != "running":
            self._check_none_runs(self._threads[after.chat_id])

    def _check_none_runs(self, thread: Thread) -> None:
        for run_id in thread.runs:
            if self._recordings[run_id].run.status == "running":
                raise RunActive(run_id)

    def _commit(
        self,
        recording: Recording,
        run: Run,
        events: Sequence[StreamEvent],
        ts: int | None,
    ) -> list[LogEntry]:
        first = recording.run.tail_seq + 1
        entries = [
            LogEntry(first + n, self._id + n + 1, ts, event) for n, event in enumerate(events)
        ]
        self._id += len(events)
        recording.entries += entries
        if run.status != recording.run.status:
            self._touch(self._threads[run.chat_id])
        recording.run = run
        self._publish(run.id, Position(run.tail_seq, run.status), entries, 0)
        return entries

    def _touch(self, thread: Thread) -> None:
        thread.chat = replace(thread.chat, updated_at=self._settings.clock())

    # Readers

    async def raw_lines(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[RawEntry]:
        lines = self._recordings[run_id].raw if run_id in self._recordings else []
        return [line for line in lines if line.n > after][:limit]

    async def drop_raw(self, ended_before: int) -> int:
        dropped = await self.count_raw(ended_before)
        for recording in self._ended(ended_before):
            recording.raw = []
        return dropped

    async def count_raw(self, ended_before: int) -> int:
        return sum(len(recording.raw) for recording in self._ended(ended_before))

    def _ended(self, before: int) -> list[Recording]:
        ended = [each for each in self._recordings.values() if each.run.ended_at is not None]
        return [each for each in ended if (each.run.ended_at or 0) < before]

    async def _positions(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Position]:
        runs = [self._recordings[run_id].run for run_id in run_ids if run_id in self._recordings]
        return {run.id: Position(run.tail_seq, run.status) for run in runs}

    async def _latest_runs(self, chat_ids: Sequence[str]) -> Mapping[str, RunId]:
        threads = (self._threads.get(chat_id) for chat_id in chat_ids)
        return {thread.chat.id: thread.runs[-1] for thread in threads if thread is not None}

    async def _read(self, run_id: RunId, after: int, limit: int) -> list[LogEntry]:
        if run_id not in self._recordings:
            raise RunNotFound(run_id)
        entries = self._recordings[run_id].entries
        if not 0 <= after <= len(entries):
            raise InvalidCursor(after, len(entries))
        return entries[after : after + limit]
