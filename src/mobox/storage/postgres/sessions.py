"""The connections for reads, and for changes in transactions of their own.

The writer of logs has its connection first: without it no run goes on. While it has none, no other
connection is opened here, and those in use are closed after their query.

Rule 1: every call returns in a bounded time, if only with `StorageUnavailable`. Until then it is
        retried while the database is unreachable. The bound is per call: several calls may take
        as long each.
Rule 2: nothing is done twice. A commit that was sent without a reply is looked up, for as long as
        that takes: else it would be unknown whether a run was started.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import Final, NamedTuple, TypeVar

import asyncpg

from mobox.errors import MoboxError, StorageError, StorageUnavailable
from mobox.settings import Settings
from mobox.storage.postgres.database import (
    NOW,
    Connect,
    Connection,
    DatabaseClock,
    Retries,
    is_away,
    reason_of,
)
from mobox.storage.postgres.server_checks import WRITER
from mobox.storage.read_slots import Effort, ReadSlots

T = TypeVar("T")
Work = Callable[[Connection], Awaitable[T]]

_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WHICH: Final = "SELECT pg_current_xact_id()::text"
_STATUS: Final = "SELECT pg_xact_status($1::text::xid8)"
_LEAST_DELAY: Final = 0.01
_CANCELLING: Final = 2.0
"""Seconds in which the server may end a query that was cancelled."""
_SURVIVED: Final = (MoboxError, asyncpg.PostgresError)
"""Errors after which a connection can be reused. After any other its state is unknown."""


class Steadiness:
    """Since when the database has been reachable, as seen by this process.

    It counts from the start of the process, which may have started in the middle of an outage.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._broken_at = seconds()

    def note_trouble(self) -> None:
        """The database was unreachable; a slow expensive query alone does not count."""
        self._broken_at = self._seconds()

    def has_lasted(self, seconds: float) -> bool:
        return self._seconds() - self._broken_at >= seconds


class _Idle(NamedTuple):
    connection: Connection
    since: float


class Sessions:
    """A small pool of connections, opened when needed and closed when idle."""

    def __init__(
        self, connect: Connect, clock: DatabaseClock, most: int, settings: Settings
    ) -> None:
        self.steadiness = Steadiness(clock.seconds)
        self.trouble: Exception | None = None
        """Why a query or the writer got no connection or no answer, if the last one did not."""
        self.was_full = False
        """Whether a write has failed for a full disk; a check that writes much finds it free."""
        self.when_starved: Callable[[], None] = lambda: None
        """Called when the server has no free connection: close what others can do without."""
        self._connect = connect
        self._clock = clock
        self._seconds = settings.busy_seconds
        self._idle_seconds = settings.idle_seconds
        self._slots = ReadSlots(most)
        self._idle: list[_Idle] = []  # the one used last is at the end
        self._closer: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._writer_is_connected = asyncio.Event()
        self._is_open = True

    async def connect_writer(self) -> Connection:
        """The writer's connection. Idle ones are closed for it, and no others opened before it."""
        self._writer_is_connected.clear()
        self._close_idle(0)
        connection = await self._connect_or_starve()
        try:
            await connection.execute(f"SET application_name = '{WRITER}'")
        except BaseException:
            connection.terminate()
            raise
        self._writer_is_connected.set()
        return connection

    async def connect_after_writer(self) -> Connection:
        """A connection for a purpose of its own, once the writer has one."""
        await self._writer_is_connected.wait()
        return await self._connect()

    async def connect(self) -> Connection:
        """A connection owned by the caller; also reads the database's clock."""
        connection = await self._connect()
        try:
            began = self._clock.seconds()
            self._clock.set(await connection.fetchval(f"SELECT {NOW}"), began)
        except BaseException:
            connection.terminate()
            raise
        return connection

    def note_error(self, error: Exception) -> None:
        """The database cannot be used at present, for this reason."""
        self.trouble = error
        self.was_full = self.was_full or isinstance(error, asyncpg.DiskFullError)

    async def query(self, work: Work[T], effort: Effort = "little") -> T:
        """The result of one statement, or of several that need no common snapshot."""
        return await self._insist(work, effort)

    async def snapshot(self, work: Work[T], effort: Effort = "little") -> T:
        """The result of work that sees one snapshot."""

        async def read(connection: Connection) -> T:
            await connection.execute(_SNAPSHOT)
            result = await _or_roll_back(connection, work)
            await connection.execute("ROLLBACK")
            return result

        return await self._insist(read, effort)

    async def transaction(self, work: Work[T], effort: Effort = "little") -> T:
        """The result of work in one transaction, once it is committed."""
        sent: list[tuple[str, T]] = []

        async def write(connection: Connection) -> T:
            sent.clear()
            await connection.execute("BEGIN")
            result = await _or_roll_back(connection, work)
            name = await connection.fetchval(_WHICH)
            sent.append((name, result))
            await connection.execute("COMMIT")
            return result

        while True:
            try:
                return await self._insist(write, effort, lambda: bool(sent))
            except _InDoubt:
                ((name, result),) = sent
                if await self._was_committed(name):
                    return result

    async def close(self) -> None:
        """Close the idle connections."""
        self._is_open = False
        self._close_idle(0)
        await asyncio.gather(*self._closing)

    # Retrying

    async def _insist(
        self, work: Work[T], effort: Effort, is_sent: Callable[[], bool] = lambda: False
    ) -> T:
        retries = Retries()
        try:
            async with asyncio.timeout(self._seconds):
                return await self._keep_trying(work, effort, is_sent, retries)
        except TimeoutError as error:
            if is_sent():
                raise _InDoubt from error
            raise StorageUnavailable(retries.last_error or self.trouble) from error

    async def _keep_trying(
        self, work: Work[T], effort: Effort, is_sent: Callable[[], bool], retries: Retries
    ) -> T:
        while True:
            try:
                return await self._try(work, effort)
            except Exception as error:
                if is_away(error):
                    self.note_error(error)
                    self.steadiness.note_trouble()
                    if is_sent():
                        raise _InDoubt from error
                elif not isinstance(error, asyncpg.PostgresError):
                    raise
                if not retries.allow(error):
                    raise reason_of(error, f"the database returned an error: {error}") from error
            await retries.wait()

    async def _try(self, work: Work[T], effort: Effort) -> T:
        with await self._slots.take(effort) as slot:
            connection = await self._take()
            try:
                result = await work(connection)
            except _SURVIVED:
                self._give_back(connection)
                raise
            except BaseException as error:
                if effort == "search" and isinstance(error, asyncio.CancelledError):
                    self._cancel(connection, slot.pop_all())
                else:
                    connection.terminate()
                raise
            self._give_back(connection)
            self.trouble = None
            return result

    def _cancel(self, connection: Connection, slot: ExitStack) -> None:
        """End a search that nobody waits for: else the server would continue it."""

        async def close() -> None:
            with slot, suppress(Exception):
                await connection.close(timeout=_CANCELLING)

        task = asyncio.create_task(close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # The pool

    async def _take(self) -> Connection:
        if not self._is_open:
            raise StorageError("the store is closed")
        while self._idle:
            connection = self._idle.pop().connection
            if not connection.is_closed():
                return connection
        await self._writer_is_connected.wait()
        return await self._connect_or_starve()

    async def _connect_or_starve(self) -> Connection:
        try:
            return await self.connect()
        except asyncpg.TooManyConnectionsError:
            self.when_starved()
            raise

    def _give_back(self, connection: Connection) -> None:
        may_stay = self._is_open and self._writer_is_connected.is_set()
        if not may_stay or connection.is_closed() or connection.is_in_transaction():
            connection.terminate()
            return
        self._idle.append(_Idle(connection, time.monotonic()))
        if self._closer is None:
            self._close_later(self._idle_seconds)

    def _close_later(self, seconds: float) -> None:
        self._closer = asyncio.get_running_loop().call_later(seconds, self._on_idle)

    def _on_idle(self) -> None:
        self._closer = None
        self._close_idle(self._idle_seconds)
        if self._idle:
            left = self._idle[0].since + self._idle_seconds - time.monotonic()
            self._close_later(max(left, _LEAST_DELAY))

    def _close_idle(self, seconds: float) -> None:
        """Close the connections that were not used for so long."""
        until = time.monotonic() - seconds
        while self._idle and self._idle[0].since <= until:
            task = asyncio.create_task(_close(self._idle.pop(0).connection))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        if not self._idle and self._closer is not None:
            self._closer.cancel()
            self._closer = None

    async def _was_committed(self, transaction: str) -> bool:
        """Whether a transaction was committed whose COMMIT got no reply."""
        retries = Retries()
        while True:
            with suppress(StorageUnavailable):
                status = await self.query(lambda c: c.fetchval(_STATUS, transaction))
                if status != "in progress":
                    return bool(status == "committed")
            await retries.wait()


class _InDoubt(Exception):
    """A commit was sent without a reply: its outcome is unknown."""


async def _close(connection: Connection) -> None:
    with suppress(Exception):
        await connection.close(timeout=1)


async def _or_roll_back(connection: Connection, work: Work[T]) -> T:
    try:
        return await work(connection)
    except _SURVIVED:
        await connection.execute("ROLLBACK")
        raise
