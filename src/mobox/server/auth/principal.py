"""The authenticated client of a request or a socket.

Rule 1: everything is looked up by its owner, so other owners' data does not exist for a client.
Rule 2: routes read the principal from the ASGI scope only, where `Authenticator` puts it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from starlette.requests import HTTPConnection

from mobox.errors import NotPermitted
from mobox.settings import Settings

SCOPES: Final = {
    "read": "chats, runs and their streams",
    "write": "send messages, answer, stop, rename, delete",
    "operate": "the server's metrics, the details of errors, raw lines and stderr",
}
EVERY_SCOPE: Final = tuple(SCOPES)
USUAL_SCOPES: Final = ("read", "write")
"""The default scopes of keys, and of the principals of an app's own authentication."""

PRINCIPAL: Final = "mobox.principal"
"""The key of the principal in an ASGI scope."""

_MILLISECONDS: Final = 10**11
"""A time below it is probably in seconds: in milliseconds it is in 1973, in seconds in 5138."""


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


def principal_of(connection: HTTPConnection) -> Principal:
    """The authenticated principal of this connection."""
    principal: Principal = connection.scope[PRINCIPAL]
    return principal


def sees_details(connection: HTTPConnection, settings: Settings) -> bool:
    """Whether this client sees the words of errors, and what else is for operators."""
    return settings.shows_error_details or "operate" in principal_of(connection).scopes


def owner_of(connection: HTTPConnection) -> str:
    """The owner of the authenticated client."""
    owner: str = connection.scope[PRINCIPAL].owner
    return owner


def problem_of(found: object) -> str | None:
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
    if found.key_id is not None:  # the registry of connections would look it up, and not find it
        return f"key_id: expected None, as only Mobox's own keys have one, got {found.key_id!r}"
    return None
