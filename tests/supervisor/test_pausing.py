"""Runs that wait for a person: whoever answers, when and how often, the agent hears it once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mobox.capture.catalog import Agent, Catalog
from mobox.errors import NotWaiting, RunActive, TooManyRuns, UnknownAgent
from mobox.events import (
    InputResponse,
    LogEntry,
    Paused,
    Raw,
    StreamEvent,
    Text,
    ToolResult,
)
from mobox.events.message import Message
from mobox.events.turn import Answer, Decision
from mobox.formatters import format_all, get_formatter
from mobox.settings import Settings
from mobox.storage.log import Run
from supervisor.stage import (
    IMPATIENT,
    QUIET,
    Stage,
    approved,
    both_stores,
    pauses_in,
    processes_under,
    reason_of,
    requests_in,
    staged,
    submit,
    text_of,
    url_of,
    write_agent,
)

HELD_OR_NOT = pytest.mark.parametrize("limits", [QUIET, IMPATIENT], ids=["held", "let go"])
"""The process that asked is there when the answer comes, or it is not."""


pytestmark = pytest.mark.usefixtures("clean")


@pytest.fixture
def store() -> str:
    """The kind of store; tests that are for both say so."""
    return "sqlite"


@pytest.fixture
def url(store: str, tmp_path: Path) -> str:
    return url_of(store, tmp_path)


@pytest.fixture
def asker(tmp_path: Path) -> Agent:
    """Asks whether it may, in a state that is kept; begins anew where it has to."""
    code = """
        with open(state / "processes", "a") as file:
            file.write(f"{os.getpid()}\\n")
        turn = read_turn()
        if not turn.resume:
            emit_text("May I? ")
            emit_tool_use("delete", {"path": "a"}, id="call_1")
        told = ask("Sure?", kind="approval", tool_call_id="call_1", id="r1", resume={"n": 1})
        status = "ok" if told["decision"] == "approved" else "denied"
        assert told["value"] is None and told["tool_call_id"] == "call_1"
        emit_tool_result("call_1", told["reason"], status=status)
        emit_text(told["decision"])
        emit_done()
    """
    return write_agent(tmp_path / "asker", code)


@pytest.fixture
def lingerer(tmp_path: Path) -> Agent:
    """Asks, and takes its time when it is told to end."""
    code = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            emit_text(ask("Sure?", id="r1")["decision"])
            emit_done()
        except KeyboardInterrupt:
            (state / "told").touch()
            wait_for("nothing")
    """
    return write_agent(tmp_path / "lingerer", code)


def answers_in(events: list[StreamEvent]) -> list[tuple[str | None, str]]:
    return [(e.id, e.decision) for e in events if isinstance(e, InputResponse)]


def processes(stage: Stage) -> int:
    return len((stage.state / "processes").read_text().splitlines())


# Answers


@both_stores
@HELD_OR_NOT
@pytest.mark.parametrize("decision", ["approved", "denied"])
async def test_an_answer_lets_the_run_go_on(
    tmp_path: Path, url: str, asker: Agent, limits: Settings, decision: str
) -> None:
    async with staged(tmp_path, asker, url=url, limits=limits) as stage:
        begun = await stage.begin()
        before = await stage.until_it_waits(begun)
        assert isinstance(before[-1], Paused)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
            assert processes_under(tmp_path) == []
        assert (await stage.store.run("ann", begun.id)).status == "waiting"
        answer = Answer(
            decision="approved" if decision == "approved" else "denied",
            tool_call_id="call_1",
            reason="because",
        )
        continued = await stage.supervisor.answer("ann", begun.id, (answer,))
        assert continued.after == len(before)
        events = await stage.until_it_ends(begun)
        assert events[: len(before)] == before
        assert answers_in(events) == [("r1", decision)]
        assert text_of(events) == f"May I? {decision}"
        status = "ok" if decision == "approved" else "denied"
        (result,) = [event for event in events if isinstance(event, ToolResult)]
        assert (result.status, result.output) == (status, "because")
        assert requests_in(events) == ["r1"]
        texts = [event.id for event in events if isinstance(event, Text)]
        assert len(set(texts)) == len(texts) == 2
        assert processes(stage) == (1 if limits is QUIET else 2)
        attempt = (await stage.store.run("ann", begun.id)).leg
        assert attempt == processes(stage)


@both_stores
@HELD_OR_NOT
async def test_of_two_answers_at_once_one_counts(
    tmp_path: Path, url: str, asker: Agent, limits: Settings
) -> None:
    async with staged(tmp_path, asker, url=url, limits=limits) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        yes, no = approved(), (Answer(decision="denied", request_id="r1"),)
        given = [stage.supervisor.answer("ann", begun.id, each) for each in (yes, no, yes, no)]
        outcomes = await asyncio.gather(*given, return_exceptions=True)
        refused = [each for each in outcomes if isinstance(each, NotWaiting)]
        assert len(refused) == 3, outcomes
        assert len(answers_in(await stage.until_it_ends(begun))) == 1


async def test_what_nobody_asked_is_not_answered(tmp_path: Path, url: str, asker: Agent) -> None:
    async with staged(tmp_path, asker, url=url) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        for wrong in (
            approved("r2"),
            (Answer(decision="approved", tool_call_id="call_2"),),
            (Answer(decision="approved"),),
            (),
        ):
            with pytest.raises(NotWaiting):
                await stage.supervisor.answer("ann", begun.id, wrong)
        await stage.answered(begun)
        with pytest.raises(NotWaiting):
            await stage.supervisor.answer("ann", begun.id, approved())


@pytest.mark.parametrize("hold", [0.001, 0.01, 0.03])  # before, amid or after: all must do
async def test_an_answer_that_comes_when_the_process_is_let_go_is_heard(
    tmp_path: Path, url: str, asker: Agent, hold: float
) -> None:
    limits = Settings(look=3600, sweep=3600, hold=hold)
    async with staged(tmp_path, asker, url=url, limits=limits) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        assert text_of(await stage.answered(begun)) == "May I? approved"


async def test_a_process_that_is_let_go_has_no_say_in_how_its_run_goes_on(
    tmp_path: Path, url: str
) -> None:
    code = """
        turn = read_turn()
        try:
            told = ask("Sure?", id="r1", resume={"n": 1})
            emit_text(told["decision"])
        except KeyboardInterrupt:
            emit_text("I was told to end")
        emit_done()
    """
    agent = write_agent(tmp_path / "talker", code)
    async with staged(tmp_path, agent, url=url, limits=IMPATIENT) as stage:
        begun = await stage.begin()
        before = await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        assert await stage.events(begun) == before
        assert (await stage.store.run("ann", begun.id)).status == "waiting"
        assert text_of(await stage.answered(begun)) == "approved"


async def test_an_agent_may_exit_when_it_has_asked(tmp_path: Path, url: str) -> None:
    code = """
        turn = read_turn()
        if turn.answers:
            emit_text(repr((turn.prompt, turn.resume, turn.answers[0]["decision"])))
            emit_done()
        else:
            emit_input_request(id="r1", prompt="Well?", resume={"at": 7})
            emit_paused("r1")
    """
    agent = write_agent(tmp_path / "brief", code)
    async with staged(tmp_path, agent, url=url) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        events = await stage.answered(begun)
        assert text_of(events) == repr(("", {"at": 7}, "approved"))


async def test_an_answer_that_the_agent_left_without_hearing_is_told_to_the_next(
    tmp_path: Path, url: str
) -> None:
    code = """
        turn = read_turn()
        if turn.answers:
            emit_text(turn.answers[0]["decision"])
            emit_done()
        else:
            emit_text("Well? ")
            emit_input_request(id="r1", prompt="Well?")
            emit_paused("r1")
            wait_for("answered")
            emit_status("tidying up")
    """
    agent = write_agent(tmp_path / "hasty", code)
    async with staged(tmp_path, agent, url=url) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.supervisor.answer("ann", begun.id, approved())
        (stage.state / "answered").touch()
        events = await stage.until_it_ends(begun)
        assert (text_of(events), reason_of(events)) == ("Well? approved", "stop")
        assert pauses_in(events) == [("r1",)]
        texts = [event.id for event in events if isinstance(event, Text)]
        assert len(set(texts)) == len(texts) == 2


async def test_an_agent_that_says_nothing_to_an_answer_is_not_asked_for_ever(
    tmp_path: Path, url: str
) -> None:
    code = """
        if not read_turn().answers:
            emit_input_request(id="r1")
            emit_paused("r1")
            wait_for("answered")
    """
    agent = write_agent(tmp_path / "silent", code)
    async with staged(tmp_path, agent, url=url) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.supervisor.answer("ann", begun.id, approved())
        (stage.state / "answered").touch()
        assert reason_of(await stage.until_it_ends(begun)) == "truncated"


async def test_who_answers_before_the_agent_pauses_does_not_let_it_wait(
    tmp_path: Path, url: str
) -> None:
    code = """
        read_turn()
        emit_input_request(id="r1")
        (state / "asked").touch()
        wait_for("answered")
        emit_paused("r1")
        emit_text(wait_for_answer("r1")["decision"])
        emit_done()
    """
    agent = write_agent(tmp_path / "late", code)
    async with staged(tmp_path, agent, url=url) as stage:
        begun = await stage.begin()
        asked = await stage.told("asked")
        async for batch in stage.store.follow(begun.id):
            if "r1" in requests_in([entry.event for entry in batch]):
                break
        await stage.supervisor.answer("ann", begun.id, approved())
        asked.with_name("answered").touch()
        events = await stage.until_it_ends(begun)
        assert (text_of(events), pauses_in(events)) == ("approved", [])
        (raw,) = [event for event in events if isinstance(event, Raw)]
        assert raw.source == "answered already"


@HELD_OR_NOT
async def test_a_run_that_asks_two_things_waits_for_both(
    tmp_path: Path, url: str, limits: Settings
) -> None:
    code = """
        turn = read_turn()
        if not turn.resume:
            emit_input_request(id="r1")
            emit_input_request(id="r2")
            emit_paused("r1", "r2", resume={"n": 2})
        answers = [wait_for_answer(name) for name in ("r1", "r2")]
        emit_text(repr([answer["decision"] for answer in answers]))
        emit_done()
    """
    agent = write_agent(tmp_path / "curious", code)
    async with staged(tmp_path, agent, url=url, limits=limits) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        first = await stage.supervisor.answer("ann", begun.id, approved("r2"))
        assert first.run.status == "waiting"
        followed = stage.store.follow(begun.id, first.after, through_pauses=False)
        said = [entry.event async for batch in followed for entry in batch]
        assert said == [
            InputResponse(id="r2", decision="approved"),
            Paused(request_ids=("r1",), resume={"n": 2}),
        ]
        if limits is IMPATIENT:
            assert stage.supervisor.running == 0
        no = Answer(decision="denied", request_id="r1")
        assert text_of(await stage.answered(begun, no)) == "['denied', 'approved']"


async def test_threads_that_ask_are_waited_for_together(tmp_path: Path, url: str) -> None:
    code = """
        from threading import Thread
        first = Thread(target=lambda: emit_text(ask("?", id="r1")["value"]))
        first.start()
        wait_for("go")
        emit_text(ask("?", id="r2")["value"])
        first.join()
        emit_done()
    """
    agent = write_agent(tmp_path / "parallel", code)
    async with staged(tmp_path, agent, url=url) as stage:
        begun = await stage.begin()
        seq = len(await stage.until_it_waits(begun))
        (stage.state / "go").touch()
        while ("r1", "r2") not in pauses_in(await stage.events(begun)):
            seq = (await stage.store.beyond(begun.id, seq)).tail
        for name in ("r2", "r1"):
            answer = Answer(decision="answered", request_id=name, value=name)
            await stage.supervisor.answer("ann", begun.id, (answer,))
        events = await stage.until_it_ends(begun)
        assert text_of(events) in ("r1r2", "r2r1")
        assert {*pauses_in(events)} == {("r1",), ("r1", "r2")}
        assert pauses_in(events)[-1] == ("r1",)


async def test_agent_with_open_request_waits_again_when_it_is_silent(
    tmp_path: Path, url: str
) -> None:
    """Text without an id has no end: only silence shows that the agent does nothing but wait."""
    code = """
        emit_tool_use("delete", id="c")
        emit_input_request(id="r1", kind="approval", tool_call_id="c")
        emit_paused("r1")
        emit_text("Meanwhile")
        emit_text(wait_for_answer("r1")["decision"])
        emit_done()
    """
    agent = write_agent(tmp_path / "parallel", code)
    async with staged(tmp_path, agent, url=url) as stage:
        begun = await stage.begin()
        seq = len(await stage.until_it_waits(begun))
        while len(pauses_in(await stage.events(begun))) < 2:
            seq = (await stage.store.beyond(begun.id, seq)).tail
        answer = Answer(decision="approved", request_id="r1")
        await stage.supervisor.answer("ann", begun.id, (answer,))
        events = await stage.until_it_ends(begun)
        assert pauses_in(events) == [("r1",), ("r1",)]


async def test_an_agent_is_told_the_answers_to_its_last_pause_and_apart_those_to_others(
    tmp_path: Path, url: str
) -> None:
    code = """
        turn = read_turn()
        fields = ("request_id", "tool_call_id", "decision", "reason")
        def named(answers):
            return [[answer[field] for field in fields] for answer in answers]
        emit_text(repr((named(turn.answers), named(turn.earlier_answers))))
        if len(turn.answers + turn.earlier_answers) == 3:
            emit_done()
        elif turn.answers:
            emit_paused(emit_input_request("approval", id="r3", tool_call_id="c"))
        else:
            for call in "abc":
                emit_tool_use("rm", {"path": call}, id=call)
            emit_input_request("approval", id="r1", tool_call_id="a")
            emit_input_request("approval", id="r2", tool_call_id="b")
            emit_paused("r1", "r2")
    """
    agent = write_agent(tmp_path / "leaver", code)
    async with staged(tmp_path, agent, url=url) as stage:
        begun = await stage.begin()
        given: list[tuple[str, Decision]] = [
            ("b", "denied"),
            ("a", "approved"),
            ("c", "denied"),
        ]
        for call, decision in given:
            await stage.until_it_waits(begun)
            await stage.until_nothing_runs()
            no = Answer(decision=decision, tool_call_id=call, reason=f"because {call}")
            await stage.supervisor.answer("ann", begun.id, (no,))
        a, b, c = (
            ["r1", "a", "approved", "because a"],
            ["r2", "b", "denied", "because b"],
            ["r3", "c", "denied", "because c"],
        )
        told = [([], []), ([a, b], []), ([c], [b, a])]
        assert text_of(await stage.until_it_ends(begun)) == "".join(map(repr, told))


async def test_a_run_has_used_what_all_its_executions_did(tmp_path: Path, url: str) -> None:
    code = """
        emit_usage_total(100, 7)
        if read_turn().answers:
            emit_usage_total(120, 8)
            emit_done()
        else:
            emit_paused(emit_input_request("question", id="r1"))
    """
    agent = write_agent(tmp_path / "leaver", code)
    async with staged(tmp_path, agent, url=url) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        events = await stage.answered(begun)
        log = [LogEntry(n, n, None, event) for n, event in enumerate(events, 1)]
        told = {
            name: [json.loads(line) for line in format_all(get_formatter(name, "r"), log)[:-1]]
            for name in ("ai-sdk", "ag-ui")
        }
        parts = [part["data"] for part in told["ai-sdk"] if part["type"] == "data-usage"]
        assert [(part["inputTokens"], part["outputTokens"]) for part in parts][-1] == (220, 15)
        shown = [e["value"] for e in told["ag-ui"] if e.get("name") == "mobox.usage"]
        assert (shown[-1]["inputTokens"], shown[-1]["outputTokens"]) == (220, 15)
        last = json.loads(format_all(get_formatter("agent-event", "r"), log)[-1])
        assert last["usage"] == {"input_tokens": 220, "output_tokens": 15}
        (_, message) = (await stage.store.history("ann", begun.chat_id)).messages
        assert isinstance(message.body, Message)
        assert message.body.usage is not None
        assert (message.body.usage.input, message.body.usage.output) == (220, 15)


async def test_old_answers_are_told_to_a_process_that_comes_by_the_question_again(
    tmp_path: Path, url: str
) -> None:
    code = """
        said = [ask("?", id=name)["value"] for name in ("r1", "r2", "r3")]
        emit_text(" ".join(said))
        emit_done()
    """
    agent = write_agent(tmp_path / "forgetful", code)
    async with staged(tmp_path, agent, url=url, limits=IMPATIENT) as stage:
        begun = await stage.begin()
        for number in (1, 2, 3):
            await stage.until_it_waits(begun)
            await stage.until_nothing_runs()
            answer = Answer(decision="answered", request_id=f"r{number}", value=f"a{number}")
            await stage.supervisor.answer("ann", begun.id, (answer,))
        events = await stage.until_it_ends(begun)
        assert text_of(events) == "a1 a2 a3"
        assert requests_in(events) == ["r1", "r2", "r3"]


async def test_an_agent_that_is_gone_cannot_be_told_but_may_come_back(
    tmp_path: Path, url: str, asker: Agent
) -> None:
    async with staged(tmp_path, asker, url=url, limits=IMPATIENT) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        stage.supervisor.catalog = Catalog()
        with pytest.raises(UnknownAgent):
            await stage.supervisor.answer("ann", begun.id, approved())
        stage.supervisor.catalog.add(asker)
        assert text_of(await stage.answered(begun)) == "May I? approved"


# Other ends


@both_stores
@HELD_OR_NOT
async def test_a_new_message_cancels_what_waits(
    tmp_path: Path, url: str, asker: Agent, limits: Settings
) -> None:
    async with staged(tmp_path, asker, url=url, limits=limits) as stage:
        first = await stage.begin()
        await stage.until_it_waits(first)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        second = await stage.begin(submit("never mind", "m2"))
        events = await stage.events(first)  # it has ended by now
        assert reason_of(events) == "cancelled"
        assert answers_in(events) == [("r1", "cancelled")]
        assert ToolResult(id="call_1", status="interrupted") in events
        await stage.until_it_ends(first)
        await stage.until_it_waits(second)
        history = await stage.store.history("ann", "chat")
        assert history.active is not None
        assert history.active.id == second.id
        with pytest.raises(NotWaiting):
            await stage.supervisor.answer("ann", first.id, approved())


async def test_an_answer_and_a_new_message_at_once_leave_one_run(
    tmp_path: Path, url: str, asker: Agent
) -> None:
    async with staged(tmp_path, asker, url=url) as stage:
        first = await stage.begin()
        await stage.until_it_waits(first)
        answered, second = await asyncio.gather(
            stage.supervisor.answer("ann", first.id, approved()),
            stage.supervisor.begin("ann", submit("never mind", "m2")),
            return_exceptions=True,
        )
        reason = reason_of(await stage.until_it_ends(first))
        if isinstance(second, BaseException):
            assert isinstance(second, RunActive)
            assert reason == "stop"
        elif reason == "stop":  # the answered run had ended when the message came
            assert not isinstance(answered, BaseException)
        else:
            assert isinstance(answered, NotWaiting | RunActive)
            assert reason == "cancelled"
            await stage.until_it_waits(second.run)


@both_stores
@HELD_OR_NOT
async def test_stop_ends_a_run_that_waits(
    tmp_path: Path, url: str, asker: Agent, limits: Settings
) -> None:
    async with staged(tmp_path, asker, url=url, limits=limits) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        stopped = await stage.supervisor.stop("ann", begun.id)
        events = await stage.until_it_ends(begun)
        assert stopped.status == ("done" if limits is IMPATIENT else "waiting")
        assert reason_of(events) == "cancelled"
        assert ToolResult(id="call_1", status="interrupted") in events


async def test_what_was_stopped_is_not_answered_any_more(
    tmp_path: Path, url: str, lingerer: Agent
) -> None:
    async with staged(tmp_path, lingerer, url=url) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.supervisor.stop("ann", begun.id)
        with pytest.raises(NotWaiting):
            await stage.supervisor.answer("ann", begun.id, approved())
        assert reason_of(await stage.until_it_ends(begun)) == "cancelled"


async def test_a_crash_while_it_waits_ends_the_run(tmp_path: Path, url: str) -> None:
    code = """
        emit_input_request(id="r1")
        emit_paused("r1")
        sys.exit(4)
    """
    agent = write_agent(tmp_path / "frail", code)
    async with staged(tmp_path, agent, url=url) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert reason_of(events) == "error"
        assert answers_in(events) == [("r1", "cancelled")]


@HELD_OR_NOT
async def test_a_chat_that_waits_can_be_deleted(
    tmp_path: Path, url: str, asker: Agent, limits: Settings
) -> None:
    async with staged(tmp_path, asker, url=url, limits=limits) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.supervisor.delete("ann", "chat")
        assert stage.supervisor.running == 0
        assert processes_under(tmp_path) == []
        assert list((tmp_path / "state").iterdir()) == []


# Room


async def test_who_waits_for_a_person_makes_room_for_others(
    tmp_path: Path, url: str, asker: Agent
) -> None:
    limits = Settings(max_runs=1, look=3600, sweep=3600)
    async with staged(tmp_path, asker, url=url, limits=limits) as stage:
        first = await stage.begin()
        await stage.until_it_waits(first)
        second = await stage.begin(submit(chat_id="other"))
        await stage.until_it_waits(second)
        for begun in (first, second):
            assert (await stage.store.run("ann", begun.id)).status == "waiting"
            assert text_of(await stage.answered(begun)) == "May I? approved"


TWO_EACH = Settings(max_runs=3, max_runs_per_owner=2, look=3600, sweep=3600)


async def waiting(stage: Stage, chat_id: str, owner: str = "ann") -> Run:
    begun = await stage.begin(submit(chat_id=chat_id), owner)
    await stage.until_it_waits(begun)
    return begun


async def legs_once_answered(stage: Stage, begun: Run) -> int:
    """How many processes it took: one, if the first was there all the time."""
    await stage.supervisor.answer(begun.owner, begun.id, approved())
    await stage.until_it_ends(begun)
    return (await stage.store.run(begun.owner, begun.id)).leg


async def test_who_has_enough_runs_takes_no_place_from_others(
    tmp_path: Path, url: str, asker: Agent
) -> None:
    worker = write_agent(tmp_path / "worker", 'wait_for("nothing")')
    async with staged(tmp_path, asker, worker, url=url, limits=TWO_EACH) as stage:
        bobs = await waiting(stage, "b", "bob")
        for chat_id in ("a1", "a2"):
            await stage.begin(submit(chat_id=chat_id, agent="worker"))
        with pytest.raises(TooManyRuns):
            await stage.begin(submit(chat_id="a3"))
        assert await legs_once_answered(stage, bobs) == 1


async def test_who_has_a_run_that_waits_takes_no_place_from_others(
    tmp_path: Path, url: str, asker: Agent
) -> None:
    async with staged(tmp_path, asker, url=url, limits=TWO_EACH) as stage:
        bobs = await waiting(stage, "b", "bob")
        anns = [await waiting(stage, f"a{n}") for n in range(3)]
        later_first = [*reversed(anns), bobs]
        assert [await legs_once_answered(stage, each) for each in later_first] == [1, 1, 2, 1]


async def test_the_place_of_a_run_that_was_answered_is_not_taken_by_its_name(
    tmp_path: Path, url: str
) -> None:
    agent = write_agent(tmp_path / "asker", 'ask("Sure?", id="r1")\nwait_for("nothing")')
    limits = Settings(max_runs=1, hold=0.01, look=3600, sweep=3600)
    async with staged(tmp_path, agent, url=url, limits=limits) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        await stage.supervisor.answer("ann", begun.id, approved())
        with pytest.raises(TooManyRuns):
            await stage.begin(submit(chat_id="other", key=begun.id))


# The server ends


async def test_what_is_being_let_go_when_the_server_ends_waits_on(
    tmp_path: Path, url: str, lingerer: Agent
) -> None:
    limits = Settings(look=3600, sweep=3600, hold=0.01, exit_grace=0.01)
    async with staged(tmp_path, lingerer, url=url, limits=limits) as stage:
        begun = await stage.begin()
        await stage.told("told")
        await stage.supervisor.close()
        assert (await stage.store.run("ann", begun.id)).status == "waiting"


async def test_what_waits_when_the_server_ends_waits_on_and_is_answered_by_another(
    tmp_path: Path, asker: Agent
) -> None:
    async with staged(tmp_path, asker) as stage:
        begun = await stage.begin()
        before = await stage.until_it_waits(begun)
    assert processes_under(tmp_path) == []
    async with staged(tmp_path, asker) as stage:
        assert await stage.events(begun) == before
        assert (await stage.store.run("ann", begun.id)).status == "waiting"
        events = await stage.answered(begun)
        assert text_of(events) == "May I? approved"
        assert processes(stage) == 2
        texts = [event.id for event in events if isinstance(event, Text)]
        assert len(set(texts)) == len(texts) == 2


async def test_an_answer_when_the_server_ends_is_stored_or_refused(
    tmp_path: Path, asker: Agent
) -> None:
    async with staged(tmp_path, asker) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        answering = asyncio.create_task(stage.supervisor.answer("ann", begun.id, approved()))
        await asyncio.sleep(0)
        await stage.supervisor.close()
        (outcome,) = await asyncio.gather(answering, return_exceptions=True)
        after = await stage.store.run("ann", begun.id)
        if isinstance(outcome, BaseException):
            assert after.status == "waiting"
        else:
            assert (after.status, after.reason) == ("done", "interrupted")
