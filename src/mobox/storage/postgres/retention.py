"""What is deleted because it is old."""

from __future__ import annotations

from typing import Final

from mobox.storage.log import RunId
from mobox.storage.postgres.database import Connection
from mobox.storage.postgres.transaction import Transaction
from mobox.storage.postgres.turns import delete_chat
from mobox.storage.retention import FORGOTTEN_AT_ONCE, IdleChat

__all__ = ["count_raw", "delete_idle", "drop_raw", "forget_deleted", "idle_chats"]

_IDLE: Final = """
SELECT id, owner, ARRAY(SELECT id FROM run WHERE run.chat = chat.n ORDER BY run.n)
FROM chat WHERE updated_at < $1 AND NOT EXISTS (
    SELECT 1 FROM run WHERE run.chat = chat.n AND run.status != 'done'
)
"""
_OLD_RAW: Final = "FROM raw WHERE run IN (SELECT n FROM run WHERE ended_at < $1)"
_DROP: Final = f"WITH dropped AS (DELETE {_OLD_RAW} RETURNING 1) SELECT count(*) FROM dropped"
_FORGET: Final = """
WITH old AS (SELECT id FROM deleted_run WHERE deleted_at < $1 LIMIT $2),
    forgotten AS (DELETE FROM deleted_run USING old WHERE deleted_run.id = old.id RETURNING 1)
SELECT count(*) FROM forgotten
"""


async def idle_chats(connection: Connection, since: int) -> list[IdleChat]:
    """See `Retention.idle_chats`."""
    rows = await connection.fetch(f"{_IDLE} ORDER BY updated_at, n", since)
    return [
        IdleChat(id=id_, owner=owner, runs=tuple(map(RunId, runs))) for id_, owner, runs in rows
    ]


async def delete_idle(transaction: Transaction, chat: IdleChat, since: int) -> list[RunId] | None:
    """Delete a chat if it is idle still; return the runs that went with it."""
    find = f"{_IDLE} AND id = $2 AND owner = $3"
    connection = transaction.connection
    await connection.execute("SELECT 1 FROM chat WHERE id = $1 FOR UPDATE", chat.id)
    if await connection.fetchrow(find, since, chat.id, chat.owner) is None:
        return None
    return await delete_chat(transaction, chat.owner, chat.id)


async def drop_raw(transaction: Transaction, ended_before: int) -> int:
    """See `Log.drop_raw`."""
    return int(await transaction.connection.fetchval(_DROP, ended_before))


async def forget_deleted(transaction: Transaction, deleted_before: int) -> int:
    """See `Retention.forget_deleted`."""
    asked = (deleted_before, FORGOTTEN_AT_ONCE)
    return int(await transaction.connection.fetchval(_FORGET, *asked))


async def count_raw(connection: Connection, ended_before: int) -> int:
    """See `Retention.count_raw`."""
    return int(await connection.fetchval(f"SELECT count(*) {_OLD_RAW}", ended_before))
