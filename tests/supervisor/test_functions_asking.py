"""Agents that are functions: what they ask, and who answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from mobox import emit
from mobox.capture.asking import Question, Turn
from mobox.capture.catalog import agent
from mobox.capture.process import StopTimeouts
from mobox.errors import DecisionNotAllowed, WouldBlock
from mobox.events import (
    InputRequest,
    InputResponse,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.turn import Answer
from mobox.storage.log import Run
from supervisor.functions import Events
from supervisor.stage import (
    IMPATIENT,
    Stage,
    approved,
    both_stores,
    error_of,
    pauses_in,
    reason_of,
    requests_in,
    staged,
    text_of,
    url_of,
)


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
async def test_a_person_answers_while_it_waits(
    tmp_path: Path, kind: Callable[..., object], store: str
) -> None:
    async with staged(tmp_path, agent("it")(kind), url=url_of(store, tmp_path)) as stage:
        begun = await stage.begin()
        assert pauses_in(await stage.until_it_waits(begun)) == [("city",)]
        events = await stage.answered(begun, answer("city", "Porto"))
    assert (text_of(events), reason_of(events)) == ("Hm. Porto it is.", "stop")


@both_stores
@pytest.mark.parametrize("kind", [asks, asks_in_a_thread])
async def test_an_answer_that_comes_later_is_given_to_the_next_execution(
    tmp_path: Path, kind: Callable[..., object], store: str
) -> None:
    url = url_of(store, tmp_path)
    async with staged(tmp_path, agent("it")(kind), url=url, limits=IMPATIENT) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        events = await stage.answered(begun, answer("city", "Porto"))
    assert text_of(events) == "Hm. Hm. Porto it is."
    assert requests_in(events) == ["city"]


async def test_one_that_pauses_may_leave_and_go_on_later(tmp_path: Path) -> None:
    def pauses(turn: Turn) -> Iterator[object]:
        if turn.answers:
            yield f"{turn.answers[0]['value']}, {turn.resume}"
            return
        request = emit.input_request("question", prompt="Where?")
        yield request
        yield emit.paused(request.id, resume="as I said")

    async with staged(tmp_path, agent("it")(pauses)) as stage:
        begun = await stage.begin()
        (request,) = requests_in(await stage.until_it_waits(begun))
        await stage.until_nothing_runs()
        assert (
            text_of(await stage.answered(begun, answer(request or "", "here"))) == "here, as I said"
        )


async def test_questions_that_are_asked_together_are_waited_for_together(tmp_path: Path) -> None:
    async def asks_two(turn: Turn) -> str:
        two = turn.ask("Where?", id="where"), turn.ask("When?", id="when")
        where, when = [await question for question in two]
        return f"{where.value}, {when.value}"

    async with staged(tmp_path, agent("it")(asks_two)) as stage:
        begun = await stage.begin()
        async for batch in stage.store.follow(begun.id):
            if pauses_in([entry.event for entry in batch])[-1:] == [("where", "when")]:
                break
        await stage.supervisor.answer("ann", begun.id, (answer("when", "now"),))
        assert text_of(await stage.answered(begun, answer("where", "here"))) == "here, now"


@both_stores
@pytest.mark.parametrize("framework", ["emitted", "openai"])
@pytest.mark.parametrize("is_async", [True, False])
async def test_one_that_says_nothing_after_an_answer_has_heard_it(
    tmp_path: Path, is_async: bool, framework: str, store: str
) -> None:
    paid: list[object] = []

    async def pays(turn: Turn) -> None:
        paid.append((await turn.ask("Pay?", id="pay")).value)

    def pays_in_a_thread(turn: Turn) -> None:
        paid.append(turn.ask("Pay?", id="pay").result().value)

    made = agent("it", framework=framework)(pays if is_async else pays_in_a_thread)
    async with staged(tmp_path, made, url=url_of(store, tmp_path)) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        events = await stage.answered(begun, answer("pay", "yes"))
    assert paid == ["yes"]
    assert reason_of(events) == ("stop" if framework == "emitted" else "truncated")


async def test_an_answer_that_it_did_not_wait_for_comes_to_the_next_execution(
    tmp_path: Path,
) -> None:
    async def leaves(turn: Turn) -> str | None:
        asked = turn.ask("Where?", id="where")
        return f"{(await asked).value}." if turn.answers else None

    async with staged(tmp_path, agent("it")(leaves)) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        assert text_of(await stage.answered(begun, answer("where", "here"))) == "here."


async def asks_and_speaks(turn: Turn) -> AsyncIterator[str]:
    asked = turn.ask("Which city?", id="city")
    yield "While you think: "
    yield f"{(await asked).value} it is."


def asks_and_speaks_in_a_thread(turn: Turn) -> Iterator[str]:
    asked = turn.ask("Which city?", id="city")
    yield "While you think: "
    yield f"{asked.result().value} it is."


@pytest.mark.parametrize("kind", [asks_and_speaks, asks_and_speaks_in_a_thread])
async def test_a_run_waits_from_when_the_function_does(
    tmp_path: Path, kind: Callable[..., object]
) -> None:
    async with staged(tmp_path, agent("it")(kind)) as stage:
        begun = await stage.begin()
        asked = await stage.until_it_waits(begun)
        asked, events = asked, await stage.answered(begun, answer("city", "Porto"))
    assert (text_of(asked), pauses_in(asked)) == ("While you think: ", [("city",)])
    assert text_of(events) == "While you think: Porto it is."


async def test_to_wait_for_two_at_once_is_to_wait_once(tmp_path: Path) -> None:
    async def asks_two(turn: Turn) -> str:
        two = turn.ask("Where?", id="where"), turn.ask("When?", id="when")
        where, when = await asyncio.gather(*two)
        return f"{where.value}, {when.value}"

    async with staged(tmp_path, agent("it")(asks_two)) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        events = await stage.answered(begun, answer("where", "here"), answer("when", "now"))
    assert pauses_in(events) == [("where", "when")]
    assert text_of(events) == "here, now"


async def test_an_approval_is_asked_for_a_tool_call(tmp_path: Path) -> None:
    async def careful(turn: Turn) -> AsyncIterator[object]:
        call = emit.tool_use("delete", {"path": "/tmp/x"})
        yield call
        allowed = (await turn.approve(call.id, id="r1")).approved
        yield emit.tool_result(call.id, "gone" if allowed else "kept")

    async with staged(tmp_path, agent("it")(careful)) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        (result,) = [
            event for event in await stage.answered(begun) if isinstance(event, ToolResult)
        ]
    assert result.output == "gone"


@pytest.mark.parametrize(
    ("said", "becomes"),
    [
        (Answer(decision="approved", request_id="r1"), (True, {"path": "/tmp/x"})),
        (Answer(decision="edited", request_id="r1", value={"path": "y"}), (True, {"path": "y"})),
        (Answer(decision="answered", request_id="r1", value="No need."), (False, "No need.")),
    ],
)
async def test_a_function_gets_what_it_allows_to_be_decided(
    tmp_path: Path, said: Answer, becomes: tuple[bool, object]
) -> None:
    async def careful(turn: Turn) -> AsyncIterator[object]:
        call = emit.tool_use("delete", {"path": "/tmp/x"})
        told = await turn.approve(call, id="r1", allow=["approve", "edit", "respond"])
        plain = call["data"]["input"] if told.decision == "approved" else told.value
        yield emit.tool_result(call.id, [told.approved, plain])

    async with staged(tmp_path, agent("it")(careful)) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        with pytest.raises(DecisionNotAllowed):
            await stage.supervisor.answer("ann", begun.id, (denied("r1"),))
        events = await stage.answered(begun, said)
    [request] = [event for event in events if isinstance(event, InputRequest)]
    assert request.allowed == ("approve", "edit", "respond")
    [(_, output)] = results_in(events)
    assert output == list(becomes)


def denied(request_id: str) -> Answer:
    return Answer(decision="denied", request_id=request_id)


def results_in(events: Events) -> list[tuple[str | None, object]]:
    return [(event.id, event.output) for event in events if isinstance(event, ToolResult)]


async def answered_later(stage: Stage, begun: Run, *answers: Answer) -> None:
    """Answer a run whose function has gone by then."""
    await stage.until_it_waits(begun)
    await stage.until_nothing_runs()
    await stage.supervisor.answer("ann", begun.id, answers)


@both_stores
@pytest.mark.parametrize("name", [{}, {"id": "book"}])
async def test_the_call_that_was_approved_is_the_one_that_is_carried_out(
    tmp_path: Path, name: dict[str, str], store: str
) -> None:
    async def books(turn: Turn) -> AsyncIterator[object]:
        call = emit.tool_use("book", {"city": "Porto", "nights": 2})
        allowed = await turn.approve(call, "Shall I?", **name)
        yield emit.tool_result(call.id, allowed.approved)
        sure = await turn.ask("Sure?", id="sure")
        yield f"{sure.value}."

    url = url_of(store, tmp_path)
    async with staged(tmp_path, agent("it")(books), url=url, limits=IMPATIENT) as stage:
        begun = await stage.begin()
        (request,) = requests_in(await stage.until_it_waits(begun))
        await answered_later(stage, begun, *approved(request or ""))
        await until_it_asks(stage, begun, "sure")
        await stage.until_nothing_runs()
        events = await stage.answered(begun, answer("sure", "yes"))
    (call,) = [event for event in events if isinstance(event, ToolUseEnd)]
    assert set(results_in(events)) == {(call.id, True)}
    assert text_of(events) == "yes."


async def until_it_asks(stage: Stage, begun: Run, request_id: str) -> None:
    async for batch in stage.store.follow(begun.id):
        if (request_id,) in pauses_in([entry.event for entry in batch]):
            return


async def test_an_approval_is_of_no_other_arguments(tmp_path: Path) -> None:
    cities = iter(["Porto", "Lisbon"])

    async def books(turn: Turn) -> AsyncIterator[object]:
        call = emit.tool_use("book", {"city": next(cities)})
        allowed = await turn.approve(call, id="book")
        yield emit.tool_result(call.id, allowed.approved)

    async with staged(tmp_path, agent("it")(books), limits=IMPATIENT) as stage:
        begun = await stage.begin()
        await answered_later(stage, begun, *approved("book"))
        events = await stage.until_it_waits(begun)
    first, second = requests_in(events)
    assert (first, (second or "")[:5]) == ("book", "book_")
    assert [e.input for e in events if isinstance(e, ToolUseEnd)] == [
        {"city": "Porto"},
        {"city": "Lisbon"},
    ]
    assert results_in(events) == []


async def test_the_result_of_a_tool_of_the_page_is_told_once(tmp_path: Path) -> None:
    async def calls(turn: Turn) -> str:
        here = await turn.call_frontend("where_am_i", id="c1")
        when = await turn.ask("When?", id="when")
        return f"{here.value}, {when.value}"

    async with staged(tmp_path, agent("it")(calls), limits=IMPATIENT) as stage:
        begun = await stage.begin()
        await answered_later(stage, begun, answer("result_of_c1", "here"))
        await until_it_asks(stage, begun, "when")
        await stage.until_nothing_runs()
        events = await stage.answered(begun, answer("when", "now"))
    assert results_in(events) == [("c1", "here")]
    assert text_of(events) == "here, now"


@pytest.mark.parametrize(("decision", "status"), [("answered", "ok"), ("denied", "error")])
async def test_a_tool_of_the_page_is_called(tmp_path: Path, decision: Any, status: str) -> None:
    async def calls(turn: Turn) -> str:
        told = await turn.call_frontend("where_am_i", {"exact": True}, id="c1")
        return f"{told.decision}: {told.value}"

    async with staged(tmp_path, agent("it")(calls)) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        told = Answer(request_id="result_of_c1", decision=decision, value="here")
        events = await stage.answered(begun, told)
    (call,) = [event for event in events if isinstance(event, ToolUseStart)]
    (result,) = [event for event in events if isinstance(event, ToolResult)]
    assert (call.id, call.frontend) == ("c1", True)
    assert (result.id, result.output, result.status) == ("c1", "here", status)
    assert text_of(events) == f"{decision}: here"


async def test_who_waits_in_a_thread_is_woken_when_it_is_stopped(tmp_path: Path) -> None:
    seen: list[type[BaseException]] = []

    def asks_in_vain(turn: Turn) -> None:
        try:
            turn.ask("Anybody?").result()
        except CancelledError as error:
            seen.append(type(error))
            raise

    patient = StopTimeouts(message=60, term=60, kill=60)
    async with staged(tmp_path, agent("it")(asks_in_vain), patience=patient) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.supervisor.stop("ann", begun.id)
        events = await stage.until_it_ends(begun)
    assert reason_of(events) == "cancelled"
    assert [e.decision for e in events if isinstance(e, InputResponse)] == ["cancelled"]
    assert seen == [CancelledError]


async def test_the_event_loop_is_not_made_to_wait(tmp_path: Path) -> None:
    async def blocks(turn: Turn) -> None:
        turn.ask("Anybody?").result()

    async with staged(tmp_path, agent("it")(blocks)) as stage:
        error = error_of(await stage.until_it_ends(await stage.begin()))
        assert (error.code, error.message) == ("crashed", f"WouldBlock: {WouldBlock()}")


def test_a_question_is_answered_once() -> None:
    question = Question("q")
    question.answer(answer("q", "a"))
    assert question.result().value == "a"
    question.cancel()
    assert question.result().value == "a"
