"""The thread that writes: it commits the jobs of all runs in one transaction.

Rule 1: a caller gets its result after the commit, never before.
Rule 2: a failed job is rolled back alone; a failed commit fails all jobs in it.
Rule 3: an idle writer commits at once. A busy one waits a little to collect more jobs: a commit
        costs the same for one batch as for a hundred.
Rule 4: while another process locks the file, appends wait, in order: agents are paused, and nothing
        is lost. All other jobs fail with `StorageUnavailable`.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from mobox.errors import (
    MoboxError,
    StorageError,
    StorageFull,
    StorageUnavailable,
    WriteRefused,
)
from mobox.settings import Settings
from mobox.storage.encoding import Append
from mobox.storage.health import LARGE
from mobox.storage.log import RunId
from mobox.storage.renewals import Renewal, acts_until, since_boot
from mobox.storage.retry import Backoff
from mobox.storage.sqlite.appends import append_all, append_one
from mobox.storage.sqlite.database import Transaction, write_little, write_much

Work = Callable[[Transaction], Any]

log = logging.getLogger("mobox.storage")

_MOST_JOBS = 1000
_LOCKED_DELAYS = (0.02, 0.1)
_RENEW_AGAIN = 1.0
"""After how many seconds a failed renewal of leases is retried."""
_LEAST_SPACING = 0.00025
_MOST_SPACING = 0.002
_STOPPED = "the database writer has stopped"
_RENEW = """
UPDATE run SET lease_until = ? WHERE lease_owner = ? AND status = 'running' RETURNING id, epoch
"""

# Errors that the data of one job can cause; any other is a bug and ends the thread.
_REFUSALS = (MoboxError, sqlite3.Error, ValueError, TypeError, OverflowError)


class _Job(NamedTuple):
    work: Append | Work
    future: asyncio.Future[Any]


class Writer:
    """Owns the connection that writes, and renews the leases of the runs written here."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        settings: Settings,
        holder: str,
        on_commit: Callable[[Iterable[object]], None],
        on_renewal: Callable[[Renewal], None],
    ) -> None:
        self._connection = connection
        self._path = path
        self._settings = settings
        self._holder = holder
        self._on_commit = on_commit
        self._on_renewal = on_renewal
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._spacing = 0.0
        self._renew_at = 0.0
        self._is_locked = False
        self.can_write = True
        """Whether the last transaction was committed."""
        self._was_full = False
        self._thread = threading.Thread(target=self._serve, name="mobox-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Append | Work) -> asyncio.Future[Any]:
        """Do this in the next transaction; the future has its result after the commit."""
        if not self._is_open:
            raise StorageError("the store is closed")
        future = self._loop.create_future()
        self._jobs.put(_Job(work, future))
        return future

    async def check(self) -> None:
        """Return once a write is committed; raises `StorageError` with the reason."""
        if self._was_full:
            await self.submit(partial(write_much, size=LARGE))
            await self.submit(partial(write_much, size=0))
            self._was_full = False
        await self.submit(write_little)

    async def close(self) -> None:
        """Do what was submitted, then stop."""
        if self._is_open:
            self._is_open = False
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    # In the thread

    def _serve(self) -> None:
        try:
            while (jobs := self._next_jobs()) is not None:
                self._insist(jobs)
                self._wait_for_more(len(jobs))
        finally:
            self._is_open = False
            self._connection.close()
            self._deliver(_all_fail(self._drain()))

    def _next_jobs(self) -> list[_Job] | None:
        """The next jobs; an empty list to renew the leases, `None` to stop."""
        try:
            first = self._jobs.get(timeout=max(0.0, self._renew_at - time.monotonic()))
        except Empty:
            return []
        if first is None:
            return None
        return [first, *self._drain()]

    def _drain(self) -> Iterator[_Job]:
        for _ in range(_MOST_JOBS):
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return
            if job is None:
                self._jobs.put(None)
                return
            yield job

    def _wait_for_more(self, done: int) -> None:
        if done > 1:
            self._spacing = min(_MOST_SPACING, max(_LEAST_SPACING, self._spacing * 2))
        else:
            self._spacing = self._spacing / 2 if self._spacing > _LEAST_SPACING else 0.0
        if self._spacing:
            time.sleep(self._spacing)

    def _insist(self, jobs: Sequence[_Job]) -> None:
        """Commit the jobs; appends are retried however long another process writes."""
        left, backoff = self._commit(jobs), Backoff(*_LOCKED_DELAYS)
        while left and self._is_open:
            time.sleep(backoff.delay())
            left = self._commit([*left, *self._drain()])
        self._deliver(_all_away(left))

    def _commit(self, jobs: Sequence[_Job]) -> list[_Job]:
        """Do the jobs in one transaction; return those to retry."""
        began = since_boot()
        transaction = Transaction(self._connection, self._settings, self._holder)
        outcomes = _all_fail(jobs)  # if a bug ends the thread here
        again: list[_Job] = []
        try:
            transaction.begin()
            renewed = self._renew_leases(transaction)
            done = list(_do_all(transaction, jobs))
            transaction.commit()
            outcomes = done
            self.can_write = True
            if renewed is not None:
                self._publish(Renewal(acts_until(began, self._settings.lease), renewed))
            self._note_free()
        except sqlite3.Error as error:
            transaction.roll_back()
            self.can_write = False
            outcomes = _all_fail(jobs, partial(_failure, error, StorageError))
            if _is_locked(error):
                self._warn_of_lock()
                again = [job for job in jobs if isinstance(job.work, Append)]
                outcomes = _all_away(job for job in jobs if not isinstance(job.work, Append))
            else:
                self._put_off_renewal(error)
        finally:
            if any(isinstance(outcome, StorageFull) for _, outcome in outcomes):
                self._was_full = True
            self._deliver(outcomes)
        return again

    def _warn_of_lock(self) -> None:
        if not self._is_locked:
            log.warning(
                "database %s is locked by another process; agents wait until it is free",
                self._path,
            )
        self._is_locked = True

    def _note_free(self) -> None:
        if self._is_locked:
            log.info("database %s is free again", self._path)
        self._is_locked = False

    def _renew_leases(self, transaction: Transaction) -> dict[RunId, int] | None:
        """Renew them if it is time to; returns the epochs of the runs."""
        if time.monotonic() < self._renew_at:
            return None
        lease = transaction.lease
        renewed = self._connection.execute(_RENEW, (lease.until, lease.owner)).fetchall()
        self._renew_at = time.monotonic() + self._settings.lease / 3
        return dict(renewed)

    def _put_off_renewal(self, error: sqlite3.Error) -> None:
        log.error("cannot write to %s: %s", self._path, error)
        self._renew_at = time.monotonic() + min(_RENEW_AGAIN, self._settings.lease / 3)

    def _publish(self, renewal: Renewal) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_renewal, renewal)

    def _deliver(self, outcomes: Sequence[tuple[_Job, Any]]) -> None:
        """Wake the event loop once for all outcomes."""
        if outcomes and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._resolve, outcomes)

    # In the loop

    def _resolve(self, outcomes: Sequence[tuple[_Job, Any]]) -> None:
        self._on_commit(outcome for _, outcome in outcomes)
        for job, outcome in outcomes:
            if job.future.done():
                continue  # the caller was cancelled
            if isinstance(outcome, BaseException):
                job.future.set_exception(outcome)
            else:
                job.future.set_result(outcome)


def _all_fail(
    jobs: Iterable[_Job], problem: Callable[[], StorageError] = lambda: StorageError(_STOPPED)
) -> list[tuple[_Job, Any]]:
    return [(job, problem()) for job in jobs]


def _failure(error: sqlite3.Error, usual: type[StorageError]) -> StorageError:
    is_full = _code(error) == sqlite3.SQLITE_FULL
    return (StorageFull if is_full else usual)(f"cannot write to the database: {error}")


def _all_away(jobs: Iterable[_Job]) -> list[tuple[_Job, Any]]:
    why = "the file is locked by another process"
    return [(job, StorageUnavailable(why)) for job in jobs]


def _is_locked(error: sqlite3.Error) -> bool:
    return _code(error) == sqlite3.SQLITE_BUSY


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _do_all(transaction: Transaction, jobs: Sequence[_Job]) -> Iterator[tuple[_Job, Any]]:
    """Do jobs in order, consecutive appends together."""
    for is_append, together in groupby(jobs, key=lambda job: isinstance(job.work, Append)):
        group = list(together)
        if is_append:
            appends = [job.work for job in group if isinstance(job.work, Append)]
            yield from zip(group, _append(transaction, appends), strict=True)
        else:
            yield from ((job, _do(transaction, job.work)) for job in group if callable(job.work))


def _append(transaction: Transaction, appends: Sequence[Append]) -> Sequence[Any]:
    def one_by_one(append: Append) -> Any:
        return _do(transaction, lambda _: append_one(transaction, append))

    return append_all(transaction, appends, one_by_one)


def _do(transaction: Transaction, work: Work) -> Any:
    try:
        with transaction.alone():
            return work(transaction)
    except _REFUSALS as error:
        if not transaction.connection.in_transaction:
            raise
        return _failure(error, WriteRefused) if isinstance(error, sqlite3.Error) else error
