"""A server in a process of its own, on a port of this machine, and clients that read it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from mobox.events import LogEntry
from mobox.settings import OWNER
from mobox.storage import open_storage
from mobox.storage.log import Run

HERE = Path(__file__).parent
AGENTS = HERE / "agents"
WANTS_JSON = {"accept": "application/json"}
"""For errors as a program reads them; without it, `useChat`'s routes answer with a sentence."""
LIMIT = 60.0
"""Seconds in which anything here should long have happened."""
MOBOX = [sys.executable, "-c", "import sys; from mobox.cli import main; sys.exit(main())"]
OURS = re.compile(
    r"MOBOX_.*|HOST|PORT|DATABASE_URL|REDIS_URL|SANDBOX_BACKEND|FORWARDED_ALLOW_IPS"
    r"|PYTHONUNBUFFERED"
)
SANDBOX = re.compile(
    r" INFO .* mobox\.supervisor: (agents run in the sandbox|sandbox \w+:|agent \S+: may connect)"
)
"""What every server logs about the sandbox of its agents."""
USUAL = {"SANDBOX_BACKEND": "process", "MOBOX_DRAIN": "0"}
"""Most tests are about what a server does with an agent's output, and look at the agent from
outside; those of sandboxes, and of the agents in agents/, name another sandbox. And they end
servers in the middle of runs; those of `--drain` give these time to finish."""


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without what would be a setting."""
    kept = {k: v for k, v in os.environ.items() if not OURS.fullmatch(k)}
    return {**kept, **USUAL, **more}


def loading_first(folder: Path, code: str) -> str:
    """The PYTHONPATH with which a server or a worker loads this before all else; no agent does."""
    only = "import sys\n\nif {'serve', 'worker'} & {*sys.orig_argv}:\n"
    (folder / "sitecustomize.py").write_text(only + textwrap.indent(code, "    "))
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def mobox(*arguments: str | Path, cwd: Path | None = None, **env: str) -> tuple[int, str, str]:
    """Run a command that ends by itself: its exit code, stdout and stderr."""
    done = subprocess.run(
        [*MOBOX, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean_environment(**env),
        timeout=LIMIT,
    )
    return done.returncode, done.stdout, done.stderr


class LiveServer:
    """A process that runs `mobox serve`."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.process = process
        self._errors = errors
        assert process.stdout is not None
        self.first_line = process.stdout.readline()
        found = re.search(r"http://\S+", self.first_line)
        assert found, f"{self.first_line!r} {self.warnings}"
        self.url = found[0]

    @property
    def warnings(self) -> str:
        """All that it has written to stderr, but where agents run."""
        lines = self.log.splitlines(keepends=True)
        return "".join(line for line in lines if not SANDBOX.search(line))

    @property
    def log(self) -> str:
        """All that it has written to stderr."""
        return self._errors.read_text()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(LIMIT)

    def kill(self) -> float:
        """Kill it as the kernel does, and say when; it is gone on return."""
        self.process.kill()
        killed_at = time.time()
        self.process.wait(LIMIT)
        return killed_at


@contextmanager
def live_server(
    data: Path, *arguments: str | Path, patience: float = 3 * LIMIT, **env: str
) -> Iterator[LiveServer]:
    """A server on any port, which ends with the block at the latest; only a hang takes longer."""
    errors = data.with_name(f"{data.name}-stderr-{time.monotonic_ns()}")
    given = {"--agents": str(AGENTS), "--port": "0", "--data": str(data)}
    flags = [word for pair in given.items() if pair[0] not in arguments for word in pair]
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            [*MOBOX, "serve", *flags, *arguments],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=clean_environment(**env),
        ) as process,
    ):
        timer = threading.Timer(patience, process.kill)
        timer.start()
        try:
            yield LiveServer(process, errors)
        finally:
            timer.cancel()
            process.kill()


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port at which nobody is until a test is; the system gives it to nobody else meanwhile."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


@asynccontextmanager
async def http_client(server: LiveServer) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=server.url, timeout=LIMIT, limits=limits, trust_env=False, headers=WANTS_JSON
    ) as client:
        yield client


def message(chat_id: str, text: str) -> dict[str, Any]:
    """The body by which a client says something in a chat."""
    parts = [{"type": "text", "text": text}]
    said = {"id": f"{chat_id}-{text}", "role": "user", "parts": parts}
    return {"id": chat_id, "messages": [said]}


class Reader:
    """A client of one chat, which notes every frame it sees."""

    def __init__(self, chat_id: str) -> None:
        self.chat_id = chat_id
        self.run_id = ""
        self.frames: list[str] = []
        self.status = 0
        self.is_cut_off = False
        self._seen = asyncio.Condition()

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [json.loads(frame) for frame in self.frames if frame != "[DONE]"]

    @property
    def text(self) -> str:
        return "".join(c["delta"] for c in self.chunks if c["type"] == "text-delta")

    @property
    def has_ended(self) -> bool:
        """Whether the response came to its proper end."""
        return not self.is_cut_off and self.frames[-1:] == ["[DONE]"]

    async def say(self, client: httpx.AsyncClient, text: str) -> None:
        """Send a message and read what is said to it, to the end or until the server is gone."""
        await self._read(client, "POST", "/api/chat", json=message(self.chat_id, text))

    async def replay(self, client: httpx.AsyncClient, run_id: str) -> None:
        await self._read(client, "GET", f"/api/chat/{self.chat_id}/stream", params={"run": run_id})

    async def _read(self, client: httpx.AsyncClient, method: str, path: str, **more: Any) -> None:
        try:
            async with client.stream(method, path, **more) as response:
                self.status = response.status_code
                self.run_id = response.headers.get("x-mobox-run", "")
                async for line in response.aiter_lines():
                    if line.startswith("data: "):
                        await self._note(line.removeprefix("data: "))
        except httpx.TransportError:
            self.is_cut_off = True
        async with self._seen:
            self._seen.notify_all()

    async def _note(self, frame: str) -> None:
        async with self._seen:
            self.frames.append(frame)
            self._seen.notify_all()

    async def has_seen(self, deltas: int) -> None:
        """Wait until it has seen so many pieces of text."""
        async with asyncio.timeout(LIMIT), self._seen:
            await self._seen.wait_for(
                lambda: (
                    self.is_cut_off
                    or sum('"text-delta"' in frame for frame in self.frames) >= deltas
                )
            )


def agent_processes(data: Path) -> list[int]:
    """The processes that have a state folder below `data`, in whatever session."""
    mark = f"MOBOX_STATE={data.absolute()}/state/".encode()
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = environ.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(variable.startswith(mark) for variable in variables):
            found.append(int(environ.parent.name))
    return found


class Kept(NamedTuple):
    """A run, and its whole log."""

    run: Run
    entries: list[LogEntry]


async def stored(data: Path, url: str = "") -> dict[str, Kept]:
    """The runs that the database holds, the data folder's or another, by their ids."""
    store = await open_storage(url or f"sqlite:///{data / 'mobox.db'}")
    try:
        kept: dict[str, Kept] = {}
        for chat in (await store.chats(OWNER, None, 200)).chats:
            for run in await store.runs(OWNER, chat.id):
                entries: list[LogEntry] = []
                while page := await store.read(run.id, len(entries)):
                    entries += page
                kept[run.id] = Kept(run, entries)
        return kept
    finally:
        await store.close()
