"""Runs agents as local processes, with limits, their own environment, and a keeper.

They run as the server's user and can read its files: this protects against accidents, not against
malicious agents.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import mobox.agent_path
from mobox.sandbox import Job, NotBound, Status

AGENT_PATH: Final = Path(mobox.agent_path.__file__).parent
KEEPER: Final = Path(__file__).with_name("keeper.py")

PASSED_ON: Final = (
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""The variables that every agent gets from the server's environment: paths and no secrets."""

LIMITS: Final = {
    "open_files": 1024,
    "processes": 8192,  # of the user, not of the agent: only stops a fork bomb
    "file_size": 1 << 30,
    "core": 0,
}
"""Default limits. Address space is not limited by default: V8 reserves terabytes."""

BINDING: Final = 5.0
"""Seconds in which a keeper answers."""

_CAN_LIMIT: Final = {"memory", *LIMITS}


class ProcessSandbox:
    """Runs jobs as processes."""

    def start(self, job: Job) -> KeptProcess:
        """Start a keeper, which starts the job.

        Call it in a permanent thread: the kernel sends the death signal when the *thread* that
        started a process ends, so agents started in a thread pool would die with their thread.
        """
        return self._start(job)

    def start_spare(self, job: Job, lock: int) -> KeptProcess:
        """Start a job that gets its chat later; its keeper keeps the `lock` of its folder."""
        return self._start(job, lock)

    def _start(self, job: Job, spare: int | None = None) -> KeptProcess:
        for folder in (job.state.parent, job.state):  # `mkdir` does not set the mode of parents
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        limits = {name: value for name, value in job.limits.items() if name in _CAN_LIMIT}
        argument = ",".join(f"{name}={value}" for name, value in {**LIMITS, **limits}.items())
        ours, theirs = socket.socketpair()
        try:
            return KeptProcess(_start_keeper(job, argument, theirs.fileno(), spare), ours)
        except OSError:  # no such folder, or too many processes
            ours.close()
            raise
        finally:
            theirs.close()


def _start_keeper(job: Job, limits: str, server: int, spare: int | None) -> subprocess.Popen[bytes]:
    lock = "" if spare is None else str(spare)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", KEEPER, str(server), limits, lock, *job.argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=job.folder,
        env=environment(job),
        pass_fds=[server] if spare is None else [server, spare],
        start_new_session=True,
    )


def environment(job: Job, ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a job: the common variables, its configured ones, and Mobox's."""
    state = str(job.state.absolute())  # its working directory is another one
    wanted = {**dict.fromkeys(PASSED_ON), "HOME": state, **job.env}
    values = {name: ours.get(name) if value is None else value for name, value in wanted.items()}
    path = [str(AGENT_PATH), values.get("PYTHONPATH")]
    values |= {
        "MOBOX_EMIT": "1",
        "MOBOX_STATE": state,
        "PYTHONPATH": os.pathsep.join(entry for entry in path if entry),
        "PYTHONUNBUFFERED": "1",  # or its output only arrives when it ends
        "PYTHONUTF8": "1",
    }
    return {name: value for name, value in values.items() if value is not None}


class KeptProcess:
    """An agent's process, seen through its keeper.

    The keeper's end of the socket closes when it exits, which is last. `wait` waits for that, and
    not for a pidfd (Linux only), a thread (one per agent) or `asyncio`'s own `Process.wait`, which
    also waits for the ends of pipes that other processes may hold.
    """

    created = None  # a process needs no container or the like

    def __init__(self, keeper: subprocess.Popen[bytes], server: socket.socket) -> None:
        self.pid = keeper.pid
        self._keeper = keeper
        self._socket = server
        self._received = b""
        self._bound: asyncio.Future[str] | None = None
        self._killed = False
        self._loop = asyncio.get_running_loop()
        self._status: asyncio.Future[Status] = self._loop.create_future()
        self.stdin, self.stdout, self.stderr = map(
            _own, (keeper.stdin, keeper.stdout, keeper.stderr)
        )
        server.setblocking(False)
        self._loop.add_reader(server, self._read_status)

    async def wait(self) -> Status:
        return await asyncio.shield(self._status)

    async def bind(self, state: Path) -> None:
        """Give a spare the state folder of a chat; raises `NotBound`. Once for each process."""
        if self._status.done():
            raise NotBound("it has ended")
        self._ask_to_bind(state)
        assert self._bound is not None
        try:
            answer = await asyncio.wait_for(self._bound, BINDING)
        except TimeoutError:
            raise NotBound("its keeper does not answer") from None
        if answer != "bound":
            raise NotBound(answer.removeprefix("refused "))

    def terminate(self) -> None:
        self._send(b"T")

    def kill(self) -> None:
        """Kill the job; the second call also stops `wait`, while the keeper continues.

        The keeper may be waiting for a process that is stuck in the kernel, or for processes that
        fork faster than it kills them. It is not killed itself, or they would have no reaper.
        """
        self._send(b"K")
        if self._killed and not self._status.done():
            self._keeper.send_signal(signal.SIGCONT)  # it may have been stopped
            self._status.set_result(Status())
        self._killed = True

    def _send(self, command: bytes) -> None:
        if not self._status.done():
            with suppress(OSError):  # it has just ended
                self._socket.send(command)

    def _read_status(self) -> None:
        data = b""
        with suppress(ConnectionError):
            data = self._socket.recv(4096)
        self._received += data
        if not data or b"bound" in data or b"refused" in data:
            self._answer_binding()
        if not data:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._keeper.wait()  # it has ended: this only reaps it
            if not self._status.done():
                self._status.set_result(_status_of(self._received))

    def _ask_to_bind(self, state: Path) -> None:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._bound = self._loop.create_future()
        self._send(b"H" + os.fsencode(state.absolute()) + b"\0")

    def _answer_binding(self) -> None:
        if self._bound is not None and not self._bound.done():
            last = self._received.decode().splitlines()[-1:]
            is_answer = bool(last) and last[0].startswith(("bound", "refused"))
            self._bound.set_result(last[0] if is_answer else "it has ended")


def _own(pipe: IO[bytes] | None) -> int:
    """Duplicate the descriptor of a pipe, so that no file object closes it."""
    assert pipe is not None
    with pipe:
        number = os.dup(pipe.fileno())
    os.set_blocking(number, False)
    return number


def _status_of(received: bytes) -> Status:
    words = dict(line.partition(" ")[::2] for line in received.decode().splitlines())
    if "signal" in words:
        return Status(signal=int(words["signal"]))
    return Status(exit_code=int(words["exit"])) if "exit" in words else Status()
