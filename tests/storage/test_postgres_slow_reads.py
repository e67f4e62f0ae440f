"""What takes long in PostgreSQL: it comes to its end, and nobody else waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from mobox.errors import ChatNotFound, SearchTooSlow, StorageUnavailable
from mobox.events.message import Message
from mobox.storage import Settings
from mobox.storage.encoding import EVENTS_PER_ROW
from mobox.storage.log import RawLine, Run
from mobox.storage.postgres import PostgresStorage, retention
from mobox.storage.read_slots import Effort, ReadSlots
from mobox.storage.retry import retry_while_unavailable
from storage.conformance import BEGINNING, DONE, ENDING, SECONDS, begin, say, submit, turn, words
from support.postgres_gate import Gate, gated
from support.postgres_server import Databases

ENDLESS = Settings(busy_seconds=3600, lease=3600, poll_seconds=3600)
"""Who waits, waits for ever."""
HASTY = Settings(busy_seconds=1.5, lease=3600, poll_seconds=3600)
IMPATIENT = Settings(busy_seconds=3600, lease=3600, poll_seconds=3600, search_seconds=0.2)
ROWS = 60


@asynccontextmanager
async def slow_logs(
    databases: Databases, settings: Settings
) -> AsyncIterator[tuple[PostgresStorage, Gate]]:
    url, gate = await gated(databases)
    store = await PostgresStorage.open(url, settings)
    try:
        async with asyncio.timeout(SECONDS):
            yield store, gate
    finally:
        await gate.close()
        await store.close()


async def long_turn(store: PostgresStorage, chat_id: str = "chat", owner: str = "ann") -> Run:
    run = await begin(store, submit(chat_id=chat_id), owner)
    said = words(*["so "] * (ROWS - 1) * EVENTS_PER_ROW)
    await say(store, run, *BEGINNING, *said, *words("on"), *ENDING)
    return run


async def read(store: PostgresStorage) -> str:
    (_, answer) = (await store.history("ann", "chat")).messages
    assert isinstance(answer.body, Message)
    return answer.body.content


async def page(store: PostgresStorage) -> str:
    (answer,) = (await store.messages("ann", "chat", limit=1)).messages
    assert isinstance(answer.body, Message)
    return answer.body.content


async def search(store: PostgresStorage) -> str:
    (chat,) = (await store.chats("ann", query="so so on")).chats
    assert chat.id == "chat"
    return await read(store)


@pytest.mark.parametrize("way", [read, page, search])
async def test_query_longer_than_the_timeout_completes(
    postgres: Databases, way: Callable[[PostgresStorage], Awaitable[str]]
) -> None:
    """A log takes 2.4 s to read, who asks waits 1.5 s."""
    async with slow_logs(postgres, HASTY) as (store, gate):
        await retry_while_unavailable(long_turn, store)
        await gate.leave_behind()
        await gate.slow_down(0.04)
        assert (await retry_while_unavailable(way, store)).endswith("so so on")


async def test_interrupted_read_does_not_restart(postgres: Databases) -> None:
    """A page has eight rows; after two of them the database takes longer than anybody waits."""
    async with slow_logs(postgres, HASTY) as (store, gate):
        await retry_while_unavailable(long_turn, store)
        await gate.leave_behind()
        await gate.shut(but_for=20)
        reading = asyncio.create_task(retry_while_unavailable(read, store))
        await gate.reached(21)
        await gate.delete_beginnings(EVENTS_PER_ROW)
        for way in (read, search):
            with pytest.raises(StorageUnavailable):
                await way(store)
        await gate.open()
        assert await reading == "so " * (ROWS - 1) * EVENTS_PER_ROW + "on"


async def test_heavy_readers_block_no_other(postgres: Databases) -> None:
    async with slow_logs(postgres, ENDLESS) as (store, gate):
        for n in range(5):
            await turn(store, "Hello", "Hi", chat_id=f"c{n}")
        await gate.leave_behind()
        run = await begin(store)
        await gate.shut()
        much: list[asyncio.Task[Any]]
        much = [asyncio.create_task(store.history("ann", f"c{n}")) for n in range(5)]
        much += [asyncio.create_task(store.chats("ann", query="hi")) for _ in range(5)]
        await gate.reached(2)
        assert await store.find_key("nobody's") is None
        assert (await store.request_stop("ann", run.id)).stop_requested_at is not None
        assert not any(task.done() for task in much)
        await gate.open()
        await asyncio.gather(*much)


async def test_concurrent_reads_share_one_fold(postgres: Databases) -> None:
    async with slow_logs(postgres, ENDLESS) as (store, gate):
        await turn(store, "Hello", "Hi")
        await gate.leave_behind()
        await begin(store, submit(chat_id="other"), "ben")
        await gate.shut()
        reads = [asyncio.create_task(read(store)) for _ in range(4)]
        looks = [asyncio.create_task(store.chats("ann", query="hi")) for _ in range(4)]
        await gate.reached(1)
        await store.history("ben", "other")  # who comes later than those is served later
        await gate.open()
        assert await asyncio.gather(*reads) == ["Hi"] * 4
        assert all(found.chats for found in await asyncio.gather(*looks))
        assert await gate.rows_read() == 1


async def test_result_of_an_abandoned_read_is_kept(postgres: Databases) -> None:
    async with slow_logs(postgres, ENDLESS) as (store, gate):
        await turn(store, "Hello", "Hi")
        await gate.leave_behind()
        await gate.shut()
        reading = asyncio.create_task(read(store))
        await gate.reached(1)
        reading.cancel()
        await asyncio.wait([reading])
        await gate.open()
        assert await read(store) == "Hi"
        assert await gate.rows_read() == 1


async def test_a_chat_that_is_deleted_while_it_is_read_is_not_found(postgres: Databases) -> None:
    async with slow_logs(postgres, ENDLESS) as (store, gate):
        await long_turn(store)
        await gate.leave_behind()
        await gate.shut()
        reading = asyncio.create_task(read(store))
        await gate.reached(1)
        await gate.delete_everything()
        await gate.open()
        with pytest.raises(ChatNotFound):
            await reading


EXPECTED = {
    3: ["search", "much", "little"],
    4: ["search", "search", "much", "little"],
}


@pytest.mark.parametrize("most", EXPECTED)
async def test_searches_leave_slots_for_other_reads(
    most: int,
) -> None:
    seats = ReadSlots(most)
    entered: list[str] = []
    all_sit, leave = asyncio.Event(), asyncio.Event()

    async def sit(effort: Effort) -> None:
        with await seats.take(effort):
            entered.append(effort)
            if len(entered) == most:
                all_sit.set()
            await leave.wait()

    efforts: list[Effort] = ["search", "search", "much", "much", "little", "little", "little"]
    sitting = [asyncio.create_task(sit(effort)) for effort in efforts]
    async with asyncio.timeout(SECONDS):
        await all_sit.wait()
    assert entered == EXPECTED[most]
    leave.set()
    await asyncio.gather(*sitting)


# What is deleted

SLOW = """
CREATE TABLE public.pace (seconds FLOAT);
INSERT INTO public.pace VALUES (0);
CREATE FUNCTION public.wait() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_sleep(seconds) FROM public.pace;
    RETURN OLD;
END $$;
CREATE TRIGGER wait BEFORE DELETE ON mobox.raw FOR EACH ROW EXECUTE FUNCTION public.wait();
CREATE TRIGGER wait BEFORE DELETE ON mobox.event FOR EACH ROW EXECUTE FUNCTION public.wait();
"""
LINES = 9


@asynccontextmanager
async def slow_deletes(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[str, PostgresStorage, Any]]:
    """A row takes 0.2 s to delete, who asks waits 1.5 s."""
    monkeypatch.setattr(retention, "MANY", 2)
    monkeypatch.setattr(retention, "AGAIN", 0.05)
    url = await databases.blank()
    store = await PostgresStorage.open(url, HASTY)
    connection = await asyncpg.connect(url)
    await connection.execute(SLOW)
    run = await retry_while_unavailable(begin, store)
    for _ in range(LINES):
        await store.append(run.id, run.epoch, words("a"), 1000, [RawLine(b"line", 0, 1)])
    await say(store, run, DONE)
    await connection.execute("UPDATE public.pace SET seconds = 0.2")
    try:
        async with asyncio.timeout(SECONDS):
            yield url, store, connection
    finally:
        await connection.close()
        await store.close()


async def left(connection: Any) -> list[int]:
    tables = ("event", "raw", "leftover")
    return [await connection.fetchval(f"SELECT count(*) FROM mobox.{name}") for name in tables]


async def test_raw_lines_that_take_long_to_delete_are_deleted(
    postgres: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with slow_deletes(postgres, monkeypatch) as (_, store, connection):
        assert await retry_while_unavailable(store.count_raw, 2**60) == LINES
        assert await retry_while_unavailable(store.drop_raw, 2**60) > 0
        assert await retry_while_unavailable(store.count_raw, 2**60) == 0
        assert await left(connection) == [LINES + 1, 0, 0]


async def test_a_chat_that_takes_long_to_delete_is_gone_at_once_and_deleted_in_the_end(
    postgres: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with slow_deletes(postgres, monkeypatch) as (_, store, connection):
        await retry_while_unavailable(store.delete, "ann", "chat")
        assert (await left(connection))[2] == 1
        with pytest.raises(ChatNotFound):
            await retry_while_unavailable(store.history, "ann", "chat")
        await retry_while_unavailable(store.settle)
        assert await left(connection) == [0, 0, 0]


async def test_deferred_chat_deletion_is_retried(
    postgres: Databases, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with slow_deletes(postgres, monkeypatch) as (_, store, connection):
        await connection.execute("UPDATE public.pace SET seconds = 3600")
        await retry_while_unavailable(store.delete, "ann", "chat")
        while "cannot delete the logs of deleted chats yet" not in caplog.text:
            await connection.execute("SELECT pg_sleep(0.02)")
        await connection.execute("UPDATE public.pace SET seconds = 0")
        while await left(connection) != [0, 0, 0]:
            pass


async def test_deleting_a_chat_does_not_wait_for_its_rows(
    postgres: Databases, tmp_path: Path
) -> None:
    url = await postgres.database(str(tmp_path))
    store = await PostgresStorage.open(url, ENDLESS)
    connection = await asyncpg.connect(url)
    await turn(store, "Hello", "Hi")
    async with asyncio.timeout(SECONDS):
        async with connection.transaction():
            await connection.execute("LOCK TABLE mobox.event IN SHARE MODE")
            await store.delete("ann", "chat")
            assert (await left(connection))[2] == 1
        await store.settle()
    assert await left(connection) == [0, 0, 0]
    await connection.close()
    await store.close()


async def test_leftover_rows_of_a_chat_are_deleted_by_the_next_process(
    postgres: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with slow_deletes(postgres, monkeypatch) as (url, store, connection):
        await connection.execute("UPDATE public.pace SET seconds = 3600")
        await retry_while_unavailable(store.delete, "ann", "chat")
        await store.close()
        assert (await left(connection))[2] == 1
        await connection.execute("UPDATE public.pace SET seconds = 0")
        next_one = await PostgresStorage.open(url, ENDLESS)
        while await left(connection) != [0, 0, 0]:
            pass
        await next_one.close()


# Searches that nobody waits for


async def test_the_server_ends_a_search_that_was_abandoned(postgres: Databases) -> None:
    url = await postgres.blank()
    store = await PostgresStorage.open(url, ENDLESS)
    find = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1"

    async def sleeping() -> int:
        return int(await store._sessions.query(lambda c: c.fetchval(find, "SELECT pg_sleep%")))

    async with asyncio.timeout(SECONDS):
        for _ in range(5):
            sleep = store._sessions.query(lambda c: c.fetchval("SELECT pg_sleep(3600)"), "search")
            searching = asyncio.create_task(sleep)
            while not await sleeping():
                pass
            searching.cancel()
            while await sleeping():
                pass
    await store.close()


async def test_a_search_has_a_deadline(postgres: Databases) -> None:
    async with slow_logs(postgres, IMPATIENT) as (store, gate):
        await long_turn(store)
        await gate.leave_behind()
        await gate.shut()
        with pytest.raises(SearchTooSlow):
            await store.chats("ann", query="so so on")
        await gate.open()
