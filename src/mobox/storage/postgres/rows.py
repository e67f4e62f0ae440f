"""Converts rows of the database to values, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from mobox.errors import RunNotFound
from mobox.events.entries import Entries
from mobox.events.message import Message
from mobox.events.turn import UserMessage
from mobox.storage.chats import Chat
from mobox.storage.encoding import decode_pieces
from mobox.storage.log import Run
from mobox.storage.postgres.database import Connection

Row = Sequence[Any]

_OWN = [name for name in Run.__struct_fields__ if name not in ("chat_id", "owner")]
_CHANGING = [name for name in _OWN if name not in ("id", "agent", "framework", "started_at")]

RUN = f"""
SELECT run.n, run.chat, chat.id, chat.owner, {", ".join(f"run.{name}" for name in _OWN)}
FROM run JOIN chat ON chat.n = run.chat
"""
LOCKED = "FOR NO KEY UPDATE OF run"
_SAVE_RUN = f"""
UPDATE run SET {", ".join(f"{name} = ${n}" for n, name in enumerate(_CHANGING, 2))} WHERE n = $1
"""

CHAT = "SELECT chat.n, chat.id, chat.owner, chat.title, chat.created_at, chat.updated_at FROM chat"


def run_of(row: Row) -> Run:
    """The run of a row that `RUN` selects."""
    _, _, chat_id, owner, *own = row
    return Run(chat_id=chat_id, owner=owner, **dict(zip(_OWN, own, strict=True)))


async def find_run(connection: Connection, run_id: str, lock: str = "") -> tuple[int, int, Run]:
    """The numbers of a run and of its chat, and the run itself."""
    row = await connection.fetchrow(f"{RUN} WHERE run.id = $1 {lock}", run_id)
    if row is None:
        raise RunNotFound(run_id)
    return row[0], row[1], run_of(row)


async def save_run(connection: Connection, n: int, run: Run) -> None:
    """Update the mutable columns of a run."""
    await connection.execute(_SAVE_RUN, n, *(getattr(run, name) for name in _CHANGING))


def chat_of(row: Row) -> Chat:
    """The chat of a row that `CHAT` selects."""
    _, id_, owner, title, created_at, updated_at = row
    return Chat(id=id_, owner=owner, title=title, created_at=created_at, updated_at=updated_at)


def storable(text: str) -> str:
    """The text without zero bytes, which PostgreSQL cannot store."""
    return text.replace("\0", "\ufffd")


# Events


def entries_of(rows: Sequence[Row]) -> Entries:
    """The entries of consecutive rows: last_seq, count, first_id, ts, events."""
    pieces = decode_pieces(b",".join([row[4] for row in rows]))
    return Entries(rows[-1][0], pieces, partial(_ids_of, rows), partial(_times_of, rows))


def _ids_of(rows: Sequence[Row]) -> list[int]:
    return [id_ for _, count, first, _, _ in rows for id_ in range(first, first + count)]


def _times_of(rows: Sequence[Row]) -> list[int | None]:
    return [ts for _, count, _, ts, _ in rows for _ in range(count)]


# Messages

BODY = "parts, message_metadata, body, verbatim"

_encode = msgspec.json.Encoder().encode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def columns_of(message: Message | UserMessage) -> tuple[str | None, ...]:
    """A message as the columns of `BODY`."""
    whole = _encode(message)
    if rb"\u0000" in whole:
        return (None, None, None, whole.decode())
    fields = _decode_fields(whole)
    parts, metadata = fields.pop("parts"), fields.pop("metadata", None)
    decoded = None if metadata is None else bytes(metadata).decode()
    return (bytes(parts).decode(), decoded, _encode(fields).decode(), None)


def body_of(columns: Row) -> str | None:
    """The JSON of a message from the columns of `BODY`; nothing, if none is stored."""
    parts, metadata, body, verbatim = columns
    if parts is None:
        return None if verbatim is None else str(verbatim)
    prefix = "" if metadata is None else f'"metadata":{metadata},'
    return f'{{{prefix}"parts":{parts},{body.lstrip()[1:]}'
