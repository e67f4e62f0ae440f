"""The table of an attempt's states, and the paths that real attempts take through it."""

from __future__ import annotations

import asyncio
import inspect
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from mobox import agent
from mobox.capture.asking import Turn
from mobox.capture.catalog import Agent
from mobox.capture.catalog import Limits as AgentLimits
from mobox.errors import MoboxError, NotFoundError, StorageError
from mobox.events import Done, InputRequest, LogEntry, Paused, StreamEvent
from mobox.settings import Settings
from mobox.storage import Storage
from mobox.storage.log import Run
from mobox.supervisor import attempt as attempt_module
from mobox.supervisor.states import (
    ACCEPTS_ANSWERS,
    DISCARDS_OUTPUT,
    HAS_PROCESS,
    LEAVING,
    MUST_END,
    TRANSITIONS,
    IllegalTransition,
    State,
    Trigger,
    after,
)
from supervisor.stage import (
    IMPATIENT,
    QUIET,
    Stage,
    approved,
    error_of,
    reason_of,
    staged,
    submit,
    text_of,
    write_agent,
)
from support.grammar_log import legal_log
from support.waiting import until

LEGAL = {(state, trigger) for state, row in TRANSITIONS.items() for trigger in row}


# The table


@pytest.mark.parametrize(("state", "trigger"), list(product(State, Trigger)))
def test_a_trigger_is_in_the_table_or_raises(state: State, trigger: Trigger) -> None:
    if (state, trigger) in LEGAL:
        assert after(state, trigger) is TRANSITIONS[state][trigger]
    else:
        with pytest.raises(IllegalTransition, match=rf"is {state} cannot .*'{trigger}'"):
            after(state, trigger)


def test_the_table_has_a_row_for_each_state() -> None:
    assert list(TRANSITIONS) == list(State)


def test_over_has_no_exits() -> None:
    assert set(TRANSITIONS[State.OVER].values()) == {State.OVER}


def test_each_state_is_reached_and_leads_to_the_end() -> None:
    def reached(start: State) -> set[State]:
        found, todo = {start}, [start]
        while todo:
            new = set(TRANSITIONS[todo.pop()].values()) - found
            found |= new
            todo += new
        return found

    assert reached(State.STARTING) == set(State)
    assert all(State.OVER in reached(state) for state in State)


def test_an_attempt_that_leaves_does_not_come_back() -> None:
    for state in LEAVING:
        assert set(TRANSITIONS[state].values()) <= LEAVING


def test_an_attempt_can_be_stopped_and_lost_in_every_state() -> None:
    assert {state for state in State if Trigger.STOP in TRANSITIONS[state]} == set(State)
    lost = {state for state in State if Trigger.LOST in TRANSITIONS[state]}
    assert lost == set(State) - {State.OVER}


@pytest.mark.parametrize(
    ("trigger", "states"),
    [
        (Trigger.LAUNCHED, {State.STARTING}),
        (Trigger.ANSWER, ACCEPTS_ANSWERS),
        (Trigger.RELEASE, {State.WAITING}),
        (Trigger.RESTART, {State.RUNNING}),
        (Trigger.LEFT_WAITING, {State.WAITING, State.RELEASING}),
        (Trigger.ENDED, {State.ENDING}),
    ],
)
def test_where_a_trigger_is_legal(trigger: Trigger, states: set[State]) -> None:
    assert {state for state, legal in LEGAL if legal is trigger} == states


def test_a_state_with_a_process_is_not_leaving() -> None:
    assert HAS_PROCESS.isdisjoint(LEAVING)
    assert HAS_PROCESS >= ACCEPTS_ANSWERS
    assert LEAVING > DISCARDS_OUTPUT | MUST_END


def test_the_code_uses_every_trigger_and_the_table_alone() -> None:
    source = inspect.getsource(attempt_module)
    assert set(re.findall(r"Trigger\.(\w+)", source)) == set(Trigger.__members__)
    assert re.findall(r"self\.state = (.*)", source) == [
        "State.STARTING",
        "after(self.state, trigger)",
    ]


# Paths

Steps = list[tuple[State, Trigger]]
S, T = State, Trigger


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """The states and triggers of the attempts of a test that changed the state, in order."""
    taken: Steps = []

    def noted(state: State, trigger: Trigger) -> State:
        new = after(state, trigger)
        if new is not state:
            taken.append((state, trigger))
        return new

    monkeypatch.setattr(attempt_module, "after", noted)
    return taken


async def until_it_is(state: State, steps: Steps) -> None:
    await until(lambda: bool(steps) and after(*steps[-1]) is state)


async def test_a_run_without_a_pause(tmp_path: Path, steps: Steps) -> None:
    async with staged(tmp_path, agent("it")(lambda: "hi")) as stage:
        await stage.until_it_ends(await stage.begin())
    assert steps == [(S.STARTING, T.LAUNCHED), (S.RUNNING, T.END), (S.ENDING, T.ENDED)]


@pytest.fixture
def asker() -> Agent:
    """A function that asks once."""

    @agent("asker")
    async def asks(turn: Turn) -> AsyncIterator[str]:
        answer = await turn.ask("Sure?", id="r1")
        yield answer.decision

    return asks


async def test_an_answer_while_the_process_waits(
    tmp_path: Path, steps: Steps, asker: Agent
) -> None:
    async with staged(tmp_path, asker) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        assert text_of(await stage.answered(begun)) == "approved"
    assert steps == [
        (S.STARTING, T.LAUNCHED),
        (S.RUNNING, T.PAUSED),
        (S.WAITING, T.ANSWER),
        (S.ANSWERING, T.ANSWERED),
        (S.RUNNING, T.END),
        (S.ENDING, T.ENDED),
    ]


async def test_an_answer_that_cannot_be_stored_leaves_the_run_waiting(
    tmp_path: Path, steps: Steps, asker: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any) -> None:
        raise StorageError("the disk is full")

    async with staged(tmp_path, asker) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        with monkeypatch.context() as patched:
            patched.setattr(stage.store, "append", fails)
            with pytest.raises(StorageError):
                await stage.supervisor.answer("ann", begun.id, approved())
        assert text_of(await stage.answered(begun)) == "approved"
    answered = [(S.WAITING, T.ANSWER), (S.ANSWERING, T.ANSWERED)]
    assert steps[2:] == [
        *answered,
        (S.RUNNING, T.PAUSED),
        *answered,
        (S.RUNNING, T.END),
        (S.ENDING, T.ENDED),
    ]


async def test_an_answer_after_the_process_was_released(
    tmp_path: Path, steps: Steps, asker: Agent
) -> None:
    async with staged(tmp_path, asker, limits=IMPATIENT) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        await stage.supervisor.answer("ann", begun.id, approved())
        assert text_of(await stage.until_it_ends(begun)) == "approved"
    assert steps == [
        (S.STARTING, T.LAUNCHED),
        (S.RUNNING, T.PAUSED),
        (S.WAITING, T.RELEASE),
        (S.RELEASING, T.LEFT_WAITING),
        (S.STARTING, T.LAUNCHED),
        (S.RUNNING, T.END),
        (S.ENDING, T.ENDED),
    ]


async def test_a_stop_of_a_process_that_is_being_released(tmp_path: Path, steps: Steps) -> None:
    code = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            ask("Sure?", id="r1")
        except KeyboardInterrupt:
            emit_text("not stored")
            wait_for("nothing")
    """
    lingerer = write_agent(tmp_path / "lingerer", code)
    async with staged(tmp_path, lingerer, limits=IMPATIENT) as stage:
        begun = await stage.begin()
        await until_it_is(S.RELEASING, steps)
        await stage.supervisor.stop("ann", begun.id)
        await until_it_is(S.DRAINING, steps)
        events = await stage.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == ("cancelled", "")
    assert steps[2:] == [
        (S.WAITING, T.RELEASE),
        (S.RELEASING, T.STOP),
        (S.DRAINING, T.END),
        (S.ENDING, T.ENDED),
    ]


async def test_output_beyond_the_limit(tmp_path: Path, steps: Steps) -> None:
    code = 'emit_text("x" * 3000); wait_for("nothing")'
    talker = write_agent(tmp_path / "talker", code, "limits: {output: 1000}")
    async with staged(tmp_path, talker) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert error_of(events).code == "output_limit"
    assert steps[1:] == [(S.RUNNING, T.OUTPUT_LIMIT), (S.DRAINING, T.END), (S.ENDING, T.ENDED)]


async def test_a_process_that_exits_without_reading_an_answer(tmp_path: Path, steps: Steps) -> None:
    code = """
        if not read_turn().answers:
            emit_input_request(id="r1")
            emit_paused("r1")
            wait_for("answered")
    """
    silent = write_agent(tmp_path / "silent", code)
    async with staged(tmp_path, silent) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.supervisor.answer("ann", begun.id, approved())
        (stage.state / "answered").touch()
        await stage.until_it_ends(begun)
    assert steps[-4:] == [
        (S.RUNNING, T.RESTART),
        (S.STARTING, T.LAUNCHED),
        (S.RUNNING, T.END),
        (S.ENDING, T.ENDED),
    ]


async def test_an_agent_that_cannot_be_started(tmp_path: Path, steps: Steps) -> None:
    missing = write_agent(tmp_path / "it", "")
    shutil.rmtree(missing.folder)
    async with staged(tmp_path, missing) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert error_of(events).code == "agent_start"
    assert steps == [(S.STARTING, T.STOP), (S.STOPPING, T.END), (S.ENDING, T.ENDED)]


async def test_a_stop_before_the_history_is_read(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = asyncio.Event()

    async def never(*_: object) -> None:
        reading.set()
        await asyncio.Future()

    monkeypatch.setattr(attempt_module, "turn_for", never)
    async with staged(tmp_path, agent("it")(lambda: "hi")) as stage:
        begun = await stage.begin()
        await reading.wait()
        await stage.supervisor.stop("ann", begun.id)
        assert reason_of(await stage.until_it_ends(begun)) == "cancelled"
    assert steps == [(S.STARTING, T.STOP), (S.STOPPING, T.END), (S.ENDING, T.ENDED)]


async def test_a_stop_while_the_end_is_stored_comes_too_late(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(tmp_path, agent("it")(lambda: "hi")) as stage:
        may_end = hold_the_end(stage.store, monkeypatch)
        begun = await stage.begin()
        await until_it_is(S.ENDING, steps)
        await stage.supervisor.stop("ann", begun.id)
        may_end.set()
        assert reason_of(await stage.until_it_ends(begun)) == "stop"
    assert steps[1:] == [(S.RUNNING, T.END), (S.ENDING, T.ENDED)]


def hold_the_end(store: Storage, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let a store append DONE only when this is set."""
    append, may_end = store.append, asyncio.Event()

    async def held(*args: Any) -> list[LogEntry]:
        if any(isinstance(event, Done) for event in args[2]):
            await may_end.wait()
        return await append(*args)

    monkeypatch.setattr(store, "append", held)
    return may_end


async def test_a_run_that_is_lost(tmp_path: Path, steps: Steps) -> None:
    code = 'emit_text("a"); wait_for("go"); emit_text("b"); emit_done()'
    slow = write_agent(tmp_path / "slow", code)
    async with staged(tmp_path, slow, limits=QUIET) as stage:
        begun = await stage.begin()
        await until_it_is(S.RUNNING, steps)
        await stage.store.delete("ann", begun.chat_id)
        (stage.state / "go").touch()
        await stage.until_nothing_runs()
    assert steps == [(S.STARTING, T.LAUNCHED), (S.RUNNING, T.LOST)]


async def test_an_illegal_transition_ends_the_run_as_an_internal_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def without_end(state: State, trigger: Trigger) -> State:
        if trigger is Trigger.END:
            raise IllegalTransition(state, trigger)
        return after(state, trigger)

    monkeypatch.setattr(attempt_module, "after", without_end)
    async with staged(tmp_path, agent("it")(lambda: "hi")) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert (reason_of(events), error_of(events).code) == ("error", "internal")
        await stage.until_nothing_runs()
    assert "an attempt that is running cannot take the trigger 'end'" in caplog.text


# All at once


@agent("asker")
async def asks_thrice(turn: Turn) -> AsyncIterator[str | StreamEvent]:
    """Asks, and does other work before it waits for the answer."""
    for number in range(3):
        yield "Well? "
        yield InputRequest(id=f"r{number}")
        yield Paused(request_ids=(f"r{number}",))
        await asyncio.sleep(0.002)
        yield "Meanwhile. "
        await turn.ask("Sure?", id=f"r{number}")
    yield "Good."


def delay_appends(store: Storage, random: Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let others act between the parsing of an event, its commit, and the writer's next step."""
    append = store.append

    async def slow(*args: Any) -> list[LogEntry]:
        await asyncio.sleep(random.random() / 500)
        stored = await append(*args)
        await asyncio.sleep(random.random() / 500)
        return stored

    monkeypatch.setattr(store, "append", slow)


@pytest.mark.parametrize("seed", range(20))
async def test_no_order_of_requests_is_illegal(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    random = Random(seed)
    limits = Settings(
        max_runs=2, look=0.005, sweep=0.02, quiet=0.001, hold=random.choice([0.001, 0.005, 60])
    )

    async def act(stage: Stage, runs: list[Run]) -> None:
        for number in range(8):
            await asyncio.sleep(random.random() / 100)
            chosen = random.choice(runs)
            match random.randrange(10):
                case 0:
                    with suppress(NotFoundError):
                        await stage.supervisor.stop("ann", chosen.id)
                case 3 if number == 5:
                    with suppress(NotFoundError):
                        await stage.supervisor.delete("ann", chosen.chat_id)
                case 1 | 2:
                    chat_id, name = random.choice("abc"), f"{id(asyncio.current_task())}-{number}"
                    with suppress(MoboxError):  # too many runs, or one is active in this chat
                        runs.append(await stage.begin(submit(message_id=name, chat_id=chat_id)))
                case _:
                    with suppress(MoboxError):  # it does not wait for this answer
                        answer = approved(f"r{random.randrange(3)}")
                        await stage.supervisor.answer("ann", chosen.id, answer)

    asker = replace(asks_thrice, limits=AgentLimits(output=random.choice([300, 10_000])))
    async with staged(tmp_path, asker, limits=limits) as stage:
        delay_appends(stage.store, random, monkeypatch)
        runs = [await stage.begin(submit(chat_id="a"))]
        await asyncio.gather(*(act(stage, runs) for _ in range(4)))
        await stage.supervisor.close()
        for each in runs:
            with suppress(NotFoundError):
                assert (await stage.store.run("ann", each.id)).status in ("waiting", "done")
                legal_log(await stage.events(each))
    assert IllegalTransition.__name__ not in caplog.text
