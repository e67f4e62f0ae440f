"""Agents that are functions: run by a supervisor, into a real store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from mobox import emit
from mobox.capture.asking import Turn
from mobox.capture.catalog import FunctionAgent, agent
from mobox.emitter import emit_text
from mobox.errors import AgentTaken, InvalidAgent
from mobox.events import (
    Raw,
    Start,
    Status,
    TextDelta,
    ToolResult,
    ToolUseEnd,
    Usage,
)
from mobox.events.turn import PromptText
from mobox.events.turn import Turn as Request
from supervisor.functions import lived
from supervisor.stage import (
    both_stores,
    reason_of,
    staged,
    submit,
    text_of,
)

# What it may be


async def async_generator(turn: Turn) -> AsyncIterator[str]:
    yield "You said "
    yield turn.prompt


def generator(turn: Turn) -> Iterator[str]:
    yield "You said "
    yield turn.prompt


async def coroutine(turn: Turn) -> str:
    return f"You said {turn.prompt}"


def function(turn: Turn) -> str:
    return f"You said {turn.prompt}"


def function_of_a_list(turn: Turn) -> list[str]:
    return ["You said ", turn.prompt]


def function_of_an_async_iterator(turn: Turn) -> AsyncIterator[str]:
    return async_generator(turn)


async def coroutine_of_an_async_iterator(turn: Turn) -> AsyncIterator[str]:
    return async_generator(turn)


async def coroutine_of_a_generator(turn: Turn) -> Iterator[str]:
    return generator(turn)


def without_an_argument() -> str:
    return "You said hello"


class WithCall:
    async def __call__(self, turn: Turn) -> str:
        return f"You said {turn.prompt}"


KINDS: list[Callable[..., object]] = [
    async_generator, generator, coroutine, function, function_of_a_list,
    function_of_an_async_iterator, coroutine_of_an_async_iterator, coroutine_of_a_generator,
    without_an_argument, WithCall(), lambda turn: f"You said {turn.prompt}",
]  # fmt: skip


@both_stores
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: getattr(kind, "__name__", "object"))
def test_whatever_gives_words_is_an_agent(
    tmp_path: Path, kind: Callable[..., object], store: str
) -> None:
    events = lived(tmp_path, kind, store=store)
    assert text_of(events) == "You said hello"
    assert reason_of(events) == "stop"
    assert isinstance(events[0], Start)
    assert not any(isinstance(event, Status) for event in events)


def test_an_agent_that_says_nothing_has_ended_all_the_same(tmp_path: Path) -> None:
    events = lived(tmp_path, lambda: None)
    assert (text_of(events), reason_of(events)) == ("", "stop")


@pytest.mark.parametrize(("said", "reason"), [("max_turns", "max_turns"), ("refusal", "refusal")])
def test_it_may_say_itself_how_it_ends(tmp_path: Path, said: str, reason: str) -> None:
    events = lived(tmp_path, lambda: [emit.text("Enough."), emit.done(reason=said)])
    assert reason_of(events) == reason


# What it may say


class Delta(BaseModel):
    content: str | None = None


class AgentSelection(BaseModel):
    index: int = 0
    delta: Delta
    finish_reason: str | None = None


class Chunk(BaseModel):
    """As the SDK of OpenAI has it."""

    id: str = "chatcmpl-1"
    object: str = "chat.completion.chunk"
    model: str = "gpt"
    choices: list[AgentSelection] = []
    usage: dict[str, int] | None = None


async def openai_stream() -> AsyncIterator[Chunk]:
    for word in ("It is ", "21C."):
        yield Chunk(choices=[AgentSelection(delta=Delta(content=word))])
    yield Chunk(choices=[AgentSelection(delta=Delta(), finish_reason="stop")])
    yield Chunk(usage={"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5})


def test_objects_of_an_sdk_are_read_by_its_parser(tmp_path: Path) -> None:
    events = lived(tmp_path, openai_stream, "openai")
    assert text_of(events) == "It is 21C."
    (usage,) = [event for event in events if isinstance(event, Usage)]
    assert (usage.input, usage.output) == (3, 2)
    assert not [event for event in events if isinstance(event, Raw)]


async def mixed_up(turn: Turn) -> AsyncIterator[object]:
    call = emit.tool_use("look_up", {"city": "Lisbon"})
    yield call
    yield emit.tool_result(call.id, "21C")
    async for chunk in openai_stream():
        yield chunk
    yield TextDelta(delta=" Enjoy!")
    yield emit.custom("weather", {"degrees": 21})


def test_lines_and_events_stand_among_an_sdks_objects(tmp_path: Path) -> None:
    events = lived(tmp_path, mixed_up, "openai")
    assert text_of(events) == "It is 21C. Enjoy!"
    (call,) = [event for event in events if isinstance(event, ToolUseEnd)]
    (result,) = [event for event in events if isinstance(event, ToolResult)]
    assert (call.input, result.id, result.output) == ({"city": "Lisbon"}, call.id, "21C")


async def speaks_by_the_way(turn: Turn) -> AsyncIterator[str]:
    emit_text("1")
    yield "2"
    await asyncio.to_thread(emit_text, "3")
    emit_text("4")
    yield "5"


def speaks_by_the_way_in_a_thread(turn: Turn) -> Iterator[str]:
    emit_text("1")
    yield "2"
    emit_text("3")
    emit_text("4")
    yield "5"


@pytest.mark.parametrize("kind", [speaks_by_the_way, speaks_by_the_way_in_a_thread])
def test_what_is_emitted_by_the_way_keeps_its_place(
    tmp_path: Path, kind: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert text_of(lived(tmp_path, kind)) == "12345"
    assert capsys.readouterr().out == ""


async def test_two_runs_at_once_do_not_hear_each_other(tmp_path: Path) -> None:
    meeting = threading.Barrier(2, timeout=60)

    def says(turn: Turn) -> Iterator[str]:
        for word in turn.prompt.split():
            meeting.wait()
            emit_text(f"{word},")
            yield ""

    async with staged(tmp_path, agent("it")(says)) as stage:
        one = await stage.begin(submit("a b c", chat_id="one"))
        two = await stage.begin(submit("x y z", chat_id="two"))
        assert [text_of(await stage.until_it_ends(each)) for each in (one, two)] == [
            "a,b,c,",
            "x,y,z,",
        ]


# What it knows


async def test_it_knows_the_chat_and_has_a_folder_for_it(tmp_path: Path) -> None:
    def counts(turn: Turn) -> str:
        note = turn.folder / "count"
        count = int(note.read_text()) + 1 if note.exists() else 1
        note.write_text(str(count))
        return f"{count}: {[message['content'] for message in turn.messages()]}"

    async with staged(tmp_path, agent("it")(counts)) as stage:
        runs = [await stage.begin(submit("a"))]
        await stage.until_it_ends(runs[0])
        runs.append(await stage.begin(submit("b", "m2")))
        assert [text_of(await stage.until_it_ends(each)) for each in runs] == [
            "1: ['a']",
            "2: ['a', \"1: ['a']\", 'b']",
        ]


# Its declaration


def test_it_can_still_be_called() -> None:
    @agent("doubler", description="Doubles.")
    def double(turn: Turn) -> str:
        return turn.prompt * 2

    assert isinstance(double, FunctionAgent)
    assert (double.id, double.name, double.description) == ("doubler", "doubler", "Doubles.")
    assert double(Turn(Request(prompt=(PromptText(text="ab"),)), Path(), print)) == "abab"


def test_its_first_line_describes_it() -> None:
    assert agent("it")(async_generator).description == ""

    @agent("it")
    def documented() -> None:
        """Does a thing.

        And more.
        """

    assert documented.description == "Does a thing."


@pytest.mark.parametrize(
    ("options", "function", "problem"),
    [
        ({"agent_id": "No Name"}, coroutine, "id: cannot be 'No Name'"),
        ({"agent_id": "it", "framework": "no"}, coroutine, "framework: unknown framework 'no'"),
        ({"agent_id": "it", "idle": 0}, coroutine, "timeouts: "),
        ({"agent_id": "it"}, lambda a, b: None, "expected one argument, the turn, or none: (a, b)"),
        ({"agent_id": "it"}, lambda *, a: None, "expected one argument, the turn, or none: (*, a)"),
    ],
)
def test_what_is_wrong_with_it_is_told_where_it_stands(
    options: dict[str, Any], function: Callable[..., object], problem: str
) -> None:
    with pytest.raises(InvalidAgent) as told:
        agent(**options)(function)
    line = function.__code__.co_firstlineno
    assert str(told.value).startswith(f"{__file__}:{line}: {problem}")


async def test_two_agents_cannot_have_the_same_id(tmp_path: Path) -> None:
    made = agent("it")(coroutine)
    with pytest.raises(AgentTaken):
        async with staged(tmp_path, made, made):
            pass
