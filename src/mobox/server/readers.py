"""Who reads a run: the store knows of each process whether it has clients of a run.

A message that comes while a run is running depends on it (supervisor/active_runs.py).

Rule 1: only the first and the last client of a run in this process are written, in the background:
        nobody waits for it.
Rule 2: a client left by itself if it disconnected in the middle of a run. One whose response ended,
        or was ended by the server, did not.
Rule 3: a run that has ended has no readers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mobox.errors import MoboxError
from mobox.storage import Storage
from mobox.storage.log import ReaderState, Run, RunId
from mobox.storage.retry import retry_while_unavailable

log = logging.getLogger("mobox.server")


class Reading:
    """A client that reads a run."""

    def __init__(self) -> None:
        self.has_left = False
        """Whether it disconnected by itself."""


class _Clients:
    """The clients of one run, and what the store should know of them."""

    def __init__(self) -> None:
        self.count = 0
        self.wanted: ReaderState | None = None
        self.stored: ReaderState | None = None
        self.task: asyncio.Task[None] | None = None


class Readers:
    """The clients of this process that read runs."""

    def __init__(self, storage: Storage, is_closing: Callable[[], bool]) -> None:
        self._storage = storage
        self._is_closing = is_closing
        self._clients: dict[RunId, _Clients] = {}

    @contextmanager
    def reading(self, run: Run) -> Iterator[Reading]:
        """Count a client of a run while it reads."""
        reading = Reading()
        if run.status == "done":
            yield reading
            return
        clients = self._clients.setdefault(run.id, _Clients())
        clients.count += 1
        self._want(run.id, clients, "reading")
        try:
            yield reading
        finally:
            clients.count -= 1
            if not clients.count:
                has_left = reading.has_left and not self._is_closing()
                self._want(run.id, clients, "left" if has_left else None)

    async def close(self) -> None:
        """Wait until everything is stored."""
        while tasks := [each.task for each in self._clients.values() if each.task]:
            await asyncio.wait(tasks)

    def _want(self, run_id: RunId, clients: _Clients, state: ReaderState | None) -> None:
        clients.wanted = state
        if clients.task is None:
            clients.task = asyncio.create_task(self._store(run_id, clients))

    async def _store(self, run_id: RunId, clients: _Clients) -> None:
        try:
            while clients.stored != clients.wanted:
                clients.stored = clients.wanted
                await retry_while_unavailable(self._storage.set_reader, run_id, clients.stored)
        except MoboxError as error:
            log.warning("run %s: cannot store who reads it: %s", run_id, error)
        finally:
            clients.task = None
            if not clients.count:
                self._clients.pop(run_id, None)
