"""Whose turn it is to read: who asks little does not wait for those who ask much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

__all__ = ["Effort", "Searches", "Seats"]

T = TypeVar("T")
Effort = Literal["little", "much", "search"]
"""What is a few rows; what is as much as somebody has said; what is looked for in all of it."""


class Seats:
    """One for each connection: at most half of them for who asks much, and one for searches.

    Of three, two are for who asks much: a search must not keep all histories out.
    """

    def __init__(self, most: int) -> None:
        every = asyncio.Semaphore(most)
        half = asyncio.Semaphore(max(1, most // 2, min(2, most - 1)))
        one = asyncio.Semaphore(1)
        self._ways: dict[Effort, tuple[asyncio.Semaphore, ...]] = {
            "little": (every,),
            "much": (half, every),
            "search": (one, half, every),
        }

    async def take(self, effort: Effort) -> ExitStack:
        """One of them, once it is one's turn, until that is closed."""
        with ExitStack() as way:
            for seats in self._ways[effort]:
                await seats.acquire()
                way.callback(seats.release)
            return way.pop_all()

    async def seated(self, effort: Effort, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What work brings that goes on also where nobody waits for it: threads cannot be stopped.

        Its seat is taken until it is over.
        """
        seat = await self.take(effort)
        working = asyncio.create_task(work())

        def leave(_over: asyncio.Task[T]) -> None:
            seat.close()
            _ = working.cancelled() or working.exception()  # which nobody may have waited for

        working.add_done_callback(leave)
        return await asyncio.shield(working)


class Searches:
    """Those of one owner come one after the other: who searches a lot keeps nobody else from it."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, owner: str) -> asyncio.Lock:
        """To be held meanwhile."""
        return self._turns.setdefault(owner, asyncio.Lock())
