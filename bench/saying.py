"""`python -m bench.saying KIND REDIS_URL DATABASE CORE`: a process that says words, on time.

For each number that it reads, a line on stdin, it begins a stream, prints its name, and says so
many words as soon as another line comes. A word is the time at which it was due.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from typing import Protocol

import uvloop

from mobox.events import Done, Start, Text, TextDelta, TextEnd
from mobox.events.turn import Action, PromptText, Request, UserMessage
from mobox.storage import Storage, open_storage

__all__ = ["SPACING"]

SPACING = 0.0073
"""Seconds between two words; nobody's timer has such a period, so that all its phases count."""
TIMERS = 0.001


class Speaker(Protocol):
    """Whoever keeps what is said."""

    async def begin(self, number: int) -> str:
        """Begin a stream; return how readers call it."""

    async def say(self, words: AsyncIterator[bytes]) -> None:
        """Say all of them in it, and that it is over."""


async def due_words(words: int) -> AsyncIterator[bytes]:
    """The words, each when it is due."""
    start = time.monotonic()
    for number in range(1, words + 1):
        due = start + number * SPACING
        left = due - time.monotonic()
        while left > 0:
            await asyncio.sleep(max(left, TIMERS))
            left = due - time.monotonic()  # a timer may be early by a millisecond
        yield b"@%d@" % round(due * 1e9)


class MoboxSpeaker:
    """A run in a store that other processes have opened too."""

    def __init__(self, store: Storage) -> None:
        self._store = store

    async def begin(self, number: int) -> str:
        said = UserMessage(id=f"m{number}", parts=(PromptText(text="Go on."),))
        request = Request(chat_id=f"c{number}", action=Action.SUBMIT, message=said)
        self._run = (await self._store.begin_turn("bench", request, "bench", "emitted")).run
        await self._append(Start(framework="emitted"), Text(id="t"))
        return self._run.id

    async def say(self, words: AsyncIterator[bytes]) -> None:
        async for word in words:
            await self._append(TextDelta(id="t", delta=word.decode()))
        await self._append(TextEnd(id="t"), Done(reason="stop"))

    async def _append(self, *events: Start | Text | TextDelta | TextEnd | Done) -> None:
        await self._store.append(self._run.id, self._run.epoch, events, None)


@asynccontextmanager
async def mobox(redis_url: str, database: str) -> AsyncIterator[Speaker]:
    """We, with a store that tells other processes what is new."""
    store = await open_storage(database, None, redis_url)
    try:
        yield MoboxSpeaker(store)
    finally:
        await store.close()


@asynccontextmanager
async def assistant_stream(redis_url: str, _database: str) -> AsyncIterator[Speaker]:
    """The peer. Imported here: the tests use this module in a venv without it."""
    from bench.assistant_stream_peer import open_speaker

    async with open_speaker(redis_url) as speaker:
        yield speaker


SPEAKERS: dict[str, Callable[[str, str], AbstractAsyncContextManager[Speaker]]] = {
    "mobox": mobox,
    "assistant-stream": assistant_stream,
}


async def serve(kind: str, redis_url: str, database: str) -> None:
    """Speak as often as somebody asks."""
    async with SPEAKERS[kind](redis_url, database) as speaker:
        for number in count():
            words = await asyncio.to_thread(sys.stdin.readline)
            if not words:
                return
            sys.stdout.write(f"{await speaker.begin(number)}\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.readline)
            await speaker.say(due_words(int(words)))


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[4])})
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        runner.run(serve(*sys.argv[1:4]))
