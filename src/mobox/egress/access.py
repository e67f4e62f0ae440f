"""Gives agents access to the proxy: what `network` of an agent.yaml means in each sandbox.

A sandbox with a network of its own has nothing but the proxy. In others programs are only asked to
use it, by their variables, so that an agent fails while it is developed as it would in production;
`full` and `host` are the machine's own network there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from socket import socket
from typing import Final

from mobox.capture.catalog import Agent
from mobox.capture.egress_access import EgressGrant, NoEgress
from mobox.egress import Egress
from mobox.egress import EgressGrant as ProxyGrant
from mobox.sandbox import NetworkMode
from mobox.sandbox.hosts import ALL_HOSTS, NO_HOSTS, Rules, parse_hosts

PORT: Final = 3128
"""Where the proxy is in a sandbox with a network of its own: nothing else listens there."""
_PROXIED: Final[Mapping[bool, frozenset[NetworkMode]]] = {
    True: frozenset({"hosts", "full"}),
    False: frozenset({"none", "model", "hosts"}),
}
"""The modes in which an agent has the proxy, by whether its sandbox has its own network."""


class ProxyAccess:
    """Access by the proxy of this process."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    def grant(self, agent: Agent, *, own_network: bool = False) -> EgressGrant:
        """The network of a new execution."""
        if agent.network.mode not in _PROXIED[own_network]:
            return NoEgress().grant(agent)
        port = PORT if own_network else None
        return Grant(self._egress.grant(agent.id, rules_of(agent), port=port), own_network)


def rules_of(agent: Agent) -> Rules:
    """The hosts that an agent may connect to."""
    if agent.network.mode == "full":
        return ALL_HOSTS
    return parse_hosts(agent.network.hosts) if agent.network.hosts else NO_HOSTS


class Grant:
    """The network of one execution."""

    def __init__(self, proxy: ProxyGrant, own_network: bool) -> None:
        self.env = proxy.env
        self.ports = (PORT,) if own_network else ()
        self._proxy = proxy
        self._serving: asyncio.Task[None] | None = None

    def serve(self, listening: socket) -> None:
        """Answer on a socket of the sandbox."""
        listening.setblocking(False)
        self._serving = asyncio.get_running_loop().create_task(self._proxy.serve(listening))

    def close(self) -> None:
        """End it."""
        self._proxy.close()
