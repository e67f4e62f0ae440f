"""Spare processes: started before their turn, for any chat, and nothing of a chat is ever lost."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from mobox.capture.catalog import Agent, agent, load_agent
from mobox.capture.model_access import Caller
from mobox.events import Status
from mobox.events.turn import PromptText, Turn
from mobox.settings import Settings
from mobox.supervisor.spares import version_of
from supervisor.stage import (
    QUIET,
    SETTINGS,
    Stage,
    let_pass,
    processes_under,
    reason_of,
    staged,
    submit,
    text_of,
    write_agent,
)
from support.waiting import until

pytestmark = pytest.mark.usefixtures("clean")

REMEMBERS = """
    turn = read_turn()
    with (state / "memory").open("a") as memory:
        memory.write(turn.prompt + ";")
    emit_text("warm " if ".spares" in str(state) else "cold ")
    emit_text((state / "memory").read_text())
    emit_done()
"""


@pytest.fixture
def remembers(tmp_path: Path) -> Agent:
    return write_agent(tmp_path / "warm", REMEMBERS, "warm: 1")


async def said(stage: Stage, text: str, message_id: str, chat_id: str = "chat") -> str:
    """What the agent answers, in a chat of which no process is left then."""
    begun = await stage.begin(submit(text, message_id, chat_id))
    events = await stage.until_it_ends(begun)
    await stage.until_nothing_runs()
    assert reason_of(events) == "stop"
    return text_of(events)


async def until_warm(stage: Stage, number: int = 1) -> None:
    await until(lambda: stage.supervisor.spares == number)


def spare_folders(folder: Path) -> list[Path]:
    return list((folder / "state" / ".spares").glob("*"))


async def test_a_chat_keeps_its_state_in_cold_and_warm_turns(
    tmp_path: Path, remembers: Agent
) -> None:
    async with staged(tmp_path, remembers, warm=True) as stage:
        assert await said(stage, "a", "m1") == "cold a;"
        await until_warm(stage)
        assert await said(stage, "b", "m2") == "warm a;b;"
        await until_warm(stage)
        assert await said(stage, "x", "m3", "other") == "warm x;"
        assert await said(stage, "c", "m4") in ("warm a;b;c;", "cold a;b;c;")
    assert {path.read_text() for path in (tmp_path / "state").glob("*/memory")} == {"a;b;c;", "x;"}
    assert spare_folders(tmp_path) == []


async def test_output_of_a_process_that_has_ended_is_read_whole(
    tmp_path: Path, remembers: Agent
) -> None:
    async with staged(tmp_path, remembers, warm=True) as stage:
        await said(stage, "a", "m1")
        await until_warm(stage)
        spares, state = stage.supervisor._spares, tmp_path / "state" / "of-a-chat"
        caller = Caller(run_id="r", attempt=1, owner="ann", agent="warm")
        execution = await spares.take(remembers, state, caller)
        assert execution is not None
        async with execution:
            turn = Turn(chat_id="c", run_id="r", prompt=(PromptText(text="b"),))
            execution.hand_over(turn)
            await until(lambda: not spare_folders(tmp_path))  # it has ended, and all is cleaned up
            output = b"".join([data async for data in execution.batches()])
    assert [json.loads(line)["type"] for line in output.splitlines()] == ["text", "text", "done"]


async def test_an_agent_without_warm_has_no_spares(tmp_path: Path) -> None:
    cold = write_agent(tmp_path / "cold", REMEMBERS)
    async with staged(tmp_path, cold, warm=True) as stage:
        assert await said(stage, "a", "m1") == "cold a;"
        assert await said(stage, "b", "m2") == "cold a;b;"
        assert (stage.supervisor.spares, spare_folders(tmp_path)) == (0, [])


async def test_no_spares_where_the_server_allows_none(tmp_path: Path, remembers: Agent) -> None:
    limits = Settings(look=3600, sweep=3600, notice=3600, max_spares=0)
    async with staged(tmp_path, remembers, warm=True, limits=limits) as stage:
        assert await said(stage, "a", "m1") == "cold a;"
        assert await said(stage, "b", "m2") == "cold a;b;"
        assert spare_folders(tmp_path) == []


async def test_a_function_has_no_spares(tmp_path: Path) -> None:
    async with staged(tmp_path, agent("it")(lambda: "hi"), warm=True) as stage:
        assert await said(stage, "a", "m1") == "hi"
        assert spare_folders(tmp_path) == []


async def test_two_chats_at_once_with_one_spare(tmp_path: Path) -> None:
    go = tmp_path / "go"
    hold = f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)\n    emit_done()"
    slow = write_agent(tmp_path / "warm", REMEMBERS.replace("emit_done()", hold), "warm: 1")
    async with staged(tmp_path, slow, warm=True) as stage:
        first = await stage.begin(submit("a", "m1", "one"))
        await until_warm(stage)  # while the first still runs
        names = ("two", "three")
        others = await asyncio.gather(
            *(stage.begin(submit("b", f"m-{name}", name)) for name in names)
        )
        await until(lambda: len(list((tmp_path / "state").rglob("memory"))) == 3)
        go.touch()
        answers = [text_of(await stage.until_it_ends(run)) for run in (first, *others)]
    assert answers[0] == "cold a;"
    assert sorted(answers[1:]) == ["cold b;", "warm b;"]


async def test_a_changed_file_of_the_agent_counts_at_once(tmp_path: Path, remembers: Agent) -> None:
    async with staged(tmp_path, remembers, warm=True) as stage:
        await said(stage, "a", "m1")
        await until_warm(stage)
        script = remembers.folder / "run_agent.py"
        old = script.read_text()
        script.write_text(old.replace('"cold "', '"new cold "').replace('"warm "', '"new warm "'))
        # The end of a run prepares spares, too: it may have replaced the old one by now.
        assert await said(stage, "b", "m2") in ("new cold a;b;", "new warm a;b;")
        await until_warm(stage)
        assert await said(stage, "c", "m3") == "new warm a;b;c;"


def test_a_version_knows_the_configuration_the_files_and_the_environment(
    tmp_path: Path, remembers: Agent
) -> None:
    known = load_agent(remembers.folder)
    before = version_of(known, {"TZ": "UTC"})
    assert version_of(load_agent(remembers.folder), {"TZ": "UTC"}) == before
    assert version_of(known, {"TZ": "CET"}) != before
    (remembers.folder / "__pycache__").mkdir()
    (remembers.folder / "__pycache__" / "x.pyc").touch()
    assert version_of(known, {"TZ": "UTC"}) == before
    (remembers.folder / "tools").mkdir()
    (remembers.folder / "tools" / "search.py").touch()
    assert version_of(known, {"TZ": "UTC"}) != before


async def test_an_unused_spare_expires(tmp_path: Path, remembers: Agent) -> None:
    limits = Settings(look=3600, sweep=3600, notice=3600, spare_seconds=0.2)
    async with staged(tmp_path, remembers, warm=True, limits=limits) as stage:
        await said(stage, "a", "m1")
        await until(lambda: stage.supervisor.spares == 0 and not spare_folders(tmp_path))
        assert processes_under(tmp_path) == []


async def test_the_oldest_spare_makes_room(tmp_path: Path, remembers: Agent) -> None:
    other = write_agent(tmp_path / "other", REMEMBERS, "warm: 1")
    limits = Settings(look=3600, sweep=3600, notice=3600, max_spares=1)
    async with staged(tmp_path, remembers, other, warm=True, limits=limits) as stage:
        await said(stage, "a", "m1")
        await until_warm(stage)
        begun = await stage.begin(submit("b", "m2", "two", agent="other"))
        await stage.until_it_ends(begun)
        await until(lambda: len(processes_under(tmp_path / "state" / ".spares")) == 2)
        assert stage.supervisor.spares == 1


async def test_a_spare_that_ends_is_not_handed_out_and_soon_not_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = """
        if ".spares" in str(state):
            sys.exit("no network for my-secret-key")
        emit_text(read_turn().prompt); emit_done()
    """
    dying = write_agent(tmp_path / "dying", code, "warm: 1\nenv: {KEY: my-secret-key}")
    with caplog.at_level(logging.WARNING):
        async with staged(tmp_path, dying, warm=True) as stage:
            for number in range(5):
                assert await said(stage, "a", f"m{number}") == "a"
                await until(lambda: not spare_folders(tmp_path))
    ended = [text for text in caplog.messages if "a spare process ended" in text]
    # A run prepares one at its first output, and one at its end if that has ended meanwhile.
    assert len(ended) == 3
    assert ended[0].endswith("turn: The agent exited with code 1: no network for [KEY]")


async def test_an_agent_that_uses_its_state_before_its_turn_has_no_spares(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = """
        (state / "opened").touch()
        emit_text("warm" if ".spares" in str(state) else "cold"); read_turn(); emit_done()
    """
    early = write_agent(tmp_path / "early", code, "warm: 1")
    with caplog.at_level(logging.WARNING):
        async with staged(tmp_path, early, warm=True) as stage:
            assert await said(stage, "a", "m1") == "cold"
            await until(lambda: list((tmp_path / "state" / ".spares").glob("*/box/state/opened")))
            assert await said(stage, "b", "m2") == "cold"
            assert await said(stage, "c", "m3") == "cold"
            assert stage.supervisor.spares == 0
    (given_up,) = [text for text in caplog.messages if "no more spare processes" in text]
    assert "it wrote 'opened' to its state folder before it read its turn" in given_up


async def test_output_before_the_turn_belongs_to_the_next_turn(tmp_path: Path) -> None:
    code = """
        emit_text("loaded "); print("hm", file=sys.stderr)
        emit_text(read_turn().prompt); emit_done()
    """
    loud = write_agent(tmp_path / "loud", code, "warm: 1")
    async with staged(tmp_path, loud, warm=True) as stage:
        await said(stage, "a", "m1")
        await until_warm(stage)
        begun = await stage.begin(submit("b", "m2"))
        events = await stage.until_it_ends(begun)
        assert text_of(events) == "loaded b"
        await stage.until_nothing_runs()
        assert await stage.supervisor.stderr_of("ann", begun.id) == {1: "hm\n"}


async def test_a_warm_start_is_not_announced(tmp_path: Path) -> None:
    code = """
        spare = ".spares" in str(state)
        if spare: (state.parent.parent / "waits").touch()
        else: (state / "ready").exists() or wait_for("ready")
        read_turn(); emit_text("warm" if spare else "cold"); emit_done()
    """
    limits = Settings(look=3600, sweep=3600, notice=0.5)
    slow = write_agent(tmp_path / "slow", code, "warm: 1")
    async with staged(tmp_path, slow, warm=True, limits=limits) as stage:
        first = await stage.begin()
        async for batch in stage.store.follow(first.id):
            if any(isinstance(entry.event, Status) for entry in batch):
                break
        (stage.state / "ready").touch()
        await stage.until_it_ends(first)
        await until(lambda: list((tmp_path / "state" / ".spares").glob("*/waits")))
        events = await stage.until_it_ends(await stage.begin(submit("b", "m2")))
        assert text_of(events) == "warm"
        assert not any(isinstance(event, Status) for event in events)


async def test_deleting_a_chat_while_a_spare_has_its_folder(tmp_path: Path) -> None:
    code = REMEMBERS.replace("emit_done()", 'wait_for("go"); emit_done()')
    slow = write_agent(tmp_path / "warm", code, "warm: 1")
    async with staged(tmp_path, slow, warm=True) as stage:
        first = await stage.begin(submit("a", "m1", "one"))
        await until_warm(stage)
        await stage.begin(submit("b", "m2", "two"))
        lent = tmp_path / "state" / ".spares"
        await until(lambda: list(lent.glob("*/box/state/memory")))
        await stage.supervisor.delete("ann", "two")
        assert len([each for each in (tmp_path / "state").iterdir() if each != lent]) == 1
        (stage.state / "go").touch()
        await stage.until_it_ends(first)
        await until(lambda: not list(lent.glob("*/box/state/memory")))


async def test_the_folder_comes_back_when_the_keeper_is_killed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = """
        turn = read_turn()
        (state / turn.prompt).touch()
        if turn.prompt == "die":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1000)
        emit_text(" ".join(sorted(each.name for each in state.iterdir()))); emit_done()
    """
    fatal = write_agent(tmp_path / "fatal", code, "warm: 1")
    async with staged(tmp_path, fatal, warm=True) as stage:
        assert await said(stage, "a", "m1") == "a"
        await until_warm(stage)
        events = await stage.until_it_ends(await stage.begin(submit("die", "m2")))
        assert reason_of(events) == "error"
        assert await said(stage, "b", "m3") == "a b die"
    assert spare_folders(tmp_path) == []
    assert any("put back the state folder" in text for text in caplog.messages)


STAGES = {
    "a spare waits": ("has a spare", "a;"),
    "a run has the folder": ("*/.spares/*/box/state/again", "a;again;"),
    "the process exits": ("has ended", "a;again;"),
}


def children_of(parent: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.add(int(stat.parent.name))
    return found


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def start_server(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "supervisor.warm_server", str(folder)]
    return subprocess.Popen(command, cwd=Path(__file__).parents[1])


@pytest.mark.parametrize("stage_name", STAGES)
@pytest.mark.parametrize("keepers", [False, True], ids=["server", "server and keepers"])
async def test_nothing_is_lost_when_the_server_is_killed(
    tmp_path: Path, stage_name: str, keepers: bool
) -> None:
    sign, memory = STAGES[stage_name]
    code = """
        turn = read_turn()
        text = "again" if turn.prompt == "again" else "a"
        with (state / "memory").open("a") as memory:
            memory.write(text + ";")
        (state / text).touch()
        if text == "again" and not (state.parents[4] / "end").exists():
            time.sleep(1000)
        emit_text(text); emit_done()
        if text == "again":
            time.sleep(1000)
    """
    warm = write_agent(tmp_path / "warm", code, "warm: 1")
    if sign == "has ended":
        (tmp_path / "end").touch()
    server = start_server(tmp_path)
    try:
        await until((tmp_path / "has a spare").exists)
        if sign != "has a spare":
            (tmp_path / "next").touch()
            await until(lambda: list(tmp_path.glob(sign)))
        os.kill(server.pid, signal.SIGSTOP)  # it must not put the folder back meanwhile
        started = children_of(server.pid)  # also those that have not become a keeper yet
        for pid in {*processes_under(tmp_path), *started} if keepers else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    finally:
        server.kill()
        server.wait()
    await until(lambda: not any(map(is_running, started)))
    await until(lambda: processes_under(tmp_path) == [])
    async with staged(tmp_path, warm, settings=SETTINGS, limits=QUIET) as stage:
        assert (stage.state / "memory").read_text() == memory
        assert not (stage.state / ".mobox-lent").exists()
        assert spare_folders(tmp_path) == []


async def test_a_stop_at_any_moment_of_the_hand_over(tmp_path: Path, remembers: Agent) -> None:
    async with staged(tmp_path, remembers, warm=True) as stage:
        await said(stage, "a;", "m")
        for number in range(12):
            await until_warm(stage)
            begun = await stage.begin(submit("b", f"m{number}"))
            await let_pass(3 * number)
            await stage.supervisor.stop("ann", begun.id)
            assert reason_of(await stage.until_it_ends(begun)) in ("cancelled", "stop")
            await said(stage, "c", f"n{number}", "other")  # which starts another spare
        answer = await said(stage, "d", "last")
        assert answer.split(" ")[1].startswith("a;") and answer.endswith("d;")
    assert len(list((tmp_path / "state").glob("*/memory"))) == 2
    assert spare_folders(tmp_path) == []
