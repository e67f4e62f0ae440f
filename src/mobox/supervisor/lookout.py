"""When to look for what other processes did: now and then, and when somebody says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from mobox.errors import StorageError

__all__ = ["Lookout"]

log = logging.getLogger("mobox.supervisor")

Look = Callable[[], Awaitable[object]]


class Lookout:
    """Does one thing often, and another seldom, which may take long: the first goes on meanwhile.

    Neither ends because it failed once.
    """

    def __init__(self, often: tuple[Look, float], seldom: tuple[Look, float]) -> None:
        self._look, self._seconds = often
        self._sweep, self._sweep_seconds = seldom
        self._told = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._clean())]

    def soon(self) -> None:
        """Look now: there is news. May be called before it was started."""
        self._told.set()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _clean(self) -> None:
        while True:
            await self._try(self._sweep)
            await asyncio.sleep(self._sweep_seconds)

    async def _watch(self) -> None:
        while True:
            self._told.clear()  # what is told from now on may come too late for this look
            await self._try(self._look)
            with suppress(TimeoutError):  # no `wait_for`, which can miss that it is cancelled
                async with asyncio.timeout(self._seconds):
                    await self._told.wait()

    async def _try(self, look: Look) -> None:
        try:
            await look()
        except StorageError as error:  # it may be back next time
            log.warning("polling for runs failed, retrying: %s", error)
        except Exception:
            log.exception("polling for runs failed, retrying")
