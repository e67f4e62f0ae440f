"""Several supervisors on one database, servers that died, and a database that cannot be written."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import ClassVar, Self

import pytest

from mobox.capture.asking import Turn
from mobox.capture.catalog import Agent, agent
from mobox.errors import CorruptLog, Fenced, LogDeleted, NotWaiting, StorageError
from mobox.events import (
    Done,
    InputRequest,
    InputResponse,
    Start,
    Text,
    TextDelta,
    ToolResult,
    ToolUseStart,
)
from mobox.events.turn import Answer
from mobox.settings import Settings
from mobox.storage.log import Run
from supervisor.stage import (
    QUIET,
    SETTINGS,
    Stage,
    approved,
    error_of,
    processes_under,
    reason_of,
    staged,
    submit,
    text_of,
    write_agent,
)
from support.clocks import Clock
from support.valkey_server import Valkey
from support.waiting import until

NEWS_ONLY = Settings(poll_seconds=3600, lease=3600)


pytestmark = pytest.mark.usefixtures("clean")


@pytest.fixture
def asker(tmp_path: Path) -> Agent:
    code = """
        emit_text(ask("Sure?", id="r1")["decision"])
        emit_done()
    """
    return write_agent(tmp_path / "asker", code)


@pytest.fixture
def sleeper(tmp_path: Path) -> Agent:
    code = """
        read_turn()
        emit_tool_use("dream", {}, id="call_1")
        (state / "ready").touch()
        wait_for("go")
        emit_text("awake")
        emit_done()
    """
    return write_agent(tmp_path / "sleeper", code)


@pytest.fixture
def quick(tmp_path: Path) -> Agent:
    return write_agent(tmp_path / "quick", 'read_turn(); emit_text("here I am"); emit_done()')


async def two(
    stack: AsyncExitStack,
    folder: Path,
    agent: Agent,
    limits: Settings = QUIET,
    settings: Settings = SETTINGS,
) -> tuple[Stage, Stage]:
    """Two servers on one database and one folder."""
    one = await stack.enter_async_context(staged(folder, agent, limits=limits, settings=settings))
    other = await stack.enter_async_context(staged(folder, agent, limits=limits, settings=settings))
    return one, other


# Asked elsewhere


async def test_a_run_is_stopped_by_a_request_to_another_server(
    tmp_path: Path, sleeper: Agent
) -> None:
    async with AsyncExitStack() as stack:
        limits = Settings(look=0.02, sweep=3600)
        here, elsewhere = await two(stack, tmp_path, sleeper, limits)
        begun = await here.begin()
        await here.told("ready")
        await elsewhere.supervisor.stop("ann", begun.id)
        assert reason_of(await elsewhere.until_it_ends(begun)) == "cancelled"


async def test_who_is_told_of_a_request_to_stop_need_not_look_for_it(
    tmp_path: Path, sleeper: Agent, valkey: Valkey
) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = [
            await stack.enter_async_context(
                staged(tmp_path, sleeper, settings=NEWS_ONLY, redis_url=valkey.url)
            )
            for _ in range(2)
        ]
        await until(lambda: here.store.wake_ups == elsewhere.store.wake_ups == "up")
        begun = await here.begin()
        await here.told("ready")
        await elsewhere.supervisor.stop("ann", begun.id)
        assert reason_of(await elsewhere.until_it_ends(begun)) == "cancelled"


async def asked_twice(turn: Turn) -> AsyncIterator[str]:
    for question in ("one", "two"):
        await turn.ask(f"{question}?", id=question)
        yield question


def answer_to(question: str) -> tuple[Answer, ...]:
    return (Answer(decision="approved", request_id=question),)


@pytest.mark.parametrize("asked", ["answer", "stop", "message"])
async def test_who_waited_with_a_run_asks_whoever_has_it_now(tmp_path: Path, asked: str) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await two(stack, tmp_path, agent("twice")(asked_twice))
        begun = await here.begin()
        await here.until_it_waits(begun)
        await elsewhere.supervisor.answer("ann", begun.id, answer_to("one"))
        await elsewhere.until_it_waits(begun)
        if asked == "answer":
            await here.supervisor.answer("ann", begun.id, answer_to("two"))
        elif asked == "stop":
            await here.supervisor.stop("ann", begun.id)
        else:
            await here.begin(submit("more", "m2"))
        ended = reason_of(await elsewhere.until_it_ends(begun))
        assert ended == ("stop" if asked == "answer" else "cancelled")


async def test_a_process_that_waits_goes_when_another_server_was_answered(
    tmp_path: Path, asker: Agent
) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await two(stack, tmp_path, asker)
        begun = await here.begin()
        await here.until_it_waits(begun)
        await here.supervisor.reap()
        assert here.supervisor.running == 1
        await elsewhere.supervisor.answer("ann", begun.id, approved())
        await here.supervisor.reap()
        await here.until_nothing_runs()
        assert text_of(await elsewhere.until_it_ends(begun)) == "approved"
        with pytest.raises(NotWaiting):
            await here.supervisor.answer("ann", begun.id, approved())


@pytest.mark.parametrize("how", ["stop", "a new message", "delete"])
async def test_a_process_that_waits_goes_when_its_run_ended_elsewhere(
    tmp_path: Path, asker: Agent, how: str
) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await two(stack, tmp_path, asker)
        begun = await here.begin()
        await here.until_it_waits(begun)
        if how == "stop":
            await elsewhere.supervisor.stop("ann", begun.id)
        elif how == "delete":
            await elsewhere.supervisor.delete("ann", "chat")
        else:
            await elsewhere.begin(submit("never mind", "m2"))
        await here.supervisor.reap()
        await here.until_nothing_runs()
        if how == "delete":
            with pytest.raises(LogDeleted):
                await here.store.run("ann", begun.id)
        else:
            assert reason_of(await here.until_it_ends(begun)) == "cancelled"


def logs_in(folder: Path) -> list[Path]:
    return list(folder.glob("logs/*"))


async def test_an_agent_dies_whose_chat_was_deleted_elsewhere(tmp_path: Path) -> None:
    code = """
        (state / "ready").touch()
        print("last words", file=sys.stderr)
        while True:
            emit_text("still here ")
            time.sleep(0.01)
    """
    agent = write_agent(tmp_path / "chatty", code)
    async with AsyncExitStack() as stack:
        here, elsewhere = await two(stack, tmp_path, agent)
        await here.begin()
        await here.told("ready")
        await elsewhere.supervisor.delete("ann", "chat")
        await here.until_nothing_runs()
        assert processes_under(tmp_path) == []
    assert logs_in(tmp_path) == []


async def test_an_agent_that_goes_on_by_itself_is_cancelled_where_its_chat_has_gone_on(
    tmp_path: Path,
) -> None:
    code = """
        emit_input_request(id="r1")
        emit_paused("r1")
        wait_for("go")
        emit_text("I could not wait")
    """
    agent = write_agent(tmp_path / "restless", code)
    async with AsyncExitStack() as stack:
        here, elsewhere = await two(stack, tmp_path, agent)
        begun = await here.begin()
        await here.until_it_waits(begun)
        await elsewhere.store.begin_turn("ann", submit("and?", "m2"), "restless", "emitted")
        (here.state / "go").touch()
        events = await here.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == ("cancelled", "")
        assert InputResponse(id="r1", decision="cancelled") in events


# Servers that died


async def test_a_run_whose_server_died_is_ended_by_another(tmp_path: Path, sleeper: Agent) -> None:
    clock = Clock()
    settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
    async with AsyncExitStack() as stack:
        dead, alive = await two(stack, tmp_path, sleeper, settings=settings)
        lost = (await dead.store.begin_turn("ann", submit(), "sleeper", "emitted")).run
        await dead.store.hand_over(lost.id, lost.epoch)
        said = [
            Start(framework="emitted"),
            ToolUseStart(id="call_1", name="dream"),
            InputRequest(id="r1", kind="question"),
            Text(id="text_1"),
            TextDelta(id="text_1", delta="I will"),
        ]
        await dead.store.append(lost.id, lost.epoch, said, 1000)
        await alive.supervisor.reap()
        assert await alive.events(lost) == said
        clock.now += 3_600_000
        await alive.supervisor.reap()
        await alive.supervisor.reap()
        events = await alive.until_it_ends(lost)
        assert reason_of(events) == "lost"
        assert ToolResult(id="call_1", status="interrupted") in events
        assert InputResponse(id="r1", decision="cancelled") in events
        with pytest.raises(Fenced):
            await dead.store.append(lost.id, lost.epoch, [Done(reason="stop")], 1001)
        assert await alive.events(lost) == events
        again = await alive.begin(submit("still there?", "m2"))
        assert again.id != lost.id


async def test_run_whose_server_died_before_its_agent_started_is_executed_by_another(
    tmp_path: Path, quick: Agent
) -> None:
    clock = Clock()
    settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
    limits = Settings(look=0.02, sweep=3600, notice=3600)
    async with AsyncExitStack() as stack:
        dead, alive = await two(stack, tmp_path, quick, limits, settings)
        begun = (await dead.store.begin_turn("ann", submit(), "quick", "emitted")).run
        start = Start(framework="emitted", agent="quick")
        await dead.store.append(begun.id, begun.epoch, [start], 1000)
        clock.now += 3_600_000
        await alive.supervisor.reap()
        events = await alive.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == ("stop", "here I am")
        assert [event for event in events if isinstance(event, Start)] == [start]
        with pytest.raises(Fenced):  # it was only slow
            await dead.store.hand_over(begun.id, begun.epoch)


async def test_stopped_run_whose_server_died_before_its_agent_started_is_not_executed(
    tmp_path: Path, quick: Agent
) -> None:
    clock = Clock()
    settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
    limits = Settings(look=0.02, sweep=3600, notice=3600)
    async with AsyncExitStack() as stack:
        dead, alive = await two(stack, tmp_path, quick, limits, settings)
        begun = (await dead.store.begin_turn("ann", submit(), "quick", "emitted")).run
        await dead.store.request_stop("ann", begun.id)
        clock.now += 3_600_000
        await alive.supervisor.reap()
        events = await alive.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == ("cancelled", "")


async def test_a_log_that_cannot_be_read_keeps_no_other_run_from_its_end(
    tmp_path: Path, sleeper: Agent
) -> None:
    clock = Clock()
    settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
    async with staged(tmp_path, sleeper, settings=settings) as stage:
        requests = [submit(chat_id=chat_id) for chat_id in ("broken", "whole")]
        begun = [await stage.store.begin_turn("ann", r, "sleeper", "emitted") for r in requests]
        for each in begun:
            await stage.store.hand_over(each.run.id, 1)
            await stage.store.append(each.run.id, 1, [Start(framework="emitted")], 1000)
        with sqlite3.connect(tmp_path / "mobox.db") as connection:
            connection.execute("UPDATE event SET events = '[{' WHERE run = 1")
        connection.close()
        clock.now += 3_600_000
        await stage.supervisor.reap()
        assert reason_of(await stage.until_it_ends(begun[1].run)) == "lost"
        with pytest.raises(CorruptLog):
            await stage.store.history("ann", "broken")


UNTOUCHED = """
CREATE TRIGGER untouched BEFORE UPDATE ON run WHEN OLD.status = 'running'
BEGIN SELECT RAISE(ABORT, 'not this one'); END
"""


async def test_a_run_that_cannot_be_ended_keeps_no_process_that_is_not_wanted_any_more(
    tmp_path: Path, asker: Agent
) -> None:
    clock = Clock()
    settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
    async with AsyncExitStack() as stack:
        here, elsewhere = await two(stack, tmp_path, asker, settings=settings)
        begun = await here.begin()
        await here.until_it_waits(begun)
        await elsewhere.supervisor.stop("ann", begun.id)
        await elsewhere.store.begin_turn("ann", submit(chat_id="lost"), "asker", "emitted")
        clock.now += 3_600_000
        with sqlite3.connect(tmp_path / "mobox.db") as connection:
            connection.execute(UNTOUCHED)
        with pytest.raises(StorageError, match="not this one"):
            await here.supervisor.reap()
        await here.until_nothing_runs()
        connection.execute("DROP TRIGGER untouched")
        connection.close()


async def test_only_one_of_many_reapers_ends_a_run(tmp_path: Path, sleeper: Agent) -> None:
    clock = Clock()
    settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path, sleeper, settings=settings)
        lost = (await one.store.begin_turn("ann", submit(), "sleeper", "emitted")).run
        await one.store.hand_over(lost.id, lost.epoch)
        clock.now += 3_600_000
        for stage in (one, other, other, one):
            await stage.supervisor.reap()
        assert reason_of(await one.until_it_ends(lost)) == "lost"


async def test_a_leg_that_is_late_is_not_lost_to_its_own_server(
    tmp_path: Path, sleeper: Agent
) -> None:
    clock = Clock()
    settings = Settings(clock=clock, lease=3600)
    async with staged(tmp_path, sleeper, settings=settings) as stage:
        begun = await stage.begin()
        await stage.told("ready")
        clock.now += 3_600_000
        assert [late.id for late in await stage.store.expired()] == [begun.id]
        await stage.supervisor.reap()
        (stage.state / "go").touch()
        assert reason_of(await stage.until_it_ends(begun)) == "stop"


async def test_an_agent_dies_whose_run_is_somebody_elses(tmp_path: Path, sleeper: Agent) -> None:
    clock = Clock()
    settings = Settings(clock=clock, lease=3600, poll_seconds=0.02)
    async with AsyncExitStack() as stack:
        here, elsewhere = await two(stack, tmp_path, sleeper, settings=settings)
        begun = await here.begin()
        await here.told("ready")
        clock.now += 3_600_000
        await elsewhere.supervisor.reap()
        (here.state / "go").touch()
        await here.until_nothing_runs()
        events = await elsewhere.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == ("lost", "")


# A database that cannot be written

LOCKED = Settings(poll_seconds=0.02, lease=3600, busy_seconds=0)


class Hold:
    """Another process at the database; a context manager."""

    SHUT: ClassVar[str]
    OPEN: ClassVar[str]

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "mobox.db", isolation_level=None)

    def close(self) -> None:
        self._connection.execute(self.SHUT)

    def open(self) -> None:
        self._connection.execute(self.OPEN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


class Lock(Hold):
    """Keeps everybody from writing, as long as it takes."""

    SHUT, OPEN = "BEGIN IMMEDIATE", "ROLLBACK"


class Fault(Hold):
    """Lets every event that is written fail at once, as a full disk does."""

    SHUT = "CREATE TRIGGER full BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'it is full'); END"
    OPEN = "DROP TRIGGER full"


async def until_it_calls(stage: Stage, begun: Run) -> None:
    async for batch in stage.store.follow(begun.id):
        if any(isinstance(entry.event, ToolUseStart) for entry in batch):
            return


async def test_a_run_whose_database_is_locked_waits(
    tmp_path: Path, sleeper: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    async with staged(tmp_path, sleeper, settings=LOCKED) as stage:
        begun = await stage.begin()
        await until_it_calls(stage, begun)
        with Lock(tmp_path) as lock:
            lock.close()
            (stage.state / "go").touch()
            await until(lambda: "another process" in caplog.text)
            lock.open()
        events = await stage.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == ("stop", "awake")
        assert caplog.text.count("another process") == 1
        assert str(tmp_path) in caplog.text


async def test_a_run_that_cannot_be_written_is_ended_when_it_can(
    tmp_path: Path, sleeper: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    async with staged(tmp_path, sleeper, settings=LOCKED) as stage:
        begun = await stage.begin()
        await until_it_calls(stage, begun)
        with Fault(tmp_path) as fault:
            fault.close()
            (stage.state / "go").touch()
            await stage.until_nothing_runs()
            assert processes_under(tmp_path) == []
            assert f"run {begun.id} (agent sleeper): cannot be stored, ending it" in caplog.text
            assert "Traceback" not in caplog.text
            await stage.supervisor.reap()
            assert (await stage.store.run("ann", begun.id)).status == "running"
            fault.open()
            await stage.supervisor.reap()
        events = await stage.until_it_ends(begun)
        assert (reason_of(events), error_of(events).code) == ("error", "internal")
        assert ToolResult(id="call_1", status="interrupted") in events


async def test_an_answer_that_cannot_be_stored_can_be_given_again(
    tmp_path: Path, asker: Agent
) -> None:
    async with staged(tmp_path, asker, settings=LOCKED) as stage:
        begun = await stage.begin()
        before = await stage.until_it_waits(begun)
        with Fault(tmp_path) as fault:
            fault.close()
            with pytest.raises(StorageError):
                await stage.supervisor.answer("ann", begun.id, approved())
            fault.open()
        assert await stage.events(begun) == before
        assert text_of(await stage.answered(begun)) == "approved"


async def test_who_looks_around_goes_on_when_the_store_is_back(
    tmp_path: Path, sleeper: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    settings = Settings(clock=clock, lease=3600, poll_seconds=0.02, busy_seconds=0)
    limits = Settings(look=0.01, sweep=0.01)
    async with staged(tmp_path, sleeper, limits=limits, settings=settings) as stage:
        lost = (await stage.store.begin_turn("ann", submit(), "sleeper", "emitted")).run
        await stage.store.hand_over(lost.id, lost.epoch)
        with Lock(tmp_path) as lock:
            lock.close()
            clock.now += 3_600_000
            await until(lambda: "ending lost runs failed" in caplog.text)
            lock.open()
        assert reason_of(await stage.until_it_ends(lost)) == "lost"
    line = f"run {lost.id} (agent sleeper, owner 'ann'): ending it as lost: process "
    assert caplog.text.count(line) == 1
