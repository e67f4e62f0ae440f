"""The numbers of owners in PostgreSQL, each change a statement of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mobox.storage.owner_limits import MINUTE_MS, step_of, wait_of
from mobox.storage.postgres.database import Connection

_TAKE: Final = f"""
INSERT INTO owner_starts AS o (owner, full_at) VALUES ($1, $2::float8 + $3::float8)
ON CONFLICT (owner) DO UPDATE SET full_at = greatest(o.full_at, $2) + $3
WHERE greatest(o.full_at, $2) + $3 - $2 <= {MINUTE_MS}
RETURNING true
"""
_FULL_AT: Final = "SELECT full_at FROM owner_starts WHERE owner = $1"
_GIVE_BACK: Final = "UPDATE owner_starts SET full_at = full_at - $2::float8 WHERE owner = $1"
_COUNT: Final = """
INSERT INTO owner_streams (owner, process, count, until)
SELECT owner, $1, count, $4 FROM unnest($2::text[], $3::bigint[]) AS t (owner, count)
ORDER BY owner
ON CONFLICT (owner, process) DO UPDATE SET count = excluded.count, until = excluded.until
"""
_SUM: Final = "SELECT coalesce(sum(count), 0) FROM owner_streams WHERE owner = $1 AND until > $2"
_FORGET: Final = "DELETE FROM owner_streams WHERE process = $1 AND count = 0 OR until <= $2"


async def take_start(connection: Connection, owner: str, per_minute: int, now: int) -> float:
    """See `OwnerLimits`."""
    if await connection.fetchval(_TAKE, owner, float(now), step_of(per_minute)):
        return 0.0
    full_at = await connection.fetchval(_FULL_AT, owner)
    return wait_of(full_at or now, now, per_minute)


async def give_back_start(connection: Connection, owner: str, per_minute: int) -> None:
    """See `OwnerLimits`."""
    await connection.execute(_GIVE_BACK, owner, step_of(per_minute))


async def count_streams(
    connection: Connection, owner: str, here: int, process: str, now: int, until: int
) -> int:
    """See `OwnerLimits`."""
    await connection.execute(_COUNT, process, [owner], [here], until)
    return int(await connection.fetchval(_SUM, owner, now))


async def renew_streams(
    connection: Connection, counts: Mapping[str, int], process: str, now: int, until: int
) -> None:
    """See `OwnerLimits`."""
    await connection.execute(_COUNT, process, list(counts), list(counts.values()), until)
    await connection.execute(_FORGET, process, now)
