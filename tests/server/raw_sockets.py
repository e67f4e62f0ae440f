"""Connections that do what the real client never does."""

from __future__ import annotations

import select
import socket
import struct
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage

from server.live_server import LIMIT, LiveServer

STALLED = 2.0
"""Seconds after which nobody takes anything any more."""


class RawWebSocket:
    """A WebSocket of a client that says what it likes, and takes little."""

    def __init__(self, server: LiveServer, **query: str) -> None:
        address = urlsplit(server.url)
        self._wire = socket.socket()
        self._wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._wire.settimeout(LIMIT)
        self._wire.connect((address.hostname, address.port))
        self._protocol = WSConnection(ConnectionType.CLIENT)
        asked = {"EIO": "4", "transport": "websocket", **query}
        target = "/socket.io/?" + "&".join(f"{name}={value}" for name, value in asked.items())
        self._wire.sendall(self._protocol.send(Request(host=address.netloc, target=target)))
        assert isinstance(self._event(), AcceptConnection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def connect(self) -> None:
        assert self.read().startswith("0{")
        self.send("40")
        assert self.read().startswith('40{"sid"')

    def send(self, *packets: str) -> None:
        for packet in packets:
            self._wire.sendall(self._protocol.send(TextMessage(packet)))

    def flood(self, packet: str, times: int) -> int:
        """Say something so often, while anybody takes it; how often that was."""
        for sent in range(times):
            left = self._protocol.send(TextMessage(packet))
            while left:
                if not select.select([], [self._wire], [], STALLED)[1]:
                    return sent
                left = left[self._wire.send(left) :]
        return times

    def read(self) -> str:
        """The next packet; nothing if it is over."""
        match self._event():
            case TextMessage(data=data):
                return data
            case _:
                return ""

    def _event(self) -> object:
        while True:
            for event in self._protocol.events():
                return event
            data = self._wire.recv(4096)
            if not data:
                return CloseConnection(1006)
            self._protocol.receive_data(data)

    def abort(self) -> None:
        """Leave without a word."""
        self._wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._wire.close()


class CuttingProxy:
    """Stands before a server, and breaks every WebSocket off once that is accepted."""

    def __init__(self, server: LiveServer) -> None:
        address = urlsplit(server.url)
        self._server = (address.hostname, address.port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.cut = 0
        """How many it has broken off."""
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(self._server) as server:
            while True:
                ready = select.select([client, server], [], [])[0]
                data = ready[0].recv(65536)
                if not data:
                    return
                if data.startswith(b"HTTP/1.1 101"):
                    self.cut += 1
                    return
                (server if ready[0] is client else client).sendall(data)
