"""The store in PostgreSQL does what every store does."""

from pathlib import Path

import asyncpg
import pytest

from mobox.storage import Settings, Storage, open_storage
from mobox.storage.postgres import PostgresStorage
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
from support.postgres_server import Databases
from support.valkey_server import Valkey


class OnPostgres(Conformance):
    """Opens a database for each test."""

    @pytest.fixture(autouse=True)
    def _on(self, postgres: Databases) -> None:
        self.postgres = postgres

    async def open(self, folder: Path, settings: Settings) -> Storage:
        return await PostgresStorage.open(await self.postgres.database(str(folder)), settings)


class TestPostgresStorage(OnPostgres, StorageConformance, PruningConformance):
    pass


class TestPostgresWithValkey(OnPostgres, StorageConformance):
    @pytest.fixture(autouse=True)
    def _with(self, valkey: Valkey) -> None:
        self.valkey = valkey

    async def open(self, folder: Path, settings: Settings) -> Storage:
        url = await self.postgres.database(str(folder))
        return await open_storage(url, settings, self.valkey.url)


class TestPostgresKeys(OnPostgres, KeysConformance):
    pass


class TestPostgresLists(OnPostgres, ListsConformance):
    pass


class TestPostgresPermissions(OnPostgres, PermissionsConformance):
    pass


class TestPostgresBranches(OnPostgres, BranchesConformance):
    pass


class TestPostgresFeedback(OnPostgres, FeedbackConformance):
    pass


class TestPostgresLinks(OnPostgres, LinksConformance):
    pass


class TestPostgresSearch(OnPostgres, SearchConformance):
    pass


class TestPostgresLongChats(OnPostgres, LongChatsConformance):
    pass


class TestPostgresRunLists(OnPostgres, RunListsConformance):
    pass


class TestPostgresOwnerLimits(OnPostgres, OwnerLimitsConformance):
    pass


class TestPostgresQueue(OnPostgres, QueueConformance):
    pass


class TestPostgresLeases(OnPostgres, LeasesConformance):
    pass


class TestPostgresFiles(OnPostgres, FilesConformance):
    pass


class TestPostgresHealth(OnPostgres, HealthConformance):
    """The disk is as full as triggers say: a database of its own, which keeps them."""

    async def open(self, folder: Path, settings: Settings) -> Storage:
        self.url = await self.postgres.blank()
        return await PostgresStorage.open(self.url, settings)

    async def execute(self, store: Storage, statement: str) -> None:
        connection = await asyncpg.connect(self.url)
        await connection.execute(f"SET search_path = mobox; {statement}")
        await connection.close()

    async def fill_disk(self, store: Storage) -> None:
        await self.execute(store, FULL)

    async def free_disk(self, store: Storage) -> None:
        await self.execute(store, "DROP FUNCTION public.refuse CASCADE")


FULL = """
CREATE FUNCTION public.refuse() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'the disk is full' USING ERRCODE = 'disk_full';
END $$;
CREATE TRIGGER refuse BEFORE INSERT ON mobox.message
    FOR EACH ROW EXECUTE FUNCTION public.refuse();
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON mobox.write_check
    FOR EACH ROW WHEN (NEW.bytes IS NOT NULL) EXECUTE FUNCTION public.refuse();
"""
