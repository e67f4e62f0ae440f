"""A store in a SQLite file: one thread writes, a few read, and the event loop is not blocked."""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from mobox.errors import StorageError, WriteRefused
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
from mobox.storage.encoding import Appended, prepare
from mobox.storage.following import Page, Publishing
from mobox.storage.keys import ApiKey, Ticket
from mobox.storage.log import PAGE, ClientRequest, Position, RawEntry, RawLine, Run, RunId
from mobox.storage.message_cache import Fold, ReadResult
from mobox.storage.notifications import Notifier, NotifierFactory, RunNotice
from mobox.storage.read_slots import Effort, ReadSlots, Searches
from mobox.storage.sqlite import keys, messages, reads, retention, turns
from mobox.storage.sqlite.appends import start_next_attempt
from mobox.storage.sqlite.database import Checkpoints, Transaction, identity, open_database
from mobox.storage.sqlite.messages import store_fold
from mobox.storage.sqlite.readers import Readers
from mobox.storage.sqlite.writer import Writer

T = TypeVar("T")

_RUNS_AT_ONCE = 8
"""Runs whose raw lines are deleted in one transaction: it blocks other processes' writes."""
_BREATH = 0.02
"""Seconds between two of them, in which other processes can write."""


class SqliteStorage(Publishing):
    """Stores everything in one file; open it with `SqliteStorage.open`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        settings: Settings,
        wake_ups: Notifier | None = None,
    ) -> None:
        super().__init__(settings.poll_seconds, wake_ups)
        self._settings = settings
        self._holder = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._writer = Writer(connection, settings, self._holder, self._publish_all)
        self._readers = Readers(path, settings)
        self._slots = ReadSlots(settings.readers)
        self._searches = Searches()
        self._checkpoints = Checkpoints(path, settings)

    @classmethod
    async def open(
        cls, path: Path, settings: Settings | None = None, way: NotifierFactory | None = None
    ) -> Self:
        """Open a database, created or migrated if necessary, in the running event loop."""
        settings = settings or Settings()
        connection = await asyncio.to_thread(open_database, path, settings)
        try:
            wake_ups = way(await asyncio.to_thread(identity, connection)) if way else None
        except BaseException:
            connection.close()
            raise
        return cls(connection, path, settings, wake_ups)

    async def close(self) -> None:
        await self._stop_polling()
        await self._writer.close()
        await self._stop_notifying()
        await self._readers.close()
        await asyncio.to_thread(self._checkpoints.close)

    # Writers

    async def append(
        self,
        run_id: RunId,
        epoch: int,
        events: Sequence[StreamEvent],
        ts: int | None,
        raw: Sequence[RawLine] = (),
    ) -> list[LogEntry]:
        batch = prepare(run_id, epoch, events, ts, raw)
        appended: Appended = await self._writer.submit(batch)
        return appended.entries

    async def next_attempt(
        self, run_id: RunId, epoch: int, events: Sequence[StreamEvent], ts: int | None
    ) -> Run:
        batch = prepare(run_id, epoch, events, ts)
        resumed = await self._write(lambda transaction: start_next_attempt(transaction, batch))
        return resumed.run

    async def note(self, run_id: RunId, request: ClientRequest) -> None:
        await self._write(lambda t: turns.note(t, run_id, request))

    async def queue(self, run_id: RunId, epoch: int) -> None:
        await self._write(lambda t: turns.queue(t, run_id, epoch))
        self._notify(RunNotice(work=True))

    async def claim(
        self, agents: Collection[str], limit: int, *, sparing: Collection[str] = ()
    ) -> list[Run]:
        if not await self._readers.read(reads.has_queued_runs, self._settings.clock()):
            return []  # frequent polls without a result do not block writers
        return await self._write(lambda t: turns.claim(t, agents, limit, sparing))

    async def has_active_worker(self) -> bool:
        return await self._readers.read(reads.has_active_worker, self._settings.clock())

    async def expired(self) -> list[Run]:
        return await self._readers.read(reads.expired_runs, self._settings.clock())

    async def take_over(self, run_id: RunId, epoch: int) -> Run:
        return await self._write(lambda t: turns.take_over(t, run_id, epoch))

    async def stopping(self) -> list[Run]:
        return await self._readers.read(reads.stopping_runs, self._holder)

    async def still_there(self, run_ids: Collection[RunId]) -> dict[RunId, Run]:
        return await self._readers.read(reads.runs_still_there, run_ids)

    async def drop_raw(self, ended_before: int) -> int:
        runs = await self._readers.read(retention.runs_with_old_raw, ended_before)
        dropped = 0
        for start in range(0, len(runs), _RUNS_AT_ONCE):
            some = runs[start : start + _RUNS_AT_ONCE]
            drop = partial(retention.drop_raw, runs=some, ended_before=ended_before)
            dropped += await self._write(drop)
            await asyncio.sleep(_BREATH)
        return dropped

    async def count_raw(self, ended_before: int) -> int:
        return await self._readers.read(retention.count_raw, ended_before)

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        done: T = await self._writer.submit(work)
        return done

    def _publish_all(self, outcomes: Iterable[object]) -> None:
        self._checkpoints.note_commit()
        super()._publish_all(outcomes)

    # Readers

    async def raw_lines(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[RawEntry]:
        return await self._readers.read(reads.raw_lines, run_id, after, limit)

    async def asked(self, run_id: RunId) -> list[ClientRequest]:
        return await self._readers.read(turns.asked, run_id)

    async def _positions(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Position]:
        return await self._readers.ask(reads.positions, run_ids)

    async def _latest_runs(self, chat_ids: Sequence[str]) -> Mapping[str, RunId]:
        return await self._readers.ask(reads.latest_runs, chat_ids)

    async def _read(self, run_id: RunId, after: int, limit: int) -> Entries:
        return await self._readers.ask(reads.read_log, run_id, after, limit)

    async def _read_ahead(self, run_id: RunId, after: int) -> list[Page]:
        return [page.entries for page in await self._readers.ask(reads.read_ahead, run_id, after)]

    # Turns and runs

    async def begin_turn(
        self, owner: str, request: Request, agent: str, framework: str
    ) -> BegunTurn:
        return await self._write(lambda t: turns.begin_turn(t, owner, request, agent, framework))

    async def run(self, owner: str, run_id: str) -> Run:
        _, run = await self._readers.read(reads.owned_run, owner, run_id)
        return run

    async def runs(self, owner: str, chat_id: str) -> list[Run]:
        return await self._readers.read(reads.runs_of_chat, owner, chat_id)

    async def _run_after(self, owner: str, chat_id: str, run_id: RunId | None) -> Run | None:
        return await self._readers.read(reads.run_after, owner, chat_id, run_id)

    async def busy_chats(self, owner: str) -> set[str]:
        return await self._readers.read(reads.busy_chats, owner)

    async def named(self, owner: str, chat_id: str, name: str) -> NamedRequest:
        return await self._readers.read(turns.named, owner, chat_id, name)

    async def request_stop(self, owner: str, run_id: str) -> Run:
        run = await self._write(lambda t: turns.request_stop(t, owner, run_id))
        self._notify(RunNotice(work=True))
        return run

    # Chats and messages

    async def chat(self, owner: str, chat_id: str) -> Chat:
        _, chat = await self._readers.read(reads.find_chat, owner, chat_id)
        return chat

    async def chats(
        self, owner: str, before: str | None = None, limit: int = 50, query: str = ""
    ) -> ChatPage:
        values = owner, before, limit, query
        if not query:
            return await self._readers.read(reads.list_chats, *values)
        async with self._searches.of(owner):
            await self._catch_up(owner)
            return await self._read_in_slot("search", lambda c: reads.list_chats(c, *values))

    async def history(self, owner: str, chat_id: str, limit: int | None = None) -> History:
        read = self._read_in_slot("much", lambda c: messages.read_history(c, owner, chat_id, limit))
        return self._keep_folds(await read)

    async def messages(
        self, owner: str, chat_id: str, before: str | None = None, limit: int = 50
    ) -> MessagePage:
        values = owner, chat_id, before, limit
        read = self._read_in_slot("much", lambda c: messages.read_messages(c, *values))
        return self._keep_folds(await read)

    async def rename(self, owner: str, chat_id: str, title: str) -> Chat:
        return await self._write(lambda t: turns.rename_chat(t, owner, chat_id, title))

    async def delete(self, owner: str, chat_id: str) -> None:
        gone = await self._write(lambda t: turns.delete_chat(t, owner, chat_id))
        self._forget(gone, chat_id)

    async def idle_chats(self, since: int) -> list[IdleChat]:
        return await self._readers.read(retention.idle_chats, since)

    async def delete_idle(self, chat: IdleChat, since: int) -> bool:
        gone = await self._write(lambda t: retention.delete_idle(t, chat, since))
        if gone is not None:
            self._forget(gone, chat.id)
        return gone is not None

    async def settle(self) -> None:
        """A log is deleted with its chat, in one transaction."""

    async def forget_deleted(self, deleted_before: int) -> int:
        return await self._write(lambda t: retention.forget_deleted(t, deleted_before))

    # Keys

    async def add_key(self, key: ApiKey) -> None:
        await self._write(lambda t: keys.add_key(t, key))

    async def find_key(self, digest: str) -> ApiKey | None:
        return await self._readers.read(keys.find_key, digest)

    async def keys(self) -> list[ApiKey]:
        return await self._readers.read(keys.all_keys)

    async def keys_of(self, key_ids: Collection[str]) -> list[ApiKey]:
        return await self._readers.read(keys.keys_of, key_ids)

    async def revoke_key(self, key_id: str) -> ApiKey:
        return await self._write(lambda t: keys.revoke_key(t, key_id))

    async def note_use(self, key_id: str, at: int) -> None:
        await self._write(lambda t: keys.note_use(t, key_id, at))

    async def forget_keys(self, ended_before: int) -> int:
        return await self._write(lambda t: keys.forget_keys(t, ended_before))

    async def add_ticket(self, ticket: Ticket) -> None:
        await self._write(lambda t: keys.add_ticket(t, ticket))

    async def take_ticket(self, digest: str) -> Ticket | None:
        return await self._write(lambda t: keys.take_ticket(t, digest))

    # Messages at rest

    def _keep_folds(self, result: ReadResult[T]) -> T:
        """Store folds without waiting: a lost one is made again."""
        for made in result.folds:
            self._keep(made).add_done_callback(lambda kept: kept.cancelled() or kept.exception())
        return result.value

    async def _catch_up(self, owner: str) -> None:
        """Store the folds of messages that were never read; skips those the database rejects."""
        after = 0
        while made := await self._folds_behind(owner, after):
            kept = await asyncio.gather(*map(self._keep, made), return_exceptions=True)
            for outcome in kept:
                if isinstance(outcome, StorageError) and not isinstance(outcome, WriteRefused):
                    raise outcome  # the database cannot be written at all
            after = made[-1].message

    async def _folds_behind(self, owner: str, after: int) -> list[Fold]:
        return await self._read_in_slot("much", lambda c: messages.folds_behind(c, owner, after))

    async def _read_in_slot(self, effort: Effort, read: Callable[[sqlite3.Connection], T]) -> T:
        return await self._slots.seated(effort, lambda: self._readers.read(read))

    def _keep(self, made: Fold) -> asyncio.Future[None]:
        return self._writer.submit(lambda transaction: store_fold(transaction, made))
