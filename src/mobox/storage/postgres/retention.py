"""Deletes old data."""

from __future__ import annotations

from typing import Any, Final

from mobox.storage.log import RunId
from mobox.storage.postgres.database import Connection
from mobox.storage.postgres.deferred_delete import delete_some
from mobox.storage.postgres.transaction import Transaction
from mobox.storage.postgres.turns import delete_chat
from mobox.storage.retention import FORGOTTEN_AT_ONCE, IdleChat

__all__ = [
    "count_raw",
    "delete_idle",
    "drop_raw",
    "forget_deleted",
    "idle_chats",
    "runs_with_old_raw",
]

_IDLE: Final = """
SELECT n, updated_at, id, owner, ARRAY(SELECT id FROM run WHERE run.chat = chat.n ORDER BY run.n)
FROM chat WHERE updated_at < $1 AND NOT EXISTS (
    SELECT 1 FROM run WHERE run.chat = chat.n AND run.status != 'done'
)
"""
_OLD: Final = "SELECT n FROM run WHERE ended_at < $1 AND n > $2"
_WITH_RAW: Final = f"""
{_OLD} AND EXISTS (SELECT 1 FROM raw WHERE raw.run = run.n) ORDER BY n LIMIT 64
"""
_COUNT: Final = f"""
WITH old AS ({_OLD} ORDER BY n LIMIT 64)
SELECT max(n), (SELECT count(*) FROM raw WHERE run IN (SELECT n FROM old)) FROM old
"""
_FORGET: Final = """
WITH old AS (SELECT id FROM deleted_run WHERE deleted_at < $1 LIMIT $2),
    forgotten AS (DELETE FROM deleted_run USING old WHERE deleted_run.id = old.id RETURNING 1)
SELECT count(*) FROM forgotten
"""


async def idle_chats(connection: Connection, since: int, after: int) -> list[tuple[Any, ...]]:
    """A page of `Retention.idle_chats`: row number, time, id, owner and runs of each."""
    rows = await connection.fetch(f"{_IDLE} AND n > $2 ORDER BY n LIMIT 512", since, after)
    return list(map(tuple, rows))


async def delete_idle(transaction: Transaction, chat: IdleChat, since: int) -> list[RunId] | None:
    """Delete a chat if it is still idle; return its runs."""
    find = f"{_IDLE} AND id = $2 AND owner = $3"
    connection = transaction.connection
    await connection.execute("SELECT 1 FROM chat WHERE id = $1 FOR UPDATE", chat.id)
    if await connection.fetchrow(find, since, chat.id, chat.owner) is None:
        return None
    return await delete_chat(transaction, chat.owner, chat.id)


async def runs_with_old_raw(connection: Connection, ended_before: int, after: int) -> list[int]:
    """The next runs whose raw lines are to be deleted."""
    return [n for (n,) in await connection.fetch(_WITH_RAW, ended_before, after)]


async def drop_raw(transaction: Transaction, run: int, after: int) -> tuple[int, int | None]:
    """Delete the next raw lines of a run; return how many, and the last one's number."""
    return await delete_some(transaction.connection, "raw", run, after)


async def count_raw(
    connection: Connection, ended_before: int, after: int
) -> tuple[int | None, int]:
    """The last of the next runs, nothing if there are none, and how many raw lines they have."""
    last, count = await connection.fetchrow(_COUNT, ended_before, after)
    return last, count


async def forget_deleted(transaction: Transaction, deleted_before: int) -> int:
    """See `Retention.forget_deleted`."""
    values = (deleted_before, FORGOTTEN_AT_ONCE)
    return int(await transaction.connection.fetchval(_FORGET, *values))
