"""Finds out from the store what other processes did with a run."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress

from mobox.errors import NotFoundError
from mobox.storage import Storage
from mobox.storage.log import Run, RunId
from mobox.supervisor.attempt import Attempt


async def ends_remotely(storage: Storage, owner: str, run_id: RunId, seconds: float) -> bool:
    """Wait for the end of a run with a stop request; false if it has none."""
    with suppress(NotFoundError, TimeoutError):
        run = await storage.run(owner, run_id)
        if run.stop_requested_at is None:
            return False
        async with asyncio.timeout(seconds):
            seq, status = run.tail_seq, run.status
            while status == "running":
                position = await storage.beyond(run_id, seq)
                seq, status = position.tail, position.status
    return True


async def lost_remotely(storage: Storage, attempts: Collection[Attempt]) -> list[Attempt]:
    """The attempts whose runs other processes took over, answered, ended or deleted."""
    if not attempts:
        return []
    found = await storage.still_there([attempt.run.id for attempt in attempts])
    return [attempt for attempt in attempts if not _is_ours(attempt, found.get(attempt.run.id))]


def _is_ours(attempt: Attempt, run: Run | None) -> bool:
    if run is None or run.epoch != attempt.run.epoch:
        return False
    return run.status != "done" or not attempt.waits
