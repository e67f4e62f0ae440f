"""Reads a log while it is written: the same for every store."""

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
from mobox.storage.retry import retry_while_unavailable

# Waiters for a change; each checks by itself whether it was the awaited one.


class Waiters:
    """A base class for what changes. All of it belongs to the event loop's thread."""

    def __init__(self) -> None:
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


# The last entries of a log that is being written, in memory, and the readers waiting for more.
#
# Rule 1: only committed entries get here.
# Rule 2: a reader waits for a number to be passed, never for an event to happen: a late one sees
#         the number and does not wait, so no wake-up can be lost.
# Rule 3: a wake-up is a hint; the entries are read from the tail or the database.
# Rule 4: all of it belongs to the event loop's thread.

_ENTRIES = 256
_BYTES = 256 * 1024


class Tail:
    """The last entries of a log, without a gap between them."""

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
        while self._batches and (self._entries > _ENTRIES or self._bytes > _BYTES):
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
        self.readers = 0
        self.tail = Tail()

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


# Waits for new runs, chat by chat.
#
# Rule 1: a waiter has seen a number and waits for it to change, so no wake-up can be lost.
# Rule 2: a wake-up is a hint: the runs are read from the store.
# Rule 3: all of it belongs to the event loop's thread.


class ChatWatch(Waiters):
    """Counts the changes of one chat, and wakes those who wait for the next."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self.readers = 0
        self._latest: RunId | None = None
        self._was_looked_at = False

    def ring(self) -> None:
        """A run was started, or the chat was deleted."""
        self.changes += 1
        self._wake()

    def look(self, latest: RunId | None) -> None:
        """The chat's last run, as read from the store: wake if it is another."""
        if not self._was_looked_at or latest != self._latest:
            self._was_looked_at, self._latest = True, latest
            self.ring()

    async def beyond(self, changes: int) -> None:
        """Wait until there were more changes than that."""
        while self.changes <= changes:
            await self.change()


class NewRunWaiters:
    """The chats that have waiters."""

    def __init__(self) -> None:
        self._watches: dict[str, ChatWatch] = {}

    @property
    def watched(self) -> list[str]:
        """The ids of these chats."""
        return list(self._watches)

    @contextmanager
    def watching(self, chat_id: str) -> Iterator[ChatWatch]:
        """Watch a chat, whether it exists or not."""
        watch = self._watches.setdefault(chat_id, ChatWatch())
        watch.readers += 1
        try:
            yield watch
        finally:
            watch.readers -= 1
            if not watch.readers:
                del self._watches[chat_id]

    def ring(self, chat_id: str) -> None:
        """A run was started there, or the chat deleted, in this process."""
        if watch := self._watches.get(chat_id):
            watch.ring()

    def look(self, chat_ids: Iterable[str], latest: Mapping[str, RunId]) -> None:
        """The last runs of these chats, as read from the store."""
        for chat_id in chat_ids:
            if watch := self._watches.get(chat_id):
                watch.look(latest.get(chat_id))


# Polls the store for what other processes wrote: when they notify, and at intervals.
#
# Rule 1: one query at a time for all waiters: a thousand idle readers cost as much as one.
# Rule 2: notifications may be late, duplicated or lost: that only delays when a change is seen.

_SAFETY_NET: Final = 5
"""Every fifth poll is made even while notifications arrive."""

_NOTHING: Final = RunNotice()


class QueriedRuns(NamedTuple):
    """The runs and chats to query."""

    run_ids: list[RunId]
    chat_ids: list[str]


class RemotePolling:
    """Exchanges notifications with the other processes of one store, and polls it."""

    def __init__(
        self,
        poll_seconds: float | None,
        wake_ups: Notifier | None,
        look: Callable[[QueriedRuns], Coroutine[Any, Any, None]],
        waited_for: Callable[[], QueriedRuns],
    ) -> None:
        self._poll_seconds = poll_seconds
        self._wake_ups = wake_ups
        self._look = look
        self._waited_for = waited_for
        self._run_ids: set[RunId] = set()
        self._chat_ids: set[str] = set()
        self._looking: asyncio.Task[None] | None = None
        self._poller: asyncio.Task[None] | None = None

    @property
    def state(self) -> Literal["none", "up", "down"]:
        """See `Storage.wake_ups`."""
        if self._wake_ups is None:
            return "none"
        return "up" if self._wake_ups.is_healthy else "down"

    def tell(self, notification: RunNotice) -> None:
        """Notify other processes, if there is a channel."""
        if self._wake_ups is not None and notification != _NOTHING:
            self._wake_ups.tell(notification)

    def look_soon(self, run_ids: Iterable[RunId], chat_ids: Iterable[str] = ()) -> None:
        """Query these soon: a notification named them."""
        self._run_ids.update(run_ids)
        self._chat_ids.update(chat_ids)
        if (self._run_ids or self._chat_ids) and self._looking is None:
            self._looking = asyncio.create_task(self._query())

    async def _query(self) -> None:
        try:
            while self._run_ids or self._chat_ids:
                places = QueriedRuns(list(self._run_ids), list(self._chat_ids))
                self._run_ids, self._chat_ids = set(), set()  # refilled by later notifications
                await self._look(places)
        finally:
            self._looking = None

    def start_polling(self) -> None:
        """Poll at intervals while there are waiters."""
        if self._poll_seconds is not None and self._poller is None:
            self._poller = asyncio.create_task(self._poll(self._poll_seconds))

    async def _poll(self, seconds: float) -> None:
        looks = 0
        try:
            while any(self._waited_for()):
                await asyncio.sleep(seconds)
                looks += 1
                if self.state != "up" or looks % _SAFETY_NET == 0:
                    await self._look(self._waited_for())
        finally:
            self._poller = None

    async def stop_looking(self) -> None:
        """The store is about to close."""
        tasks = [task for task in (self._poller, self._looking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def stop_telling(self) -> None:
        """Nothing more will be committed."""
        if self._wake_ups is not None:
            await self._wake_ups.close()


Page = Callable[[], Sequence[LogEntry]]
"""Decodes entries, at least one, on demand: undecoded they take less memory."""


class Following(ABC):
    """Reads recent entries from memory, and the rest from the store below it."""

    def __init__(self, poll_seconds: float | None, wake_ups: Notifier | None = None) -> None:
        """Poll this often for other processes' writes: `None` where there are none."""
        self._watches: dict[RunId, Watch] = {}
        self._chat_watches = NewRunWaiters()
        self._on_work: list[Callable[[], None]] = []
        self._poller = RemotePolling(poll_seconds, wake_ups, self._look_at, self._waited_for)
        if wake_ups is not None:
            wake_ups.listen(self._on_notification)

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
        with self._chat_watches.watching(chat_id) as watch:
            changes = watch.changes
            run = await self._run_after(owner, chat_id, run_id)
            while run is None:
                self._poller.start_polling()
                await watch.beyond(changes)
                changes = watch.changes
                run = await retry_while_unavailable(self._run_after, owner, chat_id, run_id)
            return run

    def when_work(self, callback: Callable[[], None]) -> None:
        self._on_work.append(callback)

    @property
    def wake_ups(self) -> Literal["none", "up", "down"]:
        return self._poller.state

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
        position = watch.position or await self._look(run_id, watch)
        while position.tail <= seq and position.status != "done":
            # Another process's entries may be read before its position is known: check each time.
            if position == Position(seq, "waiting") and not through_pauses:
                break
            self._poller.start_polling()
            await watch.change()
            if watch.gone:
                raise LogDeleted(run_id)
            position = watch.position or position
        return position

    async def _check_cursor(self, run_id: RunId, watch: Watch, after: int) -> None:
        position = watch.position or await self._look(run_id, watch)
        if after > position.tail:  # unless another process wrote, and we were not notified yet
            position = await self._look(run_id, watch)
        if not 0 <= after <= position.tail:
            raise InvalidCursor(after, position.tail)

    async def _look(self, run_id: RunId, watch: Watch) -> Position:
        """Query the store. The watch exists already, so no write is missed meanwhile."""
        found = await self._positions([run_id])
        if run_id not in found or watch.gone:
            raise RunNotFound(run_id)
        watch.advance(found[run_id])
        return watch.position or found[run_id]

    # Watches

    @contextmanager
    def _reading(self, run_id: RunId) -> Iterator[Watch]:
        watch = self._watch(run_id)
        watch.readers += 1
        try:
            yield watch
        finally:
            watch.readers -= 1
            self._tidy(run_id, watch)

    def _publish(
        self, run_id: RunId, position: Position, entries: Sequence[LogEntry], size: int
    ) -> None:
        """Pass committed entries to the readers."""
        watch = self._watch(run_id)
        if entries:
            watch.tail.add(entries, size)
        watch.advance(position)
        self._tidy(run_id, watch)

    def _watch(self, run_id: RunId) -> Watch:
        watch = self._watches.get(run_id)
        if watch is None:
            watch = self._watches[run_id] = Watch()
        return watch

    def _unpublish(self, run_id: RunId) -> None:
        """The log was deleted."""
        if watch := self._watches.pop(run_id, None):
            watch.vanish()

    def _hand_over(self, run_id: RunId) -> None:
        """Another process writes this log now: readers here read from the store."""
        if watch := self._watches.get(run_id):
            watch.tail.clear()
            if not watch.readers:
                del self._watches[run_id]

    def _tidy(self, run_id: RunId, watch: Watch) -> None:
        """Drop the watch unless its log is being written or read."""
        is_running = watch.position is not None and watch.position.status == "running"
        is_written = is_running and not watch.tail.is_empty
        if not watch.readers and not is_written and self._watches.get(run_id) is watch:
            del self._watches[run_id]

    def _forget(self, run_ids: Iterable[RunId], chat_id: str) -> None:
        """A chat was deleted. Readers of its runs in other processes do not know its id."""
        for run_id in run_ids:
            self._unpublish(run_id)
        self._chat_watches.ring(chat_id)
        self._notify(RunNotice(chats=(chat_id,), everything=True))

    # Other processes

    def _notify(self, notification: RunNotice) -> None:
        """Notify other processes of a commit; to be called once for each."""
        self._poller.tell(notification)
        self._announce(notification)

    def _announce(self, notification: RunNotice) -> None:
        if notification.work:
            for callback in self._on_work:
                callback()

    def _on_notification(self, notification: RunNotice) -> None:
        """Other processes' notification: a hint, the positions are read from the store."""
        for chat_id in notification.chats:
            self._chat_watches.ring(chat_id)
        positions = notification.positions.items()
        self._poller.look_soon(run_id for run_id, place in positions if self._lacks(run_id, place))
        if notification.everything:
            self._poller.look_soon(self._watches, self._chat_watches.watched)
        self._announce(notification)

    def _lacks(self, run_id: RunId, position: Position) -> bool:
        """Whether this log has readers here that do not know it is so long."""
        watch = self._watches.get(run_id)
        return watch is not None and (watch.position is None or watch.position.tail < position.tail)

    def _waited_for(self) -> QueriedRuns:
        run_ids = [run_id for run_id, watch in self._watches.items() if watch.is_waited_for]
        return QueriedRuns(run_ids, self._chat_watches.watched)

    async def _look_at(self, places: QueriedRuns) -> None:
        run_ids, chat_ids = places
        try:
            found = await self._positions(run_ids) if run_ids else {}
            self._chat_watches.look(chat_ids, await self._latest_runs(chat_ids) if chat_ids else {})
        except StorageError:
            return  # it may be reachable next time
        for run_id in run_ids:
            watch = self._watches.get(run_id)
            if watch is not None and run_id in found:
                watch.advance(found[run_id])
            elif watch is not None:
                self._unpublish(run_id)

    async def _stop_polling(self) -> None:
        """Before the store closes."""
        await self._poller.stop_looking()

    async def _stop_notifying(self) -> None:
        """After the last commit."""
        await self._poller.stop_telling()


# Publishes commits of stores in databases: to readers here, and to other processes.


class Publishing(Following):
    """Passes committed entries to readers, before the writers' calls return."""

    def _publish_all(self, outcomes: Iterable[object]) -> None:
        committed = list(outcomes)
        for outcome in committed:
            match outcome:
                case Appended() as batch:
                    self._publish(batch.run_id, batch.position, batch.entries, batch.size)
                case NextAttempt(answers=batch):
                    self._publish(batch.run_id, batch.position, batch.entries, batch.size)
                case BegunTurn(run=run):
                    self._chat_watches.ring(run.chat_id)
                case Fenced():
                    self._hand_over(RunId(outcome.run_id))
                case _:
                    pass
        self._notify(_notification_of(committed))


def _notification_of(outcomes: Sequence[object]) -> RunNotice:
    """The notification of a commit for other processes."""
    resumed = [outcome for outcome in outcomes if isinstance(outcome, NextAttempt)]
    started = [outcome.run for outcome in outcomes if isinstance(outcome, BegunTurn)]
    appended = [outcome for outcome in outcomes if isinstance(outcome, Appended)]
    appended += [outcome.answers for outcome in resumed]
    return RunNotice(
        positions={batch.run_id: batch.position for batch in appended},
        chats=tuple(run.chat_id for run in started),
    )
