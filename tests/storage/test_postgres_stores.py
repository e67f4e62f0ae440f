"""What only a store in PostgreSQL does: many processes on one database, and what it is made of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import pytest

from mobox.errors import ChatNotFound, InvalidRequest, LogDeleted, RunNotFound, StorageError
from mobox.events import Start, Status
from mobox.events.message import Message
from mobox.events.turn import UserMessage
from mobox.storage import Settings
from mobox.storage.log import PAGE, Run
from mobox.storage.postgres import PostgresStorage
from mobox.storage.postgres.database import NOW, DatabaseClock
from storage.conformance import (
    BEGINNING,
    DONE,
    SECONDS,
    SETTINGS,
    begin,
    collect,
    ids_of,
    opened,
    say,
    seqs,
    submit,
    turn,
    words,
)
from storage.conformance_files import PNG, add, content
from support.postgres_server import Databases

Stores: TypeAlias = AbstractAsyncContextManager[list[PostgresStorage]]


class Database:
    """The database of a test, and connections to it that are nobody's store."""

    def __init__(self, databases: Databases, test: str) -> None:
        self._databases = databases
        self._test = test

    async def url(self) -> str:
        return await self._databases.database(self._test)

    async def fetch(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(await self.url())
        try:
            return [tuple(row) for row in await connection.fetch(statement, *values)]
        finally:
            await connection.close()

    def two_stores(self, settings: Settings = SETTINGS) -> Stores:
        """Two stores, as two processes have them; no poll helps them."""

        async def open_one() -> PostgresStorage:
            return await PostgresStorage.open(await self.url(), settings)

        return opened(open_one, 2)

    @asynccontextmanager
    async def one_store(self) -> AsyncIterator[PostgresStorage]:
        async with self.two_stores() as (store, _):
            yield store


@pytest.fixture
def database(postgres: Databases, tmp_path: Path) -> Database:
    return Database(postgres, str(tmp_path))


# Two stores


async def test_ids_are_committed_in_order_for_all_writers(database: Database) -> None:
    """In every snapshot the last id is the number of events: there is none that comes later."""
    runs, appends = 5, 20

    async def write(store: PostgresStorage, run: Run) -> None:
        for n in range(appends):
            await say(store, run, *words(str(n), "x"))

    async with database.two_stores() as (one, two):
        begun = [
            (store, await begin(store, submit(chat_id=f"c{n}{store is one}")))
            for n in range(runs)
            for store in (one, two)
        ]
        writers = asyncio.gather(*(write(store, run) for store, run in begun))
        look = "SELECT coalesce(max(first_id + count - 1), 0), sum(count)::bigint FROM mobox.event"
        while not writers.done():
            ((last, events),) = await database.fetch(look)
            assert last == (events or 0)
        await writers
        for store, run in begun:
            other = two if store is one else one
            assert seqs(await other.read(run.id)) == list(range(1, 2 * appends + 1))


async def test_follower_receives_another_stores_writes(database: Database) -> None:
    async with database.two_stores() as (one, two):
        run = await begin(one)
        followers = [asyncio.create_task(collect(two.follow(run.id))) for _ in range(3)]
        for n in range(20):
            await say(one, run, *words(str(n)))
        await say(one, run, DONE)
        for follower in followers:
            assert seqs(await follower) == list(range(1, 22))


async def test_waiting_client_is_notified_that_another_store_starts_a_run(
    database: Database,
) -> None:
    async with database.two_stores() as (one, two):
        first = asyncio.create_task(two.run_after("ann", "chat", None))
        run = await turn(one, "One", "1")
        assert (await first).id == run.id
        last = asyncio.create_task(two.run_after("ann", "chat", run.id))
        follower = asyncio.create_task(
            collect(two.follow((await begin(one, submit("x", "u2"))).id))
        )
        assert (await last).id != run.id
        await one.delete("ann", "chat")
        with pytest.raises(RunNotFound):
            await follower
        with pytest.raises(LogDeleted):
            await two.run_after("ann", "chat", run.id)


async def test_poll_loop_is_notified_when_to_poll(database: Database) -> None:
    async with database.two_stores() as (one, two):
        is_told = asyncio.Event()
        two.when_work(is_told.set)
        run = await begin(one)

        async def until_told(act: Callable[[], Coroutine[Any, Any, object]]) -> None:
            is_told.clear()
            await act()
            await is_told.wait()

        await until_told(lambda: one.request_stop("ann", run.id))
        await until_told(lambda: one.queue(run.id, run.epoch))
        (mine,) = await two.claim(["demo"], 1)
        assert await two.stopping() == [mine]


async def test_one_chat_is_started_by_one_of_two_stores(database: Database) -> None:
    async with database.two_stores() as (one, two):
        keyed = [begin(store, submit(key="k")) for store in (one, two) for _ in range(5)]
        runs = await asyncio.gather(*keyed)
        assert len({run.id for run in runs}) == 1
        others = [
            begin(store, submit("More", f"u{n}", key=f"{n}{store is one}", chat_id="other"))
            for n in range(5)
            for store in (one, two)
        ]
        begun = await asyncio.gather(*others, return_exceptions=True)
        assert sum(isinstance(outcome, Run) for outcome in begun) == 1


# Leases


async def test_lease_uses_the_databases_clock(database: Database) -> None:
    async with database.one_store() as store:
        ((before,),) = await database.fetch(f"SELECT {NOW}")
        run = await begin(store)
        ((after,),) = await database.fetch(f"SELECT {NOW}")
        assert run.lease_until is not None
        # What it was told was on its way for a while: at least since the store was opened.
        assert run.lease_until <= after + 3_600_000
        assert before - run.started_at < SECONDS * 1000
    wrong = DatabaseClock(Settings(lease=1))
    wrong.set(5_000, wrong.seconds())
    assert 5_000 <= wrong.now() < 5_000 + SECONDS * 1000, "whatever this machine says"
    assert 6_000 <= wrong.lease("me").until < 6_000 + SECONDS * 1000


# The writer


async def test_appends_of_many_runs_are_committed_together(database: Database) -> None:
    async with database.one_store() as store:
        runs = [await begin(store, submit(chat_id=f"c{n}")) for n in range(100)]
        await asyncio.gather(*(say(store, run, *BEGINNING) for run in runs))
        ((commits,),) = await database.fetch("SELECT count(DISTINCT xmin::text) FROM mobox.event")
        assert commits < 20


async def test_closing_commits_what_is_pending(database: Database) -> None:
    store = await PostgresStorage.open(await database.url(), SETTINGS)
    run = await begin(store)
    pending = [asyncio.create_task(say(store, run, *words(str(n)))) for n in range(50)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*pending)
    with pytest.raises(StorageError, match="closed"):
        await say(store, run, DONE)
    with pytest.raises(StorageError, match="closed"):
        await store.run("ann", run.id)
    await store.close()
    assert await database.fetch("SELECT tail_seq FROM mobox.run") == [(50,)]


async def test_a_caller_that_goes_away_loses_nothing(database: Database) -> None:
    async with database.one_store() as store:
        run = await begin(store)
        task = asyncio.create_task(say(store, run, *BEGINNING))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert seqs(await say(store, run, *words("a"), DONE)) == [3, 4]
        assert seqs(await store.read(run.id)) == [1, 2, 3, 4]


async def test_entry_rejected_by_the_database_fails_alone(postgres: Databases) -> None:
    refuse = """
    CREATE FUNCTION mobox.refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'no'; END$$;
    CREATE TRIGGER refusal BEFORE INSERT ON mobox.event FOR EACH ROW
        WHEN (position('bad'::bytea IN NEW.events) > 0) EXECUTE FUNCTION mobox.refuse();
    """
    url = await postgres.blank()
    store = await PostgresStorage.open(url, SETTINGS)
    connection = await asyncpg.connect(url)
    await connection.execute(refuse)
    await connection.close()
    runs = [await begin(store, submit(chat_id=f"c{n}")) for n in range(3)]
    said = ("good", "bad", "fine")
    appends = (say(store, run, *words(text)) for run, text in zip(runs, said, strict=True))
    outcomes = await asyncio.gather(*appends, return_exceptions=True)
    assert [isinstance(outcome, StorageError) for outcome in outcomes] == [False, True, False]
    assert [len(await store.read(run.id)) for run in runs] == [1, 0, 1]
    assert seqs(await say(store, runs[1], *words("again"))) == [1]
    await store.close()


async def test_process_frozen_while_starting_a_turn_blocks_only_its_chat(
    database: Database,
) -> None:
    async with database.one_store() as store:
        frozen, other = await begin(store), await begin(store, submit(chat_id="other"))
        connection = await asyncpg.connect(await database.url())
        async with connection.transaction():
            await connection.execute("UPDATE mobox.chat SET title = 'x' WHERE id = 'chat'")
            assert seqs(await say(store, other, *BEGINNING)) == [1, 2]
            assert seqs(await say(store, frozen, *BEGINNING)) == [1, 2], "and only where it ends"
            ends = asyncio.create_task(say(store, frozen, DONE))
            await connection.execute("SELECT 1")
            assert not ends.done()
        assert seqs(await ends) == [3]
        await connection.close()


async def test_a_file_is_uploaded_again_while_it_is_deleted(database: Database) -> None:
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = $1"
    async with database.one_store() as store:
        first = await add(store, PNG)
        connection = await asyncpg.connect(await database.url())
        name = await connection.fetchval("SELECT current_database()")
        async with connection.transaction():
            await connection.execute("DELETE FROM mobox.file WHERE id = $1", first.id)
            again = asyncio.create_task(add(store, PNG))
            while not await database.fetch(waiting, name):
                pass
        await connection.close()
        assert (await again).blob != first.blob
        assert await content(store, await store.files.find("ann", first.id)) == PNG


# What is stored


async def test_a_page_of_a_log_has_a_bound_in_bytes(database: Database) -> None:
    async with database.one_store() as store:
        run = await begin(store)
        await say(store, run, *words(*["w"] * 1000))
        for _ in range(9):
            await say(store, run, *words("long " * 20_000))
        await say(store, run, DONE)
        assert seqs(await store.read(run.id, 100, 5)) == [101, 102, 103, 104, 105]
        lengths = [len(batch) async for batch in store.follow(run.id)]
        assert sum(lengths) == 1010
        assert max(lengths) <= PAGE
        assert seqs(await store.read(run.id, 1000)) == [1001, 1002, 1003], "256 KB, and one more"


async def test_parts_and_metadata_are_json_that_the_database_understands(
    database: Database,
) -> None:
    async with database.one_store() as store:
        run = await begin(store)
        await say(store, run, Start(framework="demo"), Status(message="Thinking"), DONE)
        await ids_of(store)
        await store.close()
        find = "SELECT parts -> 0 ->> 'text', message_metadata -> 'processing' ->> 0"
        told = await database.fetch(f"{find} FROM mobox.message ORDER BY n")
        assert told == [("Hello", None), ("Thinking", "Thinking")]


async def test_a_fold_is_made_again_where_it_cannot_be_read(database: Database) -> None:
    async with database.one_store() as store:
        await turn(store, "Hello", "Hi")
        await ids_of(store)
        await store.chats("ann", query="after the fold is kept")
        change = "UPDATE mobox.message SET parts = '1' WHERE role = 'assistant' AND folded_seq = 5"
        await database.fetch(change)
        body = (await store.history("ann", "chat")).messages[1].body
        assert isinstance(body, Message)
        assert body.content == "Hi"


async def test_zero_bytes_are_kept_where_they_may_be_and_refused_in_names(
    database: Database,
) -> None:
    """PostgreSQL has no room for them in texts, nor in what it understands of JSON."""
    async with database.one_store() as store:
        await turn(store, "zero \0 byte", "so \0 what")
        for _ in range(2):  # the second time out of the cache
            said, answer = (await store.history("ann", "chat")).messages
            assert isinstance(said.body, UserMessage)
            assert said.body.text == "zero \0 byte"
            assert isinstance(answer.body, Message)
            assert answer.body.content == "so \0 what"
            await store.chats("ann", query="byte")
        assert len((await store.chats("ann", query="what")).chats) == 1
        with pytest.raises(ChatNotFound):
            await store.chat("ann", "ch\0at")
        for request in (submit(chat_id="\0"), submit(message_id="\0"), submit(key="\0")):
            with pytest.raises(InvalidRequest):
                await begin(store, request)
