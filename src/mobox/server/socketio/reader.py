"""Reads a session for one client: from a cursor, run after run, then live.

Rule 1: the reader's only state is a cursor in a log, so nothing is lost or sent twice between
        replay and live events.
Rule 2: where a protocol numbers the events of a whole session, all of its runs are sent; else those
        from the client's run on, or from the active one, without superseded runs.
Rule 3: where a response ends because its run waits, the next one starts when the run continues.
Rule 4: there are many readers, and they wait for long: a waiting reader holds no sent documents.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from msgspec import Struct

from mobox.errors import ChatNotFound
from mobox.formatters.agent_event import AgentEventFormatter, place_of
from mobox.server.actions import run_of_chat, runs_so_far
from mobox.server.readers import Readers, Reading
from mobox.server.runs.reader import (
    Cursor,
    Numbered,
    ProtocolRunFormatter,
    RunReader,
    format_cursor,
    parse_cursor,
    run_formatters,
)
from mobox.server.session_index import Format, SessionIndex, up_to_the_first_open
from mobox.storage import Storage
from mobox.storage.log import Run, RunId, active_of


class Session(NamedTuple):
    """The owner and id of a session, and the format to read it in."""

    owner: str
    id: str
    format: Format


class SessionBatch(NamedTuple):
    """The next documents of a session."""

    run: Run
    documents: list[tuple[bytes, bytes]]
    """Each with its cursor; those that start a response in the middle have the one before them."""
    waits: bool
    """Whether the run waits here for an answer."""


class SessionSources(Struct, frozen=True):
    """What sessions are read from."""

    storage: Storage
    index: SessionIndex
    readers: Readers


class SessionReader(ABC):
    """Reads one session; `batches` is to be called once, after `open`."""

    def __init__(self, sources: SessionSources, session: Session) -> None:
        self._storage = sources.storage
        self._session = session
        self._index = sources.index
        self._readers = sources.readers
        self._reading = Reading()
        self._after: RunId | None = None
        """The last run that was read completely."""
        self._first: tuple[Run, RunReader] | None = None
        """The run and the reader to start with, if the cursor is inside a run."""
        self.idle = asyncio.Event()
        """Set while everything was sent, and more comes only after a user's action."""

    async def batches(self) -> AsyncGenerator[SessionBatch, None]:
        """Everything that is stored, then what comes."""
        while True:
            async with aclosing(self._counted(*await self._next())) as batches:
                async for each in batches:
                    yield each
                    del each  # Rule 4

    def leave(self) -> None:
        """The client stops reading."""
        self._reading.has_left = True

    async def _counted(self, run: Run, reader: RunReader) -> AsyncGenerator[SessionBatch, None]:
        """The batches of a run, which has this client as a reader until they end."""
        with self._readers.reading(run) as self._reading:
            async with aclosing(self._batches_of(run, reader)) as batches:
                del reader  # Rule 4
                async for each in batches:
                    yield each
                    del each

    async def _batches_of(self, run: Run, reader: RunReader) -> AsyncGenerator[SessionBatch, None]:
        waits = False
        while True:
            before = _encoded(reader.cursor)
            async with aclosing(reader.batches(live=True)) as batches:
                async for batch in batches:
                    if batch.waits and waits and not batch.documents:
                        continue  # a new response has no documents yet
                    waits = batch.waits
                    self.idle.clear()
                    yield SessionBatch(run, _with_cursors(batch.documents, before), waits)
                    del batch  # Rule 4
                    if waits:
                        self.idle.set()
            if reader.is_done:
                self._pass(run)
                return
            reader = await self._resumed(run, reader.cursor)

    async def _next(self) -> tuple[Run, RunReader]:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        self.idle.set()
        while True:
            run = await self._storage.run_after(self._session.owner, self._session.id, self._after)
            if self._is_sent(run):
                self.idle.clear()
                return run, self._reader(run)
            self._pass(run)

    async def _resumed(self, run: Run, cursor: Cursor) -> RunReader:
        reader = self._reader(run)
        await reader.go_to(cursor)
        return reader

    @abstractmethod
    def _reader(self, run: Run) -> RunReader:
        """A reader of a run, from its start."""

    def _is_sent(self, run: Run) -> bool:
        return True

    def _pass(self, run: Run) -> None:
        """Go to the next run: this one was sent completely, or is skipped."""
        self._after = run.id


class IndexedSession(SessionReader):
    """All events of a session after an index."""

    def __init__(self, sources: SessionSources, session: Session, last: int) -> None:
        super().__init__(sources, session)
        self._last = last
        self._first_index = 0
        self._formatter: AgentEventFormatter | None = None
        """The formatter of the current run."""

    async def open(self) -> Run | None:
        """Seek to the index; returns the active run. Raises `InvalidCursor`."""
        try:
            session = self._session
            indexed = await self._index.of_session(session.owner, session.id, session.format)
        except ChatNotFound:
            indexed = []
        runs = [each.run for each in indexed]
        place = place_of(self._last, [each.event_count for each in up_to_the_first_open(indexed)])
        self._first_index = place.first_event_index
        self._after = runs[place.run - 1].id if place.run else None
        return active_of(runs)

    def _reader(self, run: Run) -> RunReader:
        def make() -> ProtocolRunFormatter:
            self._formatter = AgentEventFormatter(
                run.id,
                self._session.format.profile or AgentEventFormatter.PROFILES[0],
                session_id=run.chat_id,
                user_id=run.owner,
                first_event_index=self._first_index,
                last_event_index=self._last,
            )
            return ProtocolRunFormatter(self._formatter)

        return RunReader(self._storage, run, make)

    def _pass(self, run: Run) -> None:
        super()._pass(run)
        formatter, self._formatter = self._formatter, None
        assert formatter is not None
        self._first_index += formatter.event_count


class FramedSession(SessionReader):
    """The frames of a session after a cursor in one of its runs."""

    async def open(self, run_id: str | None, cursor: str) -> Run | None:
        """Seek to the cursor; returns the active run. Raises `NotFoundError` or `InvalidCursor`."""
        runs = await runs_so_far(self._storage, self._session.owner, self._session.id)
        active = active_of(runs)
        if run_id is not None:
            run = await run_of_chat(self._storage, self._session.owner, self._session.id, run_id)
            self._first = run, await self._resumed(run, parse_cursor(cursor, run.tail_seq))
        elif active is not None:
            self._first = active, self._reader(active)
        elif runs:
            self._after = runs[-1].id
        return active

    def _reader(self, run: Run) -> RunReader:
        make = run_formatters(
            run, [self._session.format], lambda made: ProtocolRunFormatter(*made), self._index
        )
        return RunReader(self._storage, run, make)

    def _is_sent(self, run: Run) -> bool:
        return not run.superseded


def _encoded(cursor: Cursor) -> bytes:
    return format_cursor(cursor.seq, cursor.documents or 0)


def _with_cursors(documents: list[Numbered], before: bytes) -> list[tuple[bytes, bytes]]:
    return [(before if cursor is None else cursor, document) for cursor, document in documents]
