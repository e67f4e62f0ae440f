"""The attempts executed in this process: each has a task and a slot until it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator

from mobox.events.turn import Answer
from mobox.storage.log import Run, RunId
from mobox.supervisor.attempt import Attempt
from mobox.supervisor.reaper import Reaper
from mobox.supervisor.run_slots import RunSlot, RunSlots


class Attempts:
    """Attempts by run. Only a run's last one counts; an earlier one may still be shutting down."""

    def __init__(self, slots: RunSlots, reaper: Reaper) -> None:
        self._slots = slots
        self._reaper = reaper
        self._last: dict[RunId, Attempt] = {}
        self._tasks: dict[Attempt, asyncio.Task[None]] = {}

    def __iter__(self) -> Iterator[Attempt]:
        return iter(list(self._tasks))

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def tasks(self) -> Collection[asyncio.Task[None]]:
        """The tasks that execute them."""
        return self._tasks.values()

    @property
    def runs(self) -> Collection[RunId]:
        """The ids of their runs: a live view."""
        return self._last.keys()

    def last(self, run_id: RunId) -> Attempt | None:
        """The last attempt of a run, whether or not its lease is still ours."""
        return self._last.get(run_id)

    def of(self, run: Run) -> Attempt | None:
        """The attempt of a run; one whose run another process has resumed is ended."""
        attempt = self._last.get(run.id)
        if attempt is None or attempt.run.epoch == run.epoch:
            return attempt
        attempt.end_at_once()
        return None

    def in_chat(self, owner: str, chat_id: str) -> list[Attempt]:
        """The attempts of a chat."""
        return [
            attempt
            for attempt in self._tasks
            if (attempt.run.owner, attempt.run.chat_id) == (owner, chat_id)
        ]

    def begin(self, attempt: Attempt, slot: RunSlot) -> None:
        """Execute it after the chat's other attempts: they would share the chat's folder."""
        before = [
            self._tasks[other] for other in self.in_chat(attempt.run.owner, attempt.run.chat_id)
        ]
        self._last[attempt.run.id] = attempt
        self._slots.sit(attempt, slot)
        self._tasks[attempt] = asyncio.create_task(self._execute(attempt, before))

    async def end(self, attempts: Collection[Attempt], answers: tuple[Answer, ...] = ()) -> None:
        """End some of them, and return when they have."""
        for attempt in attempts:
            attempt.end_at_once(answers)
        await self.wait_for(attempts)

    async def wait_for(self, attempts: Collection[Attempt]) -> None:
        """Return when they have ended."""
        if attempts:
            await asyncio.wait([self._tasks[attempt] for attempt in attempts])

    async def _execute(self, attempt: Attempt, before: Collection[asyncio.Task[None]]) -> None:
        try:
            if before:
                await asyncio.wait(before)
            verdict = await attempt.execute()
            if verdict is not None:
                await self._reaper.end(attempt.run, verdict)
        finally:
            del self._tasks[attempt]
            self._slots.leave(attempt)
            if self._last.get(attempt.run.id) is attempt:
                del self._last[attempt.run.id]
