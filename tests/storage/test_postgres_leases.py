"""Leases in PostgreSQL: whose time is over, and who can know that."""

from __future__ import annotations

import asyncio
import inspect
import runpy
import time
from pathlib import Path

import asyncpg
import pytest
from msgspec.structs import replace

from mobox.errors import StorageUnavailable
from mobox.storage import Settings
from mobox.storage.postgres import PostgresStorage
from mobox.storage.postgres.database import DatabaseClock, connector
from mobox.storage.postgres.reads import expired_runs
from mobox.storage.renewals import since_boot
from mobox.storage.retry import retry_while_unavailable
from storage.conformance import SECONDS, say, submit, words
from storage.test_postgres_outage import CALM, HASTY, begin, execute
from storage.test_postgres_retry import WAITING
from support.clocks import Clock
from support.postgres_proxy import Proxy
from support.postgres_server import Databases


async def given_up(store: PostgresStorage) -> list[str]:
    return [run.id for run in await store.expired()]


async def test_leases_last_until_the_database_has_been_there_for_as_long_as_one_does(
    postgres: Databases, tmp_path: Path
) -> None:
    url = await postgres.database(str(tmp_path))
    store = await PostgresStorage.open(url, CALM)
    silent = await begin(store)
    outlived = f"UPDATE mobox.run SET lease_until = 1 WHERE id = '{silent.id}'"
    await execute(postgres, tmp_path, outlived)
    connection = await connector(url, SECONDS)()
    decade = 10 * 365 * 24 * 3600 * 1000
    found = await expired_runs(connection, None, decade)
    assert found == [], "the server was started meanwhile"
    await connection.close()
    other = await PostgresStorage.open(url, Settings(lease=0.2))
    async with asyncio.timeout(SECONDS):
        while await given_up(other) != [silent.id]:
            pass  # an answer that comes late says nothing
    await other.close()
    await store.close()


async def test_store_after_an_outage_does_not_know_who_reached_the_database(
    postgres: Databases, tmp_path: Path
) -> None:
    clock = Clock()
    url = await postgres.database(str(tmp_path))
    proxy = Proxy(url, tmp_path)
    await proxy.open()
    near = await PostgresStorage.open(url, replace(CALM, clock=clock))
    far = await PostgresStorage.open(proxy.url, replace(HASTY, clock=clock, busy_seconds=3))
    silent = await begin(near)
    clock.now += 3_600_000
    assert await given_up(far) == [silent.id]
    await proxy.close()
    with pytest.raises(StorageUnavailable):
        await far.chats("ann")
    await proxy.open()
    assert await retry_while_unavailable(given_up, far) == []
    await far.close()
    await near.close()
    await proxy.close()


FULL = """
CREATE TABLE public.disk (is_full BOOLEAN);
INSERT INTO public.disk VALUES (TRUE);
CREATE FUNCTION public.refuse() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    IF (SELECT is_full FROM public.disk) THEN
        RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full';
    END IF;
    PERFORM pg_advisory_xact_lock(1);
    RETURN NULL;
END $$;
CREATE TRIGGER refuse AFTER INSERT ON mobox.event
    FOR EACH STATEMENT EXECUTE FUNCTION public.refuse();
"""


async def test_others_count_as_cut_off_until_this_store_has_written_for_a_lease(
    postgres: Databases, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()

    async def scenario() -> None:
        url = await postgres.blank()
        near, far = [await PostgresStorage.open(url, replace(CALM, clock=clock)) for _ in "ab"]
        silent, mine = await begin(near), await begin(far, submit(chat_id="other"))
        connection = await asyncpg.connect(url)
        await connection.execute(FULL)
        await connection.execute("SELECT pg_advisory_lock(1)")

        async def is_given_up() -> bool:
            return silent.id in await given_up(far)

        clock.now += 3_600_000
        assert await is_given_up()
        pending = asyncio.create_task(say(far, mine, *words("a")))
        while "database unavailable" not in caplog.text:
            await connection.execute("SELECT pg_sleep(0.02)")
        await connection.execute("UPDATE public.disk SET is_full = FALSE")
        while not await connection.fetchval(WAITING):  # this try fails no more, and takes long
            await connection.execute("SELECT pg_sleep(0.02)")
        clock.now += 3_600_000
        assert not await is_given_up()
        await connection.execute("SELECT pg_advisory_unlock(1)")
        await pending
        assert not await is_given_up()
        clock.now += 3_600_000
        assert await is_given_up()
        await connection.close()
        await far.close()
        await near.close()

    async with asyncio.timeout(SECONDS):
        await scenario()


async def test_new_store_does_not_know_who_reached_the_database(
    postgres: Databases, tmp_path: Path
) -> None:
    clock = Clock()
    url = await postgres.database(str(tmp_path))
    store = await PostgresStorage.open(url, replace(CALM, clock=clock))
    silent = await begin(store)
    await say(store, silent, *words("a"))  # so no lease is renewed later
    clock.now += 7_200_000
    fresh = await PostgresStorage.open(url, replace(CALM, clock=clock))
    assert await given_up(fresh) == []
    clock.now += 3_600_000
    assert await given_up(fresh) == [silent.id]
    await fresh.close()
    await store.close()


async def test_statement_timeout_is_no_sign_of_an_outage(
    postgres: Databases, tmp_path: Path
) -> None:
    clock = Clock()
    url = await postgres.database(str(tmp_path))
    store = await PostgresStorage.open(url, replace(HASTY, clock=clock))
    silent = await begin(store)
    await say(store, silent, *words("a"))  # so no lease is renewed later
    clock.now += 3_600_000
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await connection.execute("LOCK TABLE mobox.chat IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StorageUnavailable):
            await store.chats("ann")
    await connection.close()
    assert await retry_while_unavailable(given_up, store) == [silent.id]
    await store.close()


def test_the_time_of_the_database_passes_while_this_machine_sleeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1.0)  # as it does not
    clock = DatabaseClock(Settings())
    clock.set(5_000, clock.seconds())
    began = time.clock_gettime(time.CLOCK_BOOTTIME)
    while time.clock_gettime(time.CLOCK_BOOTTIME) < began + 0.01:
        pass
    assert clock.now() > 5_000


def test_fallback_clock_is_used_where_none_counts_sleep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC", "clock_gettime"):  # as on Windows
        monkeypatch.delattr(time, name)
    anew = runpy.run_path(inspect.getfile(since_boot))
    assert anew["since_boot"]() <= time.monotonic()


def test_an_answer_that_took_long_does_not_set_the_clock() -> None:
    clock = DatabaseClock(Settings(lease=3600))
    clock.set(5_000, clock.seconds() - 3600)  # there was no other
    clock.set(9_000_000, clock.seconds())
    clock.set(5_000, clock.seconds() - 3600)
    assert clock.now() >= 9_000_000
    clock.set(5_000, clock.seconds())
    assert clock.now() < 9_000_000, "the database may have another clock now"


async def test_store_after_sleep_does_not_know_who_else_slept(
    postgres: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    since_boot = time.clock_gettime
    url = await postgres.database(str(tmp_path))
    store = await PostgresStorage.open(url, replace(CALM, clock=clock))
    silent = await begin(store)
    await say(store, silent, *words("a"))  # so no lease is renewed later
    clock.now += 3_600_000
    assert await given_up(store) == [silent.id]
    monkeypatch.setattr(time, "clock_gettime", lambda which: since_boot(which) + 3600)
    for _ in range(2):
        assert await given_up(store) == []
    clock.now += 3_600_000
    assert await given_up(store) == [silent.id]
    await store.close()
