"""Forwards Socket.IO requests between processes that share a port, to the one with the session.

A polling client sends separate requests, and the kernel gives each to any of the processes. So a
socket's id starts with the number of its process, and each process listens on a Unix socket in a
private folder. The ASGI messages themselves are forwarded.

Rule 1: the process that receives a request has checked it; nothing is checked a second time.
Rule 2: backpressure reaches the process that has the socket: nothing is buffered here.
Rule 3: a process that is gone has no sockets: requests for it are answered as unknown.
Rule 4: other processes of this user, such as agents, can connect to the Unix sockets too. So the
        first message is a secret that the processes have in memory from before they were forked.
        One that replaces the files of the sockets could still read it.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SCOPE: Final = (
    "type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string",
    "root_path", "headers", "client", "server", "subprotocols",
)  # fmt: skip
_LEFT: Final[dict[str, Message]] = {
    "http": {"type": "http.disconnect"},
    "websocket": {"type": "websocket.disconnect", "code": 1006},
}
_BROKEN_OFF: Final[dict[str, tuple[Message, ...]]] = {
    "http": (
        {"type": "http.response.start", "status": 503, "headers": []},
        {"type": "http.response.body", "body": b""},
    ),
    "websocket": ({"type": "websocket.close", "code": 1012},),
}
"""The response to a client whose process died before it started to respond."""

_ANSWERS: Final = {"http": "http.response.start", "websocket": "websocket.close"}
_NUMBER: Final = re.compile(r"([0-9]{1,4})(?:\.|\Z)")
_MOST_AROUND: Final = 8
"""Bytes that the encoding adds to a secret, at most."""
_LENGTH: Final = struct.Struct("!I")


class PeerConnection:
    """A connection between two processes, with length-prefixed messages."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, message: Any) -> None:
        """Send a message, with backpressure; raises `OSError` if the peer is gone."""
        data = msgspec.msgpack.encode(message)
        self._writer.write(_LENGTH.pack(len(data)) + data)
        await self._writer.drain()

    async def receive(self, most: int | None = None) -> Any:
        """Receive the next message; `None` at the end, or if it has more bytes than that."""
        with suppress(asyncio.IncompleteReadError, OSError, msgspec.DecodeError):
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            if most is not None and length > most:
                return None
            return msgspec.msgpack.decode(await self._reader.readexactly(length))
        return None

    def close(self) -> None:
        self._writer.close()


class PeerForwarder:
    """The peer processes, by their numbers; `number` is that of this process."""

    def __init__(self, folder: Path, number: int, secret: bytes) -> None:
        self._folder = folder
        self._number = number
        self._secret = secret
        self._server: asyncio.AbstractServer | None = None
        self._forwarded: set[asyncio.Task[Any]] = set()
        self._taken: set[PeerConnection] = set()

    async def listen(self, app: ASGIApp) -> None:
        """Let `app` handle requests that peers forward."""
        path = self._folder / str(self._number)
        path.unlink(missing_ok=True)  # left by a dead process with the same number

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            peer = PeerConnection(reader, writer)
            self._taken.add(peer)
            try:
                if await self._is_peer(peer):
                    await _take(app, peer)
            finally:
                peer.close()
                self._taken.discard(peer)

        self._server = await asyncio.start_unix_server(take, path)

    async def _is_peer(self, peer: PeerConnection) -> bool:
        secret = await peer.receive(len(self._secret) + _MOST_AROUND)
        return isinstance(secret, bytes) and hmac.compare_digest(secret, self._secret)

    async def close(self, seconds: float) -> None:
        """Stop listening, after waiting up to so many seconds for forwarded requests."""
        if self._forwarded:
            await asyncio.wait(self._forwarded, timeout=seconds)
        if self._server is not None:
            self._server.close()
        for peer in self._taken:
            peer.close()

    def named(self, make_id: Callable[[], str]) -> Callable[[], str]:
        """Ids that start with this process's number."""
        return lambda: f"{self._number}.{make_id()}"

    async def take(self, sid: str, scope: Scope, receive: Receive, send: Send) -> bool:
        """Forward a request to the process that has the socket; false if it is this one."""
        owner = _NUMBER.match(sid)
        if owner is None or int(owner[1]) == self._number:
            return False
        try:
            path = self._folder / str(int(owner[1]))
            reader, writer = await asyncio.open_unix_connection(path)
        except OSError:
            return False
        forwarding = asyncio.create_task(
            _forward(PeerConnection(reader, writer), self._secret, scope, receive, send)
        )
        self._forwarded.add(forwarding)
        forwarding.add_done_callback(self._forwarded.discard)
        await forwarding
        return True


# In the process that received the request


async def _forward(
    peer: PeerConnection, secret: bytes, scope: Scope, receive: Receive, send: Send
) -> None:
    sending = asyncio.create_task(_send_request(peer, secret, scope, receive))
    is_answered = False
    try:
        while (message := await peer.receive()) is not None:
            is_answered = is_answered or message["type"] == _ANSWERS[scope["type"]]
            await send(message)
        if not is_answered and not sending.done():
            for message in _BROKEN_OFF[scope["type"]]:
                await send(message)
    finally:
        sending.cancel()
        peer.close()


async def _send_request(
    peer: PeerConnection, secret: bytes, scope: Scope, receive: Receive
) -> None:
    """Forward everything that the client sends, until it disconnects."""
    with suppress(OSError):  # the reading side notices that the peer is gone
        await peer.send(secret)
        await peer.send({name: scope[name] for name in _SCOPE if name in scope})
        is_connected = True
        while is_connected:
            message = await receive()
            await peer.send(message)
            is_connected = not message["type"].endswith(".disconnect")


# In the process that has the socket


async def _take(app: ASGIApp, peer: PeerConnection) -> None:
    scope = await peer.receive()
    if scope is None:
        return

    async def receive() -> Message:
        message: Message | None = await peer.receive()
        return _LEFT[scope["type"]] if message is None else message

    with suppress(OSError):  # the client has disconnected, or the forwarding process
        await app(scope, receive, peer.send)
