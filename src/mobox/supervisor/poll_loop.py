"""Polls for what other processes did: at intervals, and when notified."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from mobox.errors import StorageError

log = logging.getLogger("mobox.supervisor")

Look = Callable[[], Awaitable[object]]


class PollLoop:
    """Runs a frequent poll and an independent slow sweep; both go on after a failure."""

    def __init__(self, often: tuple[Look, float], seldom: tuple[Look, float]) -> None:
        self._poll, self._seconds = often
        self._sweep, self._sweep_seconds = seldom
        self._notified = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._clean())]

    def soon(self) -> None:
        """Poll now: there was a notification. May be called before `start`."""
        self._notified.set()

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
            self._notified.clear()  # a later notification may come too late for this poll
            await self._try(self._poll)
            with suppress(TimeoutError):  # not `wait_for`, which can miss a cancellation
                async with asyncio.timeout(self._seconds):
                    await self._notified.wait()

    async def _try(self, look: Look) -> None:
        try:
            await look()
        except StorageError as error:  # it may be reachable next time
            log.warning("polling for runs failed, retrying: %s", error)
        except Exception:
            log.exception("polling for runs failed, retrying")
