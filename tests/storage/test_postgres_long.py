"""What takes long in PostgreSQL: it comes to its end, and nobody else waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mobox.errors import ChatNotFound
from mobox.message import Message
from mobox.storage import Settings
from mobox.storage.encoding import EVENTS_PER_ROW
from mobox.storage.log import Run
from mobox.storage.patience import patiently
from mobox.storage.postgres import PostgresStorage
from mobox.storage.postgres.seats import Effort, Seats
from postgres_gate import Gate, gated
from postgres_server import Databases
from storage.conformance import BEGINNING, ENDING, SECONDS, begin, say, submit, turn, words

ENDLESS = Settings(busy_seconds=3600, lease_seconds=3600, poll_seconds=3600)
"""Who waits, waits for ever."""
HASTY = Settings(busy_seconds=1.5, lease_seconds=3600, poll_seconds=3600)
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
def test_what_takes_longer_than_anybody_waits_comes_to_its_end(
    postgres: Databases, way: Callable[[PostgresStorage], Awaitable[str]]
) -> None:
    """A log takes 2.4 s to read, who asks waits 1.5 s."""

    async def scenario() -> None:
        async with slow_logs(postgres, HASTY) as (store, gate):
            await patiently(long_turn, store)
            await gate.slow_down(0.04)
            assert (await patiently(way, store)).endswith("so so on")

    asyncio.run(scenario())


def test_nobody_waits_for_those_who_read_much(postgres: Databases) -> None:
    async def scenario() -> None:
        async with slow_logs(postgres, ENDLESS) as (store, gate):
            for n in range(5):
                await turn(store, "Hello", "Hi", chat_id=f"c{n}")
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

    asyncio.run(scenario())


def test_what_many_read_at_once_is_made_once(postgres: Databases) -> None:
    async def scenario() -> None:
        async with slow_logs(postgres, ENDLESS) as (store, gate):
            await turn(store, "Hello", "Hi")
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

    asyncio.run(scenario())


def test_what_nobody_waits_for_any_more_is_kept(postgres: Databases) -> None:
    async def scenario() -> None:
        async with slow_logs(postgres, ENDLESS) as (store, gate):
            await turn(store, "Hello", "Hi")
            await gate.shut()
            reading = asyncio.create_task(read(store))
            await gate.reached(1)
            reading.cancel()
            await asyncio.wait([reading])
            await gate.open()
            assert await read(store) == "Hi"
            assert await gate.rows_read() == 1

    asyncio.run(scenario())


def test_a_chat_that_is_deleted_while_it_is_read_is_not_found(postgres: Databases) -> None:
    async def scenario() -> None:
        async with slow_logs(postgres, ENDLESS) as (store, gate):
            await long_turn(store)
            await gate.shut()
            reading = asyncio.create_task(read(store))
            await gate.reached(1)
            await gate.delete_everything()
            await gate.open()
            with pytest.raises(ChatNotFound):
                await reading

    asyncio.run(scenario())


def test_searches_leave_room_for_who_reads_much_and_those_for_who_asks_little() -> None:
    async def scenario() -> None:
        seats = Seats(4)
        entered: list[str] = []
        all_sit, leave = asyncio.Event(), asyncio.Event()

        async def sit(effort: Effort) -> None:
            async with seats.taken(effort):
                entered.append(effort)
                if len(entered) == 4:
                    all_sit.set()
                await leave.wait()

        efforts: list[Effort] = ["search", "search", "much", "much", "little", "little", "little"]
        sitting = [asyncio.create_task(sit(effort)) for effort in efforts]
        await all_sit.wait()
        assert entered == ["search", "much", "little", "little"]
        leave.set()
        await asyncio.gather(*sitting)

    asyncio.run(scenario())
