"""Packs rows of a log into one: reading a log later costs more per row than per event.

An agent that is read line by line leaves a row for each event. When a run has passed a multiple of
`EVENTS_PER_ROW` events, the rows up to there become one, in the transaction that passed it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from mobox.storage.encoding import EVENTS_PER_ROW, regathered
from mobox.storage.sqlite.rows import ids_of, times_of

__all__ = ["boundary", "pack"]

_LEAST_ROWS = 16  # fewer are not worth packing

_SPAN = "run = ? AND last_seq > ? AND last_seq <= ?"
_FIND = f"""
SELECT max(last_seq), json_group_array(count), json_group_array(ifnull(ids, first_id)),
    json_group_array(ifnull(times, ts)),
    CAST(group_concat(events, ',') AS BLOB)
FROM (SELECT * FROM event WHERE {_SPAN} ORDER BY last_seq)
HAVING count(*) >= {_LEAST_ROWS} AND sum(length(events)) <= 512 * sum(count)
"""
_DELETE = f"DELETE FROM event WHERE {_SPAN}"
_ADD = "INSERT INTO event VALUES (?, ?, ?, ?, NULL, CAST(? AS TEXT), ?, ?)"


def boundary(before: int, after: int) -> int | None:
    """The number of the event up to which a log that has grown by a few can be packed."""
    passed = after - after % EVENTS_PER_ROW
    return passed if before < passed and after - before < EVENTS_PER_ROW else None


def pack(connection: sqlite3.Connection, run: int, through: int) -> None:
    """Pack the last rows up to `through` into one, unless they are few, or big."""
    span = (run, through - EVENTS_PER_ROW, through)
    found = connection.execute(_FIND, span).fetchone()
    if found is None:
        return
    last_seq, counts, ids, times, events = found
    ids, times = ids_of(counts, ids), times_of(counts, times)
    connection.execute(_DELETE, span)
    is_dense = ids[-1] - ids[0] == len(ids) - 1  # as where no other run was written
    numbers = None if is_dense else _list(ids)
    row = (run, last_seq, len(ids), ids[0], regathered(events), numbers, _list(times))
    connection.execute(_ADD, row)


def _list(numbers: Sequence[int | None]) -> str:
    return ",".join("null" if number is None else str(number) for number in numbers)
