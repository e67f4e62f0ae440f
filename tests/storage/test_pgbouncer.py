"""PgBouncer between a store and PostgreSQL: in session mode it works, in others it is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from mobox.errors import StorageError, WrongPooler
from mobox.storage import Settings, open_storage
from mobox.storage.postgres import PostgresStorage
from server.live_server import mobox
from storage.conformance import DONE, begin, collect, say, submit, words
from support.pgbouncer import running_pgbouncer
from support.postgres_server import Databases, running_postgres

SECONDS = 120
QUICK = Settings(poll_seconds=3600, lease=3600, opening_seconds=0)


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    with running_postgres() as server:
        yield Databases(server.url)


@pytest.fixture
async def url(databases: Databases) -> str:
    return await databases.blank()


@pytest.mark.time_limit(SECONDS)
async def test_stores_share_a_database_through_session_mode(url: str) -> None:
    """Two of them, each with all of its connections: notifications pass, too."""
    with running_pgbouncer(url, "session", default_pool_size=12) as pooled:
        one = await PostgresStorage.open(pooled, QUICK)
        two = await PostgresStorage.open(pooled, QUICK)
        try:
            for n in range(3):
                run = await begin(one, submit(chat_id=f"c{n}"))
                follower = asyncio.create_task(collect(two.follow(run.id)))
                for word in ("a", "b", "c"):
                    await say(one, run, *words(word))
                written = await say(one, run, DONE)
                assert (await follower)[-1] == written[-1]
            await asyncio.gather(*(store.chats("ann") for store in (one, two) for _ in range(8)))
        finally:
            await one.close()
            await two.close()


@pytest.mark.parametrize("mode", ["transaction", "statement"])
@pytest.mark.parametrize("round_robin", [0, 1])
async def test_other_modes_are_refused_and_nothing_is_left_in_the_pool(
    url: str, mode: str, round_robin: int
) -> None:
    with running_pgbouncer(url, mode, server_round_robin=round_robin) as pooled:
        await _fill(pooled, 2)  # connections that the pool can use in turns
        with pytest.raises(WrongPooler, match="pool_mode = session"):
            await open_storage(pooled, QUICK)
        connection = await asyncpg.connect(pooled, statement_cache_size=0)
        shown = await connection.fetch("SELECT current_setting('search_path') AS path")
        assert shown[0]["path"] == '"$user", public'
        await connection.close()
    direct = await asyncpg.connect(url)
    assert await direct.fetchval("SELECT to_regnamespace('mobox')") is None
    await direct.close()


async def _fill(url: str, count: int) -> None:
    """Let the pool have so many connections to the server: queries that run at the same time."""
    connections = [await asyncpg.connect(url) for _ in range(count)]
    await asyncio.gather(*(each.execute("SELECT pg_sleep(0.2)") for each in connections))
    for each in connections:
        await each.close()


async def test_refusal_does_not_depend_on_who_else_uses_the_pool(url: str) -> None:
    with running_pgbouncer(url, "transaction", default_pool_size=4) as pooled:
        is_over = False

        async def use() -> None:
            connection = await asyncpg.connect(pooled)
            while not is_over:
                await connection.execute("SELECT pg_sleep(0.001)")
            await connection.close()

        others = [asyncio.create_task(use()) for _ in range(3)]
        for _ in range(10):
            with pytest.raises(WrongPooler):
                await open_storage(pooled, QUICK)
        is_over = True
        await asyncio.gather(*others)


async def test_exhausted_pool_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mobox.storage.postgres._FIRST_SECONDS", 0.5)
    with running_pgbouncer(url, "session", default_pool_size=1) as pooled:
        holder = await asyncpg.connect(pooled)
        await holder.execute("SELECT 1")
        with pytest.raises(StorageError, match="default_pool_size"):
            await open_storage(pooled, QUICK)
        await holder.close()


@pytest.mark.time_limit(SECONDS)
async def test_commands_say_what_to_do(url: str, tmp_path: Path) -> None:
    with running_pgbouncer(url, "transaction") as pooled:
        where = ("--database-url", pooled, "--data", tmp_path)
        code, _, error = await asyncio.to_thread(mobox, "serve", "--port", "0", *where)
        assert (code, "pool_mode = session" in error) == (2, True), error
        code, told, _ = await asyncio.to_thread(mobox, "doctor", *where)
        assert (code, "pool_mode = session" in told) == (1, True), told
