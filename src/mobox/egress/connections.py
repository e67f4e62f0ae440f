"""One connection of an agent: its request is checked and passed on.

A connection serves one request. For plain HTTP that costs a connection per request, and leaves no
second request whose beginning two readers could see in different places.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from mobox.egress.destinations import Allowance, Destinations
from mobox.egress.exchange import Exchange
from mobox.egress.messages import (
    BadMessage,
    Request,
    Target,
    http_target,
    read_request,
    request_body,
    tunnel_target,
)
from mobox.egress.refusals import BAD_REQUEST, FORBIDDEN, TOO_LARGE, TOO_SLOW, Refused
from mobox.egress.relay import BUFFER, Idle, Stream, finish, tunnel

ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
TUNNEL: Final = "CONNECT"


class Limits(NamedTuple):
    """Times in seconds, and numbers of connections."""

    head: float = 30
    """Until the head of a request has arrived."""
    connect: float = 30
    """For lookup and connection."""
    idle: float = 15 * 60
    """Without a byte in either direction."""
    connections: int = 256
    """Of a grant, and of all clients that have not shown a token yet."""
    total: int = 4096
    """Connections of all grants."""


class Access(Protocol):
    """What a connection needs to know about the grant it belongs to."""

    allowance: Allowance

    def report(self, target: Target, refused: Refused) -> None:
        """Log that the agent may not connect there."""
        ...


Identify = Callable[["Connection", Request], Access]
"""Finds the grant of a connection; raises `Refused`."""


class Connection:
    """The connection of an agent and, once it is open, the one to its destination."""

    def __init__(self, client: Stream, destinations: Destinations, limits: Limits) -> None:
        self._client = client
        self._server: Stream | None = None
        self._destinations = destinations
        self._limits = limits
        self._groups: list[set[Connection]] = []
        self._task: asyncio.Task[None] | None = None

    def join(self, group: set[Connection]) -> None:
        """Be in this group, until it has ended."""
        group.add(self)
        self._groups.append(group)

    def leave(self, group: set[Connection]) -> None:
        """Be in this group no longer."""
        group.discard(self)

    def start(self, identify: Identify) -> None:
        """Serve the request in a task."""
        self._task = asyncio.ensure_future(self._serve(identify))
        self._task.add_done_callback(self._done)

    def abort(self) -> None:
        """End it, and close both sides at once."""
        self._close()
        if self._task is not None:
            self._task.cancel()

    async def ended(self) -> None:
        """Wait until both sides are closed."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    def _close(self) -> None:
        self._client.abort()
        if self._server is not None:
            self._server.abort()

    def _done(self, _: object) -> None:
        """Also called if it was aborted before it did anything."""
        self._close()
        for group in self._groups:
            group.discard(self)

    async def _serve(self, identify: Identify) -> None:
        try:
            async with Idle(self._limits.idle) as idle:
                try:
                    await self._pass_on(identify, idle)
                except Refused as refused:
                    await self._client.send(refused.response())
                await finish(self._client)
        except OSError:
            pass  # one of the two has left, or no byte has moved for too long

    async def _pass_on(self, identify: Identify, idle: Idle) -> None:
        request = await self._request()
        access = identify(self, request)
        try:
            target = _target(request)
        except BadMessage as error:
            raise Refused(BAD_REQUEST, f"invalid request: {error}") from None
        self._server = server = await self._open(target, access)
        idle.touch()
        if request.method == TUNNEL:
            await self._client.send(ESTABLISHED)
            await tunnel(self._client, server, idle)
        else:
            await Exchange(request, target, self._client, server).run(idle)

    async def _request(self) -> Request:
        try:
            async with asyncio.timeout(self._limits.head):
                head = await self._client.reader.readuntil(b"\r\n\r\n")
            return read_request(head)
        except TimeoutError:
            raise Refused(TOO_SLOW, "the head of the request did not arrive in time") from None
        except asyncio.LimitOverrunError:
            problem = f"the head of the request is larger than {BUFFER} bytes"
            raise Refused(TOO_LARGE, problem) from None
        except BadMessage as error:
            raise Refused(BAD_REQUEST, f"invalid request: {error}") from None
        except EOFError:
            raise ConnectionResetError from None

    async def _open(self, target: Target, access: Access) -> Stream:
        try:
            return await self._destinations.open(target.host, target.port, access.allowance)
        except Refused as refused:
            if refused.status == FORBIDDEN:
                access.report(target, refused)
            raise


def _target(request: Request) -> Target:
    """Where the request goes, if it is valid; raises `BadMessage`."""
    if request.method == TUNNEL:
        return tunnel_target(request)
    request_body(request)  # an ambiguous request opens no connection
    return http_target(request)
