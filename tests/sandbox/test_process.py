"""The process sandbox: what an agent sees of the machine."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from mobox.capture.process import ProcessExecution
from mobox.errors import UnknownSandbox
from mobox.events.turn import Turn
from mobox.sandbox import Job, Status, get_sandbox, keeper, known
from mobox.sandbox.kept_process import AGENT_PATH, KeptProcess, environment
from mobox.sandbox.process import ProcessSandbox
from support.waiting import until

INSPECT = """
import json, os, resource, signal, sys
names = ["AS", "NOFILE", "NPROC", "FSIZE", "CORE"]
limits = {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names}
ignored = [number for number in range(1, 32)
           if number not in (9, 19) and signal.getsignal(number) is signal.SIG_IGN]
told = {"env": dict(os.environ), "cwd": os.getcwd(), "limits": limits, "ignored": ignored,
        "group": os.getpgid(0) == os.getpid(), "session": os.getsid(0) == os.getpid(),
        "open": sorted(int(name) for name in os.listdir("/proc/self/fd"))}
print(json.dumps(told))
"""


def inspect(tmp_path: Path, **more: Any) -> dict[str, Any]:
    job = Job(
        argv=(sys.executable, "-c", INSPECT), folder=tmp_path, state=tmp_path / "state", **more
    )

    async def read() -> bytes:
        async with ProcessExecution.start(job, Turn(), get_sandbox("process")) as execution:
            return b"".join([data async for data in execution.batches()])

    told: dict[str, Any] = json.loads(asyncio.run(read()))
    return told


def test_the_documents_name_is_an_alias() -> None:
    assert isinstance(get_sandbox("process"), ProcessSandbox)
    assert isinstance(get_sandbox("subprocess"), ProcessSandbox)


def test_an_unknown_sandbox_lists_the_known_ones() -> None:
    with pytest.raises(
        UnknownSandbox, match=r"unknown sandbox 'jail'; known: .*process, subprocess"
    ):
        get_sandbox("jail")
    assert {"process", "subprocess"} <= set(known())


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """As a server has with a thousand clients: those that come next have large numbers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as opened:
        for _ in range(1100):
            opened.enter_context(Path(os.devnull).open("rb"))
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_an_agent_starts_where_a_server_has_many_descriptors(tmp_path: Path) -> None:
    assert inspect(tmp_path)["open"] == [0, 1, 2, 3]


def test_an_agent_sees_only_what_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("LANG", "C.UTF-8")
    env = inspect(tmp_path, env={"OPENAI_API_KEY": None, "MODEL": "m", "UNSET": None})["env"]
    assert (env["OPENAI_API_KEY"], env["MODEL"], env["LANG"]) == ("key", "m", "C.UTF-8")
    assert env["MOBOX_STATE"] == env["HOME"] == str(tmp_path / "state")
    expected = {
        "PATH", "LANG", "HOME", "OPENAI_API_KEY", "MODEL", "MOBOX_EMIT", "MOBOX_STATE",
        "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONUTF8",
    }  # fmt: skip
    may_be = {"LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    assert expected <= env.keys() <= expected | may_be


def test_events_of_mobox_cannot_be_overridden(tmp_path: Path) -> None:
    env = {"MOBOX_STATE": "/", "MOBOX_EMIT": "0", "PYTHONPATH": "/mine", "HOME": None}
    job = Job(argv=("true",), folder=tmp_path, state=tmp_path / "state", env=env)
    made = environment(job, {"HOME": "/root"})
    assert made["MOBOX_STATE"] == str(tmp_path / "state")
    assert made["MOBOX_EMIT"] == "1"
    assert made["PYTHONPATH"] == f"{AGENT_PATH}{os.pathsep}/mine"
    assert made["HOME"] == "/root"  # asked for by name


def test_a_state_folder_that_is_named_from_here_is_the_same_from_the_agents_folder(
    tmp_path: Path,
) -> None:
    made = environment(Job(argv=("true",), folder=tmp_path, state=Path(".mobox/state")), {})
    assert made["MOBOX_STATE"] == made["HOME"] == str(Path.cwd() / ".mobox/state")


def test_it_runs_in_its_folder_alone_in_its_session(tmp_path: Path) -> None:
    told = inspect(tmp_path)
    assert told["cwd"] == str(tmp_path)
    assert told["group"]
    assert told["session"]
    assert (tmp_path / "state").is_dir()


def test_it_inherits_neither_descriptors_nor_deafness(tmp_path: Path) -> None:
    told = inspect(tmp_path)
    listing = 1
    assert len(told["open"]) == 3 + listing
    assert told["ignored"] == [13, 25]  # what Python itself ignores


def test_it_is_limited(tmp_path: Path) -> None:
    limits = inspect(tmp_path)["limits"]
    assert limits["CORE"] == [0, 0]
    assert limits["NOFILE"] == [1024, 1024]
    assert limits["FSIZE"] == [1 << 30, 1 << 30]
    assert limits["AS"] == list(resource.getrlimit(resource.RLIMIT_AS))


def test_its_limits_can_be_set_but_not_above_ours(tmp_path: Path) -> None:
    wanted = {"memory": 1 << 62, "open_files": 64, "file_size": 1 << 20, "processes": 1 << 62}
    limits = inspect(tmp_path, limits={**wanted, "output": 3})["limits"]
    assert limits["NOFILE"] == [64, 64]
    assert limits["FSIZE"] == [1 << 20] * 2
    assert limits["AS"] == list(resource.getrlimit(resource.RLIMIT_AS)), "V8 reserves terabytes"


def test_a_keeper_needs_no_proc_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(path: object, *_: object) -> None:
        raise FileNotFoundError(path)

    for name in ("open", "scandir"):
        monkeypatch.setattr(os, name, nowhere)
    assert keeper.children() == []


# One at a time in a state folder


HOLD = """
import os, pathlib, sys
state = pathlib.Path(os.environ["MOBOX_STATE"])
(state / sys.argv[1]).touch()
sys.stdin.read()
"""


def hold(tmp_path: Path, name: str) -> KeptProcess:
    """An agent that is in its folder until its stdin is closed, and leaves a file there."""
    argv = (sys.executable, "-c", HOLD, name)
    return ProcessSandbox().start(Job(argv=argv, folder=tmp_path, state=tmp_path / "state"))


async def until_it_waits(process: KeptProcess) -> None:
    def says_so() -> bool:
        with suppress(BlockingIOError):
            return os.read(process.stderr, 4096) == keeper.TAKEN
        return False

    await until(says_so)


def close(process: KeptProcess) -> None:
    for number in (process.stdin, process.stdout, process.stderr):
        os.close(number)


async def test_the_next_in_a_folder_begins_when_the_one_before_has_ended(tmp_path: Path) -> None:
    first = hold(tmp_path, "first")
    await until((tmp_path / "state" / "first").exists)
    second = hold(tmp_path, "second")
    await until_it_waits(second)
    assert not (tmp_path / "state" / "second").exists()
    first.kill()
    assert await first.wait() == Status(signal=9)
    await until((tmp_path / "state" / "second").exists)
    second.kill()
    await second.wait()
    for process in (first, second):
        close(process)


@pytest.mark.parametrize("how", ["terminate", "kill"])
async def test_one_that_waits_for_a_folder_can_be_ended(tmp_path: Path, how: str) -> None:
    first = hold(tmp_path, "first")
    await until((tmp_path / "state" / "first").exists)
    second = hold(tmp_path, "second")
    await until_it_waits(second)
    getattr(second, how)()
    assert await second.wait() == Status(signal=15)
    assert not (tmp_path / "state" / "second").exists()
    first.kill()
    await first.wait()
    for process in (first, second):
        close(process)


def test_descriptor_without_locks_counts_as_locked() -> None:
    readable, writable = os.pipe()
    os.close(writable)
    os.close(readable)
    assert keeper.locks(readable), "a descriptor that is nothing, as on a file system without locks"
