"""What is left of deleted logs: a chat is gone at once, but the rows of its logs go bit by bit.

Rule 1: what is left is noted, and deleted in the end: if not by who deleted the chat, by whoever
        deletes another or opens a store next. Several may do so at once.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Final

from mobox.errors import DatabaseAway
from mobox.storage.postgres.database import Connection
from mobox.storage.postgres.sessions import Sessions

__all__ = ["MANY", "Leftovers", "delete_some"]

MANY: Final = 5000
"""How many rows are deleted at once: they take no time that anybody would notice."""
_KEYS: Final = {"event": "last_seq", "raw": "n"}
_FIND: Final = "SELECT run FROM leftover ORDER BY run LIMIT 64"
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


class Leftovers:
    """Deletes them."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin with what others have left."""
        self._task = asyncio.create_task(self.delete())

    async def delete(self) -> None:
        """Delete what there is; if the database goes away, somebody else will."""
        with suppress(DatabaseAway):
            while rows := await self._sessions.ask(lambda c: c.fetch(_FIND), "much"):
                for (run,) in rows:
                    await self._delete_log(run)

    async def close(self) -> None:
        """Leave the rest to others."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _delete_log(self, run: int) -> None:
        for table in _KEYS:
            after: int | None = -1
            while after is not None:
                some = partial(delete_some, table=table, run=run, after=after)
                _, after = await self._sessions.ask(some, "much")
        done = "DELETE FROM leftover WHERE run = $1"
        await self._sessions.ask(lambda connection: connection.execute(done, run), "much")
