"""The attempts executed in this process, and whether another one may start.

Rule 1: an attempt is registered, with its task and its slot, from its start until its task ends.
Rule 2: attempts of a chat are executed one after the other: they share the chat's folder.
Rule 3: an attempt that is leaving uses no slot. At a limit, the oldest one that only waits for an
        answer is released: the answer starts another attempt.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, NamedTuple

from mobox.errors import StorageError, TooManyRuns
from mobox.events.turn import Answer
from mobox.settings import Settings
from mobox.storage.chats import Chats
from mobox.storage.log import Run, RunId
from mobox.supervisor.attempt import Attempt
from mobox.supervisor.recovery import Reaper
from mobox.supervisor.states import LEAVING, State


class RunSlot(NamedTuple):
    """A run's slot. Equal names share a slot, so that a repeated request needs no second one."""

    owner: str
    name: object


class Registration(NamedTuple):
    """The slot that an attempt uses, and the task that executes it."""

    slot: RunSlot
    task: asyncio.Task[None]


class Attempts:
    """The registry. Only a run's last attempt counts; an earlier one may still be shutting down."""

    def __init__(self, reaper: Reaper) -> None:
        self._reaper = reaper
        self.on_end: Callable[[str], None] = lambda end: None
        """Called when an attempt is over, with `Attempt.end`."""
        self._registered: dict[Attempt, Registration] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._registered)

    def __contains__(self, run_id: object) -> bool:
        return any(attempt.run.id == run_id for attempt in self._registered)

    @property
    def all(self) -> list[Attempt]:
        """All of them, the oldest first."""
        return list(self._registered)

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """The tasks that execute them."""
        return [registration.task for registration in self._registered.values()]

    @property
    def slots(self) -> set[RunSlot]:
        """The slots in use."""
        return {
            registration.slot
            for attempt, registration in self._registered.items()
            if attempt.state not in LEAVING
        }

    @property
    def waiting(self) -> list[Attempt]:
        """Those that only wait for a person's answer, the oldest first."""
        return [attempt for attempt in self._registered if attempt.state is State.WAITING]

    def last(self, run_id: RunId) -> Attempt | None:
        """The last attempt of a run, whether or not its lease is still ours."""
        attempts = (attempt for attempt in reversed(self._registered) if attempt.run.id == run_id)
        return next(attempts, None)

    def of(self, run: Run) -> Attempt | None:
        """The attempt of a run; one whose run another process has resumed is ended."""
        attempt = self.last(run.id)
        if attempt is None or attempt.run.epoch == run.epoch:
            return attempt
        attempt.end_at_once()
        return None

    def in_chat(self, owner: str, chat_id: str) -> list[Attempt]:
        """The attempts of a chat."""
        return [
            attempt
            for attempt in self._registered
            if (attempt.run.owner, attempt.run.chat_id) == (owner, chat_id)
        ]

    def begin(self, attempt: Attempt, slot: RunSlot) -> None:
        """Execute it after the chat's other attempts."""
        others = self.in_chat(attempt.run.owner, attempt.run.chat_id)
        before = [self._registered[other].task for other in others]
        task = asyncio.create_task(self._execute(attempt, before))
        self._registered[attempt] = Registration(slot, task)

    async def end(self, attempts: Collection[Attempt], answers: tuple[Answer, ...] = ()) -> None:
        """End some of them, and return when they have."""
        for attempt in attempts:
            attempt.end_at_once(answers)
        await self.wait_for(attempts)

    async def wait_for(self, attempts: Collection[Attempt]) -> None:
        """Return when they have ended."""
        if attempts:
            await asyncio.wait([self._registered[attempt].task for attempt in attempts])

    async def wait_for_end(self, attempt: Attempt) -> None:
        """Return when its run has ended or is not executed here; its process may still exit."""
        ended = asyncio.create_task(attempt.run_has_ended.wait())
        try:
            either: list[asyncio.Task[Any]] = [ended, self._registered[attempt].task]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()

    async def _execute(self, attempt: Attempt, before: Collection[asyncio.Task[None]]) -> None:
        try:
            if before:
                await asyncio.wait(before)
            termination = await attempt.execute()
            self.on_end(attempt.end if termination is None else termination.reason)
            if termination is not None:
                await self._reaper.end(attempt.run, termination)
        finally:
            del self._registered[attempt]


class RunSlots:
    """Limits how many attempts run at once, in all and per owner.

    A slot is used by an attempt, and by a request that is about to start one.
    """

    def __init__(
        self, limits: Settings, chats: Chats, attempts: Attempts, starts: Callable[[], bool]
    ) -> None:
        """`starts` tells whether this process starts attempts now, or queues runs for others."""
        self._limits = limits
        self._chats = chats
        self._attempts = attempts
        self._starts = starts
        self._reserved: Counter[RunSlot] = Counter()

    @asynccontextmanager
    async def acquire(
        self, owner: str, chat_id: str, name: object
    ) -> AsyncIterator[RunSlot | None]:
        """A slot for a new attempt, none where other processes execute; raises `TooManyRuns`."""
        if self._starts():
            slot = RunSlot(owner, name)
            if slot not in self._taken():
                await self._check_all_processes(owner, chat_id)
                for limited, limit in self._limits_of(owner):
                    self._make_room(limited, limit)
            with self._reserve(slot):
                yield slot
        else:
            busy = await self._chats.busy_chats(owner)
            slot = RunSlot(owner, chat_id)
            self._check_queue(slot, busy)
            with self._reserve(slot):
                yield None

    async def _check_all_processes(self, owner: str, chat_id: str) -> None:
        """Check the owner's limit over all processes; those of this one are checked by slots.

        Where owners are not known, and while the database is away, only the limit of this process
        holds. What waits for an answer counts only where it is executed.
        """
        limits = self._limits
        if limits.auth == "none" and limits.max_runs_per_owner is None:
            return
        with suppress(StorageError):
            busy = await self._chats.busy_chats(owner) - {chat_id}
            if len(busy) >= limits.runs_per_owner:
                raise TooManyRuns(len(busy), of_owner=True)

    def _check_queue(self, slot: RunSlot, busy: Collection[str]) -> None:
        """Check the owner's limit. A chat has one active run: its own chat does not count.

        What is executed here is among the busy chats, too.
        """
        reserved = {other.name for other in self._reserved if other.owner == slot.owner}
        others = reserved.union(busy) - {slot.name}
        if len(others) >= self._limits.runs_per_owner:
            raise TooManyRuns(len(others), of_owner=True)

    @contextmanager
    def _reserve(self, slot: RunSlot) -> Iterator[None]:
        self._reserved[slot] += 1
        try:
            yield
        finally:
            self._reserved -= Counter([slot])

    def force_acquire(self, owner: str, name: object) -> RunSlot:
        """A slot for a claimed run, even if that exceeds the limits."""
        for limited, limit in self._limits_of(owner):
            with suppress(TooManyRuns):
                self._make_room(limited, limit)
        return RunSlot(owner, name)

    def has_room(self) -> bool:
        """Whether another may start, perhaps in the slot of one that only waits."""
        return len(self._taken()) < self._limits.max_runs or bool(self._attempts.waiting)

    def full_owners(self) -> set[str]:
        """The owners at their limit of whose attempts none only waits."""
        limit = self._limits.runs_per_owner
        counts = Counter(slot.owner for slot in self._taken())
        full = {owner for owner, count in counts.items() if count >= limit}
        return full.difference(attempt.run.owner for attempt in self._attempts.waiting)

    def _taken(self, owner: str | None = None) -> set[RunSlot]:
        """The slots of an owner, or of all."""
        taken = self._attempts.slots | self._reserved.keys()
        return taken if owner is None else {slot for slot in taken if slot.owner == owner}

    def _limits_of(self, owner: str) -> list[tuple[str | None, int]]:
        """The owner's limit first: a slot freed there counts for all, and costs no other owner."""
        return [(owner, self._limits.runs_per_owner), (None, self._limits.max_runs)]

    def _make_room(self, owner: str | None, limit: int) -> None:
        """At the limit, interrupt the oldest waiting attempt; `TooManyRuns` if none waits."""
        taken = self._taken(owner)
        if len(taken) < limit:
            return
        for attempt in self._attempts.waiting:
            if owner in (None, attempt.run.owner):
                attempt.interrupt()
                return
        raise TooManyRuns(len(taken), of_owner=owner is not None)
