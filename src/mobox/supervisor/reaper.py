"""Ends runs that have no process: cancelled waiting runs, and runs whose owner died."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from mobox.errors import Fenced, MoboxError, NotFoundError
from mobox.events import Done, DoneReason, Error
from mobox.events.turn import Answer
from mobox.storage.log import Log, Run, RunId
from mobox.supervisor.run_writer import RunWriter

log = logging.getLogger("mobox.supervisor")

AT_ONCE: Final = 4
"""How many runs are ended at a time: each log is read, and other requests need the database."""
UNCLAIMED: Final = Error(
    message="No worker was available to execute this run.", code="not_executed"
)
NO_ROOM: Final = Error(message="No worker had capacity for this run in time.", code="no_room")


class Termination(NamedTuple):
    """How a run ends, where the agent does not determine it."""

    reason: DoneReason
    error: Error | None = None


class Reaper:
    """Appends the end of runs.

    A store renews the leases of its runs while it is open: no other process would find a run that
    could not be ended. So it is remembered here and retried.
    """

    def __init__(self, store: Log) -> None:
        self._store = store
        self._left: dict[RunId, tuple[Run, Termination]] = {}

    async def cancel(self, run: Run, answers: tuple[Answer, ...] = ()) -> None:
        """End a waiting run, unless another process has; `answers` are logged with the end."""
        with suppress(Fenced, NotFoundError):
            await self._end(run, Termination("cancelled"), answers)

    async def withdraw(self, run: Run) -> None:
        """End a queued run, unless another process has claimed it."""
        with suppress(Fenced):
            mine = await self._store.take_over(run.id, run.epoch)
            await self.end(mine, Termination("cancelled"))

    async def end(self, run: Run, verdict: Termination) -> None:
        """End a run whose lease is ours: now, or when the database can be written again."""
        self._left.pop(run.id, None)
        try:
            await self._end(run, verdict)
        except (Fenced, NotFoundError):
            log.info("run %s: not ended here, its lease was lost (taken over or deleted)", run.id)
        except MoboxError as error:
            log.warning("run %s: cannot end it yet, retrying: %s", run.id, error)
            self._left[run.id] = (run, verdict)
        except Exception:
            log.exception("run %s: internal error while ending it, retrying", run.id)
            self._left[run.id] = (run, verdict)

    async def sweep(self, executed: Container[RunId]) -> None:
        """Retry failed ends, and end runs with expired leases that are not executed here."""
        await _several_at_once(self.end, list(self._left.values()))
        lost = [run for run in await self._store.expired() if run.id not in executed]
        await _several_at_once(self._end_lost, [(run,) for run in lost])

    async def _end_lost(self, run: Run) -> None:
        with suppress(Fenced):  # another process was faster
            was_busy = _was_queued(run) and await self._store.has_active_worker()
            mine = await self._store.take_over(run.id, run.epoch)
            await self.end(mine, _loss(run, was_busy))

    async def _end(self, run: Run, verdict: Termination, answers: tuple[Answer, ...] = ()) -> None:
        writer = await RunWriter.take_up(self._store, run)
        errors = [] if verdict.error is None else [verdict.error]
        await writer.end(Done(reason=verdict.reason), *writer.asked.settled(answers), *errors)


async def _several_at_once(
    work: Callable[..., Awaitable[None]], things: Iterable[tuple[Any, ...]]
) -> None:
    """Do the work for each; a failure does not keep the others from it."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def do(thing: tuple[Any, ...]) -> None:
        async with slots:
            await work(*thing)

    broken = await asyncio.gather(*map(do, things), return_exceptions=True)
    for error in filter(None, broken):
        raise error


def _was_queued(run: Run) -> bool:
    """Whether it waited to be claimed."""
    return run.lease_owner is None


def _loss(run: Run, was_busy: bool) -> Termination:
    error = NO_ROOM if was_busy else UNCLAIMED
    return Termination("lost", error if _was_queued(run) else None)
