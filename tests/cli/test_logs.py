"""`mobox logs`: what an agent wrote, whatever became of its run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tty
from pathlib import Path

from mobox.events import Done, Start
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.app import open_services
from mobox.settings import OWNER, Settings
from mobox.storage.log import RawLine
from mobox.supervisor.agent_files import StderrFolder
from server.live_server import LIMIT, MOBOX, message, mobox

DEMO = Path(__file__).parents[2] / "agents"


def crashed_run(data: Path) -> str:
    body = {
        "id": "c1",
        "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "crash"}]},
    }

    async def crash() -> str:
        async with asyncio.timeout(LIMIT), open_services(Settings(data=data, agents=DEMO)) as it:
            run = (await it.supervisor.begin(OWNER, read_request(body))).run
            async for _ in it.storage.follow(run.id):
                pass
            return run.id

    return asyncio.run(crash())


def test_the_lines_of_a_run_and_the_stderr_of_its_agent_are_shown(tmp_path: Path) -> None:
    run_id = crashed_run(tmp_path / "data")
    code, lines, errors = mobox("logs", run_id, "--data", tmp_path / "data")
    assert code == 0
    assert lines.splitlines()[0].startswith('{"type": "start"')
    assert '"Watch"' in lines
    assert errors.startswith("--- stderr of attempt 1 ---\nTraceback")
    assert errors.endswith("RuntimeError: the demo crashed on purpose\n")


HOSTILE = b"\x1b]0;mine\x07 \xc2\x9b31m \xe2\x80\xae \xff \xc3\xa9\tend"


def hostile_run(data: Path) -> str:
    """A run whose agent talks to the terminal of whoever reads what it wrote."""

    async def write() -> str:
        async with open_services(Settings(data=data, agents=DEMO)) as it:
            request = read_request(message("c1", "Hello"))
            run = (await it.storage.begin_turn(OWNER, request, "demo", "emitted")).run
            done = [Start(framework="emitted"), Done(reason="stop")]
            await it.storage.append(run.id, run.epoch, done, 1, [RawLine(HOSTILE)])
            StderrFolder(data / "logs").keep(run, HOSTILE.decode("utf-8", "replace"))
            return run.id

    return asyncio.run(write())


def test_a_pipe_gets_what_was_written_to_the_byte(tmp_path: Path) -> None:
    command = [*MOBOX, "logs", hostile_run(tmp_path), "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT, check=True)
    assert done.stdout == HOSTILE + b"\n"
    kept = HOSTILE.replace(b"\xff", "\ufffd".encode())
    assert done.stderr == b"--- stderr of attempt 1 ---\n" + kept + b"\n"


def test_terminal_gets_no_control_sequences(tmp_path: Path) -> None:
    command = [*MOBOX, "logs", hostile_run(tmp_path), "--data", str(tmp_path)]
    ours, theirs = os.openpty()
    tty.setraw(theirs)  # as it is written
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        subprocess.run(command, stdout=theirs, stderr=theirs, timeout=LIMIT, check=True)
        os.close(theirs)
        said = terminal.read(4096)
    line = r"\x1b]0;mine\x07 \x9b31m \u202e {} é" + "\tend"
    expected = [line.format(r"\xff"), "--- stderr of attempt 1 ---", line.format("\ufffd")]
    assert said.decode().splitlines() == expected


def test_unknown_run_is_not_found(tmp_path: Path) -> None:
    crashed_run(tmp_path / "data")
    said = mobox("logs", "run_1", "--data", tmp_path / "data")
    where = f"of owner 'local' (--owner) in sqlite:///{tmp_path}/data/mobox.db"
    assert said == (2, "", f"mobox: no run 'run_1' {where}\n")
