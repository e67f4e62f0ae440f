"""The tokens by which agents use the gateway: one for each execution, and only while it works."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Final

from mobox.capture.catalog import Agent
from mobox.capture.model_access import Caller

PREFIX: Final = "mbm_"
"""By which people and the removal of secrets from texts know a token."""


class Pass:
    """What a token allows. Bound to an attempt when its agent gets a turn."""

    def __init__(self, agent: Agent, providers: frozenset[str]) -> None:
        self.agent = agent
        self.providers = providers
        self.caller: Caller | None = None
        self.player: Any = None
        """Plays the agent's cassette, once it has used it."""


class Tokens:
    """The valid tokens of this process.

    Only their hashes are kept and compared: the time of a lookup says nothing about a token.
    """

    def __init__(self) -> None:
        self._passes: dict[bytes, Pass] = {}

    def issue(self, given: Pass) -> str:
        """A new token, valid until it is revoked."""
        token = PREFIX + secrets.token_urlsafe(32)
        self._passes[_hash(token)] = given
        return token

    def revoke(self, token: str) -> None:
        """Make it unknown; also one that is unknown already."""
        self._passes.pop(_hash(token), None)

    def find(self, token: str) -> Pass | None:
        """What the token allows, if it is valid."""
        return self._passes.get(_hash(token))

    def __len__(self) -> int:
        return len(self._passes)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
