"""Deletes old data, and the rows of deleted logs: a chat goes at once, those in batches later.

Rule 1: deleted logs are recorded, and every store looks for them: after it deleted a chat, and
        once a minute. So those of a failed deletion, or of a process that died, are deleted, too.
Rule 2: the request that deletes a chat does not wait for it, and does not get its result.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

from mobox.errors import MoboxError
from mobox.storage.chats import FORGOTTEN_AT_ONCE, IdleChat
from mobox.storage.log import RunId
from mobox.storage.postgres.database import Connection, Transaction
from mobox.storage.postgres.sessions import Sessions
from mobox.storage.postgres.turns import delete_chat

log = logging.getLogger("mobox.storage")

MANY: Final = 5000
"""How many rows are deleted at once: few enough not to delay other queries."""
AGAIN: Final = 60.0
"""After how many seconds to look for logs that other processes left, or that failed here."""
_KEYS: Final = {"event": "last_seq", "raw": "n"}
_ANY: Final = "SELECT EXISTS (SELECT FROM leftover)"
_FIND: Final = """
SELECT run FROM leftover WHERE run >= $1 ORDER BY run LIMIT 1 FOR UPDATE SKIP LOCKED
"""
_SOME: Final = """
WITH next AS (
    SELECT run, {key} FROM {table} WHERE run = $1 AND {key} > $2 ORDER BY {key} LIMIT $3
), gone AS (
    DELETE FROM {table} USING next WHERE {table}.run = next.run AND {table}.{key} = next.{key}
)
SELECT count(*), max({key}) FROM next
"""


async def delete_some(
    connection: Connection, table: str, run: int, after: int
) -> tuple[int, int | None]:
    """Delete the next rows of a run; return how many, and the key of the last."""
    statement = _SOME.format(table=table, key=_KEYS[table])
    count, last = await connection.fetchrow(statement, run, after, MANY)
    return count, last


class _Place(NamedTuple):
    """How far the deletion has come, so that deleted rows are not scanned again."""

    run: int
    after: dict[str, int]


async def _go_on(connection: Connection, place: _Place | None) -> _Place | None:
    """Delete the next rows that no other process is deleting; nothing, if there are none."""
    run = await connection.fetchval(_FIND, 0 if place is None else place.run)
    if run is None:
        return None
    after = dict(place.after) if place is not None and place.run == run else {}
    for table in _KEYS:
        count, last = await delete_some(connection, table, run, after.get(table, -1))
        if last is not None:
            after[table] = last
        if count == MANY:
            return _Place(run, after)
    await connection.execute("DELETE FROM leftover WHERE run = $1", run)
    return _Place(run, {})


class DeferredDeletes:
    """Deletes the rows of deleted logs."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._there_is_more = asyncio.Event()
        self._at_work = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start with those that other processes left."""
        self._task = asyncio.create_task(self._serve())

    def wake(self) -> None:
        """A chat was deleted."""
        self._there_is_more.set()

    async def settle(self) -> None:
        """Delete all of them, except those that another process is deleting."""
        async with self._at_work:
            if not await self._sessions.query(lambda connection: connection.fetchval(_ANY), "much"):
                return  # a check without a result starts no transaction
            place: _Place | None = None
            while place := await self._sessions.transaction(partial(_go_on, place=place), "much"):
                pass

    async def close(self) -> None:
        """Stop; the rest is left to other processes."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _serve(self) -> None:
        while True:
            self._there_is_more.clear()
            try:
                await self.settle()
            except MoboxError as error:
                log.warning("cannot delete the logs of deleted chats yet, retrying: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN):
                    await self._there_is_more.wait()


# Old data

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


async def idle_chats(
    connection: Connection, since: int, after: tuple[int, int]
) -> list[tuple[Any, ...]]:
    """A page of `Retention.idle_chats`: row number, time, id, owner and runs of each."""
    page = "AND (updated_at, n) > ($2, $3) ORDER BY updated_at, n LIMIT 512"
    rows = await connection.fetch(f"{_IDLE} {page}", since, *after)
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
    values = (deleted_before, FORGOTTEN_AT_ONCE)
    return int(await transaction.connection.fetchval(_FORGET, *values))
