"""Reads messages: folds of logs, made again where the stored one is outdated."""

from __future__ import annotations

from typing import NamedTuple

from mobox.events.message import Message
from mobox.events.transcript import build_message
from mobox.storage.chats import Chat, MessagePage, StoredMessage, read_cursor, write_cursor
from mobox.storage.log import RunId
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.sqlite.reads import active_runs, find_chat, iterate_log
from mobox.storage.tables import (
    MOST,
    Fold,
    Row,
    answer_of,
    cached_message,
    encode_json,
    user_message_of,
)


class ReadPage(NamedTuple):
    """A page of a chat's messages, and the folds that were made for it."""

    chat: Chat
    page: MessagePage
    folds: list[Fold]


_FIND = """
SELECT message.n, message.id, role, message.created_at, CAST(body AS BLOB), folded_seq,
    run.tail_seq
FROM message LEFT JOIN run ON run.n = message.run
WHERE message.chat = ? AND message.superseded = 0 AND message.n < ? AND message.id != ?
ORDER BY message.n DESC LIMIT ?
"""


def read_page(
    connection: Connection, owner: str, chat_id: str, before: str | None, limit: int
) -> ReadPage:
    (end,) = read_cursor(before, 1) if before is not None else (MOST,)
    n, chat = find_chat(connection, owner, chat_id)
    active = next(iter(active_runs(connection, [n])), None)
    left_out = active.id if active is not None else ""
    rows = connection.execute(_FIND, (n, end, left_out, limit + 1)).fetchall()
    folds: list[Fold] = []
    messages = [_message(connection, row, folds) for row in rows[:limit]]
    more = write_cursor(rows[limit - 1][0]) if len(rows) > limit else None
    page = MessagePage(messages=tuple(reversed(messages)), active=active, before=more)
    return ReadPage(chat, page, folds)


def _message(connection: Connection, row: Row, folds: list[Fold]) -> StoredMessage:
    n, id_, role, created_at, body, folded_seq, tail_seq = row
    if role == "user":
        return user_message_of(id_, created_at, body)
    message = cached_message(body) if folded_seq == tail_seq else None
    if message is None:
        message = _fold_log(connection, id_)
        folds.append(Fold(n, tail_seq, message))
    return answer_of(id_, created_at, message)


def _fold_log(connection: Connection, run_id: str) -> Message:
    return build_message(iterate_log(connection, RunId(run_id)), run_id)


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
    """Store a fold, unless a later one is stored."""
    row = (encode_json(made.folded).decode(), made.searched, made.seq, made.message, made.seq)
    transaction.connection.execute(_KEEP, row)
