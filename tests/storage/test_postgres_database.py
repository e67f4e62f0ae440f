"""The database: migrations, and what refuses to open."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from mobox.errors import DatabaseTooNew, NotInstalled, StorageError
from mobox.storage import Settings, open_storage
from mobox.storage.postgres import PostgresStorage
from mobox.storage.postgres.database import connector, migrate, migrations, open_database
from mobox.storage.postgres.reads import _ACTIVE, _find_by_index
from mobox.storage.postgres.search_index import is_complete
from mobox.storage.tables import Migration
from storage.conformance import SETTINGS, ids_of, turn
from support.postgres_proxy import Proxy
from support.postgres_server import Databases

NEXT = migrations()[-1].version + 1
LATER = Migration(NEXT, "later", "ALTER TABLE chat ADD COLUMN colour TEXT;")
SECONDS = 60.0


async def names(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    rows = await connection.fetch("SELECT name FROM mobox.migration ORDER BY version")
    await connection.close()
    return [name for (name,) in rows]


def test_migrations_are_numbered_without_gaps() -> None:
    """A database is as new as its highest number: one that is added in a gap would be left out."""
    versions = [migration.version for migration in migrations()]
    assert versions == list(range(1, len(versions) + 1))


async def test_many_processes_open_a_new_database_at_once(postgres: Databases) -> None:
    url = await postgres.blank()
    opened = await asyncio.gather(*(open_database(connector(url, SECONDS)) for _ in range(5)))
    assert len(set(opened)) == 1, "all learn the same name of it"
    assert await names(url) == [migration.name for migration in migrations()]


async def test_a_database_is_brought_up_to_date_with_its_data_or_left_as_it_was(
    postgres: Databases,
) -> None:
    broken = Migration(LATER.version, "broken", "CREATE TABLE half (n INT); SELECT nothing;")
    url = await postgres.blank()
    store = await PostgresStorage.open(url, SETTINGS)
    await turn(store, "Hello", "Hi")
    connection = await connector(url, SECONDS)()
    with pytest.raises(asyncpg.UndefinedColumnError):
        await migrate(connection, [*migrations(), broken])
    assert await connection.fetchval("SELECT to_regclass('half')") is None
    assert await names(url) == [migration.name for migration in migrations()]
    await migrate(connection, [*migrations(), LATER])
    assert await connection.fetchval("SELECT count(*) FROM chat WHERE colour IS NULL") == 1
    await connection.close()
    assert len(await ids_of(store)) == 2
    await store.close()
    with pytest.raises(DatabaseTooNew, match=rf"version {LATER.version}.*update mobox"):
        await open_storage(url)


async def test_which_run_of_a_chat_goes_on_is_known_without_looking_at_those_that_are_over(
    postgres: Databases,
) -> None:
    url = await postgres.blank()
    await open_database(connector(url, SECONDS))
    connection = await connector(url, SECONDS)()
    await connection.execute("SET enable_seqscan = off")  # of nothing it costs nothing
    plan = await connection.fetch(f"EXPLAIN {_ACTIVE}", [1])
    assert "live_run_of_chat" in "".join(step for (step,) in plan)
    await connection.close()


async def test_write_only_user_opens_an_up_to_date_database(postgres: Databases) -> None:
    rights = """
    CREATE ROLE writer LOGIN PASSWORD 'writer';
    GRANT USAGE ON SCHEMA mobox TO writer;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mobox TO writer;
    """
    url = await postgres.blank()
    await open_database(connector(url, SECONDS))
    connection = await asyncpg.connect(url)
    await connection.execute(rights)
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    theirs = urlunsplit(parts._replace(netloc=f"writer:writer@{host}"))
    store = await PostgresStorage.open(theirs, SETTINGS)
    await turn(store, "Hello", "Hi")
    assert len(await ids_of(store)) == 2
    await store.delete("ann", "chat")
    await store.close()
    await connection.execute("DROP OWNED BY writer; DROP ROLE writer")
    await connection.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@127.0.0.1:1/nowhere",
        "postgresql://ann:hunter2@[/x",
        "postgresql://ann:hunter2/secret@127.0.0.1/nowhere",
        "postgresql://ann:hunter2#secret@127.0.0.1/nowhere",
    ],
)
async def test_unreachable_server_is_reported_without_the_password(url: str) -> None:
    with pytest.raises(
        StorageError, match=r"cannot connect to the database|not a PostgreSQL URL"
    ) as refused:
        await open_storage(url, Settings(opening_seconds=0))
    assert "hunter2" not in str(refused.value)


async def test_a_server_that_is_not_there_yet_is_waited_for(
    postgres: Databases, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    proxy = Proxy(await postgres.database(str(tmp_path)), tmp_path)
    async with asyncio.timeout(SECONDS):
        opening = asyncio.create_task(open_storage(proxy.url, Settings(opening_seconds=3600)))
        while not caplog.records:
            await asyncio.wait([opening], timeout=0.01)
            assert not opening.done()
        await proxy.open()
        store = await opening
        assert (await store.chats("ann")).chats == ()
    assert "cannot connect to the database yet" in caplog.text
    await store.close()
    await proxy.close()


async def test_a_database_that_a_server_does_not_have_is_not_waited_for(
    postgres: Databases,
) -> None:
    nowhere = urlunsplit(urlsplit(await postgres.blank())._replace(path="/nowhere"))
    async with asyncio.timeout(SECONDS):
        with pytest.raises(StorageError, match=r"cannot connect to the database.*nowhere"):
            await open_storage(nowhere, Settings(opening_seconds=3600))


TOLD_FIRST = "SELECT name FROM pg_settings WHERE source = 'client'"
POOLED = {"application_name", "client_encoding", "DateStyle", "standard_conforming_strings"}
"""What every pooler takes when somebody connects: PgBouncer refuses whoever tells it more."""


async def test_new_connection_sends_nothing_that_a_pooler_rejects(
    postgres: Databases,
) -> None:
    connection = await connector(await postgres.blank(), SECONDS, 7.5)()
    assert {name for (name,) in await connection.fetch(TOLD_FIRST)} <= POOLED
    told = ["search_path", "jit", "application_name", "statement_timeout"]
    found = [await connection.fetchval(f"SHOW {name}") for name in told]
    assert found == ["mobox", "off", "mobox", "7500ms"]
    await connection.close()


async def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("mobox.storage.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(NotInstalled, match=r"PostgreSQL needs asyncpg.*\[postgres\]"):
        await open_storage("postgresql://somewhere/mobox")


async def test_searches_use_an_index_where_the_server_has_pg_trgm(postgres: Databases) -> None:
    url = await postgres.blank()
    store = await PostgresStorage.open(url, SETTINGS)
    await turn(store, "Hello", "A walrus, 100% sure")
    for _ in range(2):  # the second time it is there
        await store._folds.do_leftovers()
    connection = await connector(url, SECONDS)()
    find = "SELECT count(*) > 0 FROM pg_available_extensions WHERE name = 'pg_trgm'"
    is_available = await connection.fetchval(find)
    assert await is_complete(connection) == is_available
    async with connection.transaction():
        found = await _find_by_index(connection, "walrus, 100%")
    assert (found is not None and len(found) == 1) == is_available
    for query in ("walrus, 100%", "LRU", "a ", "ello"):
        assert (await store.chats("ann", query=query)).chats, query
    assert not (await store.chats("ann", query="walrus_ 100")).chats
    await connection.close()
    await store.close()
