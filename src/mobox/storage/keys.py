"""API keys, links to chats and tickets: the interface that stores implement, and its values.

Rule 1: a secret is never stored, only its digest: reading the database gives access to nothing.
Rule 2: a revoked or expired key is still found until it is pruned: authentication decides whether
        it is valid.
Rule 3: a ticket is taken once, even if several processes request it at the same moment.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from msgspec import Struct

from mobox.storage.share_links import OpenedLink


class ApiKey(Struct, frozen=True, kw_only=True):
    """An API key, without its secret."""

    id: str
    """Its name in lists, and for revoking it."""
    owner: str
    name: str
    """What it is for, as its creator described it."""
    digest: str
    """SHA-256 of the secret, in hex."""
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    used_at: int | None = None

    def ended(self, before: int) -> bool:
        """Whether it was revoked or had expired before then."""
        ends = (self.revoked_at, self.expires_at)
        return any(end is not None and end < before for end in ends)


class Ticket(Struct, frozen=True, kw_only=True):
    """A permission to open one stream, once, for clients that cannot send a header."""

    digest: str
    key_id: str | None
    """The key that created it: when the key ends, so does the stream."""
    owner: str
    run_id: str
    expires_at: int


class Keys(Protocol):
    """API keys, links to chats, and tickets."""

    async def add_key(self, key: ApiKey) -> None:
        """Store a key."""

    async def find_key(self, digest: str) -> ApiKey | None:
        """The key whose secret has this digest."""

    async def keys(self) -> list[ApiKey]:
        """All keys, oldest first."""

    async def keys_of(self, key_ids: Collection[str]) -> list[ApiKey]:
        """The keys with these ids that exist, in any order."""

    async def revoke_key(self, key_id: str) -> ApiKey:
        """Revoke a key for good; `KeyNotFound` if there is none."""

    async def note_use(self, key_id: str, at: int) -> None:
        """Store when a key was last used."""

    async def forget_keys(self, ended_before: int) -> int:
        """Delete the keys that were revoked or had expired before then; return how many."""

    async def find_link(self, digest: str) -> OpenedLink | None:
        """The link to a chat whose secret has this digest."""

    async def links_of(self, link_ids: Collection[str]) -> list[OpenedLink]:
        """The links with these ids that exist, in any order."""

    async def add_ticket(self, ticket: Ticket) -> None:
        """Store a ticket, and delete expired ones."""

    async def take_ticket(self, digest: str) -> Ticket | None:
        """Delete and return the ticket; nothing if it has expired or was taken."""
