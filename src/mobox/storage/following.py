"""Follows logs while they are written, by this process or another: the same for every store.

Rule 1: only committed entries are published.
Rule 2: a reader waits for a number to be passed, never for an event to happen: a late one sees the
        number and does not wait, so no wake-up can be lost.
Rule 3: a wake-up is a hint: the entries are read from memory or from the store. Notifications of
        other processes may be late, duplicated or lost; that only delays when a change is seen,
        since the store is polled, too.
Rule 4: one query at a time for all waiters: a thousand idle readers cost as much as one.
Rule 5: all of it belongs to the event loop's thread.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from typing import Any, Final, Literal, NamedTuple

from mobox.errors import Fenced, InvalidCursor, LogDeleted, RunNotFound, StorageError
from mobox.events import LogEntry
from mobox.storage.chats import BegunTurn
from mobox.storage.encoding import Appended, NextAttempt
from mobox.storage.log import PAGE, Position, Run, RunId
from mobox.storage.notifications import Notifier, RunNotice
from mobox.storage.renewals import Renewal
from mobox.storage.retry import retry_while_unavailable

_TAIL_ENTRIES: Final = 256
_TAIL_BYTES: Final = 256 * 1024
_SAFETY_NET: Final = 5
"""Every fifth poll is made even while notifications arrive."""
_NOTHING: Final = RunNotice()
_UNKNOWN: Final = RunId("")

Page = Callable[[], Sequence[LogEntry]]
"""Decodes entries, at least one, on demand: undecoded they take less memory."""


class Waiters:
    """Those who wait for a change; each checks by itself whether it was the awaited one."""

    def __init__(self) -> None:
        self.readers = 0
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def is_waited_for(self) -> bool:
        return bool(self._waiters)

    async def change(self) -> None:
        """Wait for the next change."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


class Tail:
    """The last entries of a log that is being written, in memory, without a gap between them."""

    def __init__(self) -> None:
        self._batches: deque[tuple[tuple[LogEntry, ...], int]] = deque()
        self._entries = 0
        self._bytes = 0

    def add(self, entries: Sequence[LogEntry], size: int) -> None:
        """Add appended entries, `size` bytes of JSON, and drop the oldest."""
        if self._batches and self._batches[-1][0][-1].seq + 1 != entries[0].seq:
            self.clear()  # another process wrote in between
        self._batches.append((tuple(entries), size))  # the writer may reuse its list
        self._entries += len(entries)
        self._bytes += size
        while self._batches and (self._entries > _TAIL_ENTRIES or self._bytes > _TAIL_BYTES):
            gone, size = self._batches.popleft()
            self._entries -= len(gone)
            self._bytes -= size

    @property
    def is_empty(self) -> bool:
        return not self._batches

    def clear(self) -> None:
        self._batches.clear()
        self._entries = self._bytes = 0

    def after(self, seq: int, limit: int) -> list[LogEntry]:
        """The entries after `seq`; nothing if they are not in memory."""
        if not self._batches or seq + 1 < self._batches[0][0][0].seq:
            return []
        newest = self._batches[-1][0]
        if newest[0].seq == seq + 1:  # where nearly all readers are
            return list(newest[:limit])
        found: deque[tuple[LogEntry, ...]] = deque()
        for entries, _ in reversed(self._batches):  # readers are mostly close to the end
            if entries[-1].seq <= seq:
                break
            found.appendleft(entries)
        if found:
            found[0] = found[0][max(0, seq + 1 - found[0][0].seq) :]
        return [entry for entries in found for entry in entries][:limit]


class Watch(Waiters):
    """The known position of one log, and the readers waiting for more."""

    def __init__(self) -> None:
        super().__init__()
        self.position: Position | None = None
        self.gone = False
        self.tail = Tail()

    @property
    def is_needed(self) -> bool:
        """Whether its log is being read, or written by this process."""
        is_running = self.position is not None and self.position.status == "running"
        return bool(self.readers) or (is_running and not self.tail.is_empty)

    def advance(self, position: Position) -> None:
        """The log is at least this long. Late notifications change nothing."""
        if self.position is None or position.tail > self.position.tail:
            self.position = position
            self._wake()

    def vanish(self) -> None:
        """The log was deleted."""
        self.gone = True
        self.tail.clear()
        self._wake()


class ChatWatch(Waiters):
    """Counts the new runs of one chat, and wakes those who wait for the next."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self._latest: RunId | None = _UNKNOWN

    def ring(self) -> None:
        """A run was started, or the chat was deleted."""
        self.changes += 1
        self._wake()

    def see(self, latest: RunId | None) -> None:
        """The chat's last run, as read from the store: wake if it is another."""
        if latest != self._latest:
            self._latest = latest
            self.ring()

    async def beyond(self, changes: int) -> None:
        """Wait until there were more changes than that."""
        while self.changes <= changes:
            await self.change()


class Waited(NamedTuple):
    """The runs and chats to query."""

    run_ids: list[RunId]
    chat_ids: list[str]


class Poller:
    """Queries the store: at once what a notification named, at intervals all that has waiters."""

    def __init__(
        self,
        query: Callable[[Waited], Coroutine[Any, Any, None]],
        waited: Callable[[], Waited],
        is_notified: Callable[[], bool],
    ) -> None:
        self._query = query
        self._waited = waited
        self._is_notified = is_notified
        self._run_ids: set[RunId] = set()
        self._chat_ids: set[str] = set()
        self._querying: asyncio.Task[None] | None = None
        self._polling: asyncio.Task[None] | None = None

    def query_soon(self, run_ids: Iterable[RunId], chat_ids: Iterable[str] = ()) -> None:
        """Query these; those named meanwhile are in the next query."""
        self._run_ids.update(run_ids)
        self._chat_ids.update(chat_ids)
        if (self._run_ids or self._chat_ids) and self._querying is None:
            self._querying = asyncio.create_task(self._query_named())

    async def _query_named(self) -> None:
        try:
            while self._run_ids or self._chat_ids:
                named = Waited(list(self._run_ids), list(self._chat_ids))
                self._run_ids, self._chat_ids = set(), set()
                await self._query(named)
        finally:
            self._querying = None

    def start_polling(self, seconds: float) -> None:
        """Poll at intervals while there are waiters."""
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll(seconds))

    async def _poll(self, seconds: float) -> None:
        polls = 0
        try:
            while any(self._waited()):
                await asyncio.sleep(seconds)
                polls += 1
                if not self._is_notified() or polls % _SAFETY_NET == 0:
                    await self._query(self._waited())
        finally:
            self._polling = None

    async def stop(self) -> None:
        tasks = [task for task in (self._polling, self._querying) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Following(ABC):
    """Reads recent entries from memory, and the rest from the store below it."""

    def __init__(self, poll_seconds: float, notifier: Notifier | None = None) -> None:
        self._watches: dict[RunId, Watch] = {}
        self._chat_watches: dict[str, ChatWatch] = {}
        self._on_work: list[Callable[[], None]] = []
        self._on_renewal: list[Callable[[Renewal], None]] = []
        self._poll_seconds = poll_seconds
        self._poller = Poller(self._query, self._waited, lambda: self.wake_ups == "up")
        self._notifier = notifier
        if notifier is not None:
            notifier.listen(self._on_notification)

    @abstractmethod
    async def _positions(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Position]:
        """The positions of these logs, without those that do not exist."""

    @abstractmethod
    async def _latest_runs(self, chat_ids: Sequence[str]) -> Mapping[str, RunId]:
        """The last run of each of these chats, without those that have none."""

    @abstractmethod
    async def _run_after(self, owner: str, chat_id: str, run_id: RunId | None) -> Run | None:
        """See `Chats.run_after`; nothing if it has not started yet."""

    @abstractmethod
    async def _read(self, run_id: RunId, after: int, limit: int) -> Sequence[LogEntry]:
        """The next entries in the store; raises `RunNotFound` or `InvalidCursor`."""

    @abstractmethod
    def _note_end(self, run_id: RunId) -> None:
        """A run has ended here."""

    async def _read_ahead(self, run_id: RunId, after: int) -> list[Page]:
        """The next pages, as many as the store chooses."""
        entries = await self._read(run_id, after, PAGE)
        return [lambda: entries] if entries else []

    # The interface

    async def read(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[LogEntry]:
        watch = self._watches.get(run_id)
        entries = watch.tail.after(after, limit) if watch is not None else []
        return entries or list(await self._read(run_id, after, limit))

    async def beyond(self, run_id: RunId, seq: int) -> Position:
        with self._reading(run_id) as watch:
            return await self._wait_beyond(run_id, watch, seq)

    async def follow(
        self, run_id: RunId, after: int = 0, *, through_pauses: bool = True
    ) -> AsyncIterator[Sequence[LogEntry]]:
        with self._reading(run_id) as watch:
            await self._check_cursor(run_id, watch, after)
            while pages := await retry_while_unavailable(
                self._next, run_id, watch, after, through_pauses
            ):
                for page in pages:
                    entries = page()
                    after += len(entries)
                    yield entries

    async def run_after(self, owner: str, chat_id: str, run_id: RunId | None) -> Run:
        with self._watching(chat_id) as watch:
            changes = watch.changes
            run = await self._run_after(owner, chat_id, run_id)
            while run is None:
                self._poller.start_polling(self._poll_seconds)
                await watch.beyond(changes)
                changes = watch.changes
                run = await retry_while_unavailable(self._run_after, owner, chat_id, run_id)
            return run

    def when_work(self, callback: Callable[[], None]) -> None:
        self._on_work.append(callback)

    def when_renewed(self, callback: Callable[[Renewal], None]) -> None:
        self._on_renewal.append(callback)

    def _publish_renewal(self, renewal: Renewal) -> None:
        loop = asyncio.get_running_loop()
        for call in self._on_renewal:
            loop.call_soon(call, renewal)  # an error in it must not stop the writer

    @property
    def wake_ups(self) -> Literal["none", "up", "down"]:
        if self._notifier is None:
            return "none"
        return "up" if self._notifier.is_healthy else "down"

    # Reading a log

    async def _next(
        self, run_id: RunId, watch: Watch, after: int, through_pauses: bool
    ) -> list[Page]:
        """Wait for the next pages; nothing if the run has ended, or paused where that counts."""
        position = await self._wait_beyond(run_id, watch, after, through_pauses)
        if entries := watch.tail.after(after, PAGE):
            return [lambda: entries]
        return await self._read_ahead(run_id, after) if position.tail > after else []

    async def _wait_beyond(
        self, run_id: RunId, watch: Watch, seq: int, through_pauses: bool = True
    ) -> Position:
        if watch.gone:  # since the reader took the last entry: nothing would wake it
            raise LogDeleted(run_id)
        position = watch.position or await self._find_position(run_id, watch)
        while position.tail <= seq and position.status != "done":
            # Another process's entries may be read before its position is known: check each time.
            if position == Position(seq, "waiting") and not through_pauses:
                break
            self._poller.start_polling(self._poll_seconds)
            await watch.change()
            if watch.gone:
                raise LogDeleted(run_id)
            position = watch.position or position
        return position

    async def _check_cursor(self, run_id: RunId, watch: Watch, after: int) -> None:
        position = watch.position or await self._find_position(run_id, watch)
        if after > position.tail:  # unless another process wrote, and we were not notified yet
            position = await self._find_position(run_id, watch)
        if not 0 <= after <= position.tail:
            raise InvalidCursor(after, position.tail)

    async def _find_position(self, run_id: RunId, watch: Watch) -> Position:
        """Query the store. The watch exists already, so no write is missed meanwhile."""
        found = await self._positions([run_id])
        if run_id not in found or watch.gone:
            raise RunNotFound(run_id)
        watch.advance(found[run_id])
        return watch.position or found[run_id]

    @contextmanager
    def _reading(self, run_id: RunId) -> Iterator[Watch]:
        watch = self._watch(run_id)
        watch.readers += 1
        try:
            yield watch
        finally:
            watch.readers -= 1
            self._tidy(run_id, watch)

    def _watch(self, run_id: RunId) -> Watch:
        watch = self._watches.get(run_id)
        if watch is None:
            watch = self._watches[run_id] = Watch()
        return watch

    def _tidy(self, run_id: RunId, watch: Watch) -> None:
        if not watch.is_needed and self._watches.get(run_id) is watch:
            del self._watches[run_id]

    @contextmanager
    def _watching(self, chat_id: str) -> Iterator[ChatWatch]:
        """Watch a chat, whether it exists or not."""
        watch = self._chat_watches.setdefault(chat_id, ChatWatch())
        watch.readers += 1
        try:
            yield watch
        finally:
            watch.readers -= 1
            if not watch.readers:
                del self._chat_watches[chat_id]

    # Publishing commits, before the writers' calls return

    def _publish_all(self, outcomes: Iterable[object]) -> None:
        """Publish the outcomes of a commit to readers here, and notify other processes once."""
        positions: dict[RunId, Position] = {}
        chat_ids: list[str] = []
        for outcome in outcomes:
            match outcome:
                case (Appended() as batch) | NextAttempt(answers=batch):
                    self._publish(batch)
                    positions[batch.run_id] = batch.position
                    if batch.position.status == "done":
                        self._note_end(batch.run_id)
                case BegunTurn(run=run):
                    self._ring(run.chat_id)
                    chat_ids.append(run.chat_id)
                case Fenced():
                    self._hand_over(RunId(outcome.run_id))
                case _:
                    pass
        self._notify(RunNotice(positions=positions, chats=tuple(chat_ids)))

    def _publish(self, batch: Appended) -> None:
        watch = self._watch(batch.run_id)
        if batch.entries:
            watch.tail.add(batch.entries, batch.size)
        watch.advance(batch.position)
        self._tidy(batch.run_id, watch)

    def _hand_over(self, run_id: RunId) -> None:
        """Another process writes this log now: readers here read from the store."""
        if watch := self._watches.get(run_id):
            watch.tail.clear()
            self._tidy(run_id, watch)

    def _publish_deletion(self, run_ids: Iterable[RunId], chat_id: str) -> None:
        """A chat was deleted. Readers of its runs in other processes do not know its id."""
        for run_id in run_ids:
            self._vanish(run_id)
        self._ring(chat_id)
        self._notify(RunNotice(chats=(chat_id,), everything=True))

    def _vanish(self, run_id: RunId) -> None:
        if watch := self._watches.pop(run_id, None):
            watch.vanish()

    def _ring(self, chat_id: str) -> None:
        if watch := self._chat_watches.get(chat_id):
            watch.ring()

    # Other processes

    def _notify(self, notification: RunNotice) -> None:
        """Notify other processes of a commit; to be called once for each."""
        if self._notifier is not None and notification != _NOTHING:
            self._notifier.notify(notification)
        self._announce(notification)

    def _announce(self, notification: RunNotice) -> None:
        if notification.work:
            for callback in self._on_work:
                callback()

    def _on_notification(self, notification: RunNotice) -> None:
        """Other processes' notification: a hint, the positions are read from the store."""
        for chat_id in notification.chats:
            self._ring(chat_id)
        positions = notification.positions.items()
        self._poller.query_soon(run_id for run_id, known in positions if self._lacks(run_id, known))
        if notification.everything:
            self._poller.query_soon(self._watches, self._chat_watches)
        self._announce(notification)

    def _lacks(self, run_id: RunId, position: Position) -> bool:
        """Whether this log has readers here that do not know it is so long."""
        watch = self._watches.get(run_id)
        return watch is not None and (watch.position is None or watch.position.tail < position.tail)

    def _waited(self) -> Waited:
        run_ids = [run_id for run_id, watch in self._watches.items() if watch.is_waited_for]
        return Waited(run_ids, list(self._chat_watches))

    async def _query(self, waited: Waited) -> None:
        run_ids, chat_ids = waited
        try:
            positions = await self._positions(run_ids) if run_ids else {}
            latest = await self._latest_runs(chat_ids) if chat_ids else {}
        except StorageError:
            return  # it may be reachable next time
        for chat_id in chat_ids:
            if chat_watch := self._chat_watches.get(chat_id):
                chat_watch.see(latest.get(chat_id))
        for run_id in run_ids:
            watch = self._watches.get(run_id)
            if watch is not None and run_id in positions:
                watch.advance(positions[run_id])
            elif watch is not None:
                self._vanish(run_id)

    async def _stop_polling(self) -> None:
        """Before the store closes."""
        await self._poller.stop()

    async def _stop_notifying(self) -> None:
        """After the last commit."""
        if self._notifier is not None:
            await self._notifier.close()
