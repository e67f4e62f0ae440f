"""Polls the store for what other processes wrote: when they notify, and at intervals.

Rule 1: one query at a time for all waiters: a thousand idle readers cost as much as one.
Rule 2: notifications may be late, duplicated or lost: that only delays when a change is seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, Literal, NamedTuple

from mobox.storage.log import RunId
from mobox.storage.notifier import Notifier, RunNotice

__all__ = ["QueriedRuns", "RemotePolling"]

_SAFETY_NET: Final = 5
"""Every fifth poll is made even while notifications arrive."""

_NOTHING: Final = RunNotice()


class QueriedRuns(NamedTuple):
    """The runs and chats to query."""

    run_ids: list[RunId]
    chat_ids: list[str]


class RemotePolling:
    """Exchanges notifications with the other processes of one store, and polls it."""

    def __init__(
        self,
        poll_seconds: float | None,
        wake_ups: Notifier | None,
        look: Callable[[QueriedRuns], Coroutine[Any, Any, None]],
        waited_for: Callable[[], QueriedRuns],
    ) -> None:
        self._poll_seconds = poll_seconds
        self._wake_ups = wake_ups
        self._look = look
        self._waited_for = waited_for
        self._run_ids: set[RunId] = set()
        self._chat_ids: set[str] = set()
        self._looking: asyncio.Task[None] | None = None
        self._poller: asyncio.Task[None] | None = None

    @property
    def state(self) -> Literal["none", "up", "down"]:
        """See `Storage.wake_ups`."""
        if self._wake_ups is None:
            return "none"
        return "up" if self._wake_ups.is_healthy else "down"

    def tell(self, notification: RunNotice) -> None:
        """Notify other processes, if there is a channel."""
        if self._wake_ups is not None and notification != _NOTHING:
            self._wake_ups.tell(notification)

    def look_soon(self, run_ids: Iterable[RunId], chat_ids: Iterable[str] = ()) -> None:
        """Query these soon: a notification named them."""
        self._run_ids.update(run_ids)
        self._chat_ids.update(chat_ids)
        if (self._run_ids or self._chat_ids) and self._looking is None:
            self._looking = asyncio.create_task(self._query())

    async def _query(self) -> None:
        try:
            while self._run_ids or self._chat_ids:
                places = QueriedRuns(list(self._run_ids), list(self._chat_ids))
                self._run_ids, self._chat_ids = set(), set()  # refilled by later notifications
                await self._look(places)
        finally:
            self._looking = None

    def start_polling(self) -> None:
        """Poll at intervals while there are waiters."""
        if self._poll_seconds is not None and self._poller is None:
            self._poller = asyncio.create_task(self._poll(self._poll_seconds))

    async def _poll(self, seconds: float) -> None:
        looks = 0
        try:
            while any(self._waited_for()):
                await asyncio.sleep(seconds)
                looks += 1
                if self.state != "up" or looks % _SAFETY_NET == 0:
                    await self._look(self._waited_for())
        finally:
            self._poller = None

    async def stop_looking(self) -> None:
        """The store is about to close."""
        tasks = [task for task in (self._poller, self._looking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def stop_telling(self) -> None:
        """Nothing more will be committed."""
        if self._wake_ups is not None:
            await self._wake_ups.close()
