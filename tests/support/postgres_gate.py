"""A database in which logs are read slowly, or not at all; they are written as ever."""

from __future__ import annotations

from typing import Any

import asyncpg

from mobox.storage.postgres.database import connector, open_database
from support.postgres_server import Databases

GATE = """
SET search_path = mobox;
CREATE TABLE gate (seconds FLOAT, is_shut BOOLEAN, but_for BIGINT);
INSERT INTO gate VALUES (0, FALSE, 0);
CREATE SEQUENCE looks;
CREATE FUNCTION pass() RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS $$
DECLARE look BIGINT = nextval('mobox.looks');
BEGIN
    PERFORM pg_sleep(seconds) FROM mobox.gate;
    WHILE (SELECT is_shut AND look > but_for FROM mobox.gate) LOOP PERFORM pg_sleep(0.01); END LOOP;
    RETURN TRUE;
END $$;
ALTER TABLE event RENAME TO row_of_event;
CREATE VIEW event AS SELECT * FROM row_of_event WHERE pass();
"""


_UNFOLDED = "SELECT count(*) FROM run WHERE status = 'done' AND NOT folded"
_UNFOLD = """
UPDATE message SET folded_seq = 0, words = '', parts = NULL, message_metadata = NULL, body = NULL,
    verbatim = NULL WHERE role = 'assistant';
UPDATE run SET folded = FALSE;
SELECT setval('looks', 1, FALSE);
"""


class Gate:
    """Before the logs of one database, which must be there."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    async def before(cls, url: str) -> Gate:
        connection = await asyncpg.connect(url)
        await connection.execute(GATE)
        return cls(connection)

    async def leave_behind(self) -> None:
        """Wait until all answers are folded, and forget the folds, as if a process had died."""
        while await self._connection.fetchval(_UNFOLDED):
            await self._connection.execute("SELECT pg_sleep(0.02)")
        await self._connection.execute(_UNFOLD)

    async def slow_down(self, seconds: float) -> None:
        """From now on each row takes so long."""
        await self._connection.execute("UPDATE gate SET seconds = $1", seconds)

    async def shut(self, but_for: int = 0) -> None:
        """Whoever reads a log waits, once so many rows were read in all."""
        await self._connection.execute("UPDATE gate SET is_shut = TRUE, but_for = $1", but_for)

    async def open(self) -> None:
        await self._connection.execute("UPDATE gate SET is_shut = FALSE")

    async def rows_read(self) -> int:
        """How many rows of logs were read so far."""
        find = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM looks"
        return int(await self._connection.fetchval(find))

    async def reached(self, rows: int) -> None:
        """Return when somebody has read, or waits for, so many rows."""
        while await self.rows_read() < rows:
            await self._connection.execute("SELECT pg_sleep(0.02)")  # others need the machine, too

    async def delete_everything(self) -> None:
        """Whether or not it is shut."""
        await self._connection.execute("DELETE FROM row_of_event; DELETE FROM chat")

    async def delete_beginnings(self, seq: int) -> None:
        """What logs begin with, up to there."""
        await self._connection.execute("DELETE FROM row_of_event WHERE last_seq <= $1", seq)

    async def close(self) -> None:
        await self.open()
        await self._connection.close()


async def gated(databases: Databases) -> tuple[str, Gate]:
    """A database in which nothing was said yet, and its gate."""
    url = await databases.blank()
    await open_database(connector(url, 60))
    return url, await Gate.before(url)
