"""`python -m bench.writing DATABASE REDIS_URL RUNS`: a process that stores what agents say.

For each number of seconds that it reads, a line on stdin, it lets so many runs speak at the same
time, each as fast as its words are stored, and tells as JSON what came of it. All is as in a
worker, but that no agent has a process: lines are parsed, put in order and appended, one at a time.
"""

from __future__ import annotations

import asyncio
import sys
import time
from itertools import count

import msgspec
import uvloop
from msgspec import Struct

from bench import workload
from mobox.events.turn import Action, PromptText, Request, UserMessage
from mobox.storage import Storage, open_storage
from mobox.storage.log import Run
from mobox.supervisor.run_writer import RunWriter

__all__ = ["Written"]

OWNER = "bench"


class Written(Struct, frozen=True, kw_only=True):
    """What a process has stored."""

    appends: int
    cpu: float
    """Seconds of all its threads."""
    seconds: float


class Writer:
    """One agent's words after the other, each in a run of a chat of its own."""

    def __init__(self, store: Storage, name: str) -> None:
        self.appends = 0
        self._store = store
        self._name = name
        self._chats = count()

    async def write_until(self, end: float) -> None:
        while time.monotonic() < end:
            await self._write_run(await self._begin(), end)

    async def _write_run(self, run: Run, end: float) -> None:
        scribe = RunWriter(self._store, run)
        scribe.listen()
        for line in workload.lines():
            await scribe.read(line)
            self.appends += 1
            if time.monotonic() >= end:
                break
        await scribe.end(None)

    async def _begin(self) -> Run:
        name = f"{self._name}-{next(self._chats)}"
        message = UserMessage(id=f"ask-{name}", parts=(PromptText(text="Go on."),))
        request = Request(chat_id=name, action=Action.SUBMIT, message=message)
        return (await self._store.begin_turn(OWNER, request, "bench", "claude")).run


async def write(store: Storage, runs: int, seconds: float, name: str) -> Written:
    """Let all of them write for so long."""
    writers = [Writer(store, f"{name}-{number}") for number in range(runs)]
    start, cpu = time.monotonic(), time.process_time()
    await asyncio.gather(*(writer.write_until(start + seconds) for writer in writers))
    appends = sum(writer.appends for writer in writers)
    took = time.monotonic() - start
    return Written(appends=appends, cpu=time.process_time() - cpu, seconds=took)


async def serve(database: str, redis_url: str, runs: int) -> None:
    """Write as often as somebody asks."""
    workload.lines()  # made once, before anything is timed
    store = await open_storage(database, None, redis_url)
    try:
        _tell(b"ready")
        for number in count():
            asked = await asyncio.to_thread(sys.stdin.readline)
            if not asked:
                return
            name = f"{time.monotonic_ns()}-{number}"
            _tell(msgspec.json.encode(await write(store, runs, float(asked), name)))
    finally:
        await store.close()


def _tell(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        runner.run(serve(sys.argv[1], sys.argv[2], int(sys.argv[3])))
