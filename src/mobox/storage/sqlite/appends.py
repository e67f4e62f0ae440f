"""Appends to logs: the batches of many runs in a few statements.

Rows of a log are packed into one: reading a log later costs more per row than per event. An agent
that is read line by line leaves a row for each event. When a run has passed a multiple of
`EVENTS_PER_ROW` events, the rows up to there become one, in the transaction that passed it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mobox.errors import Fenced, RunActive, RunNotFound
from mobox.events import LogEntry
from mobox.storage.encoding import EVENTS_PER_ROW, Append, Appended, NextAttempt, regathered
from mobox.storage.log import Position, Run, RunId, Status, keep_raw
from mobox.storage.runs import after_events, in_next_attempt
from mobox.storage.sqlite.client_requests import add_request
from mobox.storage.sqlite.database import LAST_ID, Connection, Transaction
from mobox.storage.sqlite.permissions import add_permissions
from mobox.storage.sqlite.reads import find_run, ids_of, times_of
from mobox.storage.tables import CHANGING_COLUMNS, changing_values, encode_json

Row = tuple[Any, ...]
Outcome = Appended | Exception

# Many at once

_RUNS = f"""
SELECT ({LAST_ID}),
    json_group_array(json_array(id, n, epoch, status, tail_seq, raw_lines, raw_bytes))
FROM run WHERE id IN (SELECT value FROM json_each(?))
"""
_ADVANCE = """
UPDATE run SET
    tail_seq = json_extract(j.value, '$[1]'),
    raw_lines = json_extract(j.value, '$[2]'),
    raw_bytes = json_extract(j.value, '$[3]')
FROM json_each(?) AS j WHERE run.n = json_extract(j.value, '$[0]')
"""
_EVENT = "event (run, last_seq, count, first_id, ts, events)"
_EVENT_ROW = "(?, ?, ?, ?, ?, CAST(? AS TEXT))"
_RAW_ROW = "(?, ?, ?, ?, ?)"
_BULKS = (256, 64)
"""How many rows a statement inserts; fewer than the smallest are one statement."""


class _Written(Struct, array_like=True):
    """The columns that an append changes while its run stays `running`."""

    id: RunId
    n: int
    epoch: int
    status: Status
    tail_seq: int
    raw_lines: int
    raw_bytes: int


_decode_written = msgspec.json.Decoder(list[_Written]).decode


def append_all(
    transaction: Transaction,
    appends: Sequence[Append],
    one_by_one: Callable[[Append], Outcome],
) -> list[Outcome]:
    """Append batches in order; those that change more than a log go `one_by_one`."""
    written = _find(transaction, appends)
    special = {append.run_id for append in appends if not append.is_plain}
    special |= {run.id for run in written.values() if run.status == "waiting"}
    bulk = _Bulk(transaction, written)
    outcomes = [bulk.append(append) if append.run_id not in special else None for append in appends]
    bulk.write()
    return [
        one_by_one(append) if outcome is None else outcome
        for append, outcome in zip(appends, outcomes, strict=True)
    ]


def _find(transaction: Transaction, appends: Sequence[Append]) -> dict[RunId, _Written]:
    names = encode_json([append.run_id for append in appends]).decode()
    ((last_id, found),) = transaction.connection.execute(_RUNS, (names,)).fetchall()
    transaction.know_last_id(last_id)
    return {run.id: run for run in _decode_written(found)}


class _Bulk:
    """Batches written together."""

    def __init__(self, transaction: Transaction, written: dict[RunId, _Written]) -> None:
        self._transaction = transaction
        self._written = written
        self._changed: dict[int, _Written] = {}
        self._events: list[Row] = []
        self._raw: list[Row] = []
        self._full: list[tuple[int, int]] = []

    def append(self, append: Append) -> Outcome:
        run = self._written.get(append.run_id)
        if run is None or run.epoch != append.epoch or run.status == "done":
            return Fenced(append.run_id, append.epoch)
        seqs = range(run.tail_seq + 1, run.tail_seq + len(append.events) + 1)
        entries, events = _number(self._transaction, append, run.n, seqs)
        self._events += events
        if append.raw:
            tally = (run.raw_lines, run.raw_bytes)
            raw, (run.raw_lines, run.raw_bytes) = _raw_rows(
                self._transaction, append, run.n, seqs, tally
            )
            self._raw += raw
        run.tail_seq += len(append.events)
        if (through := boundary(seqs.start - 1, run.tail_seq)) is not None:
            self._full.append((run.n, through))
        self._changed[run.n] = run
        return Appended(run.id, Position(run.tail_seq, "running"), entries, append.size)

    def write(self) -> None:
        connection = self._transaction.connection
        _insert_many(connection, _EVENT, _EVENT_ROW, self._events)
        _insert_many(connection, "raw", _RAW_ROW, self._raw)
        changed = [
            (run.n, run.tail_seq, run.raw_lines, run.raw_bytes) for run in self._changed.values()
        ]
        if changed:
            connection.execute(_ADVANCE, (encode_json(changed).decode(),))
        for run, through in self._full:
            pack(connection, run, through)


def _number(
    transaction: Transaction, append: Append, run: int, seqs: range
) -> tuple[list[LogEntry], list[Row]]:
    """The entries of a batch, and their rows."""
    first_id = id_ = transaction.take_ids(len(seqs))
    if len(seqs) == 1:  # a streamed delta
        [(_, data)], [event] = append.rows, append.events
        seq = seqs.start
        return [LogEntry(seq, id_, append.ts, event)], [(run, seq, 1, id_, append.ts, data)]
    rows: list[Row] = []
    last_seq = seqs.start - 1
    for count, data in append.rows:
        last_seq += count
        rows.append((run, last_seq, count, id_, append.ts, data))
        id_ += count
    ids = range(first_id, id_)
    return list(map(LogEntry, seqs, ids, repeat(append.ts), append.events)), rows


def _raw_rows(
    transaction: Transaction, append: Append, run: int, seqs: range, tally: tuple[int, int]
) -> tuple[list[Row], tuple[int, int]]:
    kept, tally = keep_raw(append.raw, seqs, tally, transaction.settings.raw_bytes)
    return [(run, raw.n, raw.line, raw.first_seq, raw.last_seq) for raw in kept], tally


def _insert_many(connection: Connection, into: str, form: str, rows: Sequence[Row]) -> None:
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


# Batches that change their run

_SAVE_RUN = f"UPDATE run SET {', '.join(f'{name} = ?' for name in CHANGING_COLUMNS)} WHERE n = ?"


def append_one(transaction: Transaction, append: Append) -> Appended:
    """Append a batch that may pause, resume or end its run."""
    return _append_as(transaction, append, after_events)[1]


def start_next_attempt(transaction: Transaction, append: Append) -> NextAttempt:
    """Append the answers with which a waiting run resumes."""
    return NextAttempt(*_append_as(transaction, append, in_next_attempt))


def _append_as(
    transaction: Transaction, append: Append, change: Callable[..., Run]
) -> tuple[Run, Appended]:
    connection = transaction.connection
    try:
        n, chat, before = find_run(connection, append.run_id)
    except RunNotFound as error:  # deleted: its writer must stop
        raise Fenced(append.run_id, append.epoch) from error
    lease = transaction.queue if append.queue else transaction.lease
    run = change(before, append.epoch, append.events, lease, transaction.now)
    if run.status == "running" and before.status != "running":
        check_none_runs(transaction, chat)
    seqs = range(before.tail_seq + 1, run.tail_seq + 1)
    entries, events = _number(transaction, append, n, seqs)
    raw, (lines, size) = _raw_rows(transaction, append, n, seqs, (run.raw_lines, run.raw_bytes))
    _insert_many(connection, _EVENT, _EVENT_ROW, events)
    _insert_many(connection, "raw", _RAW_ROW, raw)
    run = replace(run, raw_lines=lines, raw_bytes=size)
    save_run(connection, n, run)
    add_permissions(connection, chat, append.permissions)
    if append.request is not None:
        add_request(transaction, n, replace(append.request, after=before.tail_seq))
    if run.status != before.status:
        connection.execute("UPDATE chat SET updated_at = ? WHERE n = ?", (transaction.now, chat))
    return run, Appended(run.id, Position(run.tail_seq, run.status), entries, append.size)


def save_run(connection: Connection, n: int, run: Run) -> None:
    connection.execute(_SAVE_RUN, [*changing_values(run), n])


def check_none_runs(transaction: Transaction, chat: int) -> None:
    """One running run per chat."""
    find = "SELECT id FROM run WHERE chat = ? AND status = 'running'"
    if row := transaction.connection.execute(find, (chat,)).fetchone():
        raise RunActive(row[0])


# Packing

_LEAST_ROWS = 16  # fewer are not worth packing

_SPAN = "run = ? AND last_seq > ? AND last_seq <= ?"
_ROWS = f"""
SELECT max(last_seq), json_group_array(count), json_group_array(ifnull(ids, first_id)),
    json_group_array(ifnull(times, ts)),
    CAST(group_concat(events, ',') AS BLOB)
FROM (SELECT * FROM event WHERE {_SPAN} ORDER BY last_seq)
HAVING count(*) >= {_LEAST_ROWS} AND sum(length(events)) <= 512 * sum(count)
"""
_DELETE_ROWS = f"DELETE FROM event WHERE {_SPAN}"
_ADD_PACKED = "INSERT INTO event VALUES (?, ?, ?, ?, NULL, CAST(? AS TEXT), ?, ?)"


def boundary(before: int, after: int) -> int | None:
    """The number of the event up to which a log that has grown by a few can be packed."""
    passed = after - after % EVENTS_PER_ROW
    return passed if before < passed and after - before < EVENTS_PER_ROW else None


def pack(connection: Connection, run: int, through: int) -> None:
    """Pack the last rows up to `through` into one, unless they are few, or big."""
    span = (run, through - EVENTS_PER_ROW, through)
    found = connection.execute(_ROWS, span).fetchone()
    if found is None:
        return
    last_seq, counts, ids, times, events = found
    ids, times = ids_of(counts, ids), times_of(counts, times)
    connection.execute(_DELETE_ROWS, span)
    is_dense = ids[-1] - ids[0] == len(ids) - 1  # as where no other run was written
    numbers = None if is_dense else _list(ids)
    row = (run, last_seq, len(ids), ids[0], regathered(events), numbers, _list(times))
    connection.execute(_ADD_PACKED, row)


def _list(numbers: Sequence[int | None]) -> str:
    return ",".join("null" if number is None else str(number) for number in numbers)
