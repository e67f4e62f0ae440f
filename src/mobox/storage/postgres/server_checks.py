"""What is checked of the server when a store is opened: a pooler before it, and its connections.

A store needs sessions: prepared statements, LISTEN and the settings of a connection belong to one.
A pooler in transaction or statement mode gives each transaction any of its connections to the
server. It is recognized before anything is set: settings would stay on a connection that other
programs get, too.
"""

from __future__ import annotations

import logging
from typing import Final

import asyncpg

from mobox.errors import WrongPooler
from mobox.storage.postgres.database import (
    NO_SESSION,
    TROUBLE,
    Connect,
    Connection,
    first_connection,
    message_of,
    reason_of,
)

log = logging.getLogger("mobox.storage")

WRITER: Final = "mobox writer"
"""The `application_name` of the connection that writes: each process has one of them."""

_ROUNDS: Final = 3
_PID: Final = "SELECT pg_backend_pid()"
_USE: Final = f"""
SELECT current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int,
    count(*) FILTER (WHERE application_name = '{WRITER}'),
    count(*) FILTER (WHERE coalesce(application_name, '') NOT LIKE 'mobox%')
FROM pg_stat_activity WHERE datid IS NOT NULL
"""


# Poolers


def plain_connector(url: str, seconds: float) -> Connect:
    """A function that connects, sets only its name, and prepares no named statements."""

    async def connect() -> Connection:
        return await asyncpg.connect(
            url,
            timeout=seconds,
            command_timeout=seconds,
            statement_cache_size=0,
            server_settings={"application_name": "mobox"},
        )

    return connect


async def check_pooler(connect: Connect, seconds: float = 0) -> None:
    """Raise `WrongPooler` for one that cannot be used; retries to connect for so many seconds.

    A pooler tells its clients another process id than that of the server's process. With one, two
    connections compare the processes that serve them: in session mode a connection keeps its own.
    """
    one = await first_connection(connect, seconds)
    try:
        process = await _process(one)
        if process == one.get_server_pid():
            return
        two = await first_connection(connect, 0)
        try:
            for _ in range(_ROUNDS):
                await _compare(one, two, process)
        finally:
            two.terminate()
    except TROUBLE as error:
        raise reason_of(error, f"cannot use the database: {_words(error)}") from error
    finally:
        one.terminate()


async def _compare(one: Connection, two: Connection, process: int) -> None:
    """Twice in a row, as a pooler may use its connections in turns; then beside a transaction."""
    if {await _process(one), await _process(one)} != {process}:
        raise WrongPooler
    await two.execute("BEGIN")
    other = await two.fetchval(_PID)
    if other == process or await _process(one) != process:
        raise WrongPooler
    await two.execute("ROLLBACK")


async def _process(connection: Connection) -> int:
    """In a transaction, as preparing a statement and executing it are two requests."""
    await connection.execute("BEGIN")
    process: int = await connection.fetchval(_PID)
    await connection.execute("ROLLBACK")
    return process


def _words(error: BaseException) -> str:
    return NO_SESSION if isinstance(error, TimeoutError) else message_of(error)


# The number of connections


async def warn_of_few_connections(connection: Connection, budget: int) -> None:
    """Warn if the processes of this database may need more connections than the server has.

    `budget` is that of this process, which counts already; others are assumed to have the same.
    """
    usable, processes, others = await connection.fetchrow(_USE)
    needed = processes * budget + others
    if needed > usable:
        log.warning(
            "PostgreSQL has %d connections for applications, and may need %d: %d Mobox processes"
            " with up to %d each, and %d of other programs; raise max_connections, or lower"
            " --database-connections",
            usable,
            needed,
            processes,
            budget,
            others,
        )
