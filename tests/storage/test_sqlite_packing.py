"""The rows of a log that was written line by line become few, and lose nothing."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from itertools import chain
from pathlib import Path

import pytest

from mobox.events import LogEntry, Raw, Status, StreamEvent
from mobox.storage import SqliteStorage
from mobox.storage.encoding import EVENTS_PER_ROW as PACKED
from mobox.storage.log import PAGE, RunId
from mobox.storage.sqlite.appends import boundary
from storage.conformance import DONE, begin, say, submit, words


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mobox.db"


def write(path: Path, *batches: list[StreamEvent]) -> tuple[RunId, list[LogEntry]]:
    """A run that was told in batches, and ended."""

    async def run() -> tuple[RunId, list[LogEntry]]:
        store = await SqliteStorage.open(path)
        run = await begin(store)
        said: list[list[StreamEvent]] = [*batches, [DONE]]
        written = [await say(store, run, *batch) for batch in said]
        await store.close()
        return run.id, [entry for entries in written for entry in entries]

    return asyncio.run(run())


def read(path: Path, run_id: RunId) -> list[list[LogEntry]]:
    async def run() -> list[list[LogEntry]]:
        store = await SqliteStorage.open(path)
        pages = [list(page) async for page in store.follow(run_id)]
        await store.close()
        return pages

    return asyncio.run(run())


def counts(path: Path) -> list[int]:
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT count FROM event ORDER BY last_seq").fetchall()
    database.close()
    return [count for (count,) in rows]


def single(count: int, text: str = "w") -> list[list[StreamEvent]]:
    return [words(text) for _ in range(count)]


def test_single_events_become_rows_of_many(path: Path) -> None:
    run_id, written = write(path, *single(2 * PACKED + 10))
    assert counts(path) == [PACKED, PACKED, *[1] * 11]
    assert [*chain.from_iterable(read(path, run_id))] == written


def test_a_batch_across_a_boundary_is_whole_in_the_row_after_it(path: Path) -> None:
    run_id, written = write(path, *single(PACKED - 1), words("a", "b"), *single(PACKED))
    assert counts(path) == [PACKED - 1, PACKED + 1, *[1] * 2]
    assert [*chain.from_iterable(read(path, run_id))] == written


def test_rows_that_are_few_already_are_left_alone(path: Path) -> None:
    run_id, written = write(path, *[words(*"abcdefgh" * 8)] * 8)
    assert counts(path) == [*[64] * 8, 1]
    assert [*chain.from_iterable(read(path, run_id))] == written


def test_rows_of_big_events_are_left_alone(path: Path) -> None:
    run_id, written = write(path, *single(PACKED, "long " * 200))
    assert counts(path) == [1] * (PACKED + 1)
    assert [*chain.from_iterable(read(path, run_id))] == written


def test_a_page_of_packed_rows_is_no_longer_than_others(path: Path) -> None:
    run_id, _ = write(path, *single(3 * PAGE))
    assert [len(page) for page in read(path, run_id)] == [PAGE, PAGE, PAGE, 1]


def test_events_of_another_version_are_raw_in_packed_rows_too(path: Path) -> None:
    strange: list[StreamEvent] = [Status(message="Thinking of you")]
    run_id, written = write(path, *single(9), strange, *single(PACKED - 10))
    with sqlite3.connect(path) as database:
        database.execute("UPDATE event SET events = replace(events, '\"status\"', '\"telepathy\"')")
    database.close()
    found = [entry for page in read(path, run_id) for entry in page]
    assert isinstance(found[9].event, Raw)
    assert found[:9] + found[10:] == written[:9] + written[10:]


def test_rewritten_row_is_still_json(path: Path) -> None:
    said = 'say "[],{}" \\ é'
    write(path, *single(PACKED, said))
    with sqlite3.connect(path) as database:
        ((events,),) = database.execute("SELECT events FROM event WHERE count > 1").fetchall()
    database.close()
    [deltas] = json.loads(events)
    assert deltas == {"type": "text_deltas", "id": "text_1", "deltas": [said] * PACKED}


def test_numbers_of_interleaved_runs_are_kept(path: Path) -> None:
    async def speak() -> list[tuple[RunId, list[LogEntry]]]:
        store = await SqliteStorage.open(path)
        runs = [await begin(store, submit(chat_id=name)) for name in ("one", "other")]
        written: dict[RunId, list[LogEntry]] = {run.id: [] for run in runs}
        for _ in range(PACKED):
            for run in runs:
                written[run.id] += await say(store, run, *words("w"))
        for run in runs:
            written[run.id] += await say(store, run, DONE)
        await store.close()
        return list(written.items())

    for run_id, written in asyncio.run(speak()):
        assert [*chain.from_iterable(read(path, run_id))] == written


def test_a_log_is_packed_only_when_it_has_passed_a_boundary_step_by_step() -> None:
    assert boundary(0, PACKED - 1) is None
    assert boundary(PACKED - 1, PACKED) == PACKED
    assert boundary(PACKED - 1, PACKED + 3) == PACKED
    assert boundary(PACKED, PACKED + 1) is None
    assert boundary(0, 3 * PACKED) is None  # rows of a long append are long
