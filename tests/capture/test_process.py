"""Agents as processes: whatever they do, their run ends, and nothing of them stays."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mobox import LogEntry, Recorder
from mobox.capture.execution import STDERR_TAIL, Outcome
from mobox.capture.process import READ_SIZE, ProcessExecution, StopTimeouts
from mobox.events import Done, Error, InputRequest, Paused, Raw, TextDelta
from mobox.events.turn import Answer, HistoryMessage, PromptText, Turn
from mobox.sandbox import Job, get_sandbox
from support.grammar_log import legal_log
from support.waiting import until, wait_until

T = TypeVar("T")

LIMIT = 60
"""Seconds in which anything here should long have happened."""
HASTY = StopTimeouts(message=0.1, term=0.2, kill=LIMIT)
TERMINATING = StopTimeouts(message=0.05, term=LIMIT)
"""For those who obey TERM, however long that takes."""
TURN = Turn(prompt=(PromptText(text="hello"),))


def processes_of(state: Path) -> list[int]:
    """The processes that have this state folder in their environment, in whatever session."""
    mark = f"MOBOX_STATE={state}".encode()
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
        except OSError:
            continue
    return found


def descriptors() -> dict[str, str]:
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the listing itself
            found[entry.name] = str(entry.readlink())
    return found


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A state folder; afterwards no process, thread or descriptor is left."""
    folder, before, threads = tmp_path / "state", descriptors(), threading.enumerate()
    yield folder
    assert processes_of(folder) == []
    assert set(threading.enumerate()) <= set(threads)
    assert descriptors().items() <= before.items()


@pytest.fixture
def job(state: Path, tmp_path: Path) -> Callable[[str], Job]:
    def job(code: str, **more: Any) -> Job:
        argv = (sys.executable, "-c", textwrap.dedent(code))
        return Job(argv=argv, folder=tmp_path, state=state, **more)

    return job


Make = Callable[..., Job]


def start(job: Job, turn: Turn = TURN, patience: StopTimeouts = HASTY) -> ProcessExecution:
    return ProcessExecution.start(job, turn, get_sandbox("process"), patience)


async def record(execution: ProcessExecution) -> tuple[list[LogEntry], Outcome]:
    """What the supervisor does with an execution, without the world around it."""
    recorder, log = Recorder("emitted"), []
    async with execution:
        async for data in execution.batches():
            assert len(data) <= READ_SIZE
            log += recorder.read(data)
        outcome = await execution.outcome()
    failure = outcome.failure()
    log += recorder.feed([failure] if failure else [])
    log += recorder.close(Done(reason="error") if failure else None)
    legal_log([entry.event for entry in log])
    return log, outcome


async def recorded(job: Job, turn: Turn = TURN) -> tuple[list[LogEntry], Outcome]:
    return await record(start(job, turn))


def text_of(log: list[LogEntry]) -> str:
    return "".join(e.event.delta for e in log if isinstance(e.event, TextDelta))


def reason_of(log: list[LogEntry]) -> str:
    assert isinstance(log[-1].event, Done)
    return log[-1].event.reason


def raws_of(log: list[LogEntry]) -> list[Any]:
    return [entry.event.raw for entry in log if isinstance(entry.event, Raw)]


# What an agent gets and says


async def test_agent_reads_its_turn_and_its_output_is_read(job: Make) -> None:
    history = HistoryMessage(id="m1", role="assistant", parts=({"type": "text", "text": "Hi"},))
    turn = Turn(prompt=TURN.prompt, history=(history,), resume={"at": 3})
    log, outcome = await recorded(
        job("""
        from shared.emitter import *
        turn = read_turn()
        emit_text(repr((turn.prompt, turn.messages(), turn.answers, turn.resume)))
        emit_done()
        """),
        turn,
    )
    messages = [
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "hello"},
    ]
    assert text_of(log) == repr(("hello", messages, [], {"at": 3}))
    assert outcome == Outcome(exit_code=0)
    assert outcome.failure() is None
    assert reason_of(log) == "stop"


async def test_answer_reaches_the_waiting_agent(job: Make) -> None:
    agent = job("""
        from shared.emitter import *
        emit_text(repr(ask("Which?", options=["oak", "pine"], resume={"n": 1})))
        emit_done()
    """)
    recorder, log = Recorder("emitted"), []
    async with start(agent) as execution:
        async for data in execution.batches():
            log += (entries := recorder.read(data))
            for request in [e.event for e in entries if isinstance(e.event, Paused)]:
                assert recorder.close() == []  # it waits: that is no end
                answer = Answer(decision="answered", value="oak")
                execution.answer("another request", Answer(decision="denied"))
                execution.answer(request.request_ids[0], answer)
    events = [entry.event for entry in log]
    log += recorder.close()
    (asked,) = [event for event in events if isinstance(event, InputRequest)]
    assert (asked.prompt, asked.options) == ("Which?", ["oak", "pine"])
    (paused,) = [event for event in events if isinstance(event, Paused)]
    assert (paused.request_ids, paused.resume) == ((asked.id,), {"n": 1})
    told = {"decision": "answered", "request_id": asked.id, "tool_call_id": None}
    assert text_of(log) == repr({**told, "value": "oak", "reason": None})
    assert reason_of(log) == "stop"


async def test_an_answer_that_came_later_is_found_by_the_next_process(job: Make) -> None:
    agent = job("""
        from shared.emitter import *
        emit_text(str(bool(approve("call_1", id="request_1"))))
    """)
    answer = Answer(decision="approved", request_id="request_1")
    log, _ = await recorded(agent, Turn(answers=(answer,)))
    assert text_of(log) == "True"
    assert not [entry for entry in log if isinstance(entry.event, InputRequest)]


async def test_a_large_turn_reaches_an_agent_that_talks_before_it_listens(job: Make) -> None:
    turn = Turn(prompt=(PromptText(text="x" * 5_000_000),))
    agent = job("""
        from shared.emitter import *
        emit_text("y" * 5_000_000)
        emit_text(str(len(read_turn().prompt)))
    """)
    assert text_of((await recorded(agent, turn))[0]) == "y" * 5_000_000 + "5000000"


async def test_an_agent_may_leave_without_having_listened(job: Make) -> None:
    turn = Turn(prompt=(PromptText(text="x" * 5_000_000),))
    assert (await recorded(job("import os; os.close(0)"), turn))[1] == Outcome(exit_code=0)


async def test_a_read_that_is_given_up_loses_nothing(job: Make) -> None:
    agent = job("""
        from shared.emitter import *
        wait_for_answer("go")
        emit_text("gone")
    """)
    execution = start(agent)
    for _ in range(3):
        reading = asyncio.create_task(execution.read())
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()
    execution.answer("go", Answer(decision="answered"))
    assert text_of((await record(execution))[0]) == "gone"


# Agents that break their format


async def test_printed_output_is_separate_from_emitted_events(job: Make) -> None:
    log, outcome = await recorded(
        job("""
        import os, subprocess, sys
        from shared.emitter import *
        print("half a line", end="")
        emit_text("one ")
        sys.stdout.write("\\x1b[31m100%\\r")
        subprocess.run(["echo", "from a subprocess"])
        os.write(1, b"from C\\n")
        emit_text("two")
        emit_done()
        """)
    )
    assert text_of(log) == "one two"
    assert raws_of(log) == []
    for said in ("half a line", "100%", "from a subprocess", "from C"):
        assert said in outcome.stderr_tail


async def test_prints_of_an_agent_without_the_emitter_are_raw(job: Make) -> None:
    log, _ = await recorded(
        job("""
        import json
        print("Loading...")
        print(json.dumps({"type": "text", "data": {"content": "hi"}}))
        print("[1, 2")
        """)
    )
    assert text_of(log) == "hi"
    assert raws_of(log) == ["Loading...", "[1, 2"]
    assert reason_of(log) == "truncated"


async def test_lines_that_come_in_pieces_are_put_together(job: Make) -> None:
    log, _ = await recorded(
        job("""
        import os
        said = b'{"type": "text", "data": {"content": "h\\xc3\\xa9"}}\\n{"type": "done", "data":'
        for byte in said:
            os.write(1, bytes([byte]))
        os.write(1, b" {}}")  # and the last has no end
        """)
    )
    assert text_of(log) == "h\u00e9"
    assert reason_of(log) == "stop"


async def test_invalid_utf_8_is_kept(job: Make) -> None:
    log, outcome = await recorded(
        job(r"""
        import os
        os.write(1, b'\xff\xfe garbage\n{"type": "text", "data": {"content": "ok"}}\n')
        os.write(2, b'\xff\xfe')
        """)
    )
    assert text_of(log) == "ok"
    assert len(raws_of(log)) == 1
    assert outcome.stderr_tail == r"\xff\xfe"


async def test_a_line_of_100_mb_costs_no_100_mb(job: Make) -> None:
    agent = job("""
        import os
        for _ in range(1600):
            os.write(1, b"x" * 65536)
        os.write(1, b'\\n{"type": "text", "data": {"content": "still here"}}\\n')
    """)
    before = peak_memory(reset=True)
    log, _ = await recorded(agent)
    assert peak_memory() - before < 64_000_000
    assert text_of(log) == "still here"
    assert raws_of(log) == [{"dropped_bytes": 1600 * 65536}]


def peak_memory(reset: bool = False) -> int:
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


async def test_an_agent_that_writes_faster_than_anyone_reads_has_to_wait(
    job: Make, state: Path
) -> None:
    agent = job("""
        import os, pathlib
        os.set_blocking(1, False)
        written = 0
        try:
            while True:
                written += os.write(1, b"x" * 4096)
        except BlockingIOError:
            pathlib.Path(os.environ["MOBOX_STATE"], "part").write_text(str(written))
        os.rename(os.environ["MOBOX_STATE"] + "/part", os.environ["MOBOX_STATE"] + "/full")
        os.read(0, 1)
    """)
    async with start(agent, Turn(prompt=())) as execution:
        await until((state / "full").exists)
        held = int((state / "full").read_text())
        assert held <= 1 << 20  # a pipe's own size: nobody has read ahead
        read = 0
        async for data in execution.batches():
            read += len(data)
        assert read == held


async def test_endless_output_is_ended_by_stop(job: Make) -> None:
    agent = job("""
        from shared.emitter import emit_text
        while True:
            emit_text("x" * 1000)
    """)

    before = peak_memory(reset=True)
    read = 0
    async with start(agent, patience=TERMINATING) as execution:
        async for data in execution.batches():
            read += len(data)
            if read > 10_000_000 and execution.running:
                break
        outcome = await execution.stop()
        async for data in execution.batches():
            read += len(data)
    assert (outcome.signal, outcome.stopped) == ("SIGTERM", True)
    assert read < 20_000_000
    assert peak_memory() - before < 16_000_000


# Ends


async def test_an_exit_without_a_last_word_is_a_truncated_run(job: Make) -> None:
    log, outcome = await recorded(job("from shared.emitter import *; emit_text('Well')"))
    assert outcome == Outcome(exit_code=0)
    assert reason_of(log) == "truncated"


@pytest.mark.parametrize("code", [1, 2, 127, 255])
async def test_an_exit_code_is_a_failure(job: Make, code: int) -> None:
    log, outcome = await recorded(job(f"import sys; sys.exit({code})"))
    assert outcome.exit_code == code
    assert reason_of(log) == "error"
    assert log[-2].event == Error(
        message=f"The agent exited with code {code}.", code="crashed", exit_code=code
    )


@pytest.mark.parametrize(
    "name", ["HUP", "INT", "QUIT", "ILL", "ABRT", "FPE", "KILL", "SEGV", "PIPE", "ALRM", "TERM",
             "USR1", "USR2", "BUS", "SYS", "XCPU", "XFSZ", "TRAP"]
)  # fmt: skip
async def test_a_signal_is_a_failure_that_names_it(job: Make, name: str) -> None:
    log, outcome = await recorded(
        job(f"""
        import os, signal
        if "{name}" != "KILL":
            signal.signal(signal.SIG{name}, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIG{name})
        """)
    )
    assert (outcome.exit_code, outcome.signal) == (None, f"SIG{name}")
    assert reason_of(log) == "error"
    assert isinstance(error := log[-2].event, Error)
    assert (error.message, error.signal) == (f"The agent was ended by SIG{name}.", f"SIG{name}")


async def test_unnamed_signal_is_shown_by_its_number(job: Make) -> None:
    assert (await recorded(job("import os; os.kill(os.getpid(), 40)")))[1].signal == "SIG40"


async def test_a_traceback_is_in_the_error(job: Make) -> None:
    log, _ = await recorded(job("raise RuntimeError('no such luck')"))
    assert isinstance(error := log[-2].event, Error)
    assert "RuntimeError: no such luck" in (error.stderr_tail or "")


async def test_agent_that_only_writes_to_stderr_emits_nothing(job: Make) -> None:
    log, outcome = await recorded(job("import sys; sys.stderr.write('busy')"))
    assert outcome == Outcome(exit_code=0, stderr_tail="busy")
    assert [entry.event.type for entry in log] == ["start", "done"]


async def test_of_a_flood_on_stderr_the_end_is_kept(job: Make) -> None:
    agent = job("""
        import os
        for _ in range(2000):
            os.write(2, b"x" * 10000)
        os.write(2, b"the end")
    """)
    _, outcome = await recorded(agent)
    assert len(outcome.stderr_tail) == STDERR_TAIL
    assert outcome.stderr_tail.endswith("xthe end")


async def test_agent_that_cannot_be_started_fails_with_the_reason(
    state: Path, tmp_path: Path
) -> None:
    _, outcome = await recorded(Job(argv=("no-such-command",), folder=tmp_path, state=state))
    assert outcome.exit_code == 127
    assert outcome.stderr_tail == "no-such-command: [Errno 2] No such file or directory\n"
    _, outcome = await recorded(Job(argv=(str(tmp_path),), folder=tmp_path, state=state))
    assert outcome.exit_code == 126


async def test_a_folder_that_is_not_there_raises_and_leaks_nothing(
    state: Path, tmp_path: Path
) -> None:
    gone = Job(argv=("true",), folder=tmp_path / "gone", state=state)
    with pytest.raises(FileNotFoundError):
        start(gone)


# Agents that stay


GRANDCHILDREN = {
    "child": "subprocess.Popen(['sleep', '1000'])",
    "own session": "subprocess.Popen(['sleep', '1000'], start_new_session=True)",
    "daemon": "subprocess.run(['sh', '-c', 'setsid sleep 1000 & setsid setsid sleep 1000 &'])",
    "deaf": "subprocess.Popen(['sh', '-c', 'trap \"\" TERM INT HUP; while :; do sleep 1; done'])",
}
each_grandchild = pytest.mark.parametrize("spawn", GRANDCHILDREN.values(), ids=GRANDCHILDREN)


@each_grandchild
async def test_process_holding_stdout_after_the_agent_is_ended_too(job: Make, spawn: str) -> None:
    log, outcome = await recorded(
        job(f"""
        import subprocess
        print('{{"type": "done", "data": {{}}}}')
        {spawn}
        """)
    )
    assert outcome.exit_code == 0
    assert reason_of(log) == "stop"


@each_grandchild
async def test_stop_ends_all_that_an_agent_started(job: Make, state: Path, spawn: str) -> None:
    agent = job(f"""
        import subprocess, time
        from shared.emitter import *
        {spawn}
        emit_status("ready")
        time.sleep(1000)
    """)
    async with start(agent, patience=TERMINATING) as execution:
        assert b"ready" in await execution.read()
        await until(lambda: len(processes_of(state)) >= 3)  # keeper, agent, and its own
        assert (await execution.stop()).signal == "SIGTERM"


async def test_closing_stdout_is_not_the_end(job: Make, state: Path) -> None:
    agent = job("""
        import os, pathlib
        os.close(1)
        pathlib.Path(os.environ["MOBOX_STATE"], "closed").touch()
        while b"go" not in os.read(0, 65536):
            pass
    """)
    async with start(agent) as execution:
        reading = asyncio.create_task(execution.read())
        await until((state / "closed").exists)
        assert execution.running
        assert not reading.done()
        execution.send({"type": "go"})
        assert await reading == b""
        assert await execution.read() == b""
        assert await execution.outcome() == Outcome(exit_code=0)


async def stopped_when_ready(job: Job, patience: StopTimeouts) -> Outcome:
    async with start(job, patience=patience) as execution:
        await execution.read()
        return await execution.stop()


async def test_stop_arrives_as_ctrl_c_wherever_the_agent_waits(job: Make) -> None:
    agent = job("""
        import sys, time
        from shared.emitter import *
        read_turn()
        try:
            emit_status("ready")
            time.sleep(1000)
        except KeyboardInterrupt:
            assert stopping()
            sys.exit(130)
    """)
    outcome = await stopped_when_ready(agent, StopTimeouts(message=LIMIT))
    assert outcome == Outcome(exit_code=130, stopped=True)


async def test_stop_cancels_an_asyncio_agent(job: Make) -> None:
    agent = job("""
        import asyncio
        from shared.emitter import *
        async def main():
            read_turn()
            try:
                emit_status("ready")
                await asyncio.sleep(1000)
            finally:
                print("cleaned up")
        asyncio.run(main())
    """)
    outcome = await stopped_when_ready(agent, StopTimeouts(message=LIMIT))
    assert outcome.signal == "SIGINT"
    assert outcome.stderr_tail.startswith("cleaned up")


async def test_a_thread_that_waits_for_an_answer_is_let_go_at_stop(job: Make) -> None:
    agent = job("""
        import threading
        from shared.emitter import *
        let_go = threading.Event()
        def wait():
            print(wait_for_answer("never"))
            let_go.set()
        threading.Thread(target=wait).start()
        try:
            emit_status("ready")
            let_go.wait()
        except KeyboardInterrupt:
            let_go.wait()
    """)
    outcome = await stopped_when_ready(agent, StopTimeouts(message=LIMIT))
    assert outcome.exit_code == 0
    assert outcome.stderr_tail == "{'decision': 'cancelled', 'value': None, 'reason': None}\n"


async def test_agent_that_ignores_stop_messages_is_terminated(job: Make) -> None:
    agent = job("import sys; print('ready'); sys.stdin.read()")
    outcome = await stopped_when_ready(agent, TERMINATING)
    assert outcome == Outcome(signal="SIGTERM", stopped=True)


async def test_agent_that_ignores_all_signals_is_killed(job: Make) -> None:
    agent = job("""
        import signal, time
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        print("ready")
        while True:
            time.sleep(1)
    """)
    outcome = await stopped_when_ready(agent, StopTimeouts(message=0.05, term=0.2, kill=LIMIT))
    assert outcome == Outcome(signal="SIGKILL", stopped=True)


async def test_kill_does_not_ask(job: Make) -> None:
    agent = job(
        "from shared.emitter import *; read_turn(); emit_status('ready'); wait_for_answer('x')"
    )
    async with start(agent, patience=StopTimeouts(message=LIMIT)) as execution:
        await execution.read()
        execution.kill()
        assert await execution.outcome() == Outcome(signal="SIGKILL", stopped=True)


async def test_kill_ends_the_wait_of_a_pending_stop(job: Make) -> None:
    agent = job("""
        import signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready")
        time.sleep(1000)
    """)

    for patience in (StopTimeouts(message=LIMIT), StopTimeouts(message=0, term=LIMIT)):
        async with start(agent, patience=patience) as execution:
            await execution.read()
            stopping = asyncio.create_task(execution.stop())
            await asyncio.sleep(0)
            execution.kill()
            assert await stopping == Outcome(signal="SIGKILL", stopped=True)


async def test_stop_can_be_called_repeatedly_and_too_late(job: Make) -> None:
    agent = job("import time; time.sleep(1000)")
    async with start(agent, patience=TERMINATING) as execution:
        first = await asyncio.gather(*(execution.stop() for _ in range(5)))
        execution.kill()
        execution.send({"type": "stop"})
        assert {await execution.stop(), *first} == {Outcome(signal="SIGTERM", stopped=True)}


async def test_stop_continues_when_its_caller_is_gone(job: Make) -> None:
    async with start(job("import time; time.sleep(1000)")) as execution:
        stopping = asyncio.create_task(execution.stop())
        await asyncio.sleep(0)
        stopping.cancel()
        assert (await execution.outcome()).stopped


async def test_an_agent_that_has_just_been_started_can_be_stopped(job: Make) -> None:
    async with start(job("import time; time.sleep(1000)")) as execution:
        execution.kill()
        assert (await execution.outcome()).signal == "SIGKILL"


async def test_leaving_the_block_ends_the_agent(job: Make) -> None:
    with pytest.raises(LookupError):
        async with start(job("import time; time.sleep(1000)")) as execution:
            raise LookupError
    assert not execution.running


# Deaths in the family


async def test_when_the_keeper_is_killed_the_agent_dies_and_is_lost(job: Make, state: Path) -> None:
    async with start(job("import time; print('ready'); time.sleep(1000)")) as execution:
        await execution.read()
        os.kill(execution.pid, signal.SIGKILL)
        outcome = await execution.outcome()
        await until(lambda: processes_of(state) == [])
    assert outcome == Outcome()
    assert isinstance(failure := outcome.failure(), Error)
    assert failure.message == "The agent was lost."


@each_grandchild
async def test_a_keeper_that_is_not_waited_for_goes_on(job: Make, state: Path, spawn: str) -> None:
    agent = job(f"import subprocess, time; {spawn}; print('ready'); time.sleep(1000)")
    async with start(agent, patience=StopTimeouts(kill=0.05)) as execution:
        await execution.read()
        await until(lambda: len(processes_of(state)) >= 3)
        os.kill(execution.pid, signal.SIGSTOP)
        execution.kill()
        outcome = await execution.outcome()
        await until(lambda: not Path(f"/proc/{execution.pid}").exists())
        assert outcome == Outcome(stopped=True)


SERVER = """
import asyncio, sys
from pathlib import Path
from mobox.capture.process import ProcessExecution
from mobox.sandbox import Job, get_sandbox
from mobox.events.turn import Turn

async def main():
    state, code = sys.argv[1:]
    job = Job(argv=(sys.executable, "-c", code), folder=Path.cwd(), state=Path(state))
    execution = ProcessExecution.start(job, Turn(), get_sandbox("process"))
    print((await execution.read()).decode(), flush=True)
    await execution.outcome()

asyncio.run(main())
"""


@each_grandchild
def test_when_the_server_is_killed_nothing_of_its_agents_is_left(state: Path, spawn: str) -> None:
    code = f"import subprocess, time; {spawn}; print('ready'); time.sleep(1000)"
    argv = [sys.executable, "-c", SERVER, str(state), code]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        wait_until(lambda: len(processes_of(state)) >= 3)
        server.kill()
    wait_until(lambda: processes_of(state) == [])


async def test_many_agents_at_once_leave_nothing(job: Make) -> None:
    agent = job("from shared.emitter import *; emit_text(read_turn().prompt); emit_done()")
    turns = [Turn(prompt=(PromptText(text=str(number)),)) for number in range(20)]
    assert [
        text_of(log)
        for log, _ in await asyncio.gather(*(record(start(agent, turn)) for turn in turns))
    ] == [str(n) for n in range(20)]


async def test_the_control_channel_is_lines_of_json(job: Make) -> None:
    agent = job("""
        import sys
        print(sys.stdin.readline(), file=sys.stderr, end="")
    """)
    answer = Answer(decision="approved", request_id="r1")
    _, outcome = await recorded(agent, Turn(prompt=TURN.prompt, answers=(answer,)))
    told = json.loads(outcome.stderr_tail)
    assert told["type"] == "turn"
    assert set(told["data"]) == set(Turn.__struct_fields__)
    assert told["data"]["prompt"] == [{"type": "text", "text": "hello"}]
    assert told["data"]["answers"][0]["request_id"] == "r1"
