"""The legs that are at work in this process, each in a task and on a seat until it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator

from mobox.storage.log import Run, RunId
from mobox.supervisor.leg import Leg
from mobox.supervisor.reaper import Reaper
from mobox.supervisor.seats import Seat, Seats
from mobox.turn import Answer

__all__ = ["Legs"]


class Legs:
    """Of a run the last one counts; one that was before it may still be on its way out."""

    def __init__(self, seats: Seats, reaper: Reaper) -> None:
        self._seats = seats
        self._reaper = reaper
        self._last: dict[RunId, Leg] = {}
        self._tasks: dict[Leg, asyncio.Task[None]] = {}

    def __iter__(self) -> Iterator[Leg]:
        return iter(list(self._tasks))

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def tasks(self) -> Collection[asyncio.Task[None]]:
        """In which they work."""
        return self._tasks.values()

    @property
    def runs(self) -> Collection[RunId]:
        """At which they work: whoever keeps this sees what it is later."""
        return self._last.keys()

    def last(self, run_id: RunId) -> Leg | None:
        """Who works at a run, whether it is still ours or not."""
        return self._last.get(run_id)

    def of(self, run: Run) -> Leg | None:
        """Who works at a run; one with which somebody elsewhere has gone on is let go."""
        leg = self._last.get(run.id)
        if leg is None or leg.run.epoch == run.epoch:
            return leg
        leg.end_at_once()
        return None

    def in_chat(self, owner: str, chat_id: str) -> list[Leg]:
        """Those of a chat."""
        return [leg for leg in self._tasks if (leg.run.owner, leg.run.chat_id) == (owner, chat_id)]

    def begin(self, leg: Leg, seat: Seat) -> None:
        """Let it work, after those of its chat: two processes would share the chat's folder."""
        before = [self._tasks[other] for other in self.in_chat(leg.run.owner, leg.run.chat_id)]
        self._last[leg.run.id] = leg
        self._seats.sit(leg, seat)
        self._tasks[leg] = asyncio.create_task(self._execute(leg, before))

    async def end(self, legs: Collection[Leg], answers: tuple[Answer, ...] = ()) -> None:
        """End some of them, and return when they have."""
        for leg in legs:
            leg.end_at_once(answers)
        await self.wait_for(legs)

    async def wait_for(self, legs: Collection[Leg]) -> None:
        """Return when they have ended."""
        if legs:
            await asyncio.wait([self._tasks[leg] for leg in legs])

    async def _execute(self, leg: Leg, before: Collection[asyncio.Task[None]]) -> None:
        try:
            if before:
                await asyncio.wait(before)
            verdict = await leg.execute()
            if verdict is not None:
                await self._reaper.end(leg.run, verdict)
        finally:
            del self._tasks[leg]
            self._seats.leave(leg)
            if self._last.get(leg.run.id) is leg:
                del self._last[leg.run.id]
