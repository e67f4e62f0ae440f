"""Processes that share a port: a request of a socket that another of them has is handed over to it.

A client that polls sends each request on its own, and the kernel gives it to whoever takes it
first. So the id of a socket begins with the number of its process, and each process listens at a
socket in a folder that is nobody else's. What is handed over are the ASGI messages themselves.

Rule 1: whoever gets a request has checked it; nothing is checked a second time.
Rule 2: the pace of the client reaches the process that has its socket: nobody keeps anything here.
Rule 3: a process that is gone has no sockets: what is meant for it is answered as unknown.
"""

from __future__ import annotations

import asyncio
import re
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Neighbours"]

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
"""What a client is told whose process has died before it began to answer."""

_ANSWERS: Final = {"http": "http.response.start", "websocket": "websocket.close"}
_NUMBER: Final = re.compile(r"([0-9]{1,4})(?:\.|\Z)")
_LENGTH: Final = struct.Struct("!I")


class Line:
    """A connection between two of them: one message after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, message: Any) -> None:
        """Say something once there is room for it; raises `OSError` if nobody listens."""
        data = msgspec.msgpack.encode(message)
        self._writer.write(_LENGTH.pack(len(data)) + data)
        await self._writer.drain()

    async def hear(self) -> Any:
        """The next message; `None` when there are no more."""
        with suppress(asyncio.IncompleteReadError, OSError):
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            return msgspec.msgpack.decode(await self._reader.readexactly(length))
        return None

    def close(self) -> None:
        self._writer.close()


class Neighbours:
    """The others, by their numbers; `number` is that of this process."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        self._server: asyncio.AbstractServer | None = None
        self._handed_over: set[asyncio.Task[Any]] = set()
        self._taken: set[Line] = set()

    async def listen(self, app: ASGIApp) -> None:
        """Let `app` answer what others hand over."""
        path = self._folder / str(self._number)
        path.unlink(missing_ok=True)  # that of one which had the number and died

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = Line(reader, writer)
            self._taken.add(line)
            try:
                await _take(app, line)
            finally:
                self._taken.discard(line)

        self._server = await asyncio.start_unix_server(take, path)

    async def close(self, patience: float) -> None:
        """Listen no more, once those are done whose requests came here; for so many seconds."""
        if self._handed_over:
            await asyncio.wait(self._handed_over, timeout=patience)
        if self._server is not None:
            self._server.close()
        for line in self._taken:
            line.close()

    def named(self, make_id: Callable[[], str]) -> Callable[[], str]:
        """Ids that tell whose they are."""
        return lambda: f"{self._number}.{make_id()}"

    async def take(self, sid: str, scope: Scope, receive: Receive, send: Send) -> bool:
        """Hand a request over to the process that has the socket; false if it is for us."""
        told = _NUMBER.match(sid)
        if told is None or int(told[1]) == self._number:
            return False
        try:
            path = self._folder / str(int(told[1]))
            reader, writer = await asyncio.open_unix_connection(path)
        except OSError:
            return False
        handing_over = asyncio.create_task(_hand_over(Line(reader, writer), scope, receive, send))
        self._handed_over.add(handing_over)
        handing_over.add_done_callback(self._handed_over.discard)
        await handing_over
        return True


# The one that was asked


async def _hand_over(line: Line, scope: Scope, receive: Receive, send: Send) -> None:
    telling = asyncio.create_task(_tell(line, scope, receive))
    is_answered = False
    try:
        while (message := await line.hear()) is not None:
            is_answered = is_answered or message["type"] == _ANSWERS[scope["type"]]
            await send(message)
        if not is_answered and not telling.done():
            for message in _BROKEN_OFF[scope["type"]]:
                await send(message)
    finally:
        telling.cancel()
        line.close()


async def _tell(line: Line, scope: Scope, receive: Receive) -> None:
    """Tell all that the client says, until it leaves."""
    with suppress(OSError):  # who is told that nobody listens is the one who hears
        await line.say({name: scope[name] for name in _SCOPE if name in scope})
        is_there = True
        while is_there:
            message = await receive()
            await line.say(message)
            is_there = not message["type"].endswith(".disconnect")


# The one that has the socket


async def _take(app: ASGIApp, line: Line) -> None:
    try:
        scope = await line.hear()
        if scope is not None:

            async def receive() -> Message:
                message: Message | None = await line.hear()
                return _LEFT[scope["type"]] if message is None else message

            with suppress(OSError):  # the client has left, or the process between us has
                await app(scope, receive, line.say)
    finally:
        line.close()
