"""The keys and tickets of the store in memory."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from mobox.errors import KeyNotFound
from mobox.settings import Settings
from mobox.storage.keys import ApiKey, Ticket


class MemoryKeys:
    """Keys by their ids, tickets by their digests."""

    _settings: Settings

    def __init__(self) -> None:
        self._api_keys: dict[str, ApiKey] = {}
        self._tickets: dict[str, Ticket] = {}

    async def add_key(self, key: ApiKey) -> None:
        self._api_keys[key.id] = key

    async def find_key(self, digest: str) -> ApiKey | None:
        return next((key for key in self._api_keys.values() if key.digest == digest), None)

    async def keys(self) -> list[ApiKey]:
        return list(self._api_keys.values())

    async def keys_of(self, key_ids: Collection[str]) -> list[ApiKey]:
        return [self._api_keys[key_id] for key_id in {*key_ids} & self._api_keys.keys()]

    async def revoke_key(self, key_id: str) -> ApiKey:
        if (key := self._api_keys.get(key_id)) is None:
            raise KeyNotFound(key_id)
        if key.revoked_at is None:
            key = self._api_keys[key_id] = replace(key, revoked_at=self._settings.clock())
        return key

    async def note_use(self, key_id: str, at: int) -> None:
        if (key := self._api_keys.get(key_id)) is not None:
            self._api_keys[key_id] = replace(key, used_at=max(at, key.used_at or 0))

    async def forget_keys(self, ended_before: int) -> int:
        before = len(self._api_keys)
        stay = {name: key for name, key in self._api_keys.items() if not key.ended(ended_before)}
        self._api_keys = stay
        return before - len(stay)

    async def add_ticket(self, ticket: Ticket) -> None:
        now = self._settings.clock()
        live = {name: each for name, each in self._tickets.items() if each.expires_at > now}
        self._tickets = {**live, ticket.digest: ticket}

    async def take_ticket(self, digest: str) -> Ticket | None:
        ticket = self._tickets.pop(digest, None)
        is_live = ticket is not None and ticket.expires_at > self._settings.clock()
        return ticket if is_live else None
