"""The database file: opens and migrates it, and the threads and transactions that use it."""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mobox.errors import SearchTooSlow, StorageError
from mobox.settings import Settings, now_ms
from mobox.storage.health import any_value
from mobox.storage.retry import Backoff
from mobox.storage.runs import Lease
from mobox.storage.tables import DatabaseState, Migration, check_version, read_migrations

P = ParamSpec("P")
T = TypeVar("T")

Connection = sqlite3.Connection

_OLDEST_SQLITE = (3, 38, 0)  # the first with all of STRICT, RETURNING and JSON
_HAS_INDEX = "SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"
_NO_INDEX = "this Python's SQLite has no FTS5, which searches need: use another build of Python"
_CHECKPOINT_PAGES = 50_000  # 200 MB: a last resort, because a commit that copies takes long
_STATEMENTS = 256  # an insert of each size from 1 to 64 rows, twice, and all others
_VERSIONS = """
CREATE TABLE IF NOT EXISTS migration (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL
) STRICT
"""
_WRITE_LITTLE = """
INSERT INTO write_check (name, value) VALUES ('little', ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
_WRITE_MUCH = """
INSERT INTO write_check (name, value, bytes) VALUES ('much', ?1, iif(?2, randomblob(?2), NULL))
ON CONFLICT (name) DO UPDATE SET value = excluded.value, bytes = excluded.bytes
"""


def migrations() -> list[Migration]:
    """All migrations of this version, in order."""
    return read_migrations(files("mobox.storage").joinpath("migrations"))


def open_database(
    path: Path, settings: Settings, known: Sequence[Migration] | None = None
) -> Connection:
    """The writer's connection to a migrated database; by default to that of chats and logs."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        raise StorageError(f"SQLite {oldest} or newer is required, found {sqlite3.sqlite_version}")
    _make_private(path)
    try:
        connection = connect(path, settings)
        with ExitStack() as on_failure:
            on_failure.callback(connection.close)
            if not connection.execute(_HAS_INDEX).fetchone():
                raise StorageError(_NO_INDEX)
            _use_wal(connection, settings)
            migrate(connection, migrations() if known is None else known)
            on_failure.pop_all()
    except sqlite3.Error as error:
        raise StorageError(f"cannot open {path}: {error}") from error
    return connection


def inspect_database(path: Path, seconds: float) -> DatabaseState:
    """The state of an existing file, of which nothing is changed; raises `StorageError`.

    Waits so long for another process that writes.
    """
    newest = migrations()[-1].version
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as database:
            database.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
            database.execute("BEGIN IMMEDIATE")  # whether it can be written
            find = "SELECT count(*) FROM sqlite_master WHERE name = 'migration'"
            ((has_tables,),) = database.execute(find).fetchall()
            version = _version(database, newest) if has_tables else 0
            database.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise StorageError(str(error)) from error
    return DatabaseState(f"SQLite {sqlite3.sqlite_version}", version, newest)


def _make_private(path: Path) -> None:
    """Create a new file with mode 0600, which SQLite also uses for the files beside it.

    An existing one is not opened: closing it would drop the locks that this process holds on it.
    """
    with suppress(OSError):  # SQLite will report what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def connect(path: Path, settings: Settings) -> Connection:
    """A connection for use in any thread; transactions are started explicitly."""
    connection = sqlite3.connect(
        path,
        timeout=settings.busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_STATEMENTS,
    )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA synchronous = {settings.synchronous}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    connection.execute("PRAGMA secure_delete = ON")  # as Debian's SQLite has it, others have not
    return connection


def _use_wal(connection: Connection, settings: Settings) -> None:
    """Switch to WAL mode; retries, since this does not wait for locks as a transaction does."""
    deadline, backoff = time.monotonic() + settings.busy_seconds, Backoff(0.01, 0.05)
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(backoff.delay())
        else:
            return


def migrate(connection: Connection, known: Sequence[Migration]) -> None:
    """Apply missing migrations; if one fails, it is rolled back and those before it stay."""
    connection.execute(_VERSIONS)
    newest = known[-1].version
    for migration in known:
        connection.execute("BEGIN IMMEDIATE")  # another process may migrate too
        try:
            if _version(connection, newest) < migration.version:
                _apply(connection, migration)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _version(connection: Connection, newest: int) -> int:
    (found,) = connection.execute("SELECT coalesce(max(version), 0) FROM migration").fetchone()
    return check_version(int(found), newest)


def check_database_version(connection: Connection) -> None:
    """Raise `DatabaseTooNew` if a later version has migrated the database."""
    _version(connection, newest_version())


@cache
def newest_version() -> int:
    """The version of the database to which this mobox migrates it."""
    return migrations()[-1].version


def write_little(transaction: Transaction) -> None:
    """Write a row, to find out whether that is possible."""
    transaction.connection.execute(_WRITE_LITTLE, (any_value(),))


def write_much(transaction: Transaction, size: int) -> None:
    """Write so many bytes in place of those that were written before."""
    transaction.connection.execute(_WRITE_MUCH, (any_value(), size))


def _statements(sql: str) -> Iterator[str]:
    """The statements one by one: `executescript` would commit the transaction."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _apply(connection: Connection, migration: Migration) -> None:
    for statement in _statements(migration.sql):
        connection.execute(statement)
    applied = (migration.version, migration.name, now_ms())
    connection.execute("INSERT INTO migration VALUES (?, ?, ?)", applied)


def identity(connection: Connection) -> str:
    """A random database id, created on first use."""
    add = "INSERT INTO counter VALUES ('identity', ?) ON CONFLICT DO NOTHING"
    connection.execute(add, (secrets.randbits(63),))
    find = "SELECT value FROM counter WHERE name = 'identity'"
    ((number,),) = connection.execute(find).fetchall()
    return f"{number:016x}"


# Reading


_STEPS = 1000  # of SQLite's virtual machine, between two looks whether to stop


class Stop:
    """Ends a search: at its deadline, or when nobody waits for it any more."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until = time.monotonic() + seconds
        self._is_abandoned = False

    def abandon(self) -> None:
        """Nobody waits for it."""
        self._is_abandoned = True

    def is_reached(self) -> bool:
        return self._is_abandoned or time.monotonic() >= self._until


class Readers:
    """Runs functions of a connection in threads, each of which has a connection of its own."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path = path
        self._settings = settings
        self._threads = ThreadPoolExecutor(settings.readers, thread_name_prefix="mobox-reader")
        self._local = threading.local()
        self._connections: list[Connection] = []

    async def snapshot(
        self,
        function: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The function's result in one snapshot."""
        return await self._run(lambda: self._in_snapshot(lambda c: function(c, *args, **kwargs)))

    async def query(
        self,
        function: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The result of a function of one statement, or of several that need no common snapshot."""
        return await self._run(lambda: function(self._connection(), *args, **kwargs))

    async def search(self, function: Callable[[Connection], T], stop: Stop) -> T:
        """The function's result in one snapshot; raises `SearchTooSlow` when it is stopped."""

        def work() -> T:
            connection = self._connection()
            connection.set_progress_handler(stop.is_reached, _STEPS)
            try:
                return self._in_snapshot(function)
            finally:
                connection.set_progress_handler(None, 0)

        try:
            return await self._run(work)
        except StorageError as error:
            if stop.is_reached():
                raise SearchTooSlow(stop.seconds) from error
            raise

    async def close(self) -> None:
        """Wait for the running reads first."""
        await asyncio.to_thread(self._threads.shutdown)
        for connection in self._connections:
            connection.close()

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except sqlite3.Error as error:
            raise StorageError(f"cannot read the database: {error}") from error

    def _in_snapshot(self, function: Callable[[Connection], T]) -> T:
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            return function(connection)
        finally:
            connection.execute("ROLLBACK")

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self._path, self._settings)
            connection.execute("PRAGMA query_only = ON")
            connection.create_function("says", 2, says, deterministic=True)
            self._local.connection = connection
            self._connections.append(connection)
        return connection


def says(text: str, query: str) -> bool:
    """Whether a text contains the query, which is in lower case; a function of the database."""
    return query in text.casefold()


# Writing

LAST_ID = "SELECT value FROM counter WHERE name = 'entry'"


class Transaction:
    """A transaction of many jobs, each of which can fail alone; it has their lease and new ids."""

    def __init__(self, connection: Connection, settings: Settings, holder: str) -> None:
        self.connection = connection
        self.settings = settings
        self.now = settings.clock()
        self.lease = Lease(holder, settings.lease_until())
        self.queue = Lease(None, settings.queued_until())
        self._last_id: int | None = None

    def take_ids(self, count: int) -> int:
        """The first of `count` new ids of entries."""
        if self._last_id is None:
            ((self._last_id,),) = self.connection.execute(LAST_ID).fetchall()
        first = self._last_id + 1
        self._last_id += count
        return first

    def know_last_id(self, last_id: int) -> None:
        """Set the last id, where it was read along with something else: saves a query."""
        if self._last_id is None:
            self._last_id = last_id

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Roll back only what was done inside, if it fails."""
        self.connection.execute("SAVEPOINT job")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:  # a full disk ends the whole transaction
                self.connection.execute("ROLLBACK TO job")
                self.connection.execute("RELEASE job")
            raise
        self.connection.execute("RELEASE job")

    def begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        if self._last_id is not None:
            taken = (self._last_id,)
            self.connection.execute("UPDATE counter SET value = ? WHERE name = 'entry'", taken)
        self.connection.execute("COMMIT")

    def roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")


# Checkpointing

_CHECKPOINT_SECONDS = 0.25
_RESTART_PAGES = 8000  # 32 MB: from here on the write-ahead log is restarted when possible


class Checkpoints:
    """A thread that copies the write-ahead log into the database file while it is written.

    SQLite would do it in the middle of a commit, which then takes 20 ms and more, and delays its
    readers. Nothing depends on this thread: the writer checkpoints what it leaves.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self._connection = connect(path, settings)
        self._connection.execute("PRAGMA busy_timeout = 0")  # it never blocks, and retries
        self._written = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="mobox-checkpoints", daemon=True)
        self._thread.start()

    def note_commit(self) -> None:
        """There is something to checkpoint."""
        self._written.set()

    def close(self) -> None:
        self._closing.set()
        self._written.set()
        self._thread.join()

    def _serve(self) -> None:
        while not self._closing.wait(_CHECKPOINT_SECONDS):
            self._written.wait()
            self._written.clear()
            self._checkpoint()
        self._connection.close()

    def _checkpoint(self) -> None:
        try:
            pages = self._copy("PASSIVE")
            if pages > _RESTART_PAGES:
                self._copy("RESTART")
        except sqlite3.OperationalError:
            return  # another process does it

    def _copy(self, mode: str) -> int:
        """Checkpoint what is possible; return the length of the write-ahead log in pages."""
        row = self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        return int(row[1])
