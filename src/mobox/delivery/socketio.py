"""Socket.IO: documents as events, as fast as each socket takes them.

Rule 1: what waits to be sent to a socket has a bound, and whoever has more to say waits: the pace
        of the socket reaches the log. One that takes nothing is not listened to either.
Rule 2: a socket's requests are answered one after the other, in their order.
Rule 3: a socket that leaves is no error: its listener is told at once, also where nobody said
        goodbye and only the request that was to be answered is gone.

Who may connect, the app around it says by an origin, and the listener by what a client tells of
itself; nothing here looks at either.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl, urlencode

import socketio
from engineio.payload import Payload
from starlette.types import Receive, Scope, Send

from mobox.delivery.neighbours import Neighbours
from mobox.delivery.socketio_packets import (
    Flow,
    Packet,
    Said,
    SocketClosed,
    event_text,
    flow_of,
)
from mobox.delivery.socketio_requests import (
    PACKETS_OF_A_POST,
    hold_poll,
    hold_upgrade,
    hold_websocket,
)
from mobox.events import JSON

__all__ = ["PATH", "Listener", "Refusal", "Said", "Socket", "SocketClosed", "Sockets"]

PATH: Final = "/socket.io"
Refusal = dict[str, Any]
"""An error: `code`, `message`, and what is known beside."""
_FLOW: Final = "mobox.flow"
"""Under which the request by which a client comes has its `Flow`."""

_logger: Final = logging.getLogger("mobox.delivery.socketio.library")
"""Its own words about clients are as many as clients like; what breaks in it is told."""
_logger.setLevel(logging.ERROR)  # below it not even a record is made, for each packet several
_logger.addFilter(lambda record: record.exc_info is not None)


class Socket:
    """One client, for as long as it is connected."""

    def __init__(self, server: Any, name: str, engine_socket: Any, scope: Scope) -> None:
        self.scope = {**scope}
        """The request by which it came: its own copy, as others may come by the same later."""
        self._server = server
        self._name = name
        self.flow = flow_of(engine_socket)
        self.has_left = False
        """Which a client may do whose connection stays, and come back by that as another."""
        self._engine_socket = engine_socket

    @property
    def is_open(self) -> bool:
        return not (self.has_left or self.flow.is_closed)

    async def hang_up(self) -> None:
        """Send the client away; it does not come back by itself."""
        await self._server.disconnect(self._name)

    async def emit(self, event: str, document: bytes) -> None:
        """Say something once there is room for it; raises `SocketClosed`."""
        await self.flow.room()
        if self.has_left:
            raise SocketClosed
        engine_socket = self._engine_socket
        await engine_socket.server.send(engine_socket.sid, event_text(event, document))


class Listener(Protocol):
    """Who hears what clients say."""

    async def came(self, socket: Socket, auth: JSON) -> Refusal | None:
        """A client would like to come in, and says who it is; why not, if it may not."""
        ...

    async def heard(self, socket: Socket, event: str, said: Said) -> object:
        """A client said something; what is returned is the answer, and JSON. Must not raise."""
        ...

    async def left(self, socket: Socket) -> None:
        """A client is gone."""
        ...

    async def quiet(self) -> None:
        """Wait until all was said that there is to say."""
        ...


class OwnRooms(socketio.AsyncManager):  # type: ignore[misc]  # it has no types
    """Nobody is in any room but that of all and its own; the library would look into every one."""

    def basic_disconnect(self, sid: str, namespace: str, **kwargs: Any) -> None:
        others = self.rooms.pop(namespace, {})
        own = {room: others.pop(room) for room in (None, sid) if room in others}
        self.rooms[namespace] = own
        super().basic_disconnect(sid, namespace, **kwargs)
        others.update(self.rooms.pop(namespace, {}))
        if others:
            self.rooms[namespace] = others


class Sockets:
    """All clients; an ASGI application to be mounted at `PATH`."""

    def __init__(
        self, listener: Listener, *, most_bytes: int, neighbours: Neighbours | None = None
    ) -> None:
        self._listener = listener
        self._neighbours = neighbours
        self._sockets: dict[str, Socket] = {}
        self._server = socketio.AsyncServer(
            async_mode="asgi",
            client_manager=OwnRooms(),
            serializer=Packet,
            async_handlers=False,  # Rule 2
            cors_allowed_origins=[],  # none are looked at
            http_compression=False,
            max_http_buffer_size=most_bytes,
            logger=_logger,
            engineio_logger=_logger,
        )
        self._engine = self._server.eio
        if neighbours is not None:
            self._engine.generate_id = neighbours.named(self._engine.generate_id)
        # All but pings go through here, also the answers that the library sends by itself.
        self._engine.send_packet = self._send_packet
        self._welcome = self._engine.handlers["connect"]
        self._farewell = self._engine.handlers["disconnect"]
        self._engine.on("connect", self._arrived)
        self._engine.on("disconnect", self._departed)
        self._server.on("connect", self._connected)
        self._server.on("disconnect", self._disconnected)
        self._server.on("*", self._heard)
        Payload.max_decode_packets = PACKETS_OF_A_POST

    @property
    def open_sockets(self) -> int:
        return len(self._sockets)

    @property
    def held(self) -> int:
        """How many characters wait to be taken, of all sockets together."""
        return sum(socket.flow.held for socket in self._sockets.values())

    async def finish(self, patience: float) -> None:
        """Let all hear the rest of what there is to say, for so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._listener.quiet()
                for socket in list(self._sockets.values()):
                    with suppress(SocketClosed):
                        await socket.flow.drained()

    async def listen(self) -> None:
        """Answer also what processes hand over that share a port with this one."""
        if self._neighbours is not None:
            await self._neighbours.listen(self._answer)

    async def leave(self, patience: float) -> None:
        """Let others, for so many seconds, end what they say through this process."""
        if self._neighbours is not None:
            await self._neighbours.close(patience)

    async def aclose(self) -> None:
        """Say goodbye to all. They may come back, to whoever serves them then."""
        for engine_socket in list(self._engine.sockets.values()):
            await engine_socket.close(wait=False)
        if self._engine.service_task_handle is not None:  # it cannot be stopped twice
            await self._server.shutdown()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._neighbours is not None:
            sid = _query_of(scope).get("sid", "")
            if await self._neighbours.take(sid, scope, receive, send):
                return
        await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = _query_of(scope)
        query.pop("j", None)  # JSONP, which pages of any origin could read
        engine_socket = self._engine.sockets.get(query.get("sid"))
        if engine_socket is not None and engine_socket.closed:
            del self._engine.sockets[query["sid"]]
        flow = flow_of(engine_socket) if engine_socket is not None else Flow()
        scope = {**scope, "query_string": urlencode(query).encode(), _FLOW: flow}
        if scope["type"] != "websocket":
            await hold_poll(self._engine, engine_socket, scope, receive, send)
        elif engine_socket is not None:
            await hold_upgrade(self._engine, engine_socket, scope, receive, send)
        else:
            await hold_websocket(self._engine, flow, scope, receive, send)

    # What the library calls

    async def _arrived(self, engine_id: str, environ: dict[str, Any]) -> object:
        self._engine.sockets[engine_id].session["flow"] = environ["asgi.scope"][_FLOW]
        return await self._welcome(engine_id, environ)

    async def _departed(self, engine_id: str, reason: object) -> object:
        engine_socket = self._engine.sockets.get(engine_id)
        if engine_socket is not None:
            flow_of(engine_socket).close()
        return await self._farewell(engine_id, reason)

    async def _send_packet(self, engine_id: str, packet: Any) -> None:
        engine_socket = self._engine.sockets.get(engine_id)
        if engine_socket is not None and not engine_socket.closed:
            await engine_socket.send(flow_of(engine_socket).counted(packet))

    async def _connected(self, name: str, environ: dict[str, Any], auth: JSON = None) -> bool:
        engine_id = self._server.manager.eio_sid_from_sid(name, "/")
        engine_socket = self._engine.sockets.get(engine_id)
        if engine_socket is None:  # it has left in the meantime
            return False
        socket = Socket(self._server, name, engine_socket, environ["asgi.scope"])
        if (refusal := await self._listener.came(socket, auth)) is not None:
            raise socketio.exceptions.ConnectionRefusedError(refusal["message"], refusal)
        self._sockets[name] = socket
        if not socket.is_open:  # nobody was there yet to be told
            await self._disconnected(name)
        return True

    async def _disconnected(self, name: str, _reason: object = None) -> None:
        socket = self._sockets.pop(name, None)
        if socket is not None:
            socket.has_left = True
            await self._listener.left(socket)

    async def _heard(self, event: str, name: str, said: Said) -> object:
        socket = self._sockets[name]
        with suppress(SocketClosed):
            await socket.flow.room()
            return await self._listener.heard(socket, event, said)
        return None


def _query_of(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1")))
