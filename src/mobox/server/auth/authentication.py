"""Authentication and authorization of requests and sockets.

Rule 1: everything is looked up by its owner, so other owners' data does not exist for a client.
Rule 2: a key has the same rights over HTTP and over a socket.
Rule 3: the response does not reveal why a key was rejected.
Rule 4: routes read the principal from the ASGI scope only, where `Authenticator` puts it.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from mobox.errors import InvalidPrincipal, NotPermitted, StorageError, Unauthenticated
from mobox.events import JSON
from mobox.server.auth.connections import ConnectionRegistry
from mobox.server.auth.keys import KEY, digest_of, is_live
from mobox.settings import now_ms
from mobox.storage.keys import ApiKey, Keys

SCOPES: Final = {
    "read": "chats, runs and their streams",
    "write": "send messages, answer, stop, rename, delete",
    "operate": "the server's metrics",
}
EVERY_SCOPE: Final = tuple(SCOPES)
USUAL_SCOPES: Final = ("read", "write")
"""The default scopes of keys, and of the principals of an app's own authentication."""

_DOOR: Final = "mobox.door"
_PRINCIPAL: Final = "mobox.principal"
_UNKNOWN: Final = "authentication required"
_MILLISECONDS: Final = 10**11
"""A time below it is probably in seconds: in milliseconds it is in 1973, in seconds in 5138."""
_NOTED_FOR: Final = 60_000
"""Milliseconds between two updates of a key's `used_at`."""


class Principal(Struct, frozen=True):
    """An authenticated client."""

    owner: str
    """The owner of its chats: the same name, the same chats."""
    scopes: tuple[str, ...] = USUAL_SCOPES
    key_id: str | None = None
    """The API key that was used; none with an app's own authentication."""
    expires_at: int | None = None
    """Expiry in milliseconds; open streams are closed at that time."""

    def is_over(self, now: int) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and self.expires_at <= now

    def check(self, scope: str) -> None:
        """Raise `NotPermitted` unless it has the scope."""
        if scope not in self.scopes:
            raise NotPermitted(scope)


Found: TypeAlias = "Principal | str | None"
Hook: TypeAlias = Callable[[HTTPConnection], "Found | Awaitable[Found]"]
"""An app's own authentication: returns a `Principal`, the name of an owner, or `None`."""


class Authenticator:
    """Authenticates requests and sockets."""

    def __init__(self, hook: Hook, visits: ConnectionRegistry) -> None:
        self._hook = hook
        self.visits = visits

    @property
    def _uses_keys(self) -> bool:
        return isinstance(self._hook, KeyHolders)

    def nobody(self, problem: str | None = None) -> Exception:
        """The exception for failed authentication: ours with keys, else an `HTTPException`."""
        if self._uses_keys:
            return Unauthenticated(problem) if problem else Unauthenticated()
        return HTTPException(401, problem or _UNKNOWN)

    async def admit(self, connection: HTTPConnection) -> Principal:
        """Authenticate, and put the principal into the scope.

        Raises `Unauthenticated`; with an app's own authentication `HTTPException`.
        """
        found = self._hook(connection)
        if inspect.isawaitable(found):
            found = await found
        principal = Principal(found) if isinstance(found, str) else found
        problem = None if self._uses_keys or principal is None else _problem_of(principal)
        if problem is not None:
            raise InvalidPrincipal(getattr(self._hook, "__name__", repr(self._hook)), problem)
        if principal is None or not principal.owner or principal.is_over(now_ms()):
            raise self.nobody()
        self.know(connection.scope, principal)
        return principal

    def know(self, scope: Scope, principal: Principal) -> None:
        """Put the principal into the scope."""
        scope[_PRINCIPAL] = principal


def _problem_of(found: object) -> str | None:
    """What is wrong with the value that an app's hook returned."""
    if not isinstance(found, Principal):
        return f"expected a Principal, the name of an owner or None, got {type(found).__name__}"
    owner: object = found.owner
    scopes: object = found.scopes
    until: object = found.expires_at
    if not isinstance(owner, str):
        return f"owner: expected a string, got {owner!r}"
    if not isinstance(scopes, tuple | list) or not set(scopes) <= set(SCOPES):
        return f"scopes: expected some of {', '.join(SCOPES)}, got {scopes!r}"
    if until is not None and (not isinstance(until, int) or until < _MILLISECONDS):
        return f"expires_at: expected milliseconds since 1970, got {until!r}"
    if found.key_id is not None:  # the watcher would look it up, and not find it
        return f"key_id: expected None, as only Mobox's own keys have one, got {found.key_id!r}"
    return None


class KeyHolders:
    """Authenticates by API keys."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._noted: dict[str, int] = {}

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
        await self._note(key, now)
        return Principal(key.owner, key.scopes, key.id, key.expires_at)

    async def _note(self, key: ApiKey, now: int) -> None:
        if now - self._noted.get(key.id, 0) < _NOTED_FOR:
            return
        self._noted[key.id] = now
        with suppress(StorageError):  # reading must work while the database is read-only
            await self._keys.note_use(key.id, now)


class AuthMiddleware:
    """ASGI middleware that puts the `Authenticator` into the scope."""

    def __init__(self, app: ASGIApp, door: Authenticator) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, _DOOR: self._door}, receive, send)


def authenticator_of(connection: HTTPConnection) -> Authenticator:
    """The `Authenticator` of this connection."""
    door: Authenticator = connection.scope[_DOOR]
    return door


def principal_of(connection: HTTPConnection) -> Principal:
    """The authenticated principal of this connection."""
    principal: Principal = connection.scope[_PRINCIPAL]
    return principal


def with_key(scope: Scope, auth: JSON) -> Scope:
    """The request of a socket, with the key of its `auth` payload as an `Authorization` header.

    A browser cannot set headers of a WebSocket, so Socket.IO clients send the key when connecting.
    """
    key = auth.get("key") if isinstance(auth, dict) else None
    others = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
    if not isinstance(key, str):
        return scope
    header = (b"authorization", f"Bearer {key}".encode(errors="replace"))
    return {**scope, "headers": [*others, header]}
