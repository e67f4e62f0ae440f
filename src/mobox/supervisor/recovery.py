"""What happens to runs when processes die, or when other processes act on them.

Rule 1: a process that dies loses nothing that it has stored, whether or not it was sent: readers
        read the log again at another process.
Rule 2: when the leases of its running runs have expired, the reaper of another process queues those
        again whose agents did not get their turn, and ends the others as `lost`, once. An attempt
        that is still alive after that cannot append or start its agent any more (its epoch is old),
        and its own process ends it.
Rule 3: a waiting run needs no process. It stays `waiting`, and any process takes the answer.
Rule 4: polling continues after every failure.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Container, Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from mobox.errors import Fenced, MoboxError, NotFoundError, StorageError
from mobox.events import Done, Error
from mobox.events.turn import Answer
from mobox.storage import Storage
from mobox.storage.log import Log, Run, RunId
from mobox.storage.runs import can_be_requeued
from mobox.supervisor.attempt import Attempt
from mobox.supervisor.run_writer import RunWriter
from mobox.supervisor.states import State, Termination

log = logging.getLogger("mobox.supervisor")

Poll = Callable[[], Awaitable[object]]

AT_ONCE: Final = 4
"""How many runs are ended at a time: each log is read, and other requests need the database."""
UNCLAIMED: Final = Error(
    message="No worker was available to execute this run.", code="not_executed"
)
NO_ROOM: Final = Error(message="No worker had capacity for this run in time.", code="no_room")


# Runs without a process


class Reaper:
    """Appends the end of runs.

    A store renews the leases of its runs while it is open: no other process would find a run that
    could not be ended. So it is remembered here and retried.
    """

    def __init__(self, store: Log) -> None:
        self._store = store
        self._left: dict[RunId, tuple[Run, Termination]] = {}
        self._sweeping = asyncio.Lock()

    async def cancel(self, run: Run, answers: tuple[Answer, ...] = ()) -> None:
        """End a waiting run, unless another process has; `answers` are logged with the end."""
        with suppress(Fenced, NotFoundError):
            await self._end(run, Termination("cancelled"), answers)

    async def withdraw(self, run: Run) -> None:
        """End a run that nobody executes, unless another process has claimed it."""
        with suppress(Fenced):
            mine = await self._store.take_over(run.id, run.epoch)
            await self.end(mine, Termination("cancelled"))

    async def end(self, run: Run, termination: Termination) -> None:
        """End a run whose lease is ours: now, or when the database can be written again."""
        self._left.pop(run.id, None)
        try:
            await self._end(run, termination)
        except (Fenced, NotFoundError):
            log.info("run %s: not ended here, its lease was lost (taken over or deleted)", run.id)
        except MoboxError as error:
            log.warning("run %s: cannot end it yet, retrying: %s", run.id, error)
            self._left[run.id] = (run, termination)
        except Exception:
            log.exception("run %s: internal error while ending it, retrying", run.id)
            self._left[run.id] = (run, termination)

    async def sweep(self, executed: Container[RunId]) -> None:
        """Retry failed ends, and end runs with expired leases that are not executed here.

        One at a time: who calls this next finds those runs ended.
        """
        async with self._sweeping:
            await _several_at_once(self.end, list(self._left.values()))
            lost = [run for run in await self._store.expired() if run.id not in executed]
            await _several_at_once(self._end_lost, [(run,) for run in lost])

    async def _end_lost(self, run: Run) -> None:
        with suppress(Fenced):  # another process was faster
            error, why = None, f"process {run.lease_owner} stopped renewing its lease"
            if run.lease_owner is None and run.stop_requested_at is not None:
                await self.withdraw(run)
                return
            if run.lease_owner is not None and can_be_requeued(run):
                await self._begin_again(run, why)
                return
            if run.lease_owner is None:  # it waited to be claimed
                error = NO_ROOM if await self._store.has_active_worker() else UNCLAIMED
                why = error.message
            mine = await self._store.take_over(run.id, run.epoch)
            log.warning(
                "run %s (agent %s, owner %r): ending it as lost: %s",
                run.id,
                run.agent,
                run.owner,
                why,
            )
            await self.end(mine, Termination("lost", error))

    async def _begin_again(self, run: Run, why: str) -> None:
        """Queue a run whose agent did not get its turn, unless it was to be stopped."""
        if run.stop_requested_at is not None:
            await self.withdraw(run)
            return
        await self._store.requeue(run.id, run.epoch)
        log.warning(
            "run %s (agent %s, owner %r): queued again, its agent had not started: %s",
            run.id,
            run.agent,
            run.owner,
            why,
        )

    async def _end(
        self, run: Run, termination: Termination, answers: tuple[Answer, ...] = ()
    ) -> None:
        writer = await RunWriter.take_up(self._store, run)
        errors = [] if termination.error is None else [termination.error]
        await writer.end(
            Done(reason=termination.reason), *writer.input_requests.closing_events(answers), *errors
        )


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


# Runs of other processes


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
    return run.status != "done" or attempt.state is not State.WAITING


class Sweep(NamedTuple):
    """What is done once in a while, and its name in the log."""

    poll: Poll
    seconds: float
    name: str


class PollLoop:
    """Runs a frequent poll and independent slow sweeps; all go on after a failure."""

    def __init__(self, often: tuple[Poll, float], *seldom: Sweep) -> None:
        self._poll, self._seconds = often
        self._sweeps = seldom
        self._notified = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        sweeps = [asyncio.create_task(self._clean(sweep)) for sweep in self._sweeps]
        self._tasks = [asyncio.create_task(self._watch()), *sweeps]

    def soon(self) -> None:
        """Poll now: there was a notification. May be called before `start`."""
        self._notified.set()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _clean(self, sweep: Sweep) -> None:
        while True:
            await self._try(sweep.poll, sweep.name)
            await asyncio.sleep(sweep.seconds)

    async def _watch(self) -> None:
        while True:
            self._notified.clear()  # a later notification may come too late for this poll
            await self._try(self._poll, "polling for queued runs and stop requests")
            with suppress(TimeoutError):  # not `wait_for`, which can miss a cancellation
                async with asyncio.timeout(self._seconds):
                    await self._notified.wait()

    async def _try(self, poll: Poll, what: str) -> None:
        try:
            await poll()
        except StorageError as error:  # it may be reachable next time
            log.warning("%s failed, retrying: %s", what, error)
        except Exception:
            log.exception("%s failed, retrying", what)
