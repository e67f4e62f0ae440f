"""The store in memory does what every store does."""

from pathlib import Path

from mobox.storage import MemoryStorage, Settings, Storage
from storage.conformance import StorageConformance
from storage.conformance_keys import KeysConformance
from storage.conformance_pruning import PruningConformance


class TestMemoryStorage(StorageConformance, PruningConformance):
    async def open(self, folder: Path, settings: Settings) -> Storage:
        return MemoryStorage(settings)


class TestMemoryKeys(KeysConformance):
    async def open(self, folder: Path, settings: Settings) -> Storage:
        return MemoryStorage(settings)
