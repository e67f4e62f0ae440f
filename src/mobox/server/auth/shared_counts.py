"""Keeps the numbers of this process's open connections in the store, and reads those of all.

Rule 1: the numbers of one owner are stored one after the other, each as it is when it is sent.
Rule 2: while there are any, all are stored again at intervals: what failed is made good then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final
from weakref import WeakValueDictionary

from mobox.errors import StorageError
from mobox.storage.owner_limits import RENEW_SECONDS, OwnerLimits

STORE_SECONDS: Final = 1.0
"""How long a new connection waits for the number of all processes."""


class SharedCounts:
    """`here` returns the numbers of this process, by owner."""

    def __init__(self, store: OwnerLimits, here: Callable[[], Mapping[str, int]]) -> None:
        self._store = store
        self._here = here
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[object]] = set()
        self._renewing: asyncio.Task[None] | None = None

    async def count(self, owner: str) -> int:
        """The connections of an owner in all processes; in this one, if the store is away."""
        if self._renewing is None:
            self._renewing = asyncio.get_running_loop().create_task(self._renew())
        with suppress(StorageError, TimeoutError):
            async with asyncio.timeout(STORE_SECONDS):
                return await self._send(owner)
        return self._here().get(owner, 0)

    def note_change(self, owner: str) -> None:
        """A connection of the owner was closed: store that soon."""
        if self._renewing is not None:
            if not self._here():
                self._renewing.cancel()
                self._renewing = None
            task = asyncio.get_running_loop().create_task(self._send_soon(owner))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _send(self, owner: str) -> int:
        async with self._locks.setdefault(owner, asyncio.Lock()):
            return await self._store.count_streams(owner, self._here().get(owner, 0))

    async def _send_soon(self, owner: str) -> None:
        with suppress(StorageError):
            await self._send(owner)

    async def _renew(self) -> None:
        """Runs while there are connections."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            with suppress(StorageError):
                await self._store.renew_streams(dict(self._here()))
