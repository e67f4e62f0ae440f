"""Reads a log while it is written: the same for every store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from typing import Literal

from mobox.errors import InvalidCursor, LogDeleted, RunNotFound, StorageError
from mobox.events import LogEntry
from mobox.storage.log import PAGE, Position, Run, RunId
from mobox.storage.new_run_waiters import NewRunWaiters
from mobox.storage.notifier import Notifier, RunNotice
from mobox.storage.remote_polling import QueriedRuns, RemotePolling
from mobox.storage.retry import retry_while_unavailable
from mobox.storage.tail import Watch

__all__ = ["Following", "Page"]

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
