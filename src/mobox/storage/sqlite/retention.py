"""Deletes old data."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mobox.storage.chats import FORGOTTEN_AT_ONCE, IdleChat
from mobox.storage.log import RunId
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.sqlite.turns import delete_chat

_IDLE = """
SELECT id, owner, (
    SELECT json_group_array(id) FROM (SELECT id FROM run WHERE run.chat = chat.n ORDER BY run.n)
)
FROM chat WHERE updated_at < ? AND NOT EXISTS (
    SELECT 1 FROM run WHERE run.chat = chat.n AND run.status != 'done'
)
"""
_COUNT_RAW = "SELECT count(*) FROM raw WHERE run IN (SELECT n FROM run WHERE ended_at < ?)"
_DROP_RAW = """
DELETE FROM raw WHERE run IN (
    SELECT n FROM run WHERE n IN (SELECT value FROM json_each(?)) AND ended_at < ?
)
"""
_WITH_RAW = """
SELECT n FROM run WHERE ended_at < ? AND EXISTS (SELECT 1 FROM raw WHERE raw.run = run.n)
"""
_FORGET = """
DELETE FROM deleted_run WHERE id IN (SELECT id FROM deleted_run WHERE deleted_at < ? LIMIT ?)
"""


def idle_chats(connection: Connection, since: int) -> list[IdleChat]:
    rows = connection.execute(f"{_IDLE} ORDER BY updated_at, n", (since,))
    return [
        IdleChat(id=id_, owner=owner, runs=tuple(map(RunId, json.loads(runs))))
        for id_, owner, runs in rows
    ]


def delete_idle(transaction: Transaction, chat: IdleChat, since: int) -> list[RunId] | None:
    """Delete a chat if it is still idle; return its runs."""
    find, values = f"{_IDLE} AND id = ? AND owner = ?", (since, chat.id, chat.owner)
    if transaction.connection.execute(find, values).fetchone() is None:
        return None
    return delete_chat(transaction, chat.owner, chat.id)


def runs_with_old_raw(connection: Connection, ended_before: int) -> list[int]:
    """The runs whose raw lines are to be deleted."""
    return [n for (n,) in connection.execute(_WITH_RAW, (ended_before,))]


def drop_raw(transaction: Transaction, runs: Sequence[int], ended_before: int) -> int:
    """Delete raw lines; checks the end again: a deleted run's row number may be reused."""
    values = (json.dumps(runs), ended_before)
    return transaction.connection.execute(_DROP_RAW, values).rowcount


def forget_deleted(transaction: Transaction, deleted_before: int) -> int:
    values = (deleted_before, FORGOTTEN_AT_ONCE)
    return transaction.connection.execute(_FORGET, values).rowcount


def count_raw(connection: Connection, ended_before: int) -> int:
    ((found,),) = connection.execute(_COUNT_RAW, (ended_before,)).fetchall()
    return int(found)
