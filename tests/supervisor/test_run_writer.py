"""The clock of a log, and who writes it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest

from mobox.events import (
    Done,
    InputRequest,
    InputResponse,
    Paused,
    Raw,
    Start,
    Status,
    StreamEvent,
    Text,
    TextDelta,
)
from mobox.storage import Storage, open_storage
from mobox.storage.log import Run
from mobox.supervisor.run_writer import MOST_LINES, Clock, RunWriter
from supervisor.stage import submit

HELLO = b'{"type": "text", "data": {"content": "hello"}}\n'
PAUSED = b'{"type": "paused", "data": {"request_ids": ["r1"]}}\n'
REQUEST = b'{"type": "input_request", "data": {"id": "r1", "kind": "question"}}\n'
ANSWER = InputResponse(id="r1", decision="answered")


# Clock


def test_the_clock_begins_with_the_time_on_the_wall() -> None:
    before = time.time_ns() // 1_000_000
    now = Clock().now()
    assert before - 1 <= now <= time.time_ns() // 1_000_000 + 1


def test_the_clock_does_not_follow_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    monkeypatch.setattr(time, "monotonic", lambda: 50.0)
    clock = Clock()
    assert clock.now() == 1_000_000
    monkeypatch.setattr(time, "time", lambda: 10.0)
    monkeypatch.setattr(time, "monotonic", lambda: 50.25)
    assert clock.now() == 1_000_250


# Scribe


@pytest.fixture
async def store() -> AsyncIterator[Storage]:
    store = await open_storage("memory:")
    yield store
    await store.close()


async def begun(store: Storage) -> Run:
    return (await store.begin_turn("ann", submit(), "demo", "emitted")).run


async def events(store: Storage, run: Run) -> list[StreamEvent]:
    return [entry.event for entry in await store.read(run.id, 0, 100_000)]


async def test_many_lines_are_stored_in_pieces_and_none_is_lost(store: Storage) -> None:
    run = await begun(store)
    scribe = await RunWriter.take_up(store, run)
    scribe.listen()
    count = MOST_LINES + 1
    await scribe.read(HELLO * count)
    await scribe.finish_reading()
    said = [event for event in await events(store, run) if isinstance(event, TextDelta)]
    assert len(said) == count
    assert len(await store.raw_lines(run.id, 0, 2 * count)) == count


async def test_who_takes_up_a_log_goes_on_where_it_ends(store: Storage) -> None:
    run = await begun(store)
    first = await RunWriter.take_up(store, run)
    first.listen()
    await first.read(HELLO)
    second = await RunWriter.take_up(store, run)
    await second.end(Done(reason="lost"))
    told = [event.type for event in await events(store, run)]
    assert told == ["start", "text", "text_delta", "text_end", "done"]


async def test_a_second_process_repeats_no_id_of_the_first(store: Storage) -> None:
    run = await begun(store)
    scribe = await RunWriter.take_up(store, run)
    for _ in range(3):
        scribe.listen()
        await scribe.read(b"half a line that the next process does not end")
        await scribe.finish_reading()
        await scribe.read(HELLO)
        await scribe.write(Status(message="again"))
    texts = [event.id for event in await events(store, run) if isinstance(event, Text)]
    assert len(set(texts)) == len(texts) == 3


async def test_an_answer_is_unheard_until_the_agent_says_something_of_its_own(
    store: Storage,
) -> None:
    scribe = await RunWriter.take_up(store, await begun(store))
    scribe.listen()
    await scribe.read(REQUEST + PAUSED)
    assert (scribe.waiting, scribe.has_unread_answer) == (True, False)
    await scribe.write(ANSWER)
    assert (scribe.waiting, scribe.has_unread_answer) == (False, True)
    await scribe.read(b'{"type": "status", "data": {"message": "tidying up"}}\nnoise\n')
    assert scribe.has_unread_answer
    await scribe.read(b'{"type": "done", "data": {}}\n')
    assert not scribe.has_unread_answer


async def test_a_pause_for_an_answer_that_has_come_is_none_until_it_is_asked_again(
    store: Storage,
) -> None:
    run = await begun(store)
    scribe = await RunWriter.take_up(store, run)
    scribe.listen()
    await scribe.read(REQUEST)
    await scribe.write(ANSWER)
    await scribe.read(PAUSED)
    assert (await store.run("ann", run.id)).status == "running"
    await scribe.read(REQUEST + PAUSED)
    assert (await store.run("ann", run.id)).status == "waiting"
    told = await events(store, run)
    assert told == [
        Start(framework="emitted"),
        InputRequest(id="r1", kind="question"),
        ANSWER,
        Raw(raw=Paused(request_ids=("r1",)).as_json(), source="answered already"),
        InputRequest(id="r1", kind="question"),
        Paused(request_ids=("r1",)),
    ]


async def test_an_answer_while_the_process_exits_is_not_taken_for_a_pause(store: Storage) -> None:
    run = (await store.begin_turn("ann", submit(), "demo", "langchain")).run
    scribe = await RunWriter.take_up(store, run)
    scribe.listen()
    await scribe.read(b'["updates", {"__interrupt__": [{"id": "r1", "value": "Sure?"}]}]\n')
    assert scribe.waiting
    await scribe.write(ANSWER)
    await scribe.finish_reading()  # the parser repeats PAUSED at the end of a waiting run
    assert (scribe.waiting, scribe.has_unread_answer) == (False, True)
