"""The store in a SQLite file does what every store does."""

import sqlite3
from pathlib import Path

from mobox.storage import Settings, SqliteStorage, Storage
from storage.conformance import Conformance, StorageConformance
from storage.conformance_branches import BranchesConformance
from storage.conformance_feedback import FeedbackConformance
from storage.conformance_files import FilesConformance
from storage.conformance_health import HealthConformance
from storage.conformance_keys import KeysConformance
from storage.conformance_leases import LeasesConformance
from storage.conformance_links import LinksConformance
from storage.conformance_lists import ListsConformance
from storage.conformance_owner_limits import OwnerLimitsConformance
from storage.conformance_permissions import PermissionsConformance
from storage.conformance_pruning import PruningConformance
from storage.conformance_queue import QueueConformance
from storage.conformance_run_lists import RunListsConformance
from storage.conformance_search import LongChatsConformance, SearchConformance


class OnSqlite(Conformance):
    """Opens a file for each test."""

    async def open(self, folder: Path, settings: Settings) -> Storage:
        return await SqliteStorage.open(folder / "mobox.db", settings)


class TestSqliteStorage(OnSqlite, StorageConformance, PruningConformance):
    pass


class TestSqliteKeys(OnSqlite, KeysConformance):
    pass


class TestSqliteLists(OnSqlite, ListsConformance):
    pass


class TestSqlitePermissions(OnSqlite, PermissionsConformance):
    pass


class TestSqliteBranches(OnSqlite, BranchesConformance):
    pass


class TestSqliteFeedback(OnSqlite, FeedbackConformance):
    pass


class TestSqliteLinks(OnSqlite, LinksConformance):
    pass


class TestSqliteSearch(OnSqlite, SearchConformance):
    pass


class TestSqliteLongChats(OnSqlite, LongChatsConformance):
    pass


class TestSqliteRunLists(OnSqlite, RunListsConformance):
    pass


class TestSqliteOwnerLimits(OnSqlite, OwnerLimitsConformance):
    pass


class TestSqliteQueue(OnSqlite, QueueConformance):
    pass


class TestSqliteLeases(OnSqlite, LeasesConformance):
    pass


class TestSqliteFiles(OnSqlite, FilesConformance):
    pass


class TestSqliteHealth(OnSqlite, HealthConformance):
    """The disk is as full as SQLite is told: its own limit of pages."""

    async def execute(self, store: Storage, statement: str) -> None:
        assert isinstance(store, SqliteStorage)
        connection = sqlite3.connect(store._writer._path)
        with connection:
            connection.execute(statement)
        connection.close()

    async def fill_disk(self, store: Storage) -> None:
        assert isinstance(store, SqliteStorage)

        await self._limit(store, 1)  # which means as many as there are

    async def free_disk(self, store: Storage) -> None:
        assert isinstance(store, SqliteStorage)
        await self._limit(store, 1_000_000)

    async def _limit(self, store: SqliteStorage, pages: int) -> None:
        limit = f"PRAGMA max_page_count = {pages}"
        await store._writer.submit(lambda t: t.connection.execute(limit).fetchall())
