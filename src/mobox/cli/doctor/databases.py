"""Checks of the databases: SQLite, PostgreSQL and Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mobox.cli.doctor.context import Context
from mobox.cli.doctor.findings import Finding
from mobox.cli.doctor.machine import shown_path
from mobox.errors import (
    DatabaseTooNew,
    InvalidSetting,
    NoFreeConnection,
    StorageError,
    WrongPooler,
)
from mobox.registry import needs_extra
from mobox.settings import MEMORY, without_password

if TYPE_CHECKING:
    from mobox.storage.tables import DatabaseState

SECONDS: Final = 5
"""For a connection, and for a lock."""
_SQLITE: Final = "sqlite:///"
_POSTGRES: Final = ("postgresql://", "postgres://")


async def check_database(context: Context) -> AsyncIterator[Finding]:
    """Whether the database opens, and the version of its tables."""
    url = context.settings.database
    if url == MEMORY:
        text = "chats are kept in memory, and lost when the server stops"
        yield Finding("warn", "database", text, "leave DATABASE_URL out, or name a database")
    elif url.startswith(_POSTGRES):
        yield await _check_postgres(url)
    elif url.startswith(_SQLITE) and url != _SQLITE:
        yield await asyncio.to_thread(_check_file, Path(url.removeprefix(_SQLITE)))
    else:
        advice = "set DATABASE_URL to sqlite:///PATH or postgresql://HOST/DATABASE, or leave it out"
        yield Finding("fail", "database", f"unknown kind: {without_password(url)}", advice)


def _check_file(path: Path) -> Finding:
    from mobox.storage.sqlite.database import inspect_database
    from mobox.storage.sqlite.processes import processes_of

    name = shown_path(path)
    if not path.exists():
        return Finding("ok", "database", f"{name}: will be created")
    used = ""
    if users := processes_of(path):
        listed = ", ".join(map(str, users))
        used = f"; in use by {'process' if len(users) == 1 else 'processes'} {listed}"
    try:
        state = inspect_database(path, SECONDS)
    except DatabaseTooNew as error:
        return Finding("fail", "database", f"{name}: {error}", "upgrade Mobox")
    except StorageError as error:
        is_locked = "locked" in str(error)
        advice = "end the process that locks it" if is_locked else "restore it, or move it away"
        return Finding("fail", "database", f"{name}: {error}{used}", advice)
    return Finding("ok", "database", f"{name}: {_shown(state)}{used}")


async def _check_postgres(url: str) -> Finding:
    name = without_password(url)
    with needs_extra("postgres", "PostgreSQL"):
        from mobox.storage.postgres.database import connector, inspect_database
        from mobox.storage.postgres.server_checks import check_pooler, plain_connector
    try:
        await check_pooler(plain_connector(url, SECONDS))
        state = await inspect_database(connector(url, SECONDS))
    except DatabaseTooNew as error:
        return Finding("fail", "database", f"{name}: {error}", "upgrade Mobox")
    except (WrongPooler, NoFreeConnection) as error:  # which say what to do
        return Finding("fail", "database", f"{name}: {error}")
    except StorageError as error:
        advice = "check DATABASE_URL, and whether the server runs"
        return Finding("fail", "database", f"{name}: {error}", advice)
    return Finding("ok", "database", f"{name}: {_shown(state)}")


def _shown(state: DatabaseState) -> str:
    if not state.version:
        return f"{state.server}, tables will be created"
    if state.version < state.newest:
        return f"{state.server}, tables {state.version}, will be migrated to {state.newest}"
    return f"{state.server}, tables {state.version}"


async def check_redis(context: Context) -> AsyncIterator[Finding]:
    """Whether the server of notifications answers."""
    url = context.settings.redis_url
    if not url:
        return
    name = without_password(url)
    with needs_extra("redis", "Redis"):
        from mobox.storage.redis import ping
    try:
        async with asyncio.timeout(SECONDS):
            await ping(url)
    except TimeoutError:
        yield Finding("fail", "redis", f"{name}: no answer within {SECONDS} s", _REDIS_ADVICE)
    except InvalidSetting as error:
        yield Finding("fail", "redis", str(error), _REDIS_ADVICE)
    except StorageError as error:
        yield Finding("fail", "redis", f"{name}: {error}", _REDIS_ADVICE)
    else:
        yield Finding("ok", "redis", f"{name}: answers")


_REDIS_ADVICE: Final = "check REDIS_URL, and whether the server runs"
