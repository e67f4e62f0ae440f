"""Where each run of a session begins in the one order of the session's events.

Rule 1: the order is a fold of the logs, so nobody stores it and no run pays for it: who reads a
        session by it counts what the runs before have told, once for each that is over.
Rule 2: runs stand in the order in which they were begun, also those that were superseded. One that
        waits is ended before the next one speaks: by then its number of events is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mobox.formatters import format_all
from mobox.formatters.agent_event import AgentEventFormatter
from mobox.storage.chats import Storage
from mobox.storage.log import Run, RunId, pages

__all__ = ["IndexedRun", "SessionIndex", "up_to_the_first_open"]

REMEMBERED: Final = 10_000
"""Of how many runs the numbers are kept in mind."""


class IndexedRun(NamedTuple):
    """A run, the index of its first event, and how many events it has so far."""

    run: Run
    first_event_index: int
    event_count: int


def up_to_the_first_open(runs: Sequence[IndexedRun]) -> list[IndexedRun]:
    """Those of which it is known where they begin: no run before them says anything more."""
    found = (number for number, each in enumerate(runs, 1) if each.run.status != "done")
    known = next(found, len(runs))
    has_spoken = any(each.event_count for each in runs[known:])
    return list(runs if has_spoken else runs[:known])


class SessionIndex:
    """Counts the events of runs; a server has one."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._counts: dict[RunId, int] = {}

    async def of_session(self, owner: str, chat_id: str) -> list[IndexedRun]:
        """All runs of a session, in order."""
        indexed = []
        first = 0
        for run in await self._storage.runs(owner, chat_id):
            count = await self._count(run)
            indexed.append(IndexedRun(run, first, count))
            first += count
        return indexed

    async def first_of(self, run: Run) -> int:
        """The index of a run's first event; to be asked once the run has spoken (Rule 2)."""
        first = 0
        for other in await self._storage.runs(run.owner, run.chat_id):
            if other.id == run.id:
                break
            first += await self._count(other)
        return first

    async def _count(self, run: Run) -> int:
        if run.id in self._counts:
            return self._counts[run.id]
        formatter = AgentEventFormatter(run.id)
        async for page in pages(self._storage, run.id, through=run.tail_seq):
            format_all(formatter, page)
        if run.status == "done":
            self._remember(run.id, formatter.event_count)
        return formatter.event_count

    def _remember(self, run_id: RunId, count: int) -> None:
        if len(self._counts) >= REMEMBERED:
            del self._counts[next(iter(self._counts))]
        self._counts[run_id] = count
