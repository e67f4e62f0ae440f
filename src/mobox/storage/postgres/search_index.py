"""The index for searches: made in the background, where the server has pg_trgm.

Rule 1: no superuser is needed: pg_trgm is a trusted extension, so that the right to create in the
        database is enough. Without it, searches read the texts of the owner's chats.
Rule 2: it is made without locking the table, by one process at a time. What an interrupted attempt
        left is deleted first.
Rule 3: until it is complete, searches do without it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import asyncpg

from mobox.storage.postgres.database import TROUBLE, Connect, Connection

log = logging.getLogger("mobox.storage")

_LOCK: Final = 0x6D6F626F79  # the one after that of the migrations
_IS_AVAILABLE: Final = "SELECT count(*) > 0 FROM pg_available_extensions WHERE name = 'pg_trgm'"
_STATE: Final = """
SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('mobox.message_search')
"""
_SCHEMA: Final = """
SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
WHERE extname = 'pg_trgm'
"""
_MAKE: Final = """
CREATE INDEX CONCURRENTLY message_search ON message USING gin (words {schema}.gin_trgm_ops)
"""


async def is_complete(connection: Connection) -> bool:
    """Whether searches can use it."""
    return bool(await connection.fetchval(_STATE))


async def _connected(connect: Connect, closing: asyncio.Event) -> Connection | None:
    """A connection; nothing if there is none yet, or the store is closed while it is waited for."""
    connecting: asyncio.Future[Connection] = asyncio.ensure_future(connect())
    closed = asyncio.create_task(closing.wait())
    try:
        await asyncio.wait({connecting, closed}, return_when=asyncio.FIRST_COMPLETED)
        return await connecting if connecting.done() else None
    except TROUBLE as error:
        log.warning("cannot make the index for searches yet, retrying: %s", error)
        return None
    finally:
        connecting.cancel()
        closed.cancel()


async def make_index(connect: Connect, closing: asyncio.Event) -> None:
    """Make the index, unless it is there, or another process makes it, or the store is closed."""
    connection = await _connected(connect, closing)
    if connection is None:
        return
    try:
        if await is_complete(connection) or not await connection.fetchval(_IS_AVAILABLE):
            return
        if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
            return
        await connection.execute("SET statement_timeout = 0")
        await connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        await connection.execute("DROP INDEX CONCURRENTLY IF EXISTS message_search")
        schema = await connection.fetchval(_SCHEMA)
        making = asyncio.create_task(connection.execute(_MAKE.format(schema=schema)))
        closed = asyncio.create_task(closing.wait())
        await asyncio.wait({making, closed}, return_when=asyncio.FIRST_COMPLETED)
        closed.cancel()
        if not making.done():
            connection.terminate()
        await making
    except asyncpg.InsufficientPrivilegeError as error:
        log.info("searches use no index: %s", error)
    except TROUBLE as error:
        log.warning("cannot make the index for searches yet, retrying: %s", error)
    finally:
        connection.terminate()
