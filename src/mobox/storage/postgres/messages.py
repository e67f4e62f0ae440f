"""Stored messages: the lists of chats, users' messages, and folds of logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from mobox.events.turn import UserMessage
from mobox.storage.chats import Chat, StoredMessage, read_cursor, write_cursor
from mobox.storage.log import Run, RunId
from mobox.storage.message_cache import Fold
from mobox.storage.postgres.database import Connection
from mobox.storage.postgres.reads import active_runs, find_chat
from mobox.storage.postgres.rows import BODY, body_of, columns_of, storable


class Head(NamedTuple):
    """A message without its body; `n` and `run` are row numbers."""

    n: int
    id: str
    created_at: int
    run: int | None
    """`None` for a user's message."""
    seq: int
    """The length of that run's log."""


class Page(NamedTuple):
    """Messages of one snapshot, latest first."""

    heads: tuple[Head, ...]
    active: Run | None
    before: str | None


class Body(NamedTuple):
    """The stored body of a message; a fold of a log's first `folded_seq` entries."""

    folded_seq: int
    text: str | None


_FIND: Final = """
SELECT message.n, message.id, message.created_at, message.run, coalesce(run.tail_seq, 0)
FROM message LEFT JOIN run ON run.n = message.run
WHERE message.chat = $1 AND NOT message.superseded AND message.n < $2 AND message.id != $3
ORDER BY message.n DESC LIMIT $4
"""
_BODIES: Final = f"SELECT n, folded_seq, {BODY} FROM message WHERE n = ANY($1)"
_ALL: Final = 2**62

_decode_user_message = msgspec.json.Decoder(UserMessage).decode


async def find_history(
    connection: Connection, owner: str, chat_id: str, limit: int | None
) -> tuple[Chat, Page]:
    """The chat and the list of messages for `Chats.history`."""
    n, chat = await find_chat(connection, owner, chat_id)
    return chat, await _page(connection, n, _ALL, limit or _ALL - 1)


async def find_messages(
    connection: Connection, owner: str, chat_id: str, before: str | None, limit: int
) -> Page:
    """The list of messages for `Chats.messages`."""
    (end,) = read_cursor(before, 1) if before is not None else (_ALL,)
    n, _ = await find_chat(connection, owner, chat_id)
    return await _page(connection, n, end, limit)


async def _page(connection: Connection, chat: int, end: int, limit: int) -> Page:
    active = next(iter(await active_runs(connection, [chat])), None)
    left_out = active.id if active is not None else ""
    rows = await connection.fetch(_FIND, chat, end, left_out, limit + 1)
    more = write_cursor(rows[limit - 1][0]) if len(rows) > limit else None
    return Page(tuple(Head(*row) for row in rows[:limit]), active, more)


async def read_bodies(connection: Connection, numbers: Sequence[int]) -> dict[int, Body]:
    """The bodies of these messages, without deleted ones."""
    rows = await connection.fetch(_BODIES, list(numbers))
    return {n: Body(folded_seq, body_of(columns)) for n, folded_seq, *columns in rows}


def said(head: Head, body: Body) -> StoredMessage:
    """A user's message."""
    message = _decode_user_message(body.text or "")
    return StoredMessage(id=head.id, role="user", created_at=head.created_at, body=message)


# Folds


class Behind(NamedTuple):
    """A message to be folded from the first `seq` entries of a log; `message` is its row number."""

    message: int
    run_id: RunId
    seq: int


_BEHIND: Final = """
SELECT message.n, run.id, run.tail_seq
FROM chat JOIN run ON run.chat = chat.n JOIN message ON message.run = run.n
WHERE chat.owner = $1 AND run.status = 'done' AND message.folded_seq < run.tail_seq
    AND message.n > $2
ORDER BY message.n LIMIT 64
"""


async def find_behind(connection: Connection, owner: str, after: int) -> list[Behind]:
    """The next unfolded messages of ended runs; none if there are no more."""
    return [Behind(*row) for row in await connection.fetch(_BEHIND, owner, after)]


_KEEP: Final = """
UPDATE message SET words = $1, folded_seq = $2,
    parts = $4, message_metadata = $5, body = $6, verbatim = $7
WHERE n = $3 AND folded_seq <= $2
"""


async def store_fold(connection: Connection, made: Fold) -> None:
    """Store a fold, unless a later one is stored. Only complete messages can be searched."""
    message = made.folded
    words = message.content.casefold() if message.reason is not None else ""
    columns = columns_of(message)
    await connection.execute(_KEEP, storable(words), made.seq, made.message, *columns)
