"""Deferred deletion of logs: a chat is deleted at once, the rows of its logs in batches later.

Rule 1: deleted logs are recorded, and every store looks for them: after it deleted a chat, and once
        a minute. So those of a failed deletion, or of a process that died, are deleted, too.
Rule 2: the request that deletes a chat does not wait for it, and does not get its result.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from mobox.errors import MoboxError
from mobox.storage.postgres.database import Connection
from mobox.storage.postgres.sessions import Sessions

__all__ = ["AGAIN", "MANY", "DeferredDeletes", "delete_some"]

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
            if not await self._sessions.ask(lambda connection: connection.fetchval(_ANY), "much"):
                return  # a check without a result starts no transaction
            place: _Place | None = None
            while place := await self._sessions.write(partial(_go_on, place=place), "much"):
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
