"""The log: where runs, chats and messages are kept. docs/storage.md tells what it promises."""

from __future__ import annotations

from pathlib import Path

from mobox.errors import NotInstalled, StorageError
from mobox.storage.chats import Storage
from mobox.storage.memory import MemoryStorage
from mobox.storage.settings import Settings
from mobox.storage.sqlite import SqliteStorage
from mobox.storage.wake_ups import WayToOthers

__all__ = ["MemoryStorage", "Settings", "SqliteStorage", "Storage", "open_storage"]

_SQLITE = "sqlite:///"


async def open_storage(url: str, settings: Settings | None = None, redis_url: str = "") -> Storage:
    """The store that a URL names: `memory:`, or `sqlite:///` and the path of a file.

    Processes that share it tell each other what is new by the Redis or Valkey at `redis_url`;
    without that they look for it.
    """
    settings = settings or Settings()
    if url == "memory:":
        return MemoryStorage(settings)  # which nobody shares
    if not url.startswith(_SQLITE) or url == _SQLITE:
        scheme = "".join(url.partition(":")[:2])  # the rest may hold a password
        raise StorageError(f"unknown store {scheme!r}; known: memory:, {_SQLITE}PATH")
    way = _by_redis(redis_url, settings.channel_prefix) if redis_url else None
    return await SqliteStorage.open(Path(url.removeprefix(_SQLITE)), settings, way)


def _by_redis(url: str, prefix: str) -> WayToOthers:
    try:
        from mobox.storage.redis import RedisWakeUps
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "mobox":
            raise
        raise NotInstalled("Redis", error.name, "redis") from None
    return lambda identity: RedisWakeUps(url, f"{prefix}:news:{identity}")
