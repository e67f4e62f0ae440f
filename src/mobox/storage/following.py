"""How a log is read while it is written: the same for every store."""

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

from mobox.errors import BadCursor, LogDeleted, RunNotFound, StorageError
from mobox.events import LogEntry
from mobox.storage.beginnings import Beginnings
from mobox.storage.elsewhere import Elsewhere, Places
from mobox.storage.log import PAGE, Position, Run, RunId
from mobox.storage.patience import patiently
from mobox.storage.tail import Watch
from mobox.storage.wake_ups import News, WakeUps

__all__ = ["Following", "Page"]

Page = Callable[[], Sequence[LogEntry]]
"""Makes entries, at least one, when they are wanted: as the store keeps them they are smaller."""


class Following(ABC):
    """Reads from memory what has just been written, and the rest from the store below it."""

    def __init__(self, poll_seconds: float | None, wake_ups: WakeUps | None = None) -> None:
        """Look every so often for what other processes wrote: `None` where there are none."""
        self._watches: dict[RunId, Watch] = {}
        self._beginnings = Beginnings()
        self._on_work: list[Callable[[], None]] = []
        self._elsewhere = Elsewhere(poll_seconds, wake_ups, self._look_at, self._waited_for)
        if wake_ups is not None:
            wake_ups.listen(self._on_news)

    @abstractmethod
    async def _positions(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Position]:
        """How far these logs have come; those that are not there are left out."""

    @abstractmethod
    async def _latest_runs(self, chat_ids: Sequence[str]) -> Mapping[str, RunId]:
        """The last run of each of these chats; those that have none are left out."""

    @abstractmethod
    async def _run_after(self, owner: str, chat_id: str, run_id: RunId | None) -> Run | None:
        """See `Chats.run_after`; nothing where that is yet to begin."""

    @abstractmethod
    async def _read(self, run_id: RunId, after: int, limit: int) -> Sequence[LogEntry]:
        """The next entries out of the store; `RunNotFound` or `BadCursor` if there is no place."""

    async def _read_ahead(self, run_id: RunId, after: int) -> list[Page]:
        """The next pages; that they are several is the store's choice."""
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
            while pages := await patiently(self._next, run_id, watch, after, through_pauses):
                for page in pages:
                    entries = page()
                    after += len(entries)
                    yield entries

    async def run_after(self, owner: str, chat_id: str, run_id: RunId | None) -> Run:
        with self._beginnings.watching(chat_id) as watch:
            changes = watch.changes
            run = await self._run_after(owner, chat_id, run_id)
            while run is None:
                self._elsewhere.start_polling()
                await watch.beyond(changes)
                changes = watch.changes
                run = await patiently(self._run_after, owner, chat_id, run_id)
            return run

    def when_work(self, callback: Callable[[], None]) -> None:
        self._on_work.append(callback)

    @property
    def wake_ups(self) -> Literal["none", "up", "down"]:
        return self._elsewhere.state

    async def _next(
        self, run_id: RunId, watch: Watch, after: int, through_pauses: bool
    ) -> list[Page]:
        """What follows, as soon as it does; nothing where a reader need not wait for more."""
        position = await self._wait_beyond(run_id, watch, after, through_pauses)
        if entries := watch.tail.after(after, PAGE):
            return [lambda: entries]
        return await self._read_ahead(run_id, after) if position.tail > after else []

    async def _wait_beyond(
        self, run_id: RunId, watch: Watch, seq: int, through_pauses: bool = True
    ) -> Position:
        position = watch.position or await self._look(run_id, watch)
        while position.tail <= seq and position.status != "done":
            # What another process wrote may be read before its position is known: so at any time.
            if position == Position(seq, "waiting") and not through_pauses:
                break
            self._elsewhere.start_polling()
            await watch.change()
            if watch.gone:
                raise LogDeleted(run_id)
            position = watch.position or position
        return position

    async def _check_cursor(self, run_id: RunId, watch: Watch, after: int) -> None:
        position = watch.position or await self._look(run_id, watch)
        if after > position.tail:  # or another process wrote, and nobody has told us yet
            position = await self._look(run_id, watch)
        if not 0 <= after <= position.tail:
            raise BadCursor(after, position.tail)

    async def _look(self, run_id: RunId, watch: Watch) -> Position:
        """Ask the store. The watch is there already, so what is written meanwhile is not missed."""
        found = await self._positions([run_id])
        if run_id not in found or watch.gone:
            raise RunNotFound(run_id)
        watch.advance(found[run_id])
        return watch.position or found[run_id]

    # What is watched

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
        """Tell the readers what was committed."""
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
        """The log was deleted, or is no longer written here."""
        if watch := self._watches.pop(run_id, None):
            watch.vanish()

    def _hand_over(self, run_id: RunId) -> None:
        """Somebody else writes this log now: those who read it here look there."""
        if watch := self._watches.get(run_id):
            watch.tail.clear()
            if not watch.readers:
                del self._watches[run_id]

    def _tidy(self, run_id: RunId, watch: Watch) -> None:
        """Only what is being written or read is kept."""
        is_running = watch.position is not None and watch.position.status == "running"
        is_written = is_running and not watch.tail.is_empty
        if not watch.readers and not is_written and self._watches.get(run_id) is watch:
            del self._watches[run_id]

    def _forget(self, run_ids: Iterable[RunId], chat_id: str) -> None:
        """A chat was deleted with its runs, whose readers elsewhere know of no chat."""
        for run_id in run_ids:
            self._unpublish(run_id)
        self._beginnings.ring(chat_id)
        self._tell(News(chats=(chat_id,), everything=True))

    # Other processes

    def _tell(self, news: News) -> None:
        """Pass on what a commit has changed; to be called once for each."""
        self._elsewhere.tell(news)
        self._announce(news)

    def _announce(self, news: News) -> None:
        if news.work:
            for callback in self._on_work:
                callback()

    def _on_news(self, news: News) -> None:
        """Others say so. How far a log has really come, the store says."""
        for chat_id in news.chats:
            self._beginnings.ring(chat_id)
        told = (run_id for run_id, place in news.positions.items() if self._lacks(run_id, place))
        self._elsewhere.look_soon(told)
        if news.everything:
            self._elsewhere.look_soon(self._watches, self._beginnings.watched)
        self._announce(news)

    def _lacks(self, run_id: RunId, told: Position) -> bool:
        """Whether somebody here reads this log, and does not know that it is so long."""
        watch = self._watches.get(run_id)
        return watch is not None and (watch.position is None or watch.position.tail < told.tail)

    def _waited_for(self) -> Places:
        run_ids = [run_id for run_id, watch in self._watches.items() if watch.is_waited_for]
        return Places(run_ids, self._beginnings.watched)

    async def _look_at(self, places: Places) -> None:
        run_ids, chat_ids = places
        try:
            found = await self._positions(run_ids) if run_ids else {}
            self._beginnings.look(chat_ids, await self._latest_runs(chat_ids) if chat_ids else {})
        except StorageError:
            return  # it may be back next time
        for run_id in run_ids:
            watch = self._watches.get(run_id)
            if watch is not None and run_id in found:
                watch.advance(found[run_id])
            elif watch is not None:
                self._unpublish(run_id)

    async def _stop_polling(self) -> None:
        """Before the store closes."""
        await self._elsewhere.stop_looking()

    async def _stop_telling(self) -> None:
        """After the last commit."""
        await self._elsewhere.stop_telling()
