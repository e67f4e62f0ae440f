"""Reads runs by their leases: those that are queued, executed, expired or left undone."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from mobox.storage.health import Load, load_of
from mobox.storage.log import Run, RunId
from mobox.storage.sqlite.database import Connection
from mobox.storage.tables import RUN, run_of

_PROCESSES = """
SELECT lease_owner FROM run WHERE status = 'running' AND lease_owner IS NOT NULL
UNION SELECT process FROM reader WHERE run IN (SELECT n FROM run WHERE status = 'running')
"""


def active_processes(connection: Connection) -> set[str]:
    """The processes that own leases of running runs, or have clients that read these."""
    return {process for (process,) in connection.execute(_PROCESSES)}


def expired_runs(connection: Connection, now: int) -> list[Run]:
    is_over = "run.status = 'running' AND run.lease_until <= ?"
    return _runs(connection, f"WHERE {is_over} ORDER BY run.n", now)


def load(connection: Connection, holder: str, now: int, queue_ms: int) -> Load:
    """The queued runs, and those that `holder` executes."""
    is_queued = "lease_owner IS NULL AND lease_until > ?2"
    find = (
        f"SELECT count(*) FILTER (WHERE {is_queued}), min(lease_until) FILTER (WHERE {is_queued}),"
        " count(*) FILTER (WHERE lease_owner = ?1) FROM run WHERE status = 'running'"
    )
    ((queued, first_until, leases),) = connection.execute(find, (holder, now))
    return load_of(queued, first_until, leases, now, queue_ms)


def has_queued_runs(connection: Connection, now: int) -> bool:
    """Whether there is a run to claim."""
    is_queued = "status = 'running' AND lease_owner IS NULL AND lease_until > ?"
    find = f"SELECT 1 FROM run WHERE {is_queued} LIMIT 1"
    return connection.execute(find, (now,)).fetchone() is not None


def has_active_worker(connection: Connection, now: int) -> bool:
    is_executed = "lease_owner IS NOT NULL AND lease_until > ? AND tail_seq > 0"
    find = f"SELECT 1 FROM run WHERE status = 'running' AND {is_executed} LIMIT 1"
    return connection.execute(find, (now,)).fetchone() is not None


def stopping_runs(connection: Connection, holder: str) -> list[Run]:
    ours = "run.lease_owner = ? AND run.stop_requested_at IS NOT NULL"
    return _runs(connection, f"WHERE run.status = 'running' AND {ours} ORDER BY run.n", holder)


_LEFT_WAITING = """
WHERE run.status != 'done' AND run.status = 'waiting' AND (
    run.stop_requested_at < :before OR EXISTS (
        SELECT 1 FROM run AS later
        WHERE later.chat = run.chat AND later.n > run.n AND later.started_at < :before
    )
) ORDER BY run.n
"""


def left_waiting(connection: Connection, before: int) -> list[Run]:
    rows = connection.execute(f"{RUN} {_LEFT_WAITING}", {"before": before})
    return [run_of(row) for row in rows]


def runs_still_there(connection: Connection, run_ids: Collection[RunId]) -> dict[RunId, Run]:
    ids = json.dumps([*run_ids])
    found = _runs(connection, "WHERE run.id IN (SELECT value FROM json_each(?))", ids)
    return {run.id: run for run in found}


def _runs(connection: Connection, where: str, value: Any) -> list[Run]:
    return [run_of(row) for row in connection.execute(f"{RUN} {where}", (value,))]
