"""Links by which people without a key read a chat: the values.

Rule 1: a link belongs to a chat, and is deleted with it.
Rule 2: only a digest of its secret is stored.
Rule 3: a revoked link is deleted. An expired one is still found: the server decides.
"""

from __future__ import annotations

import secrets

from msgspec import Struct

from mobox.events.excerpts import Shows


class ShareLink(Struct, frozen=True, kw_only=True):
    """A link, without its secret."""

    id: str
    """Its name in lists, and for revoking it."""
    digest: str
    """SHA-256 of the secret, in hex."""
    run_id: str | None = None
    """The only run that it shows; `None` for the whole chat."""
    shows: Shows
    created_at: int
    expires_at: int | None = None

    def is_over(self, now: int) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and self.expires_at <= now


class OpenedLink(Struct, frozen=True, kw_only=True):
    """A link, and the chat that it opens."""

    link: ShareLink
    owner: str
    chat_id: str


def new_link_id() -> str:
    """An unguessable id."""
    return f"link_{secrets.token_hex(12)}"
