"""What other processes do with a run, as far as the store tells."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress

from mobox.errors import NotFound
from mobox.storage import Storage
from mobox.storage.log import Run, RunId
from mobox.supervisor.leg import Leg

__all__ = ["ends_elsewhere", "lost_elsewhere"]


async def ends_elsewhere(storage: Storage, owner: str, run_id: RunId, patience: float) -> bool:
    """Wait for the end of a run that somebody was asked to stop; false if nobody was."""
    with suppress(NotFound, TimeoutError):
        run = await storage.run(owner, run_id)
        if run.stop_requested_at is None:
            return False
        async with asyncio.timeout(patience):
            seq, status = run.tail_seq, run.status
            while status == "running":
                position = await storage.beyond(run_id, seq)
                seq, status = position.tail, position.status
    return True


async def lost_elsewhere(storage: Storage, legs: Collection[Leg]) -> list[Leg]:
    """Those whose runs others have taken over, answered, ended or deleted."""
    if not legs:
        return []
    found = await storage.still_there([leg.run.id for leg in legs])
    return [leg for leg in legs if not _is_ours(leg, found.get(leg.run.id))]


def _is_ours(leg: Leg, run: Run | None) -> bool:
    if run is None or run.epoch != leg.run.epoch:
        return False
    return run.status != "done" or not leg.waits
