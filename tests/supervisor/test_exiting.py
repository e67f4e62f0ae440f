"""A run ends when its agent says so; the process may take its time to exit."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from mobox.events import Done, SubagentEnd, ToolResult
from mobox.events.turn import Answer
from mobox.settings import Settings
from supervisor.stage import reason_of, staged, submit, text_of, write_agent

pytestmark = pytest.mark.usefixtures("clean")

HURRIED = Settings(look=3600, sweep=3600, notice=3600, exit_seconds=0.05)
STAYS = "emit_text(read_turn().prompt); emit_done(); time.sleep(1000)"


async def test_the_run_of_an_agent_that_stays_has_ended(tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "stays", STAYS)
    async with staged(tmp_path, agent, limits=Settings(look=3600, exit_seconds=3600)) as stage:
        begun = await stage.begin()
        events = await stage.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == ("stop", "hello")
        assert stage.supervisor.running == 1  # it is only exiting
        assert (await stage.store.run("ann", begun.id)).status == "done"


async def test_the_next_message_ends_no_run_and_waits_for_no_sleeper(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = write_agent(tmp_path / "stays", STAYS)
    async with staged(tmp_path, agent, limits=HURRIED) as stage:
        first = await stage.begin(submit("one", "m1"))
        await stage.until_it_ends(first)
        second = await stage.begin(submit("two", "m2"))
        assert text_of(await stage.until_it_ends(second)) == "two"
        assert reason_of(await stage.events(first)) == "stop"
    assert any("had not exited 0.05 s after it was done" in text for text in caplog.messages)


async def test_a_slot_is_free_when_the_run_has_ended(tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "stays", STAYS)
    limits = Settings(look=3600, sweep=3600, notice=3600, exit_seconds=3600, max_runs=1)
    async with staged(tmp_path, agent, limits=limits) as stage:
        for name in ("one", "two", "three"):
            begun = await stage.begin(submit(name, f"m-{name}", name))
            assert text_of(await stage.until_it_ends(begun)) == name
        assert stage.supervisor.running == 3


async def test_a_shutdown_ends_a_process_that_exits_slowly(tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "stays", STAYS)
    async with staged(tmp_path, agent, limits=Settings(look=3600, exit_seconds=3600)) as stage:
        await stage.until_it_ends(await stage.begin())
        await stage.supervisor.close()
        assert stage.supervisor.running == 0


async def test_work_at_exit_gets_its_time(tmp_path: Path) -> None:
    code = """
        import atexit
        atexit.register((state / "flushed").touch)
        emit_text("ok"); emit_done()
    """
    agent = write_agent(tmp_path / "flushes", code)
    async with staged(tmp_path, agent) as stage:
        await stage.until_it_ends(await stage.begin())
        await stage.until_nothing_runs()
        assert (stage.state / "flushed").exists()


async def test_how_it_exits_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = write_agent(tmp_path / "fails", 'emit_text("ok"); emit_done(); sys.exit(3)')
    with caplog.at_level(logging.WARNING):
        async with staged(tmp_path, agent) as stage:
            begun = await stage.begin()
            events = await stage.until_it_ends(begun)
            await stage.until_nothing_runs()
            assert await stage.events(begun) == events
    assert reason_of(events) == "stop"
    assert any(
        "had ended its output when this happened: The agent exited with code 3." in text
        for text in caplog.messages
    )


LINES = (
    b'{"type":"text","data":{"content":"ok"}}\n',
    b'{"type":"done","data":{}}\n',
    b'{"type":"text","data":{"content":"late"}}\n',
)


TOGETHER = b"".join(LINES)


@pytest.mark.parametrize(
    "writes",
    [(TOGETHER,), LINES, (TOGETHER.rstrip(),)],
    ids=["together", "apart", "without the end of the line"],
)
async def test_what_it_writes_later_is_kept_with_its_stderr(
    tmp_path: Path, writes: tuple[bytes, ...]
) -> None:
    code = "\n".join(f"os.write(1, {data!r})" for data in writes)
    agent = write_agent(tmp_path / "late", code, emitter=False)
    async with staged(tmp_path, agent) as stage:
        begun = await stage.begin()
        events = await stage.until_it_ends(begun)
        assert text_of(events) == "ok"
        await stage.until_nothing_runs()
        (kept,) = (await stage.supervisor.stderr_of("ann", begun.id)).values()
        assert kept.rstrip().endswith(LINES[-1].decode().rstrip())


async def test_done_waits_for_what_is_still_at_work(tmp_path: Path) -> None:
    code = """
        call = emit_tool_use("search", {})
        emit_subagent_start("helper", id="s1")
        emit_done()
        emit_tool_result(call, "found")
        emit_text("helped", scope=["s1"])
        emit_subagent_complete("helper", id="s1")
        emit_text("too late")
    """
    agent = write_agent(tmp_path / "parallel", code)
    async with staged(tmp_path, agent) as stage:
        events = await stage.until_it_ends(await stage.begin())
    (result,) = [event for event in events if isinstance(event, ToolResult)]
    assert (result.output, result.status) == ("found", "ok")
    assert any(isinstance(event, SubagentEnd) for event in events)
    assert text_of(events) == "helped"
    assert reason_of(events) == "stop"


async def test_exit_leaves_the_reason_to_the_lines_before(tmp_path: Path) -> None:
    code = 'emit_text("o"); emit("exit"); time.sleep(1000)'
    agent = write_agent(tmp_path / "ends", code)
    async with staged(tmp_path, agent, limits=HURRIED) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert events[-1] == Done(reason="truncated")


async def test_a_run_that_waits_goes_on_waiting_after_exit(tmp_path: Path) -> None:
    code = """
        if not read_turn().answers:
            emit_input_request("approval", id="r1", prompt="May I?"); emit_paused("r1")
        else:
            emit_text("done"); emit_done()
        emit("exit")
    """
    agent = write_agent(tmp_path / "asks", code)
    async with staged(tmp_path, agent) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        assert (await stage.store.run("ann", begun.id)).status == "waiting"
        assert text_of(await stage.answered(begun)) == "done"


@pytest.mark.parametrize("end", ["sys.exit(3)", "time.sleep(1000)"])
async def test_how_a_run_that_waits_exits_changes_nothing(tmp_path: Path, end: str) -> None:
    code = f"""
        if read_turn().answers:
            emit_text("done"); emit_done()
        else:
            emit_input_request("approval", id="r1", prompt="May I?"); emit_paused("r1")
            emit("exit")
            {end}
    """
    agent = write_agent(tmp_path / "asks", code)
    async with staged(tmp_path, agent, limits=HURRIED) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        assert (await stage.store.run("ann", begun.id)).status == "waiting"
        assert text_of(await stage.answered(begun)) == "done"


async def test_an_answer_is_not_lost_however_the_process_exits(tmp_path: Path) -> None:
    code = """
        if read_turn().answers:
            emit_text("done"); emit_done()
        else:
            emit_input_request("approval", id="r1", prompt="May I?"); emit_paused("r1")
            emit("exit")
            wait_for("go")
            sys.exit(3)
    """
    agent = write_agent(tmp_path / "asks", code)
    async with staged(tmp_path, agent, limits=Settings(look=3600, exit_seconds=3600)) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.supervisor.answer(
            "ann", begun.id, (Answer(decision="approved", request_id="r1"),)
        )
        (stage.state / "go").touch()
        assert text_of(await stage.until_it_ends(begun)) == "done"
