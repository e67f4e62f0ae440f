"""Hosts with public addresses, all of which are sockets of this machine, and raw clients."""

from __future__ import annotations

import asyncio
import base64
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from mobox.egress import Egress, EgressGrant
from mobox.egress.connections import Limits
from mobox.egress.destinations import Connect, open_stream
from mobox.egress.relay import Stream
from mobox.sandbox.hosts import ALL_HOSTS, Rules, parse_hosts

Serve = Callable[[Stream], Awaitable[None]]

EXAMPLE = "93.184.215.14"
"""The address of example.com and of all names that have no other."""


class Internet:
    """What the proxy looks up and connects to, and whether it did."""

    def __init__(self) -> None:
        self.names: dict[str, list[Sequence[str]]] = {}
        """The answers of the DNS for a name, one after the other; the last one stays."""
        self.looked_up: list[str] = []
        self.connected: list[tuple[str, int]] = []
        self.ports: dict[str, int] = {}
        """The port of this machine that stands for an address."""
        self.connect: Connect = self._connect

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        if host.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        answers = self.names.get(host, [[EXAMPLE]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def _connect(self, address: str, port: int) -> Stream:
        self.connected.append((address, port))
        if address not in self.ports:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        return await open_stream("127.0.0.1", self.ports[address])

    @asynccontextmanager
    async def host(
        self, serve: Serve, address: str = EXAMPLE, tls: ssl.SSLContext | None = None
    ) -> AsyncIterator[None]:
        """A server at this address."""

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await serve(Stream(reader, writer))
            except (OSError, EOFError):
                pass  # the proxy has left
            finally:
                writer.close()

        server = await asyncio.start_server(accepted, "127.0.0.1", 0, ssl=tls, limit=1 << 20)
        self.ports[address] = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    @asynccontextmanager
    async def proxy(
        self, forbidden: Iterable[tuple[str, int]] = (), limits: Limits | None = None
    ) -> AsyncIterator[Egress]:
        egress = Egress(
            forbidden=lambda: forbidden,
            resolve=self.resolve,
            connect=self.connect,
            limits=limits,
        )
        await egress.open()
        try:
            yield egress
        finally:
            await egress.close()

    @asynccontextmanager
    async def agent(
        self,
        *hosts: str,
        full: bool = False,
        forbidden: Iterable[tuple[str, int]] = (),
        limits: Limits | None = None,
    ) -> AsyncIterator[EgressGrant]:
        """An agent with these hosts in `network`."""
        async with self.proxy(forbidden, limits) as egress:
            yield egress.grant("research", rules(*hosts, full=full))


def rules(*hosts: str, full: bool = False) -> Rules:
    return ALL_HOSTS if full else parse_hosts(hosts)


def address_of(grant: EgressGrant) -> tuple[str, int]:
    """Where the grant's proxy is."""
    host, _, port = grant.env["HTTP_PROXY"].rpartition("@")[2].partition(":")
    return host, int(port)


def listening() -> tuple[socket.socket, int]:
    """A socket as a sandbox hands it out, and its port."""
    made = socket.create_server(("127.0.0.1", 0))
    return made, made.getsockname()[1]


@asynccontextmanager
async def connected(grant: EgressGrant) -> AsyncIterator[Stream]:
    """A raw connection to the proxy."""
    stream = await open_stream(*address_of(grant))
    try:
        yield stream
    finally:
        stream.abort()


def authorization(grant: EgressGrant) -> bytes:
    """The header with the grant's token."""
    encoded = base64.b64encode(f"agent:{grant.token}".encode())
    return b"Proxy-Authorization: Basic %s\r\n" % encoded


async def answer(grant: EgressGrant, request: bytes) -> bytes:
    """All that the proxy sends back for these bytes; `@` on a line of its own is the token."""
    async with connected(grant) as stream:
        await stream.send(request.replace(b"@\r\n", authorization(grant)))
        return await stream.reader.read()


async def status(grant: EgressGrant, request: bytes) -> int:
    return int((await answer(grant, request)).split(b" ", 2)[1])


async def connect_status(grant: EgressGrant, target: str) -> int:
    """The status for a tunnel; the proxy keeps one that it has opened."""
    async with connected(grant) as stream:
        head = await ask_tunnel(stream, grant, target)
        return int(head.split(b" ", 2)[1])


async def ask_tunnel(stream: Stream, grant: EgressGrant, target: str) -> bytes:
    """The head of the response to a CONNECT."""
    request = b"CONNECT %s HTTP/1.1\r\n%s\r\n" % (target.encode(), authorization(grant))
    await stream.send(request)
    return await stream.reader.readuntil(b"\r\n\r\n")


async def echo(stream: Stream) -> None:
    """A server that sends everything back, and its end after the client's."""
    while data := await stream.reader.read(1 << 16):
        await stream.send(data)
    await stream.end()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Web:
    """A server that answers each request with the same bytes, and keeps what it got."""

    def __init__(self, response: bytes = OK, *, is_early: bool = False) -> None:
        self.response = response
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self._is_early = is_early

    async def __call__(self, stream: Stream) -> None:
        head = await stream.reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if not self._is_early:
            self.bodies.append(await self._body(stream, head.lower()))
        await stream.send(self.response)
        await stream.end()

    async def _body(self, stream: Stream, head: bytes) -> bytes:
        if b"transfer-encoding: chunked" in head:
            return await stream.reader.readuntil(b"\r\n0\r\n\r\n")
        _, _, length = head.partition(b"content-length:")
        return await stream.reader.readexactly(int(length.partition(b"\r\n")[0] or 0))
