"""Limits how many agents run at a time, and ends waiting processes to free their slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import NamedTuple

from mobox.errors import TooManyRuns
from mobox.settings import Settings
from mobox.storage.chats import Chats
from mobox.supervisor.attempt import Attempt


class RunSlot(NamedTuple):
    """A run's slot. Equal names share a slot, so that a repeated request needs no second one."""

    owner: str
    name: object


class RunSlots:
    """The slots in use: by attempts, and by requests that are about to start one."""

    def __init__(self, limits: Settings, chats: Chats) -> None:
        self._limits = limits
        self._chats = chats
        self._attempts: dict[Attempt, RunSlot] = {}
        self._reserved: Counter[RunSlot] = Counter()

    @asynccontextmanager
    async def offer(self, owner: str, chat_id: str, name: object) -> AsyncIterator[RunSlot | None]:
        """A slot for a new attempt, none where other processes execute; raises `TooManyRuns`."""
        if self._limits.executes:
            with self._take(owner, name) as slot:
                yield slot
        else:
            busy = await self._chats.busy_chats(owner)
            with self._check_queue(RunSlot(owner, chat_id), busy):
                yield None

    @contextmanager
    def _check_queue(self, slot: RunSlot, busy: Collection[str]) -> Iterator[None]:
        """Check the owner's limit. A chat has one active run: its own chat does not count."""
        others = {slot.name for slot in self._held(slot.owner)}.union(busy) - {slot.name}
        if len(others) >= self._limits.runs_per_owner:
            raise TooManyRuns(len(others))
        with self._reserve(slot):
            yield

    @contextmanager
    def _take(self, owner: str, name: object) -> Iterator[RunSlot]:
        slot = RunSlot(owner, name)
        if slot not in self._taken():
            for limited, limit in self._limits_of(owner):
                self._make_room(limited, limit)
        with self._reserve(slot):
            yield slot

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
        return len(self._taken()) < self._limits.max_runs or any(self._waiting())

    def full_owners(self) -> set[str]:
        """The owners at their limit of whose attempts none only waits."""
        limit = self._limits.runs_per_owner
        counts = Counter(slot.owner for slot in self._taken())
        full = {owner for owner, count in counts.items() if count >= limit}
        return full.difference(attempt.run.owner for attempt in self._waiting())

    def sit(self, attempt: Attempt, slot: RunSlot) -> None:
        """The attempt has started."""
        self._attempts[attempt] = slot

    def leave(self, attempt: Attempt) -> None:
        """The attempt has ended."""
        del self._attempts[attempt]

    def _taken(self) -> set[RunSlot]:
        return {
            slot for attempt, slot in self._attempts.items() if not attempt.leaving
        } | self._reserved.keys()

    def _limits_of(self, owner: str) -> list[tuple[str | None, int]]:
        """The owner's limit first: a slot freed there counts for all, and costs no other owner."""
        return [(owner, self._limits.runs_per_owner), (None, self._limits.max_runs)]

    def _make_room(self, owner: str | None, limit: int) -> None:
        """At the limit, interrupt the oldest waiting attempt; `TooManyRuns` if none waits."""
        held = self._held(owner)
        if len(held) < limit:
            return
        attempt = next(
            (attempt for attempt in self._waiting() if owner in (None, attempt.run.owner)), None
        )
        if attempt is None:
            raise TooManyRuns(len(held))
        attempt.interrupt()

    def _held(self, owner: str | None) -> set[RunSlot]:
        return {slot for slot in self._taken() if owner in (None, slot.owner)}

    def _waiting(self) -> Iterator[Attempt]:
        return (attempt for attempt in self._attempts if attempt.waits)
