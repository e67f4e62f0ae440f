"""The database: how it is reached, brought up to date, and known to be away.

All of it is in a schema of its own, `mobox`, so that a database may be shared with an application.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from typing import Any, Final

import asyncpg

from mobox.errors import StorageError
from mobox.storage.postgres.steadiness import Waits
from mobox.storage.schema import Migration, check_version, read_migrations

__all__ = [
    "NOW",
    "TROUBLE",
    "Connect",
    "Connection",
    "connector",
    "is_again",
    "is_away",
    "migrate",
    "migrations",
    "open_database",
]

log = logging.getLogger("mobox.storage")

Connection = Any
"""What asyncpg, which has no types, calls so."""
Connect = Callable[[], Awaitable[Connection]]

NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

_OLDEST: Final = 140_000
_LOCK: Final = 0x6D6F626F78  # the word mobox: only one process migrates
_SESSION: Final = {
    "application_name": "mobox",
    "search_path": "mobox",
    "jit": "off",  # statements are short
    # A process that is frozen in a transaction, or cut off, keeps nobody waiting for longer.
    "idle_in_transaction_session_timeout": "5s",
}
_SCHEMA: Final = "CREATE SCHEMA IF NOT EXISTS mobox"
_VERSIONS: Final = """
CREATE TABLE IF NOT EXISTS migration (
    version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL
)
"""


# What can go wrong

TROUBLE: Final = (
    OSError,
    TimeoutError,
    EOFError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""All that a connection raises."""
_WRONG: Final = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)
"""What a server that is there says of an address; one that is being set up may say it, too."""
_AWAY: Final = (
    OSError,
    TimeoutError,
    EOFError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InternalClientError,
    *_WRONG,
)
_AGAIN: Final = (asyncpg.TransactionRollbackError, asyncpg.UniqueViolationError)


def is_away(error: BaseException) -> bool:
    """Whether the database does not take anything now: it may later, if nobody gives up."""
    is_closed = isinstance(error, asyncpg.InterfaceError) and not isinstance(error, ValueError)
    return is_closed or isinstance(error, _AWAY)


def is_again(error: BaseException) -> bool:
    """Whether somebody else was in the way: the same may do at once, if it looks again."""
    return isinstance(error, _AGAIN)


# Connecting


def connector(url: str, seconds: float, statement_seconds: float = 0) -> Connect:
    """What connects to the database that a URL names, or fails in time.

    A statement that nobody waits for any more is ended by the server after `statement_seconds`: it
    does not notice that we went away as long as it waits for somebody else.
    """
    limits = {"statement_timeout": f"{round(statement_seconds * 1000)}ms"}
    settings = "; ".join(f"SET {name} = '{value}'" for name, value in (_SESSION | limits).items())

    async def connect() -> Connection:
        async with asyncio.timeout(seconds):
            connection = await asyncpg.connect(url, timeout=seconds)
            try:
                # Not with the first words: a pooler refuses to connect whom it does not understand.
                await connection.execute(settings)
            except BaseException:
                connection.terminate()
                raise
            return connection

    return connect


async def open_database(connect: Connect, patience: float = 0) -> str:
    """Bring the database up to date, and return what no other is called."""
    try:
        connection = await _first_connection(connect, patience)
    except ValueError:  # which may tell a part of the password
        raise StorageError(
            "not a PostgreSQL URL; escape / # ? @ in the password as %2F %23 %3F %40"
        ) from None
    except TROUBLE as why:
        raise StorageError(f"cannot connect to the database: {_message(why)}") from why
    try:
        await _check_server(connection)
        await migrate(connection, migrations())
        return await _identity(connection)
    except TROUBLE as why:
        raise StorageError(f"cannot open the database: {_message(why)}") from why
    finally:
        connection.terminate()


async def _first_connection(connect: Connect, patience: float) -> Connection:
    """Wait for a server that may be starting, too; but not for other passwords and names."""
    deadline, waits, is_told = time.monotonic() + patience, Waits(), False
    while True:
        try:
            return await connect()
        except TROUBLE as why:
            if isinstance(why, _WRONG) or not is_away(why) or time.monotonic() >= deadline:
                raise
            if not is_told:
                log.warning("cannot connect to the database yet, retrying: %s", _message(why))
                is_told = True
        await waits.next()


async def _identity(connection: Connection) -> str:
    """Drawn when it is first asked for, and kept in the database."""
    find = "SELECT value FROM counter WHERE name = 'identity'"
    if (drawn := await connection.fetchval(find)) is None:
        add = "INSERT INTO counter VALUES ('identity', $1) ON CONFLICT DO NOTHING"
        await connection.execute(add, secrets.randbits(63))
        drawn = await connection.fetchval(find)
    return f"{drawn:016x}"


def _message(error: BaseException) -> str:
    return str(error) or type(error).__name__


async def _check_server(connection: Connection) -> None:
    found = int(await connection.fetchval("SHOW server_version_num"))
    if found < _OLDEST:
        oldest, here = _OLDEST // 10_000, found // 10_000
        raise StorageError(f"PostgreSQL {oldest} or newer is required, found {here}")


# Migrating


def migrations() -> list[Migration]:
    """All that this version knows, in order."""
    return read_migrations(files("mobox.storage.postgres").joinpath("migrations"))


async def migrate(connection: Connection, known: Sequence[Migration]) -> None:
    """Apply what is missing; if one fails, all before it stay and nothing of it does.

    A database that is up to date is only read: whoever opens it needs no right to change it.
    """
    newest = known[-1].version
    if await _version(connection, newest) == newest:
        return
    # Not in the transaction: what others have made is sure to be seen in one that begins later.
    await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
    try:
        for migration in known:
            async with connection.transaction():
                if await _version(connection, newest) < migration.version:
                    await _apply(connection, migration)
    finally:
        await connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)


async def _version(connection: Connection, newest: int) -> int:
    if await connection.fetchval("SELECT to_regclass('mobox.migration')") is None:
        return 0
    find = "SELECT coalesce(max(version), 0) FROM mobox.migration"
    return check_version(await connection.fetchval(find), newest)


async def _apply(connection: Connection, migration: Migration) -> None:
    if not await connection.fetchval("SELECT to_regnamespace('mobox') IS NOT NULL"):
        await connection.execute(_SCHEMA)
    await connection.execute(_VERSIONS)
    await connection.execute(migration.sql)
    add = f"INSERT INTO migration VALUES ($1, $2, {NOW})"
    await connection.execute(add, migration.version, migration.name)
