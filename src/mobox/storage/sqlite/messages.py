"""Reads messages: folds of logs, made again where the stored one is outdated."""

from __future__ import annotations

import sqlite3

import msgspec

from mobox.events.message import Message
from mobox.events.transcript import fold
from mobox.events.turn import UserMessage
from mobox.storage.chats import History, MessagePage, StoredMessage, read_cursor, write_cursor
from mobox.storage.log import Run, RunId
from mobox.storage.message_cache import Fold, ReadResult, cached_message
from mobox.storage.sqlite.database import Transaction
from mobox.storage.sqlite.reads import active_runs, find_chat, iterate_log
from mobox.storage.sqlite.rows import Row

Connection = sqlite3.Connection


_FIND = """
SELECT message.n, message.id, role, message.created_at, CAST(body AS BLOB), folded_seq,
    run.tail_seq
FROM message LEFT JOIN run ON run.n = message.run
WHERE message.chat = ? AND message.superseded = 0 AND message.n < ? AND message.id != ?
ORDER BY message.n DESC LIMIT ?
"""
_ALL = 2**62

_decode_user_message = msgspec.json.Decoder(UserMessage).decode
_encode = msgspec.json.Encoder().encode


def read_history(
    connection: Connection, owner: str, chat_id: str, limit: int | None
) -> ReadResult[History]:
    """See `Chats.history`."""
    n, chat = find_chat(connection, owner, chat_id)
    result = _page(connection, n, _ALL, limit or _ALL)
    page = result.value
    history = History(chat=chat, messages=page.messages, active=page.active, before=page.before)
    return ReadResult(history, result.folds)


def read_messages(
    connection: Connection, owner: str, chat_id: str, before: str | None, limit: int
) -> ReadResult[MessagePage]:
    """See `Chats.messages`."""
    (end,) = read_cursor(before, 1) if before is not None else (_ALL,)
    n, _ = find_chat(connection, owner, chat_id)
    return _page(connection, n, end, limit)


def _page(connection: Connection, chat: int, end: int, limit: int) -> ReadResult[MessagePage]:
    active = next(iter(active_runs(connection, [chat])), None)
    rows = _rows(connection, chat, active, end, limit + 1)
    reading = _Reading(connection)
    messages = [reading.message(row) for row in rows[:limit]]
    more = write_cursor(rows[limit - 1][0]) if len(rows) > limit else None
    page = MessagePage(messages=tuple(reversed(messages)), active=active, before=more)
    return ReadResult(page, reading.folds)


def _rows(
    connection: Connection, chat: int, active: Run | None, before: int, limit: int
) -> list[Row]:
    left_out = active.id if active is not None else ""
    return connection.execute(_FIND, (chat, before, left_out, limit)).fetchall()


class _Reading:
    """Reads the messages of one snapshot."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.folds: list[Fold] = []

    def message(self, row: Row) -> StoredMessage:
        n, id_, role, created_at, body, folded_seq, tail_seq = row
        if role == "user":
            message = _decode_user_message(body)
            return StoredMessage(id=id_, role=role, created_at=created_at, body=message)
        kept = cached_message(body) if folded_seq == tail_seq else None
        folded = kept or self._fold(n, id_, tail_seq)
        return StoredMessage(
            id=id_, role=role, created_at=created_at, body=folded, run_id=RunId(id_)
        )

    def _fold(self, n: int, run_id: str, tail_seq: int) -> Message:
        folded = _fold_log(self._connection, run_id)
        self.folds.append(Fold(n, tail_seq, folded))
        return folded


def _fold_log(connection: Connection, run_id: str) -> Message:
    return fold(iterate_log(connection, RunId(run_id)), run_id)


# Folds of messages that were never read

_BEHIND = """
SELECT message.n, run.id, run.tail_seq
FROM chat JOIN run ON run.chat = chat.n JOIN message ON message.run = run.n
WHERE chat.owner = ? AND run.status = 'done' AND message.folded_seq < run.tail_seq AND message.n > ?
ORDER BY message.n LIMIT 64
"""


def folds_behind(connection: Connection, owner: str, after: int) -> list[Fold]:
    """The next missing folds of ended runs; none if there are no more."""
    rows = connection.execute(_BEHIND, (owner, after)).fetchall()
    return [Fold(n, seq, _fold_log(connection, run_id)) for n, run_id, seq in rows]


_KEEP = "UPDATE message SET body = ?, content = ?, folded_seq = ? WHERE n = ? AND folded_seq <= ?"


def store_fold(transaction: Transaction, made: Fold) -> None:
    """Store a fold, unless a later one is stored. Only complete messages can be searched."""
    message = made.folded
    content = message.content if message.reason is not None else ""
    row = (_encode(message).decode(), content, made.seq, made.message, made.seq)
    transaction.connection.execute(_KEEP, row)
