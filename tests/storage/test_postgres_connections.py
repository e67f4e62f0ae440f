"""The connections of stores to a PostgreSQL that has few: writers have theirs first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import asyncpg
import pytest

from mobox.errors import NoFreeConnection, StorageUnavailable
from mobox.storage import Settings
from mobox.storage.log import Run
from mobox.storage.postgres import PostgresStorage
from mobox.storage.retry import retry_while_unavailable
from storage.conformance import DONE, begin, collect, say, submit, words
from support.postgres_server import OPTIONS, Databases, running_postgres
from support.waiting import until_async

SECONDS = 120
SLOTS = 9
FEW = OPTIONS | {
    "max_connections": str(SLOTS),
    "superuser_reserved_connections": "0",
    "reserved_connections": "0",
    "max_wal_senders": "0",
}
KEEPING = Settings(idle_seconds=3600, lease=3600)
HASTY = Settings(idle_seconds=0.05, lease=3600)
_NAMES = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    with running_postgres(FEW) as server:
        yield Databases(server.url)


@pytest.fixture
async def url(databases: Databases) -> str:
    """A new database, once all connections of earlier tests are gone: the server counts them."""
    connection = await asyncpg.connect(databases.url)
    others = "SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL"

    async def is_alone() -> bool:
        return int(await connection.fetchval(others)) == 1

    await until_async(is_alone)
    await connection.close()
    return await databases.blank()


class Fillers:
    """Connections of another program, to the last one that the server has."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made: list[Any] = []

    async def fill(self) -> None:
        with suppress(asyncpg.TooManyConnectionsError):
            while True:
                self._made.append(await asyncpg.connect(self._url))

    async def names(self) -> list[str]:
        return [name for (name,) in await self._made[0].fetch(_NAMES)]

    async def end_writers(self) -> None:
        """End the connections that write, and take their places."""
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"
        await self._made[0].execute(end.replace("$1", "'mobox writer'"))
        before = len(self._made)
        while len(self._made) == before:
            await self.fill()

    async def end_all(self) -> None:
        """End all connections of stores; they connect again."""
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        await self._made[0].execute(f"{end} WHERE application_name LIKE 'mobox%'")

    async def close(self) -> None:
        for each in self._made:
            await each.close()
        self._made.clear()


@pytest.fixture
async def fillers(url: str) -> AsyncIterator[Fillers]:
    fillers = Fillers(url)
    yield fillers
    await fillers.close()


async def names(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        return sorted(name for (name,) in await connection.fetch(_NAMES) if name)
    finally:
        await connection.close()


async def test_opened_store_has_the_writers_connection(url: str) -> None:
    store = await PostgresStorage.open(url, KEEPING)
    assert "mobox writer" in await names(url)
    await store.close()


async def test_readers_are_closed_when_idle(url: str) -> None:
    store = await PostgresStorage.open(url, HASTY)
    await asyncio.gather(*(store.chats("ann") for _ in range(20)))

    async def is_alone() -> bool:
        return await names(url) == ["mobox", "mobox writer"]  # with that of NOTIFY

    await until_async(is_alone)
    assert (await store.chats("ann")).chats == ()
    await store.close()


async def test_budget_bounds_the_connections(url: str, fillers: Fillers) -> None:
    await fillers.fill()
    await fillers.close()
    settings = Settings(idle_seconds=3600, lease=3600, database_connections=3)
    store = await PostgresStorage.open(url, settings)
    await asyncio.gather(*(store.chats("ann") for _ in range(20)))
    assert len(await names(url)) <= 3

    async def has_all() -> bool:
        return len(await names(url)) == 3  # that of NOTIFY may come last

    await until_async(has_all)
    await store.close()


async def test_writer_gets_the_place_of_a_reader(url: str, fillers: Fillers) -> None:
    """Its connection is lost, and somebody else takes it; only readers have others."""
    store = await PostgresStorage.open(url, KEEPING)
    run = await begin(store)
    await say(store, run, *words("a"))
    await fillers.fill()
    await fillers.end_writers()
    written = await say(store, run, *words("b"), DONE)
    assert "mobox writer" in await fillers.names()
    assert written[-1].event == DONE
    await store.close()


async def test_reads_fail_with_the_reason_when_there_is_no_connection(
    url: str, fillers: Fillers
) -> None:
    store = await PostgresStorage.open(url, Settings(idle_seconds=0.01, busy_seconds=1))
    await until_async(lambda: _has(url, ["mobox", "mobox writer"]))
    await fillers.fill()
    # NOTIFY gives way, and a filler takes its place at once.
    with suppress(StorageUnavailable):
        await store.chats("ann")
    await until_async(lambda: _only_writer(fillers))
    await fillers.fill()
    with pytest.raises(StorageUnavailable, match="too many clients"):
        await store.chats("ann")
    await store.close()


async def _has(url: str, wanted: list[str]) -> bool:
    return await names(url) == wanted


async def _only_writer(fillers: Fillers) -> bool:
    return [name for name in await fillers.names() if name] == ["mobox writer"]


@pytest.mark.time_limit(SECONDS)
async def test_stores_that_use_up_all_connections_finish_their_runs(url: str) -> None:
    """Four writers and four that notify leave one connection for all reads."""
    settings = Settings(busy_seconds=5, idle_seconds=0.2, lease=3600, poll_seconds=0.1)
    stores = [await PostgresStorage.open(url, settings) for _ in range(4)]

    async def converse(store: PostgresStorage, name: str) -> None:
        run: Run = await retry_while_unavailable(begin, store, submit(chat_id=name))
        reader = asyncio.create_task(collect(store.follow(run.id)))
        for n in range(20):
            await say(store, run, *words(str(n)))
        last = await say(store, run, DONE)
        assert (await reader)[-1] == last[-1]

    await asyncio.gather(
        *(converse(store, f"{k} {n}") for k, store in enumerate(stores) for n in range(4))
    )
    for store in stores:
        await store.close()


async def test_store_that_gets_no_connection_does_not_open(url: str, fillers: Fillers) -> None:
    await fillers.fill()
    with pytest.raises(NoFreeConnection, match="max_connections"):
        await PostgresStorage.open(url, Settings(opening_seconds=0.2))


async def test_more_processes_than_connections_are_warned_of(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "mobox.storage")
    first = await PostgresStorage.open(url, KEEPING)
    assert "max_connections" not in caplog.text
    second = await PostgresStorage.open(url, KEEPING)
    (warning,) = caplog.messages
    assert warning.startswith(f"PostgreSQL has {SLOTS} connections for applications, and may need ")
    assert "2 Mobox processes with up to 6 each" in warning
    assert "raise max_connections, or lower --database-connections" in warning
    await first.close()
    await second.close()
