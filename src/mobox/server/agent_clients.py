"""Finds out whether a client of the server is a process of an agent, which may not use its API.

On the `process` sandbox agents run on the machine of the server, and can connect to it. An agent
that uses the API could approve its own requests, and read and delete the chats of others.

Rule 1: a client on this machine is checked once per connection: the kernel knows the client's
        socket, and it must not be one that a process of an agent has open.
Rule 2: a client that is gone before that is known is refused: an agent could send a request and
        close the socket at once. There is no reader of the response anyway.
Rule 3: the search happens in a thread, and requests that come meanwhile share the next one.
Rule 4: it is best effort: sandbox/agent_sockets.py and docs/sandboxes.md have what is not found.
        A client behind a proxy is the proxy.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final, Literal, TypeAlias

from starlette.types import Scope

from mobox.sandbox.agent_sockets import AgentProcesses, AgentSockets, is_held_by_others
from mobox.server.tcp_table import (
    ESTABLISHED,
    Address,
    TcpSocket,
    address_of,
    find_socket,
    is_own_address,
    search_sockets,
)

PEER: Final = "mobox.peer"
"""The key of an ASGI scope with the address of the other end of the connection, where `client` may
be one that a header names."""

Verdict: TypeAlias = Literal["other", "agent", "gone", "unknown"]
"""Who a client is; `gone` before that was known; `unknown` if it took too long."""

_NOT_KNOWN: Final = ("", 0)
_SECONDS: Final = 2.0
"""For a search; an agent with very many open files could make it take forever."""
_MOST_KNOWN: Final = 20_000


class AgentClients:
    """The clients of one server, in an event loop."""

    def __init__(self) -> None:
        self._is_possible = sys.platform == "linux"
        self._agents = AgentProcesses()
        self._searching = asyncio.Lock()
        self._next: asyncio.Task[AgentSockets] | None = None
        self._known: dict[object, tuple[object, Verdict]] = {}

    async def verdict(self, scope: Scope) -> Verdict:
        """Who sends this request."""
        client = scope.get(PEER, scope.get("client", _NOT_KNOWN))
        if not self._is_possible:
            return "other"
        # uvicorn has one tuple for each connection. It is kept, so another one that is equal, of a
        # later connection from the same port, is another object.
        known, verdict = self._known.get(client, (self, "unknown"))
        if known is client:
            return verdict
        return await self._look(client, scope)

    async def _look(self, client: Any, scope: Scope) -> Verdict:
        here, there = address_of(scope.get("server")), address_of(client)
        if here is None or there is None:
            # uvicorn has no address of a client that has reset its connection.
            return "gone" if here is not None and client is None else "other"
        verdict = await self._verdict(here, there, is_connected=PEER in scope)
        if verdict != "unknown":
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[client] = (client, verdict)
        return verdict

    async def _verdict(self, here: Address, there: Address, *, is_connected: bool) -> Verdict:
        found = find_socket(there, here)
        if found is None and not is_own_address(there.ip):
            return "other"
        sockets = [found] if found is not None else await asyncio.to_thread(_search, there)
        if not sockets:
            return _without_socket(here, there, is_connected=is_connected)
        held = [each for each in sockets if each.inode]
        if not held:
            return "gone"
        agents = await self._search_after_now()
        for each in held:
            if (verdict := await _holder(each, agents)) != "other":
                return verdict
        return "other" if found is None or _is_there(found, here, there) else "gone"

    async def _search_after_now(self) -> AgentSockets:
        """The result of a search that has not started yet."""
        if self._next is None:
            self._next = asyncio.create_task(self._search())
        return await asyncio.shield(self._next)

    async def _search(self) -> AgentSockets:
        async with self._searching:
            self._next = None
            return await asyncio.to_thread(self._agents.sockets, _SECONDS)


def _is_there(client: TcpSocket, here: Address, there: Address) -> bool:
    found = find_socket(there, here)
    return found is not None and found.inode == client.inode


def _search(local: Address) -> list[TcpSocket]:
    return list(search_sockets(local))


def _without_socket(here: Address, there: Address, *, is_connected: bool) -> Verdict:
    """A connection from an address of this machine, of which the kernel knows no client.

    If it still stands, both addresses were rewritten on the way. A scope that is not from our own
    server may be no connection at all, such as that of an app's tests.
    """
    ours = find_socket(here, there)
    if ours is None:
        return "gone" if is_connected else "other"
    return "other" if ours.state == ESTABLISHED else "gone"


async def _holder(client: TcpSocket, agents: AgentSockets) -> Verdict:
    if client.inode in agents.inodes:
        return "agent"
    if not agents.is_complete:
        return "unknown"
    if client.user not in agents.hidden_users:
        return "other"
    # An agent's process does not let its descriptors be read: then the client must be found.
    is_other = await asyncio.to_thread(is_held_by_others, client.inode, agents.processes)
    return "other" if is_other else "agent"
