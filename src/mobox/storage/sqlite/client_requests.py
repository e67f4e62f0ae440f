"""Clients' requests to runs: their names, where their answers start, and frontend data."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from mobox.errors import RunNotFound
from mobox.storage.chats import NamedRequest
from mobox.storage.log import ClientRequest, RunId
from mobox.storage.sqlite.reads import find_chat
from mobox.storage.sqlite.rows import RUN, find_run, run_of
from mobox.storage.sqlite.transaction import Transaction
from mobox.turn import Frontend

__all__ = ["add", "asked", "named", "note"]

_ADD = "INSERT INTO asking (run, name, after_seq, frontend) VALUES (?, ?, ?, ?)"
_OF_A_RUN = """
SELECT name, after_seq, frontend FROM asking
WHERE run = (SELECT n FROM run WHERE id = ?) ORDER BY n
"""
_OF_A_NAME = """
SELECT asking.run, name, after_seq, frontend FROM asking JOIN run ON run.n = asking.run
WHERE run.chat = ? AND asking.name = ? ORDER BY asking.n DESC LIMIT 1
"""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Frontend).decode


def add(transaction: Transaction, run: int, request: ClientRequest) -> None:
    """Store a client's request to the run with this row number."""
    frontend = None if request.frontend is None else _encode(request.frontend).decode()
    transaction.connection.execute(_ADD, (run, request.name, request.after, frontend))


def note(transaction: Transaction, run_id: RunId, request: ClientRequest) -> None:
    """See `Log.note`."""
    n, _, _ = find_run(transaction.connection, run_id)
    add(transaction, n, request)


def asked(connection: sqlite3.Connection, run_id: RunId) -> list[ClientRequest]:
    """See `Log.asked`."""
    return [_request_of(*row) for row in connection.execute(_OF_A_RUN, (run_id,))]


def named(connection: sqlite3.Connection, owner: str, chat_id: str, name: str) -> NamedRequest:
    """See `Chats.named`."""
    chat, _ = find_chat(connection, owner, chat_id)
    row: Any = connection.execute(_OF_A_NAME, (chat, name)).fetchone()
    if row is None:
        raise RunNotFound(name)
    run = run_of(connection.execute(f"{RUN} WHERE run.n = ?", row[:1]).fetchone())
    return NamedRequest(run, _request_of(*row[1:]))


def _request_of(name: str | None, after: int, frontend: str | None) -> ClientRequest:
    decoded = None if frontend is None else _decode(frontend)
    return ClientRequest(name=name, after=after, frontend=decoded)
