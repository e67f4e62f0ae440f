"""Socket.IO: sends documents as events, with backpressure.

Rule 1: the send buffer of a socket is bounded, and writers wait for room: backpressure reaches the
        log. Events of a socket that reads nothing are not handled either.
Rule 2: a socket's events are handled one after the other, in their order.
Rule 3: a disconnect is not an error: the listener is notified at once, also if the client did not
        send a disconnect and only its pending request is gone.

Who may connect is decided by the app around it (origin) and by the listener (authentication), not
here.
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

from mobox.delivery.socketio_packets import (
    EventPayload,
    Flow,
    Packet,
    SocketClosed,
    event_text,
    flow_of,
)
from mobox.delivery.socketio_requests import (
    PACKETS_OF_A_POST,
    handle_polling,
    handle_upgrade,
    handle_websocket,
)
from mobox.delivery.worker_forwarding import PeerForwarder
from mobox.events import JSON

PATH: Final = "/socket.io"
Refusal = dict[str, Any]
"""An error: `code`, `message` and details."""
_FLOW: Final = "mobox.flow"
"""The key of the `Flow` in the ASGI scope of a connecting request."""

_logger: Final = logging.getLogger("mobox.delivery.socketio.library")
"""The library logs every packet, as many as clients send; only its exceptions are logged."""
_logger.setLevel(logging.ERROR)  # avoids creating several records per packet
_logger.addFilter(lambda record: record.exc_info is not None)


class Socket:
    """One client, for as long as it is connected."""

    def __init__(self, server: Any, name: str, engine_socket: Any, scope: Scope) -> None:
        self.scope = {**scope}
        """A copy of the connecting request, as other sockets may share the connection later."""
        self._server = server
        self._name = name
        self.flow = flow_of(engine_socket)
        self.has_left = False
        """Whether it has disconnected; the connection may stay, and carry another socket."""
        self._engine_socket = engine_socket

    @property
    def is_open(self) -> bool:
        return not (self.has_left or self.flow.is_closed)

    async def hang_up(self) -> None:
        """Disconnect the client; it does not reconnect by itself."""
        await self._server.disconnect(self._name)

    async def emit(self, event: str, document: bytes) -> None:
        """Send an event, with backpressure; raises `SocketClosed`."""
        await self.flow.room()
        if self.has_left:
            raise SocketClosed
        engine_socket = self._engine_socket
        await engine_socket.server.send(engine_socket.sid, event_text(event, document))


class Listener(Protocol):
    """Handles the connections and events of clients."""

    async def connect(self, socket: Socket, auth: JSON) -> Refusal | None:
        """A client wants to connect, with its `auth` payload; returns the error to refuse it."""
        ...

    async def handle(self, socket: Socket, event: str, message: EventPayload) -> object:
        """A client sent an event; returns the acknowledgement as JSON. Must not raise."""
        ...

    async def disconnect(self, socket: Socket) -> None:
        """A client has disconnected."""
        ...

    async def drain(self) -> None:
        """Wait until everything that is stored was sent."""
        ...


class OwnRooms(socketio.AsyncManager):  # type: ignore[misc]  # it has no types
    """Sockets are only in the room of all and in their own; the library would scan all rooms."""

    def basic_disconnect(self, sid: str, namespace: str, **kwargs: Any) -> None:
        others = self.rooms.pop(namespace, {})
        own = {room: others.pop(room) for room in (None, sid) if room in others}
        self.rooms[namespace] = own
        super().basic_disconnect(sid, namespace, **kwargs)
        others.update(self.rooms.pop(namespace, {}))
        if others:
            self.rooms[namespace] = others


class Sockets:
    """All sockets; an ASGI application to be mounted at `PATH`."""

    def __init__(
        self, listener: Listener, *, max_bytes: int, peers: PeerForwarder | None = None
    ) -> None:
        self._listener = listener
        self._peers = peers
        self._sockets: dict[str, Socket] = {}
        self._server = socketio.AsyncServer(
            async_mode="asgi",
            client_manager=OwnRooms(),
            serializer=Packet,
            async_handlers=False,  # Rule 2
            cors_allowed_origins=[],  # origins are not checked here
            http_compression=False,
            max_http_buffer_size=max_bytes,
            logger=_logger,
            engineio_logger=_logger,
        )
        self._engine = self._server.eio
        if peers is not None:
            self._engine.generate_id = peers.named(self._engine.generate_id)
        # All packets but pings go through here, also the responses of the library itself.
        self._engine.send_packet = self._send_packet
        self._engine_connect = self._engine.handlers["connect"]
        self._engine_disconnect = self._engine.handlers["disconnect"]
        self._engine.on("connect", self._on_engine_connect)
        self._engine.on("disconnect", self._on_engine_disconnect)
        self._server.on("connect", self._connected)
        self._server.on("disconnect", self._disconnected)
        self._server.on("*", self._on_event)
        Payload.max_decode_packets = PACKETS_OF_A_POST

    @property
    def open_sockets(self) -> int:
        return len(self._sockets)

    @property
    def held(self) -> int:
        """Characters in the send buffers of all sockets."""
        return sum(socket.flow.held for socket in self._sockets.values())

    async def finish(self, seconds: float) -> None:
        """Send the rest to all sockets, for up to so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._listener.drain()
                for socket in list(self._sockets.values()):
                    with suppress(SocketClosed):
                        await socket.flow.drained()

    async def listen(self) -> None:
        """Also handle requests that are forwarded by processes that share the port."""
        if self._peers is not None:
            await self._peers.listen(self._answer)

    async def leave(self, seconds: float) -> None:
        """Wait for requests that this process forwards to peers, up to so many seconds."""
        if self._peers is not None:
            await self._peers.close(seconds)

    async def aclose(self) -> None:
        """Close all sockets. Clients may reconnect, to this or another server."""
        for engine_socket in list(self._engine.sockets.values()):
            await engine_socket.close(wait=False)
        if self._engine.service_task_handle is not None:  # shutdown cannot be called twice
            await self._server.shutdown()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._peers is not None:
            sid = _query_of(scope).get("sid", "")
            if await self._peers.take(sid, scope, receive, send):
                return
        await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = _query_of(scope)
        query.pop("j", None)  # JSONP, whose responses any origin could read
        engine_socket = self._engine.sockets.get(query.get("sid"))
        if engine_socket is not None and engine_socket.closed:
            del self._engine.sockets[query["sid"]]
        flow = flow_of(engine_socket) if engine_socket is not None else Flow()
        scope = {**scope, "query_string": urlencode(query).encode(), _FLOW: flow}
        if scope["type"] != "websocket":
            await handle_polling(self._engine, engine_socket, scope, receive, send)
        elif engine_socket is not None:
            await handle_upgrade(self._engine, engine_socket, scope, receive, send)
        else:
            await handle_websocket(self._engine, flow, scope, receive, send)

    # Callbacks of the library

    async def _on_engine_connect(self, engine_id: str, environ: dict[str, Any]) -> object:
        self._engine.sockets[engine_id].session["flow"] = environ["asgi.scope"][_FLOW]
        return await self._engine_connect(engine_id, environ)

    async def _on_engine_disconnect(self, engine_id: str, reason: object) -> object:
        engine_socket = self._engine.sockets.get(engine_id)
        if engine_socket is not None:
            flow_of(engine_socket).close()
        return await self._engine_disconnect(engine_id, reason)

    async def _send_packet(self, engine_id: str, packet: Any) -> None:
        engine_socket = self._engine.sockets.get(engine_id)
        if engine_socket is not None and not engine_socket.closed:
            await engine_socket.send(flow_of(engine_socket).counted(packet))

    async def _connected(self, name: str, environ: dict[str, Any], auth: JSON = None) -> bool:
        engine_id = self._server.manager.eio_sid_from_sid(name, "/")
        engine_socket = self._engine.sockets.get(engine_id)
        if engine_socket is None:  # it has disconnected in the meantime
            return False
        socket = Socket(self._server, name, engine_socket, environ["asgi.scope"])
        if (refusal := await self._listener.connect(socket, auth)) is not None:
            raise socketio.exceptions.ConnectionRefusedError(refusal["message"], refusal)
        self._sockets[name] = socket
        if not socket.is_open:  # it disconnected before it was registered
            await self._disconnected(name)
        return True

    async def _disconnected(self, name: str, _reason: object = None) -> None:
        socket = self._sockets.pop(name, None)
        if socket is not None:
            socket.has_left = True
            await self._listener.disconnect(socket)

    async def _on_event(self, event: str, name: str, message: EventPayload) -> object:
        socket = self._sockets[name]
        with suppress(SocketClosed):
            await socket.flow.room()
            return await self._listener.handle(socket, event, message)
        return None


def _query_of(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1")))
