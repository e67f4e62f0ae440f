"""The database file: migrations, and what refuses to open."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path

import pytest

from mobox.errors import DatabaseTooNew, StorageError
from mobox.settings import now_ms
from mobox.storage import Settings, SqliteStorage, open_storage
from mobox.storage.sqlite import reads, retention, turns
from mobox.storage.sqlite.database import connect, migrate, migrations, open_database
from mobox.storage.tables import Migration
from storage.conformance import ids_of, turn

NEXT = migrations()[-1].version + 1
LATER = Migration(NEXT, "later", "ALTER TABLE chat ADD COLUMN colour TEXT;")
LET_GO = "1, 1, NULL, NULL, 0, 0, 1, NULL, NULL, NULL, 0, 0, 0"
"""What a run of version 6 has from its epoch on, if it is running and has no lease."""


def names(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY version")]


async def write_a_turn(path: Path) -> None:
    store = await SqliteStorage.open(path)
    await turn(store, "Hello", "Hi")
    await store.close()


def test_migrations_are_numbered_without_gaps() -> None:
    """A database is as new as its highest number: one that is added in a gap would be left out."""
    versions = [migration.version for migration in migrations()]
    assert versions == list(range(1, len(versions) + 1))


def test_a_database_of_version_1_is_brought_up_to_date_with_its_data(tmp_path: Path) -> None:
    path = tmp_path / "mobox.db"
    connection = connect(path, Settings())
    migrate(connection, migrations()[:1])
    connection.execute(
        "INSERT INTO chat (id, owner, title, created_at, updated_at) VALUES ('c', 'ann', 't', 1, 1)"
    )
    migrate(connection, [*migrations(), LATER])
    assert connection.execute("SELECT id, colour FROM chat").fetchall() == [("c", None)]
    assert names(connection)[-1] == "later"
    connection.close()


def test_earlier_deletions_are_kept_as_long_as_new_ones(
    tmp_path: Path,
) -> None:
    began = now_ms() // 1000 * 1000
    connection = connect(tmp_path / "mobox.db", Settings())
    migrate(connection, migrations()[:5])
    connection.execute("INSERT INTO deleted_run (id, owner) VALUES ('r', 'ann')")
    migrate(connection, migrations())
    ((deleted_at,),) = connection.execute("SELECT deleted_at FROM deleted_run")
    assert began <= deleted_at <= now_ms()
    connection.close()


async def test_run_released_by_an_earlier_version_has_no_owner(tmp_path: Path) -> None:
    connection = connect(tmp_path / "mobox.db", Settings())
    migrate(connection, migrations()[:6])
    connection.execute("INSERT INTO chat VALUES (1, 'c', 'ann', 't', 1, 1, 0)")
    connection.execute(f"INSERT INTO run VALUES (1, 'r', 1, 'a', 'f', 'running', {LET_GO})")
    connection.close()
    store = await SqliteStorage.open(tmp_path / "mobox.db")
    (lost,) = await store.expired()
    assert (await store.take_over(lost.id, lost.epoch)).epoch == 2
    await store.close()


FEW_RUNS = {
    "the active ones of some chats": (reads._ACTIVE, "INDEX live_run_of_chat (chat=?)"),
    "those whose raw lines go": (retention._DROP_RAW, "INTEGER PRIMARY KEY (rowid=?)"),
    "the next of a chat": (reads._NEXT, "INDEX run_of_chat (chat=? AND n>?)"),
    "one to be claimed": (turns._QUEUED, "INDEX run_by_lease (lease_until>?)"),
}


@pytest.mark.parametrize("which", FEW_RUNS)
def test_query_for_few_runs_does_not_scan_all(tmp_path: Path, which: str) -> None:
    statement, way = FEW_RUNS[which]
    connection = open_database(tmp_path / "mobox.db", Settings())
    values = [None] * statement.count("?")
    plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
    assert [step for *_, step in plan if " run" in step] == [f"SEARCH run USING {way}"]
    connection.close()


def test_a_migration_is_applied_once(tmp_path: Path) -> None:
    for _ in range(2):
        connection = open_database(tmp_path / "mobox.db", Settings())
        assert len(names(connection)) == len(migrations())
        connection.close()


async def test_stored_data_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "mobox.db"
    await write_a_turn(path)
    store = await SqliteStorage.open(path)
    assert len(await ids_of(store)) == 2
    await store.close()


def test_a_migration_that_fails_leaves_nothing_of_itself(tmp_path: Path) -> None:
    sql = "CREATE TABLE half (n INTEGER);\nINSERT INTO nowhere VALUES (1);"
    connection = open_database(tmp_path / "mobox.db", Settings())
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, [*migrations(), Migration(LATER.version, "broken", sql)])
    assert len(names(connection)) == len(migrations())
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT * FROM half")
    migrate(connection, [*migrations(), LATER])
    assert names(connection)[-1] == "later"
    connection.close()


def die_in_a_migration(path: Path) -> None:
    """As a process that is killed between two statements of a migration."""
    connection = connect(path, Settings())
    connection.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
    sql = "CREATE TABLE half (n INTEGER);\nINSERT INTO half SELECT die();"
    migrate(connection, [*migrations(), Migration(LATER.version, "deadly", sql)])


async def test_a_process_that_dies_in_a_migration_leaves_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "mobox.db"
    await write_a_turn(path)
    process = multiprocessing.get_context("spawn").Process(target=die_in_a_migration, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    connection = open_database(path, Settings())
    assert len(names(connection)) == len(migrations())
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    migrate(connection, [*migrations(), LATER])
    assert connection.execute("SELECT count(*) FROM message").fetchone() == (2,)
    connection.close()


def test_a_database_of_a_later_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "mobox.db"
    connection = open_database(path, Settings())
    migrate(connection, [*migrations(), LATER])
    connection.close()
    with pytest.raises(DatabaseTooNew, match=rf"version {LATER.version}.*update mobox"):
        open_database(path, Settings())


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mobox.db"
    path.write_text("this is not a database, whatever its name says" * 10)
    with pytest.raises(StorageError, match="cannot open"):
        open_database(path, Settings())


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot open"):
        open_database(tmp_path / "nowhere" / "mobox.db", Settings())


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
def test_how_safe_a_commit_is_can_be_set(tmp_path: Path, synchronous: str) -> None:
    settings = Settings(synchronous="FULL" if synchronous == "FULL" else "NORMAL")
    connection = open_database(tmp_path / "mobox.db", settings)
    (level,) = connection.execute("PRAGMA synchronous").fetchone()
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    (keys,) = connection.execute("PRAGMA foreign_keys").fetchone()
    assert (level, mode, keys) == ({"NORMAL": 1, "FULL": 2}[synchronous], "wal", 1)
    connection.close()


def open_and_close(path: Path) -> None:
    open_database(path, Settings()).close()


def test_many_processes_open_a_new_database_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "mobox.db"
    processes = [context.Process(target=open_and_close, args=(path,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4


async def test_a_url_names_a_store(tmp_path: Path) -> None:
    store = await open_storage(f"sqlite:///{tmp_path}/mobox.db")
    assert (tmp_path / "mobox.db").exists()
    await store.close()
    for url in ("sqlite:///", "mysql://somewhere", ""):
        with pytest.raises(StorageError, match="known: memory:, sqlite:///PATH"):
            await open_storage(url)


def test_usage_of_messages_that_were_stored_before_is_listed(tmp_path: Path) -> None:
    usage = next(each for each in migrations() if each.name == "usage_of_messages")
    connection = connect(tmp_path / "mobox.db", Settings())
    migrate(connection, [each for each in migrations() if each.version < usage.version])
    connection.execute(
        "INSERT INTO chat (id, owner, title, created_at, updated_at) VALUES ('c', 'ann', 't', 1, 1)"
    )
    bodies = ['{"usage": {"input": 7, "output": 2, "cost_usd": 1}}', '{"parts": []}', None]
    for number, body in enumerate(bodies):
        columns = "chat, id, role, created_at, body"
        add = f"INSERT INTO message ({columns}) VALUES (1, ?, 'assistant', 1, ?)"
        connection.execute(add, (str(number), body))
    migrate(connection, migrations())
    rows = connection.execute("SELECT input_tokens, output_tokens, cost_usd FROM message")
    assert rows.fetchall() == [(7, 2, 1.0), (None, None, None), (None, None, None)]
    connection.close()
