"""Agents as processes of this machine: limited, with an environment of their own, and kept.

They run as the same user as the server and can read its files: this keeps agents from breaking
things by accident, not from breaking in.
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
from mobox.sandbox import Job, Status

__all__ = ["AGENT_PATH", "LIMITS", "PASSED_ON", "KeptProcess", "ProcessSandbox"]

AGENT_PATH: Final = Path(mobox.agent_path.__file__).parent
KEEPER: Final = Path(__file__).with_name("keeper.py")

PASSED_ON: Final = (
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""What every agent gets of the server's environment: where things are, and no secrets."""

LIMITS: Final = {
    "open_files": 1024,
    "processes": 8192,  # of the user, not of the agent: it only ends a fork bomb
    "file_size": 1 << 30,
    "core": 0,
}
"""What holds where the job says nothing. Address space is left alone: V8 reserves terabytes."""

_CAN_LIMIT: Final = {"memory", *LIMITS}


class ProcessSandbox:
    """Runs jobs as processes."""

    def start(self, job: Job) -> KeptProcess:
        """Start a keeper, and by it the job.

        Called in the thread that stays: the kernel's death signal is sent when the *thread* that
        started a process ends, and agents of a thread pool would die with their thread.
        """
        for folder in (job.state.parent, job.state):  # of parents `mkdir` would not set the mode
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        limits = {name: value for name, value in job.limits.items() if name in _CAN_LIMIT}
        told = ",".join(f"{name}={value}" for name, value in {**LIMITS, **limits}.items())
        ours, theirs = socket.socketpair()
        try:
            return KeptProcess(_start_keeper(job, told, theirs.fileno()), ours)
        except OSError:  # no such folder, or no more processes
            ours.close()
            raise
        finally:
            theirs.close()


def _start_keeper(job: Job, limits: str, server: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", KEEPER, str(server), limits, *job.argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=job.folder,
        env=environment(job),
        pass_fds=[server],
        start_new_session=True,
    )


def environment(job: Job, ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a job: what all get, what is written down for it, and what is mobox's."""
    state = str(job.state.absolute())  # it runs in another folder than we do
    asked = {**dict.fromkeys(PASSED_ON), "HOME": state, **job.env}
    values = {name: ours.get(name) if value is None else value for name, value in asked.items()}
    path = [str(AGENT_PATH), values.get("PYTHONPATH")]
    values |= {
        "MOBOX_EMIT": "1",
        "MOBOX_STATE": state,
        "PYTHONPATH": os.pathsep.join(entry for entry in path if entry),
        "PYTHONUNBUFFERED": "1",  # or what it prints comes when it ends
        "PYTHONUTF8": "1",
    }
    return {name: value for name, value in values.items() if value is not None}


class KeptProcess:
    """An agent's process, seen through its keeper.

    The keeper's end of the socket closes when it ends, and it ends last: so that is what is waited
    for, and not a pidfd (Linux only), a thread (one per agent) or `asyncio`'s own `Process.wait`,
    which also waits for the ends of pipes that somebody else may hold.
    """

    created = None  # there is nothing around it that would have to be

    def __init__(self, keeper: subprocess.Popen[bytes], server: socket.socket) -> None:
        self.pid = keeper.pid
        self._keeper = keeper
        self._socket = server
        self._said = b""
        self._killed = False
        self._loop = asyncio.get_running_loop()
        self._status: asyncio.Future[Status] = self._loop.create_future()
        self.stdin, self.stdout, self.stderr = map(
            _own, (keeper.stdin, keeper.stdout, keeper.stderr)
        )
        server.setblocking(False)
        self._loop.add_reader(server, self._hear)

    async def wait(self) -> Status:
        return await asyncio.shield(self._status)

    def terminate(self) -> None:
        self._order(b"T")

    def kill(self) -> None:
        """The second time nobody waits any more, and the keeper goes on by itself.

        It may wait for a process that the kernel holds, or for those who start new ones faster than
        it kills them: killed itself, it would leave them all to nobody.
        """
        self._order(b"K")
        if self._killed and not self._status.done():
            self._keeper.send_signal(signal.SIGCONT)  # somebody may have stopped it
            self._status.set_result(Status())
        self._killed = True

    def _order(self, order: bytes) -> None:
        if not self._status.done():
            with suppress(OSError):  # it has just ended
                self._socket.send(order)

    def _hear(self) -> None:
        data = b""
        with suppress(ConnectionError):
            data = self._socket.recv(4096)
        self._said += data
        if not data:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._keeper.wait()  # it has ended: this only takes it off the kernel's list
            if not self._status.done():
                self._status.set_result(_status_of(self._said))


def _own(pipe: IO[bytes] | None) -> int:
    """The descriptor of a pipe, which no file object closes any more."""
    assert pipe is not None
    with pipe:
        number = os.dup(pipe.fileno())
    os.set_blocking(number, False)
    return number


def _status_of(said: bytes) -> Status:
    words = dict(line.split() for line in said.decode().splitlines())
    if "signal" in words:
        return Status(signal=int(words["signal"]))
    return Status(exit_code=int(words["exit"])) if "exit" in words else Status()
