"""Requests of a socket that arrive at another process than the one that owns it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.types import Message, Scope

from mobox.delivery.socketio import Socket, Sockets
from mobox.delivery.socketio_packets import EventPayload
from mobox.delivery.worker_forwarding import PeerConnection, PeerForwarder
from mobox.events import JSON

LIMIT = 60
SECRET = b"known to both"
HEADERS = {
    "http": [(b"host", b"localhost"), (b"content-type", b"text/plain")],
    "websocket": [
        (b"host", b"localhost"),
        (b"connection", b"Upgrade"),
        (b"upgrade", b"websocket"),
    ],
}


class Echo:
    """Answers with what was said."""

    def __init__(self) -> None:
        self.has_left = asyncio.Event()

    async def connect(self, socket: Socket, auth: JSON) -> None:
        pass

    async def handle(self, socket: Socket, event: str, said: EventPayload) -> object:
        return {event: said.payload}

    async def disconnect(self, socket: Socket) -> None:
        self.has_left.set()

    async def drain(self) -> None:
        pass


class Client:
    """One request, as a server hands it to an app."""

    def __init__(self, app: Sockets, kind: str, method: str, body: bytes, **query: str) -> None:
        told = {"EIO": "4", **query}
        scope: Scope = {
            "type": kind,
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": "/socket.io/",
            "raw_path": b"/socket.io/",
            "root_path": "",
            "query_string": "&".join(f"{name}={value}" for name, value in told.items()).encode(),
            "headers": HEADERS[kind],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }
        self._said: asyncio.Queue[Message] = asyncio.Queue()
        self.heard: asyncio.Queue[Message] = asyncio.Queue()
        if kind == "http":
            self.say({"type": "http.request", "body": body, "more_body": False})
        self.task = asyncio.create_task(app(scope, self._said.get, self.heard.put))

    def say(self, message: Message) -> None:
        self._said.put_nowait(message)

    async def answer(self) -> tuple[int, str]:
        """The status and the body, once they are there."""
        status: int = (await self.heard.get())["status"]
        body: bytes = (await self.heard.get())["body"]
        await self.task
        return status, body.decode()


def get(app: Sockets, **query: str) -> Client:
    return Client(app, "http", "GET", b"", transport="polling", **query)


def post(app: Sockets, body: str, **query: str) -> Client:
    return Client(app, "http", "POST", body.encode(), transport="polling", **query)


class Process:
    """One of those that share a port."""

    def __init__(self, folder: Path, number: int) -> None:
        self.listener = Echo()
        self.peers = PeerForwarder(folder, number, SECRET)
        self.app = Sockets(self.listener, max_bytes=1_000_000, peers=self.peers)


@asynccontextmanager
async def processes(folder: Path) -> AsyncIterator[tuple[Process, Process]]:
    both = Process(folder, 0), Process(folder, 1)
    for process in both:
        await process.app.listen()
    try:
        yield both
    finally:
        for process in both:
            await process.app.aclose()
            await process.app.leave(LIMIT)


async def opened(app: Sockets) -> str:
    status, opening = await get(app).answer()
    assert status == 200
    return opening.partition('"sid":"')[2].partition('"')[0]


async def connected(here: Sockets, there: Sockets) -> str:
    """A socket that polls, of which only the first request came here."""
    sid = await opened(here)
    assert await post(there, "40", sid=sid).answer() == (200, "OK")
    status, welcome = await get(there, sid=sid).answer()
    assert (status, welcome[:8]) == (200, '40{"sid"')
    return sid


async def test_requests_that_poll_reach_the_process_that_has_the_socket(tmp_path: Path) -> None:
    async with processes(tmp_path) as (here, there):
        for one, other in ((here, there), (there, here)):
            sid = await connected(one.app, other.app)
            polling = get(other.app, sid=sid)
            said = post(other.app, '420["hello",{"n":1}]', sid=sid)
            assert await said.answer() == (200, "OK")
            assert await polling.answer() == (200, '430[{"hello":{"n":1}}]')
            assert (one.app.open_sockets, other.app.open_sockets) == (1, 0)
            await one.app.aclose()


async def test_a_socket_goes_over_to_a_websocket_at_another_process(tmp_path: Path) -> None:
    async with processes(tmp_path) as (here, there):
        sid = await connected(here.app, there.app)
        socket = Client(there.app, "websocket", "GET", b"", transport="websocket", sid=sid)
        socket.say({"type": "websocket.connect"})
        assert (await socket.heard.get())["type"] == "websocket.accept"
        polling = get(there.app, sid=sid)
        socket.say({"type": "websocket.receive", "text": "2probe"})
        assert (await socket.heard.get())["text"] == "3probe"
        assert await polling.answer() == (200, "6"), "the last of them"
        for text in ("5", '421["hi",2]'):
            socket.say({"type": "websocket.receive", "text": text})
        told = (await socket.heard.get())["text"]
        if told == "6":  # the word that ends a poll, where another had ended it
            told = (await socket.heard.get())["text"]
        assert told == '431[{"hi":2}]'
        socket.say({"type": "websocket.disconnect", "code": 1001})
        await here.listener.has_left.wait()
        await socket.task
        assert here.app.open_sockets == 0


async def test_a_client_that_leaves_is_missed_at_once_where_its_socket_is(tmp_path: Path) -> None:
    async with processes(tmp_path) as (here, there):
        sid = await connected(here.app, there.app)
        polling = get(there.app, sid=sid)
        polling.say({"type": "http.disconnect"})
        await here.listener.has_left.wait()
        await polling.task


@pytest.mark.parametrize(
    "sid",
    ["7.abc", "../0.abc", "²1.abc", "abc", ".", "0.abc", "1.abc", "9" * 5000, f"{'1' * 5000}.abc"],
    ids=range(9),
)
async def test_unknown_socket_is_not_found(tmp_path: Path, sid: str) -> None:
    async with processes(tmp_path) as (here, _):
        status, why = await get(here.app, sid=sid).answer()
        assert (status, why[:16]) == (400, '"Invalid session')


async def test_waiting_client_is_notified_that_the_process_ends(tmp_path: Path) -> None:
    async with processes(tmp_path) as (here, there):
        sid = await connected(here.app, there.app)
        polling = get(there.app, sid=sid)
        said = post(there.app, '42["hello"]', sid=sid)
        assert await said.answer() == (200, "OK")
        await here.app.leave(0)
        assert (await polling.answer())[0] in (400, 503)
        assert (await get(there.app, sid=sid).answer())[0] == 400


@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_clients_of_a_dying_process_reconnect_to_another(tmp_path: Path, kind: str) -> None:
    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        writer.close()

    async with processes(tmp_path) as (here, _):
        dying = await asyncio.start_unix_server(die, tmp_path / "7")
        if kind == "http":
            assert await get(here.app, sid="7.abc").answer() == (503, "")
        else:
            socket = Client(here.app, kind, "GET", b"", transport=kind, sid="7.abc")
            assert (await socket.heard.get())["type"] == "websocket.close"
            await socket.task
        dying.close()


async def test_one_that_was_replaced_listens_in_the_place_of_the_one_before(tmp_path: Path) -> None:
    async with processes(tmp_path) as (here, there):
        await here.app.leave(0)
        (tmp_path / "0").touch()
        again = Process(tmp_path, 0)
        await again.app.listen()
        await connected(again.app, there.app)
        await again.app.aclose()
        await again.app.leave(LIMIT)


@pytest.mark.parametrize("first", [b"guessed", SECRET.decode(), None, "x" * 100, {"type": "http"}])
async def test_processes_without_the_secret_cannot_forward_requests(
    tmp_path: Path, first: object
) -> None:
    async with processes(tmp_path) as (here, _):
        await opened(here.app)
        reader, writer = await asyncio.open_unix_connection(tmp_path / "0")
        await PeerConnection(reader, writer).send(first)
        await PeerConnection(reader, writer).send({"type": "http", "path": "/socket.io/"})
        assert await reader.read() == b""
        writer.close()
