"""The log: where runs, chats and messages are kept. docs/storage.md tells what it promises."""

from __future__ import annotations

from pathlib import Path

from mobox.errors import StorageError
from mobox.storage.chats import Storage
from mobox.storage.memory import MemoryStorage
from mobox.storage.settings import Settings
from mobox.storage.sqlite import SqliteStorage

__all__ = ["MemoryStorage", "Settings", "SqliteStorage", "Storage", "open_storage"]

_SQLITE = "sqlite:///"


async def open_storage(url: str, settings: Settings | None = None) -> Storage:
    """The store that a URL names: `memory:`, or `sqlite:///` and the path of a file."""
    if url == "memory:":
        return MemoryStorage(settings)
    if not url.startswith(_SQLITE) or url == _SQLITE:
        scheme = "".join(url.partition(":")[:2])  # the rest may hold a password
        raise StorageError(f"unknown store {scheme!r}; known: memory:, {_SQLITE}PATH")
    return await SqliteStorage.open(Path(url.removeprefix(_SQLITE)), settings)
