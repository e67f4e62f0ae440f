"""Gives agents access to the gateway: the token of an execution, and the variables to find it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from socket import socket
from typing import Final

from mobox.capture.catalog import Agent
from mobox.capture.model_access import Caller, ModelGrant, ModelSource, NoModels
from mobox.models.clients import Connection, reachable
from mobox.models.gateway import Gateway
from mobox.models.listener import Listener, ServedSocket
from mobox.models.providers import Provider
from mobox.models.tokens import Pass
from mobox.models.windows import window_of

_NO_PROXY = ("NO_PROXY", "no_proxy")

PORT: Final = 8181
"""Where the gateway is in a sandbox with a network of its own: nothing else listens there."""


class GatewayAccess:
    """Access by a gateway at an address; a server whose workers execute agents has none."""

    def __init__(
        self, gateway: Gateway, address: str | None, listener: Listener | None = None
    ) -> None:
        self._gateway = gateway
        self._listener = listener
        self._address = address

    def grant(self, agent: Agent, *, own_network: bool = False) -> ModelGrant:
        """A token for a new execution, with what its agent names and has no key for."""
        providers = self._providers(agent)
        if not providers or self._address is None:
            return NoModels().grant(agent)
        if own_network:
            address = f"http://127.0.0.1:{PORT}"
            return Grant(self._gateway, agent, providers, address, self._listener)
        return Grant(self._gateway, agent, providers, self._address)

    def window(self, model: str) -> int | None:
        """How many tokens fit into the context of a model, if that is known."""
        return window_of(model, self._gateway.config.windows)

    def source(self, agent: Agent) -> ModelSource | None:
        """Where the agent's models are; simulated, if one of them is.

        A server whose workers execute agents does not know it: the workers have the keys.
        """
        if not agent.models or (self._address is None and agent.cassette is None):
            return None
        given = Pass(agent, frozenset())
        sources = {self._gateway.source(provider, given) for provider in self._providers(agent)}
        order: tuple[ModelSource, ...] = ("recorded", "simulated")
        return next((source for source in order if source in sources), "provider")

    def secrets(self) -> tuple[str, ...]:
        """The keys of all providers."""
        config = self._gateway.config
        return tuple(filter(None, map(config.key_of, config.providers.values())))

    def _providers(self, agent: Agent) -> list[Provider]:
        """Those of the agent's `models` that it has no key of its own for."""
        config = self._gateway.config
        named = [config.providers[name] for name in agent.models if name in config.providers]
        if agent.cassette is None:
            named = [provider for provider in named if not config.is_missing(provider)]
        return [provider for provider in named if not provider.is_own(agent.env)]


class Grant:
    """The access of one execution; see `ModelGrant`."""

    def __init__(
        self,
        gateway: Gateway,
        agent: Agent,
        providers: list[Provider],
        address: str,
        listener: Listener | None = None,
    ) -> None:
        """With a `listener`, the address is in a sandbox, and `serve` has to be called."""
        self.ports = (PORT,) if listener is not None else ()
        self._listener = listener
        self._served: ServedSocket | None = None
        self._is_closed = False
        self._tokens = gateway.tokens
        self._pass = Pass(agent, frozenset(provider.name for provider in providers))
        self._token = token = gateway.tokens.issue(self._pass)
        self._connections = {
            provider.name: Connection(address + provider.mount, token) for provider in providers
        }
        self.env: Mapping[str, str] = {
            **{name: without_proxy(agent.env, name) for name in _NO_PROXY},
            **{
                name: value
                for provider in providers
                for name, value in _variables(provider, address + provider.mount, token).items()
            },
        }

    def serve(self, listening: socket) -> None:
        """Answer on a socket of the sandbox; no other token is valid there."""
        if self._listener is None or self._is_closed:
            listening.close()
            return
        self._served = self._listener.serve(listening, only=self._pass)

    def bind(self, caller: Caller) -> None:
        """From now on calls belong to this attempt."""
        self._pass.caller = caller

    def active(self) -> AbstractContextManager[None]:
        """For a function; see `mobox.models.client`."""
        return reachable(self._connections)

    def close(self) -> None:
        """Revoke the token."""
        self._is_closed = True
        self._tokens.revoke(self._token)
        if self._served is not None:
            self._served.close()


def _variables(provider: Provider, address: str, token: str) -> dict[str, str]:
    addresses = {name: address + more for name, more in provider.url_variables.items()}
    return addresses | dict.fromkeys(provider.token_variables, token)


def without_proxy(
    env: Mapping[str, str | None], name: str, ours: Mapping[str, str] = os.environ
) -> str:
    """The agent's own list of hosts that are reached without a proxy, and this machine."""
    given = env.get(name, "")
    own = ours.get(name) if given is None else given
    return f"{own},127.0.0.1" if own else "127.0.0.1"
