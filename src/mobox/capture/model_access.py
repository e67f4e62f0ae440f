"""How an execution reaches models: the interface between what starts agents and the gateway.

A grant belongs to one execution. It is made before the agent starts, bound when the agent gets its
turn, and closed when the execution has ended; only between the last two can it be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from socket import socket
from types import MappingProxyType
from typing import Final, Literal, Protocol

from msgspec import Struct

from mobox.capture.catalog import Agent

ModelSource = Literal["provider", "simulated", "recorded"]
"""Where an agent's model responses come from."""


class Caller(Struct, frozen=True, kw_only=True):
    """The attempt that a grant is bound to."""

    run_id: str
    attempt: int
    owner: str
    agent: str


class ModelGrant(Protocol):
    """The access of one execution."""

    @property
    def env(self) -> Mapping[str, str]:
        """The variables by which SDKs in the agent's process find the gateway."""

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of a sandbox with a network of its own on which the gateway answers."""

    def serve(self, listening: socket) -> None:
        """Answer on a socket that listens in the sandbox of this execution, and close it."""

    def bind(self, caller: Caller) -> None:
        """From now on calls belong to this attempt; before, they are refused."""

    def active(self) -> AbstractContextManager[None]:
        """A function that is started in this context finds the grant."""

    def close(self) -> None:
        """Refuse all further calls. May be called more than once."""


class ModelAccess(Protocol):
    """Gives executions access to models."""

    def grant(self, agent: Agent, *, own_network: bool = False) -> ModelGrant:
        """A grant for a new execution of the agent, in a sandbox with a network of its own."""

    def source(self, agent: Agent) -> ModelSource | None:
        """Where the agent's models are; `None` if it names none, or if that is not known here."""

    def window(self, model: str) -> int | None:
        """How many tokens fit into the context of a model, if that is known."""

    def secrets(self) -> tuple[str, ...]:
        """The keys with which models are asked: no reader may see them."""


class _NoGrant:
    env: Final[Mapping[str, str]] = MappingProxyType({})
    ports: Final[tuple[int, ...]] = ()

    def serve(self, listening: socket) -> None:
        listening.close()

    def bind(self, caller: Caller) -> None: ...

    def active(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None: ...


class NoModels:
    """Of a program without a gateway: agents use what their own variables name."""

    def grant(self, agent: Agent, *, own_network: bool = False) -> ModelGrant:
        """A grant that gives nothing."""
        return _NoGrant()

    def source(self, agent: Agent) -> ModelSource | None:
        """Unknown."""
        return None

    def window(self, model: str) -> int | None:
        """Unknown."""
        return None

    def secrets(self) -> tuple[str, ...]:
        """None are known."""
        return ()
