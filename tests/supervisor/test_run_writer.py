"""The clock of a log, and who writes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
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
    ToolUseStart,
)
from mobox.events.turn import Answer, Frontend, FrontendTool
from mobox.storage import Storage, open_storage
from mobox.storage.log import Run
from mobox.supervisor.run_writer import MOST_LINES, OWN_ANSWER, Clock, RunWriter
from supervisor.stage import submit
from support.grammar_log import legal_log
from support.recordings import RECORDINGS, name_of, recorded_log

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


async def begun(store: Storage, framework: str = "emitted") -> Run:
    return (await store.begin_turn("ann", submit(), "demo", framework)).run


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


async def test_call_of_a_tool_that_the_page_declares_is_marked(store: Storage) -> None:
    run = await begun(store)
    writer = await RunWriter.take_up(store, run)
    writer.listen()
    calls = ({"name": "locate"}, {"name": "search"}, {"name": "locate", "server": True})
    lines = [{"type": "tool_use", "data": call} for call in calls]
    writer.set_frontend(Frontend(tools=(FrontendTool(name="locate"),)))
    writer.set_frontend(None)  # an answer that comes from no page
    await writer.read(msgspec.json.Encoder().encode_lines(lines))
    started = [event for event in await events(store, run) if isinstance(event, ToolUseStart)]
    assert [(call.name, call.frontend) for call in started] == [
        ("locate", True),
        ("search", False),
        ("locate", False),
    ]


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


# Answers in the output of an agent

SELF_ANSWERED = [
    recording
    for recording in RECORDINGS
    if any(isinstance(entry.event, InputResponse) for entry in recorded_log(recording))
]
"""The recordings of all frameworks in which an agent's output has an answer."""


async def written(store: Storage, framework: str, *lines: bytes) -> list[StreamEvent]:
    """The log that an agent's output becomes."""
    run = await begun(store, framework)
    writer = await RunWriter.take_up(store, run)
    writer.listen()
    for line in lines:
        await writer.read(line)
    await writer.finish_reading()
    await writer.end(None)
    return await events(store, run)


@pytest.mark.parametrize("recording", SELF_ANSWERED, ids=name_of)
async def test_an_answer_in_the_output_of_an_agent_is_none(store: Storage, recording: Path) -> None:
    output = await asyncio.to_thread(recording.read_bytes)
    log = await written(store, recording.parent.name, output)
    assert {e.decision for e in log if isinstance(e, InputResponse)} <= {"cancelled"}
    assert OWN_ANSWER in {e.source for e in log if isinstance(e, Raw)}
    legal_log(log)


def test_answers_are_recorded_in_the_formats_that_have_some() -> None:
    formats = {recording.parent.name for recording in SELF_ANSWERED}
    assert formats >= {"emitted", "adk", "openai-agents"}


@pytest.mark.parametrize("decision", ["approved", "edited", "answered"])
async def test_a_request_stays_open_when_the_agent_answers_it(
    store: Storage, decision: str
) -> None:
    own = {"id": "r1", "decision": decision, "value": 7, "permission": "p", "automatic": True}
    answer = msgspec.json.encode({"type": "input_response", "data": own}) + b"\n"
    run = await begun(store)
    writer = await RunWriter.take_up(store, run)
    writer.listen()
    for line in (answer, REQUEST, answer, PAUSED, answer):
        await writer.read(line)
    assert writer.waiting
    assert [request.id for request in writer.input_requests.pending] == ["r1"]
    assert writer.input_requests.answers == writer.input_requests.earlier_answers == ()
    assert await store.granted(run.id) == []


@pytest.mark.parametrize("decision", ["denied", "cancelled"])
async def test_an_agent_can_withdraw_its_request(store: Storage, decision: str) -> None:
    own = {"id": "r1", "decision": decision, "permission": "p", "automatic": True}
    answer = msgspec.json.encode({"type": "input_response", "data": own}) + b"\n"
    log = await written(store, "emitted", REQUEST, PAUSED, answer)
    assert [event for event in log if isinstance(event, InputResponse)] == [
        InputResponse(id="r1", decision="cancelled")
    ]


async def test_an_agent_cannot_change_the_answer_of_a_person(store: Storage) -> None:
    run = await begun(store)
    writer = await RunWriter.take_up(store, run)
    writer.listen()
    await writer.read(REQUEST + PAUSED)
    await writer.answer([Answer(decision="denied", request_id="r1")])
    await writer.read(b'{"type": "input_response", "data": {"id": "r1", "decision": "approved"}}\n')
    again = await RunWriter.take_up(store, run)
    assert [answer.decision for answer in again.input_requests.answers] == ["denied"]
