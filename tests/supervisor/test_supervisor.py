"""Runs in the world: whatever happens at the same time, each has one end or waits for one."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from mobox.capture.catalog import Agent, Catalog
from mobox.errors import (
    KeyReused,
    LogDeleted,
    RunActive,
    RunNotFound,
    ShuttingDown,
    TooManyRuns,
    UnknownAgent,
)
from mobox.events import Error, Raw, Start, Status, ToolResult
from mobox.events.turn import Action, Cut, Place, Request
from mobox.settings import Settings
from mobox.storage import open_storage
from mobox.supervisor import Supervisor
from supervisor.stage import (
    QUIET,
    Stage,
    both_stores,
    error_of,
    let_pass,
    processes_under,
    reason_of,
    staged,
    submit,
    text_of,
    url_of,
    write_agent,
)

pytestmark = pytest.mark.usefixtures("clean")


@pytest.fixture
def store() -> str:
    """The kind of store; tests that are for both say so."""
    return "sqlite"


@pytest.fixture
def url(store: str, tmp_path: Path) -> str:
    return url_of(store, tmp_path)


@pytest.fixture
def echo(tmp_path: Path) -> Agent:
    return write_agent(tmp_path / "echo", "emit_text(read_turn().prompt); emit_done()")


@pytest.fixture
def sleeper(tmp_path: Path) -> Agent:
    """Works until it is stopped, or finds the file `go`."""
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
def historian(tmp_path: Path) -> Agent:
    code = """
        turn = read_turn()
        emit_text(repr([message["content"] for message in turn.messages()]))
        if turn.prompt == "crash":
            emit_tool_use("burn", {"what": "bridges"}, id="call_1")
            sys.exit(3)
        emit_done()
    """
    return write_agent(tmp_path / "historian", code)


turns_of_the_loop = pytest.mark.parametrize("turns", [0, 1, 3, 6])
"""Something is a little further each time."""


# Beginning


@both_stores
async def test_a_turn_is_answered_by_its_agent(tmp_path: Path, url: str, echo: Agent) -> None:
    async with staged(tmp_path, echo, url=url) as stage:
        begun = await stage.begin(submit("good morning"))
        events = await stage.until_it_ends(begun)
        assert events[0] == Start(framework="emitted", agent="echo", prompt_preview="good morning")
        assert not any(isinstance(event, Status) for event in events)
        assert (text_of(events), reason_of(events)) == ("good morning", "stop")
        assert (await stage.store.run("ann", begun.id)).status == "done"
        raw = await stage.store.raw_lines(begun.id)
        assert [line.line for line in raw] == [
            b'{"type": "text", "data": {"content": "good morning"}}',
            b'{"type": "done", "data": {}}',
        ]
        await stage.until_nothing_runs()


@both_stores
async def test_a_request_that_comes_50_times_at_once_is_one_run(
    tmp_path: Path, url: str, echo: Agent
) -> None:
    limits = Settings(max_runs=1, look=3600, sweep=3600)
    async with staged(tmp_path, echo, url=url, limits=limits) as stage:
        sent = [stage.supervisor.begin("ann", submit(key="once")) for _ in range(50)]
        begun = await asyncio.gather(*sent)
        assert len({each.run.id for each in begun}) == 1
        assert [each.created for each in begun].count(True) == 1
        await stage.until_it_ends(begun[0].run)
        await stage.until_nothing_runs()
        again = await stage.supervisor.begin("ann", submit(key="once"))
        assert (again.run.id, again.created) == (begun[0].run.id, False)
        assert stage.supervisor.running == 0
        assert len(await stage.store.runs("ann", "chat")) == 1
        with pytest.raises(KeyReused):
            await stage.begin(submit("other words", key="once"))


@turns_of_the_loop
async def test_a_run_goes_on_when_whoever_asked_for_it_is_gone(
    tmp_path: Path, url: str, echo: Agent, turns: int
) -> None:
    async with staged(tmp_path, echo, url=url) as stage:
        asking = asyncio.create_task(stage.begin(submit(key="once")))
        await let_pass(turns)
        asking.cancel()
        begun = await stage.begin(submit(key="once"))
        assert reason_of(await stage.until_it_ends(begun)) == "stop"
        assert len(await stage.store.runs("ann", "chat")) == 1


async def test_while_a_run_goes_on_its_chat_takes_no_other(
    tmp_path: Path, url: str, sleeper: Agent
) -> None:
    async with staged(tmp_path, sleeper, url=url) as stage:
        begun = await stage.begin()
        await stage.told("ready")
        with pytest.raises(RunActive) as refused:
            await stage.begin(submit("and?", "m2"))
        assert refused.value.run_id == begun.id
        (stage.state / "go").touch()
        assert reason_of(await stage.until_it_ends(begun)) == "stop"


@both_stores
async def test_who_stops_and_asks_again_at_once_is_not_refused(
    tmp_path: Path, url: str, sleeper: Agent, echo: Agent
) -> None:
    limits = Settings(max_runs=1, look=3600, sweep=3600)
    async with staged(tmp_path, sleeper, echo, url=url, limits=limits) as stage:
        first = await stage.begin()
        await stage.told("ready")
        await stage.supervisor.stop("ann", first.id)
        second = await stage.begin(submit("and now?", "m2", agent="echo"))
        assert reason_of(await stage.until_it_ends(first)) == "cancelled"
        assert text_of(await stage.until_it_ends(second)) == "and now?"


async def test_which_agent_answers(tmp_path: Path, url: str, echo: Agent, historian: Agent) -> None:
    async with staged(tmp_path, echo, historian, url=url) as stage:

        async def agent_of(request: Request) -> str:
            begun = await stage.begin(request)
            await stage.until_it_ends(begun)
            return begun.agent

        assert await agent_of(submit()) == "echo"
        assert await agent_of(submit(message_id="m2", agent="historian")) == "historian"
        assert await agent_of(submit(message_id="m3")) == "historian"
        with pytest.raises(UnknownAgent):
            await stage.begin(submit(message_id="m4", agent="nobody"))


async def test_without_a_default_the_first_agent_answers(tmp_path: Path, echo: Agent) -> None:
    async with staged(tmp_path, url="memory:") as stage:
        with pytest.raises(UnknownAgent):
            await stage.begin()
        stage.supervisor.catalog.add(echo)
        assert text_of(await stage.until_it_ends(await stage.begin())) == "hello"


async def test_an_agent_that_cannot_be_started_is_an_error(
    tmp_path: Path, url: str, echo: Agent
) -> None:
    async with staged(tmp_path, echo, url=url) as stage:
        shutil.rmtree(echo.folder)
        events = await stage.until_it_ends(await stage.begin())
        assert reason_of(events) == "error"
        error = error_of(events)
        assert (error.code, error.message) == (
            "agent_start",
            "The agent cannot be started: No such file or directory.",
        )


async def test_a_framework_that_nobody_knows_is_an_error(
    tmp_path: Path, url: str, echo: Agent
) -> None:
    lost = Agent(id="lost", name="lost", folder=echo.folder, argv=echo.argv, framework="forgotten")
    async with staged(tmp_path, lost, url=url) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert (reason_of(events), error_of(events).code) == ("error", "internal")
        assert processes_under(tmp_path) == []


async def test_the_agents_of_this_repository_run_as_they_are(tmp_path: Path) -> None:
    agents = Path(__file__).parents[2] / "agents"
    store = await open_storage("memory:")
    async with Supervisor(store, Catalog.load(agents), tmp_path) as supervisor:
        stage = Stage(tmp_path, store, supervisor)
        events = await stage.until_it_ends(await stage.begin(submit("text Hi!", agent="demo")))
        assert (text_of(events), reason_of(events)) == ("Hi!", "stop")
    await store.close()


# What an agent is told


async def said(stage: Stage, request: Request) -> str:
    return text_of(await stage.until_it_ends(await stage.begin(request)))


async def test_an_agent_is_told_what_was_said_before(
    tmp_path: Path, url: str, historian: Agent
) -> None:
    async with staged(tmp_path, historian, url=url) as stage:
        first = await said(stage, submit("one"))
        assert first == "['one']"
        second = await said(stage, submit("two", "m2"))
        assert second == repr(["one", first, "two"])
        again = Request(
            chat_id="chat",
            action=Action.REGENERATE,
            cut=Cut(Place.BEFORE, (await stage.store.runs("ann", "chat"))[1].id),
        )
        assert await said(stage, again) == second
        edited = submit("three", "m3")
        edited = Request(
            chat_id="chat",
            action=Action.EDIT,
            message=edited.message,
            cut=Cut(Place.BEFORE, "m2"),
        )
        assert await said(stage, edited) == repr(["one", first, "three"])
        runs = await stage.store.runs("ann", "chat")
        assert [each.superseded for each in runs] == [False, True, True, False]
        messages = (await stage.store.history("ann", "chat")).messages
        assert [message.id for message in messages] == ["m1", runs[0].id, "m3", runs[3].id]


async def test_history_is_valid_wherever_a_run_broke_off(tmp_path: Path, url: str) -> None:
    code = """
        turn = read_turn()
        if turn.prompt == "crash":
            emit_tool_use("burn", {"what": "bridges"}, id="call_1")
            sys.exit(3)
        tools = [part for message in turn.history for part in message["parts"]
                 if part["type"] == "tool"]
        emit_text(repr([(tool["ended"], tool["status"]) for tool in tools]))
        emit_done()
    """
    agent = write_agent(tmp_path / "agent", code)
    async with staged(tmp_path, agent, url=url) as stage:
        events = await stage.until_it_ends(await stage.begin(submit("crash")))
        assert reason_of(events) == "error"
        assert ToolResult(id="call_1", status="interrupted") in events
        assert await said(stage, submit("go on", "m2")) == repr([(True, "interrupted")])


# Limits


async def test_who_has_enough_runs_may_not_begin_another(
    tmp_path: Path, url: str, sleeper: Agent
) -> None:
    limits = Settings(max_runs=3, max_runs_per_owner=2, look=3600, sweep=3600)
    async with staged(tmp_path, sleeper, url=url, limits=limits) as stage:
        own = [stage.begin(submit(chat_id=f"c{n}")) for n in range(5)]
        begun = await asyncio.gather(*own, return_exceptions=True)
        assert [type(each).__name__ for each in begun].count("Run") == 2
        assert [isinstance(each, TooManyRuns) for each in begun].count(True) == 3
        await stage.begin(submit(chat_id="bob's"), "bob")
        with pytest.raises(TooManyRuns):
            await stage.begin(submit(chat_id="cleo's"), "cleo")
        assert stage.supervisor.running == 3


LATE = {
    "timeouts: {idle: 0.2}": ("idle_timeout", "The agent produced no output for 0.2 seconds."),
    "timeouts: {total: 0.3, idle: 5}": ("timeout", "The agent took longer than 0.3 seconds."),
}


@pytest.mark.parametrize("yaml", LATE)
async def test_an_agent_that_takes_too_long_is_ended(tmp_path: Path, url: str, yaml: str) -> None:
    agent = write_agent(tmp_path / "slow", "wait_for('the moon to fall')", yaml)
    async with staged(tmp_path, agent, url=url) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert reason_of(events) == "error"
        assert (error_of(events).code, error_of(events).message) == LATE[yaml]


async def test_an_agent_that_talks_is_not_idle_but_has_only_its_time(
    tmp_path: Path, url: str
) -> None:
    code = """
        while True:
            emit_status("busy")
            time.sleep(0.02)
    """
    agent = write_agent(tmp_path / "busy", code, "timeouts: {idle: 10, total: 0.5}")
    async with staged(tmp_path, agent, url=url) as stage:
        assert error_of(await stage.until_it_ends(await stage.begin())).code == "timeout"


# Stopping


@both_stores
async def test_stop_ends_a_run_and_all_that_is_open_in_it(
    tmp_path: Path, url: str, sleeper: Agent
) -> None:
    async with staged(tmp_path, sleeper, url=url) as stage:
        begun = await stage.begin()
        await stage.told("ready")
        for _ in range(3):
            await stage.supervisor.stop("ann", begun.id)
        events = await stage.until_it_ends(begun)
        assert reason_of(events) == "cancelled"
        assert ToolResult(id="call_1", status="interrupted") in events
        assert (await stage.supervisor.stop("ann", begun.id)).status == "done"
        assert await stage.until_it_ends(begun) == events


@turns_of_the_loop
async def test_a_run_can_be_stopped_while_it_starts(
    tmp_path: Path, url: str, sleeper: Agent, turns: int
) -> None:
    async with staged(tmp_path, sleeper, url=url) as stage:
        begun = await stage.begin()
        await let_pass(turns)
        await stage.supervisor.stop("ann", begun.id)
        assert reason_of(await stage.until_it_ends(begun)) == "cancelled"
        await stage.until_nothing_runs()


async def test_only_the_owner_can_stop_a_run(tmp_path: Path, url: str, sleeper: Agent) -> None:
    async with staged(tmp_path, sleeper, url=url) as stage:
        begun = await stage.begin()
        for ask in (stage.supervisor.stop, stage.store.run):
            with pytest.raises(RunNotFound):
                await ask("bob", begun.id)
        assert stage.supervisor.running == 1


# Deleting


@both_stores
async def test_a_chat_can_be_deleted_while_its_run_goes_on(
    tmp_path: Path, url: str, sleeper: Agent
) -> None:
    async with staged(tmp_path, sleeper, url=url) as stage:
        begun = await stage.begin()
        await stage.told("ready")
        await stage.supervisor.delete("ann", "chat")
        assert stage.supervisor.running == 0
        assert processes_under(tmp_path) == []
        assert list((tmp_path / "state").iterdir()) == []
        with pytest.raises(LogDeleted):
            await stage.store.run("ann", begun.id)
        again = await stage.begin(submit(agent="sleeper"))
        assert again.id != begun.id


async def test_a_chat_can_be_deleted_while_its_run_starts(
    tmp_path: Path, url: str, sleeper: Agent
) -> None:
    async with staged(tmp_path, sleeper, url=url) as stage:
        await stage.begin()
        await stage.supervisor.delete("ann", "chat")
        assert stage.supervisor.running == 0
        assert processes_under(tmp_path) == []


# The server ends


@both_stores
async def test_what_runs_when_the_server_ends_is_interrupted(
    tmp_path: Path, url: str, sleeper: Agent
) -> None:
    async with staged(tmp_path, sleeper, url=url) as stage:
        running = await stage.begin()
        await stage.told("ready")
        starting = await stage.begin(submit(chat_id="other"))
        await stage.supervisor.close()
        assert stage.supervisor.closing
        for begun in (running, starting):
            assert reason_of(await stage.until_it_ends(begun)) == "interrupted"
        with pytest.raises(ShuttingDown):
            await stage.begin(submit(chat_id="late"))
        await stage.supervisor.close()


@turns_of_the_loop
async def test_a_run_that_is_just_being_begun_when_the_server_ends_is_interrupted(
    tmp_path: Path, url: str, sleeper: Agent, turns: int
) -> None:
    async with staged(tmp_path, sleeper, url=url) as stage:
        asking = asyncio.create_task(stage.begin())
        await let_pass(turns)
        await stage.supervisor.close()
        (outcome,) = await asyncio.gather(asking, return_exceptions=True)
        if not isinstance(outcome, BaseException):
            assert reason_of(await stage.until_it_ends(outcome)) == "interrupted"
        else:
            assert isinstance(outcome, ShuttingDown)
        assert stage.supervisor.running == 0


async def test_who_does_not_listen_when_the_server_ends_is_killed(tmp_path: Path, url: str) -> None:
    code = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        (state / "ready").touch()
        while True:
            time.sleep(1)
    """
    agent = write_agent(tmp_path / "deaf", code)
    limits = Settings(look=3600, sweep=3600, exit_grace=0.1)
    async with staged(tmp_path, agent, url=url, limits=limits) as stage:
        begun = await stage.begin()
        await stage.told("ready")
        await stage.supervisor.close()
        assert reason_of(await stage.until_it_ends(begun)) == "interrupted"


async def test_noise_before_the_first_word_is_kept(tmp_path: Path, url: str) -> None:
    agent = write_agent(tmp_path / "noisy", "os.write(1, b'x')")
    agent = Agent(
        id="noisy", name="n", folder=agent.folder, argv=("sh", "-c", "echo booting; echo '[1'")
    )
    async with staged(tmp_path, agent, url=url, limits=QUIET) as stage:
        events = await stage.until_it_ends(await stage.begin())
        raws = [event.raw for event in events if isinstance(event, Raw)]
        assert (raws, reason_of(events)) == (["booting", "[1"], "error")
        assert error_of(events).code == "not_understood"


FAILING = {
    "by its exit code": "sys.exit(1)",
    "in its own words": "emit_error('no key'); emit_done()",
    "in words that nobody can read": "emit('no_key', {}); emit_done()",
    "not at all": "emit_done()",
}


@pytest.mark.parametrize("end", FAILING)
@pytest.mark.parametrize("name", ["MISSING_KEY", "HOME"])
async def test_a_run_that_fails_tells_which_variable_the_server_does_not_have(
    tmp_path: Path, url: str, end: str, name: str
) -> None:
    agent = write_agent(tmp_path / "needy", FAILING[end], f"env: [{name}]")
    problem = "gent 'needy' names MISSING_KEY in env, but the server has no value for it"
    async with staged(tmp_path, agent, url=url) as stage:
        events = await stage.until_it_ends(await stage.begin())
        notices = [e.message for e in events if isinstance(e, Status) and e.kind == "notice"]
        errors = [e.message for e in events if isinstance(e, Error)]
        fails = end != "not at all"
        explained = [message for message in notices + errors if problem in message]
        assert len(explained) == (1 if fails and name == "MISSING_KEY" else 0)
        assert reason_of(events) == ("error" if fails else "stop")
