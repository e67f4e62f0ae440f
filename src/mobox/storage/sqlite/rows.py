"""Converts rows of the database to values, and back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any

import msgspec

from mobox.errors import RunNotFound
from mobox.events.entries import Entries
from mobox.storage.chats import Chat
from mobox.storage.encoding import decode_pieces
from mobox.storage.log import Run

Row = tuple[Any, ...]

_OWN = [name for name in Run.__struct_fields__ if name not in ("chat_id", "owner")]
_CHANGING = [name for name in _OWN if name not in ("id", "agent", "framework", "started_at")]

RUN = f"""
SELECT run.n, run.chat, chat.id, chat.owner, {", ".join(f"run.{name}" for name in _OWN)}
FROM run JOIN chat ON chat.n = run.chat
"""
_SAVE_RUN = f"UPDATE run SET {', '.join(f'{name} = ?' for name in _CHANGING)} WHERE n = ?"

CHAT = "SELECT n, id, owner, title, created_at, updated_at FROM chat"

_BULKS = (256, 64)
"""How many rows a statement inserts; fewer than the smallest are one statement."""


def run_of(row: Row) -> Run:
    """The run of a row that `RUN` selects."""
    fields = dict(zip(_OWN, row[4:], strict=True))
    fields["superseded"] = bool(fields["superseded"])
    return Run(chat_id=row[2], owner=row[3], **fields)


def find_run(connection: sqlite3.Connection, run_id: str) -> tuple[int, int, Run]:
    """The numbers of a run and of its chat, and the run itself."""
    row = connection.execute(f"{RUN} WHERE run.id = ?", (run_id,)).fetchone()
    if row is None:
        raise RunNotFound(run_id)
    return row[0], row[1], run_of(row)


def save_run(connection: sqlite3.Connection, n: int, run: Run) -> None:
    """Update the mutable columns of a run."""
    connection.execute(_SAVE_RUN, [*(getattr(run, name) for name in _CHANGING), n])


def chat_of(row: Row) -> Chat:
    """The chat of a row that `CHAT` selects."""
    _, id_, owner, title, created_at, updated_at = row
    return Chat(id=id_, owner=owner, title=title, created_at=created_at, updated_at=updated_at)


def insert_many(connection: sqlite3.Connection, into: str, form: str, rows: Sequence[Row]) -> None:
    """Insert rows with as few statements as possible.

    Each statement releases the GIL, and with a busy event loop this thread then waits up to 5 ms to
    get it back: that, not the database, would be the cost of a row.
    """
    start = 0
    while left := len(rows) - start:
        size = next((size for size in _BULKS if size <= left), left)
        values = list(chain.from_iterable(rows[start : start + size]))
        connection.execute(_insert(into, form, size), values)
        start += size


@cache
def _insert(into: str, form: str, size: int) -> str:
    return f"INSERT INTO {into} VALUES {', '.join([form] * size)}"


# Events

_decode_json: Callable[[str], Any] = msgspec.json.decode


def entries_of(last_seq: int, counts: str, ids: str, times: str, data: bytes) -> Entries:
    """The entries of consecutive rows, given as lists: decoded at once."""
    pieces = decode_pieces(data)
    return Entries(last_seq, pieces, partial(ids_of, counts, ids), partial(times_of, counts, times))


def ids_of(counts: str, ids: str) -> list[int]:
    """The id of each event: of rows that have the first one's, or, where packed, all."""
    return _of_each(counts, ids, lambda first, count: range(first, first + count))


def times_of(counts: str, times: str) -> list[int | None]:
    """The time of each event: of rows that have one for all, or, where packed, all."""
    return _of_each(counts, times, lambda ts, count: [ts] * count)


def _of_each(counts: str, rows: str, spread: Callable[[Any, int], Iterable[Any]]) -> list[Any]:
    values: list[Any] = _decode_json(rows)
    in_each: list[int] = _decode_json(counts)
    for row in reversed([row for row, count in enumerate(in_each) if count > 1]):
        value = values[row]
        values[row : row + 1] = _listed(value) or spread(value, in_each[row])
    return values


def _listed(numbers: object) -> list[Any]:
    return _decode_json(f"[{numbers}]") if isinstance(numbers, str) else []
