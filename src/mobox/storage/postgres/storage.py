"""A store in PostgreSQL, for many processes: a task writes logs, a pool of connections the rest."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Self, TypeVar

from mobox.events import LogEntry, StreamEvent
from mobox.events.entries import Entries
from mobox.events.turn import Request
from mobox.settings import Settings
from mobox.storage.chats import (
    BegunTurn,
    Chat,
    ChatPage,
    History,
    IdleChat,
    MessagePage,
    NamedRequest,
)
from mobox.storage.encoding import Appended, NextAttempt, prepare
from mobox.storage.following import Publishing
from mobox.storage.keys import ApiKey, Ticket
from mobox.storage.log import PAGE, ClientRequest, Position, RawEntry, RawLine, Run, RunId
from mobox.storage.notifications import Notifier, NotifierFactory, RunNotice
from mobox.storage.postgres import keys, reads, retention, turns
from mobox.storage.postgres.database import (
    Connect,
    Connection,
    DatabaseClock,
    Transaction,
    connector,
    open_database,
)
from mobox.storage.postgres.histories import Histories
from mobox.storage.postgres.notify import PostgresNotifier
from mobox.storage.postgres.retention import DeferredDeletes
from mobox.storage.postgres.rows import storable
from mobox.storage.postgres.sessions import Sessions
from mobox.storage.postgres.writer import Writer
from mobox.storage.read_slots import Effort, Searches
from mobox.storage.runs import in_next_attempt

T = TypeVar("T")

_FIRST_SECONDS: Final = 30.0
"""How long connecting may take, before the database was ever reached."""
_LONGER: Final = 1.0
"""For how many seconds a statement continues after we stopped waiting for it."""
_BEFORE_ALL: Final[int | None] = -1


class PostgresStorage(Publishing):
    """Stores everything in one database; open it with `PostgresStorage.open`."""

    def __init__(self, connect: Connect, settings: Settings, wake_ups: Notifier) -> None:
        super().__init__(settings.poll_seconds, wake_ups)
        self._settings = settings
        self._holder = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._clock = DatabaseClock(settings)
        self._sessions = Sessions(connect, self._clock, settings.readers, settings.busy_seconds)
        self._writer = Writer(
            self._sessions, self._clock, settings, self._holder, self._publish_all
        )
        self._histories = Histories(self._sessions)
        self._leftovers = DeferredDeletes(self._sessions)
        self._searches = Searches()

    @classmethod
    async def open(
        cls, url: str, settings: Settings | None = None, way: NotifierFactory | None = None
    ) -> Self:
        """Open a database, migrated if necessary, in the running event loop."""
        settings = settings or Settings()
        first = connector(url, _FIRST_SECONDS)
        identity = await open_database(first, settings.opening_seconds)
        connect = connector(url, settings.busy_seconds, settings.busy_seconds + _LONGER)
        wake_ups = PostgresNotifier(connect) if way is None else way(identity)
        store = cls(connect, settings, wake_ups)
        store._leftovers.begin()
        return store

    async def close(self) -> None:
        await self._stop_polling()
        await self._leftovers.close()
        await self._histories.close()
        await self._writer.close()
        await self._stop_notifying()
        await self._sessions.close()

    async def _ask(
        self, function: Callable[..., Awaitable[T]], *args: Any, effort: Effort = "little"
    ) -> T:
        values = _storable(args)
        return await self._sessions.ask(lambda connection: function(connection, *values), effort)

    async def _look_up(
        self, function: Callable[..., Awaitable[T]], *args: Any, effort: Effort = "little"
    ) -> T:
        values = _storable(args)
        return await self._sessions.read(lambda connection: function(connection, *values), effort)

    async def _change(
        self, function: Callable[..., Awaitable[T]], *args: Any, effort: Effort = "little"
    ) -> T:
        values = _storable(args)

        def change(connection: Connection) -> Awaitable[T]:
            clock = self._clock
            lease, until = clock.lease(self._holder), clock.queued_until()
            return function(Transaction(connection, clock.now(), lease, until), *values)

        return await self._sessions.write(change, effort)

    # Writers

    async def append(
        self,
        run_id: RunId,
        epoch: int,
        events: Sequence[StreamEvent],
        ts: int | None,
        raw: Sequence[RawLine] = (),
    ) -> list[LogEntry]:
        appended: Appended = await self._writer.submit(prepare(run_id, epoch, events, ts, raw))
        return appended.entries

    async def next_attempt(
        self, run_id: RunId, epoch: int, events: Sequence[StreamEvent], ts: int | None
    ) -> Run:
        batch = prepare(run_id, epoch, events, ts)
        resumed: NextAttempt = await self._writer.submit(batch, in_next_attempt)
        return resumed.run

    async def note(self, run_id: RunId, request: ClientRequest) -> None:
        await self._change(turns.note, run_id, request)

    async def queue(self, run_id: RunId, epoch: int) -> None:
        await self._change(turns.queue, run_id, epoch)
        self._notify(RunNotice(work=True))

    async def claim(
        self, agents: Collection[str], limit: int, *, sparing: Collection[str] = ()
    ) -> list[Run]:
        if not await self._ask(reads.has_queued_runs, self._clock.now()):
            return []  # frequent polls without a result start no transaction
        return await self._change(turns.claim, agents, limit, sparing)

    async def has_active_worker(self) -> bool:
        return await self._ask(reads.has_active_worker, self._clock.now())

    async def expired(self) -> list[Run]:
        lease = self._settings.lease
        is_steady = not self._writer.is_away and self._sessions.steadiness.has_lasted(lease)
        started_at = time.monotonic()
        found = await self._ask(reads.expired_runs, self._clock.given, self._clock.lease_ms)
        if self._clock.has_slept() or _is_late(time.monotonic() - started_at, lease):
            self._sessions.steadiness.note_trouble()
            return []
        return found if is_steady else []

    async def take_over(self, run_id: RunId, epoch: int) -> Run:
        return await self._change(turns.take_over, run_id, epoch)

    async def stopping(self) -> list[Run]:
        return await self._ask(reads.stopping_runs, self._holder)

    async def still_there(self, run_ids: Collection[RunId]) -> dict[RunId, Run]:
        return await self._ask(reads.runs_still_there, run_ids)

    # Readers

    async def raw_lines(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[RawEntry]:
        return await self._ask(reads.raw_lines, run_id, after, limit)

    async def asked(self, run_id: RunId) -> list[ClientRequest]:
        return await self._ask(turns.asked, run_id)

    async def _positions(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Position]:
        return await self._ask(reads.positions, run_ids)

    async def _latest_runs(self, chat_ids: Sequence[str]) -> Mapping[str, RunId]:
        return await self._ask(reads.latest_runs, chat_ids)

    async def _read(self, run_id: RunId, after: int, limit: int) -> Entries:
        return await self._ask(reads.read_log, run_id, after, limit)

    # Turns and runs

    async def begin_turn(
        self, owner: str, request: Request, agent: str, framework: str
    ) -> BegunTurn:
        turn = await self._change(turns.begin_turn, owner, request, agent, framework)
        self._publish_all([turn])
        return turn

    async def run(self, owner: str, run_id: str) -> Run:
        _, run = await self._ask(reads.owned_run, owner, run_id)
        return run

    async def runs(self, owner: str, chat_id: str) -> list[Run]:
        return await self._ask(reads.runs_of_chat, owner, chat_id)

    async def _run_after(self, owner: str, chat_id: str, run_id: RunId | None) -> Run | None:
        return await self._ask(reads.run_after, owner, chat_id, run_id)

    async def busy_chats(self, owner: str) -> set[str]:
        return await self._ask(reads.busy_chats, owner)

    async def named(self, owner: str, chat_id: str, name: str) -> NamedRequest:
        return await self._look_up(turns.named, owner, chat_id, name)

    async def request_stop(self, owner: str, run_id: str) -> Run:
        run = await self._change(turns.request_stop, owner, run_id)
        self._notify(RunNotice(work=True))
        return run

    # Chats and messages

    async def chat(self, owner: str, chat_id: str) -> Chat:
        _, chat = await self._ask(reads.find_chat, owner, chat_id)
        return chat

    async def chats(
        self, owner: str, before: str | None = None, limit: int = 50, query: str = ""
    ) -> ChatPage:
        if not query:
            return await self._look_up(reads.list_chats, owner, before, limit, query)
        async with self._searches.of(owner):
            await self._histories.catch_up(storable(owner))
            return await self._look_up(
                reads.list_chats, owner, before, limit, query, effort="search"
            )

    async def history(self, owner: str, chat_id: str, limit: int | None = None) -> History:
        return await self._histories.history(storable(owner), storable(chat_id), limit)

    async def messages(
        self, owner: str, chat_id: str, before: str | None = None, limit: int = 50
    ) -> MessagePage:
        return await self._histories.messages(storable(owner), storable(chat_id), before, limit)

    async def rename(self, owner: str, chat_id: str, title: str) -> Chat:
        return await self._change(turns.rename_chat, owner, chat_id, title)

    async def delete(self, owner: str, chat_id: str) -> None:
        self._forget(await self._change(turns.delete_chat, owner, chat_id), chat_id)
        self._leftovers.wake()

    # Retention

    async def idle_chats(self, since: int) -> list[IdleChat]:
        found: list[tuple[Any, ...]] = []
        last = 0
        while rows := await self._ask(retention.idle_chats, since, last, effort="much"):
            found += [(at, n, rest) for n, at, *rest in rows]
            last = rows[-1][0]
        return [
            IdleChat(id=id_, owner=owner, runs=tuple(runs))
            for _, _, (id_, owner, runs) in sorted(found)
        ]

    async def delete_idle(self, chat: IdleChat, since: int) -> bool:
        gone = await self._change(retention.delete_idle, chat, since)
        if gone is not None:
            self._forget(gone, chat.id)
            self._leftovers.wake()
        return gone is not None

    async def settle(self) -> None:
        await self._leftovers.settle()

    async def drop_raw(self, ended_before: int) -> int:
        dropped = last = 0
        while runs := await self._ask(retention.runs_with_old_raw, ended_before, last):
            dropped += sum([await self._drop_raw_of(run) for run in runs])
            last = runs[-1]
        return dropped

    async def _drop_raw_of(self, run: int) -> int:
        dropped, last = 0, _BEFORE_ALL
        while last is not None:
            some, last = await self._change(retention.drop_raw, run, last, effort="much")
            dropped += some
        return dropped

    async def count_raw(self, ended_before: int) -> int:
        counted, last = 0, _BEFORE_ALL
        while last is not None:
            last, some = await self._ask(retention.count_raw, ended_before, last, effort="much")
            counted += some
        return counted

    async def forget_deleted(self, deleted_before: int) -> int:
        return await self._change(retention.forget_deleted, deleted_before)

    # Keys

    async def add_key(self, key: ApiKey) -> None:
        await self._change(keys.add_key, key)

    async def find_key(self, digest: str) -> ApiKey | None:
        return await self._ask(keys.find_key, digest)

    async def keys(self) -> list[ApiKey]:
        return await self._ask(keys.all_keys)

    async def keys_of(self, key_ids: Collection[str]) -> list[ApiKey]:
        return await self._ask(keys.keys_of, key_ids)

    async def revoke_key(self, key_id: str) -> ApiKey:
        return await self._change(keys.revoke_key, key_id)

    async def note_use(self, key_id: str, at: int) -> None:
        await self._change(keys.note_use, key_id, at)

    async def forget_keys(self, ended_before: int) -> int:
        return await self._change(keys.forget_keys, ended_before)

    async def add_ticket(self, ticket: Ticket) -> None:
        await self._change(keys.add_ticket, ticket)

    async def take_ticket(self, digest: str) -> Ticket | None:
        return await self._change(keys.take_ticket, digest)


def _storable(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(storable(value) if isinstance(value, str) else value for value in args)


def _is_late(seconds: float, lease_seconds: float) -> bool:
    """Whether a query took so long that other processes may have failed to renew their leases."""
    return seconds > max(1.0, lease_seconds / 5)
