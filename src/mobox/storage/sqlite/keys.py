"""API keys and tickets."""

from __future__ import annotations

import json
from collections.abc import Collection

from mobox.errors import KeyNotFound
from mobox.storage.keys import ApiKey, Ticket
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.tables import KEY, KEY_COLUMNS, TAKE_TICKET, key_of, valid_ticket

_ADD_KEY = f"""
INSERT INTO api_key ({", ".join(KEY_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_REVOKE = "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?"
_NOTE_USE = "UPDATE api_key SET used_at = max(?, coalesce(used_at, 0)) WHERE id = ?"
_FORGET_KEYS = "DELETE FROM api_key WHERE revoked_at < ?1 OR expires_at < ?1"
_FORGET_TICKETS = "DELETE FROM ticket WHERE expires_at <= ?"
_ADD_TICKET = "INSERT INTO ticket VALUES (?, ?, ?, ?, ?)"
_TAKE = TAKE_TICKET.format("?")


def add_key(transaction: Transaction, key: ApiKey) -> None:
    times = (key.created_at, key.expires_at, key.revoked_at, key.used_at)
    values = (key.id, key.owner, key.name, key.digest, " ".join(key.scopes), *times)
    transaction.connection.execute(_ADD_KEY, values)


def find_key(connection: Connection, digest: str) -> ApiKey | None:
    row = connection.execute(f"{KEY} WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else key_of(row)


def all_keys(connection: Connection) -> list[ApiKey]:
    return [key_of(row) for row in connection.execute(f"{KEY} ORDER BY n")]


def keys_of(connection: Connection, key_ids: Collection[str]) -> list[ApiKey]:
    some = f"{KEY} WHERE id IN (SELECT value FROM json_each(?))"
    names = json.dumps(list(key_ids))
    return [key_of(row) for row in connection.execute(some, (names,))]


def revoke_key(transaction: Transaction, key_id: str) -> ApiKey:
    transaction.connection.execute(_REVOKE, (transaction.now, key_id))
    row = transaction.connection.execute(f"{KEY} WHERE id = ?", (key_id,)).fetchone()
    if row is None:
        raise KeyNotFound(key_id)
    return key_of(row)


def note_use(transaction: Transaction, key_id: str, at: int) -> None:
    transaction.connection.execute(_NOTE_USE, (at, key_id))


def forget_keys(transaction: Transaction, ended_before: int) -> int:
    return transaction.connection.execute(_FORGET_KEYS, (ended_before,)).rowcount


def add_ticket(transaction: Transaction, ticket: Ticket) -> None:
    transaction.connection.execute(_FORGET_TICKETS, (transaction.now,))
    values = (ticket.digest, ticket.key_id, ticket.owner, ticket.run_id, ticket.expires_at)
    transaction.connection.execute(_ADD_TICKET, values)


def take_ticket(transaction: Transaction, digest: str) -> Ticket | None:
    rows = transaction.connection.execute(_TAKE, (digest,)).fetchall()
    return valid_ticket(next(iter(rows), None), transaction.now)
