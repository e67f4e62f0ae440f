"""What people are told before an agent works: only what is true, and only if it takes a while."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from mobox import agent
from mobox.capture.catalog import Agent
from mobox.capture.process import ProcessExecution, job_of
from mobox.errors import Fenced
from mobox.events import Start, Status, StreamEvent
from mobox.events.turn import Turn
from mobox.sandbox import get_sandbox
from mobox.supervisor.timeouts import Preparation
from supervisor.stage import HASTY, IMPATIENT, QUIET, approved, run, staged, text_of, write_agent
from support.waiting import until, until_async

AT_ONCE = replace(QUIET, notice=0)

pytestmark = pytest.mark.usefixtures("clean")


def preparations(events: list[StreamEvent]) -> list[str]:
    told = [event for event in events if isinstance(event, Status)]
    assert all(event.kind == "preparation" for event in told)
    return [event.message for event in told]


@pytest.fixture
def slow(tmp_path: Path) -> Agent:
    """Begins when a file says so, and only then reads its turn."""
    code = 'wait_for("go"); emit_text(read_turn().prompt); emit_done()'
    return write_agent(tmp_path / "agents" / "slow", code, "name: Slow\n")


async def test_an_agent_that_takes_long_to_start_is_told_of_once(
    tmp_path: Path, slow: Agent
) -> None:
    async with staged(tmp_path, slow, limits=AT_ONCE) as stage:
        begun = await stage.begin()

        async def is_told() -> bool:
            return bool(preparations(await stage.events(begun)))

        await until_async(is_told)
        (stage.state / "go").touch()
        events = await stage.until_it_ends(begun)
    assert isinstance(events[0], Start)
    assert preparations(events) == ["Starting Slow"]
    assert text_of(events) == "hello"


async def test_an_agent_that_starts_in_time_is_not_told_of(tmp_path: Path, slow: Agent) -> None:
    async with staged(tmp_path, slow, limits=QUIET) as stage:
        begun = await stage.begin()
        await until(lambda: list((tmp_path / "state").glob("*")))
        (stage.state / "go").touch()
        assert preparations(await stage.until_it_ends(begun)) == []


async def test_an_agent_that_goes_on_in_a_new_process_is_resumed(tmp_path: Path) -> None:
    code = """
        if (state / "asked").exists():
            wait_for("go")
        (state / "asked").touch()
        read_turn()
        emit_tool_use("delete", id="c")
        emit_text(str(bool(approve("c", id="r1"))))
        emit_done()
    """
    asker = write_agent(tmp_path / "agents" / "asker", code, "name: Asker\n")
    limits = replace(IMPATIENT, notice=0)
    async with staged(tmp_path, asker, limits=limits) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        await stage.supervisor.answer("ann", begun.id, approved())

        async def is_told() -> bool:
            return preparations(await stage.events(begun))[-1:] == ["Resuming Asker"]

        await until_async(is_told)
        (stage.state / "go").touch()
        assert text_of(await stage.until_it_ends(begun)) == "True"


async def test_a_function_is_prepared_by_nobody(tmp_path: Path) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def words() -> str:
        begun.set()
        await go.wait()
        return "hi"

    async with staged(tmp_path, agent("it")(words), limits=AT_ONCE) as stage:
        started = await stage.begin()
        await begun.wait()
        await asyncio.sleep(0)  # a timer of no time is due
        go.set()
        assert preparations(await stage.until_it_ends(started)) == []


async def test_an_agent_that_has_read_its_turn_has_started(tmp_path: Path) -> None:
    code = 'wait_for("go"); read_turn(); (state / "read").touch(); wait_for("end"); emit_done()'
    reader = write_agent(tmp_path / "agents" / "reader", code)
    state = tmp_path / "state" / "chat"
    execution = ProcessExecution.start(job_of(reader, state), Turn(), get_sandbox("process"), HASTY)
    started = []
    async with execution:
        assert execution.created is None
        started.append(execution.has_started)
        (state / "go").touch()
        await until((state / "read").exists)
        started.append(execution.has_started)
        (state / "end").touch()
        while await execution.read():
            pass
        started.append(execution.has_started)
    assert started == [False, True, True]


class FakeStart:
    """An execution of which only the beginning is asked for."""

    def __init__(self, created: str | None = None, *, has_started: bool = False) -> None:
        self.created = created
        self.has_started = has_started


def told_of(starting: FakeStart, *, speaks: bool = False, fails: bool = False) -> list[Status]:
    """What is told of an agent that has had its second."""
    told: list[Status] = []

    async def tell(status: Status) -> None:
        if fails:
            raise Fenced("run_1", 1)
        told.append(status)

    async def scenario() -> None:
        preparation = Preparation(starting, tell, "Starting it", after=0)
        async with preparation:
            if speaks:
                preparation.over()
            due = asyncio.Event()
            asyncio.get_running_loop().call_later(0, due.set)
            await due.wait()

    run(scenario())
    return told


def prepared(*messages: str) -> list[Status]:
    return [Status(message=message, kind="preparation") for message in messages]


def test_what_is_created_is_told_and_then_that_it_starts() -> None:
    assert told_of(FakeStart()) == prepared("Starting it")
    created = "Created a container"
    assert told_of(FakeStart(created)) == prepared(created, "Starting it")
    assert told_of(FakeStart(created, has_started=True)) == prepared(created)


def test_what_is_not_true_any_more_is_not_told() -> None:
    assert told_of(FakeStart(), speaks=True) == []
    assert told_of(FakeStart(has_started=True)) == []


def test_a_preparation_that_cannot_be_stored_ends_nothing() -> None:
    assert told_of(FakeStart(), fails=True) == []
