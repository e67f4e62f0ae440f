"""Whether a store can be written, and how busy it is: what every store says of itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mobox.errors import DatabaseTooNew, StorageError, StorageFull
from mobox.events.turn import Action, PromptText, Request, UserMessage
from mobox.storage import Settings, Storage
from mobox.storage.health import Load
from server.live_server import LIMIT
from storage.conformance import Conformance, opened
from storage.conformance_queue import begin, begin_queued
from support.clocks import Clock

LARGE = Request(
    chat_id="large",
    action=Action.SUBMIT,
    message=UserMessage(id="u1", parts=(PromptText(text="x" * 500_000),)),
)


class HealthConformance(Conformance):
    """Scenarios that a store plays with itself; `open` opens it, in the folder or in none."""

    @abstractmethod
    async def execute(self, store: Storage, statement: str) -> None:
        """Do this in the database, as another version of Mobox might."""

    @abstractmethod
    async def fill_disk(self, store: Storage) -> None:
        """Let there be room for one row, and no more."""

    @abstractmethod
    async def free_disk(self, store: Storage) -> None:
        """Let there be room again."""

    @asynccontextmanager
    async def opened(
        self, folder: Path, settings: Settings | None = None
    ) -> AsyncIterator[Storage]:
        settings = settings or Settings(poll_seconds=0.02)
        async with opened(lambda: self.open(folder, settings)) as (store,):
            yield store

    async def test_healthy_store_can_be_written(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            for _ in range(3):
                await store.check(LIMIT)
            assert store.can_write

    async def test_full_disk_is_reported_until_it_has_room_again(self, tmp_path: Path) -> None:
        """One row could be written all the time: a write that failed makes the check write more."""
        async with self.opened(tmp_path, Settings(busy_seconds=1)) as store:
            await store.check(LIMIT)
            await self.fill_disk(store)
            with pytest.raises(StorageError, match=r"full"):
                await store.begin_turn("ann", LARGE, "demo", "emitted")
            for _ in range(2):
                with pytest.raises(StorageFull):
                    await store.check(LIMIT)
            await self.free_disk(store)
            await store.check(LIMIT)
            await store.check(LIMIT)
            assert store.can_write

    async def test_migration_by_a_newer_version_is_noticed(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as store:
            await store.check_version()
            add = "INSERT INTO migration VALUES (9999, 'later', 0)"
            await self.execute(store, add)
            try:
                with pytest.raises(DatabaseTooNew, match="9999"):
                    await store.check_version()
                with pytest.raises(DatabaseTooNew):
                    await store.check(LIMIT)
            finally:
                await self.execute(store, "DELETE FROM migration WHERE version = 9999")

    async def test_load_counts_queued_runs_and_own_leases(self, tmp_path: Path) -> None:
        clock = Clock()
        settings = Settings(poll_seconds=0.02, clock=clock, queue=60, lease=3600)
        async with self.opened(tmp_path, settings) as store:
            assert await store.load() == Load(queued=0, oldest_ms=0, leases=0)
            await begin_queued(store, "c1")
            clock.now += 5000
            await begin_queued(store, "c2")
            await begin(store, "c3")
            clock.now += 1000
            assert await store.load() == Load(queued=2, oldest_ms=6000, leases=1)
            (run,) = await store.claim(["demo"], 1)
            assert run.chat_id == "c1"
            assert await store.load() == Load(queued=1, oldest_ms=1000, leases=2)
