"""Keeps agents to the leases of their runs.

Rule 1: an agent may act while this process owns its run for certain. Each renewal of the leases
        moves the deadline of every process that runs here; its keeper freezes it at the deadline,
        without asking this process, which may hang (sandbox/keeper.py).
Rule 2: only a run that has kept its epoch gets a new deadline, and goes on if it was frozen. So an
        outage of the database ends no run, and no agent acts beside another one of its chat.
Rule 3: a run that waits for an answer has no lease. Its process is frozen with the others, and goes
        on once the store has shown that nobody has answered elsewhere.
Rule 4: functions of this program cannot be frozen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from mobox.capture.execution import Execution
from mobox.capture.process import ProcessExecution
from mobox.errors import StorageError
from mobox.storage import Storage
from mobox.storage.log import Run
from mobox.storage.renewals import Renewal, since_boot
from mobox.supervisor.attempt import Attempt
from mobox.supervisor.attempts import Attempts
from mobox.supervisor.states import LEAVING

log = logging.getLogger("mobox.supervisor")


class RunLease:
    """Until when the processes of an attempt may act."""

    def __init__(self, until: float) -> None:
        self._until = until
        self._execution: Execution | None = None

    @property
    def overdue(self) -> float:
        """For how many seconds it has been over; 0 if it is not."""
        return max(0.0, since_boot() - self._until)

    def is_frozen(self) -> bool:
        """Whether its process has been frozen."""
        return self.overdue > 0 and isinstance(self._execution, ProcessExecution)

    def bind(self, execution: Execution) -> None:
        """It holds for this process from now on: call it before that gets its turn."""
        self._execution = execution
        self._send()

    def extend(self, until: float) -> None:
        """The lease was renewed."""
        self._until = max(until, self._until)
        self._send()

    def _send(self) -> None:
        if isinstance(self._execution, ProcessExecution):
            self._execution.run_until(self._until)


class Leases:
    """The leases of all attempts in this process."""

    def __init__(self, storage: Storage, attempts: Attempts) -> None:
        self._storage = storage
        self._attempts = attempts
        self._held: dict[Attempt, RunLease] = {}
        self._check: asyncio.Task[None] | None = None
        storage.when_renewed(self._on_renewal)

    def of(self, run: Run) -> RunLease:
        """The lease of a run that this process has just got."""
        return RunLease(self._storage.acts_until(run))

    def hold(self, attempt: Attempt, lease: RunLease) -> None:
        """Extend the lease of this attempt at each renewal, as long as it is executed."""
        self._held[attempt] = lease
        attempt.is_frozen = lease.is_frozen

    def close(self) -> None:
        """Extend none any more."""
        if self._check is not None:
            self._check.cancel()

    def _on_renewal(self, renewal: Renewal) -> None:
        executed = set(self._attempts.all)
        self._held = {
            attempt: lease for attempt, lease in self._held.items() if attempt in executed
        }
        others: list[Attempt] = []
        frozen = 0
        for attempt, lease in self._held.items():
            if renewal.epochs.get(attempt.run.id) == attempt.run.epoch:
                frozen += lease.is_frozen()
                _extend(attempt, lease, renewal.until)
            else:
                others.append(attempt)
        if frozen:
            log.warning(
                "leases were not renewed in time: %d agents were frozen, and go on now", frozen
            )
        if others and (self._check is None or self._check.done()):
            self._check = asyncio.create_task(self._check_others(others, renewal.until))

    async def _check_others(self, attempts: Collection[Attempt], until: float) -> None:
        """Extend those that only wait, or exit; end those whose runs others have."""
        try:
            found = await self._storage.still_there([attempt.run.id for attempt in attempts])
        except StorageError:  # the next renewal checks it again
            return
        for attempt in attempts:
            run, lease = found.get(attempt.run.id), self._held.get(attempt)
            if lease is None:
                continue
            if _is_owned(attempt, run, lease):
                _extend(attempt, lease, until)
            elif attempt.state not in LEAVING:
                log.info("run %s: not ours any more; ending its process here", attempt.run.id)
                attempt.end_at_once()


def _is_owned(attempt: Attempt, run: Run | None, lease: RunLease) -> bool:
    """Whether nobody else can have started an agent of the chat."""
    if run is None or run.epoch != attempt.run.epoch:
        return False
    # A run that has ended lets the next one begin anywhere: its process may only finish its exit.
    return run.status != "done" or not lease.overdue


def _extend(attempt: Attempt, lease: RunLease, until: float) -> None:
    before = lease.overdue
    lease.extend(until)
    attempt.skip_time(before - lease.overdue)  # several renewals may come at once, late
