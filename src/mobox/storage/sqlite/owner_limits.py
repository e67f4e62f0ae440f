"""The numbers of owners in SQLite: jobs of the writer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mobox.storage.owner_limits import MINUTE_MS, STREAM_SECONDS, step_of, wait_of
from mobox.storage.sqlite.database import Transaction

_TAKE: Final = f"""
INSERT INTO owner_starts AS o (owner, full_at) VALUES (?1, ?2 + ?3)
ON CONFLICT (owner) DO UPDATE SET full_at = max(o.full_at, ?2) + ?3
WHERE max(o.full_at, ?2) + ?3 - ?2 <= {MINUTE_MS}
RETURNING 1
"""
_FULL_AT: Final = "SELECT full_at FROM owner_starts WHERE owner = ?"
_GIVE_BACK: Final = "UPDATE owner_starts SET full_at = full_at - ? WHERE owner = ?"
_COUNT: Final = """
INSERT INTO owner_streams (owner, process, count, until) VALUES (?, ?, ?, ?)
ON CONFLICT (owner, process) DO UPDATE SET count = excluded.count, until = excluded.until
"""
_SUM: Final = "SELECT coalesce(sum(count), 0) FROM owner_streams WHERE owner = ? AND until > ?"
_FORGET: Final = "DELETE FROM owner_streams WHERE process = ? AND count = 0 OR until <= ?"


def take_start(transaction: Transaction, owner: str, per_minute: int) -> float:
    """See `OwnerLimits`."""
    connection, now = transaction.connection, transaction.now
    if connection.execute(_TAKE, (owner, float(now), step_of(per_minute))).fetchall():
        return 0.0
    ((full_at,),) = connection.execute(_FULL_AT, (owner,)).fetchall()
    return wait_of(full_at, now, per_minute)


def give_back_start(transaction: Transaction, owner: str, per_minute: int) -> None:
    """See `OwnerLimits`."""
    transaction.connection.execute(_GIVE_BACK, (step_of(per_minute), owner))


def count_streams(transaction: Transaction, owner: str, here: int) -> int:
    """See `OwnerLimits`."""
    _store(transaction, {owner: here})
    ((total,),) = transaction.connection.execute(_SUM, (owner, transaction.now)).fetchall()
    return int(total)


def renew_streams(transaction: Transaction, counts: Mapping[str, int]) -> None:
    """See `OwnerLimits`."""
    _store(transaction, counts)
    transaction.connection.execute(_FORGET, (transaction.lease.owner, transaction.now))


def _store(transaction: Transaction, counts: Mapping[str, int]) -> None:
    process, until = transaction.lease.owner, transaction.now + round(STREAM_SECONDS * 1000)
    rows = [(owner, process, count, until) for owner, count in counts.items()]
    transaction.connection.executemany(_COUNT, rows)
