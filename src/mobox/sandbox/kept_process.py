"""Starts jobs under a keeper, and sees them through it.

The part that all sandboxes on this machine share: they differ in the command that the keeper runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

import mobox.agent_path
from mobox.sandbox import Job, LimitName, NotBound, Status
from mobox.sandbox.cgroups import remove
from mobox.sandbox.limits import with_defaults

AGENT_PATH: Final = Path(mobox.agent_path.__file__).parent
KEEPER: Final = Path(__file__).with_name("keeper.py")

PASSED_ON: Final = (
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""The variables that every agent gets from the server's environment: paths and no secrets."""

BINDING: Final = 5.0
"""Seconds in which a keeper answers."""
_LIMIT_NAMES: Final[Mapping[str, LimitName]] = {
    "memory": "memory",
    "processes": "processes",
    "disk": "disk",
}


class Keeping(Struct, frozen=True, kw_only=True):
    """What a keeper is given."""

    command: tuple[str, ...]
    options: tuple[tuple[str, str | int], ...] = ()
    """Those of keeper.py."""
    env: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    """Those that the command inherits."""


def start_kept(job: Job, keeping: Keeping, spare: int | None = None) -> KeptProcess:
    """Start a keeper, which starts the command; raises `OSError`.

    Call it in a permanent thread: the kernel sends the death signal when the *thread* that started
    a process ends, so agents started in a thread pool would die with their thread.
    """
    ours, theirs = socket.socketpair()
    try:
        keeper = start_keeper(keeping, theirs.fileno(), job.folder, spare)
        return KeptProcess(keeper, ours, with_defaults(job.limits))
    except OSError:  # no such folder, or too many processes
        ours.close()
        remove([Path(str(path)) for name, path in keeping.options if name == "cgroup"])
        raise
    finally:
        theirs.close()


def start_keeper(
    keeping: Keeping, server: int, folder: Path, spare: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a keeper with pipes; `server` is its end of the socket."""
    options = [*keeping.options, *([("spare", spare)] if spare is not None else ())]
    words = [f"{name}={value}" for name, value in options]
    inherited = [server, *keeping.descriptors, *([spare] if spare is not None else ())]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", KEEPER, str(server), *words, "--", *keeping.command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=folder,
        env=dict(keeping.env),
        pass_fds=inherited,
        start_new_session=True,
    )


def make_state(job: Job) -> None:
    """Create the state folder if it is missing; `mkdir` does not set the mode of parents."""
    for folder in (job.state.parent, job.state):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


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

    created: str | None = None  # a process needs no container or the like

    def __init__(
        self, keeper: subprocess.Popen[bytes], server: socket.socket, limits: Mapping[str, int]
    ) -> None:
        self.pid = keeper.pid
        self._keeper = keeper
        self._socket = server
        self._limits = limits
        self._received = b""
        self._bound: asyncio.Future[str] | None = None
        self._killed = False
        self._listening: list[tuple[int, socket.socket]] = []
        self._serve: Callable[[int, socket.socket], object] | None = None
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

    def run_until(self, deadline: float) -> None:
        """Let it run until then; see `LeasedChild`."""
        self._send(b"L%r\0" % deadline)

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

    def when_listening(self, serve: Callable[[int, socket.socket], object]) -> None:
        self._serve = serve
        while self._listening:
            serve(*self._listening.pop(0))

    def _send(self, command: bytes) -> None:
        if self._status.done():
            return
        try:
            self._socket.send(command)
        except BlockingIOError:  # a keeper that was stopped has not read what was sent before
            if command == b"K":
                self._socket.shutdown(socket.SHUT_WR)  # which counts as this command
        except OSError:  # it has just ended
            return

    def _read_status(self) -> None:
        data, descriptors = b"", list[int]()
        with suppress(ConnectionError):
            data, descriptors, _, _ = socket.recv_fds(self._socket, 4096, 8)
        self._received += data
        self._take(data, descriptors)
        if not data or b"bound" in data or b"refused" in data:
            self._answer_binding()
        if not data:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._keeper.wait()  # it has ended: this only reaps it
            self._close_unserved()
            if not self._status.done():
                self._status.set_result(self._status_of(self._received))

    def _take(self, data: bytes, descriptors: Iterable[int]) -> None:
        """Take the sockets of a sandbox, each of which comes with a line `port N`."""
        ports = [line[5:] for line in data.splitlines() if line.startswith(b"port ")]
        for port, number in zip(ports, descriptors, strict=False):
            try:
                listening = socket.socket(fileno=number)
            except OSError:  # what came out of a sandbox may be anything
                os.close(number)
                continue
            listening.set_inheritable(False)
            if self._serve is not None:
                self._serve(int(port), listening)
            else:
                self._listening.append((int(port), listening))

    def _close_unserved(self) -> None:
        while self._listening:
            self._listening.pop()[1].close()

    def _ask_to_bind(self, state: Path) -> None:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._bound = self._loop.create_future()
        self._send(b"H" + os.fsencode(state.absolute()) + b"\0")

    def _answer_binding(self) -> None:
        if self._bound is not None and not self._bound.done():
            last = self._received.decode().splitlines()[-1:]
            is_answer = bool(last) and last[0].startswith(("bound", "refused"))
            self._bound.set_result(last[0] if is_answer else "it has ended")

    def _status_of(self, received: bytes) -> Status:
        words = dict(line.partition(" ")[::2] for line in received.decode().splitlines())
        exceeded = _LIMIT_NAMES.get(words.get("exceeded", ""))
        limit = None if exceeded is None else self._limits[exceeded]
        if "signal" in words:
            return Status(signal=int(words["signal"]), exceeded=exceeded, limit=limit)
        code = int(words["exit"]) if "exit" in words else None
        return Status(exit_code=code, exceeded=exceeded, limit=limit)


def _own(pipe: IO[bytes] | None) -> int:
    """Duplicate the descriptor of a pipe, so that no file object closes it."""
    assert pipe is not None
    with pipe:
        number = os.dup(pipe.fileno())
    os.set_blocking(number, False)
    return number
