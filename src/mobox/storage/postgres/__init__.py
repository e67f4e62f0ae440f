"""A store in PostgreSQL, for many processes: a task writes logs, a pool of connections the rest."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Self, TypeVar

from msgspec.structs import replace

from mobox.errors import SearchTooSlow, StorageUnavailable
from mobox.events import LogEntry, StreamEvent
from mobox.events.turn import Request
from mobox.settings import Settings
from mobox.storage.background_folds import BackgroundFolds
from mobox.storage.chats import BegunTurn, ChatPage, History, IdleChat, MessagePage, RunFacts
from mobox.storage.encoding import Appended, NextAttempt, prepare
from mobox.storage.files import Blobs, FileStore
from mobox.storage.following import Following
from mobox.storage.health import Load
from mobox.storage.log import ClientRequest, RawLine, Run, RunId
from mobox.storage.notifications import Notifier, NotifierFactory, RunNotice
from mobox.storage.owner_limits import STREAM_SECONDS
from mobox.storage.permissions import Permission
from mobox.storage.postgres import branches as branches_of_chats
from mobox.storage.postgres import (
    client_requests,
    owner_limits,
    reads,
    retention,
    share_links,
    turns,
)
from mobox.storage.postgres import feedback as feedback_on_answers
from mobox.storage.postgres import keys as api_keys
from mobox.storage.postgres import permissions as permissions_of_chats
from mobox.storage.postgres.database import (
    TROUBLE,
    Connection,
    DatabaseClock,
    Transaction,
    check_database_version,
    connector,
    first_connection,
    open_database,
    reason_of,
    storable,
)
from mobox.storage.postgres.files import PostgresBlobs, PostgresFileIndex
from mobox.storage.postgres.messages import Messages
from mobox.storage.postgres.notify import PostgresNotifier
from mobox.storage.postgres.retention import DeferredDeletes
from mobox.storage.postgres.search_index import make_index
from mobox.storage.postgres.server_checks import (
    check_pooler,
    plain_connector,
    warn_of_few_connections,
)
from mobox.storage.postgres.sessions import Sessions
from mobox.storage.postgres.writer import Writer
from mobox.storage.read_slots import Effort, Searches
from mobox.storage.renewals import acts_for
from mobox.storage.run_lists import RunFilter, RunPage
from mobox.storage.runs import in_next_attempt

P = ParamSpec("P")
T = TypeVar("T")
Query = Callable[Concatenate[Connection, P], Coroutine[Any, Any, T]]
Change = Callable[Concatenate[Transaction, P], Coroutine[Any, Any, T]]
Method = Callable[Concatenate["PostgresStorage", P], Coroutine[Any, Any, T]]

_FIRST_SECONDS: Final = 30.0
"""How long connecting may take, before the database was ever reached."""
_LONGER: Final = 1.0
"""For how many seconds a statement continues after we stopped waiting for it."""
_BEFORE_ALL: Final[int | None] = -1


def _query(function: Query[P, T], effort: Effort = "little") -> Method[P, T]:
    """The method that reads by this function, which needs no snapshot: it is one statement."""

    async def method(store: PostgresStorage, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store._sessions.query(_bind(function, args, kwargs), effort)

    return method


def _snapshot(function: Query[P, T], effort: Effort = "little") -> Method[P, T]:
    """The method that reads by this function, in one snapshot."""

    async def method(store: PostgresStorage, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store._sessions.snapshot(_bind(function, args, kwargs), effort)

    return method


def _change(function: Change[P, T], effort: Effort = "little") -> Method[P, T]:
    """The method that writes by this function, in a transaction of its own."""

    async def method(store: PostgresStorage, /, *args: P.args, **kwargs: P.kwargs) -> T:
        change = _bind(function, args, kwargs)
        return await store._sessions.transaction(lambda c: change(store._transaction(c)), effort)

    return method


def _bind(
    function: Callable[..., Awaitable[T]], args: Sequence[object], kwargs: Mapping[str, object]
) -> Callable[[Any], Awaitable[T]]:
    """The function with all arguments but the first, without zero bytes in texts."""
    values = list(map(_storable, args))
    named = {name: _storable(value) for name, value in kwargs.items()}
    return lambda first: function(first, *values, **named)


def _storable(value: object) -> object:
    return storable(value) if isinstance(value, str) else value


class _Opened(NamedTuple):
    """The connections of a store: the writer's, and a pool for the rest of the budget."""

    clock: DatabaseClock
    sessions: Sessions
    writers_connection: Connection


async def _connect_writer(url: str, settings: Settings, *, listens: bool) -> _Opened:
    """Connect the writer, before anything else of this process uses a connection."""
    connect = connector(url, settings.busy_seconds, settings.busy_seconds + _LONGER)
    clock = DatabaseClock(settings)
    readers = max(1, settings.database_connections - (2 if listens else 1))
    sessions = Sessions(connect, clock, readers, settings)
    connection = await first_connection(sessions.connect_writer, settings.opening_seconds)
    with suppress(*TROUBLE):  # the writer connects again
        await warn_of_few_connections(connection, settings.database_connections)
    return _Opened(clock, sessions, connection)


def _notifier(sessions: Sessions) -> Notifier:
    """Notifications need a connection, which is closed if readers would else have none."""
    notifier = PostgresNotifier(sessions.connect_after_writer)
    sessions.when_starved = notifier.give_way
    return notifier


class PostgresStorage(Following):
    """Stores everything in one database; open it with `PostgresStorage.open`."""

    def __init__(
        self,
        opened: _Opened,
        settings: Settings,
        notifier: Notifier,
        blobs: Blobs | None = None,
    ) -> None:
        super().__init__(settings.poll_seconds, notifier)
        self._settings = settings
        self._holder = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._clock = opened.clock
        self._sessions = opened.sessions
        self._writer = Writer(
            self._sessions,
            self._clock,
            settings,
            self._holder,
            self._publish_all,
            opened.writers_connection,
            self._publish_renewal,
        )
        self._messages = Messages(self._sessions)
        self._leftovers = DeferredDeletes(self._sessions)
        self._searches = Searches()
        self._closing = asyncio.Event()
        self._folds = BackgroundFolds(
            self._messages.fold_ended, self._messages.fold_some, self._make_index
        )
        self.files = FileStore(
            PostgresFileIndex(self._sessions),
            blobs or PostgresBlobs(self._sessions),
            settings,
            self._clock.now,
        )

    @classmethod
    async def open(
        cls,
        url: str,
        settings: Settings | None = None,
        way: NotifierFactory | None = None,
        blobs: Blobs | None = None,
    ) -> Self:
        """Open a database, migrated if necessary, in the running event loop.

        Without `blobs`, the bytes of files are in the database, too.
        """
        settings = settings or Settings()
        await check_pooler(plain_connector(url, _FIRST_SECONDS), settings.opening_seconds)
        first = connector(url, _FIRST_SECONDS)
        identity = await open_database(first, settings.opening_seconds)
        opened = await _connect_writer(url, settings, listens=way is None)
        if way is None:
            notifier: Notifier = _notifier(opened.sessions)
        else:
            notifier = way(identity)
        store = cls(opened, settings, notifier, blobs)
        store._leftovers.begin()
        store._folds.begin()
        return store

    async def close(self) -> None:
        await self._stop_polling()
        self._closing.set()
        await self._folds.close()
        await self._leftovers.close()
        await self._messages.close()
        await self._writer.close()
        await self._stop_notifying()
        await self.files.close()
        await self._sessions.close()

    def _transaction(self, connection: Connection) -> Transaction:
        clock = self._clock
        return Transaction(connection, clock.now(), clock.lease(self._holder), clock.queue())

    # Logs

    async def append(
        self,
        run_id: RunId,
        epoch: int,
        events: Sequence[StreamEvent],
        ts: int | None,
        raw: Sequence[RawLine] = (),
        permissions: Sequence[Permission] = (),
    ) -> list[LogEntry]:
        batch = prepare(run_id, epoch, events, ts, raw, permissions)
        appended: Appended = await self._writer.submit(batch)
        return appended.entries

    async def next_attempt(  # noqa: PLR0913
        self,
        run_id: RunId,
        epoch: int,
        events: Sequence[StreamEvent],
        ts: int | None,
        permissions: Sequence[Permission] = (),
        request: ClientRequest | None = None,
        *,
        queue: bool = False,
    ) -> Run:
        answers = prepare(run_id, epoch, events, ts, permissions=permissions)
        batch = replace(answers, request=request, queue=queue)
        resumed: NextAttempt = await self._writer.submit(batch, in_next_attempt)
        if queue:
            self._notify(RunNotice(work=True))
        return resumed.run

    _positions = _query(reads.positions)
    _read = _query(reads.read_log)
    raw_lines = _query(reads.raw_lines)
    note = _change(client_requests.note)
    asked = _query(client_requests.asked)
    granted = _query(permissions_of_chats.granted)

    # Leases

    async def queue(self, run_id: RunId, epoch: int) -> None:
        await self._queue(run_id, epoch)
        self._notify(RunNotice(work=True))

    async def requeue(self, run_id: RunId, epoch: int) -> None:
        await self._requeue(run_id, epoch)
        self._notify(RunNotice(work=True))

    async def claim(
        self, agents: Collection[str], limit: int, *, sparing: Collection[str] = ()
    ) -> list[Run]:
        if not await self._has_queued_runs(self._clock.now()):
            return []  # frequent polls without a result start no transaction
        return await self._claim(agents, limit, sparing)

    async def has_active_worker(self) -> bool:
        return await self._has_active_worker(self._clock.now())

    async def expired(self) -> list[Run]:
        lease = self._settings.lease
        is_steady = not self._writer.is_away and self._sessions.steadiness.has_lasted(lease)
        started_at = time.monotonic()
        found = await self._expired_runs(self._clock.given, self._clock.lease_ms)
        if self._clock.has_slept() or _is_late(time.monotonic() - started_at, lease):
            self._sessions.steadiness.note_trouble()
            return []
        return found if is_steady else []

    async def is_running(self, lease_owner: str) -> bool | None:
        return None  # a lost connection is no proof that a process has died

    def acts_until(self, run: Run) -> float:
        left = ((run.lease_until or 0) - self._clock.now()) / 1000
        return acts_for(left, self._settings.lease)

    async def stopping(self) -> list[Run]:
        return await self._stopping_runs(self._holder)

    hand_over = _change(turns.hand_over)
    _queue = _change(turns.queue)
    _requeue = _change(turns.requeue)
    _has_queued_runs = _query(reads.has_queued_runs)
    _claim = _change(turns.claim)
    _has_active_worker = _query(reads.has_active_worker)
    _expired_runs = _query(reads.expired_runs)
    take_over = _change(turns.take_over)
    _stopping_runs = _query(reads.stopping_runs)
    still_there = _query(reads.runs_still_there)

    # Health

    @property
    def can_write(self) -> bool:
        return not self._writer.is_away

    async def check(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._writer.check()
                await self.check_version()
        except TimeoutError as error:
            trouble = self._sessions.trouble
            raise StorageUnavailable if trouble is None else reason_of(trouble) from error

    async def load(self) -> Load:
        queue_ms = round(self._settings.queue * 1000)
        return await self._load(self._holder, self._clock.now(), queue_ms)

    check_version = _query(check_database_version)
    _load = _query(reads.load)

    # Limits of owners

    async def take_start(self, owner: str, per_minute: int) -> float:
        return await self._take_start(owner, per_minute, self._clock.now())

    async def count_streams(self, owner: str, here: int) -> int:
        return await self._count_streams(owner, here, *self._counted_until())

    async def renew_streams(self, counts: Mapping[str, int]) -> None:
        stored = {storable(owner): count for owner, count in counts.items()}
        await self._renew_streams(stored, *self._counted_until())

    def _counted_until(self) -> tuple[str, int, int]:
        now = self._clock.now()
        return self._holder, now, now + round(STREAM_SECONDS * 1000)

    _take_start = _query(owner_limits.take_start)
    give_back_start = _query(owner_limits.give_back_start)
    _count_streams = _query(owner_limits.count_streams)
    _renew_streams = _query(owner_limits.renew_streams)

    # Turns and runs

    async def begin_turn(
        self, owner: str, request: Request, agent: str, framework: str, *, queue: bool = False
    ) -> BegunTurn:
        await self.files.name(owner, request.chat_id, request.message)
        turn = await self._begin_turn(owner, request, (agent, framework), queue)
        self._publish_all([turn])
        if queue:
            self._notify(RunNotice(work=True))
        return turn

    async def request_stop(self, owner: str, run_id: str) -> Run:
        run = await self._request_stop(owner, run_id)
        self._notify(RunNotice(work=True))
        return run

    _begin_turn = _change(turns.begin_turn)
    run = _query(reads.run)
    runs = _query(reads.runs_of_chat)
    _run_after = _query(reads.run_after)
    _latest_runs = _query(reads.latest_runs)
    busy_chats = _query(reads.busy_chats)
    left_waiting = _query(reads.left_waiting)
    named = _snapshot(client_requests.named)
    _request_stop = _change(turns.request_stop)
    set_reader = _change(turns.set_reader)
    readers = _query(turns.readers)

    # Chats and messages

    async def chats(
        self,
        owner: str,
        before: str | None = None,
        limit: int = 50,
        query: str = "",
        agent: str = "",
    ) -> ChatPage:
        if not query:
            return await self._list_chats(owner, before, limit, query, agent)
        values = owner, before, limit, query, agent
        return await self._search(owner, lambda: self._search_chats(*values))

    async def list_runs(
        self, owner: str, filter_: RunFilter, before: str | None = None, limit: int = 50
    ) -> RunPage:
        values = owner, filter_, before, limit
        return await self._search(owner, lambda: self._list_runs(*values))

    async def _search(self, owner: str, read: Callable[[], Awaitable[T]]) -> T:
        seconds = self._settings.search_seconds
        try:
            async with asyncio.timeout(seconds), self._searches.of(owner):
                if await self._messages.catch_up(storable(owner)):
                    self._folds.wake()
                return await read()
        except TimeoutError as error:
            raise SearchTooSlow(seconds) from error

    def _note_end(self, run_id: RunId) -> None:
        self._folds.add(run_id)

    async def _make_index(self, _: int) -> None:
        """See `BackgroundFolds`: the index for searches."""
        await make_index(self._sessions.connect_after_writer, self._closing)

    async def history(self, owner: str, chat_id: str, limit: int | None = None) -> History:
        return await self._messages.history(storable(owner), storable(chat_id), limit)

    async def messages(
        self, owner: str, chat_id: str, before: str | None = None, limit: int = 50
    ) -> MessagePage:
        return await self._messages.page(storable(owner), storable(chat_id), before, limit)

    async def run_facts(self, owner: str, chat_id: str) -> list[RunFacts]:
        return await self._messages.facts(storable(owner), storable(chat_id))

    async def delete(self, owner: str, chat_id: str) -> None:
        async with self.files.releasing(owner, chat_id):
            self._publish_deletion(await self._delete_chat(owner, chat_id), chat_id)
            self._leftovers.wake()

    chat = _query(reads.chat)
    permissions = _snapshot(permissions_of_chats.permissions_of)
    revoke_permission = _change(permissions_of_chats.revoke_permission)
    branches = _snapshot(branches_of_chats.branches_of)
    choose_branch = _change(branches_of_chats.choose_branch)
    feedback = _snapshot(feedback_on_answers.feedback_in)
    give_feedback = _change(feedback_on_answers.give_feedback)
    take_back_feedback = _change(feedback_on_answers.take_back_feedback)
    add_link = _change(share_links.add_link)
    links = _snapshot(share_links.links_of_chat)
    revoke_link = _change(share_links.revoke_link)
    _list_chats = _snapshot(reads.list_chats)
    _search_chats = _snapshot(reads.list_chats, "search")
    _list_runs = _snapshot(reads.list_runs, "search")
    rename = _change(turns.rename_chat)
    pin = _change(turns.pin_chat)
    _delete_chat = _change(turns.delete_chat)

    # Retention

    async def idle_chats(self, since: int) -> list[IdleChat]:
        found: dict[int, IdleChat] = {}
        last = (0, 0)
        while rows := await self._idle_chats(since, last):
            for n, _, id_, owner, runs in rows:
                found[n] = IdleChat(id=id_, owner=owner, runs=tuple(runs))
            last = (rows[-1][1], rows[-1][0])
        return list(found.values())

    async def delete_idle(self, chat: IdleChat, since: int) -> bool:
        async with self.files.releasing(chat.owner, chat.id) as files:
            gone = await self._delete_idle(chat, since)
            if gone is None:
                files.keep()
            else:
                self._publish_deletion(gone, chat.id)
                self._leftovers.wake()
        return gone is not None

    async def settle(self) -> None:
        await self._leftovers.settle()

    async def drop_raw(self, ended_before: int) -> int:
        dropped = last_run = 0
        while runs := await self._runs_with_old_raw(ended_before, last_run):
            for run in runs:
                last = _BEFORE_ALL
                while last is not None:
                    some, last = await self._drop_raw(run, last)
                    dropped += some
            last_run = runs[-1]
        return dropped

    async def count_raw(self, ended_before: int) -> int:
        counted, last = 0, _BEFORE_ALL
        while last is not None:
            last, some = await self._count_raw(ended_before, last)
            counted += some
        return counted

    _idle_chats = _query(retention.idle_chats, "much")
    _delete_idle = _change(retention.delete_idle)
    _runs_with_old_raw = _query(retention.runs_with_old_raw)
    _drop_raw = _change(retention.drop_raw, "much")
    _count_raw = _query(retention.count_raw, "much")
    forget_deleted = _change(retention.forget_deleted)

    # Keys

    add_key = _change(api_keys.add_key)
    find_key = _query(api_keys.find_key)
    keys = _query(api_keys.all_keys)
    keys_of = _query(api_keys.keys_of)
    revoke_key = _change(api_keys.revoke_key)
    note_use = _change(api_keys.note_use)
    forget_keys = _change(api_keys.forget_keys)
    find_link = _query(share_links.find_link)
    links_of = _query(share_links.links_of)
    add_ticket = _change(api_keys.add_ticket)
    take_ticket = _change(api_keys.take_ticket)


def _is_late(seconds: float, lease: float) -> bool:
    """Whether a query took so long that other processes may have failed to renew their leases."""
    return seconds > max(1.0, lease / 5)
