"""A store in this process's memory: for tests and trials, and the simplest implementation."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from msgspec.structs import replace

from mobox.errors import ChatNotFound, KeyReused, LogDeleted, RunNotFound
from mobox.events.message import Message
from mobox.events.transcript import fold
from mobox.events.turn import Request, UserMessage
from mobox.settings import Settings
from mobox.storage.chats import (
    FORGOTTEN_AT_ONCE,
    BegunTurn,
    Chat,
    ChatPage,
    History,
    IdleChat,
    MessagePage,
    NamedRequest,
    StoredMessage,
    read_cursor,
    write_cursor,
)
from mobox.storage.log import Run, RunId
from mobox.storage.memory_keys import MemoryKeys
from mobox.storage.memory_log import MemoryLog, Recording, Row, Thread
from mobox.storage.notifications import RunNotice
from mobox.storage.turns import (
    TurnPlan,
    client_request_of,
    fingerprint,
    new_run_id,
    plan_turn,
    title_of,
)


class MemoryStorage(MemoryLog, MemoryKeys):
    """Stores everything in dictionaries."""

    def __init__(self, settings: Settings | None = None) -> None:
        MemoryLog.__init__(self, settings or Settings())
        MemoryKeys.__init__(self)
        self._keys: dict[tuple[str, str], tuple[bytes, RunId]] = {}
        self._deleted: dict[str, tuple[str, int]] = {}  # run id -> owner, and time

    async def close(self) -> None:
        await self._stop_polling()
        await self._stop_notifying()

    # Turns

    async def begin_turn(
        self, owner: str, request: Request, agent: str, framework: str
    ) -> BegunTurn:
        if (known := self._known_run(owner, request)) is not None:
            return BegunTurn(run=known, created=False)
        thread = self._threads.get(request.chat_id)
        if thread is not None and thread.chat.owner != owner:
            raise ChatNotFound(request.chat_id)
        if thread is not None:
            self._check_none_runs(thread)
        live = thread.live() if thread is not None else []
        plan = plan_turn([row.outline() for row in live], request)
        thread = thread or self._new_thread(owner, request)
        self._supersede(live[plan.kept :])
        run = self._new_run(thread, plan, agent, framework)
        if (client_request := client_request_of(request)) is not None:
            self._recordings[run.id].asked.append(client_request)
        if request.idempotency_key is not None:
            self._keys[owner, request.idempotency_key] = (fingerprint(request), run.id)
        self._chat_watches.ring(request.chat_id)
        return BegunTurn(run=run, created=True)

    def _known_run(self, owner: str, request: Request) -> Run | None:
        key = request.idempotency_key
        if key is None or (owner, key) not in self._keys:
            return None
        before, run_id = self._keys[owner, key]
        if before != fingerprint(request):
            raise KeyReused(key)
        return self._recordings[run_id].run

    def _new_thread(self, owner: str, request: Request) -> Thread:
        now = self._settings.clock()
        title = title_of(request.message)
        chat = Chat(id=request.chat_id, owner=owner, title=title, created_at=now, updated_at=now)
        self._chats_made += 1
        self._threads[chat.id] = thread = Thread(chat, self._chats_made)
        return thread

    def _supersede(self, rows: Iterable[Row]) -> None:
        for row in rows:
            row.superseded = True
            if not isinstance(row.content, UserMessage):
                recording = self._recordings[row.content]
                recording.run = replace(recording.run, superseded=True)

    def _new_run(self, thread: Thread, plan: TurnPlan, agent: str, framework: str) -> Run:
        now, lease = self._settings.clock(), self._lease()
        run = Run(
            id=new_run_id(now),
            chat_id=thread.chat.id,
            owner=thread.chat.owner,
            agent=agent,
            framework=framework,
            lease_owner=lease.owner,
            lease_until=lease.until,
            started_at=now,
        )
        if plan.added is not None:
            thread.add(now, plan.added)
        thread.add(now, run.id)
        thread.runs.append(run.id)
        self._recordings[run.id] = Recording(run)
        self._touch(thread)
        return run

    # Runs

    async def run(self, owner: str, run_id: str) -> Run:
        return self._owned(owner, run_id).run

    async def runs(self, owner: str, chat_id: str) -> list[Run]:
        return [self._recordings[run_id].run for run_id in self._thread(owner, chat_id).runs]

    async def _run_after(self, owner: str, chat_id: str, run_id: RunId | None) -> Run | None:
        if run_id is not None and self._owned(owner, run_id).run.chat_id != chat_id:
            raise RunNotFound(run_id)
        thread = self._threads.get(chat_id)
        runs = thread.runs if thread is not None and thread.chat.owner == owner else []
        later = runs if run_id is None else runs[runs.index(run_id) + 1 :]
        return self._recordings[later[0]].run if later else None

    async def named(self, owner: str, chat_id: str, name: str) -> NamedRequest:
        for run_id in reversed(self._thread(owner, chat_id).runs):
            recording = self._recordings[run_id]
            for client_request in reversed(recording.asked):
                if client_request.name == name:
                    return NamedRequest(recording.run, client_request)
        raise RunNotFound(name)

    async def request_stop(self, owner: str, run_id: str) -> Run:
        recording = self._owned(owner, run_id)
        if recording.run.status != "done" and recording.run.stop_requested_at is None:
            now = self._settings.clock()
            recording.run = replace(recording.run, stop_requested_at=now)
            self._notify(RunNotice(work=True))
        return recording.run

    def _owned(self, owner: str, run_id: str) -> Recording:
        recording = self._recordings.get(RunId(run_id))
        if recording is not None and recording.run.owner == owner:
            return recording
        deleted_from, _ = self._deleted.get(run_id, (None, 0))
        raise LogDeleted(run_id) if deleted_from == owner else RunNotFound(run_id)

    # Chats

    async def chat(self, owner: str, chat_id: str) -> Chat:
        return self._thread(owner, chat_id).chat

    async def busy_chats(self, owner: str) -> set[str]:
        return {run.chat_id for run in self._running() if run.owner == owner}

    async def chats(
        self, owner: str, before: str | None = None, limit: int = 50, query: str = ""
    ) -> ChatPage:
        end = read_cursor(before, 2) if before is not None else None
        threads = [thread for thread in self._threads.values() if thread.chat.owner == owner]
        placed = sorted(((t.chat.updated_at, t.n), t) for t in threads)
        found = [
            (place, thread)
            for place, thread in reversed(placed)
            if (end is None or place < end) and self._contains(thread, query.casefold())
        ]
        more = write_cursor(*found[limit - 1][0]) if len(found) > limit else None
        page = [thread for _, thread in found[:limit]]
        active = (self._active(thread) for thread in page)
        return ChatPage(
            chats=tuple(thread.chat for thread in page),
            active=tuple(run for run in active if run is not None),
            before=more,
        )

    async def history(self, owner: str, chat_id: str, limit: int | None = None) -> History:
        chat = self._thread(owner, chat_id).chat
        page = await self.messages(owner, chat_id, limit=limit or sys.maxsize)
        return History(chat=chat, messages=page.messages, active=page.active, before=page.before)

    async def messages(
        self, owner: str, chat_id: str, before: str | None = None, limit: int = 50
    ) -> MessagePage:
        (end,) = read_cursor(before, 1) if before is not None else (None,)
        thread = self._thread(owner, chat_id)
        active = self._active(thread)
        rows = [row for row in self._at_rest(thread, active) if end is None or row.n < end]
        page = rows[-limit:]
        more = write_cursor(page[0].n) if len(rows) > limit else None
        return MessagePage(messages=tuple(map(self._stored, page)), active=active, before=more)

    async def rename(self, owner: str, chat_id: str, title: str) -> Chat:
        thread = self._thread(owner, chat_id)
        thread.chat = replace(thread.chat, title=title)
        return thread.chat

    async def delete(self, owner: str, chat_id: str) -> None:
        thread = self._thread(owner, chat_id)
        del self._threads[chat_id]
        gone = set(thread.runs)
        self._keys = {key: run for key, run in self._keys.items() if run[1] not in gone}
        for run_id in thread.runs:
            del self._recordings[run_id]
            self._deleted[run_id] = (owner, self._settings.clock())
        self._forget(thread.runs, chat_id)

    async def idle_chats(self, since: int) -> list[IdleChat]:
        threads = sorted(self._threads.values(), key=lambda t: (t.chat.updated_at, t.n))
        return [
            IdleChat(id=thread.chat.id, owner=thread.chat.owner, runs=tuple(thread.runs))
            for thread in threads
            if self._is_idle(thread, since)
        ]

    async def delete_idle(self, chat: IdleChat, since: int) -> bool:
        thread = self._threads.get(chat.id)
        if thread is None or thread.chat.owner != chat.owner or not self._is_idle(thread, since):
            return False
        await self.delete(chat.owner, chat.id)
        return True

    async def settle(self) -> None:
        """A log is deleted with its chat."""

    async def forget_deleted(self, deleted_before: int) -> int:
        old = [run_id for run_id, (_, at) in self._deleted.items() if at < deleted_before]
        for run_id in old[:FORGOTTEN_AT_ONCE]:
            del self._deleted[run_id]
        return len(old[:FORGOTTEN_AT_ONCE])

    def _is_idle(self, thread: Thread, since: int) -> bool:
        ended = all(self._recordings[run_id].run.status == "done" for run_id in thread.runs)
        return ended and thread.chat.updated_at < since

    def _thread(self, owner: str, chat_id: str) -> Thread:
        thread = self._threads.get(chat_id)
        if thread is None or thread.chat.owner != owner:
            raise ChatNotFound(chat_id)
        return thread

    # Messages

    def _active(self, thread: Thread) -> Run | None:
        """The running run; else the last waiting one."""
        runs = [self._recordings[run_id].run for run_id in thread.runs]
        active = [run for run in runs if run.status != "done" and not run.superseded]
        running = [run for run in active if run.status == "running"]
        return (running or active)[-1] if active else None

    def _at_rest(self, thread: Thread, active: Run | None) -> list[Row]:
        return [row for row in thread.live() if active is None or row.content != active.id]

    def _stored(self, row: Row) -> StoredMessage:
        if isinstance(row.content, UserMessage):
            return StoredMessage(
                id=row.content.id, role="user", created_at=row.created_at, body=row.content
            )
        return StoredMessage(
            id=row.content,
            role="assistant",
            created_at=row.created_at,
            body=self._fold(row.content),
            run_id=row.content,
        )

    def _fold(self, run_id: RunId) -> Message:
        recording = self._recordings[run_id]
        if recording.folded is None or recording.folded_seq < recording.run.tail_seq:
            recording.folded = fold(recording.entries, run_id)
            recording.folded_seq = recording.run.tail_seq
        return recording.folded

    def _contains(self, thread: Thread, query: str) -> bool:
        return query in thread.chat.title.casefold() or any(
            query in self._words(row).casefold() for row in thread.live()
        )

    def _words(self, row: Row) -> str:
        """The text that is searched: an answer only when it is complete."""
        if isinstance(row.content, UserMessage):
            return row.content.text
        ended = self._recordings[row.content].run.status == "done"
        return self._fold(row.content).content if ended else ""
