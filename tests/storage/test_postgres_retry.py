"""Retries while a database accepts no writes, and what other stores do when it is back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from mobox.storage import Settings
from mobox.storage.postgres import PostgresStorage, database, writer
from mobox.storage.retry import retry_while_unavailable
from storage.conformance import SECONDS, begin, same, say, words
from support.postgres_server import Databases

CALM = Settings(busy_seconds=3600, lease=3600, poll_seconds=3600)
FULL_THEN_BUSY = """
CREATE SEQUENCE public.tries;
CREATE FUNCTION public.refuse() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE try BIGINT = nextval('public.tries');
BEGIN
    IF try <= 25 THEN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END IF;
    IF try <= 35 THEN RAISE EXCEPTION 'busy' USING ERRCODE = 'deadlock_detected'; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER refuse AFTER INSERT ON mobox.{table}
    FOR EACH STATEMENT EXECUTE FUNCTION public.refuse();
"""


async def appended(store: PostgresStorage) -> None:
    run = await begin(store)
    assert await say(store, run, *words("a")) == await store.read(run.id)


async def begun(store: PostgresStorage) -> None:
    run = await begin(store)
    (found,) = await store.runs("ann", "chat")
    assert same(found, run)


AWAY = "database unavailable, agents wait until it can be written: DiskFullError: full"
BACK = "database can be written again"


@pytest.mark.parametrize(
    ("table", "done", "log"), [("event", appended, [AWAY, BACK]), ("chat", begun, [])]
)
async def test_store_that_waited_for_the_database_waits_for_others_too(
    postgres: Databases,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    table: str,
    done: Callable[[PostgresStorage], Awaitable[None]],
    log: list[str],
) -> None:
    monkeypatch.setattr(database, "_LONGEST_DELAY", 0.001)  # more often, not later
    caplog.set_level(logging.INFO, "mobox.storage")
    url = await postgres.blank()
    store = await PostgresStorage.open(url, CALM)
    connection = await asyncpg.connect(url)
    await connection.execute(FULL_THEN_BUSY.format(table=table))
    await connection.close()
    async with asyncio.timeout(SECONDS):
        await done(store)
    await store.close()
    told = [
        record.getMessage() for record in caplog.records if record.message.startswith("database ")
    ]
    assert told == log, "once"


NO_LEASE = """
CREATE FUNCTION public.refuse() RETURNS TRIGGER LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no lease'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON mobox.run FOR EACH ROW
    WHEN (OLD.lease_until IS DISTINCT FROM NEW.lease_until) EXECUTE FUNCTION public.refuse();
"""


async def test_store_that_cannot_renew_leases_appends_and_retries(
    postgres: Databases, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer, "_RENEW_AGAIN", 0.05)
    url = await postgres.blank()
    store = await PostgresStorage.open(url, Settings(busy_seconds=3600, lease=0.2))
    run = await begin(store)
    connection = await asyncpg.connect(url)
    await connection.execute(NO_LEASE)
    async with asyncio.timeout(SECONDS):
        while "cannot renew leases, the database returned an error: no lease" not in caplog.text:
            await connection.execute("SELECT pg_sleep(0.02)")
        assert await say(store, run, *words("a")) == await store.read(run.id)
        await connection.execute("DROP FUNCTION public.refuse CASCADE")
        before = (await store.run("ann", run.id)).lease_until
        while (await store.run("ann", run.id)).lease_until == before:
            pass
    await connection.close()
    await store.close()


WAITING = """
SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'mobox%' AND wait_event_type = 'Lock'
    AND datname = current_database()
"""


async def test_abandoned_query_is_cancelled_on_the_server(
    postgres: Databases,
) -> None:
    url = await postgres.blank()
    store = await PostgresStorage.open(url, Settings(busy_seconds=3, lease=3600))
    run = await retry_while_unavailable(begin, store)
    connection, watching = await asyncpg.connect(url), await asyncpg.connect(url)

    async def waiting() -> set[int]:
        return {pid for (pid,) in await watching.fetch(WAITING)}

    async with asyncio.timeout(SECONDS):
        async with connection.transaction():
            await connection.execute("LOCK TABLE mobox.event IN ACCESS EXCLUSIVE MODE")
            pending = asyncio.create_task(say(store, run, *words("a")))
            while not (first := await waiting()):
                await asyncio.wait([pending], timeout=0.02)
            while first & await waiting():  # it is tried again and again meanwhile
                await asyncio.wait([pending], timeout=0.02)
        assert await pending == await retry_while_unavailable(store.read, run.id)
    await connection.close()
    await watching.close()
    await store.close()
