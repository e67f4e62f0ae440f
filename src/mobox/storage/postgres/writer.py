"""The task that writes logs: it commits the batches of all runs of this process together.

Rule 1: a caller gets its result after the commit, never before.
Rule 2: a batch that cannot be appended fails alone.
Rule 3: while the database is unreachable, appends wait and are retried in order. So agents are
        paused, and nothing is lost. Once it is back, a writer continues even if its lease expired,
        unless another process took its run over meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import asyncpg

from mobox.errors import StorageError, WrongPooler
from mobox.settings import Settings
from mobox.storage.encoding import Append
from mobox.storage.health import LARGE, any_value
from mobox.storage.log import Run, RunId
from mobox.storage.postgres.appends import Found, Job, Outcome, Plan, Terms
from mobox.storage.postgres.database import (
    NOW,
    TROUBLE,
    Connection,
    DatabaseClock,
    Retries,
    is_away,
    reason_of,
)
from mobox.storage.postgres.sessions import Sessions
from mobox.storage.renewals import Renewal, acts_until, since_boot
from mobox.storage.runs import after_events
from mobox.storage.tables import RUN, run_of

log = logging.getLogger("mobox.storage")

_MOST_JOBS: Final = 1000
_MOST_BYTES: Final = 8 * 1024 * 1024
_MOST_KNOWN: Final = 10_000
_RENEW_AGAIN: Final = 1.0
"""After how many seconds a failed renewal of leases is retried."""
_RENEW: Final = f"""
WITH renewed AS (
    UPDATE run SET lease_until = coalesce($1::bigint, {NOW}) + $2
    WHERE lease_owner = $3 AND status = 'running' RETURNING id, epoch
)
SELECT {NOW}, array_agg(id), array_agg(epoch) FROM renewed
"""
_RUNNING: Final = "SELECT chat, id FROM run WHERE chat = ANY($1) AND status = 'running'"
_BEFORE: Final = """
SELECT first_id - place FROM event JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[])
    AS t (run, last_seq, place) USING (run, last_seq) LIMIT 1
"""
_WRITE: Final = """
INSERT INTO write_check AS c (name, value{column}) VALUES ('{name}', $1{value})
ON CONFLICT (name) DO UPDATE SET value = $1{change}
"""
_WRITE_LITTLE: Final = (
    _WRITE.format(name="little", column="", value="", change="") + "RETURNING pg_backend_pid()"
)
_WRITE_MUCH: Final = _WRITE.format(
    name="much", column=", bytes", value=", $2::bytea", change=", bytes = $2"
)


class _Waiting(NamedTuple):
    job: Job
    future: asyncio.Future[Any]


class Writer:
    """Owns the connection that writes logs, and renews the leases of the runs written here."""

    def __init__(  # noqa: PLR0913
        self,
        sessions: Sessions,
        clock: DatabaseClock,
        settings: Settings,
        holder: str,
        on_commit: Callable[[Iterable[object]], None],
        connection: Connection,
        on_renewal: Callable[[Renewal], None],
    ) -> None:
        self._sessions = sessions
        self._clock = clock
        self._settings = settings
        self._holder = holder
        self._on_commit = on_commit
        self._on_renewal = on_renewal
        self._jobs: deque[_Waiting] = deque()
        self._there_is_more = asyncio.Event()
        self._is_open = True
        self._renew_at = self._next_renewal()
        self._connection: Connection | None = connection
        self.is_away = False
        """Whether the database was unreachable at the last try."""
        self._known: dict[RunId, Found] = {}
        self._checks: list[asyncio.Future[None]] = []
        self._checked: tuple[Connection, int] | None = None  # and the process that serves it
        self._task = asyncio.create_task(self._serve())

    async def check(self) -> None:
        """Return once a write is committed; raises `StorageError` with the reason."""
        if not self._is_open:
            raise StorageError("the store is closed")
        future = asyncio.get_running_loop().create_future()
        self._checks.append(future)
        self._there_is_more.set()
        await future

    def submit(
        self, append: Append, change: Callable[..., Run] = after_events
    ) -> asyncio.Future[Any]:
        """Append a batch with the next commit; the future has its outcome afterwards."""
        if not self._is_open:
            raise StorageError("the store is closed")
        future = asyncio.get_running_loop().create_future()
        self._jobs.append(_Waiting(Job(append, change), future))
        self._there_is_more.set()
        return future

    async def close(self) -> None:
        """Append what was submitted, if the database is reachable soon; then stop."""
        self._is_open = False
        self._there_is_more.set()
        await asyncio.wait([self._task], timeout=self._settings.busy_seconds)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    # The task

    async def _serve(self) -> None:
        taken: list[_Waiting] = []
        try:
            while self._is_open or self._jobs:
                await self._wait_for_more()
                taken = self._take()
                if taken or self._is_renewal_due():  # else a writer need not connect
                    outcomes = await self._insist(_Group([waiting.job for waiting in taken]))
                    self._resolve(taken, outcomes)
                    taken = []
                if self._checks:
                    await self._check()
        finally:
            self._is_open = False
            self._drop_connection()
            left = [*taken, *self._jobs]
            stopped = StorageError("the database writer has stopped")
            self._resolve(left, [stopped] * len(left))
            self._resolve_checks(stopped)

    async def _wait_for_more(self) -> None:
        """Wait until there is something to append, or the leases have to be renewed."""
        if not self._jobs and not self._checks and self._is_open:
            self._there_is_more.clear()
            left = max(0.0, self._renew_at - time.monotonic())
            try:
                async with asyncio.timeout(left):
                    await self._there_is_more.wait()
            except TimeoutError:
                return

    def _take(self) -> list[_Waiting]:
        taken: list[_Waiting] = []
        size = 0
        while self._jobs and len(taken) < _MOST_JOBS and size < _MOST_BYTES:
            taken.append(self._jobs.popleft())
            size += taken[-1].job.append.size
        return taken

    def _resolve(self, waiting: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
        self._on_commit(outcomes)
        for (_, future), outcome in zip(waiting, outcomes, strict=True):
            if future.done():
                continue  # the caller was cancelled
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def _resolve_checks(self, error: StorageError | None = None) -> None:
        checks, self._checks = self._checks, []
        for future in checks:
            if future.done():
                continue  # its caller waits no more
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    # Writing

    async def _check(self) -> None:
        """Write something for those who ask whether that is possible; tried once."""
        try:
            async with asyncio.timeout(self._settings.busy_seconds):
                connection = await self._connected()
                if self.is_away:
                    await self._renew_leases(connection)
                await self._write_something(connection)
        except WrongPooler as error:
            self._resolve_checks(error)
        except TROUBLE as error:
            if is_away(error) and not isinstance(error, asyncpg.DiskFullError):
                self._lose(error)
            else:  # what is smaller may still be written
                self._sessions.note_error(error)
                self._resolve_checks(reason_of(error, f"cannot write to the database: {error}"))
        else:
            self._note_write()
            self._resolve_checks()

    async def _write_something(self, connection: Connection) -> None:
        """Raises `WrongPooler` if another process of the server serves our connection now."""
        if self._sessions.was_full:
            await connection.execute(_WRITE_MUCH, any_value(), secrets.token_bytes(LARGE))
            await connection.execute(_WRITE_MUCH, any_value(), None)
            self._sessions.was_full = False
        process = await connection.fetchval(_WRITE_LITTLE, any_value())
        before, self._checked = self._checked, (connection, process)
        if before is not None and before[0] is connection and before[1] != process:
            raise WrongPooler

    async def _connected(self) -> Connection:
        connection = self._connection
        if connection is None or connection.is_closed():
            connection = self._connection = await self._sessions.connect_writer()
        return connection

    async def _insist(self, group: _Group) -> list[Outcome]:
        """Write the batches, however long it takes."""
        retries = Retries()
        while True:
            try:
                async with asyncio.timeout(self._settings.busy_seconds):
                    return await self._write(group)
            except Exception as error:
                self._known.clear()
                if is_away(error):
                    self._lose(error)
                elif not isinstance(error, asyncpg.PostgresError):
                    raise
                if not retries.allow(error):
                    return await self._one_by_one(group, error)
            await retries.wait()

    async def _write(self, group: _Group) -> list[Outcome]:
        connection = await self._connected()
        if self.is_away or self._is_renewal_due():
            await self._renew_leases(connection)
        clock = self._clock
        lease, queue = clock.lease(self._holder), clock.queue()
        terms = Terms(lease, queue, clock.now(), self._settings.raw_bytes)
        outcomes = await group.write(connection, self._known, terms) if group.jobs else []
        self._note_write()
        return outcomes

    def _note_write(self) -> None:
        if self.is_away:
            self.is_away = False
            self._sessions.trouble = None
            self._sessions.steadiness.note_trouble()  # it was unreachable until now
            log.info("database can be written again")

    async def _renew_leases(self, connection: Connection) -> None:
        values = (self._clock.given, self._clock.lease_ms, self._holder)
        began, until = self._clock.seconds(), acts_until(since_boot(), self._settings.lease)
        try:
            now, ids, epochs = await connection.fetchrow(_RENEW, *values)
        except asyncpg.PostgresError as error:
            if is_away(error):
                raise
            self._put_off_renewal(error)  # appends may still succeed
        else:
            self._clock.set(now, began)
            self._renew_at = self._next_renewal()
            self._on_renewal(Renewal(until, dict(zip(ids or (), epochs or (), strict=True))))

    def _put_off_renewal(self, error: Exception) -> None:
        log.error("cannot renew leases, the database returned an error: %s", error)
        self._renew_at = time.monotonic() + _RENEW_AGAIN

    def _is_renewal_due(self) -> bool:
        return time.monotonic() >= self._renew_at

    def _next_renewal(self) -> float:
        return time.monotonic() + self._settings.lease / 3

    async def _one_by_one(self, group: _Group, error: Exception) -> list[Outcome]:
        """Write each batch alone, so that only those fail that the database rejects."""
        if not group.jobs:
            self._put_off_renewal(error)
            return []
        if len(group.jobs) > 1:
            return [outcome for part in group.parts() for outcome in await self._insist(part)]
        run_id = group.jobs[0].append.run_id
        log.error("run %s: cannot append, the database returned an error: %s", run_id, error)
        return [StorageError(f"cannot write to the database: {error}")]

    def _lose(self, error: Exception) -> None:
        if not self.is_away:
            self.is_away = True
            why = f"{type(error).__name__}: {error}"
            log.warning("database unavailable, agents wait until it can be written: %s", why)
        self._sessions.note_error(error)
        self._resolve_checks(reason_of(error))
        self._sessions.steadiness.note_trouble()
        self._drop_connection()

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


class _Doubt(NamedTuple):
    """A plan with an unknown outcome, and the place of our first job in it."""

    plan: Plan
    place: int


class _Group:
    """Batches written together."""

    def __init__(self, jobs: Sequence[Job], inherited: _Doubt | None = None) -> None:
        self.jobs = jobs
        self._inherited = inherited
        """The group they were split from; a slow server may still execute it."""
        self._doubt: _Doubt | None = None

    def parts(self) -> list[_Group]:
        """Each batch alone."""
        plan = None if self._doubt is None else self._doubt.plan
        doubts = [None if plan is None else _Doubt(plan, n) for n, _ in enumerate(self.jobs)]
        return [_Group([job], doubt) for job, doubt in zip(self.jobs, doubts, strict=True)]

    async def write(
        self, connection: Connection, known: dict[RunId, Found], terms: Terms
    ) -> list[Outcome]:
        while True:
            found = self._remembered(known) or await self._find(connection)
            for doubt in self._doubts():
                if doubt.plan.was_done(found):
                    return await self._settled(connection, doubt)
            plan = await self._plan(connection, found, terms)
            if not plan.changed:
                return plan.outcomes(0)
            before = await self._try(connection, plan)
            if before is not None:
                _remember(known, plan)
                return plan.outcomes(before)
            known.clear()  # another process has changed one of these runs

    def _remembered(self, known: dict[RunId, Found]) -> dict[RunId, Found] | None:
        """The runs as we last wrote them, if all batches only append to running ones."""
        names = {job.append.run_id for job in self.jobs}
        is_plain = all(job.append.is_plain and job.change is after_events for job in self.jobs)
        if not is_plain or self._doubts() or not names <= known.keys():
            return None
        if any(known[job.append.run_id].run.epoch != job.append.epoch for job in self.jobs):
            return None  # it was lost and claimed again
        return {name: _fresh(known[name]) for name in names}

    async def _find(self, connection: Connection) -> dict[RunId, Found]:
        names = list({job.append.run_id for job in self.jobs})
        rows = await connection.fetch(f"{RUN} WHERE run.id = ANY($1)", names)
        runs = [(row[0], row[1], run_of(row)) for row in rows]
        return {run.id: Found(n, chat, run, run) for n, chat, run in runs}

    async def _plan(self, connection: Connection, found: dict[RunId, Found], terms: Terms) -> Plan:
        chats = list({each.chat for each in found.values() if each.was.status == "waiting"})
        running = await connection.fetch(_RUNNING, chats) if chats else []
        plan = Plan(found, dict(map(tuple, running)), terms)
        for job in self.jobs:
            plan.add(job)
        return plan

    async def _try(self, connection: Connection, plan: Plan) -> int | None:
        """The last id before the new ones; nothing, if nothing was written."""
        arguments = plan.arguments()
        try:
            before: int | None = await connection.fetchval(plan.statement, *arguments)
        except asyncpg.PostgresError as error:
            if is_away(error):
                self._doubt = _Doubt(plan, 0)
            raise
        except BaseException:
            self._doubt = _Doubt(plan, 0)
            raise
        return before

    def _doubts(self) -> list[_Doubt]:
        """The latest try first."""
        return [doubt for doubt in (self._doubt, self._inherited) if doubt is not None]

    async def _settled(self, connection: Connection, doubt: _Doubt) -> list[Outcome]:
        plan, place = doubt
        before = await connection.fetchval(_BEFORE, *plan.places())
        return plan.outcomes(before)[place : place + len(self.jobs)]


def _fresh(found: Found) -> Found:
    return Found(found.n, found.chat, found.run, found.run)


def _remember(known: dict[RunId, Found], plan: Plan) -> None:
    if len(known) > _MOST_KNOWN:
        known.clear()
    for found in plan.changed:
        if found.run.status == "running":
            known[found.run.id] = found
        else:
            known.pop(found.run.id, None)
