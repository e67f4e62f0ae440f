"""Who asks, and what they may: the one door by which requests and sockets come in.

Rule 1: what somebody has is looked up by their owner's name, so what is others' does not exist.
Rule 2: it does not matter what carried a key: the same key may do the same.
Rule 3: whatever is wrong with a key, nobody is told which of it.
Rule 4: without a door nobody comes in: who asks is read from the scope, and from nowhere else.
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
from mobox.server.keys import KEY, digest_of, is_live
from mobox.server.visits import Visits
from mobox.storage.keys import ApiKey, Keys
from mobox.storage.settings import now_ms

__all__ = [
    "EVERY_SCOPE",
    "USUAL_SCOPES",
    "Door",
    "Doored",
    "Hook",
    "KeyHolders",
    "Principal",
    "door_of",
    "principal_of",
    "with_key",
]

SCOPES: Final = {
    "read": "chats, runs and their streams",
    "write": "say something, answer, stop, rename, delete",
    "operate": "numbers about the server",
}
EVERY_SCOPE: Final = tuple(SCOPES)
USUAL_SCOPES: Final = ("read", "write")
"""What a key may that nothing else is said of, and whoever an app of yours knows."""

_DOOR: Final = "mobox.door"
_PRINCIPAL: Final = "mobox.principal"
_UNKNOWN: Final = "expected somebody who is known"
_MILLISECONDS: Final = 10**11
"""As a time this is of 1973 in milliseconds, and of the year 5138 in seconds."""
_NOTED_FOR: Final = 60_000
"""Milliseconds for which the use of a key is not written down again."""


class Principal(Struct, frozen=True):
    """Somebody who asks."""

    owner: str
    """Whose chats they are: the same name, the same chats."""
    scopes: tuple[str, ...] = USUAL_SCOPES
    key_id: str | None = None
    """The key by which they are known; none where an app knows them."""
    expires_at: int | None = None
    """When they are nobody again, in milliseconds: what they read then is cut off."""

    def is_over(self, now: int) -> bool:
        """Whether they are nobody by now."""
        return self.expires_at is not None and self.expires_at <= now

    def check(self, scope: str) -> None:
        """Raise `NotPermitted` unless they may."""
        if scope not in self.scopes:
            raise NotPermitted(scope)


Found: TypeAlias = "Principal | str | None"
Hook: TypeAlias = Callable[[HTTPConnection], "Found | Awaitable[Found]"]
"""An app's own word for who asks: a `Principal`, the name of an owner, or `None` for nobody."""


class Door:
    """Knows who asks, or that nobody does."""

    def __init__(self, hook: Hook, visits: Visits) -> None:
        self._hook = hook
        self.visits = visits

    @property
    def _asks_for_keys(self) -> bool:
        return isinstance(self._hook, KeyHolders)

    def nobody(self, problem: str | None = None) -> Exception:
        """As keys are asked for here, or as an app would say it."""
        if self._asks_for_keys:
            return Unauthenticated(problem) if problem else Unauthenticated()
        return HTTPException(401, problem or _UNKNOWN)

    async def admit(self, connection: HTTPConnection) -> Principal:
        """Who asks, from now on said in the scope.

        Raises `Unauthenticated`, or what an app says: `HTTPException`.
        """
        found = self._hook(connection)
        if inspect.isawaitable(found):
            found = await found
        principal = Principal(found) if isinstance(found, str) else found
        problem = None if self._asks_for_keys or principal is None else _problem_of(principal)
        if problem is not None:
            raise InvalidPrincipal(getattr(self._hook, "__name__", repr(self._hook)), problem)
        if principal is None or not principal.owner or principal.is_over(now_ms()):
            raise self.nobody()
        self.know(connection.scope, principal)
        return principal

    def know(self, scope: Scope, principal: Principal) -> None:
        """Say who asks."""
        scope[_PRINCIPAL] = principal


def _problem_of(found: object) -> str | None:
    """What is wrong with what an app returned, which nobody has checked."""
    if not isinstance(found, Principal):
        return f"expected a Principal, the name of an owner or None, got {type(found).__name__}"
    owner: object = found.owner
    scopes: object = found.scopes
    until: object = found.expires_at
    if not isinstance(owner, str):
        return f"owner: expected the name of one, got {owner!r}"
    if not isinstance(scopes, tuple | list) or not set(scopes) <= set(SCOPES):
        return f"scopes: expected some of {', '.join(SCOPES)}, got {scopes!r}"
    if until is not None and (not isinstance(until, int) or until < _MILLISECONDS):
        return f"expires_at: expected milliseconds since 1970, got {until!r}"
    if found.key_id is not None:  # it would be looked up, and not be found
        return f"key_id: expected none, as it is for keys that Mobox has made, got {found.key_id!r}"
    return None


class KeyHolders:
    """Knows people by the keys that they hold."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._noted: dict[str, int] = {}

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        """The owner of the key that came in `Authorization`."""
        told = connection.headers.getlist("authorization")
        scheme, _, secret = told[0].partition(" ") if len(told) == 1 else ("", "", "")
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
        with suppress(StorageError):  # who only reads needs no database that can be written
            await self._keys.note_use(key.id, now)


class Doored:
    """The app, with a door."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, _DOOR: self._door}, receive, send)


def door_of(connection: HTTPConnection) -> Door:
    """The door by which it came."""
    door: Door = connection.scope[_DOOR]
    return door


def principal_of(connection: HTTPConnection) -> Principal:
    """Who asks, which was found out before."""
    principal: Principal = connection.scope[_PRINCIPAL]
    return principal


def with_key(scope: Scope, auth: JSON) -> Scope:
    """The request by which a socket came, with the key that the socket told.

    A browser's WebSocket has no headers to set: what it would say there it says when it connects.
    """
    key = auth.get("key") if isinstance(auth, dict) else None
    others = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
    if not isinstance(key, str):
        return scope
    header = (b"authorization", f"Bearer {key}".encode(errors="replace"))
    return {**scope, "headers": [*others, header]}
