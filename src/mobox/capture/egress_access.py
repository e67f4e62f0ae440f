"""How an execution reaches other hosts: the interface between what starts agents and the proxy."""

from __future__ import annotations

from collections.abc import Mapping
from socket import socket
from types import MappingProxyType
from typing import Final, Protocol

from mobox.capture.catalog import Agent


class EgressGrant(Protocol):
    """The access of one execution."""

    @property
    def env(self) -> Mapping[str, str]:
        """The variables by which programs find the proxy."""

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of a sandbox with a network of its own on which the proxy answers."""

    def serve(self, listening: socket) -> None:
        """Answer on a socket that listens in the sandbox of this execution, and close it."""

    def close(self) -> None:
        """End all connections. May be called more than once."""


class EgressAccess(Protocol):
    """Gives executions access to other hosts."""

    def grant(self, agent: Agent, *, own_network: bool = False) -> EgressGrant:
        """A grant for a new execution of the agent, in a sandbox with a network of its own."""


class _NoGrant:
    env: Final[Mapping[str, str]] = MappingProxyType({})
    ports: Final[tuple[int, ...]] = ()

    def serve(self, listening: socket) -> None:
        listening.close()

    def close(self) -> None: ...


class NoEgress:
    """Of a program without a proxy."""

    def grant(self, agent: Agent, *, own_network: bool = False) -> EgressGrant:
        """A grant that gives nothing."""
        return _NoGrant()
