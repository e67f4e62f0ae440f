"""A store in a SQLite file: one thread writes, a few read, and the event loop is not blocked."""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from msgspec.structs import replace

from mobox.errors import (
    NotFoundError,
    SearchTooSlow,
    StorageError,
    StorageUnavailable,
    WriteRefused,
)
from mobox.events import LogEntry, StreamEvent
from mobox.events.turn import Request
from mobox.settings import Settings
from mobox.storage.background_folds import BackgroundFolds
from mobox.storage.chats import (
    BegunTurn,
    Chat,
    ChatPage,
    History,
    IdleChat,
    MessagePage,
    RunFacts,
)
from mobox.storage.encoding import Appended, prepare
from mobox.storage.files import Blobs, FileStore
from mobox.storage.following import Following, Page
from mobox.storage.health import Load
from mobox.storage.log import ClientRequest, RawLine, Run, RunId
from mobox.storage.notifications import Notifier, NotifierFactory, RunNotice
from mobox.storage.permissions import Permission
from mobox.storage.read_slots import Effort, ReadSlots, Searches
from mobox.storage.renewals import acts_for
from mobox.storage.run_lists import RunFilter, RunPage
from mobox.storage.sqlite import branches as branches_of_chats
from mobox.storage.sqlite import (
    client_requests,
    lease_reads,
    owner_limits,
    reads,
    retention,
    search,
    share_links,
    turns,
)
from mobox.storage.sqlite import feedback as feedback_on_answers
from mobox.storage.sqlite import keys as api_keys
from mobox.storage.sqlite import permissions as permissions_of_chats
from mobox.storage.sqlite.appends import start_next_attempt
from mobox.storage.sqlite.database import (
    Checkpoints,
    Connection,
    Readers,
    Stop,
    Transaction,
    check_database_version,
    identity,
    open_database,
)
from mobox.storage.sqlite.files import FileDatabase, SqliteBlobs, SqliteFileIndex
from mobox.storage.sqlite.processes import ProcessFiles
from mobox.storage.sqlite.writer import Writer
from mobox.storage.tables import MOST, Fold

P = ParamSpec("P")
T = TypeVar("T")
Query = Callable[Concatenate[Connection, P], T]
Change = Callable[Concatenate[Transaction, P], T]
Method = Callable[Concatenate["SqliteStorage", P], Coroutine[Any, Any, T]]

_RUNS_AT_ONCE = 8
"""Runs whose raw lines are deleted in one transaction: it blocks other processes' writes."""
_PAUSE = 0.02
"""Seconds between two of them, in which other processes can write."""
_CAUGHT_UP = 64
"""Messages that a search folds at most: more are folded in the background."""
_LEFT_AT_ONCE = 16


def _query(function: Query[P, T]) -> Method[P, T]:
    """The method that reads by this function, which needs no snapshot: it is one statement."""

    async def method(store: SqliteStorage, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store._readers.query(function, *args, **kwargs)

    return method


def _snapshot(function: Query[P, T]) -> Method[P, T]:
    """The method that reads by this function, in one snapshot."""

    async def method(store: SqliteStorage, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store._readers.snapshot(function, *args, **kwargs)

    return method


def _change(function: Change[P, T]) -> Method[P, T]:
    """The method that writes by this function: a job of the writer."""

    async def method(store: SqliteStorage, /, *args: P.args, **kwargs: P.kwargs) -> T:
        done: T = await store._writer.submit(lambda t: function(t, *args, **kwargs))
        return done

    return method


class SqliteStorage(Following):
    """Stores everything in one file; open it with `SqliteStorage.open`."""

    def __init__(
        self,
        connection: Connection,
        path: Path,
        settings: Settings,
        notifier: Notifier | None = None,
        blobs: Blobs | None = None,
    ) -> None:
        super().__init__(settings.poll_seconds, notifier)
        self._settings = settings
        self._holder = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._processes = ProcessFiles(path, self._holder)
        self._writer = Writer(
            connection, path, settings, self._holder, self._publish_all, self._publish_renewal
        )
        self._readers = Readers(path, settings)
        self._slots = ReadSlots(settings.readers)
        self._searches = Searches()
        self._folds = BackgroundFolds(self._fold_ended, self._fold_some, self._index_some)
        self._checkpoints = Checkpoints(path, settings)
        database = FileDatabase(path.with_name(f"{path.stem}-files.db"), settings)
        self.files = FileStore(
            SqliteFileIndex(database), blobs or SqliteBlobs(database), settings, settings.clock
        )
        self._after_close = ExitStack()

    @classmethod
    async def open(
        cls,
        path: Path,
        settings: Settings | None = None,
        way: NotifierFactory | None = None,
        blobs: Blobs | None = None,
    ) -> Self:
        """Open a database, created or migrated if necessary, in the running event loop.

        Without `blobs`, the bytes of files are in a second database beside it.
        """
        settings = settings or Settings()
        connection = await asyncio.to_thread(open_database, path, settings)
        try:
            notifier = way(await asyncio.to_thread(identity, connection)) if way else None
        except BaseException:
            connection.close()
            raise
        store = cls(connection, path, settings, notifier, blobs)
        store._folds.begin()
        return store

    @classmethod
    async def open_temporary(
        cls, settings: Settings | None = None, blobs: Blobs | None = None
    ) -> Self:
        """Open a database that is deleted when it is closed, or when the process exits normally.

        A process that is killed leaves it in the folder for temporary files.
        """
        with ExitStack() as on_failure:
            folder = on_failure.enter_context(_temporary_folder())
            store = await cls.open(folder / "mobox.db", settings, blobs=blobs)
            store._after_close = on_failure.pop_all()
        return store

    async def close(self) -> None:
        await self._stop_polling()
        await self._folds.close()
        await self._writer.close()
        await self._stop_notifying()
        await self._readers.close()
        await self.files.close()
        await asyncio.to_thread(self._checkpoints.close)
        await asyncio.to_thread(self._processes.close)
        await asyncio.to_thread(self._after_close.close)

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
        run = (await self._start_next_attempt(batch)).run
        if queue:
            self._notify(RunNotice(work=True))
        return run

    async def _read_ahead(self, run_id: RunId, after: int) -> list[Page]:
        pages = await self._readers.query(reads.read_ahead, run_id, after)
        return [page.entries for page in pages]

    def _publish_all(self, outcomes: Iterable[object]) -> None:
        self._checkpoints.note_commit()
        super()._publish_all(outcomes)

    _start_next_attempt = _change(start_next_attempt)
    _positions = _query(reads.positions)
    _read = _query(reads.read_log)
    raw_lines = _snapshot(reads.raw_lines)
    note = _change(client_requests.note)
    asked = _snapshot(client_requests.asked)
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
        if not await self._readers.snapshot(lease_reads.has_queued_runs, self._settings.clock()):
            return []  # frequent polls without a result do not block writers
        return await self._claim(agents, limit, sparing)

    async def has_active_worker(self) -> bool:
        return await self._readers.snapshot(lease_reads.has_active_worker, self._settings.clock())

    async def expired(self) -> list[Run]:
        await self._expire_dead()
        return await self._readers.snapshot(lease_reads.expired_runs, self._settings.clock())

    async def _expire_dead(self) -> None:
        """Expire the leases of processes that have died, and forget their readers."""
        processes = await self._readers.query(lease_reads.active_processes)
        for name in processes - {self._holder}:
            if await self.is_running(name) is False:
                await self._expire_process(name)
                await asyncio.to_thread(self._processes.forget, name)

    async def is_running(self, lease_owner: str) -> bool | None:
        return await asyncio.to_thread(self._processes.is_running, lease_owner)

    def acts_until(self, run: Run) -> float:
        left = ((run.lease_until or 0) - self._settings.clock()) / 1000
        return acts_for(left, self._settings.lease)

    async def stopping(self) -> list[Run]:
        return await self._readers.snapshot(lease_reads.stopping_runs, self._holder)

    hand_over = _change(turns.hand_over)
    _queue = _change(turns.queue)
    _requeue = _change(turns.requeue)
    _claim = _change(turns.claim)
    take_over = _change(turns.take_over)
    _expire_process = _change(turns.expire_process)
    left_waiting = _query(lease_reads.left_waiting)
    still_there = _snapshot(lease_reads.runs_still_there)

    # Health

    @property
    def can_write(self) -> bool:
        return self._writer.can_write

    async def check(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._writer.check()
                await self.check_version()
        except TimeoutError as error:
            raise StorageUnavailable from error

    async def load(self) -> Load:
        now, queue_ms = self._settings.clock(), round(self._settings.queue * 1000)
        return await self._readers.query(lease_reads.load, self._holder, now, queue_ms)

    check_version = _query(check_database_version)

    # Limits of owners

    take_start = _change(owner_limits.take_start)
    give_back_start = _change(owner_limits.give_back_start)
    count_streams = _change(owner_limits.count_streams)
    renew_streams = _change(owner_limits.renew_streams)

    # Turns and runs

    async def begin_turn(
        self, owner: str, request: Request, agent: str, framework: str, *, queue: bool = False
    ) -> BegunTurn:
        await self.files.name(owner, request.chat_id, request.message)
        turn = await self._begin_turn(owner, request, (agent, framework), queue)
        if queue:
            self._notify(RunNotice(work=True))
        return turn

    async def request_stop(self, owner: str, run_id: str) -> Run:
        run = await self._request_stop(owner, run_id)
        self._notify(RunNotice(work=True))
        return run

    _begin_turn = _change(turns.begin_turn)
    run = _snapshot(reads.run)
    runs = _snapshot(reads.runs_of_chat)
    _run_after = _snapshot(reads.run_after)
    _latest_runs = _query(reads.latest_runs)
    busy_chats = _snapshot(reads.busy_chats)
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
        values = owner, before, limit, query, agent
        if not query:
            return await self._readers.snapshot(reads.list_chats, *values)
        return await self._search(owner, lambda c: reads.list_chats(c, *values))

    async def list_runs(
        self, owner: str, filter_: RunFilter, before: str | None = None, limit: int = 50
    ) -> RunPage:
        values = owner, filter_, before, limit
        return await self._search(owner, lambda c: reads.list_runs(c, *values))

    async def _search(self, owner: str, read: Callable[[Connection], T]) -> T:
        stop = Stop(self._settings.search_seconds)
        try:
            async with asyncio.timeout(stop.seconds), self._searches.of(owner):
                await self._catch_up(owner)
                return await self._slots.run("search", lambda: self._readers.search(read, stop))
        except TimeoutError as error:
            raise SearchTooSlow(stop.seconds) from error
        finally:
            stop.abandon()

    async def history(self, owner: str, chat_id: str, limit: int | None = None) -> History:
        chat, page = await self._read_page(owner, chat_id, None, limit or MOST)
        return History(chat=chat, messages=page.messages, active=page.active, before=page.before)

    async def messages(
        self, owner: str, chat_id: str, before: str | None = None, limit: int = 50
    ) -> MessagePage:
        _, page = await self._read_page(owner, chat_id, before, limit)
        return page

    async def delete(self, owner: str, chat_id: str) -> None:
        async with self.files.releasing(owner, chat_id):
            self._publish_deletion(await self._delete_chat(owner, chat_id), chat_id)

    async def _read_in_slot(self, effort: Effort, read: Callable[[Connection], T]) -> T:
        return await self._slots.run(effort, lambda: self._readers.snapshot(read))

    async def _read_page(
        self, owner: str, chat_id: str, before: str | None, limit: int
    ) -> tuple[Chat, MessagePage]:
        """Does not wait until folds are stored: a lost one is made again."""
        values = owner, chat_id, before, limit
        read = self._read_in_slot("much", lambda c: reads.read_page(c, *values))
        chat, page, folds = await read
        self._keep_all(folds)
        return chat, page

    def _keep_all(self, folds: Iterable[Fold]) -> None:
        for made in folds:
            self._keep(made).add_done_callback(lambda kept: kept.cancelled() or kept.exception())

    async def run_facts(self, owner: str, chat_id: str) -> list[RunFacts]:
        facts, folds = await self._read_in_slot(
            "much", lambda c: reads.read_facts(c, owner, chat_id)
        )
        self._keep_all(folds)
        return facts

    async def _catch_up(self, owner: str) -> None:
        """Fold messages that were left behind; skips those the database rejects."""
        behind = await self._readers.query(reads.unfolded_of_owner, owner, _CAUGHT_UP)
        if len(behind) == _CAUGHT_UP:
            self._folds.wake()
        for each in behind:
            await self._fold(each)

    async def _fold(self, behind: reads.Unfolded) -> None:
        made = await self._slots.run("much", lambda: self._readers.query(reads.fold, behind))
        with suppress(WriteRefused):
            await self._keep(made)

    def _note_end(self, run_id: RunId) -> None:
        self._folds.add(run_id)

    async def _fold_ended(self, run_id: RunId) -> None:
        for behind in await self._readers.query(reads.unfolded_run, run_id):
            await self._fold(behind)

    async def _fold_some(self, after: int) -> int | None:
        """See `BackgroundFolds`: the next messages of all owners that were left behind."""
        found = await self._readers.query(reads.unfolded_of_all, after, _LEFT_AT_ONCE)
        for behind in found:
            with suppress(NotFoundError):  # deleted meanwhile
                await self._fold(behind)
        return found[-1].message if found else None

    async def _index_some(self, _: int) -> int | None:
        """See `BackgroundFolds`: older messages that the index for searches lacks."""
        return 1 if await self._writer.submit(search.index_some) else None

    def _keep(self, made: Fold) -> asyncio.Future[None]:
        return self._writer.submit(partial(reads.store_fold, made=made))

    chat = _snapshot(reads.chat)
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
    rename = _change(turns.rename_chat)
    pin = _change(turns.pin_chat)
    _delete_chat = _change(turns.delete_chat)

    # Retention

    async def delete_idle(self, chat: IdleChat, since: int) -> bool:
        async with self.files.releasing(chat.owner, chat.id) as files:
            gone = await self._delete_idle(chat, since)
            if gone is None:
                files.keep()
            else:
                self._publish_deletion(gone, chat.id)
        return gone is not None

    async def settle(self) -> None:
        """A log is deleted with its chat, in one transaction."""

    async def drop_raw(self, ended_before: int) -> int:
        runs = await self._readers.snapshot(retention.runs_with_old_raw, ended_before)
        dropped = 0
        for start in range(0, len(runs), _RUNS_AT_ONCE):
            some = runs[start : start + _RUNS_AT_ONCE]
            drop = partial(retention.drop_raw, runs=some, ended_before=ended_before)
            dropped += await self._writer.submit(drop)
            await asyncio.sleep(_PAUSE)
        return dropped

    idle_chats = _snapshot(retention.idle_chats)
    _delete_idle = _change(retention.delete_idle)
    count_raw = _snapshot(retention.count_raw)
    forget_deleted = _change(retention.forget_deleted)

    # Keys

    add_key = _change(api_keys.add_key)
    find_key = _snapshot(api_keys.find_key)
    keys = _snapshot(api_keys.all_keys)
    keys_of = _snapshot(api_keys.keys_of)
    revoke_key = _change(api_keys.revoke_key)
    note_use = _change(api_keys.note_use)
    forget_keys = _change(api_keys.forget_keys)
    find_link = _snapshot(share_links.find_link)
    links_of = _snapshot(share_links.links_of)
    add_ticket = _change(api_keys.add_ticket)
    take_ticket = _change(api_keys.take_ticket)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder that is deleted at the end, or at the exit of this process, but not of its forks."""
    try:
        folder = Path(mkdtemp(prefix="mobox-"))
    except OSError as error:
        raise StorageError(f"cannot create a temporary database: {error}") from error
    opener = os.getpid()

    def delete() -> None:
        if os.getpid() == opener:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(delete)
    try:
        yield folder
    finally:
        atexit.unregister(delete)
        delete()
