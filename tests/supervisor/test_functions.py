"""Agents that are functions: run by a supervisor, into a real store."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from mobox import emit
from mobox.capture.asking import Question, Turn
from mobox.capture.process import Patience
from mobox.emitter import emit_status, emit_text
from mobox.errors import AgentError, AgentTaken, InvalidAgent, WouldBlock
from mobox.events import (
    InputResponse,
    Raw,
    Start,
    Status,
    StreamEvent,
    TextDelta,
    ToolResult,
    ToolUseEnd,
    Usage,
)
from mobox.function_agents import FunctionAgent, agent
from mobox.storage.log import Run
from mobox.turn import Answer, PromptText
from mobox.turn import Turn as Request
from supervisor.stage import (
    IMPATIENT,
    QUIET,
    Stage,
    approved,
    both_stores,
    error_of,
    pauses_in,
    reason_of,
    requests_in,
    run,
    staged,
    submit,
    text_of,
    until,
    url_of,
)

Events = list[StreamEvent]
AT_ONCE = Patience(message=0.01, term=0.01, kill=0.01)


def lived(
    folder: Path,
    function: Callable[..., object],
    framework: str = "emitted",
    store: str = "memory",
) -> Events:
    """The log of a run of this function, from its beginning to its end."""

    async def scenario() -> Events:
        made = agent("it", framework=framework)(function)
        async with staged(folder, made, url=url_of(store, folder)) as stage:
            return await stage.until_it_ends(await stage.begin())

    return run(scenario())


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
    assert [type(event) for event in events[:2]] == [Start, Status]
    assert [event.message for event in events if isinstance(event, Status)] == ["Starting it"]


def test_an_agent_that_says_nothing_has_ended_all_the_same(tmp_path: Path) -> None:
    events = lived(tmp_path, lambda: None)
    assert (text_of(events), reason_of(events)) == ("", "stop")


@pytest.mark.parametrize(("said", "reason"), [("max_turns", "max_turns"), ("refusal", "refusal")])
def test_it_may_say_itself_how_it_ends(tmp_path: Path, said: str, reason: str) -> None:
    events = lived(tmp_path, lambda: [emit.text("Enough."), emit.done(reason=said)])
    assert reason_of(events) == reason


def test_one_that_pauses_may_leave_and_go_on_later(tmp_path: Path) -> None:
    def pauses(turn: Turn) -> Iterator[object]:
        if turn.answers:
            yield f"{turn.answers[0]['value']}, {turn.resume}"
            return
        request = emit.input_request("question", prompt="Where?")
        yield request
        yield emit.paused(request.id, resume="as I said")

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(pauses)) as stage:
            begun = await stage.begin()
            (request,) = requests_in(await stage.until_it_waits(begun))
            await stage.until_nothing_runs()
            return await stage.answered(begun, answer(request or "", "here"))

    assert text_of(run(scenario())) == "here, as I said"


# What it may say


class Delta(BaseModel):
    content: str | None = None


class Choice(BaseModel):
    index: int = 0
    delta: Delta
    finish_reason: str | None = None


class Chunk(BaseModel):
    """As the SDK of OpenAI has it."""

    id: str = "chatcmpl-1"
    object: str = "chat.completion.chunk"
    model: str = "gpt"
    choices: list[Choice] = []
    usage: dict[str, int] | None = None


async def openai_stream() -> AsyncIterator[Chunk]:
    for word in ("It is ", "21C."):
        yield Chunk(choices=[Choice(delta=Delta(content=word))])
    yield Chunk(choices=[Choice(delta=Delta(), finish_reason="stop")])
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


def test_two_runs_at_once_do_not_hear_each_other(tmp_path: Path) -> None:
    meeting = threading.Barrier(2, timeout=60)

    def says(turn: Turn) -> Iterator[str]:
        for word in turn.prompt.split():
            meeting.wait()
            emit_text(f"{word},")
            yield ""

    async def scenario() -> list[str]:
        async with staged(tmp_path, agent("it")(says)) as stage:
            one = await stage.begin(submit("a b c", chat_id="one"))
            two = await stage.begin(submit("x y z", chat_id="two"))
            return [text_of(await stage.until_it_ends(each)) for each in (one, two)]

    assert run(scenario()) == ["a,b,c,", "x,y,z,"]


# What it knows


def test_it_knows_the_chat_and_has_a_folder_for_it(tmp_path: Path) -> None:
    def counts(turn: Turn) -> str:
        note = turn.folder / "count"
        count = int(note.read_text()) + 1 if note.exists() else 1
        note.write_text(str(count))
        return f"{count}: {[message['content'] for message in turn.messages()]}"

    async def scenario() -> list[str]:
        async with staged(tmp_path, agent("it")(counts)) as stage:
            runs = [await stage.begin(submit("a"))]
            await stage.until_it_ends(runs[0])
            runs.append(await stage.begin(submit("b", "m2")))
            return [text_of(await stage.until_it_ends(each)) for each in runs]

    assert run(scenario()) == ["1: ['a']", "2: ['a', \"1: ['a']\", 'b']"]


# How it fails


def fails(turn: Turn) -> Iterator[str]:
    yield "I begin"
    raise ValueError(f"no such city: {turn.prompt}")


async def fails_async(turn: Turn) -> AsyncIterator[str]:
    for word in fails(turn):
        yield word


@both_stores
@pytest.mark.parametrize("kind", [fails, fails_async])
def test_what_it_raises_is_the_runs_error(
    tmp_path: Path, kind: Callable[..., object], store: str
) -> None:
    events = lived(tmp_path, kind, store=store)
    error = error_of(events)
    assert (error.message, error.code) == ("The agent failed (ValueError).", "ValueError")
    assert (text_of(events), reason_of(events)) == ("I begin", "error")
    assert error.stderr_tail is None


def test_what_is_meant_for_people_is_told_to_them(tmp_path: Path) -> None:
    def refuses() -> None:
        raise AgentError("There is no such city.")

    error = error_of(lived(tmp_path, refuses))
    assert (error.message, error.code) == ("There is no such city.", "AgentError")


def test_what_it_raised_is_kept_where_a_process_has_its_stderr(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> str:
        async with staged(tmp_path, agent("it")(fails)) as stage:
            begun = await stage.begin()
            await stage.until_it_ends(begun)
            await stage.until_nothing_runs()
            return (await stage.supervisor.stderr_of("ann", begun.id))[1]

    trace = run(scenario())
    assert trace.startswith("Traceback")
    assert trace.splitlines()[1].split(",")[0] == f'  File "{__file__}"'  # nothing of ours
    assert trace.rstrip().endswith("ValueError: no such city: hello")
    assert "no such city: hello" in caplog.text


@pytest.mark.parametrize("code", [0, 3, "enough"])
@pytest.mark.parametrize("is_async", [True, False])
def test_it_cannot_end_the_program(tmp_path: Path, code: int | str, is_async: bool) -> None:
    async def leaves_async() -> None:
        sys.exit(code)

    def leaves() -> None:
        sys.exit(code)

    events = lived(tmp_path, leaves_async if is_async else leaves)
    assert reason_of(events) == ("error" if code else "stop")
    if code:
        assert error_of(events).message == f"the agent exited: {code}"


def test_one_that_cancels_itself_has_failed(tmp_path: Path) -> None:
    async def cancels() -> None:
        raise asyncio.CancelledError

    events = lived(tmp_path, cancels)
    assert (reason_of(events), error_of(events).code) == ("error", "CancelledError")


# How it is stopped


async def stopped(stage: Stage, begun: Run, said: str) -> Events:
    """Stop a run once it has said this."""
    text = ""
    async for batch in stage.store.follow(begun.id):
        text += text_of([entry.event for entry in batch])
        if text == said:
            break
    await stage.supervisor.stop("ann", begun.id)
    return await stage.until_it_ends(begun)


def test_to_be_stopped_is_to_be_cancelled(tmp_path: Path) -> None:
    seen = []

    async def waits() -> AsyncIterator[str]:
        try:
            yield "I wait"
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            seen.append("closed")

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(waits)) as stage:
            return await stopped(stage, await stage.begin(), "I wait")

    assert reason_of(run(scenario())) == "cancelled"
    assert seen == ["cancelled", "closed"]


def test_in_a_thread_it_is_closed_at_its_next_yield(tmp_path: Path) -> None:
    seen: list[str] = []

    def works(turn: Turn) -> Iterator[str]:
        try:
            yield "I work"
            while not turn.stopping:
                time.sleep(0.005)
            seen.append("saw it")
            yield "and work"
            seen.append("went on")
        finally:
            seen.append("closed")

    patient = Patience(message=60, term=60, kill=60)

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(works), patience=patient) as stage:
            return await stopped(stage, await stage.begin(), "I work")

    assert reason_of(run(scenario())) == "cancelled"
    assert seen == ["saw it", "closed"]


def test_one_that_never_yields_is_left_alone_and_not_heard(tmp_path: Path) -> None:
    go_on, left = threading.Event(), threading.Event()

    def never_yields() -> Iterator[str]:
        yield "I work"
        try:
            go_on.wait(60)
            emit_status("still here")
            yield "nobody hears this"
        finally:
            left.set()

    async def scenario() -> tuple[Events, Events]:
        async with staged(tmp_path, agent("it")(never_yields), patience=AT_ONCE) as stage:
            begun = await stage.begin()
            events = await stopped(stage, begun, "I work")
            await stage.until_nothing_runs()
            go_on.set()
            await until(left.is_set)
            return events, await stage.events(begun)

    ended, afterwards = run(scenario())
    assert reason_of(ended) == "cancelled"
    assert ended == afterwards


def test_one_that_will_not_be_cancelled_is_left_alone_too(tmp_path: Path) -> None:
    async def scenario() -> tuple[Events, Events]:
        go_on = asyncio.Event()

        async def deaf() -> AsyncIterator[str]:
            yield "I work"
            while not go_on.is_set():
                try:
                    await go_on.wait()
                except asyncio.CancelledError:
                    continue
            yield "nobody hears this"

        async with staged(tmp_path, agent("it")(deaf), patience=AT_ONCE) as stage:
            begun = await stage.begin()
            events = await stopped(stage, begun, "I work")
            others = asyncio.all_tasks()
            go_on.set()
            await until(lambda: len(asyncio.all_tasks()) < len(others))
            return events, await stage.events(begun)

    ended, afterwards = run(scenario())
    assert reason_of(ended) == "cancelled"
    assert ended == afterwards


def test_it_has_its_time_and_no_more(tmp_path: Path) -> None:
    go_on = threading.Event()

    def sleeps() -> None:
        go_on.wait(60)

    async def scenario() -> Events:
        made = agent("it", idle=0.05)(sleeps)
        async with staged(tmp_path, made, patience=AT_ONCE) as stage:
            return await stage.until_it_ends(await stage.begin())

    events = run(scenario())
    go_on.set()
    assert (reason_of(events), error_of(events).code) == ("error", "idle_timeout")


def test_a_server_that_ends_does_not_wait_for_it(tmp_path: Path) -> None:
    go_on = threading.Event()

    def sleeps() -> None:
        go_on.wait(60)

    slow = Patience(message=600, term=600, kill=600)
    hasty = type(QUIET)(look=3600, sweep=3600, drain=0.01)

    async def scenario() -> Events:
        made = agent("it")(sleeps)
        async with staged(tmp_path, made, patience=slow, limits=hasty) as stage:
            begun = await stage.begin()
            await stage.supervisor.close()
            return await stage.until_it_ends(begun)

    assert reason_of(run(scenario())) == "interrupted"
    go_on.set()


# Asking


def answer(request_id: str, value: str) -> Answer:
    return Answer(request_id=request_id, decision="answered", value=value)


async def asks(turn: Turn) -> AsyncIterator[str]:
    yield "Hm. "
    told = await turn.ask("Which city?", id="city", options=["Lisbon", "Porto"])
    yield f"{told.value} it is."


def asks_in_a_thread(turn: Turn) -> Iterator[str]:
    yield "Hm. "
    told = turn.ask("Which city?", id="city", options=["Lisbon", "Porto"]).result()
    yield f"{told.value} it is."


@both_stores
@pytest.mark.parametrize("kind", [asks, asks_in_a_thread])
def test_a_person_answers_while_it_waits(
    tmp_path: Path, kind: Callable[..., object], store: str
) -> None:
    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(kind), url=url_of(store, tmp_path)) as stage:
            begun = await stage.begin()
            assert pauses_in(await stage.until_it_waits(begun)) == [("city",)]
            return await stage.answered(begun, answer("city", "Porto"))

    events = run(scenario())
    assert (text_of(events), reason_of(events)) == ("Hm. Porto it is.", "stop")


@both_stores
@pytest.mark.parametrize("kind", [asks, asks_in_a_thread])
def test_an_answer_that_comes_later_is_given_to_the_next_execution(
    tmp_path: Path, kind: Callable[..., object], store: str
) -> None:
    async def scenario() -> Events:
        url = url_of(store, tmp_path)
        async with staged(tmp_path, agent("it")(kind), url=url, limits=IMPATIENT) as stage:
            begun = await stage.begin()
            await stage.until_it_waits(begun)
            await stage.until_nothing_runs()
            return await stage.answered(begun, answer("city", "Porto"))

    events = run(scenario())
    assert text_of(events) == "Hm. Hm. Porto it is."
    assert requests_in(events) == ["city"]


def test_questions_that_are_asked_together_are_waited_for_together(tmp_path: Path) -> None:
    async def asks_two(turn: Turn) -> str:
        two = turn.ask("Where?", id="where"), turn.ask("When?", id="when")
        where, when = [await question for question in two]
        return f"{where.value}, {when.value}"

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(asks_two)) as stage:
            begun = await stage.begin()
            async for batch in stage.store.follow(begun.id):
                if pauses_in([entry.event for entry in batch])[-1:] == [("where", "when")]:
                    break
            await stage.supervisor.answer("ann", begun.id, (answer("when", "now"),))
            return await stage.answered(begun, answer("where", "here"))

    assert text_of(run(scenario())) == "here, now"


@both_stores
@pytest.mark.parametrize("framework", ["emitted", "openai"])
@pytest.mark.parametrize("is_async", [True, False])
def test_one_that_says_nothing_after_an_answer_has_heard_it(
    tmp_path: Path, is_async: bool, framework: str, store: str
) -> None:
    paid: list[object] = []

    async def pays(turn: Turn) -> None:
        paid.append((await turn.ask("Pay?", id="pay")).value)

    def pays_in_a_thread(turn: Turn) -> None:
        paid.append(turn.ask("Pay?", id="pay").result().value)

    async def scenario() -> Events:
        made = agent("it", framework=framework)(pays if is_async else pays_in_a_thread)
        async with staged(tmp_path, made, url=url_of(store, tmp_path)) as stage:
            begun = await stage.begin()
            await stage.until_it_waits(begun)
            return await stage.answered(begun, answer("pay", "yes"))

    events = run(scenario())
    assert paid == ["yes"]
    assert reason_of(events) == ("stop" if framework == "emitted" else "truncated")


def test_an_answer_that_it_did_not_wait_for_comes_to_the_next_execution(tmp_path: Path) -> None:
    async def leaves(turn: Turn) -> str | None:
        asked = turn.ask("Where?", id="where")
        return f"{(await asked).value}." if turn.answers else None

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(leaves)) as stage:
            begun = await stage.begin()
            await stage.until_it_waits(begun)
            return await stage.answered(begun, answer("where", "here"))

    assert text_of(run(scenario())) == "here."


async def asks_and_speaks(turn: Turn) -> AsyncIterator[str]:
    asked = turn.ask("Which city?", id="city")
    yield "While you think: "
    yield f"{(await asked).value} it is."


def asks_and_speaks_in_a_thread(turn: Turn) -> Iterator[str]:
    asked = turn.ask("Which city?", id="city")
    yield "While you think: "
    yield f"{asked.result().value} it is."


@pytest.mark.parametrize("kind", [asks_and_speaks, asks_and_speaks_in_a_thread])
def test_a_run_waits_from_when_the_function_does(
    tmp_path: Path, kind: Callable[..., object]
) -> None:
    async def scenario() -> tuple[Events, Events]:
        async with staged(tmp_path, agent("it")(kind)) as stage:
            begun = await stage.begin()
            asked = await stage.until_it_waits(begun)
            return asked, await stage.answered(begun, answer("city", "Porto"))

    asked, events = run(scenario())
    assert (text_of(asked), pauses_in(asked)) == ("While you think: ", [("city",)])
    assert text_of(events) == "While you think: Porto it is."


def test_to_wait_for_two_at_once_is_to_wait_once(tmp_path: Path) -> None:
    async def asks_two(turn: Turn) -> str:
        two = turn.ask("Where?", id="where"), turn.ask("When?", id="when")
        where, when = await asyncio.gather(*two)
        return f"{where.value}, {when.value}"

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(asks_two)) as stage:
            begun = await stage.begin()
            await stage.until_it_waits(begun)
            return await stage.answered(begun, answer("where", "here"), answer("when", "now"))

    events = run(scenario())
    assert pauses_in(events) == [("where", "when")]
    assert text_of(events) == "here, now"


def test_an_approval_is_asked_for_a_tool_call(tmp_path: Path) -> None:
    async def careful(turn: Turn) -> AsyncIterator[object]:
        call = emit.tool_use("delete", {"path": "/tmp/x"})
        yield call
        allowed = (await turn.approve(call.id, id="r1")).approved
        yield emit.tool_result(call.id, "gone" if allowed else "kept")

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(careful)) as stage:
            begun = await stage.begin()
            await stage.until_it_waits(begun)
            return await stage.answered(begun)

    (result,) = [event for event in run(scenario()) if isinstance(event, ToolResult)]
    assert result.output == "gone"


def results_in(events: Events) -> list[tuple[str | None, object]]:
    return [(event.id, event.output) for event in events if isinstance(event, ToolResult)]


async def answered_later(stage: Stage, begun: Run, *answers: Answer) -> None:
    """Answer a run whose function has gone by then."""
    await stage.until_it_waits(begun)
    await stage.until_nothing_runs()
    await stage.supervisor.answer("ann", begun.id, answers)


@both_stores
@pytest.mark.parametrize("name", [{}, {"id": "book"}])
def test_the_call_that_was_approved_is_the_one_that_is_carried_out(
    tmp_path: Path, name: dict[str, str], store: str
) -> None:
    async def books(turn: Turn) -> AsyncIterator[object]:
        call = emit.tool_use("book", {"city": "Porto", "nights": 2})
        allowed = await turn.approve(call, "Shall I?", **name)
        yield emit.tool_result(call.id, allowed.approved)
        sure = await turn.ask("Sure?", id="sure")
        yield f"{sure.value}."

    async def scenario() -> Events:
        url = url_of(store, tmp_path)
        async with staged(tmp_path, agent("it")(books), url=url, limits=IMPATIENT) as stage:
            begun = await stage.begin()
            (request,) = requests_in(await stage.until_it_waits(begun))
            await answered_later(stage, begun, *approved(request or ""))
            await until_it_asks(stage, begun, "sure")
            await stage.until_nothing_runs()
            return await stage.answered(begun, answer("sure", "yes"))

    events = run(scenario())
    (call,) = [event for event in events if isinstance(event, ToolUseEnd)]
    assert set(results_in(events)) == {(call.id, True)}
    assert text_of(events) == "yes."


async def until_it_asks(stage: Stage, begun: Run, request_id: str) -> None:
    async for batch in stage.store.follow(begun.id):
        if (request_id,) in pauses_in([entry.event for entry in batch]):
            return


def test_an_approval_is_of_no_other_arguments(tmp_path: Path) -> None:
    cities = iter(["Porto", "Lisbon"])

    async def books(turn: Turn) -> AsyncIterator[object]:
        call = emit.tool_use("book", {"city": next(cities)})
        allowed = await turn.approve(call, id="book")
        yield emit.tool_result(call.id, allowed.approved)

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(books), limits=IMPATIENT) as stage:
            begun = await stage.begin()
            await answered_later(stage, begun, *approved("book"))
            return await stage.until_it_waits(begun)

    events = run(scenario())
    first, second = requests_in(events)
    assert (first, (second or "")[:5]) == ("book", "book_")
    assert [e.input for e in events if isinstance(e, ToolUseEnd)] == [
        {"city": "Porto"},
        {"city": "Lisbon"},
    ]
    assert results_in(events) == []


def test_the_result_of_a_tool_of_the_page_is_told_once(tmp_path: Path) -> None:
    async def calls(turn: Turn) -> str:
        here = await turn.call_frontend("where_am_i", id="c1")
        when = await turn.ask("When?", id="when")
        return f"{here.value}, {when.value}"

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(calls), limits=IMPATIENT) as stage:
            begun = await stage.begin()
            await answered_later(stage, begun, answer("result_of_c1", "here"))
            await until_it_asks(stage, begun, "when")
            await stage.until_nothing_runs()
            return await stage.answered(begun, answer("when", "now"))

    events = run(scenario())
    assert results_in(events) == [("c1", "here")]
    assert text_of(events) == "here, now"


@pytest.mark.parametrize(("decision", "status"), [("answered", "ok"), ("denied", "error")])
def test_a_tool_of_the_page_is_called(tmp_path: Path, decision: Any, status: str) -> None:
    async def calls(turn: Turn) -> str:
        told = await turn.call_frontend("where_am_i", {"exact": True}, id="c1")
        return f"{told.decision}: {told.value}"

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(calls)) as stage:
            begun = await stage.begin()
            await stage.until_it_waits(begun)
            told = Answer(request_id="result_of_c1", decision=decision, value="here")
            return await stage.answered(begun, told)

    events = run(scenario())
    (result,) = [event for event in events if isinstance(event, ToolResult)]
    assert (result.id, result.output, result.status) == ("c1", "here", status)
    assert text_of(events) == f"{decision}: here"


def test_who_waits_in_a_thread_is_woken_when_it_is_stopped(tmp_path: Path) -> None:
    seen: list[type[BaseException]] = []

    def asks_in_vain(turn: Turn) -> None:
        try:
            turn.ask("Anybody?").result()
        except CancelledError as error:
            seen.append(type(error))
            raise

    async def scenario() -> Events:
        patient = Patience(message=60, term=60, kill=60)
        async with staged(tmp_path, agent("it")(asks_in_vain), patience=patient) as stage:
            begun = await stage.begin()
            await stage.until_it_waits(begun)
            await stage.supervisor.stop("ann", begun.id)
            return await stage.until_it_ends(begun)

    events = run(scenario())
    assert reason_of(events) == "cancelled"
    assert [e.decision for e in events if isinstance(e, InputResponse)] == ["cancelled"]
    assert seen == [CancelledError]


def test_the_event_loop_is_not_made_to_wait(tmp_path: Path) -> None:
    async def blocks(turn: Turn) -> None:
        turn.ask("Anybody?").result()

    async def scenario() -> Events:
        async with staged(tmp_path, agent("it")(blocks)) as stage:
            return await stage.until_it_ends(await stage.begin())

    assert error_of(run(scenario())).code == WouldBlock.__name__


def test_a_question_is_answered_once() -> None:
    question = Question("q")
    question.answer(answer("q", "a"))
    assert question.result().value == "a"
    question.cancel()
    assert question.result().value == "a"


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


def test_two_agents_cannot_have_the_same_id(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = agent("it")(coroutine)
        with pytest.raises(AgentTaken):
            async with staged(tmp_path, made, made):
                pass

    run(scenario())
