"""Reads a run from any cursor, as documents that each have the cursor after them.

Rule 1: documents are numbered within their log entry, so a connection that is cut between two of
        them loses neither. To resume, the log is formatted again and what was read is skipped.
Rule 2: where the run waits, a protocol may have documents that end a response. Their numbers follow
        those of the last entry; a client that has read them starts a new response when the run
        continues. A protocol without such documents continues in the same response.
Rule 3: documents that start a response in the middle have no number: a client that is cut off there
        gets them again.

Cursors are opaque to clients, which send them back unchanged: `7.2` is after the second document of
entry 7, `7` after all of that entry, `0` before everything.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from mobox.delivery import sse
from mobox.errors import InvalidCursor
from mobox.events import LogEntry
from mobox.formatters import Formatter, StoredRun, formatter_of_run, is_indexed
from mobox.server.session_index import Format, SessionIndex
from mobox.storage.log import PAGE, Log, Run, Status, pages, status_after
from mobox.storage.retry import retry_while_unavailable

# No more digits than a database's integers hold, and than Python parses.
_CURSOR: Final = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?", re.ASCII)


class Cursor(NamedTuple):
    """A position in a run's documents: where a client has stopped to read."""

    seq: int
    documents: int | None = None
    """How many of that entry were read; `None` for all of them."""


BEGINNING: Final = Cursor(0)


def parse_cursor(text: str, tail: int) -> Cursor:
    """Parse a cursor in a log of `tail` entries; raises `InvalidCursor`."""
    found = _CURSOR.fullmatch(text)
    if found is None or int(found[1]) > tail:
        raise InvalidCursor(text[:40], tail)
    return Cursor(int(found[1]), None if found[2] is None else int(found[2]))


def format_cursor(seq: int, documents: int) -> bytes:
    """The cursor after a number of documents of an entry."""
    return b"%d.%d" % (seq, documents)


Documents = list[bytes]
Numbered = tuple[bytes | None, bytes]
"""A document and its cursor; documents that start a response in the middle have none (Rule 3)."""


class Batch(NamedTuple):
    """Documents to send in one write; may be empty."""

    documents: list[Numbered]
    waits: bool = False
    """Whether the run waits here for an answer, and nothing more comes until then."""


class RunFormatter(Protocol):
    """Formats a log for one reader, from its first entry on."""

    async def format_all(self, entries: Sequence[LogEntry]) -> list[Documents]:
        """The documents of each of `entries`."""
        ...

    def pause(self) -> Documents:
        """The documents that end a response where the run waits."""
        ...

    def resume(self) -> Documents:
        """The documents that start a response in the middle."""
        ...


class ProtocolRunFormatter:
    """Formats a log with a protocol's formatter."""

    def __init__(self, formatter: Formatter) -> None:
        self._formatter = formatter
        self.pause = formatter.pause
        self.resume = formatter.resume

    async def format_all(self, entries: Sequence[LogEntry]) -> list[Documents]:
        return [self._formatter.format(entry) for entry in entries]


class DeferredRunFormatter:
    """Makes its formatter at the first entry, when the events of earlier runs can be counted."""

    def __init__(self, make: Callable[[], Awaitable[RunFormatter]]) -> None:
        self._make = make
        self._formatter: RunFormatter | None = None

    async def format_all(self, entries: Sequence[LogEntry]) -> list[Documents]:
        if self._formatter is None:
            self._formatter = await self._make()
        return await self._formatter.format_all(entries)

    def pause(self) -> Documents:
        return self._formatter.pause() if self._formatter is not None else []

    def resume(self) -> Documents:
        return self._formatter.resume() if self._formatter is not None else []


def run_formatters(
    run: Run,
    formats: Sequence[Format],
    make_formatter: Callable[[list[Formatter]], RunFormatter],
    index: SessionIndex,
) -> Callable[[], RunFormatter]:
    """A factory of formatters of a run; `make_formatter` gets a new one for each of `formats`.

    Events of earlier runs are counted only for formats that number the events of a whole chat.
    """
    stored = StoredRun(id=run.id, chat_id=run.chat_id, owner=run.owner)

    def make(firsts: Sequence[int]) -> RunFormatter:
        runs = (replace(stored, first_event_index=first) for first in firsts)
        return make_formatter(
            [
                formatter_of_run(fmt.protocol, numbered, fmt.profile)
                for fmt, numbered in zip(formats, runs, strict=True)
            ]
        )

    async def counted() -> RunFormatter:
        return make(
            [await index.first_of(run, fmt) if is_indexed(fmt.protocol) else 0 for fmt in formats]
        )

    uncounted = [0] * len(formats)
    make(uncounted)  # an unknown format is refused before the response starts
    if any(is_indexed(fmt.protocol) for fmt in formats):
        return partial(DeferredRunFormatter, counted)
    return partial(make, uncounted)


class RunReader:
    """Reads a run for one response."""

    def __init__(self, log: Log, run: Run, make: Callable[[], RunFormatter]) -> None:
        self._log = log
        self._run = run
        self._make = make
        self._left: list[Numbered] = []
        """Documents to send before those of the next entry."""
        self._is_over = self._resumes = False
        self._begin()

    @property
    def is_done(self) -> bool:
        """Whether the whole run was read."""
        return self._status == "done"

    async def go_to(self, cursor: Cursor) -> None:
        """Seek to a cursor, before anything is sent; raises `InvalidCursor`."""
        await self._replay(cursor.seq)
        read = len(self._last) if cursor.documents is None else cursor.documents
        if read <= len(self._last):
            self._left = _numbered(self._seq, self._last[read:], read)
        else:
            await self._go_to_end(read)

    async def sse_batches(self, *, live: bool) -> AsyncGenerator[bytes, None]:
        """The batches as Server-Sent Events."""
        async with aclosing(self.batches(live=live)) as batches:
            async for batch in batches:
                if batch.documents:
                    yield sse.encode_numbered(batch.documents)

    async def batches(self, *, live: bool) -> AsyncGenerator[Batch, None]:
        """The rest of the log in batches; with `live` also what is appended later."""
        if self._left:
            yield Batch(self._left)
        while not self._is_over:
            if entries := await self._next(live):
                yield Batch(await self._format(entries))
            elif self._status == "waiting" and not self._has_waited:
                yield Batch(self._ending(), waits=True)
            elif live and self._status != "done":
                await retry_while_unavailable(self._log.beyond, self._run.id, self._seq)
            else:
                return

    def _begin(self) -> None:
        self._formatter = self._make()
        self._status: Status = "running"
        self._seq = 0
        self._last: Documents = []  # the documents of entry `_seq`
        self._has_waited = False  # and a batch with `waits` was yielded
        self.cursor = BEGINNING
        """After the last document, once all batches were taken."""

    async def _replay(self, through: int) -> None:
        """Format the log up to an entry without sending it."""
        async for page in pages(self._log, self._run.id, self._seq, through):
            await self._advance(page)

    async def _advance(self, entries: list[LogEntry]) -> list[Documents]:
        formatted = await self._formatter.format_all(entries)
        self._status = status_after(self._status, [entry.event for entry in entries])
        self._seq, self._last = entries[-1].seq, formatted[-1]
        self._has_waited, self.cursor = False, Cursor(self._seq, len(self._last))
        return formatted

    async def _go_to_end(self, read: int) -> None:
        """Seek into, or behind, the documents that end a response at the current entry."""
        seq, before = self._seq, len(self._last)
        ending = self._formatter.pause() if self._status == "waiting" else []
        if read - before > len(ending):
            raise InvalidCursor(f"{seq}.{read}", self._run.tail_seq)
        self._left = _numbered(seq, ending[read - before :], read)
        self._is_over = bool(self._left)
        if not self._is_over:
            self._begin()  # with a new formatter, whose response has not ended
            await self._replay(seq)
            self._resumes = True
        self.cursor = Cursor(seq, before + len(ending))

    async def _next(self, live: bool) -> list[LogEntry]:
        limit = PAGE if live else min(PAGE, self._run.tail_seq - self._seq)
        if limit <= 0:
            return []
        if live:  # an outage does not end a stream
            return await retry_while_unavailable(self._log.read, self._run.id, self._seq, limit)
        return await self._log.read(self._run.id, self._seq, limit)

    async def _format(self, entries: list[LogEntry]) -> list[Numbered]:
        prelude = self._formatter.resume() if self._resumes else []
        self._resumes = False
        numbered: list[Numbered] = [(None, document) for document in prelude]
        for entry, documents in zip(entries, await self._advance(entries), strict=True):
            numbered += _numbered(entry.seq, documents)
        return numbered

    def _ending(self) -> list[Numbered]:
        """The documents that end the response where the run waits, unless the client has them."""
        self._has_waited = True
        if self._resumes:
            return []
        ending, sent = self._formatter.pause(), len(self._last)
        self._is_over = bool(ending)
        self.cursor = Cursor(self._seq, sent + len(ending))
        return _numbered(self._seq, ending, sent)


def _numbered(seq: int, documents: Sequence[bytes], read: int = 0) -> list[Numbered]:
    """Documents with their cursors, numbered on from the `read` first ones of the entry."""
    return [
        (format_cursor(seq, number), document)
        for number, document in enumerate(documents, read + 1)
    ]
