"""API keys and tickets."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from mobox.errors import KeyNotFound
from mobox.storage.keys import ApiKey, Ticket
from mobox.storage.postgres.database import Connection, Transaction
from mobox.storage.tables import KEY, KEY_COLUMNS, TAKE_TICKET, key_of, valid_ticket

_ADD_KEY: Final = f"""
INSERT INTO api_key ({", ".join(KEY_COLUMNS)})
VALUES ({", ".join(f"${n}" for n, _ in enumerate(KEY_COLUMNS, 1))})
"""
_REVOKE: Final = f"""
UPDATE api_key SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1
RETURNING {", ".join(KEY_COLUMNS)}
"""
_NOTE_USE: Final = "UPDATE api_key SET used_at = greatest($2, used_at) WHERE id = $1"
_FORGET_KEYS: Final = "DELETE FROM api_key WHERE revoked_at < $1 OR expires_at < $1 RETURNING id"
_ADD_TICKET: Final = """
WITH forgotten AS (DELETE FROM ticket WHERE expires_at <= $6)
INSERT INTO ticket (digest, key_id, owner, run_id, expires_at) VALUES ($1, $2, $3, $4, $5)
"""
_TAKE: Final = TAKE_TICKET.format("$1")


async def add_key(transaction: Transaction, key: ApiKey) -> None:
    await transaction.connection.execute(_ADD_KEY, *(getattr(key, name) for name in KEY_COLUMNS))


async def find_key(connection: Connection, digest: str) -> ApiKey | None:
    row = await connection.fetchrow(f"{KEY} WHERE digest = $1", digest)
    return None if row is None else key_of(row)


async def all_keys(connection: Connection) -> list[ApiKey]:
    return [key_of(row) for row in await connection.fetch(f"{KEY} ORDER BY n")]


async def keys_of(connection: Connection, key_ids: Collection[str]) -> list[ApiKey]:
    rows = await connection.fetch(f"{KEY} WHERE id = ANY($1)", list(key_ids))
    return [key_of(row) for row in rows]


async def revoke_key(transaction: Transaction, key_id: str) -> ApiKey:
    row = await transaction.connection.fetchrow(_REVOKE, key_id, transaction.now)
    if row is None:
        raise KeyNotFound(key_id)
    return key_of(row)


async def note_use(transaction: Transaction, key_id: str, at: int) -> None:
    await transaction.connection.execute(_NOTE_USE, key_id, at)


async def forget_keys(transaction: Transaction, ended_before: int) -> int:
    return len(await transaction.connection.fetch(_FORGET_KEYS, ended_before))


async def add_ticket(transaction: Transaction, ticket: Ticket) -> None:
    values = (ticket.digest, ticket.key_id, ticket.owner, ticket.run_id, ticket.expires_at)
    await transaction.connection.execute(_ADD_TICKET, *values, transaction.now)


async def take_ticket(transaction: Transaction, digest: str) -> Ticket | None:
    return valid_ticket(await transaction.connection.fetchrow(_TAKE, digest), transaction.now)
