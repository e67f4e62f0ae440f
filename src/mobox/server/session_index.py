"""The index of each run's first event in the numbering of a whole session's events.

Rule 1: the numbering is computed from the logs and not stored, so runs do not pay for it: a reader
        counts the events of earlier runs, once for each that has ended.
        Each format counts its own events: two formats of one log have different numbers.
Rule 2: runs are in the order in which they were started, including superseded ones. A waiting run
        is ended before the next one emits: by then its number of events is final.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mobox.formatters import StoredRun, format_all, formatter_of_run
from mobox.storage.chats import Storage
from mobox.storage.log import Run, RunId, pages

REMEMBERED: Final = 10_000
"""Maximum number of cached event counts."""


class Format(NamedTuple):
    """A protocol, and the version of its client; `None` is the default one."""

    protocol: str
    profile: str | None = None


class IndexedRun(NamedTuple):
    """A run, the index of its first event, and how many events it has so far."""

    run: Run
    first_event_index: int
    event_count: int


def up_to_the_first_open(runs: Sequence[IndexedRun]) -> list[IndexedRun]:
    """The runs whose first index is final: no run before them emits any more."""
    found = (number for number, each in enumerate(runs, 1) if each.run.status != "done")
    known = next(found, len(runs))
    has_later_events = any(each.event_count for each in runs[known:])
    return list(runs if has_later_events else runs[:known])


class SessionIndex:
    """Counts the events of runs; a server has one."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._counts: dict[tuple[RunId, Format], int] = {}

    async def of_session(self, owner: str, chat_id: str, fmt: Format) -> list[IndexedRun]:
        """All runs of a session, in order."""
        indexed = []
        first = 0
        for run in await self._storage.runs(owner, chat_id):
            count = await self._count(run, fmt)
            indexed.append(IndexedRun(run, first, count))
            first += count
        return indexed

    async def first_of(self, run: Run, fmt: Format) -> int:
        """The index of a run's first event; final once the run has an entry (Rule 2)."""
        first = 0
        for other in await self._storage.runs(run.owner, run.chat_id):
            if other.id == run.id:
                break
            first += await self._count(other, fmt)
        return first

    async def _count(self, run: Run, fmt: Format) -> int:
        if (run.id, fmt) in self._counts:
            return self._counts[run.id, fmt]
        stored = StoredRun(id=run.id, chat_id=run.chat_id, owner=run.owner)
        formatter = formatter_of_run(fmt.protocol, stored, fmt.profile)
        documents = 0
        async for page in pages(self._storage, run.id, through=run.tail_seq):
            documents += len(format_all(formatter, page))
        count: int = getattr(formatter, "event_count", documents)
        if run.status == "done":
            self._remember(run.id, fmt, count)
        return count

    def _remember(self, run_id: RunId, fmt: Format, count: int) -> None:
        if len(self._counts) >= REMEMBERED:
            del self._counts[next(iter(self._counts))]
        self._counts[run_id, fmt] = count
