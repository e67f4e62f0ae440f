"""The database file: how it is opened, and how it is brought up to date."""

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
    """All that this version knows, in order."""
    return read_migrations(files("mobox.storage").joinpath("migrations"))


def open_database(path: Path, settings: Settings) -> sqlite3.Connection:
    """The writer's connection to a database that is up to date."""
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
    """A new file is for nobody else, and so are those that SQLite puts beside it.

    One that is there is not opened: to close it would end the locks that this process has on it.
    """
    with suppress(OSError):  # SQLite will say what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def connect(path: Path, settings: Settings) -> sqlite3.Connection:
    """One connection, for whichever thread uses it; transactions are begun by hand."""
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
    """Changing the mode does not wait for others as a transaction does, so that is done here."""
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
    """Apply what is missing; if one fails, all before it stay and nothing of it does."""
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
    """The statements one by one: `executescript` would commit what went before."""
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
    """What no other database is called: drawn when it is first asked for, and kept in it."""
    add = "INSERT INTO counter VALUES ('identity', ?) ON CONFLICT DO NOTHING"
    connection.execute(add, (secrets.randbits(63),))
    find = "SELECT value FROM counter WHERE name = 'identity'"
    ((drawn,),) = connection.execute(find).fetchall()
    return f"{drawn:016x}"
