"""Appends to logs: the batches of many runs in one statement.

The statement is a transaction by itself, so that a process that hangs in the middle of one blocks
no other. It states the expected state of all its runs, as last read; if one differs, it changes
nothing, and the runs are read again. So it can be repeated when its outcome is unknown: it is done
once, and if it was done already, the runs are as it left them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mobox.errors import Fenced, MoboxError, RunActive
from mobox.events import LogEntry
from mobox.storage.encoding import Append, Appended, NextAttempt
from mobox.storage.log import Position, Run, RunId, keep_raw
from mobox.storage.permissions import Permission
from mobox.storage.postgres.database import storable
from mobox.storage.runs import Lease
from mobox.storage.tables import encode_frontend

Outcome = Appended | NextAttempt | Exception


class Job(NamedTuple):
    """A batch, and how it changes its run: `after_events` or `in_next_attempt`."""

    append: Append
    change: Callable[..., Run]


class Terms(NamedTuple):
    """The leases, the time and the limit under which runs are written."""

    lease: Lease
    queue: Lease
    now: int
    raw_bytes: int


class Found(Struct):
    """A run as read, and as it is to be written."""

    n: int
    chat: int
    was: Run
    run: Run

    @property
    def is_changed(self) -> bool:
        return self.run is not self.was


class _Placed(NamedTuple):
    """A batch with its place in its log, and the place of its first id among the new ones."""

    append: Append
    run: Run
    first_seq: int
    place: int


class Plan:
    """The new state of runs when batches are appended in order; nothing is written yet."""

    def __init__(self, found: dict[RunId, Found], running: dict[int, RunId], terms: Terms) -> None:
        self._found = found
        self._running = running
        """The running run of each chat that has one."""
        self._terms = terms
        self._results: list[_Placed | Exception] = []
        self._events: list[tuple[Any, ...]] = []
        self._raw: list[tuple[Any, ...]] = []
        self._permissions: list[tuple[Any, ...]] = []
        self._requests: list[tuple[Any, ...]] = []
        self._ids = 0

    def add(self, job: Job) -> None:
        """Add the next batch; one that cannot be appended fails alone."""
        try:
            self._results.append(self._place(job))
        except MoboxError as error:
            self._results.append(error)

    def _place(self, job: Job) -> _Placed:
        append = job.append
        found = self._found.get(append.run_id)
        if found is None:  # deleted: its writer must stop
            raise Fenced(append.run_id, append.epoch)
        before = found.run
        lease = self._terms.queue if append.queue else self._terms.lease
        run = job.change(before, append.epoch, append.events, lease, self._terms.now)
        self._check_alone(found.chat, before, run)
        first_seq = before.tail_seq + 1
        run = self._keep_raw(append, found.n, range(first_seq, run.tail_seq + 1), run)
        placed = _Placed(append, run, first_seq, self._ids + 1)
        self._keep_events(append, found.n, first_seq)
        self._permissions += [_permission_row(found.chat, each) for each in append.permissions]
        if append.request is not None:
            row = (found.n, append.request.name, before.tail_seq, encode_frontend(append.request))
            self._requests.append(row)
        if append.events or append.raw:
            found.run = run
        return placed

    def _check_alone(self, chat: int, before: Run, run: Run) -> None:
        """One running run per chat, also when a waiting one resumes."""
        if run.status == "running" and before.status != "running":
            if (other := self._running.get(chat)) is not None:
                raise RunActive(other)
            self._running[chat] = run.id
        elif run.status != "running" and self._running.get(chat) == run.id:
            del self._running[chat]

    def _keep_raw(self, append: Append, n: int, seqs: range, run: Run) -> Run:
        if not append.raw:
            return run
        tally = (run.raw_lines, run.raw_bytes)
        kept, (lines, size) = keep_raw(append.raw, seqs, tally, self._terms.raw_bytes)
        self._raw += [(n, raw.n, raw.line, raw.first_seq, raw.last_seq) for raw in kept]
        return replace(run, raw_lines=lines, raw_bytes=size)

    def _keep_events(self, append: Append, n: int, first_seq: int) -> None:
        last_seq = first_seq - 1
        for count, data in append.rows:
            last_seq += count
            self._events.append((n, last_seq, count, self._ids + 1, append.ts, data))
            self._ids += count

    # The statement's arguments and results

    @property
    def changed(self) -> list[Found]:
        """The runs that change."""
        return [found for found in self._found.values() if found.is_changed]

    @property
    def statement(self) -> str:
        """The statement that writes it. Most appends are only events."""
        return _WRITE_ALL if self._has_more else _WRITE

    @property
    def _has_more(self) -> bool:
        return bool(self._permissions or self._requests)

    def arguments(self) -> list[Any]:
        """The arguments of the statement."""
        changed = self.changed
        was = [[getattr(found.was, name) for found in changed] for name in STATE]
        now = [[getattr(found.run, name) for found in changed] for name in CHANGING]
        chats = {found.chat for found in changed if found.run.status != found.was.status}
        chats |= {chat for chat, *_ in self._permissions}
        return [
            [found.n for found in changed],
            *was,
            *now,
            *_columns(self._events, 6),
            *_columns(self._raw, 5),
            sorted(chats),
            self._terms.now,
            self._ids,
            *(_columns(self._permissions, 7) if self._has_more else ()),
            *(_columns(self._requests, 4) if self._has_more else ()),
        ]

    def places(self) -> list[list[int]]:
        """The written rows: runs, last `seq`s, and places among the new ids."""
        run, last_seq, _, place, *_ = _columns(self._events, 6)
        return [run, last_seq, place]

    def was_done(self, found: dict[RunId, Found]) -> bool:
        """Whether these runs, as read now, are as this plan leaves them.

        It is done whole or not at all, so one such run is enough.
        """
        changed = (
            (mine.run, found.get(run_id)) for run_id, mine in self._found.items() if mine.is_changed
        )
        return any(theirs is not None and _is_same(run, theirs.was) for run, theirs in changed)

    def outcomes(self, before: int | None) -> list[Outcome]:
        """The outcome of each batch, if the last id before theirs was `before`.

        That is unknown if all logs that got events were deleted meanwhile.
        """
        return [
            result if isinstance(result, Exception) else _outcome(result, before)
            for result in self._results
        ]


def _permission_row(chat: int, permission: Permission) -> tuple[Any, ...]:
    names = (permission.id, permission.agent, storable(permission.tool))
    return chat, *names, permission.text, permission.digest, permission.created_at


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]


def _is_same(run: Run, found: Run) -> bool:
    is_ours = run.lease_owner == found.lease_owner or run.status != "running"
    return is_ours and all(getattr(run, name) == getattr(found, name) for name in STATE)


def _outcome(placed: _Placed, before: int | None) -> Outcome:
    append, run, first_seq, place = placed
    count = len(append.events)
    if before is None and count:
        return Fenced(append.run_id, append.epoch)
    first_id = (before or 0) + place
    seqs, ids = range(first_seq, first_seq + count), range(first_id, first_id + count)
    entries = list(map(LogEntry, seqs, ids, repeat(append.ts), append.events))
    position = Position(first_seq + count - 1, run.status)
    appended = Appended(append.run_id, position, entries, append.size)
    return NextAttempt(run, appended) if run.epoch != append.epoch else appended


# The statement

STATE: Final = ("epoch", "tail_seq", "status", "raw_lines")
"""The columns that are compared to detect a change of a run."""
CHANGING: Final = {
    "epoch": "bigint",
    "tail_seq": "bigint",
    "status": "text",
    "raw_lines": "bigint",
    "raw_bytes": "bigint",
    "leg": "bigint",
    "lease_owner": "text",
    "lease_until": "bigint",
    "ended_at": "bigint",
    "reason": "text",
    "unstarted": "bigint",
}
_SEPARATE: Final = ("lease_owner", "lease_until", "unstarted")
"""These are also written separately: here only where the status changes."""


_TEMPLATE: Final = """
WITH expected AS (
    SELECT * FROM unnest({expected}) AS t (n, {was}, {changing})
), locked AS (
    SELECT n FROM chat WHERE n = ANY({chats}::bigint[]) ORDER BY n FOR NO KEY UPDATE
), mine AS (
    SELECT run.n FROM run JOIN expected ON expected.n = run.n
    WHERE (SELECT count(*) FROM locked) >= 0 AND {are_so}
    ORDER BY run.n FOR NO KEY UPDATE OF run
), taken AS (
    UPDATE counter SET value = value + {ids}::bigint
    WHERE name = 'entry' AND (SELECT count(*) FROM mine) = (SELECT count(*) FROM expected)
    RETURNING value - {ids}::bigint AS before
), events AS (
    INSERT INTO event (run, last_seq, count, first_id, ts, events)
    SELECT run, last_seq, count, before + place, ts, events
    FROM taken, unnest({events}) AS t (run, last_seq, count, place, ts, events)
), lines AS (
    INSERT INTO raw (run, n, line, first_seq, last_seq)
    SELECT t.* FROM taken, unnest({raw}) AS t (run, n, line, first_seq, last_seq)
), runs AS (
    UPDATE run SET {changes} FROM expected, taken WHERE run.n = expected.n
), touched AS (
    UPDATE chat SET updated_at = {now}::bigint FROM taken WHERE chat.n = ANY({chats}::bigint[])
){more}
SELECT before FROM taken
"""
"""Locks chats before runs, as all statements do; and the counter, which all need, last."""

_MORE: Final = """, allowed AS (
    INSERT INTO permission (chat, id, agent, tool, input, digest, created_at)
    SELECT t.* FROM taken, unnest({permissions}) AS t (chat, id, agent, tool, input, digest, at)
    ON CONFLICT DO NOTHING
), requests AS (
    INSERT INTO asking (run, name, after_seq, frontend)
    SELECT t.* FROM taken, unnest({requests}) AS t (run, name, after_seq, frontend)
)"""
_PERMISSION_TYPES: Final = ("bigint", "text", "text", "text", "bytea", "bytea", "bigint")
_REQUEST_TYPES: Final = ("bigint", "text", "bigint", "bytea")


def _statement(*, with_more: bool) -> str:
    numbers = iter(range(1, 100))

    def arrays(*types: str) -> str:
        return ", ".join(f"${next(numbers)}::{type_}[]" for type_ in types)

    more = _MORE if with_more else ""
    return _TEMPLATE.format(
        expected=arrays("bigint", *(CHANGING[name] for name in STATE), *CHANGING.values()),
        events=arrays("bigint", "bigint", "bigint", "bigint", "bigint", "bytea"),
        raw=arrays("bigint", "bigint", "bytea", "bigint", "bigint"),
        chats=f"${next(numbers)}",
        now=f"${next(numbers)}",
        ids=f"${next(numbers)}",
        was=", ".join(f"was_{name}" for name in STATE),
        changing=", ".join(CHANGING),
        are_so=" AND ".join(f"run.{name} = expected.was_{name}" for name in STATE),
        changes=", ".join(map(_change, CHANGING)),
        more=more.format(permissions=arrays(*_PERMISSION_TYPES), requests=arrays(*_REQUEST_TYPES)),
    )


def _change(name: str) -> str:
    if name not in _SEPARATE:
        return f"{name} = expected.{name}"
    kept = f"WHEN run.status = expected.status THEN run.{name}"
    return f"{name} = CASE {kept} ELSE expected.{name} END"


_WRITE: Final = _statement(with_more=False)
_WRITE_ALL: Final = _statement(with_more=True)
