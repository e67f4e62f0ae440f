"""Gives agents access to the gateway: the token of an execution, and the variables to find it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager

from mobox.capture.catalog import Agent
from mobox.capture.model_access import Caller, ModelGrant, ModelSource, NoModels
from mobox.models.clients import Connection, reachable
from mobox.models.gateway import Gateway
from mobox.models.providers import Provider
from mobox.models.tokens import Pass

_NO_PROXY = ("NO_PROXY", "no_proxy")


class GatewayAccess:
    """Access by a gateway at an address; a server whose workers execute agents has none."""

    def __init__(self, gateway: Gateway, address: str | None) -> None:
        self._gateway = gateway
        self._address = address

    def grant(self, agent: Agent) -> ModelGrant:
        """A token for a new execution, with what its agent names and has no key for."""
        providers = self._providers(agent)
        if not providers or self._address is None:
            return NoModels().grant(agent)
        return Grant(self._gateway, agent, providers, self._address)

    def source(self, agent: Agent) -> ModelSource | None:
        """Where the agent's models are; simulated, if one of them is."""
        if not agent.models:
            return None
        given = Pass(agent, frozenset())
        sources = {self._gateway.source(provider, given) for provider in self._providers(agent)}
        order: tuple[ModelSource, ...] = ("recorded", "simulated")
        return next((source for source in order if source in sources), "provider")

    def _providers(self, agent: Agent) -> list[Provider]:
        """Those of the agent's `models` that it has no key of its own for."""
        known = self._gateway.config.providers
        named = [known[name] for name in agent.models if name in known]
        return [provider for provider in named if not provider.is_own(agent.env)]


class Grant:
    """The access of one execution; see `ModelGrant`."""

    def __init__(
        self, gateway: Gateway, agent: Agent, providers: list[Provider], address: str
    ) -> None:
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

    def bind(self, caller: Caller) -> None:
        """From now on calls belong to this attempt."""
        self._pass.caller = caller

    def active(self) -> AbstractContextManager[None]:
        """For a function; see `mobox.models.client`."""
        return reachable(self._connections)

    def close(self) -> None:
        """Revoke the token."""
        self._tokens.revoke(self._token)


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
