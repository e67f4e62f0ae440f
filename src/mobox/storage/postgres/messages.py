"""Messages as they are read: folds of logs, made anew where the kept one is behind."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from msgspec import Struct

from mobox.message import Message
from mobox.storage.chats import History, MessagePage, RunUsage, StoredMessage
from mobox.storage.cursors import read_cursor, write_cursor
from mobox.storage.folds import Fold, Told, kept_fold
from mobox.storage.log import Run, RunId
from mobox.storage.postgres.database import Connection
from mobox.storage.postgres.reads import find_chat, whole_log
from mobox.storage.postgres.rows import BODY, RUN, body_of, columns_of, run_of, storable
from mobox.transcript import fold
from mobox.turn import UserMessage
from mobox.usage import Totals

__all__ = ["folds_behind", "read_history", "read_messages", "read_usage", "store_fold"]

_FIND: Final = f"""
SELECT message.n, message.id, role, message.created_at, folded_seq, run.n, run.tail_seq, {BODY}
FROM message LEFT JOIN run ON run.n = message.run
WHERE message.chat = $1 AND NOT message.superseded AND message.n < $2 AND message.id != $3
ORDER BY message.n DESC LIMIT $4
"""
_ACTIVE: Final = f"""
{RUN} WHERE run.chat = $1 AND run.status != 'done' AND NOT run.superseded
ORDER BY run.status = 'running' DESC, run.n DESC LIMIT 1
"""
_ALL: Final = 2**62

_decode_said = msgspec.json.Decoder(UserMessage).decode


async def read_history(
    connection: Connection, owner: str, chat_id: str, limit: int | None
) -> Told[History]:
    """See `Chats.history`."""
    n, chat = await find_chat(connection, owner, chat_id)
    told = await _page(connection, n, _ALL, limit or _ALL - 1)
    page = told.value
    history = History(chat=chat, messages=page.messages, active=page.active, before=page.before)
    return Told(history, told.folds)


async def read_messages(
    connection: Connection, owner: str, chat_id: str, before: str | None, limit: int
) -> Told[MessagePage]:
    """See `Chats.messages`."""
    (end,) = read_cursor(before, 1) if before is not None else (_ALL,)
    n, _ = await find_chat(connection, owner, chat_id)
    return await _page(connection, n, end, limit)


async def _page(connection: Connection, chat: int, end: int, limit: int) -> Told[MessagePage]:
    active = await _active(connection, chat)
    left_out = active.id if active is not None else ""
    rows = await connection.fetch(_FIND, chat, end, left_out, limit + 1)
    folds: list[Fold] = []
    messages = [await _message(connection, row, folds) for row in rows[:limit]]
    more = write_cursor(rows[limit - 1][0]) if len(rows) > limit else None
    page = MessagePage(messages=tuple(reversed(messages)), active=active, before=more)
    return Told(page, folds)


async def _active(connection: Connection, chat: int) -> Run | None:
    """The running one; else the last that waits."""
    row = await connection.fetchrow(_ACTIVE, chat)
    return run_of(row) if row is not None else None


async def _message(connection: Connection, row: Any, folds: list[Fold]) -> StoredMessage:
    n, id_, role, created_at, folded_seq, run, tail_seq, *columns = row
    body = body_of(columns)
    if role == "user":
        said = _decode_said(body or "")
        return StoredMessage(id=id_, role=role, created_at=created_at, body=said)
    folded = kept_fold(body) if folded_seq == tail_seq else None
    if folded is None:
        folded = await _fold_log(connection, id_)
        folds.append(Fold(n, run, tail_seq, folded))
    return StoredMessage(id=id_, role=role, created_at=created_at, body=folded, run_id=RunId(id_))


async def _fold_log(connection: Connection, run_id: str) -> Message:
    """A long log takes a while: the event loop has others to look after."""
    entries = await whole_log(connection, RunId(run_id))
    return await asyncio.to_thread(fold, entries, run_id)


# Folds that are needed although nobody read the message

_BEHIND: Final = """
SELECT message.n, run.n, run.id, run.tail_seq
FROM chat JOIN run ON run.chat = chat.n JOIN message ON message.run = run.n
WHERE chat.owner = $1 AND ($2::text IS NULL OR chat.id = $2)
    AND run.status = 'done' AND message.folded_seq < run.tail_seq AND message.n > $3
ORDER BY message.n LIMIT 64
"""


async def folds_behind(
    connection: Connection, owner: str, chat_id: str | None, after: int
) -> list[Fold]:
    """The next folds of runs that are over and were never read; none if there are no more."""
    rows = await connection.fetch(_BEHIND, owner, chat_id, after)
    return [Fold(n, run, seq, await _fold_log(connection, run_id)) for n, run, run_id, seq in rows]


_KEEP: Final = """
UPDATE message SET words = $1, folded_seq = $2,
    parts = $4, message_metadata = $5, body = $6, verbatim = $7
WHERE n = $3 AND folded_seq <= $2
"""


async def store_fold(connection: Connection, made: Fold) -> None:
    """Keep a fold, unless a later one is kept already. Only what is whole can be searched for."""
    message = made.folded
    words = message.content.casefold() if message.reason is not None else ""
    columns = columns_of(message)
    await connection.execute(_KEEP, storable(words), made.seq, made.message, *columns)


# Usage

_USED: Final = f"""
SELECT run.id, run.agent, run.started_at, {BODY}
FROM run JOIN message ON message.run = run.n
WHERE run.chat = $1 AND run.status = 'done' AND message.folded_seq = run.tail_seq ORDER BY run.n
"""


class _Used(Struct):
    """What of a message is asked for."""

    usage: Totals | None = None


_decode_used = msgspec.json.Decoder(_Used).decode


async def read_usage(connection: Connection, owner: str, chat_id: str) -> list[RunUsage]:
    """See `Chats.usage`; what is not folded is not in it."""
    n, _ = await find_chat(connection, owner, chat_id)
    used = []
    for run_id, agent, started_at, *columns in await connection.fetch(_USED, n):
        totals = _decode_used(body_of(columns) or "{}").usage
        if totals is not None:
            told = RunUsage(run_id=run_id, agent=agent, started_at=started_at, totals=totals)
            used.append(told)
    return used
