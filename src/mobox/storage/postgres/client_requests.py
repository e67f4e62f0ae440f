"""Clients' requests to runs: their names, where their answers start, and frontend data."""

from __future__ import annotations

from typing import Final

from mobox.errors import RunNotFound
from mobox.storage.chats import NamedRequest
from mobox.storage.log import ClientRequest, RunId
from mobox.storage.postgres.database import Connection, Transaction
from mobox.storage.postgres.reads import find_chat, find_run
from mobox.storage.tables import RUN, client_request_of, encode_frontend, run_of

_ADD_REQUEST: Final = "INSERT INTO asking (run, name, after_seq, frontend) VALUES ($1, $2, $3, $4)"
_OF_A_RUN: Final = """
SELECT name, after_seq, frontend FROM asking
WHERE run = (SELECT n FROM run WHERE id = $1) ORDER BY n
"""
_OF_A_NAME: Final = """
SELECT asking.run, name, after_seq, frontend FROM asking JOIN run ON run.n = asking.run
WHERE run.chat = $1 AND asking.name = $2 ORDER BY asking.n DESC LIMIT 1
"""


async def add_request(connection: Connection, run: int, request: ClientRequest) -> None:
    """Store a client's request to the run with this row number."""
    values = (run, request.name, request.after, encode_frontend(request))
    await connection.execute(_ADD_REQUEST, *values)


async def note(transaction: Transaction, run_id: RunId, request: ClientRequest) -> None:
    connection = transaction.connection
    n, _, _ = await find_run(connection, run_id, "FOR KEY SHARE OF run")
    await add_request(connection, n, request)


async def asked(connection: Connection, run_id: RunId) -> list[ClientRequest]:
    return list(map(client_request_of, await connection.fetch(_OF_A_RUN, run_id)))


async def named(connection: Connection, owner: str, chat_id: str, name: str) -> NamedRequest:
    chat, _ = await find_chat(connection, owner, chat_id)
    row = await connection.fetchrow(_OF_A_NAME, chat, name)
    if row is None:
        raise RunNotFound(name)
    n, *values = row
    run = run_of(await connection.fetchrow(f"{RUN} WHERE run.n = $1", n))
    return NamedRequest(run, client_request_of(values))
