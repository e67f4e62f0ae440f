"""A provider on this machine that says what a test wants, and notes what it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext
from typing import Any, NamedTuple


class Seen(NamedTuple):
    """A request as it arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)


Reply = Callable[["Connection"], Awaitable[None]]


class Connection:
    """A connection of a client, with its current request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.request: Seen

    async def read(self) -> bool:
        """Read a request; false at the end of the connection."""
        head = b""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await self.reader.readuntil(b"\r\n\r\n")
        if not head:
            return False
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        headers = [(n.lower(), v.strip()) for n, _, v in (line.partition(":") for line in lines)]
        self.request = Seen(method, target, headers, await self._body(dict(headers)))
        return True

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await self.reader.readexactly(int(headers.get("content-length", 0)))
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += await self.reader.readexactly(size)
            await self.reader.readline()
        await self.reader.readline()
        return body

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def start(self, status: int = 200, **headers: str) -> None:
        """Begin a response that comes in pieces."""
        shown = {"content-type": "text/event-stream", **headers, "transfer-encoding": "chunked"}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in shown.items()]
        await self.send("\r\n".join([f"HTTP/1.1 {status} OK", *lines, "", ""]).encode())

    async def piece(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.send(b"0\r\n\r\n")

    async def document(self, value: Any, status: int = 200, **headers: str) -> None:
        """A whole JSON response."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        shown = {"content-type": "application/json", **headers, "content-length": str(len(body))}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in shown.items()]
        await self.send("\r\n".join([f"HTTP/1.1 {status} OK", *lines, "", ""]).encode() + body)

    async def left(self) -> None:
        """Wait until the client has closed the connection."""
        with suppress(ConnectionError):
            assert await self.reader.read() == b""


class ScriptedUpstream:
    """The provider; `reply` responds to each request."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.requests: list[Seen] = []
        self.url = ""
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        connection = Connection(reader, writer)
        try:
            with suppress(ConnectionError):
                while not writer.is_closing() and await connection.read():
                    self.requests.append(connection.request)
                    await self.reply(connection)
        finally:
            writer.close()

    async def close(self) -> None:
        """End the connections that are still open."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def scripted_upstream(
    reply: Reply, tls: SSLContext | None = None
) -> AsyncIterator[ScriptedUpstream]:
    upstream = ScriptedUpstream(reply)
    server = await asyncio.start_server(upstream._serve, "127.0.0.1", 0, limit=1 << 16, ssl=tls)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield upstream
    finally:
        server.close()
        await upstream.close()


# What the providers say


def sse(*events: Any, named: bool = False) -> list[bytes]:
    """Events of a stream; Anthropic's have a name."""
    frames = []
    for event in events:
        name = f"event: {event['type']}\n" if named else ""
        text = event if isinstance(event, str) else json.dumps(event)
        frames.append(f"{name}data: {text}\n\n".encode())
    return frames


def anthropic_stream(*words: str, model: str = "claude-sonnet-4-5") -> list[bytes]:
    message: dict[str, Any] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 4},
    }  # fmt: skip
    block = {"type": "text", "text": ""}
    return sse(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": w}}
            for w in words
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
        named=True,
    )


def anthropic_message(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 7},
    }  # fmt: skip


def openai_stream(*words: str) -> list[bytes]:
    def chunk(**more: Any) -> dict[str, Any]:
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
        return {**base, "choices": [], **more}

    choices = [
        {"index": 0, "delta": {"role": "assistant", "content": w}, "finish_reason": None}
        for w in words
    ]
    last = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
    return sse(
        *(chunk(choices=[choice]) for choice in choices),
        chunk(choices=last),
        chunk(usage=usage),
        "[DONE]",
    )


def gemini_stream(*words: str) -> list[bytes]:
    return sse(
        *(
            {
                "candidates": [{"content": {"parts": [{"text": w}], "role": "model"}, "index": 0}],
                "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": n},
                "modelVersion": "gemini-2.5-flash",
            }
            for n, w in enumerate(words, 1)
        )
    )


def streams(frames: list[bytes]) -> Reply:
    """A reply that streams these frames."""

    async def reply(connection: Connection) -> None:
        await connection.start()
        for frame in frames:
            await connection.piece(frame)
        await connection.end()

    return reply
