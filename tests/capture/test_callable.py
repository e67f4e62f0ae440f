"""A function at work, without a run around it: what it says waits to be read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from mobox import emit
from mobox.capture.callable import MOST_HELD, CallableExecution
from mobox.capture.catalog import agent
from mobox.capture.execution import Execution
from mobox.emitter import emit_text
from mobox.events import Status
from mobox.events.turn import Turn
from support.waiting import until

MANY = 1000
WORDS = "x" * 1000
ENOUGH = MOST_HELD // len(json.dumps(emit.text(WORDS))) + 1
A_WHILE = 5000
"""Turns of the event loop in which one that nobody holds back says far more than it may."""

said: list[int] = []


async def speaks() -> AsyncIterator[str]:
    for number in range(MANY):
        said.append(number)
        yield WORDS


def speaks_in_a_thread() -> Iterator[str]:
    for number in range(MANY):
        said.append(number)
        yield WORDS


def emits_in_a_thread() -> None:
    for number in range(MANY):
        said.append(number)
        emit_text(WORDS)


def at_work(function: Callable[..., object]) -> Execution:
    return CallableExecution(agent("it")(function), Path("unused"), Turn())


@pytest.mark.parametrize("function", [speaks, speaks_in_a_thread, emits_in_a_thread])
async def test_unread_agent_is_blocked(function: Callable[..., object]) -> None:
    said.clear()
    async with at_work(function) as execution:
        await until(lambda: len(said) >= ENOUGH)
        for _ in range(A_WHILE):
            await asyncio.sleep(0)
        assert len(said) <= ENOUGH + 1
        read = b""
        while data := await execution.read():
            assert len(data) < 2 * MOST_HELD
            read += data
        assert (await execution.outcome()).exit_code == 0
        *lines, last = map(json.loads, read.splitlines())
    assert [line["data"]["content"] for line in lines] == [WORDS] * MANY
    assert last == emit.done()


async def test_a_read_may_be_cancelled_and_nothing_is_lost() -> None:
    go_on = asyncio.Event()

    async def waits() -> str:
        await go_on.wait()
        return "here"

    async with at_work(waits) as execution:
        reading = asyncio.create_task(execution.read())
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        go_on.set()
        assert json.loads((await execution.read()).splitlines()[0]) == emit.text("here")


async def test_each_kind_of_return_value_is_emitted() -> None:
    class Odd:
        def __repr__(self) -> str:
            return "odd"

    things = ["words", Status(message="busy", id="s"), emit.status("idle"), {"any": Odd()}, 7]
    async with at_work(lambda: things) as execution:
        read = b""
        while data := await execution.read():
            read += data
        *lines, _ = map(json.loads, read.splitlines())
    assert lines == [
        {"type": "text", "data": {"content": "words"}},
        {"type": "status", "data": {"message": "busy", "id": "s"}},
        {"type": "status", "data": {"message": "idle"}},
        {"any": "odd"},
        7,
    ]


async def test_leaving_ends_it() -> None:
    seen: list[str] = []

    async def waits() -> AsyncIterator[str]:
        try:
            seen.append("begun")
            yield "I wait"
            await asyncio.Event().wait()
        finally:
            seen.append("ended")

    async with at_work(waits) as execution:
        await execution.read()
    assert (await execution.outcome()).stopped
    assert seen == ["begun", "ended"]


async def test_iterated_source_is_closed() -> None:
    class Stream:
        """As an SDK's: an async iterator that is closed by hand."""

        def __init__(self) -> None:
            self.closed = False

        def __aiter__(self) -> Stream:
            return self

        async def __anext__(self) -> str:
            return "more"

        async def close(self) -> None:
            self.closed = True

    stream = Stream()
    async with at_work(lambda: stream) as execution:
        await execution.read()
    assert stream.closed


def test_a_line_knows_what_it_opens() -> None:
    assert emit.tool_use("look_up", id="c1").id == "c1"
    assert emit.step_start("plan").id.startswith("step_")
    assert emit.text("words").id == ""
