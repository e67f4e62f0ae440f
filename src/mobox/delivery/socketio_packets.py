"""Packets of Socket.IO 5, as text and JSON only, and the size of a socket's send buffer.

Rule 1: an invalid packet never raises: it becomes an event named `BAD`, with the acknowledgement id
        that the client waits for, and is answered with an error.
Rule 2: a packet counts as held until the transport takes its bytes.

https://socket.io/docs/v4/socket-io-protocol and https://socket.io/docs/v4/engine-io-protocol
"""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache
from typing import Any, ClassVar, Final

import msgspec

from mobox.errors import NotJson
from mobox.events import JSON, json_text

CONNECT, DISCONNECT, EVENT = range(3)
BAD: Final = ""
"""The name of the event that stands for an invalid packet."""

MOST_HELD: Final = 256 * 1024
"""Characters in the send buffer of one socket; above it writers wait."""

PROBE, UPGRADE = "2probe", "5"
"""The packets that upgrade to a WebSocket; legal only during the upgrade."""

_LEGAL: Final = re.compile(r"1|3|4[0-6](?!/[^,]{200}).*", re.DOTALL)
"""Namespaces are shorter than 200 characters, as the response repeats them."""
_PACKET: Final = re.compile(r"([0-6])(/[^,]*,?)?(\d{1,15}(?![\d-]))?(.*)", re.DOTALL | re.ASCII)
_RESERVED: Final = {"connect", "connect_error", "disconnect", BAD}


def is_legal(packet: str) -> bool:
    """Whether the packet may reach the library, which trusts its clients."""
    return _LEGAL.fullmatch(packet) is not None


def is_connect(packet: str) -> bool:
    """Whether the library responds to the packet itself, without waiting for room."""
    return packet.startswith(f"4{CONNECT}")


class EventPayload(msgspec.Struct, frozen=True):
    """The payload of an event, and whether the client waits for an acknowledgement."""

    payload: JSON
    wants_answer: bool
    problem: str | None = None
    """Why the packet is invalid."""


class Packet:
    """A packet in the interface of python-socketio, without binary data."""

    uses_binary_events: ClassVar = False
    json: ClassVar[Any] = json

    def __init__(
        self,
        packet_type: int = EVENT,
        data: Any = None,
        namespace: str | None = None,
        id: int | None = None,  # noqa: A002 - the library's name
        binary: object = None,
        encoded_packet: object = None,
    ) -> None:
        self.packet_type = packet_type
        self.data = data
        self.namespace = namespace
        self.id = id
        if encoded_packet is not None:
            self._decode(encoded_packet)

    def encode(self) -> str:
        """The packet as text."""
        namespace = f"{self.namespace}," if self.namespace not in (None, "/") else ""
        number = "" if self.id is None else str(self.id)
        data = "" if self.data is None else msgspec.json.encode(self.data).decode()
        return f"{self.packet_type}{namespace}{number}{data}"

    def _decode(self, text: object) -> None:
        match = _PACKET.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            return self._refuse("expected text")
        self.packet_type = int(match[1])
        self.namespace = (match[2] or "/").removesuffix(",").partition("?")[0]
        self.id = int(match[3]) if match[3] else None
        if self.packet_type not in (CONNECT, DISCONNECT, EVENT):
            return self._refuse("expected an event without binary data")
        try:
            self.data = json_text.decode_json(match[4].encode()) if match[4] else None
        except (NotJson, UnicodeEncodeError) as problem:
            return self._refuse(f"expected JSON: {problem}")
        return self._read_event() if self.packet_type == EVENT else None

    def _read_event(self) -> None:
        match self.data:
            case [str(name), *payload] if name not in _RESERVED:
                message = EventPayload(payload[0] if payload else None, self.id is not None)
                self.data = [name, message]
            case _:
                self._refuse("expected the name of an event and its payload")

    def _refuse(self, problem: str) -> None:
        self.packet_type = EVENT
        self.data = [BAD, EventPayload(None, self.id is not None, problem)]


def event_text(name: str, document: bytes) -> str:
    """The text of an event whose payload is encoded JSON."""
    return f"{_prefix(name)}{document.decode()}]"


@cache
def _prefix(name: str) -> str:
    """Cached: there are few event names, all of them ours."""
    return f"{EVENT}[{json.dumps(name)},"


class SocketClosed(Exception):
    """The client has disconnected."""


class Flow:
    """The send buffer of one socket: counts packets that the transport has not taken yet."""

    def __init__(self) -> None:
        self.held = 0
        self._changed = asyncio.Event()
        self.is_closed = False

    async def room(self) -> None:
        """Wait until the buffer is below its limit; raises `SocketClosed`."""
        await self._at_most(MOST_HELD)

    async def drained(self) -> None:
        """Wait until the buffer is empty; raises `SocketClosed`."""
        await self._at_most(0)

    def counted(self, packet: Any) -> _CountedPacket:
        """Add a packet of Engine.IO to the buffer."""
        counted = _CountedPacket(self, packet)
        self.held += counted.size
        return counted

    def release(self, size: int) -> None:
        """The transport has taken `size` characters."""
        self.held -= size
        self._changed.set()

    def close(self) -> None:
        """The client has disconnected: wake waiting writers."""
        self.is_closed = True
        self._changed.set()

    async def _at_most(self, most: int) -> None:
        while self.held > most and not self.is_closed:
            self._changed.clear()
            await self._changed.wait()
        if self.is_closed:
            raise SocketClosed


def flow_of(engine_socket: Any) -> Flow:
    """The flow of an Engine.IO socket."""
    flow: Flow = engine_socket.session["flow"]
    return flow


class _CountedPacket:
    """A packet of Engine.IO that releases its size when it is encoded."""

    __slots__ = ("_flow", "_packet", "size")

    def __init__(self, flow: Flow, packet: Any) -> None:
        self._flow: Flow | None = flow
        self._packet = packet
        self.size = len(packet.data or "")

    @property
    def packet_type(self) -> int:
        return int(self._packet.packet_type)

    @property
    def data(self) -> str:
        return str(self._packet.data)

    def encode(self, b64: bool = False) -> str:
        flow, self._flow = self._flow, None
        if flow is not None:
            flow.release(self.size)
        return str(self._packet.encode(b64=b64))
