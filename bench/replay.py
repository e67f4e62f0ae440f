"""A run that is over, read again from its first event: from our log, and from the peer's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from mobox.formatters import get_formatter
from mobox.server.eventstream import frames
from mobox.settings import Settings
from mobox.storage import Storage, open_storage
from mobox.storage.log import Run

__all__ = ["read_again", "replay"]

FRAME_END = b"\n\n"

Replay = Callable[[], Awaitable[list[bytes]]]


async def read_again(storage: Storage, run: Run) -> list[bytes]:
    """The whole message, formatted from the log: what a reloaded page gets."""
    formatter = get_formatter("ai-sdk", run.id)
    return [frame async for frame in frames(storage, run.id, formatter)]


def replay(data: Path, run: Run, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds that the peer takes and that we take, each round right after the other."""
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return runner.run(_replay(data, run, rounds))


async def _replay(data: Path, run: Run, rounds: int) -> tuple[list[float], list[float]]:
    # Imported here: the tests use this module in a venv without the peers.
    from bench.assistant_stream_peer import open_assistant_stream

    storage = await open_storage(Settings(data=data).database)
    try:
        body = b"".join(await read_again(storage, run))
        chunks = [frame + FRAME_END for frame in body.split(FRAME_END)[:-1]]
        async with open_assistant_stream(chunks) as peer:
            if b"".join(await peer.replay()) != body:
                raise RuntimeError("assistant-stream does not replay what it was given")
            return await _alternate(peer.replay, lambda: read_again(storage, run), rounds)
    finally:
        await storage.close()


async def _alternate(theirs: Replay, ours: Replay, rounds: int) -> tuple[list[float], list[float]]:
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for seconds, work in zip(spent, (theirs, ours), strict=True):
            start = time.monotonic()
            await work()
            seconds.append(time.monotonic() - start)
    return spent
