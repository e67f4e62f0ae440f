"""The outgoing network of agents: an HTTP proxy that connects them to the hosts they may reach.

Rule 1: an agent reaches what `network` of its agent.yaml allows, and public addresses only unless
        the operator named another one (sandbox/hosts.py). It never reaches the server's own ports.
Rule 2: a connection belongs to a grant, that is to one execution of an agent: by the token in its
        `Proxy-Authorization`, or by the listening socket of a sandbox, where no token is needed.
Rule 3: a closed grant leaves nothing behind: no token, no socket, no connection.
Rule 4: all is bounded: heads, times, buffers, lookups, connections of a grant and of all grants.

A tunnel (`CONNECT`) carries anything, mostly TLS, which the proxy does not look into; plain HTTP is
passed on one request per connection. RFC 9110 §9.3.6, RFC 9112.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import resource
import secrets
import socket
from collections.abc import Mapping
from functools import partial
from typing import Final

from mobox.egress.connections import Connection, Limits
from mobox.egress.destinations import Allowance, Connect, Destinations, Forbidden, Resolve
from mobox.egress.messages import Request, Target, token_of
from mobox.egress.refusals import NO_TOKEN, TOO_MANY, Refused
from mobox.egress.relay import BUFFER, Stream
from mobox.errors import NotOpen
from mobox.sandbox.hosts import Rules

PREFIX: Final = "mbe_"
"""By which people and the removal of secrets from texts know a token."""
BACKLOG: Final = 256
LOGGED: Final = 50
"""Refused destinations of a grant that are logged."""
VARIABLES: Final = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
)  # fmt: skip

log = logging.getLogger("mobox.egress")


class EgressGrant:
    """The network of one execution of an agent. Ended by `close`."""

    def __init__(self, egress: Egress, allowance: Allowance, port: int) -> None:
        self._egress = egress
        self.allowance = allowance
        self.token = PREFIX + secrets.token_urlsafe(32)
        address = f"http://agent:{self.token}@127.0.0.1:{port}"
        self.env: Mapping[str, str] = {
            **dict.fromkeys(VARIABLES, address),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1"),
            "NODE_USE_ENV_PROXY": "1",  # else Node's `fetch` ignores the others
        }
        """With these variables, HTTP clients use the proxy, but for 127.0.0.1: in a sandbox that
        is the sandbox's own, and the gateway to models is there."""
        self.connections: set[Connection] = set()
        self._listeners: list[asyncio.Server] = []
        self._logged: set[Target] = set()

    async def serve(self, listening: socket.socket) -> None:
        """Serve this grant on one more socket, which `close` closes; no token is needed there."""
        if not self._egress.has(self):
            listening.close()
            return
        self._listeners.append(await self._egress.listen(listening, self))
        if not self._egress.has(self):  # any more
            self.close()

    def report(self, target: Target, refused: Refused) -> None:
        """Log a refused destination, once."""
        destination = target._replace(path="")
        if destination not in self._logged and len(self._logged) < LOGGED:
            self._logged.add(destination)
            agent = self.allowance.agent_id
            log.warning("agent %s: network connection refused: %s", agent, refused.log)

    def close(self) -> None:
        """Revoke the token, close the sockets and abort the connections; may be called again."""
        self._egress.revoke(self)
        for listener in self._listeners:
            listener.close()
        for connection in list(self.connections):
            connection.abort()


class Egress:
    """The proxy of a server process. Created in an event loop; `close` ends all."""

    def __init__(
        self,
        *,
        forbidden: Forbidden = tuple,
        resolve: Resolve | None = None,
        connect: Connect | None = None,
        limits: Limits | None = None,
    ) -> None:
        """`forbidden` returns the addresses and ports of the server; it is called often."""
        self._limits = limits or Limits(total=_most_connections())
        self._server_ports = forbidden
        self._destinations = Destinations(self._forbidden, self._limits.connect, resolve, connect)
        self._listener: asyncio.Server | None = None
        self._port: int | None = None
        self._grants: dict[bytes, EgressGrant] = {}
        """By the hash of the token: the time of a lookup depends on no token."""
        self._connections: set[Connection] = set()
        self._unknown: set[Connection] = set()
        """Those that have not shown a token yet."""

    async def open(self) -> None:
        """Listen on a free port of this machine, for sandboxes without a network of their own."""
        listening = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self._port = listening.getsockname()[1]
        self._listener = await self.listen(listening, None)

    def grant(self, agent_id: str, rules: Rules, *, port: int | None = None) -> EgressGrant:
        """The network of a new execution, by this port of its sandbox or by that of `open`."""
        port = port or self._port
        if port is None:
            raise NotOpen
        grant = EgressGrant(self, Allowance(agent_id, rules), port)
        self._grants[_hash(grant.token)] = grant
        return grant

    def has(self, grant: EgressGrant) -> bool:
        """Whether it has not been closed."""
        return _hash(grant.token) in self._grants

    def revoke(self, grant: EgressGrant) -> None:
        """Make its token unknown."""
        self._grants.pop(_hash(grant.token), None)

    async def listen(self, listening: socket.socket, grant: EgressGrant | None) -> asyncio.Server:
        """Accept connections of this grant or, without one, of all that show a token."""
        accept = partial(self._accept, grant)
        return await asyncio.start_server(accept, sock=listening, limit=BUFFER, backlog=BACKLOG)

    def _accept(
        self,
        grant: EgressGrant | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        if grant is not None and not self.has(grant):  # closed while the socket was accepted
            writer.transport.abort()
            return
        group = self._unknown if grant is None else grant.connections
        if len(group) >= self._limits.connections or len(self._connections) >= self._limits.total:
            writer.write(Refused(TOO_MANY, "too many connections are open").response())
            writer.close()
            return
        client = Stream(reader, writer)
        connection = Connection(client, self._destinations, self._limits)
        connection.join(self._connections)
        connection.join(group)
        connection.start(partial(self._identify, grant))

    def _identify(
        self, grant: EgressGrant | None, connection: Connection, request: Request
    ) -> EgressGrant:
        """The grant of a connection, which then counts there; raises `Refused`."""
        if grant is not None:
            return grant
        found = self._grants.get(_hash(token_of(request) or ""))
        if found is None:
            raise Refused(NO_TOKEN, "the token is missing or unknown, or its run has ended")
        if len(found.connections) >= self._limits.connections:
            raise Refused(TOO_MANY, "too many connections of the agent are open")
        connection.leave(self._unknown)
        connection.join(found.connections)
        return found

    def _forbidden(self) -> list[tuple[str, int]]:
        own = [] if self._port is None else [("127.0.0.1", self._port)]
        return [*self._server_ports(), *own]

    async def close(self) -> None:
        """Close all sockets and grants, and abort all connections."""
        if self._listener is not None:
            self._listener.close()
        for grant in list(self._grants.values()):
            grant.close()
        connections = list(self._connections)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.ended() for connection in connections))
        self._destinations.close()


def _most_connections() -> int:
    """Of all agents together: each uses two descriptors, and half are left to the server."""
    most = Limits().total
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else min(max(soft // 4, 16), most)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
