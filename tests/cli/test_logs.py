"""`mobox logs`: what an agent wrote, whatever became of its run."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tty
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from environments.test_environments import make
from mobox.cli.logs import added
from mobox.events import Done, Start
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.app import open_services
from mobox.settings import OWNER, Settings, without_password
from mobox.storage.log import RawLine
from mobox.supervisor.agent_files import StderrFolder
from server.live_server import LIMIT, MOBOX, clean_environment, live_server, message, mobox
from support.postgres_server import Databases
from support.wheels import index

__all__ = ["index"]

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


def test_agent_that_has_written_nothing_is_reported(tmp_path: Path, index: Path) -> None:
    make(tmp_path / "agents" / "echo", requirements_txt="unheard\n")
    _, _, errors = mobox("run", "echo", "Hi", cwd=tmp_path)
    (run_id,) = re.findall(r"mobox logs (run_\w+)", errors)
    nothing = f"mobox: the agent of run {run_id} has written nothing\n"
    assert mobox("logs", run_id, cwd=tmp_path) == (0, "", nothing)


def test_unknown_run_is_not_found(tmp_path: Path) -> None:
    crashed_run(tmp_path / "data")
    said = mobox("logs", "run_1", "--data", tmp_path / "data")
    where = f"of owner 'local' (--owner) in sqlite:///{tmp_path}/data/mobox.db"
    assert said == (2, "", f"mobox: no run 'run_1' {where}\n")


SLOW = """
import os, sys, time
from shared.emitter import emit_done, emit_text, read_turn

read_turn()
emit_text("Well")
print("half", end=" ", file=sys.stderr, flush=True)
while not os.path.exists({gate!r}):
    time.sleep(0.05)
print("way", file=sys.stderr, flush=True)
emit_done()
"""
FAILS = """
import sys
sys.exit("it broke")
"""


def agents_of(folder: Path, **codes: str) -> Path:
    for name, code in codes.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "agent.yaml").write_text(f"name: {name}\nframework: emitted\n")
        (folder / name / "run_agent.py").write_text(code)
    return folder


@pytest.fixture
def following(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """`mobox logs -f` beside a server whose agent waits for the file."""
    data, gate = tmp_path / "data", tmp_path / "gate"
    agents = agents_of(tmp_path / "agents", slow=SLOW.format(gate=str(gate)))
    with live_server(data, "--agents", agents) as server:
        url = f"{server.url}/api/chat"
        with httpx.stream("POST", url, json=message("c", "Go"), trust_env=False) as answer:
            run_id = answer.headers["x-mobox-run"]
        command = [*MOBOX, "logs", run_id, "-f", "--data", str(data)]
        with subprocess.Popen(command, stdout=-1, stderr=-1, env=clean_environment()) as process:
            try:
                yield process, gate
            finally:
                process.kill()


def read_until(process: subprocess.Popen[bytes], words: bytes) -> bytes:
    assert process.stderr is not None
    text = b""
    while words not in text:
        more = os.read(process.stderr.fileno(), 1000)
        assert more, text
        text += more
    return text


def test_stderr_is_followed_until_the_run_ends(
    following: tuple[subprocess.Popen[bytes], Path],
) -> None:
    process, gate = following
    assert read_until(process, b"half ") == b"--- stderr of attempt 1 ---\nhalf "
    gate.touch()
    stdout, stderr = process.communicate(timeout=LIMIT)
    assert (process.returncode, stderr) == (0, b"way\n")
    assert b'"Well"' in stdout
    assert b'"done"' in stdout


def test_ctrl_c_ends_following_quietly(following: tuple[subprocess.Popen[bytes], Path]) -> None:
    process, _ = following
    read_until(process, b"half ")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=LIMIT)
    assert (process.returncode, stderr) == (130, b"")


def test_added_is_what_the_end_of_a_longer_text_has_more() -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    assert added("", "ab") == "ab"
    assert added("ab", "abc") == "c"
    assert added(text[:90_000][-65_536:], text[:100_000][-65_536:]) == text[90_000:100_000]
    assert added("one", "another text") == "another text"


@pytest.mark.parametrize("owner", ["local", "ann o'hara", "-dash"])
@pytest.mark.parametrize("folder", ["data", "a data folder"])
def test_printed_command_shows_the_run(
    owner: str, folder: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paste(failed_run(Settings(data=tmp_path / folder), owner, tmp_path), caplog, tmp_path)


def test_printed_command_works_with_the_default_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    paste(failed_run(Settings(), OWNER, tmp_path), caplog, tmp_path / "agents")


def test_printed_command_works_with_postgresql(
    postgres: Databases, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = asyncio.run(postgres.blank())
    settings = Settings(data=tmp_path / "data", database_url=url)
    paste(failed_run(settings, "ann lee", tmp_path), caplog, tmp_path, DATABASE_URL=url)
    assert without_password(url) == url or url not in caplog.text


def failed_run(settings: Settings, owner: str, tmp_path: Path) -> str:
    agents = agents_of(tmp_path / "agents", fails=FAILS)

    async def begin() -> str:
        async with asyncio.timeout(LIMIT), open_services(replace(settings, agents=agents)) as it:
            run = (await it.supervisor.begin(owner, read_request(message("c1", "Go")))).run
            async for _ in it.storage.follow(run.id):
                pass
            return run.id

    return asyncio.run(begin())


def paste(run_id: str, caplog: pytest.LogCaptureFixture, cwd: Path, **env: str) -> None:
    """Run the command in the server's log as a person would, in a shell elsewhere."""
    (line,) = [line for line in caplog.messages if run_id in line]
    command = re.search(r"\((mobox logs .*)\)$", line)
    assert command is not None, line
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command[1]],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean_environment(**env) | {"PATH": path},
        timeout=LIMIT,
    )
    assert (done.returncode, done.stderr) == (0, "--- stderr of attempt 1 ---\nit broke\n")
