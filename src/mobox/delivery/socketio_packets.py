"""What goes over a socket: packets of Socket.IO 5, in text and JSON only, and how many wait.

Rule 1: whatever a client sends is a request or a bad one, never an exception of ours: bad ones get
        to where errors are told, with the number under which the client waits for an answer.
Rule 2: a packet counts as held until the transport asks for its bytes.

https://socket.io/docs/v4/socket-io-protocol and https://socket.io/docs/v4/engine-io-protocol
"""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache
from typing import Any, ClassVar, Final

import msgspec

from mobox import json_text
from mobox.errors import NotJson
from mobox.events import JSON

__all__ = [
    "BAD",
    "PROBE",
    "UPGRADE",
    "Flow",
    "Packet",
    "Said",
    "SocketClosed",
    "event_text",
    "flow_of",
    "is_connect",
    "is_legal",
]

CONNECT, DISCONNECT, EVENT = range(3)
BAD: Final = ""
"""The name of the event that stands for a packet which is none."""

MOST_HELD: Final = 256 * 1024
"""Characters that wait to be sent to one socket; from there on whoever has more waits too."""

PROBE, UPGRADE = "2probe", "5"
"""By which a client goes over to a WebSocket; it says them there and nowhere else."""

_LEGAL: Final = re.compile(r"1|3|4[0-6](?!/[^,]{200}).*", re.DOTALL)
"""The name of a namespace comes back with the answer."""
_PACKET: Final = re.compile(r"([0-6])(/[^,]*,?)?(\d{1,15}(?![\d-]))?(.*)", re.DOTALL | re.ASCII)
_RESERVED: Final = {"connect", "connect_error", "disconnect", BAD}


def is_legal(packet: str) -> bool:
    """Whether a client may say that to the layer below, which trusts it."""
    return _LEGAL.fullmatch(packet) is not None


def is_connect(packet: str) -> bool:
    """Whether the layer below answers that by itself, without asking for room."""
    return packet.startswith(f"4{CONNECT}")


class Said(msgspec.Struct, frozen=True):
    """What came with an event, and whether the client waits for an answer."""

    payload: JSON
    wants_answer: bool
    problem: str | None = None
    """Why it is no event."""


class Packet:
    """A packet as python-socketio wants it, with less than it could have: nothing binary."""

    uses_binary_events: ClassVar = False
    json: ClassVar[Any] = json

    def __init__(
        self,
        packet_type: int = EVENT,
        data: Any = None,
        namespace: str | None = None,
        id: int | None = None,  # noqa: A002 - the library says so
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
            return self._refuse("expected an event, and nothing binary")
        try:
            self.data = json_text.decode(match[4].encode()) if match[4] else None
        except (NotJson, UnicodeEncodeError) as problem:
            return self._refuse(f"expected JSON: {problem}")
        return self._read_event() if self.packet_type == EVENT else None

    def _read_event(self) -> None:
        match self.data:
            case [str(name), *payload] if name not in _RESERVED:
                said = Said(payload[0] if payload else None, self.id is not None)
                self.data = [name, said]
            case _:
                self._refuse("expected the name of an event and what it carries")

    def _refuse(self, problem: str) -> None:
        self.packet_type = EVENT
        self.data = [BAD, Said(None, self.id is not None, problem)]


def event_text(name: str, document: bytes) -> str:
    """The text of an event that carries a document which is JSON already."""
    return f"{_beginning(name)}{document.decode()}]"


@cache
def _beginning(name: str) -> str:
    """Events have few names, all of them ours."""
    return f"{EVENT}[{json.dumps(name)},"


class SocketClosed(Exception):
    """There is nobody to say anything to."""


class Flow:
    """What of one socket's packets was not taken yet."""

    def __init__(self) -> None:
        self.held = 0
        self._changed = asyncio.Event()
        self.is_closed = False

    async def room(self) -> None:
        """Wait until the socket has taken most of what was said to it."""
        await self._at_most(MOST_HELD)

    async def drained(self) -> None:
        """Wait until it has taken all."""
        await self._at_most(0)

    def counted(self, packet: Any) -> _CountedPacket:
        """A packet of Engine.IO, held from now on."""
        counted = _CountedPacket(self, packet)
        self.held += counted.size
        return counted

    def release(self, size: int) -> None:
        """The transport has taken so much."""
        self.held -= size
        self._changed.set()

    def close(self) -> None:
        """Nobody takes anything any more."""
        self.is_closed = True
        self._changed.set()

    async def _at_most(self, most: int) -> None:
        while self.held > most and not self.is_closed:
            self._changed.clear()
            await self._changed.wait()
        if self.is_closed:
            raise SocketClosed


def flow_of(engine_socket: Any) -> Flow:
    """The one of a socket of Engine.IO."""
    flow: Flow = engine_socket.session["flow"]
    return flow


class _CountedPacket:
    """A packet of Engine.IO that tells when it is taken."""

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
