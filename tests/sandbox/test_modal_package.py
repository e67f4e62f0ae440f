"""extras/mobox-modal, without the service: commands that it would run there run on this machine."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import sys
import tarfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mobox_modal import STATE, ModalSandbox, environment_of, on_modal, sandbox_options
from mobox_modal.remote import Remote, RemoteChild, RemoteProcess
from mobox_modal.state import TooLarge, pack, unpack

from mobox.capture.process import ProcessExecution
from mobox.events.turn import Turn
from mobox.sandbox import Job, Network, Probe, Status

MANY = 10**9


# State


def archive_of(*members: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    target.seek(0)
    return target


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def test_state_comes_back_as_it_was_sent(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "notes").mkdir(parents=True)
    (source / "notes" / "a.txt").write_text("a")
    (source / "link").symlink_to("notes/a.txt")
    target.mkdir()
    (target / "old").write_text("of an earlier run")
    number = target.stat().st_ino
    archive = io.BytesIO()
    pack(source, archive)
    archive.seek(0)
    unpack(archive, target, MANY)
    assert sorted(path.name for path in target.iterdir()) == ["link", "notes"]
    assert (target / "link").readlink() == Path("notes/a.txt")
    assert (target / "link").read_text() == "a"
    assert target.stat().st_ino == number  # it is the same folder, which is locked
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]


def test_a_link_out_of_the_folder_is_not_followed_when_it_is_sent(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    state = tmp_path / "state"
    state.mkdir()
    (state / "link").symlink_to(tmp_path / "secret")
    archive = io.BytesIO()
    pack(state, archive)
    assert b"hunter2" not in archive.getvalue()


HOSTILE = {
    "absolute": [(member("/etc/x"), b"x"), (member("../x"), b"x")],
    "upwards": [(member("../x"), b"x")],
    "link out": [(member("link", tarfile.SYMTYPE, "/etc"), b"")],
    "link up": [(member("link", tarfile.SYMTYPE, "../.."), b"")],
    "through a link": [(member("a", tarfile.SYMTYPE, ".."), b""), (member("a/x"), b"x")],
    "hard link out": [(member("link", tarfile.LNKTYPE, "../../secret"), b"")],
    "device": [(member("null", tarfile.CHRTYPE), b"")],
    "pipe": [(member("pipe", tarfile.FIFOTYPE), b"")],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_state_that_would_leave_its_folder_is_not_taken_back(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    state = tmp_path / "states" / "chat"
    state.mkdir(parents=True)
    (state / "kept").write_text("kept")
    (tmp_path / "secret").write_text("hunter2")
    with pytest.raises(tarfile.TarError):
        unpack(archive_of(*members), state, MANY)
    assert [path.name for path in state.iterdir()] == ["kept"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["chat", "kept", "secret", "states"]


def test_state_that_is_too_large_is_not_taken_back(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    with pytest.raises(TooLarge):
        unpack(archive_of((member("a"), b"x" * 60), (member("b"), b"x" * 60)), tmp_path, 100)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_state_that_is_cut_off_is_not_taken_back(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "kept").write_text("kept")
    whole = archive_of((member("a"), b"x" * 5000)).getvalue()
    with pytest.raises((tarfile.TarError, OSError)):
        unpack(io.BytesIO(whole[:2000]), state, MANY)
    assert [path.name for path in state.iterdir()] == ["kept"]


# A job


class Local:
    """Runs commands on this machine, with another folder as its state."""

    def __init__(self, env: dict[str, str]) -> None:
        self.has_ended = False
        self._env = env
        self._processes: list[Process] = []

    async def run(self, *words: str) -> RemoteProcess:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=self._env
        )
        self._processes.append(process)
        return LocalProcess(process)

    async def end(self) -> None:
        self.has_ended = True
        for process in self._processes:
            if process.returncode is None:
                process.kill()
            with suppress(RuntimeError):  # its output is being read: then that is its end
                await process.communicate()


class LocalProcess:
    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        self._process = process
        self._stdin = process.stdin
        self.stdout: AsyncIterable[bytes] = chunks(process.stdout)
        self.stderr: AsyncIterable[bytes] = chunks(process.stderr)

    async def write(self, data: bytes) -> None:
        if data:
            self._stdin.write(data)
            await self._stdin.drain()
        else:
            self._stdin.close()

    async def wait(self) -> int:
        code = await self._process.wait()
        return code if code >= 0 else 128 - code


async def chunks(reader: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    assert reader is not None
    while data := await reader.read(1000):
        yield data


class Service:
    """A sandbox whose jobs are run by `Local`."""

    isolates = True
    own_network = False

    def __init__(self, folder: Path) -> None:
        self.place = folder / "there" / "state"
        self.remote = Local({"MOBOX_STATE": str(self.place), "PATH": os.environ["PATH"]})

    def probe(self) -> Probe:
        return Probe()

    def start(self, job: Job) -> RemoteChild:
        async def create() -> Remote:
            return self.remote

        return RemoteChild(job, create, str(self.place))


def job_of(folder: Path, code: str = "", **more: Any) -> Job:
    agent = folder / "agent"
    agent.mkdir(exist_ok=True)
    argv = (sys.executable, "-c", code)
    return Job(argv=argv, folder=agent, state=folder / "states" / "chat", **more)


AGENT = """
import json, os, sys
kind = json.loads(sys.stdin.readline())["type"]
state = os.environ["MOBOX_STATE"]
count = int(open(state + "/count").read()) + 1
open(state + "/count", "w").write(str(count))
print(kind, count)
print("y" * 200_000)
print("problem", file=sys.stderr)
sys.exit(3)
"""


async def test_a_job_has_its_state_and_its_pipes(tmp_path: Path) -> None:
    job, service = job_of(tmp_path, AGENT), Service(tmp_path)
    job.state.mkdir(parents=True)
    (job.state / "count").write_text("4")
    async with ProcessExecution.start(job, Turn(), service) as execution:
        output = b"".join([data async for data in execution.batches()])
        outcome = await execution.outcome()
    assert output.decode().splitlines() == ["turn 5", "y" * 200_000]
    assert (outcome.exit_code, outcome.stderr_tail) == (3, "problem\n")
    assert execution.created == "Created a sandbox for agent"
    assert (job.state / "count").read_text() == "5"
    assert service.remote.has_ended


WAIT = """
import os, signal, sys, time
def stop(*_):
    open(os.environ["MOBOX_STATE"] + "/stopped", "w")
    sys.exit(7)
signal.signal(signal.SIGTERM, stop)
open(os.environ["MOBOX_STATE"] + "/started", "w")
print("ready", flush=True)
time.sleep(60)
"""


async def start_waiting(folder: Path) -> tuple[RemoteChild, Job]:
    job = job_of(folder, WAIT)
    child = Service(folder).start(job)
    seen = b""
    while b"ready" not in seen:
        await asyncio.sleep(0.01)
        try:
            seen += os.read(child.stdout, 100)
        except BlockingIOError:
            continue
    return child, job


def close(child: RemoteChild) -> None:
    for number in (child.stdin, child.stdout, child.stderr):
        os.close(number)


ENDS = {
    "terminate": (Status(exit_code=7), ["started", "stopped"]),
    "kill": (Status(signal=signal.SIGKILL), ["started"]),
}


@pytest.mark.parametrize("end", ENDS)
async def test_a_job_is_ended_and_its_state_is_taken_back(tmp_path: Path, end: str) -> None:
    child, job = await start_waiting(tmp_path)
    getattr(child, end)()
    status, names = ENDS[end]
    assert await child.wait() == status
    assert sorted(path.name for path in job.state.iterdir()) == names
    close(child)


async def test_the_second_kill_does_not_wait_for_the_state(tmp_path: Path) -> None:
    child, _ = await start_waiting(tmp_path)
    child.kill()
    child.kill()
    assert await child.wait() == Status()
    await asyncio.wait(child._tasks)  # they go on alone
    close(child)


async def test_a_job_that_is_killed_before_it_starts_does_not_start(tmp_path: Path) -> None:
    job = job_of(tmp_path, WAIT)
    child = Service(tmp_path).start(job)
    child.kill()
    assert await child.wait() == Status(signal=signal.SIGKILL)
    assert list(job.state.iterdir()) == []
    close(child)


async def test_two_jobs_do_not_share_a_state_folder(tmp_path: Path) -> None:
    child, job = await start_waiting(tmp_path)
    async with ProcessExecution(Service(tmp_path / "other").start(job)) as second:
        outcome = await second.outcome()
    assert outcome.exit_code == 126
    assert "an earlier process of this chat is still running" in outcome.stderr_tail
    child.kill()
    await child.wait()
    close(child)


async def test_state_beyond_the_limit_ends_with_that_limit(tmp_path: Path) -> None:
    code = "import os; open(os.environ['MOBOX_STATE'] + '/much', 'wb').write(b'x' * 2000)"
    child = Service(tmp_path).start(job_of(tmp_path, code, limits={"disk": 1000}))
    assert await child.wait() == Status(exit_code=0, exceeded="disk", limit=1000)
    close(child)


async def test_a_service_that_fails_is_explained(tmp_path: Path) -> None:
    async def create() -> Remote:
        raise ConnectionError("no route to the service")

    async with ProcessExecution(RemoteChild(job_of(tmp_path), create, "/x")) as execution:
        outcome = await execution.outcome()
    assert outcome.exit_code == 126
    assert "the sandbox has failed: no route to the service" in outcome.stderr_tail


# What Modal is told


def test_an_agent_uses_models_by_the_public_address(tmp_path: Path) -> None:
    env = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:4321/anthropic",
        "HTTPS_PROXY": "http://127.0.0.1:4322",
        "API_KEY": "hunter2",
    }
    found = environment_of(job_of(tmp_path, env=env), "https://models.example.com/")
    assert found["ANTHROPIC_BASE_URL"] == "https://models.example.com/anthropic"
    assert found["API_KEY"] == "hunter2"
    assert (found["MOBOX_STATE"], found["HOME"]) == (STATE, STATE)
    assert not {"HTTPS_PROXY", "PATH"} & set(found)


def test_an_agent_without_a_gateway_is_given_no_local_address(tmp_path: Path) -> None:
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:4321/openai"}
    assert "OPENAI_BASE_URL" not in environment_of(job_of(tmp_path, env=env), None)


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (Network("none"), {"block_network": True}),
        (Network("model"), {"outbound_domain_allowlist": ["models.example.com"]}),
        (
            Network("hosts", ("api.example.com",)),
            {"outbound_domain_allowlist": ["models.example.com", "api.example.com"]},
        ),
        (Network("full"), {}),
    ],
)
def test_the_network_of_a_job(tmp_path: Path, network: Network, expected: dict[str, Any]) -> None:
    options = sandbox_options(job_of(tmp_path, network=network), "https://models.example.com")
    chosen = {"block_network", "outbound_domain_allowlist"} & set(options)
    assert {name: value for name, value in options.items() if name in chosen} == expected


def test_a_job_that_modal_cannot_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="network: host"):
        sandbox_options(job_of(tmp_path, network=Network("host")), None)
    with pytest.raises(OSError, match="set MOBOX_MODAL_GATEWAY"):
        sandbox_options(job_of(tmp_path, network=Network("model")), None)


def test_limits_are_those_of_the_job(tmp_path: Path) -> None:
    job = job_of(tmp_path, network=Network("none"), limits={"memory": 1 << 30, "cpu": 50})
    options = sandbox_options(job, None)
    assert (options["memory"], options["cpu"], options["timeout"]) == ((256, 1024), 0.5, 3600)


def test_the_python_is_that_of_the_image(tmp_path: Path) -> None:
    assert on_modal(job_of(tmp_path, "work")).argv == ("python", "-c", "work")
    node = Job(argv=("node", "agent.mjs"), folder=tmp_path, state=tmp_path / "state")
    assert on_modal(node).argv == ("node", "agent.mjs")


def test_a_probe_without_the_sdk_or_a_token_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "modal", None)  # as if it was not installed
    problem = ModalSandbox().probe().problem
    assert problem is not None
    assert "modal token new" in problem


def test_the_page_shows_the_code_of_the_package() -> None:
    root = Path(__file__).parents[2]
    blocks = re.findall(
        r"^```py\n(.*?)^```", (root / "docs/add-a-sandbox.md").read_text(), re.MULTILINE | re.DOTALL
    )
    package = root / "extras/mobox-modal/src/mobox_modal"
    sources = [path.read_text() for path in package.glob("*.py")]
    assert len(blocks) == 2
    assert all(any(block in source for source in sources) for block in blocks)
