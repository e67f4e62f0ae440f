"""What only a SQLite store does: several on one file, leases that run out, one commit for many."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mobox.errors import (
    Fenced,
    InvalidCursor,
    LogDeleted,
    RunNotFound,
    SearchTooSlow,
    StorageError,
    StorageUnavailable,
)
from mobox.events import Raw, Status
from mobox.events.message import Message
from mobox.storage import Settings, SqliteStorage
from mobox.storage.log import PAGE, RawLine, Run
from mobox.storage.sqlite import database, reads, retention, search
from mobox.storage.sqlite.database import Stop, Transaction, says
from storage.conformance import (
    BEGINNING,
    DONE,
    ENDING,
    QUESTION,
    SECONDS,
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
from support import waiting

Stores: TypeAlias = AbstractAsyncContextManager[list[SqliteStorage]]


def two_stores(path: Path, settings: Settings | None = None) -> Stores:
    """Two stores on one file, as two processes have them."""
    settings = settings or Settings(poll_seconds=0.01, lease=3600)
    return opened(lambda: SqliteStorage.open(path, settings), 2)


@asynccontextmanager
async def one_store(path: Path) -> AsyncIterator[SqliteStorage]:
    async with two_stores(path) as (store, _):
        yield store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mobox.db"


# Two stores


async def test_two_stores_write_to_one_file(path: Path) -> None:
    async with two_stores(path) as (one, two):
        runs = [
            (store, await begin(store, submit(chat_id=f"c{n}{store is one}")))
            for n in range(5)
            for store in (one, two)
        ]

        async def write(store: SqliteStorage, run: Run) -> None:
            for n in range(20):
                await say(store, run, *words(str(n), "x"))

        await asyncio.gather(*(write(store, run) for store, run in runs))
        logs = [await two.read(run.id) for _, run in runs]
        assert all(seqs(log) == list(range(1, 41)) for log in logs)
        ids = [entry.id for log in logs for entry in log]
        assert len(set(ids)) == len(ids)


async def test_waiting_for_a_run_ends_when_another_store_starts_it(path: Path) -> None:
    async with two_stores(path) as (one, two):
        first = asyncio.create_task(two.run_after("ann", "chat", None))
        await asyncio.sleep(0)
        run = await turn(one, "One", "1")
        assert (await first).id == run.id
        second = asyncio.create_task(two.run_after("ann", "chat", run.id))
        other = asyncio.create_task(two.run_after("ann", "other", None))
        await asyncio.sleep(0)
        later = await turn(one, "Two", "2", "u2")
        assert (await second).id == later.id
        last = asyncio.create_task(two.run_after("ann", "chat", later.id))
        await asyncio.sleep(0)
        await one.delete("ann", "chat")
        with pytest.raises(LogDeleted):
            await last
        assert not other.done()
        other.cancel()


async def test_a_follower_sees_what_another_store_writes(path: Path) -> None:
    async def collect_some(store: SqliteStorage, run: Run, after: int) -> Any:
        return [entry async for batch in until(store, run, after, 20) for entry in batch]

    async def until(store: SqliteStorage, run: Run, after: int, last: int) -> Any:
        async for batch in store.follow(run.id, after):
            yield batch
            if batch[-1].seq >= last:
                return

    async with two_stores(path) as (one, two):
        run = await begin(one)
        followers = [asyncio.create_task(collect(two.follow(run.id))) for _ in range(3)]
        for n in range(20):
            await say(one, run, *words(str(n)))
        assert seqs(await collect_some(two, run, 15)) == [16, 17, 18, 19, 20]
        await say(one, run, DONE)
        for follower in followers:
            assert seqs(await follower) == list(range(1, 22))


async def test_a_cursor_of_what_another_store_wrote_is_a_place(path: Path) -> None:
    async with two_stores(path) as (one, two):
        run = await begin(one)
        await say(one, run, *BEGINNING)
        first = two.follow(run.id)
        assert len(await anext(first)) == 2  # from here on `two` believes it knows the tail
        await say(one, run, *words("a", "b"))
        assert seqs(await anext(two.follow(run.id, 3))) == [4]
        with pytest.raises(InvalidCursor):
            await anext(two.follow(run.id, 5))


async def test_a_log_that_another_store_deletes_ends_its_followers(path: Path) -> None:
    async with two_stores(path) as (one, two):
        run = await begin(one)
        follower = asyncio.create_task(collect(two.follow(run.id)))
        await say(one, run, *BEGINNING)
        await one.delete("ann", "chat")
        with pytest.raises(RunNotFound):
            await follower


# Leases


async def test_only_the_lease_owner_is_notified_to_stop(path: Path) -> None:
    async with two_stores(path) as (one, two):
        run = await begin(one)
        asked = await two.request_stop("ann", run.id)
        assert await one.stopping() == [asked]
        assert await two.stopping() == []


# The writer


async def test_appends_of_many_runs_are_committed_together(path: Path) -> None:
    async with one_store(path) as store:
        runs = [await begin(store, submit(chat_id=f"c{n}")) for n in range(100)]
        with sqlite3.connect(path) as other:
            (before,) = other.execute("PRAGMA data_version").fetchone()
            commits, tasks = 0, [asyncio.create_task(say(store, run, DONE)) for run in runs]
            while not all(task.done() for task in tasks):
                await asyncio.sleep(0)
                (now,) = other.execute("PRAGMA data_version").fetchone()
                commits, before = commits + (now != before), now
        other.close()
        assert await store.expired() == []
        assert 1 <= commits < 20


async def test_closing_commits_what_is_pending(path: Path) -> None:
    store = await SqliteStorage.open(path)
    run = await begin(store)
    pending = [asyncio.create_task(say(store, run, *words(str(n)))) for n in range(50)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*pending)
    with pytest.raises(StorageError, match="closed"):
        await say(store, run, DONE)
    await store.close()

    async with one_store(path) as store:
        assert len(await store.read(run.id)) == 50


async def test_a_caller_that_goes_away_loses_nothing(path: Path) -> None:
    async with one_store(path) as store:
        run = await begin(store)
        task = asyncio.create_task(say(store, run, *BEGINNING))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert seqs(await say(store, run, *ENDING)) == [3, 4]
        assert seqs(await store.read(run.id)) == [1, 2, 3, 4]


async def test_a_job_that_cannot_be_done_fails_alone(path: Path) -> None:
    async with one_store(path) as store:
        run = await begin(store)
        bad_title = "\ud800"  # half a character, which no file can hold
        outcomes = await asyncio.gather(
            say(store, run, *BEGINNING),
            store.rename("ann", "chat", bad_title),
            store.append(run.id, 1, words("a"), 2**70),
            say(store, run, *words(bad_title)),
            say(store, run, *ENDING),
            return_exceptions=True,
        )
        assert [isinstance(outcome, Exception) for outcome in outcomes] == [
            False, True, True, True, False,
        ]  # fmt: skip
        assert len(await store.read(run.id)) == 4
        assert (await store.chat("ann", "chat")).title == "Hello"


async def test_a_commit_that_fails_fails_all_that_is_in_it_and_the_next_one_works(
    path: Path,
) -> None:
    store = await SqliteStorage.open(path, Settings(busy_seconds=0, lease=3600))
    run = await begin(store)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable):
            await store.rename("ann", "chat", "Later")
        other.execute("ROLLBACK")
    other.close()
    assert (await store.rename("ann", "chat", "Later")).title == "Later"
    assert seqs(await say(store, run, *BEGINNING)) == [1, 2]
    await store.close()


NO_LEASE = """
CREATE TRIGGER refuse BEFORE UPDATE ON run
    WHEN OLD.lease_until IS NOT NEW.lease_until BEGIN SELECT RAISE(ABORT, 'no lease'); END
"""


async def test_a_writer_that_cannot_renew_leases_logs_it_and_retries_after_a_pause(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await SqliteStorage.open(path, Settings(lease=0.6))
    run = await begin(store)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute(NO_LEASE)
        async with asyncio.timeout(SECONDS):
            await waiting.until(lambda: f"cannot write to {path}: no lease" in caplog.text)
            before = len(caplog.records)
            await asyncio.sleep(0.5)  # in which it is due twice
            assert len(caplog.records) - before <= 3
            other.execute("DROP TRIGGER refuse")
            renewed_until = (await store.run("ann", run.id)).lease_until
            while (await store.run("ann", run.id)).lease_until == renewed_until:
                pass
    other.close()
    await store.close()


async def test_append_waits_for_a_locked_file(path: Path) -> None:
    store = await SqliteStorage.open(path, Settings(busy_seconds=0, lease=3600))
    run = await begin(store)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        saying = [asyncio.create_task(say(store, run, *said)) for said in (BEGINNING, ENDING)]
        for title in ("A", "B"):  # each is a commit that the lock made fail
            with pytest.raises(StorageUnavailable):
                await store.rename("ann", "chat", title)
        assert not any(said.done() for said in saying)
        other.execute("ROLLBACK")
    other.close()
    assert [seqs(said) for said in await asyncio.gather(*saying)] == [[1, 2], [3, 4]]
    await store.close()


async def test_a_file_that_stays_locked_keeps_no_store_from_closing(path: Path) -> None:
    store = await SqliteStorage.open(path, Settings(busy_seconds=0, lease=3600))
    run = await begin(store)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        saying = asyncio.create_task(say(store, run, *BEGINNING))
        await asyncio.sleep(0)
        await store.close()
        with pytest.raises(StorageUnavailable):
            await saying
        other.execute("ROLLBACK")
    other.close()


async def test_old_raw_lines_go_in_many_small_commits(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with one_store(path) as store:
        for number in range(20):
            run = await begin(store, submit(chat_id=f"chat{number}"))
            await store.append(run.id, 1, [*BEGINNING, DONE], None, [RawLine(b"a"), RawLine(b"b")])
        sizes: list[int] = []
        drop = retention.drop_raw

        def noted(transaction: Transaction, runs: Sequence[int], ended_before: int) -> int:
            sizes.append(len(runs))
            return drop(transaction, runs, ended_before)

        monkeypatch.setattr(retention, "drop_raw", noted)
        assert await store.drop_raw(2**62) == 40
        assert sizes == [8, 8, 4]
        assert await store.count_raw(2**62) == 0


# What is read


async def test_a_long_batch_is_read_in_pages_of_events_and_of_bytes(path: Path) -> None:
    async with one_store(path) as store:
        run = await begin(store)
        await say(store, run, *words(*["w"] * 1000))
        await say(store, run, *words(*["long " * 20_000] * 9))
        await say(store, run, DONE)
        page = await store.read(run.id, 100, 5)
        assert seqs(page) == [101, 102, 103, 104, 105]
        lengths = [len(batch) async for batch in store.follow(run.id)]
        assert sum(lengths) == 1010
        assert max(lengths) <= PAGE


async def test_a_page_ends_with_the_first_big_event(path: Path) -> None:
    async with one_store(path) as store:
        run = await begin(store)
        for text in ("a", "b", "long " * 200, "c", "long " * 200):
            await say(store, run, *words(text))
        await say(store, run, DONE)
        assert [seqs(batch) async for batch in store.follow(run.id)] == [[1, 2, 3], [4, 5], [6]]


async def test_events_of_another_version_are_read_as_raw(path: Path) -> None:
    async with one_store(path) as store:
        run = await begin(store)
        await say(store, run, *BEGINNING, Status(message="known"), DONE)
        with sqlite3.connect(path) as other:
            other.execute("UPDATE event SET events = replace(events, 'status', 'telepathy')")
        other.close()
        entries = await store.read(run.id)
        assert seqs(entries) == [1, 2, 3, 4]
        assert [entry.event.type for entry in entries] == ["start", "text", "raw", "done"]
        assert isinstance(entries[2].event, Raw)
        assert entries[2].event.raw == {"type": "telepathy", "message": "known"}


async def test_heavy_readers_block_no_other(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, gate, found = threading.Event(), threading.Event(), []

    def slow(text: str, query: str) -> bool:
        begun.set()
        gate.wait()
        return says(text, query)

    async def search(store: SqliteStorage, owner: str) -> None:
        await store.chats(owner, query="é")
        found.append(owner)

    monkeypatch.setattr(database, "says", slow)
    async with one_store(path) as store:
        for owner in ("ann", "bob"):
            await store.begin_turn(owner, submit(chat_id=owner), "demo", "emitted")
        searches = [asyncio.create_task(search(store, "ann")) for _ in range(5)]
        try:
            await asyncio.to_thread(begun.wait)
            searches.append(asyncio.create_task(search(store, "bob")))
            for _ in range(100):
                assert await store.find_key("nobody's") is None
                assert (await store.history("bob", "bob")).active is not None
            assert found == []
        finally:
            gate.set()
        await asyncio.gather(*searches)
        assert found[-1] == "ann", "who searches once is not the last because somebody always does"


async def test_cancelled_search_keeps_its_slot_until_it_ends(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, gate = threading.Event(), threading.Event()

    def slow(_text: str, _query: str) -> bool:
        begun.set()
        return gate.wait()

    monkeypatch.setattr(database, "says", slow)
    async with one_store(path) as store:
        await begin(store)
        try:
            for _ in range(Settings().readers):
                searching = asyncio.create_task(store.chats("ann", query="é"))
                await asyncio.to_thread(begun.wait)
                for _ in range(20):
                    assert await store.find_key("nobody's") is None
                searching.cancel()
            async with asyncio.timeout(SECONDS):
                assert await store.find_key("nobody's") is None
        finally:
            gate.set()
        assert (await store.chats("ann", query="é")).chats


async def test_a_fold_is_kept_and_made_again_where_it_cannot_be_read(path: Path) -> None:
    async with one_store(path) as store:
        run = await turn(store, "Hello", "Hi")
        await ids_of(store)
        await store.rename("ann", "chat", "after the fold is kept")
        with sqlite3.connect(path) as other:
            find = "SELECT folded_seq, content FROM message WHERE id = ?"
            assert other.execute(find, (run.id,)).fetchall() == [(5, "Hi")]
            other.execute("UPDATE message SET body = '{\"old\": 1}' WHERE id = ?", (run.id,))
        other.close()
        body = (await store.history("ann", "chat")).messages[1].body
        assert isinstance(body, Message)
        assert body.content == "Hi"


async def test_a_fold_that_cannot_be_kept_hides_no_other(path: Path) -> None:
    async with one_store(path) as store:
        for n in range(3):
            run = await begin(store, submit(f"Hello {n}", chat_id=f"c{n}"))
            if n < 2:
                refuse = f"""CREATE TRIGGER "{run.id}" BEFORE UPDATE ON message
                    WHEN NEW.id = '{run.id}' BEGIN SELECT RAISE(ABORT, 'no'); END"""
                with sqlite3.connect(path) as other:
                    other.execute(refuse)
                other.close()
            await say(store, run, *BEGINNING, *words("Hi"), *ENDING)
        found = await store.chats("ann", query="Hi")
        assert [chat.id for chat in found.chats] == ["c2"]


def content(path: Path) -> bytes:
    return path.read_bytes()


async def test_deleted_data_is_not_in_the_file(path: Path) -> None:
    async with one_store(path) as store:
        for n in range(20):
            await turn(store, f"question {n}", f"hunter{n:02} " * 500, chat_id=f"c{n}")
            await store.history("ann", f"c{n}")
        await store.delete("ann", "c7")
    file = content(path)
    assert b"hunter06" in file
    assert b"hunter07" not in file


async def test_unread_log_is_not_kept_in_memory(path: Path) -> None:
    async with one_store(path) as store:
        for n in range(5):
            run = await turn(store, "Hello", "Hi", chat_id=f"c{n}")
            await collect(store.follow(run.id))
        assert len(store._watches) == 0
        running = await begin(store)
        await say(store, running, *BEGINNING)
        assert len(store._watches) == 1
        await store.queue(running.id, 1)
        await store.take_over(running.id, 1)
        with pytest.raises(Fenced):
            await say(store, running, *words("late"))
        assert len(store._watches) == 0


async def test_reader_ahead_of_notifications_learns_that_the_run_waits(path: Path) -> None:
    async with two_stores(path) as (here, there):
        run = await begin(here)
        await say(here, run, *BEGINNING)
        knows = there.follow(run.id)
        known = await anext(aiter(knows))  # and nothing of what comes next
        await say(here, run, *QUESTION)
        read = await collect(there.follow(run.id, through_pauses=False))
        assert seqs(read) == list(range(1, len(known) + len(QUESTION) + 1))


async def test_an_answer_is_folded_when_its_run_ends(path: Path) -> None:
    async with one_store(path) as store:
        for n in range(20):
            await turn(store, "Hello", f"Hi {n}", chat_id=f"c{n}")
    with sqlite3.connect(path) as other:
        find = "SELECT content FROM message JOIN run ON run.n = message.run WHERE folded"
        assert sorted(other.execute(find)) == sorted((f"Hi {n}",) for n in range(20))
    other.close()


async def test_answers_that_a_crash_left_behind_are_folded_in_the_background(path: Path) -> None:
    async with one_store(path) as store:
        for n in range(100):
            await turn(store, "Hello", f"Hi {n}", chat_id=f"c{n}")
    leave_behind(path)
    async with one_store(path) as store:
        assert (await store.chats("ann", query="Hi 99")).chats, "the last ones are folded at once"
        await store._folds.do_leftovers()
        assert (await store._readers.query(reads.unfolded_of_all, 0, 1)) == []
        assert (await store.chats("ann", query="Hi 1")).chats


def leave_behind(path: Path) -> None:
    """Forget the folds, as if the process had died before they were made."""
    with sqlite3.connect(path) as other:
        other.execute("UPDATE message SET folded_seq = 0, content = '', body = NULL WHERE run > 0")
        other.execute("UPDATE run SET folded = 0")
    other.close()


async def test_texts_of_an_older_database_are_indexed_in_steps(path: Path) -> None:
    async with one_store(path) as store:
        for n in range(150):
            await turn(store, f"Message {n}", f"Answer {n}", chat_id=f"c{n}")
    with sqlite3.connect(path) as other:  # as migration 16 leaves it
        other.execute("INSERT INTO message_search (message_search) VALUES ('delete-all')")
        other.execute(
            "UPDATE counter SET value = (SELECT max(n) + 1 FROM message)"
            " WHERE name = 'searchable_from'"
        )
    other.close()
    async with one_store(path) as store:

        async def found(query: str) -> list[str]:
            return [chat.id for chat in (await store.chats("ann", query=query)).chats]

        assert await store._index_some(0) == 1
        assert await found("Answer 7") == [f"c{n}" for n in (*range(79, 69, -1), 7)]
        await store.delete("ann", "c9")  # not indexed yet
        await store.delete("ann", "c149")  # indexed
        await turn(store, "Message new", "Answer new", chat_id="new")
        await store._folds.do_leftovers()
        assert await store._index_some(0) is None
        assert await store._readers.query(search.find_by_index, "Answer 7") is not None
        assert await found("Answer 7") == [f"c{n}" for n in (*range(79, 69, -1), 7)]
        assert await found("swer new") == ["new"]
        assert await found("Answer 9") == [f"c{n}" for n in range(99, 89, -1)]


async def test_a_word_that_very_many_messages_have_is_found_without_the_index(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_MOST", 10)
    async with one_store(path) as store:
        for n in range(20):
            await turn(store, "Hello", "Hi there", chat_id=f"c{n}")
        assert await store._readers.query(search.find_by_index, "there") is None
        assert len((await store.chats("ann", query="there")).chats) == 20


ENDLESS_QUERY = "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT count(*) FROM r"


async def test_a_search_ends_at_its_deadline_or_when_nobody_waits(path: Path) -> None:
    async with one_store(path) as store:
        for stop in (Stop(0.05), Stop(3600)):
            reading = store._readers.search(lambda c: c.execute(ENDLESS_QUERY).fetchall(), stop)
            searching = asyncio.create_task(reading)
            if stop.seconds > 1:
                await store.chats("ann")
                stop.abandon()
            with pytest.raises(SearchTooSlow):
                await searching
        await turn(store, "Hello", "Hi")
        assert (await store.chats("ann", query="Hi")).chats


async def test_a_search_that_is_cancelled_frees_its_thread(path: Path) -> None:
    async with one_store(path) as store:
        for _ in range(2 * Settings().readers):
            searching = asyncio.create_task(
                store._search("ann", lambda c: c.execute(ENDLESS_QUERY).fetchall())
            )
            await asyncio.sleep(0)
            searching.cancel()
            await asyncio.wait([searching])
        assert (await store.chats("ann", query="Hi")).chats == ()


async def test_a_search_of_one_owner_does_not_hold_up_another(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, gate = threading.Event(), threading.Event()

    def slow(text: str, query: str) -> bool:
        if query == "é":
            begun.set()
            gate.wait()
        return says(text, query)

    monkeypatch.setattr(database, "says", slow)
    async with one_store(path) as store:
        for owner in ("ann", "bob"):
            await store.begin_turn(owner, submit("è é", chat_id=owner), "demo", "emitted")
        searching = [asyncio.create_task(store.chats("ann", query="é")) for _ in range(5)]
        try:
            await asyncio.to_thread(begun.wait)
            assert (await store.chats("bob", query="è")).chats
        finally:
            gate.set()
        await asyncio.gather(*searching)
