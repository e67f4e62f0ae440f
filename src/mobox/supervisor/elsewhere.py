"""What other processes do with a run, as far as the store tells."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from mobox.errors import NotFound
from mobox.storage import Storage
from mobox.storage.log import RunId
from mobox.supervisor.leg import Leg

__all__ = ["ends_elsewhere", "is_still_ours"]


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


async def is_still_ours(storage: Storage, leg: Leg) -> bool:
    """Whether nobody has taken the run over, answered it, ended it or deleted it."""
    try:
        run = await storage.run(leg.run.owner, leg.run.id)
    except NotFound:
        return False
    is_ended_by_others = run.status == "done" and leg.waits
    return run.epoch == leg.run.epoch and not is_ended_by_others
