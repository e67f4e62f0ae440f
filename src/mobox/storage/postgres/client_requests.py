"""Clients' requests to runs: their names, where their answers start, and frontend data."""

from __future__ import annotations

from typing import Final

import msgspec

from mobox.errors import RunNotFound
from mobox.storage.chats import NamedRequest
from mobox.storage.log import ClientRequest, RunId
from mobox.storage.postgres.database import Connection
from mobox.storage.postgres.reads import find_chat
from mobox.storage.postgres.rows import RUN, find_run, run_of
from mobox.storage.postgres.transaction import Transaction
from mobox.turn import Frontend

__all__ = ["add", "asked", "named", "note"]

_ADD: Final = "INSERT INTO asking (run, name, after_seq, frontend) VALUES ($1, $2, $3, $4)"
_OF_A_RUN: Final = """
SELECT name, after_seq, frontend FROM asking
WHERE run = (SELECT n FROM run WHERE id = $1) ORDER BY n
"""
_OF_A_NAME: Final = """
SELECT asking.run, name, after_seq, frontend FROM asking JOIN run ON run.n = asking.run
WHERE run.chat = $1 AND asking.name = $2 ORDER BY asking.n DESC LIMIT 1
"""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Frontend).decode


async def add(connection: Connection, run: int, request: ClientRequest) -> None:
    """Store a client's request to the run with this row number."""
    frontend = None if request.frontend is None else _encode(request.frontend)
    await connection.execute(_ADD, run, request.name, request.after, frontend)


async def note(transaction: Transaction, run_id: RunId, request: ClientRequest) -> None:
    """See `Log.note`."""
    connection = transaction.connection
    n, _, _ = await find_run(connection, run_id, "FOR KEY SHARE OF run")
    await add(connection, n, request)


async def asked(connection: Connection, run_id: RunId) -> list[ClientRequest]:
    """See `Log.asked`."""
    return [_request_of(*row) for row in await connection.fetch(_OF_A_RUN, run_id)]


async def named(connection: Connection, owner: str, chat_id: str, name: str) -> NamedRequest:
    """See `Chats.named`."""
    chat, _ = await find_chat(connection, owner, chat_id)
    row = await connection.fetchrow(_OF_A_NAME, chat, name)
    if row is None:
        raise RunNotFound(name)
    n, *values = row
    run = run_of(await connection.fetchrow(f"{RUN} WHERE run.n = $1", n))
    return NamedRequest(run, _request_of(*values))


def _request_of(name: str | None, after: int, frontend: bytes | None) -> ClientRequest:
    decoded = None if frontend is None else _decode(frontend)
    return ClientRequest(name=name, after=after, frontend=decoded)
