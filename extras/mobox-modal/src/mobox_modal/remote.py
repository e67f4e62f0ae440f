"""A job on another machine, seen as a process of this one.

Rule 1: its stdin, stdout and stderr are pipes here; a task copies between them and the service. A
        full pipe stops the copying, so an agent that writes faster than it is read has to wait.
Rule 2: the state folder is locked as long as the job runs. It is sent before, and replaced after,
        whether or not the agent was killed; after a failure it stays as it was.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import tarfile
import tempfile
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import socket
from typing import Final, Protocol

from mobox.sandbox import Job, Status
from mobox.sandbox.limits import with_defaults
from mobox_modal.state import TooLarge, pack, unpack

CHUNK: Final = 64 * 1024
NOT_RUNNABLE: Final = 126  # as of shells
RECEIVE: Final = 'mkdir -p "$0" && exec tar --extract --directory "$0"'
RUN: Final = 'echo $$ > "$0.pid"; exec "$@"'
"""A script of the shell that becomes the agent; signals are sent to the pid in the file."""
SIGNAL: Final = 'kill -"$1" "$(cat "$0.pid")"'


class RemoteProcess(Protocol):
    """A command that runs in a sandbox."""

    stdout: AsyncIterable[bytes]
    stderr: AsyncIterable[bytes]

    async def write(self, data: bytes) -> None:
        """Write to its stdin; no data closes it."""
        ...

    async def wait(self) -> int:
        """Wait for its exit code."""
        ...


class Remote(Protocol):
    """A sandbox of a service."""

    async def run(self, *words: str) -> RemoteProcess:
        """Start a command."""
        ...

    async def end(self) -> None:
        """End it, and all that runs in it."""
        ...


class RemoteChild:
    """A job in a sandbox that is created for it, and ended with it."""

    pid = 0  # it is no process of this machine
    created: str | None

    def __init__(self, job: Job, create: Callable[[], Awaitable[Remote]], place: str) -> None:
        """`place` is where the state folder is in the sandbox."""
        self.created = f"Created a sandbox for {job.folder.name}"
        self._job = job
        self._create = create
        self._place = place
        self._remote: Remote | None = None
        self._signalled: str | None = None
        self._killed = False
        stdin, self.stdin = os.pipe()
        self.stdout, stdout = os.pipe()
        self.stderr, stderr = os.pipe()
        for number in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(number, False)
        self._ended: asyncio.Future[Status] = asyncio.get_running_loop().create_future()
        self._tasks = {asyncio.create_task(self._run(stdin, stdout, stderr))}

    async def wait(self) -> Status:
        return await asyncio.shield(self._ended)

    def terminate(self) -> None:
        self._do(self._signal("TERM"))

    def kill(self) -> None:
        """Kill the agent, whose state is still taken back; the second call gives that up."""
        self._do(self._end() if self._killed else self._signal("KILL"))
        if self._killed and not self._ended.done():
            self._ended.set_result(Status())
        self._killed = True

    def when_listening(self, serve: Callable[[int, socket], object]) -> None:
        """Nothing listens: agents use the gateway's public address."""

    def _do(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _signal(self, name: str) -> None:
        self._signalled = name
        if self._remote is not None:
            await (await self._remote.run("sh", "-c", SIGNAL, self._place, name)).wait()

    async def _end(self) -> None:
        if self._remote is not None:
            await self._remote.end()

    async def _run(self, stdin: int, stdout: int, stderr: int) -> None:
        status = Status(exit_code=NOT_RUNNABLE)
        reader, pipe = await _reader(stdin)
        output, errors = await _writer(stdout), await _writer(stderr)
        try:
            with _locked(self._job.state):
                self._remote = await self._create()
                status = await self._in_sandbox(self._remote, reader, output, errors)
        except Exception as error:  # whatever a service raises is why the run has failed
            errors.write(f"the sandbox has failed: {str(error) or type(error).__name__}\n".encode())
        finally:
            for end in (output, errors, pipe):
                end.close()
            with suppress(Exception):
                await self._end()
            if not self._ended.done():
                self._ended.set_result(status)

    async def _in_sandbox(
        self,
        remote: Remote,
        stdin: asyncio.StreamReader,
        stdout: asyncio.StreamWriter,
        stderr: asyncio.StreamWriter,
    ) -> Status:
        await self._send_state(remote)
        if self._signalled is not None:  # while the sandbox was created
            return Status(signal=signal.Signals[f"SIG{self._signalled}"])
        agent = await remote.run("sh", "-c", RUN, self._place, *self._job.argv)
        feeding = asyncio.create_task(_feed(stdin, agent))
        try:
            await asyncio.gather(_copy(agent.stdout, stdout), _copy(agent.stderr, stderr))
            code = await agent.wait()
        finally:
            feeding.cancel()
        limit = with_defaults(self._job.limits)["disk"]
        try:
            await self._fetch_state(remote, limit)
        except TooLarge:
            return Status(exit_code=code, exceeded="disk", limit=limit)
        return Status(signal=code - 128) if code > 128 else Status(exit_code=code)

    async def _send_state(self, remote: Remote) -> None:
        receiving = await remote.run("sh", "-c", RECEIVE, self._place)
        with tempfile.TemporaryFile() as archive:
            await asyncio.to_thread(pack, self._job.state, archive)
            archive.seek(0)
            while data := archive.read(CHUNK):
                await receiving.write(data)
        await receiving.write(b"")
        if await receiving.wait() != 0:
            raise OSError("the state folder could not be sent")

    async def _fetch_state(self, remote: Remote, most: int) -> None:
        sending = await remote.run("tar", "--create", "--directory", self._place, ".")
        with tempfile.TemporaryFile() as archive:
            async for data in sending.stdout:
                archive.write(data)
                if archive.tell() > 2 * most:  # an archive is larger than the files in it
                    raise TooLarge
            if await sending.wait() != 0:
                raise OSError("the state folder could not be read")
            archive.seek(0)
            try:
                await asyncio.to_thread(unpack, archive, self._job.state, most)
            except tarfile.TarError as error:
                raise OSError(f"the state folder was not accepted: {error}") from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder; raises `OSError` if another run has it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise OSError("an earlier process of this chat is still running") from None
    finally:
        os.close(number)


async def _feed(source: asyncio.StreamReader, agent: RemoteProcess) -> None:
    """Copy to an agent's stdin, with its end."""
    while data := await source.read(CHUNK):
        await agent.write(data)
    await agent.write(b"")


async def _copy(source: AsyncIterable[bytes], target: asyncio.StreamWriter) -> None:
    """Copy an agent's output, as fast as it is read here; what is not read any more is dropped."""
    async for data in source:
        with suppress(ConnectionError):
            target.write(data)
            await target.drain()


async def _reader(number: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(number, "rb", 0)
    )
    return reader, transport


async def _writer(number: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(number, "wb", 0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
