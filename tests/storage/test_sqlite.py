"""The store in a SQLite file does what every store does."""

from pathlib import Path

from mobox.storage import Settings, SqliteStorage, Storage
from storage.conformance import StorageConformance
from storage.conformance_keys import KeysConformance
from storage.conformance_pruning import PruningConformance


class TestSqliteStorage(StorageConformance, PruningConformance):
    async def open(self, folder: Path, settings: Settings) -> Storage:
        return await SqliteStorage.open(folder / "mobox.db", settings)


class TestSqliteKeys(KeysConformance):
    async def open(self, folder: Path, settings: Settings) -> Storage:
        return await SqliteStorage.open(folder / "mobox.db", settings)
