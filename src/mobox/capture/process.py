"""Executes an agent as a process: its output, its input and its end.

Rule 1: stdout is read on demand only: a full pipe blocks an agent that writes faster than its
        output is read. Only stderr is always read, its last 64 KiB kept.
Rule 2: writing to an agent's stdin never blocks: it may never read.
Rule 3: an execution ends with the process and all it started, not with its output: an agent that
        closes stdout is still running, and one whose stdout is held by others is not.
Rule 4: after the end, the rest in the pipe is read, and nothing more.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import struct
import termios
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mobox.capture.catalog import Agent
from mobox.capture.execution import STDERR_TAIL, Outcome
from mobox.events import JSON
from mobox.events.turn import Answer, Frontend, Turn
from mobox.sandbox import Child, Job, LeasedChild, Sandbox, Status

READ_SIZE: Final = 64 * 1024


class StopTimeouts(Struct, frozen=True, kw_only=True):
    """Timeouts of a stop, in seconds, until the next, stronger means."""

    message: float = 1
    term: float = 5
    kill: float = 5
    """For the kernel, to end all its processes; after that the keeper continues alone."""


_TIMEOUTS: Final = StopTimeouts()
_NO_ENV: Final[Mapping[str, str]] = MappingProxyType({})


def job_of(
    agent: Agent,
    state: Path,
    more_env: Mapping[str, str] = _NO_ENV,
    ports: tuple[int, ...] = (),
) -> Job:
    """The job of `agent` for a sandbox, with `state` as the chat's state folder."""
    limits = msgspec.structs.asdict(agent.limits)
    return Job(
        argv=agent.argv,
        folder=agent.folder,
        state=state,
        env={**agent.env, **more_env},
        limits={name: value for name, value in limits.items() if isinstance(value, int)},
        network=agent.network,
        image=agent.image,
        ports=ports,
    )


class ProcessExecution:
    """One attempt of a run, executed by a process. Created by `start`, in an event loop."""

    def __init__(self, child: Child, timeouts: StopTimeouts = _TIMEOUTS) -> None:
        self._child = child
        self._timeouts = timeouts
        self._stdout = _Source(child.stdout)
        self._stderr = _Tail(child.stderr)
        self._stdin = _Sink(child.stdin)
        self._ended = asyncio.create_task(self._watch())
        self._stop: asyncio.Task[None] | None = None
        self._hurry: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    def start(
        cls, job: Job, turn: Turn, sandbox: Sandbox, timeouts: StopTimeouts = _TIMEOUTS
    ) -> ProcessExecution:
        """Start `job` and send it `turn`; raises `OSError` if it cannot be started."""
        execution = cls(sandbox.start(job), timeouts)
        execution.hand_over(turn)
        return execution

    def hand_over(self, turn: Turn) -> None:
        """Send it its turn: from here on the process belongs to one attempt of a run.

        Whatever a process may use only for its run, such as a key, becomes valid here.
        """
        self._send_message("turn", turn)

    def run_until(self, deadline: float) -> None:
        """Let it run until then, where its sandbox can freeze it; see `LeasedChild`."""
        if isinstance(self._child, LeasedChild):
            self._child.run_until(deadline)

    @property
    def pid(self) -> int:
        """The pid of the agent's keeper."""
        return self._child.pid

    @property
    def running(self) -> bool:
        """Whether any of its processes still runs."""
        return not self._ended.done()

    async def read(self) -> bytes:
        """Its next output, at most 64 KiB; empty when it has ended and all is read.

        May be cancelled, as by a timeout, and called again without losing a byte.
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
        """Its whole output, as it comes."""
        while data := await self.read():
            yield data

    def answer(self, request_id: str, answer: Answer) -> None:
        """Send the answer to an input request."""
        self._send_message("answer", msgspec.to_builtins(replace(answer, request_id=request_id)))

    @property
    def stderr_so_far(self) -> str:
        """The end of its stderr, as far as it is read."""
        return self._stderr.text()

    def watch_stderr(self, changed: Callable[[], None]) -> None:
        """Call this whenever more of its stderr was read."""
        self._stderr.changed = changed

    @property
    def created(self) -> str | None:
        """What its sandbox had to create, as a message for users."""
        return self._child.created

    @property
    def has_started(self) -> bool:
        """Whether it has read its turn."""
        return not self._stdin.is_unread

    @property
    def has_all_answers(self) -> bool:
        """Never certain: an answer in its stdin may not have been read."""
        return False

    def set_frontend(self, frontend: Frontend) -> None:
        """Send the frontend state that came with an answer."""
        self._send_message("frontend", frontend)

    def send(self, control: JSON) -> None:
        """Send a JSON line to its stdin; unread lines are discarded at its end."""
        self._stdin.write(msgspec.json.encode(control) + b"\n")

    def _send_message(self, kind: str, data: Struct | JSON) -> None:
        self.send({"type": kind, "data": data})

    def when_ended(self, call: Callable[[], None]) -> None:
        """Call this once all its processes have ended."""
        self._ended.add_done_callback(lambda _: call())

    async def stop(self) -> Outcome:
        """Stop it: by a message, TERM, then KILL. Continues even if the caller is cancelled."""
        self._begin_to_stop()
        if self._stop is not None:
            await asyncio.shield(self._stop)
        return await self.outcome()

    def kill(self) -> None:
        """Kill it at once, as after a lost lease; even if it is being stopped."""
        if not self._hurry.done():
            self._hurry.set_result(None)
        self._begin_to_stop()

    async def outcome(self) -> Outcome:
        """How it ended, once it has."""
        status = await asyncio.shield(self._ended)
        return Outcome(
            exit_code=status.exit_code,
            signal=None if status.signal is None else _name_of(status.signal),
            stderr_tail=self._stderr.text(),
            stopped=self._stop is not None,
            exceeded=status.exceeded,
            limit=status.limit,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.stop()
        finally:
            self._stdout.close()

    async def close(self) -> None:
        """Close it, once it has ended: what it wrote is not read any more."""
        await asyncio.shield(self._ended)
        self._stdout.close()

    async def _watch(self) -> Status:
        try:
            return await self._child.wait()
        finally:
            # All its processes have ended, so what the pipes hold now is the rest, even if they
            # have no end of file (a process out of our reach may have them open).
            self._stdin.close()
            self._stderr.finish()
            self._stdout.finish()

    def _begin_to_stop(self) -> None:
        if self._stop is None and self.running:
            self._stop = asyncio.create_task(self._end())

    async def _end(self) -> None:
        timeouts = self._timeouts
        if await self._ends_after(lambda: self.send({"type": "stop"}), timeouts.message):
            return
        if await self._ends_after(self._child.terminate, timeouts.term):
            return
        self._child.kill()
        await asyncio.wait([self._ended], timeout=timeouts.kill)
        if self.running:
            self._child.kill()

    async def _ends_after(self, request: Callable[[], None], seconds: float) -> bool:
        """Make a request to stop, and wait; whether it has ended. Skipped after `kill`."""
        if not self._hurry.done():
            request()
            either: list[asyncio.Future[Any]] = [self._ended, self._hurry]
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return not self.running


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"SIG{number}"


class _Source:
    """A pipe that is read on demand."""

    def __init__(self, number: int) -> None:
        self.at_end = False
        self._number = number
        self._left: int | None = None  # how much may still be read, once that is known

    def read(self) -> bytes | None:
        """Read without blocking; `None` if there is nothing yet, empty at the end."""
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
        """Wait until there is data, or the process has ended."""
        loop = asyncio.get_running_loop()
        ready = loop.create_future()

        def wake(*_: object) -> None:
            if not ready.done():
                ready.set_result(None)

        loop.add_reader(self._number, wake)
        ended.add_done_callback(wake)
        try:
            await ready
        finally:
            ended.remove_done_callback(wake)
            if not self.at_end:
                loop.remove_reader(self._number)

    def finish(self) -> None:
        """The writers have ended: what the pipe holds now is the rest."""
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
    """A pipe that is always read, with only the end kept."""

    def __init__(self, number: int) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._source = _Source(number)
        self._kept = bytearray()
        asyncio.get_running_loop().add_reader(number, self._read)

    def _read(self) -> bool:
        data = self._source.read()
        if data:
            self._kept += data
            del self._kept[:-STDERR_TAIL]
            self.changed()
        return bool(data)

    def finish(self) -> None:
        self._source.finish()
        while self._read():
            pass
        self._source.close()

    def text(self) -> str:
        while self._read():
            pass
        return self._kept.decode("utf-8", "backslashreplace")


class _Sink:
    """A pipe that is written without blocking, from a buffer."""

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
        """Whether something that was written is not read yet."""
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


def _waiting_in(number: int) -> int:
    """How many bytes a pipe holds."""
    answer = bytearray(4)
    with suppress(OSError):
        fcntl.ioctl(number, termios.FIONREAD, answer)
    size: int = struct.unpack("i", answer)[0]
    return size
