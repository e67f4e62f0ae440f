"""API keys and tickets."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from typing import Any

from mobox.errors import KeyNotFound
from mobox.storage.keys import ApiKey, Ticket
from mobox.storage.sqlite.database import Transaction

_KEY = """
SELECT id, owner, name, digest, scopes, created_at, expires_at, revoked_at, used_at FROM api_key
"""
_ADD_KEY = """
INSERT INTO api_key (id, owner, name, digest, scopes, created_at, expires_at, revoked_at, used_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_REVOKE = "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?"
_NOTE_USE = "UPDATE api_key SET used_at = max(?, coalesce(used_at, 0)) WHERE id = ?"
_FORGET_KEYS = "DELETE FROM api_key WHERE revoked_at < ?1 OR expires_at < ?1"
_FORGET = "DELETE FROM ticket WHERE expires_at <= ?"
_ADD_TICKET = "INSERT INTO ticket VALUES (?, ?, ?, ?, ?)"
_TAKE = """
DELETE FROM ticket WHERE digest = ? RETURNING digest, key_id, owner, run_id, expires_at
"""


def add_key(transaction: Transaction, key: ApiKey) -> None:
    """See `Keys.add_key`."""
    times = (key.created_at, key.expires_at, key.revoked_at, key.used_at)
    values = (key.id, key.owner, key.name, key.digest, " ".join(key.scopes), *times)
    transaction.connection.execute(_ADD_KEY, values)


def find_key(connection: sqlite3.Connection, digest: str) -> ApiKey | None:
    """See `Keys.find_key`."""
    row = connection.execute(f"{_KEY} WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else _key_of(*row)


def all_keys(connection: sqlite3.Connection) -> list[ApiKey]:
    """See `Keys.keys`."""
    return [_key_of(*row) for row in connection.execute(f"{_KEY} ORDER BY n")]


def keys_of(connection: sqlite3.Connection, key_ids: Collection[str]) -> list[ApiKey]:
    """See `Keys.keys_of`."""
    some = f"{_KEY} WHERE id IN (SELECT value FROM json_each(?))"
    names = json.dumps(list(key_ids))
    return [_key_of(*row) for row in connection.execute(some, (names,))]


def revoke_key(transaction: Transaction, key_id: str) -> ApiKey:
    """See `Keys.revoke_key`."""
    transaction.connection.execute(_REVOKE, (transaction.now, key_id))
    row = transaction.connection.execute(f"{_KEY} WHERE id = ?", (key_id,)).fetchone()
    if row is None:
        raise KeyNotFound(key_id)
    return _key_of(*row)


def note_use(transaction: Transaction, key_id: str, at: int) -> None:
    """See `Keys.note_use`."""
    transaction.connection.execute(_NOTE_USE, (at, key_id))


def forget_keys(transaction: Transaction, ended_before: int) -> int:
    """See `Keys.forget_keys`."""
    return transaction.connection.execute(_FORGET_KEYS, (ended_before,)).rowcount


def add_ticket(transaction: Transaction, ticket: Ticket) -> None:
    """See `Keys.add_ticket`."""
    transaction.connection.execute(_FORGET, (transaction.now,))
    values = (ticket.digest, ticket.key_id, ticket.owner, ticket.run_id, ticket.expires_at)
    transaction.connection.execute(_ADD_TICKET, values)


def take_ticket(transaction: Transaction, digest: str) -> Ticket | None:
    """See `Keys.take_ticket`."""
    rows = transaction.connection.execute(_TAKE, (digest,)).fetchall()
    found = [_ticket_of(*row) for row in rows]
    return next((ticket for ticket in found if ticket.expires_at > transaction.now), None)


def _key_of(name: str, owner: str, purpose: str, digest: str, scopes: str, *times: Any) -> ApiKey:
    created_at, expires_at, revoked_at, used_at = times
    return ApiKey(
        id=name,
        owner=owner,
        name=purpose,
        digest=digest,
        scopes=tuple(scopes.split()),
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
        used_at=used_at,
    )


def _ticket_of(digest: str, key_id: str | None, owner: str, run_id: str, expires_at: int) -> Ticket:
    return Ticket(digest=digest, key_id=key_id, owner=owner, run_id=run_id, expires_at=expires_at)
