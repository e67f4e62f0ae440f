"""Whether runs can be started here, and the numbers of the queue, asked at most once a second."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from shutil import disk_usage
from typing import Final, Generic, TypeVar

from mobox.errors import StorageError, StorageFull
from mobox.storage import Storage
from mobox.storage.health import Load

log = logging.getLogger("mobox.server")

FRESH_SECONDS: Final = 1.0
"""How long an answer of the database is used for other requests."""
CHECK_SECONDS: Final = 2.0
"""How long the database may take for an answer."""
LEAST_FREE: Final = 1 << 20
"""Bytes in the data folder below which its disk counts as full."""

T = TypeVar("T")


class _Cached(Generic[T]):
    """The last result of a question; those who ask at the same time share one."""

    def __init__(self, ask: Callable[[], Awaitable[T]]) -> None:
        self._ask = ask
        self._task: asyncio.Task[T] | None = None
        self._asked_at = 0.0

    async def get(self) -> T:
        now = asyncio.get_running_loop().time()
        task = self._task
        if task is None or (task.done() and now - self._asked_at >= FRESH_SECONDS):
            self._asked_at = now
            self._task = task = asyncio.create_task(self._answer())
        return await asyncio.shield(task)

    async def _answer(self) -> T:
        return await self._ask()


class Readiness:
    """What the routes for operators know of a store."""

    def __init__(self, storage: Storage, data: Path) -> None:
        self._storage = storage
        self._data = data
        self._problem: _Cached[StorageError | None] = _Cached(self._check)
        self._load: _Cached[Load | None] = _Cached(self._read_load)
        self._is_ready = True
        self.load: Load | None = None
        """The numbers of the queue when they were last asked for; unknown if that failed."""

    async def problem(self) -> StorageError | None:
        """Why nothing can be stored; `None` if something was just stored."""
        return await self._problem.get()

    async def refresh_load(self) -> None:
        """Read `load` again, unless it is fresh."""
        self.load = await self._load.get()

    async def _check(self) -> StorageError | None:
        problem = None
        try:
            await self._storage.check(CHECK_SECONDS)
            await asyncio.to_thread(self._check_folder)
        except StorageError as error:
            problem = error
        self._log(problem)
        return problem

    def _check_folder(self) -> None:
        """Messages and agents need room in the data folder, too, wherever the database is."""
        if disk_usage(self._data).free < LEAST_FREE:
            raise StorageFull(f"less than {LEAST_FREE >> 10} KiB are free in {self._data}")

    def _log(self, problem: StorageError | None) -> None:
        if problem is not None and self._is_ready:
            log.warning("not ready, /readyz returns 503: %s", problem)
        if problem is None and not self._is_ready:
            log.info("ready again")
        self._is_ready = problem is None

    async def _read_load(self) -> Load | None:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                return await self._storage.load()
        except (StorageError, TimeoutError, RuntimeError):  # the last if the store is closed
            return None
