"""The response that streams, against a real server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from mobox.errors import LogDeleted
from mobox.server.eventstream import EventStream, Heartbeats
from server.serving import client_of, serve

GET = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
BEAT = b":\n\n"


@dataclass
class Source:
    """Batches that a test gives one by one, and what became of them."""

    given: asyncio.Queue[bytes | Exception | None] = field(default_factory=asyncio.Queue)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    def give(self, *batches: bytes | Exception | None) -> None:
        for batch in batches:
            self.given.put_nowait(batch)

    async def batches(self) -> AsyncIterator[bytes]:
        try:
            while (batch := await self.given.get()) is not None:
                if isinstance(batch, Exception):
                    raise batch
                yield batch
        finally:
            self.closed.set()


class App:
    """Answers with one stream, and shows when the server keeps it waiting."""

    def __init__(self, batches: AsyncIterator[bytes], heart: Heartbeats) -> None:
        self.stream = EventStream(batches, heart)
        self.is_sending = False
        self.stalls = asyncio.Event()
        self.sent: list[bytes] = []
        self.answered = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watched(message: Message) -> None:
            self.is_sending = True
            asyncio.get_running_loop().call_soon(self.look)
            await send(message)
            self.is_sending = False
            self.sent.append(message.get("body", b""))

        try:
            await self.stream(scope, receive, watched)
        finally:
            self.answered.set()

    def look(self) -> None:
        """uvicorn gives way in `send` only where the reader stalls."""
        if self.is_sending:
            self.stalls.set()


class Server:
    """An ASGI server that does what uvicorn never does: to hold any message, or to refuse it."""

    def __init__(self, refuses: Exception | None = None) -> None:
        self.refuses = refuses
        self.bodies: list[bytes] = []
        self.started = asyncio.Event()
        self.holds = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    async def ask(self, stream: EventStream) -> None:
        await stream({"type": "http", "method": "GET"}, self.receive, self.send)

    async def receive(self) -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(self, message: Message) -> None:
        self.started.set()
        if "body" not in message:
            return
        if not self.may_go_on.is_set():
            self.holds.set()
            await self.may_go_on.wait()
        if self.refuses:
            raise self.refuses
        self.bodies.append(message["body"])


async def endless(batch: bytes, closed: asyncio.Event) -> AsyncIterator[bytes]:
    try:
        while True:
            await asyncio.sleep(0)
            yield batch
    finally:
        closed.set()


async def read_chunk(reader: asyncio.StreamReader) -> bytes:
    size = int(await reader.readline(), 16)
    return (await reader.readexactly(size + 2))[:-2]


async def read_until_cut(client: httpx.AsyncClient) -> bytes:
    """What came before the client noticed that something is missing."""
    received = b""
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        async with client.stream("GET", "/") as response:
            async for chunk in response.aiter_bytes():
                received += chunk
    return received


async def open_stream(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which the headers of a stream were read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(GET)
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def test_headers_come_before_the_first_batch_and_each_batch_in_one_piece() -> None:
    source = Source()
    async with serve(EventStream(source.batches(), Heartbeats())) as port:
        reader, writer = await open_stream(port)
        source.give(b"data: 1\n\ndata: 2\n\n")
        assert await read_chunk(reader) == b"data: 1\n\ndata: 2\n\n"
        source.give(b"", b"data: 3\n\n", None)
        assert await read_chunk(reader) == b"data: 3\n\n"
        assert await read_chunk(reader) == b""
        writer.close()


async def test_a_route_of_starlette_may_return_a_stream() -> None:
    async def endpoint(request: Request) -> EventStream:
        source = Source()
        source.give(await request.body(), None)
        return EventStream(source.batches(), Heartbeats(), {"X-Stream": "v1"})

    async with client_of(Starlette(routes=[Route("/", endpoint, methods=["POST"])])) as client:
        response = await client.post("/", content=b"data: said\n\n")
    assert response.content == b"data: said\n\n"
    assert dict(response.headers) | {"date": "", "server": ""} == {
        "cache-control": "no-cache, no-transform",
        "content-type": "text/event-stream; charset=utf-8",
        "date": "",
        "server": "",
        "transfer-encoding": "chunked",
        "x-accel-buffering": "no",
        "x-stream": "v1",
    }


async def test_headers_can_be_replaced() -> None:
    source = Source()
    source.give(None)
    stream = EventStream(source.batches(), Heartbeats(), {"Content-Type": "text/x"})
    async with client_of(stream) as client:
        response = await client.get("/")
    assert response.headers.get_list("content-type") == ["text/x"]


async def test_head_request_gets_only_headers() -> None:
    source = Source()
    async with client_of(EventStream(source.batches(), Heartbeats())) as client:
        response = await client.head("/")
    assert response.status_code == 200
    assert response.headers["x-accel-buffering"] == "no"


async def test_a_silent_stream_is_kept_alive_by_the_timer() -> None:
    heart = Heartbeats(interval=0.01)
    source = Source()
    async with serve(EventStream(source.batches(), heart)) as port:
        reader, writer = await open_stream(port)
        heart.start()
        assert [await read_chunk(reader) for _ in range(3)] == [BEAT] * 3
        heart.stop()
        source.give(b"data: 1\n\n")
        while (chunk := await read_chunk(reader)) == BEAT:
            pass  # was on its way
        assert chunk == b"data: 1\n\n"
        writer.close()


async def test_a_heartbeat_waits_for_a_whole_interval_of_silence() -> None:
    heart = Heartbeats()
    source = Source()
    async with serve(EventStream(source.batches(), heart)) as port:
        reader, writer = await open_stream(port)
        for _ in range(9):
            heart.tick()
        source.give(b"data: 1\n\n")
        assert await read_chunk(reader) == b"data: 1\n\n"
        for _ in range(9):
            heart.tick()
        source.give(b"data: 2\n\n")
        assert await read_chunk(reader) == b"data: 2\n\n"
        for _ in range(10):
            heart.tick()
        assert await read_chunk(reader) == BEAT
        writer.close()


async def test_streams_that_are_open_are_counted() -> None:
    heart = Heartbeats()
    sources = [Source(), Source()]
    left = iter(sources)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream(next(left).batches(), heart)(scope, receive, send)

    async with serve(app) as port:
        assert heart.open_streams == 0
        connections = [await open_stream(port) for _ in sources]
        assert heart.open_streams == 2
        sources[0].give(None)
        assert await read_chunk(connections[0][0]) == b""
        assert heart.open_streams == 1
        for _, writer in connections:
            writer.close()


async def test_no_heartbeat_is_kept_for_a_reader_that_stalls() -> None:
    heart = Heartbeats()
    closed = asyncio.Event()
    app = App(endless(b"x" * 50_000, closed), heart)
    async with serve(app) as port:
        reader, writer = await open_stream(port)
        await app.stalls.wait()
        written = len(app.sent)
        for _ in range(100):
            heart.tick()
            await asyncio.sleep(0)
        assert len(app.sent) == written
        while len(app.sent) < written + 10:
            assert await read_chunk(reader) == b"x" * 50_000
        assert BEAT not in app.sent
        writer.close()
        await closed.wait()


async def test_a_heartbeat_that_a_batch_overtakes_is_dropped() -> None:
    heart = Heartbeats()
    source = Source()
    server = Server()
    answer = asyncio.create_task(server.ask(EventStream(source.batches(), heart)))
    await server.started.wait()
    server.may_go_on.clear()
    source.give(b"data: 1\n\n")
    for _ in range(10):
        heart.tick()
    await server.holds.wait()
    server.may_go_on.set()
    source.give(None)
    await answer
    assert server.bodies == [b"data: 1\n\n", b""]


async def test_a_reader_that_leaves_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    heart = Heartbeats()
    source = Source()
    app = App(source.batches(), heart)
    async with serve(app) as port:
        _, writer = await open_stream(port)
        writer.close()
        await source.closed.wait()
        await app.answered.wait()
    assert heart.open_streams == 0
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_reader_that_stalls_may_leave() -> None:
    closed = asyncio.Event()
    app = App(endless(b"x" * 50_000, closed), Heartbeats())
    async with serve(app) as port:
        _, writer = await open_stream(port)
        await app.stalls.wait()
        writer.transport.abort()
        await closed.wait()
        await app.answered.wait()


async def test_a_stream_that_fails_is_cut_and_not_ended(caplog: pytest.LogCaptureFixture) -> None:
    heart = Heartbeats()
    source = Source()
    source.give(b"data: 1\n\n", ValueError("no such thing"))
    async with client_of(EventStream(source.batches(), heart)) as client:
        received = await read_until_cut(client)
    assert received == b"data: 1\n\n"
    assert heart.open_streams == 0
    [record] = [record for record in caplog.records if record.exc_info]
    assert record.name == "mobox.server.eventstream"
    assert "no such thing" in caplog.text


async def test_a_log_that_is_deleted_cuts_its_readers_and_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = Source()
    source.give(b"data: 1\n\n", LogDeleted("run_1"))
    async with client_of(EventStream(source.batches(), Heartbeats())) as client:
        assert await read_until_cut(client) == b"data: 1\n\n"
    assert not [record for record in caplog.records if record.exc_info]


async def test_server_may_raise_when_the_reader_disconnects() -> None:
    source = Source()
    source.give(b"data: 1\n\n")
    await Server(refuses=ConnectionResetError()).ask(EventStream(source.batches(), Heartbeats()))
    assert source.closed.is_set()


async def test_heartbeat_without_receiver_is_dropped() -> None:
    heart = Heartbeats()
    source = Source()
    server = Server(refuses=ConnectionResetError())
    answer = asyncio.create_task(server.ask(EventStream(source.batches(), heart)))
    await server.started.wait()
    server.may_go_on.clear()
    for _ in range(10):
        heart.tick()
    await server.holds.wait()
    source.give(b"data: 1\n\n")
    server.may_go_on.set()
    await answer
    assert server.bodies == []


async def test_a_server_that_cancels_is_obeyed() -> None:
    source = Source()
    server = Server()
    answer = asyncio.create_task(server.ask(EventStream(source.batches(), Heartbeats())))
    await server.started.wait()
    answer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer
    assert source.closed.is_set()


async def test_batches_that_cannot_be_closed_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def batches() -> AsyncIterator[bytes]:
        try:
            yield b"data: 1\n\n"
        finally:
            raise ValueError("still open")

    server = Server(refuses=ConnectionResetError())
    await server.ask(EventStream(batches(), Heartbeats()))
    assert "still open" in caplog.text


async def test_batches_need_not_be_closed() -> None:
    class Two:
        def __init__(self) -> None:
            self.left = [b"1", b"2"]

        def __aiter__(self) -> Two:
            return self

        async def __anext__(self) -> bytes:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    server = Server()
    await server.ask(EventStream(Two(), Heartbeats()))
    assert server.bodies == [b"1", b"2", b""]
