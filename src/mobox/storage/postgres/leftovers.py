"""What is left of deleted logs: a chat is gone at once, but the rows of its logs go bit by bit.

Rule 1: what is left is noted, and every store looks for it: when it has deleted a chat, and once a
        minute. What cannot be deleted now, or was left by a process that died, is deleted then.
Rule 2: who deletes a chat does not wait for it, and is not told what becomes of it.
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

__all__ = ["AGAIN", "MANY", "Leftovers", "delete_some"]

log = logging.getLogger("mobox.storage")

MANY: Final = 5000
"""How many rows are deleted at once: they take no time that anybody would notice."""
AGAIN: Final = 60.0
"""After how many seconds to look for what others have left, or we ourselves could not delete."""
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
    """Delete the next rows of a run; how many that were, and the key of the last of them."""
    statement = _SOME.format(table=table, key=_KEYS[table])
    count, last = await connection.fetchrow(statement, run, after, MANY)
    return count, last


class _Place(NamedTuple):
    """How far we have come, so that we do not look through what is gone already."""

    run: int
    after: dict[str, int]


async def _go_on(connection: Connection, place: _Place | None) -> _Place | None:
    """Delete the next rows that nobody else is deleting; nothing, if there are none."""
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


class Leftovers:
    """Deletes them."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._there_is_more = asyncio.Event()
        self._at_work = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin with what others have left."""
        self._task = asyncio.create_task(self._serve())

    def wake(self) -> None:
        """A chat was deleted."""
        self._there_is_more.set()

    async def settle(self) -> None:
        """Delete what there is, all but what another process is just deleting."""
        async with self._at_work:
            if not await self._sessions.ask(lambda connection: connection.fetchval(_ANY), "much"):
                return  # so that who looks in vain begins no transaction
            place: _Place | None = None
            while place := await self._sessions.write(partial(_go_on, place=place), "much"):
                pass

    async def close(self) -> None:
        """Leave the rest to others."""
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
