"""Ends runs that no agent works at: those that wait and nobody wants, and those that were lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from mobox.errors import Fenced, MoboxError, NotFound
from mobox.events import Done, DoneReason, Error
from mobox.storage.log import Log, Run, RunId
from mobox.supervisor.scribe import Scribe
from mobox.turn import Answer

__all__ = ["Reaper", "Verdict"]

log = logging.getLogger("mobox.supervisor")

AT_ONCE: Final = 4
"""How many runs are ended at a time: each is read, and others want to read meanwhile."""
UNCLAIMED: Final = Error(
    message="No worker was available to execute this run.", code="not_executed"
)
NO_ROOM: Final = Error(message="No worker had capacity for this run in time.", code="no_room")


class Verdict(NamedTuple):
    """Why a run ends, where that is not for the agent to say."""

    reason: DoneReason
    error: Error | None = None


class Reaper:
    """Writes the last word.

    A store renews the leases of its runs as long as it is open: one that cannot be ended now would
    never be found by anybody else. So it is kept in mind here, and tried again.
    """

    def __init__(self, store: Log) -> None:
        self._store = store
        self._left: dict[RunId, tuple[Run, Verdict]] = {}

    async def cancel(self, run: Run, answers: tuple[Answer, ...] = ()) -> None:
        """End a run that waits, unless somebody has; what was answered is logged with the end."""
        with suppress(Fenced, NotFound):
            await self._end(run, Verdict("cancelled"), answers)

    async def withdraw(self, run: Run) -> None:
        """End a run that is queued, unless somebody has claimed it."""
        with suppress(Fenced):
            mine = await self._store.take_over(run.id, run.epoch)
            await self.end(mine, Verdict("cancelled"))

    async def end(self, run: Run, verdict: Verdict) -> None:
        """End a run whose lease is ours: now, or when the store can be written again."""
        self._left.pop(run.id, None)
        try:
            await self._end(run, verdict)
        except (Fenced, NotFound):
            log.info("run %s: not ended here, its lease was lost (taken over or deleted)", run.id)
        except MoboxError as error:
            log.warning("run %s: cannot end it yet, retrying: %s", run.id, error)
            self._left[run.id] = (run, verdict)
        except Exception:
            log.exception("run %s: internal error while ending it, retrying", run.id)
            self._left[run.id] = (run, verdict)

    async def sweep(self, executed: Container[RunId]) -> None:
        """End what was left, and what others have left; what is executed here is only late."""
        await _several_at_once(self.end, list(self._left.values()))
        lost = [run for run in await self._store.expired() if run.id not in executed]
        await _several_at_once(self._end_lost, [(run,) for run in lost])

    async def _end_lost(self, run: Run) -> None:
        with suppress(Fenced):  # somebody was faster
            was_busy = _was_queued(run) and await self._store.is_anybody_at_work()
            mine = await self._store.take_over(run.id, run.epoch)
            await self.end(mine, _loss(run, was_busy))

    async def _end(self, run: Run, verdict: Verdict, answers: tuple[Answer, ...] = ()) -> None:
        scribe = await Scribe.take_up(self._store, run)
        errors = [] if verdict.error is None else [verdict.error]
        await scribe.end(Done(reason=verdict.reason), *scribe.asked.settled(answers), *errors)


async def _several_at_once(
    work: Callable[..., Awaitable[None]], things: Iterable[tuple[Any, ...]]
) -> None:
    """Do it with each; one with which it cannot be done keeps no other from it."""
    seats = asyncio.Semaphore(AT_ONCE)

    async def do(thing: tuple[Any, ...]) -> None:
        async with seats:
            await work(*thing)

    broken = await asyncio.gather(*map(do, things), return_exceptions=True)
    for error in filter(None, broken):
        raise error


def _was_queued(run: Run) -> bool:
    """It was to be claimed, and nobody did."""
    return run.lease_owner is None


def _loss(run: Run, was_busy: bool) -> Verdict:
    in_vain = NO_ROOM if was_busy else UNCLAIMED
    return Verdict("lost", in_vain if _was_queued(run) else None)
