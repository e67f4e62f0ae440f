"""Agents in bubblewrap: what they see, how they are reached and ended, and their limits."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mobox.sandbox import Job, Network, Status
from mobox.sandbox.bubblewrap import TMP, BubblewrapSandbox, sweep
from mobox.sandbox.kept_process import KeptProcess
from mobox.sandbox.lending import STATE, make_spare
from mobox.sandbox.mounts import interpreter_of, is_python, readable_paths
from mobox.sandbox.seccomp import ARCHITECTURES, DENIED, NO_SUCH_CALL, NoFilter, filter_program
from support.sandboxed import need_bubblewrap
from support.waiting import until


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    need_bubblewrap()


def job(folder: Path, code: str, **more: Any) -> Job:
    """An agent that runs this code, with a chat in `folder`/states."""
    agent = folder / "agent"
    agent.mkdir(exist_ok=True)
    (agent / "run.py").write_text(code)
    given = {"state": folder / "states" / "chat", "network": Network("none"), **more}
    return Job(argv=(sys.executable, str(agent / "run.py")), folder=agent, **given)


async def output_of(child: KeptProcess) -> tuple[Status, str, str]:
    """How it ended, and what it wrote."""
    os.close(child.stdin)
    status = await child.wait()
    texts = []
    for number in (child.stdout, child.stderr):
        data = b""
        with suppress(BlockingIOError):
            while piece := os.read(number, 1 << 16):
                data += piece
        os.close(number)
        texts.append(data.decode())
    return status, texts[0], texts[1]


async def run(folder: Path, code: str, **more: Any) -> tuple[Status, str, str]:
    return await output_of(BubblewrapSandbox().start(job(folder, code, **more)))


async def test_an_agent_sees_the_system_its_own_files_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "states" / "other").mkdir(parents=True)
    (tmp_path / "secret").write_text("s")
    code = """
import json, os
def readable(path):
    try: os.listdir(path) if os.path.isdir(path) else open(path).read(1)
    except OSError as error: return type(error).__name__
    return True
state = os.environ["MOBOX_STATE"]
open(os.path.join(state, "kept"), "w").write("x")
open("/tmp/scratch", "w").write("x")
here = os.path.dirname(os.path.abspath(__file__))
above = os.path.dirname(here)
print(json.dumps({
    "secret": readable(os.path.join(above, "secret")),
    "states": os.listdir(os.path.dirname(state)),
    "root": sorted(set(os.listdir("/")) & {"home", "var", "opt", "boot", "sys", "srv", "mnt"}),
    "hosts": open("/etc/hosts").read(),
    "shadow": readable("/etc/shadow"),
    "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
    "uid": os.getuid(),
    "written": [path for path in ("/x", "/dev/x", "/etc/x", "/usr/x", here + "/x")
                if not os.system(f"touch {path} 2>/dev/null")],
}))
"""
    status, out, err = await run(tmp_path, code)
    assert status == Status(exit_code=0), err
    assert json.loads(out) == {
        "secret": "FileNotFoundError",
        "states": ["chat"],
        "root": [],
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "shadow": "FileNotFoundError",
        "processes": 2,  # bubblewrap's own, and the agent
        "uid": 1000,
        "written": [],
    }
    assert (tmp_path / "states" / "chat" / "kept").read_text() == "x"
    assert list((tmp_path / "states" / TMP).iterdir()) == []  # its /tmp is deleted


async def test_the_server_answers_on_the_ports_of_the_sandbox(tmp_path: Path) -> None:
    code = """
import socket
with socket.create_connection(("127.0.0.1", 8181), 30) as there:
    print(there.makefile().readline())
"""
    given = {"network": Network("model"), "ports": (8181, 3128)}
    child = BubblewrapSandbox().start(job(tmp_path, code, **given))
    served: dict[int, socket.socket] = {}
    child.when_listening(served.__setitem__)
    await until(lambda: len(served) == 2)
    loop = asyncio.get_running_loop()
    served[8181].setblocking(False)
    connection, _ = await loop.sock_accept(served[8181])
    await loop.sock_sendall(connection, b"from outside\n")
    connection.close()
    status, out, err = await output_of(child)
    assert (status, out) == (Status(exit_code=0), "from outside\n\n"), err
    for listening in served.values():
        listening.close()


async def test_sockets_that_nobody_serves_are_closed(tmp_path: Path) -> None:
    child = BubblewrapSandbox().start(job(tmp_path, "pass", ports=(8181,)))
    before = open_files()
    status, _, _ = await output_of(child)
    assert status == Status(exit_code=0)
    assert open_files() < before


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_term_reaches_the_agent_and_kill_ends_all(tmp_path: Path) -> None:
    code = """
import os, signal, sys, time
def end(*_):
    print("ended"); sys.exit(3)
signal.signal(signal.SIGTERM, end)
if os.fork() == 0:
    os.setsid(); time.sleep(1000)
print("ready", flush=True)
time.sleep(1000)
"""
    sandbox = BubblewrapSandbox()
    for kill, expected in ((False, Status(exit_code=3)), (True, Status(signal=9))):
        child = sandbox.start(job(tmp_path, code))
        await until(partial(_has, child))
        (child.kill if kill else child.terminate)()
        status, _, err = await output_of(child)
        assert status == expected, err


def _has(child: KeptProcess) -> bool:
    return bool(select.select([child.stdout], [], [], 0)[0])


EXCESSES = {
    "memory": ("x = bytearray(600 << 20); import time; time.sleep(60)", {"memory": 100 << 20}),
    "processes": (
        "import os, time\nfor _ in range(100):\n    if os.fork() == 0: time.sleep(60); os._exit(0)",
        {"processes": 20},
    ),
    "disk": (
        "import os, time\nopen(os.environ['HOME'] + '/x', 'wb').write(b'x' * (8 << 20))\n"
        "time.sleep(60)",
        {"disk": 4 << 20},
    ),
    "files": (
        "import os, time\nfor n in range(300): open(f'/tmp/{n}', 'w')\ntime.sleep(60)",
        {"files": 100},
    ),
}


@pytest.mark.parametrize("name", EXCESSES)
async def test_a_limit_ends_the_agent(tmp_path: Path, name: str) -> None:
    code, limits = EXCESSES[name]
    status, _, err = await run(tmp_path, code, limits=limits)
    expected = {"files": "disk"}.get(name, name)
    is_refused = "MemoryError" in err or "BlockingIOError" in err  # where the kernel limits each
    assert status.exceeded == expected or (is_refused and status.exit_code == 1), (status, err)


async def test_a_spare_sees_the_folder_of_its_chat(tmp_path: Path) -> None:
    states = tmp_path / "states"
    chat = states / "chat"
    chat.mkdir(parents=True)
    (chat / "memory").write_text("a")
    path, lock = make_spare(str(states))
    code = """
import os, sys
state = os.environ["MOBOX_STATE"]
print(os.listdir(state), flush=True)
sys.stdin.read()
print(os.listdir(state), open(os.path.join(state, "memory")).read())
open(os.path.join(state, "new"), "w").write("b")
try:
    os.rename(state, state + "-moved")
    os.symlink("/etc", state)
except PermissionError:  # of a server that is root, the folder around it is not the agent's
    pass
"""
    spare = job(tmp_path, code, state=Path(path) / STATE)
    child = BubblewrapSandbox().start_spare(spare, lock)
    os.close(lock)
    await until(lambda: _has(child))
    await child.bind(chat)
    status, out, err = await output_of(child)
    assert status == Status(exit_code=0), err
    assert out.splitlines() == ["[]", "['memory'] a"]
    assert not chat.is_symlink()
    assert {each.name for each in chat.iterdir()} == {"memory", "new"}


async def test_a_folder_that_contains_the_data_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "agent" / "data" / "state"
    with pytest.raises(OSError, match="contain the server's data"):
        BubblewrapSandbox().start(job(tmp_path, "pass", state=state))
    assert list((state.parent / TMP).iterdir()) == []


def test_folders_of_killed_keepers_are_deleted_when_they_are_old(tmp_path: Path) -> None:
    old, new = tmp_path / TMP / "old", tmp_path / TMP / "new"
    for path in (old, new):
        path.mkdir(parents=True)
    os.utime(old, (0, 0))
    sweep(tmp_path)
    assert [path.name for path in (tmp_path / TMP).iterdir()] == ["new"]


async def test_variables_of_the_loader_count_in_the_sandbox_only(tmp_path: Path) -> None:
    code = "import os; print(os.environ['LD_PRELOAD'])"
    status, out, err = await run(tmp_path, code, env={"LD_PRELOAD": "/no/such.so"})
    assert (status, out) == (Status(exit_code=0), "/no/such.so\n")
    # box_init.py and the agent: not the keeper, and not bubblewrap.
    assert err.count("/no/such.so") == 2, err


async def test_a_descriptor_may_have_any_number(tmp_path: Path) -> None:
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(120)]
    try:
        status, out, err = await run(tmp_path, "print('ran')")
    finally:
        for number in taken:
            os.close(number)
    assert (status, out) == (Status(exit_code=0), "ran\n"), err


async def test_a_link_to_the_folder_of_the_data_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "real" / "state"
    (tmp_path / "real").mkdir()
    (tmp_path / "agent").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match="contain the server's data"):
        BubblewrapSandbox().start(job(tmp_path, "pass", state=state))


# What is mounted


def test_the_prefix_of_a_python_is_found_by_its_links(tmp_path: Path) -> None:
    prefix, tool = tmp_path / "python", tmp_path / "home" / "bin" / "tool"
    library = prefix / "lib" / "python3.11"
    for path in (prefix / "bin", library, tool.parent, tmp_path / "v" / "bin"):
        path.mkdir(parents=True)
    (prefix / "bin" / "python3").touch()
    (library / "os.py").touch()
    (tmp_path / "v" / "pyvenv.cfg").touch()
    (tmp_path / "v" / "bin" / "python").symlink_to(prefix / "bin" / "python3")
    tool.touch()
    assert is_python(prefix)
    assert list(interpreter_of(tmp_path / "v" / "bin" / "python"))[:2] == [tmp_path / "v", prefix]
    assert list(interpreter_of(tool)) == [tool]  # not the whole home
    assert list(interpreter_of(Path("/usr/bin/env"))) == []


def test_nested_folders_are_mounted_once(tmp_path: Path) -> None:
    (tmp_path / "agent" / "inner").mkdir(parents=True)
    given = job(tmp_path, "", readable=(tmp_path / "agent" / "inner", Path("/usr/share")))
    paths = readable_paths(given)
    assert tmp_path / "agent" in paths
    assert tmp_path / "agent" / "inner" not in paths
    assert Path("/usr/share") not in paths


# System calls


def test_each_refused_call_has_a_number_on_each_machine() -> None:
    for name, machine in ARCHITECTURES.items():
        missing = {*DENIED, *NO_SUCH_CALL} - machine.calls.keys()
        assert missing <= {"iopl", "ioperm"}, name
        assert len(set(machine.calls.values())) == len(machine.calls)
        assert len(filter_program(name)) % 8 == 0
    with pytest.raises(NoFilter, match="vax"):
        filter_program("vax")


async def test_refused_calls_answer_as_if_they_were_not_there(tmp_path: Path) -> None:
    code = """
import ctypes, errno, json, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(number, *arguments)
    return errno.errorcode.get(ctypes.get_errno())
x86 = platform.machine() == "x86_64"
NEW_USER = 0x10000000
found = {
    "unshare": call(272 if x86 else 97, NEW_USER),
    "clone": call(56 if x86 else 220, NEW_USER | 17, 0, 0, 0, 0),
    "clone3": call(435, 0, 0),
    "io_uring": call(425, 1, 0),
    "keyctl": call(250 if x86 else 219, 0, 0, 0),
    "ptrace": call(101 if x86 else 117, 0, 0, 0, 0),
    "memfd": call(319 if x86 else 279, b"x", 0),
}
try: socket.socket(40, socket.SOCK_STREAM)
except OSError as error: found["vsock"] = errno.errorcode[error.errno]
print(json.dumps(found))
"""
    status, out, err = await run(tmp_path, code)
    assert status == Status(exit_code=0), err
    assert json.loads(out) == {
        "unshare": "EPERM",
        "clone": "EPERM",
        "clone3": "ENOSYS",
        "io_uring": "EPERM",
        "keyctl": "EPERM",
        "ptrace": "EPERM",
        "memfd": "ENOSYS",
        "vsock": "EAFNOSUPPORT",
    }
