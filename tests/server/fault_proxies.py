"""Proxies that do what proxies should not: keep things back, cut off, fall silent, be slow."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

from server.live_server import LIMIT
from server.socket_clients import Served

SMALL = 16 * 1024
"""Bytes that the system may keep for a proxy: what it does not take stays with the server."""
KEPT_ALIVE = re.compile(rb"(?i)\r\nconnection: keep-alive")


class Proxy:
    """Stands before a server and passes on all that is said, each way in a thread of its own."""

    def __init__(self, server: Served) -> None:
        address = urlsplit(server.url)
        self._server = (address.hostname, address.port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.is_over = threading.Event()

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.close_all(self._listening)
        self._threads[0].join(LIMIT)  # from now on nobody comes
        self.close_all(*self._open)
        for thread in self._threads:
            thread.join(LIMIT)
            assert not thread.is_alive()

    def _start(self, work: Callable[..., None], *args: socket.socket) -> None:
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listening.accept()
                server = socket.socket()
                server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
                server.connect(self._server)
                self._open |= {client, server}
                self._start(self._pass, client, server)
                self._start(self._pass_back, server, client)

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            self.ask(client, server)
        self.close_all(server)

    def _pass_back(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            self.answer(server, client)
        self.close_all(client, server)

    @staticmethod
    def close_all(*ends: socket.socket) -> None:
        """Also where a thread waits at one."""
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    # What is done to a connection

    def ask(self, client: socket.socket, server: socket.socket) -> None:
        """Pass on what the client says, until it has said all."""
        while data := client.recv(SMALL):
            server.sendall(data)

    def answer(self, server: socket.socket, client: socket.socket) -> None:
        """Pass on what the server says, until it has said all."""
        while data := server.recv(SMALL):
            client.sendall(data)


class BufferingProxy(Proxy):
    """Passes a response on when it has all of it. A connection is for one request."""

    def __init__(self, server: Served) -> None:
        super().__init__(server)
        self.held = b""
        """What it has of the last response that it keeps back."""

    def ask(self, client: socket.socket, server: socket.socket) -> None:
        while data := client.recv(SMALL):
            server.sendall(KEPT_ALIVE.sub(b"\r\nConnection: close", data))

    def answer(self, server: socket.socket, client: socket.socket) -> None:
        held = b""
        while data := server.recv(SMALL):
            self.held = held = held + data
        client.sendall(held)


class ImpatientProxy(Proxy):
    """Cuts a connection on which the server says nothing for a moment."""

    def __init__(self, server: Served, seconds: float) -> None:
        super().__init__(server)
        self._seconds = seconds
        self.cuts = 0

    def answer(self, server: socket.socket, client: socket.socket) -> None:
        server.settimeout(self._seconds)
        try:
            super().answer(server, client)
        except TimeoutError:
            self.cuts += 1


class Blackhole(Proxy):
    """After so many bytes it takes nothing, tells nobody anything, and stays."""

    def __init__(self, server: Served, after: int) -> None:
        super().__init__(server)
        self._left = after
        self.is_silent = threading.Event()

    def answer(self, server: socket.socket, client: socket.socket) -> None:
        while self._left > 0 and (data := server.recv(min(self._left, SMALL))):
            self._left -= len(data)
            client.sendall(data)
        self.is_silent.set()
        self.is_over.wait()


class SlowProxy(Proxy):
    """Passes on so many bytes, and the rest when it is told to."""

    def __init__(self, server: Served, first: int) -> None:
        super().__init__(server)
        self._first = first
        self.passed = 0
        self.may_go_on = threading.Event()
        self.waits = threading.Event()

    def answer(self, server: socket.socket, client: socket.socket) -> None:
        while data := server.recv(1024):
            if self.passed >= self._first:
                self.waits.set()
                self.may_go_on.wait(LIMIT)
            client.sendall(data)
            self.passed += len(data)
