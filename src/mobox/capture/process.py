"""An agent in a process: what it writes, what it is told, how it ends.

Rule 1: its output is read when the consumer asks and not before: a full pipe holds back an agent
        that writes faster than anyone reads. Only stderr is always read, its last 64 KiB kept.
Rule 2: nothing that is said to an agent makes anyone wait: it may never read.
Rule 3: the end is that of the process and of all it started, not that of its output: one that
        closes stdout is still running, and one that has left stdout to others is not.
Rule 4: after the end what is still in the pipe is read, and then no more.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import struct
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mobox.capture.execution import STDERR_TAIL, Outcome
from mobox.catalog import Agent
from mobox.events import JSON
from mobox.sandbox import Child, Job, Sandbox, Status
from mobox.turn import Answer, Frontend, Turn

__all__ = ["Outcome", "Patience", "ProcessExecution", "job_of"]

READ_SIZE: Final = 64 * 1024


class Patience(Struct, frozen=True, kw_only=True):
    """How many seconds an agent that is stopped has, until it is told more plainly."""

    message: float = 1
    term: float = 5
    kill: float = 5
    """The kernel's, to end all that it started; then that is left to the keeper."""


_PATIENCE: Final = Patience()


def job_of(agent: Agent, state: Path) -> Job:
    """What a sandbox is to run for `agent`, in the chat whose folder is `state`."""
    limits = msgspec.structs.asdict(agent.limits)
    return Job(
        argv=agent.argv,
        folder=agent.folder,
        state=state,
        env=agent.env,
        limits={name: value for name, value in limits.items() if value is not None},
    )


class ProcessExecution:
    """One leg of a run, executed by a process. Made by `start`, in a running event loop."""

    def __init__(self, child: Child, patience: Patience) -> None:
        self._child = child
        self._patience = patience
        self._stdout = _Source(child.stdout)
        self._stderr = _Tail(child.stderr)
        self._stdin = _Sink(child.stdin)
        self._ended = asyncio.create_task(self._watch())
        self._stop: asyncio.Task[None] | None = None
        self._hurry: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    def start(
        cls, job: Job, turn: Turn, sandbox: Sandbox, patience: Patience = _PATIENCE
    ) -> ProcessExecution:
        """Start `job` and tell it `turn`; raises `OSError` where there is nothing to start."""
        execution = cls(sandbox.start(job), patience)
        execution._say("turn", turn)
        return execution

    @property
    def pid(self) -> int:
        """Of the process that keeps the agent's."""
        return self._child.pid

    @property
    def running(self) -> bool:
        """Whether anything of it still runs."""
        return not self._ended.done()

    async def read(self) -> bytes:
        """What it wrote next, at most 64 KiB; empty when it has ended and all is read.

        May be cancelled, as by a timeout, and called again: no byte is lost.
        """
        while not self._stdout.at_end:
            data = self._stdout.read()
            if data:
                return data
            if data is None:
                await self._stdout.wait(self._ended)
        await asyncio.shield(self._ended)
        return b""

    async def batches(self) -> AsyncIterator[bytes]:
        """All that it writes, as it comes."""
        while data := await self.read():
            yield data

    def answer(self, request_id: str, answer: Answer) -> None:
        """Tell it what a person said to a request."""
        self._say("answer", msgspec.to_builtins(replace(answer, request_id=request_id)))

    @property
    def created(self) -> str | None:
        """What its sandbox had to create."""
        return self._child.created

    @property
    def has_started(self) -> bool:
        """Whether it has read its turn."""
        return not self._stdin.is_unread

    @property
    def heard(self) -> bool:
        """Nobody knows: what was written to it may never have been read."""
        return False

    def tell(self, frontend: Frontend) -> None:
        """Tell it what the page brought along with an answer."""
        self._say("frontend", frontend)

    def send(self, control: JSON) -> None:
        """Say anything, as a line on its stdin; what it does not read is forgotten at its end."""
        self._stdin.write(msgspec.json.encode(control) + b"\n")

    def _say(self, kind: str, data: Struct | JSON) -> None:
        self.send({"type": kind, "data": data})

    async def stop(self) -> Outcome:
        """End it: by a message, by TERM, by KILL. Goes on even if the caller is cancelled."""
        if self._stop is None and self.running:
            self._stop = asyncio.create_task(self._end())
        if self._stop is not None:
            await asyncio.shield(self._stop)
        return await self.outcome()

    def kill(self) -> None:
        """End it at once, as when the run is somebody else's now; even if it is being stopped."""
        if not self._hurry.done():
            self._hurry.set_result(None)
        if self._stop is None and self.running:
            self._stop = asyncio.create_task(self._end())

    async def outcome(self) -> Outcome:
        """How it ended, once it has."""
        status = await asyncio.shield(self._ended)
        return Outcome(
            exit_code=status.exit_code,
            signal=None if status.signal is None else _name_of(status.signal),
            stderr_tail=self._stderr.text(),
            stopped=self._stop is not None,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self.stop()
        finally:
            self._stdout.close()

    async def _watch(self) -> Status:
        try:
            return await self._child.wait()
        finally:
            # Nobody who lives writes any more. What the pipes hold now is all there is, even if
            # the kernel says they have not ended (someone beyond our reach has them open).
            self._stdin.close()
            self._stderr.finish()
            self._stdout.finish()

    async def _end(self) -> None:
        patience = self._patience
        if await self._ends_when(self._say_stop, patience.message):
            return
        if await self._ends_when(self._child.terminate, patience.term):
            return
        self._child.kill()
        await asyncio.wait([self._ended], timeout=patience.kill)
        if self.running:
            self._child.kill()

    def _say_stop(self) -> None:
        self.send({"type": "stop"})

    async def _ends_when(self, asked: Callable[[], None], seconds: float) -> bool:
        """Whether it ends within its time when it is asked like this; nobody asks in a hurry."""
        if not self._hurry.done():
            asked()
            either: list[asyncio.Future[Any]] = [self._ended, self._hurry]
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return not self.running


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"SIG{number}"


class _Source:
    """A pipe that is read when somebody asks."""

    def __init__(self, number: int) -> None:
        self.at_end = False
        self._number = number
        self._left: int | None = None  # how much may still be read, once that is known

    def read(self) -> bytes | None:
        """What is there; `None` if nothing is yet. At the end, empty for good."""
        if self.at_end:
            return b""
        size = READ_SIZE if self._left is None else min(READ_SIZE, self._left)
        try:
            data = os.read(self._number, size)
        except BlockingIOError:
            return None
        if self._left is not None:
            self._left -= len(data)
        if not data or self._left == 0:
            self.close()
        return data

    async def wait(self, ended: asyncio.Task[Status]) -> None:
        """Until there is something, or the process has ended."""
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        wake = _setter(ready)
        loop.add_reader(self._number, wake)
        ended.add_done_callback(wake)
        try:
            await ready
        finally:
            ended.remove_done_callback(wake)
            if not self.at_end:
                loop.remove_reader(self._number)

    def finish(self) -> None:
        """Whoever should write has ended: what the pipe holds now is the rest."""
        if not self.at_end:
            self._left = _waiting_in(self._number)
            if not self._left:
                self.close()

    def close(self) -> None:
        if not self.at_end:
            self.at_end = True
            asyncio.get_running_loop().remove_reader(self._number)
            os.close(self._number)


class _Tail:
    """A pipe that is always read, of which only the end is kept."""

    def __init__(self, number: int) -> None:
        self._source = _Source(number)
        self._number = number
        self._kept = bytearray()
        asyncio.get_running_loop().add_reader(number, self._read)

    def _read(self) -> bool:
        data = self._source.read()
        if data:
            self._kept += data
            del self._kept[:-STDERR_TAIL]
        return bool(data)

    def finish(self) -> None:
        self._source.finish()
        while self._read():
            pass
        self._source.close()

    def text(self) -> str:
        return self._kept.decode("utf-8", "backslashreplace")


class _Sink:
    """A pipe that is written to when it has room."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._waiting = bytearray()
        self._closed = False

    def write(self, data: bytes) -> None:
        if self._closed:
            return
        if not self._waiting:
            asyncio.get_running_loop().add_writer(self._number, self._write)
        self._waiting += data

    @property
    def is_unread(self) -> bool:
        """Whether it still holds something that was written."""
        return not self._closed and (bool(self._waiting) or _waiting_in(self._number) > 0)

    def _write(self) -> None:
        try:
            del self._waiting[: os.write(self._number, self._waiting)]
        except BlockingIOError:
            return
        except OSError:  # it has closed its stdin, or ended
            self.close()
            return
        if not self._waiting:
            asyncio.get_running_loop().remove_writer(self._number)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._waiting.clear()
            asyncio.get_running_loop().remove_writer(self._number)
            os.close(self._number)


def _setter(future: asyncio.Future[None]) -> Callable[..., None]:
    def wake(*_: object) -> None:
        if not future.done():
            future.set_result(None)

    return wake


def _waiting_in(number: int) -> int:
    """How many bytes a pipe holds."""
    answer = bytearray(4)
    with suppress(OSError):
        fcntl.ioctl(number, termios.FIONREAD, answer)
    size: int = struct.unpack("i", answer)[0]
    return size
