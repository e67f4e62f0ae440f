"""Stores runs, chats and messages. docs/storage.md describes its guarantees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mobox.errors import StorageError
from mobox.registry import needs_extra
from mobox.settings import MEMORY, Settings
from mobox.storage.chats import Storage
from mobox.storage.files import plugged_blobs
from mobox.storage.notifications import NotifierFactory
from mobox.storage.sqlite import SqliteStorage

if TYPE_CHECKING:
    from mobox.storage.postgres import PostgresStorage

__all__ = ["Settings", "SqliteStorage", "Storage", "open_storage"]

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")


async def open_storage(url: str, settings: Settings | None = None, redis_url: str = "") -> Storage:
    """The store that a URL names: `memory:`, `sqlite:///` and a file's path, or `postgresql://…`.

    `memory:` is a temporary SQLite file, deleted when the store is closed.
    Processes that share it notify each other over the Redis or Valkey at `redis_url`; without it,
    PostgreSQL notifies them, and processes that share a file poll it.
    """
    settings = settings or Settings()
    blobs = plugged_blobs(settings)
    if url == MEMORY:
        return await SqliteStorage.open_temporary(settings, blobs)  # which no other process shares
    way = _by_redis(redis_url, settings.redis_prefix) if redis_url else None
    if url.startswith(_POSTGRES):
        return await _postgres().open(url, settings, way, blobs)
    if not url.startswith(_SQLITE) or url == _SQLITE:
        scheme = "".join(url.partition(":")[:2])  # the rest may hold a password
        known = f"memory:, {_SQLITE}PATH, {_POSTGRES[0]}HOST/DATABASE"
        raise StorageError(f"unknown store {scheme!r}; known: {known}")
    return await SqliteStorage.open(Path(url.removeprefix(_SQLITE)), settings, way, blobs)


def _postgres() -> type[PostgresStorage]:
    with needs_extra("postgres", "PostgreSQL"):
        from mobox.storage.postgres import PostgresStorage
    return PostgresStorage


def _by_redis(url: str, prefix: str) -> NotifierFactory:
    with needs_extra("redis", "Redis"):
        from mobox.storage.redis import RedisNotifier
    return lambda identity: RedisNotifier(url, f"{prefix}:news:{identity}")
