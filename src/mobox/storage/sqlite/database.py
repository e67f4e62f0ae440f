"""The database file: opens and migrates it."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib.resources import files
from pathlib import Path

from mobox.errors import StorageError
from mobox.storage.schema import Migration, check_version, read_migrations
from mobox.storage.settings import Settings, now_ms

__all__ = ["Migration", "connect", "identity", "migrate", "migrations", "open_database"]

_OLDEST_SQLITE = (3, 38, 0)  # the first with all of STRICT, RETURNING and JSON
_CHECKPOINT_PAGES = 50_000  # 200 MB: a last resort, because a commit that copies takes long
_STATEMENTS = 256  # an insert of each size from 1 to 64 rows, twice, and all others
_VERSIONS = """
CREATE TABLE IF NOT EXISTS migration (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL
) STRICT
"""


def migrations() -> list[Migration]:
    """All migrations of this version, in order."""
    return read_migrations(files("mobox.storage").joinpath("migrations"))


def open_database(path: Path, settings: Settings) -> sqlite3.Connection:
    """The writer's connection to a migrated database."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        raise StorageError(f"SQLite {oldest} or newer is required, found {sqlite3.sqlite_version}")
    _make_private(path)
    try:
        connection = connect(path, settings)
        with ExitStack() as on_failure:
            on_failure.callback(connection.close)
            _use_wal(connection, settings)
            migrate(connection, migrations())
            on_failure.pop_all()
    except sqlite3.Error as error:
        raise StorageError(f"cannot open {path}: {error}") from error
    return connection


def _make_private(path: Path) -> None:
    """Create a new file with mode 0600, which SQLite also uses for the files beside it.

    An existing one is not opened: closing it would drop the locks that this process holds on it.
    """
    with suppress(OSError):  # SQLite will report what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def connect(path: Path, settings: Settings) -> sqlite3.Connection:
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


def _use_wal(connection: sqlite3.Connection, settings: Settings) -> None:
    """Switch to WAL mode; retries, since this does not wait for locks as a transaction does."""
    deadline = time.monotonic() + settings.busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def migrate(connection: sqlite3.Connection, known: Sequence[Migration]) -> None:
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


def _version(connection: sqlite3.Connection, newest: int) -> int:
    (found,) = connection.execute("SELECT coalesce(max(version), 0) FROM migration").fetchone()
    return check_version(int(found), newest)


def _statements(sql: str) -> Iterator[str]:
    """The statements one by one: `executescript` would commit the transaction."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    for statement in _statements(migration.sql):
        connection.execute(statement)
    applied = (migration.version, migration.name, now_ms())
    connection.execute("INSERT INTO migration VALUES (?, ?, ?)", applied)


def identity(connection: sqlite3.Connection) -> str:
    """A random database id, created on first use."""
    add = "INSERT INTO counter VALUES ('identity', ?) ON CONFLICT DO NOTHING"
    connection.execute(add, (secrets.randbits(63),))
    find = "SELECT value FROM counter WHERE name = 'identity'"
    ((number,),) = connection.execute(find).fetchall()
    return f"{number:016x}"
