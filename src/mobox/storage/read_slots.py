"""Read slots by cost: cheap queries do not wait for expensive ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")
Effort = Literal["little", "much", "search"]
"""Query cost: point read, full history, full-text search."""


class ReadSlots:
    """One slot for each connection: at most half of them for `much`, and two for searches.

    One slot is only for cheap queries, and one is never for searches: a search blocks neither all
    histories nor the searches of other owners.
    """

    def __init__(self, most: int) -> None:
        every = asyncio.Semaphore(most)
        expensive = max(1, most - 1)
        some = asyncio.Semaphore(expensive)
        half = asyncio.Semaphore(max(1, most // 2, min(2, expensive)))
        searches = asyncio.Semaphore(max(1, min(2, expensive - 1)))
        self._slots: dict[Effort, tuple[asyncio.Semaphore, ...]] = {
            "little": (every,),
            "much": (half, some, every),
            "search": (searches, some, every),
        }

    async def take(self, effort: Effort) -> ExitStack:
        """Wait for a slot; closing the result releases it."""
        with ExitStack() as slot:
            for slots in self._slots[effort]:
                await slots.acquire()
                slot.callback(slots.release)
            return slot.pop_all()

    async def run(self, effort: Effort, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of work that continues if the caller is cancelled: threads cannot be stopped.

        It holds its slot until it has finished.
        """
        slot = await self.take(effort)
        working = asyncio.create_task(work())

        def release(_done: asyncio.Task[T]) -> None:
            slot.close()
            _ = working.cancelled() or working.exception()  # retrieved, if no caller waits

        working.add_done_callback(release)
        return await asyncio.shield(working)


class Searches:
    """One search at a time for each owner: frequent searches do not block other owners."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, owner: str) -> asyncio.Lock:
        """The lock to hold during a search."""
        return self._locks.setdefault(owner, asyncio.Lock())
