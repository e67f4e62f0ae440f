"""Authenticates requests and sockets, by API keys or by the hook of an app around Mobox.

Rule 1: a key has the same rights over HTTP and over a socket.
Rule 2: the response does not reveal why a key was rejected.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import Scope

from mobox.errors import InvalidPrincipal, StorageError, Unauthenticated
from mobox.events import JSON
from mobox.server.auth.connections import ConnectionRegistry
from mobox.server.auth.keys import KEY, digest_of, is_live
from mobox.server.auth.principal import PRINCIPAL, Principal, problem_of
from mobox.server.auth.rate_limit import RateLimit
from mobox.settings import now_ms
from mobox.storage.keys import ApiKey, Keys

AUTHENTICATOR: Final = "mobox.authenticator"
"""The key of the `Authenticator` in an ASGI scope."""

_NOTE_INTERVAL: Final = 60_000
"""Milliseconds between two updates of a key's `used_at`."""

Found: TypeAlias = Principal | str | None
Hook: TypeAlias = Callable[[HTTPConnection], Found | Awaitable[Found]]
"""An app's own authentication: returns a `Principal`, the name of an owner, or `None`."""


class Authenticator:
    """Authenticates the clients of one app; holds the limits of their owners."""

    def __init__(
        self,
        hook: Hook,
        connections: ConnectionRegistry,
        rate_limit: RateLimit,
        *,
        is_open: bool = False,
    ) -> None:
        self.is_open = is_open
        """Whether every client is the same owner, without authentication."""
        self.connections = connections
        self.rate_limit = rate_limit
        self._hook = hook
        self._uses_keys = isinstance(hook, KeyAuthentication)

    async def authenticate(self, connection: HTTPConnection) -> Principal:
        """Authenticate a client.

        Raises `Unauthenticated`; with an app's own authentication `HTTPException`.
        """
        found = self._hook(connection)
        if inspect.isawaitable(found):
            found = await found
        principal = Principal(found) if isinstance(found, str) else found
        if principal is None:
            raise self.refusal()
        if not self._uses_keys and (problem := problem_of(principal)) is not None:
            raise InvalidPrincipal(getattr(self._hook, "__name__", repr(self._hook)), problem)
        if not principal.owner or principal.is_over(now_ms()):
            raise self.refusal()
        return principal

    def refusal(self, problem: str | None = None) -> Exception:
        """The exception for failed authentication: ours with keys, else an `HTTPException`."""
        if self._uses_keys:
            return Unauthenticated(problem) if problem else Unauthenticated()
        return HTTPException(401, problem or "authentication required")

    def remember(self, scope: Scope, principal: Principal) -> None:
        """Put the client into the scope of its request."""
        scope[AUTHENTICATOR] = self
        scope[PRINCIPAL] = principal


def authenticator_of(connection: HTTPConnection) -> Authenticator:
    """The `Authenticator` of this connection."""
    authenticator: Authenticator = connection.scope[AUTHENTICATOR]
    return authenticator


class KeyAuthentication:
    """Authenticates by API keys."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._noted_at: dict[str, int] = {}

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        """The principal of the key in `Authorization: Bearer`."""
        values = connection.headers.getlist("authorization")
        scheme, _, secret = values[0].partition(" ") if len(values) == 1 else ("", "", "")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret.startswith(KEY):
            return None
        key, now = await self._keys.find_key(digest_of(secret)), now_ms()
        if key is None or not is_live(key, now):
            return None
        await self._note_use(key, now)
        return Principal(key.owner, key.scopes, key.id, key.expires_at)

    async def _note_use(self, key: ApiKey, now: int) -> None:
        if now - self._noted_at.get(key.id, 0) < _NOTE_INTERVAL:
            return
        self._noted_at[key.id] = now
        with suppress(StorageError):  # reading must work while the database is read-only
            await self._keys.note_use(key.id, now)


def with_key(scope: Scope, auth: JSON) -> Scope:
    """The request of a socket, with the key of its `auth` payload as an `Authorization` header.

    A browser cannot set headers of a WebSocket, so Socket.IO clients send the key when connecting:
    as `key`, or as `token`, which is the usual name.
    """
    given = auth if isinstance(auth, dict) else {}
    key = given.get("key", given.get("token"))
    if not isinstance(key, str):
        return scope
    others = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
    header = (b"authorization", f"Bearer {key}".encode(errors="replace"))
    return {**scope, "headers": [*others, header]}
