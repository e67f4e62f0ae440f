"""Clients that cost next to nothing: raw sockets, one epoll, bytes counted and let go."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Self

__all__ = ["Readers", "body_of", "get", "post"]

_SIZE = 256 * 1024
_END_OF_HEAD = b"\r\n\r\n"

Take = Callable[[int, memoryview], object]
"""Gets the number of a connection and what has come there; both are good until it returns."""


def get(path: str) -> bytes:
    """A request whose connection ends with its response."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


def post(path: str, body: Mapping[str, object]) -> bytes:
    """The same with a body."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    about = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return (head + about).encode() + content


class Readers:
    """Connections that are read together; a context manager that closes them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._buffer = bytearray(_SIZE)
        self._stack = ExitStack()
        self._epoll = self._stack.enter_context(select.epoll())
        self._open: dict[int, tuple[int, socket.socket]] = {}
        self._asked = 0

    def ask(self, request: bytes, receive_buffer: int | None = None) -> int:
        """Open a connection and send a request on it; return its number, the first being 0."""
        connection = self._stack.enter_context(socket.socket())
        if receive_buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.connect(("127.0.0.1", self._port))
        connection.sendall(request)
        connection.setblocking(False)
        self._epoll.register(connection, select.EPOLLIN)
        self._open[connection.fileno()] = self._asked, connection
        self._asked += 1
        return self._asked - 1

    def ask_all(self, requests: Sequence[bytes]) -> None:
        for request in requests:
            self.ask(request)

    def drain(self, take: Take | None = None) -> None:
        """Read until all responses have ended."""
        while self._open:
            self.turn(None, take)

    def listen_until(self, end: float, take: Take | None = None) -> None:
        """Read whatever comes until `time.monotonic` says so."""
        while (left := end - time.monotonic()) > 0:
            self.turn(left, take)

    def turn(self, seconds: float | None, take: Take | None = None) -> None:
        """Read what is there, or comes within so many seconds."""
        view = memoryview(self._buffer)
        for number, _ in self._epoll.poll(seconds):
            index, connection = self._open[number]
            size = connection.recv_into(self._buffer)
            if not size:
                del self._open[number]
                self._epoll.unregister(connection)
            elif take is not None:
                take(index, view[:size])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def body_of(response: bytes) -> bytes:
    """The body of a whole response that came in chunks."""
    head, _, rest = response.partition(_END_OF_HEAD)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"the server answered {response[:300]!r}")
    pieces = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        pieces.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return b"".join(pieces)
