"""A database that goes away: agents wait, nothing is lost and nothing doubled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from mobox.errors import Fenced, StorageError, StorageUnavailable
from mobox.events import LogEntry, TextDelta
from mobox.events.turn import Request
from mobox.storage import Settings
from mobox.storage.log import RawLine, Run, RunId, pages
from mobox.storage.postgres import PostgresStorage
from mobox.storage.retry import retry_while_unavailable
from storage.conformance import ANSWER, DONE, QUESTION, collect, same, say, seqs, submit, words
from storage.conformance import begin as begin_once
from support.postgres_proxy import Proxy
from support.postgres_server import Databases, PostgresServer, running_postgres
from support.waiting import until_async

SECONDS = 120  # only a test that hangs takes so long
HASTY = Settings(busy_seconds=1, lease=3600, poll_seconds=0.05)
"""Who waits for a second at most, and asks again, because this machine may be busy."""
CALM = Settings(busy_seconds=60, lease=3600)


class Mortal:
    """A server that may be stopped, and its databases."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.databases = Databases(server.url)


@pytest.fixture(scope="module")
def mortal() -> Iterator[Mortal]:
    with running_postgres() as server:
        yield Mortal(server)


@pytest.fixture
def databases(mortal: Mortal) -> Databases:
    return mortal.databases


async def begin(store: PostgresStorage, request: Request | None = None) -> Run:
    return await retry_while_unavailable(begin_once, store, request)


async def whole_log(store: PostgresStorage, run_id: RunId) -> list[LogEntry]:
    async def read() -> list[LogEntry]:
        return [entry async for page in pages(store, run_id) for entry in page]

    return await retry_while_unavailable(read)


async def follow(store: PostgresStorage, run: Run) -> list[LogEntry]:
    return await collect(store.follow(run.id))


# The server itself


async def stopped(server: PostgresServer, store: PostgresStorage) -> None:
    await asyncio.to_thread(server.stop)
    await missed(store)
    await asyncio.to_thread(server.start)


async def killed(server: PostgresServer, store: PostgresStorage) -> None:
    await asyncio.to_thread(server.kill)
    await missed(store)
    await asyncio.to_thread(server.start)


async def frozen(server: PostgresServer, store: PostgresStorage) -> None:
    server.freeze()
    await missed(store)
    server.thaw()


async def missed(store: PostgresStorage) -> None:
    """Whoever asks is told so, in a bounded time."""
    with pytest.raises(StorageUnavailable):
        await store.chats("ann")
    with pytest.raises(StorageUnavailable):
        await begin_once(store, submit(chat_id="in vain"))


@pytest.mark.parametrize("fault", [stopped, killed, frozen])
@pytest.mark.time_limit(SECONDS)
async def test_nothing_is_lost_or_doubled_when_the_server(
    mortal: Mortal, fault: Callable[[PostgresServer, PostgresStorage], Awaitable[None]]
) -> None:
    """Writers append and readers follow, while the server goes away and comes back."""
    runs = 5

    async def write(store: PostgresStorage, run: Run, done: asyncio.Event, said: list[int]) -> None:
        while not done.is_set():
            await say(store, run, *words(f"{run.chat_id} {len(said)}"))
            said.append(len(said))
        await say(store, run, DONE)

    store = await PostgresStorage.open(await mortal.databases.blank(), HASTY)
    begun = [await begin(store, submit(chat_id=f"c{n}")) for n in range(runs)]
    followers = [asyncio.create_task(retry_while_unavailable(follow, store, run)) for run in begun]
    done = asyncio.Event()
    said: list[list[int]] = [[] for _ in begun]
    writers = [
        asyncio.create_task(write(store, run, done, mine))
        for run, mine in zip(begun, said, strict=True)
    ]

    async def all_said(more: int) -> bool:
        await asyncio.sleep(0)
        for writer in writers:
            assert not writer.done()
        return all(len(mine) >= more for mine in said)

    await until_async(lambda: all_said(5))
    await fault(mortal.server, store)
    so_far = max(map(len, said))
    await until_async(lambda: all_said(so_far + 5))
    done.set()
    await asyncio.gather(*writers)
    for run, follower, mine in zip(begun, followers, said, strict=True):
        entries = await whole_log(store, run.id)
        assert seqs(entries) == list(range(1, len(mine) + 2))
        told = [entry.event.delta for entry in entries if isinstance(entry.event, TextDelta)]
        assert told == [f"{run.chat_id} {n}" for n in mine]
        assert await follower == entries
    await store.close()


@pytest.mark.time_limit(SECONDS)
async def test_store_with_nothing_to_write_is_closed_at_once_during_an_outage(
    mortal: Mortal,
) -> None:
    settings = Settings(busy_seconds=3600, lease=3600)
    store = await PostgresStorage.open(await mortal.databases.blank(), settings)
    await asyncio.to_thread(mortal.server.stop)
    try:
        await store.close()
    finally:
        await asyncio.to_thread(mortal.server.start)


async def test_store_closed_during_an_outage_logs_what_it_could_not_write(
    mortal: Mortal,
) -> None:
    store = await PostgresStorage.open(await mortal.databases.blank(), HASTY)
    run = await begin(store)
    await asyncio.to_thread(mortal.server.stop)
    try:
        pending = asyncio.create_task(say(store, run, *words("late")))
        await asyncio.sleep(0)
        await store.close()
        with pytest.raises(StorageError, match="has stopped"):
            await pending
    finally:
        await asyncio.to_thread(mortal.server.start)


# What is said on the way


@asynccontextmanager
async def by_proxy(
    databases: Databases, folder: Path
) -> AsyncIterator[tuple[PostgresStorage, PostgresStorage, Proxy]]:
    """A store behind a proxy, and one that is not."""
    url = await databases.database(str(folder))
    proxy = Proxy(url, folder)
    await proxy.open()
    near = await PostgresStorage.open(url, CALM)
    far = await PostgresStorage.open(proxy.url, HASTY)
    try:
        async with asyncio.timeout(SECONDS):
            yield near, far, proxy
    finally:
        await far.close()
        await near.close()
        await proxy.close()


@pytest.mark.parametrize("ending", [[], [DONE]])
async def test_an_append_that_was_committed_unheard_is_not_repeated(
    databases: Databases, tmp_path: Path, ending: list[Any]
) -> None:
    async with by_proxy(databases, tmp_path) as (near, far, proxy):
        run = await begin(far)
        other = await begin(far, submit(chat_id="other"))
        await say(far, run, *words("a"))
        proxy.swallow_answer_to(b'"b"')
        appends = [say(far, run, *words("b", "c"), *ending), say(far, other, *words("d"))]
        pending = [asyncio.create_task(append) for append in appends]
        last = 3 + len(ending)
        await until_async(lambda: has_come(near, run, last))
        await proxy.close()
        await proxy.open()
        mine, others = await asyncio.gather(*pending)
        assert seqs(mine) == list(range(2, last + 1))
        assert mine == (await near.read(run.id))[1:]
        assert others == await near.read(other.id)


ONCE = """
CREATE SEQUENCE public.tries;
CREATE FUNCTION public.refuse() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('public.tries') = 1 THEN RAISE EXCEPTION 'not now'; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER refuse AFTER UPDATE ON mobox.run FOR EACH STATEMENT EXECUTE FUNCTION public.refuse();
"""
NEVER = "DROP FUNCTION public.refuse CASCADE; DROP SEQUENCE public.tries"


async def test_appends_that_were_committed_unheard_are_not_repeated_one_by_one(
    databases: Databases, tmp_path: Path
) -> None:
    async with by_proxy(databases, tmp_path) as (near, far, proxy):
        runs = [await begin(far, submit(chat_id=f"c{n}")) for n in range(3)]
        proxy.swallow_answer_to(b'"first"')
        pending = [asyncio.create_task(say(far, run, *words("first", "then"))) for run in runs]
        for run in runs:
            await until_async(partial(has_come, near, run, 2))
        await proxy.close()
        await execute(databases, tmp_path, ONCE)
        try:
            await proxy.open()
            for run, said in zip(runs, await asyncio.gather(*pending), strict=True):
                assert said == await near.read(run.id)
                assert seqs(said) == [1, 2]
        finally:
            await execute(databases, tmp_path, NEVER)


async def has_come(store: PostgresStorage, run: Run, tail: int) -> bool:
    return (await store.run("ann", run.id)).tail_seq == tail


@pytest.mark.parametrize("said", [words("b"), []])
async def test_append_committed_without_acknowledgement_is_notified_though_another_log_was_deleted(
    databases: Databases, tmp_path: Path, said: list[Any]
) -> None:
    async with by_proxy(databases, tmp_path) as (near, far, proxy):
        runs = [await begin(far, submit(chat_id=name)) for name in ("gone", "kept")]
        gone, kept = runs
        proxy.swallow_answer_to(b'"a"')
        first = asyncio.create_task(say(far, gone, *words("a")))
        line = RawLine(b"line", 0, len(said))
        then = asyncio.create_task(far.append(kept.id, kept.epoch, said, 1000, [line]))
        await until_async(lambda: has_come(near, gone, 1))
        await proxy.close()
        await near.delete("ann", "gone")
        await near.settle()
        await proxy.open()
        assert await then == await near.read(kept.id)
        if not said:
            with pytest.raises(Fenced):
                await first
        await asyncio.wait([first])
        assert len(await say(far, kept, *words("c"))) == 1


async def test_unacknowledged_append_is_repeated(databases: Databases, tmp_path: Path) -> None:
    async with by_proxy(databases, tmp_path) as (near, far, proxy):
        run = await begin(far)
        proxy.swallow_questions()
        appends = [asyncio.create_task(say(far, run, *words(str(n)))) for n in range(5)]
        with pytest.raises(StorageUnavailable):
            await far.run("ann", run.id)
        assert await near.read(run.id) == []
        await proxy.close()
        await proxy.open()
        entries = [entry for said in await asyncio.gather(*appends) for entry in said]
        assert seqs(entries) == [1, 2, 3, 4, 5]
        assert await near.read(run.id) == entries


async def test_answers_committed_without_acknowledgement_start_one_attempt(
    databases: Databases, tmp_path: Path
) -> None:
    async with by_proxy(databases, tmp_path) as (near, far, proxy):
        run = await begin(far)
        await say(far, run, *QUESTION)
        proxy.swallow_answer_to(b'"decision":"answered"')
        pending = asyncio.create_task(far.next_attempt(run.id, run.epoch, ANSWER, None))
        await until_async(lambda: has_come(near, run, 3))
        await proxy.close()
        await proxy.open()
        leg = await pending
        assert (leg.leg, leg.epoch, leg.tail_seq) == (2, 2, 3)
        found = await near.run("ann", run.id)
        assert leg == replace(found, lease_until=leg.lease_until), "the lease may be renewed"


async def test_turn_committed_without_acknowledgement_starts_once(
    databases: Databases, tmp_path: Path
) -> None:
    async with by_proxy(databases, tmp_path) as (near, far, proxy):
        proxy.swallow_answer_to(b"COMMIT")
        pending = asyncio.create_task(begin(far))

        async def has_begun() -> bool:
            return bool((await near.chats("ann")).chats)

        await until_async(has_begun)
        await proxy.close()
        await proxy.open()
        run = await pending
        (begun,) = await near.runs("ann", "chat")
        assert same(begun, run)


async def test_a_writer_that_was_cut_off_goes_on_unless_its_run_was_taken_over(
    databases: Databases, tmp_path: Path
) -> None:
    async with by_proxy(databases, tmp_path) as (near, far, proxy):
        kept, lost = await begin(far), await begin(far, submit(chat_id="other"))
        await proxy.close()
        pending = [asyncio.create_task(say(far, run, *words("a"))) for run in (kept, lost)]
        await execute(databases, tmp_path, "UPDATE mobox.run SET lease_until = 0")
        mine = await near.take_over(lost.id, lost.epoch)
        await proxy.open()
        entries, fenced = await asyncio.gather(*pending, return_exceptions=True)
        assert isinstance(fenced, Fenced)
        assert entries == await near.read(kept.id)
        assert await near.read(lost.id) == []
        await say(near, mine, DONE)
        renewed = await near.run("ann", kept.id)
        assert (renewed.epoch, renewed.lease_owner) == (1, kept.lease_owner)
        assert renewed.lease_until is not None
        assert renewed.lease_until > 0


async def execute(databases: Databases, folder: Path, statement: str) -> None:
    connection = await asyncpg.connect(await databases.database(str(folder)))
    await connection.execute(statement)
    await connection.close()
