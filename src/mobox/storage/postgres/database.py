"""The database: connects, migrates, and classifies connection errors.

All tables are in a schema of their own, `mobox`, so that an application may share the database.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import asyncpg

from mobox.errors import (
    NoFreeConnection,
    StorageError,
    StorageFull,
    StorageUnavailable,
    WrongPooler,
)
from mobox.settings import Settings, now_ms
from mobox.storage.renewals import MARGIN, since_boot
from mobox.storage.retry import Backoff
from mobox.storage.runs import Lease
from mobox.storage.tables import DatabaseState, Migration, check_version, read_migrations

log = logging.getLogger("mobox.storage")

Connection = Any
"""asyncpg's connection: asyncpg has no types."""
Connect = Callable[[], Awaitable[Connection]]

NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

_OLDEST: Final = 140_000
_LOCK: Final = 0x6D6F626F78  # "mobox" in ASCII: only one process migrates
_SESSION: Final = {
    "application_name": "mobox",
    "search_path": "mobox",
    "jit": "off",  # statements are short
    # A process that hangs in a transaction, or is cut off, blocks others no longer than this.
    "idle_in_transaction_session_timeout": "5s",
}
NO_SESSION: Final = (
    "connected, but got no answer; a pooler may have no free connection for this process"
    " (PgBouncer: default_pool_size, max_db_connections)"
)
_NO_URL: Final = "not a PostgreSQL URL; escape / # ? @ in the password as %2F %23 %3F %40"
_MAY_CREATE: Final = """
SELECT coalesce(
    has_schema_privilege(to_regnamespace('mobox'), 'CREATE'),
    has_database_privilege(current_database(), 'CREATE')
)
"""
_SCHEMA: Final = "CREATE SCHEMA IF NOT EXISTS mobox"
_VERSIONS: Final = """
CREATE TABLE IF NOT EXISTS migration (
    version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL
)
"""


# Errors

TROUBLE: Final = (
    OSError,
    TimeoutError,
    EOFError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""All errors that a connection raises."""
_WRONG: Final = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)
"""A reachable server's errors for a wrong URL; one that is being set up may raise them, too."""
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
_CONFLICT: Final = (asyncpg.TransactionRollbackError, asyncpg.UniqueViolationError)
"""Another transaction was in the way: an immediate retry may succeed."""
_FEWER: Final = (
    "raise max_connections in PostgreSQL, or run fewer processes, or lower --database-connections"
)
_REASONS: Final[Sequence[tuple[Any, Callable[[str], StorageError]]]] = (
    (asyncpg.DiskFullError, StorageFull),
    (asyncpg.TooManyConnectionsError, lambda why: NoFreeConnection(f"{why}; {_FEWER}")),
)
_POOLER_SIGNS: Final = (
    "statement pooling mode",
    'prepared statement "__asyncpg_',  # which another connection of the pool has, or has not
)
_MOST_CONFLICTS: Final = 20
"""How many of them in a row are retried."""
_FIRST_DELAY: Final = 0.02
_LONGEST_DELAY: Final = 0.5


def is_away(error: BaseException) -> bool:
    """Whether the database is unavailable at present, so that a retry may succeed."""
    is_closed = isinstance(error, asyncpg.InterfaceError) and not isinstance(error, ValueError)
    return is_closed or isinstance(error, _AWAY)


def reason_of(error: BaseException, message: str = "") -> StorageError:
    """The error as callers get it, by its cause; else with this message, if there is one."""
    text = message or str(error)
    for kinds, reason in _REASONS:
        if isinstance(error, kinds):
            return reason(text)
    if any(sign in str(error) for sign in _POOLER_SIGNS):
        return WrongPooler()
    return StorageError(message) if message else StorageUnavailable(error)


class Retries(Backoff):
    """Which errors are retried, and after which delays."""

    def __init__(self) -> None:
        super().__init__(_FIRST_DELAY, _LONGEST_DELAY)
        self._conflicts = 0
        self.last_error: Exception | None = None

    def allow(self, error: Exception) -> bool:
        """Whether to retry after this error: during an outage always, a conflict not forever.

        An outage resets the count: it may last, and then all processes come back at once.
        """
        self.last_error = error
        if is_away(error):
            self._conflicts = 0
            return True
        self._conflicts += 1
        return isinstance(error, _CONFLICT) and self._conflicts <= _MOST_CONFLICTS


# Connecting


def connector(url: str, seconds: float, statement_seconds: float = 0) -> Connect:
    """A function that connects to the database of a URL, with a timeout.

    The server ends a statement after `statement_seconds`: while a statement waits for a lock, the
    server does not notice that its client has disconnected.
    """
    limits = {"statement_timeout": f"{round(statement_seconds * 1000)}ms"}
    settings = "; ".join(f"SET {name} = '{value}'" for name, value in (_SESSION | limits).items())

    async def connect() -> Connection:
        async with asyncio.timeout(seconds):
            connection = await asyncpg.connect(url, timeout=seconds)
        try:
            async with asyncio.timeout(seconds):
                # Not as startup parameters: a pooler refuses connections with unknown ones.
                await connection.execute(settings)
        except TimeoutError:
            connection.terminate()
            raise TimeoutError(NO_SESSION) from None
        except BaseException:
            connection.terminate()
            raise
        return connection

    return connect


async def open_database(connect: Connect, seconds: float = 0) -> str:
    """Migrate the database, and return its unique id; retries to connect for so many seconds."""
    connection = await first_connection(connect, seconds)
    try:
        await _check_server(connection)
        await migrate(connection, migrations())
        return await _identity(connection)
    except TROUBLE as why:
        raise StorageError(f"cannot open the database: {message_of(why)}") from why
    finally:
        connection.terminate()


async def first_connection(connect: Connect, seconds: float) -> Connection:
    """Connect, with retries for so many seconds; raises `StorageError`."""
    try:
        return await _keep_connecting(connect, seconds)
    except ValueError:  # whose message may contain a part of the password
        raise StorageError(_NO_URL) from None
    except TROUBLE as why:
        raise reason_of(why, f"cannot connect to the database: {message_of(why)}") from why


async def _keep_connecting(connect: Connect, seconds: float) -> Connection:
    """Retry while the server may be starting; but not with a wrong password or database name."""
    deadline, retries, is_logged = time.monotonic() + seconds, Retries(), False
    while True:
        try:
            return await connect()
        except TROUBLE as why:
            if isinstance(why, _WRONG) or not is_away(why) or time.monotonic() >= deadline:
                raise
            if not is_logged:
                log.warning("cannot connect to the database yet, retrying: %s", message_of(why))
                is_logged = True
        await retries.wait()


async def _identity(connection: Connection) -> str:
    """A random database id, created on first use."""
    find = "SELECT value FROM counter WHERE name = 'identity'"
    if (number := await connection.fetchval(find)) is None:
        add = "INSERT INTO counter VALUES ('identity', $1) ON CONFLICT DO NOTHING"
        await connection.execute(add, secrets.randbits(63))
        number = await connection.fetchval(find)
    return f"{number:016x}"


def message_of(error: BaseException) -> str:
    """The words of an error, or its name if it has none."""
    return str(error) or type(error).__name__


async def inspect_database(connect: Connect) -> DatabaseState:
    """The state of the database, which is not changed; raises `StorageError`."""
    try:
        connection = await connect()
    except ValueError:  # whose message may contain a part of the password
        raise StorageError(_NO_URL) from None
    except TROUBLE as why:
        raise StorageError(f"cannot connect: {message_of(why)}") from why
    try:
        await _check_server(connection)
        newest = migrations()[-1].version
        version = await _version(connection, newest)
        if version < newest and not await connection.fetchval(_MAY_CREATE):
            raise StorageError("its user may not create tables, and some are missing")
        server = str(await connection.fetchval("SHOW server_version"))
        return DatabaseState(f"PostgreSQL {server.partition(' ')[0]}", version, newest)
    except TROUBLE as why:
        raise StorageError(message_of(why)) from why
    finally:
        connection.terminate()


async def _check_server(connection: Connection) -> None:
    found = int(await connection.fetchval("SHOW server_version_num"))
    if found < _OLDEST:
        oldest, here = _OLDEST // 10_000, found // 10_000
        raise StorageError(f"PostgreSQL {oldest} or newer is required, found {here}")


# Migrating


def migrations() -> list[Migration]:
    """All migrations of this version, in order."""
    return read_migrations(files("mobox.storage.postgres").joinpath("migrations"))


async def migrate(connection: Connection, known: Sequence[Migration]) -> None:
    """Apply missing migrations; if one fails, it is rolled back and those before it stay.

    An up-to-date database is only read: opening it needs no right to change the schema.
    """
    newest = known[-1].version
    if await _version(connection, newest) == newest:
        return
    # Outside the transaction: one that starts later is sure to see other processes' migrations.
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


async def check_database_version(connection: Connection) -> None:
    """Raise `DatabaseTooNew` if a later version has migrated the database."""
    find = "SELECT max(version) FROM mobox.migration"
    check_version(await connection.fetchval(find), newest_version())


@cache
def newest_version() -> int:
    """The version of the database to which this mobox migrates it."""
    return migrations()[-1].version


async def _apply(connection: Connection, migration: Migration) -> None:
    if not await connection.fetchval("SELECT to_regnamespace('mobox') IS NOT NULL"):
        await connection.execute(_SCHEMA)
    await connection.execute(_VERSIONS)
    await connection.execute(migration.sql)
    add = f"INSERT INTO migration VALUES ($1, $2, {NOW})"
    await connection.execute(add, migration.version, migration.name)


def storable(text: str) -> str:
    """The text without zero bytes, which PostgreSQL cannot store."""
    return text.replace("\0", "\ufffd")


class Transaction(NamedTuple):
    """One transaction: its connection, its time, our lease, and that of a queued run."""

    connection: Connection
    now: int
    lease: Lease
    queue: Lease


# The database's clock: hosts' clocks may be wrong, and all owners of leases must agree.

_A_MOMENT: Final = 1.0
"""Seconds that may pass between reading two clocks."""


_LATE: Final = MARGIN / 2
"""The part of a lease after which an answer is late."""


class DatabaseClock:
    """The database's time as last read, plus the time elapsed since."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._last: tuple[int, float] | None = None
        self._slept = _slept()

    @property
    def given(self) -> int | None:
        """The time of a clock that replaces the database's; `None` if there is none."""
        return None if self._settings.clock is now_ms else self._settings.clock()

    def seconds(self) -> float:
        """A time with an arbitrary start, for measuring differences."""
        given = self.given
        return since_boot() if given is None else given / 1000

    def has_slept(self) -> bool:
        """Whether this machine slept since the last call: perhaps all writers did."""
        before, self._slept = self._slept, _slept()
        return self._slept - before > _A_MOMENT

    def set(self, now: int, began: float) -> None:
        """Set the database's time, which was read in a query begun at `began` (`seconds`).

        An answer that took long says little: it would make new leases shorter than they are said to
        be. It only counts if there was no other for the time of a lease.
        """
        at, lease = self.seconds(), self._settings.lease
        is_late = at - began > lease * _LATE
        if self._last is None or not is_late or at - self._last[1] > lease:
            self._last = (now, at)

    def now(self) -> int:
        """In milliseconds."""
        if self.given is not None or self._last is None:
            return self._settings.clock()
        read, at = self._last
        return read + round((self.seconds() - at) * 1000)

    @property
    def lease_ms(self) -> int:
        """How long a lease is."""
        return round(self._settings.lease * 1000)

    def lease(self, holder: str) -> Lease:
        """A lease given now."""
        return Lease(holder, self.now() + self.lease_ms)

    def queue(self) -> Lease:
        """The lease of a run that is queued now: nobody's, until it can no longer be claimed."""
        return Lease(None, self.now() + round(self._settings.queue * 1000))


def _slept() -> float:
    return since_boot() - time.monotonic()
