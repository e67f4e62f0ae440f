"""Clients' requests to runs: their names, where their answers start, and frontend data."""

from __future__ import annotations

from typing import Any

from mobox.errors import RunNotFound
from mobox.storage.chats import NamedRequest
from mobox.storage.log import ClientRequest, RunId
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.sqlite.reads import find_chat, find_run
from mobox.storage.tables import RUN, client_request_of, encode_frontend, run_of

_ADD_REQUEST = "INSERT INTO asking (run, name, after_seq, frontend) VALUES (?, ?, ?, ?)"
_OF_A_RUN = """
SELECT name, after_seq, frontend FROM asking
WHERE run = (SELECT n FROM run WHERE id = ?) ORDER BY n
"""
_OF_A_NAME = """
SELECT asking.run, name, after_seq, frontend FROM asking JOIN run ON run.n = asking.run
WHERE run.chat = ? AND asking.name = ? ORDER BY asking.n DESC LIMIT 1
"""


def add_request(transaction: Transaction, run: int, request: ClientRequest) -> None:
    """Store a client's request to the run with this row number."""
    frontend = encode_frontend(request)
    text = None if frontend is None else frontend.decode()
    transaction.connection.execute(_ADD_REQUEST, (run, request.name, request.after, text))


def note(transaction: Transaction, run_id: RunId, request: ClientRequest) -> None:
    n, _, _ = find_run(transaction.connection, run_id)
    add_request(transaction, n, request)


def asked(connection: Connection, run_id: RunId) -> list[ClientRequest]:
    return list(map(client_request_of, connection.execute(_OF_A_RUN, (run_id,))))


def named(connection: Connection, owner: str, chat_id: str, name: str) -> NamedRequest:
    chat, _ = find_chat(connection, owner, chat_id)
    row: Any = connection.execute(_OF_A_NAME, (chat, name)).fetchone()
    if row is None:
        raise RunNotFound(name)
    run = run_of(connection.execute(f"{RUN} WHERE run.n = ?", row[:1]).fetchone())
    return NamedRequest(run, client_request_of(row[1:]))
