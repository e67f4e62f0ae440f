"""The keys by which owners are known: the interface that stores implement, and its values.

Rule 1: a secret is never stored, only its digest: who reads the database can use none of them.
Rule 2: what is revoked or expired is still found, until somebody has it forgotten: whether it opens
        a door, others decide.
Rule 3: a ticket is taken once, however many processes ask for it at the same moment.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from msgspec import Struct

__all__ = ["ApiKey", "Keys", "Ticket"]


class ApiKey(Struct, frozen=True, kw_only=True):
    """What is known of a key."""

    id: str
    """How it is listed and revoked."""
    owner: str
    name: str
    """What it is for, in a person's words."""
    digest: str
    """SHA-256 of the secret, in hex."""
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    used_at: int | None = None

    def ended(self, before: int) -> bool:
        """Whether it opened nothing any more before then."""
        ends = (self.revoked_at, self.expires_at)
        return any(end is not None and end < before for end in ends)


class Ticket(Struct, frozen=True, kw_only=True):
    """A permission to open one stream, once, for those who cannot send a header."""

    digest: str
    key_id: str | None
    """The key that bought it, whose end is also the stream's."""
    owner: str
    run_id: str
    expires_at: int


class Keys(Protocol):
    """What opens doors."""

    async def add_key(self, key: ApiKey) -> None:
        """Keep a key."""

    async def find_key(self, digest: str) -> ApiKey | None:
        """The key whose secret has this digest."""

    async def keys(self) -> list[ApiKey]:
        """All of them, oldest first."""

    async def keys_of(self, key_ids: Collection[str]) -> list[ApiKey]:
        """Those of them that there are, in any order."""

    async def revoke_key(self, key_id: str) -> ApiKey:
        """Make it useless, for good; `KeyNotFound` if there is none."""

    async def note_use(self, key_id: str, at: int) -> None:
        """Remember when it was used last."""

    async def forget_keys(self, ended_before: int) -> int:
        """Delete the keys that were revoked or had expired before then; return how many."""

    async def add_ticket(self, ticket: Ticket) -> None:
        """Keep a ticket, and forget those that have expired."""

    async def take_ticket(self, digest: str) -> Ticket | None:
        """The ticket, which is gone then; nothing if it has expired, or was taken."""
