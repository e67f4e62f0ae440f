"""A run told from any place on, each document with the cursor of the place after it.

Rule 1: documents are numbered within the entry that they tell, so a connection that is cut between
        two of them loses neither. To go on is to tell the log again and leave out what was read.
Rule 2: where the run waits, a protocol may have documents that end a response. They are numbered on
        from those of the last entry; who has read them begins a new response when the run goes on.
        A protocol without such documents goes on in the same response.
Rule 3: what begins a response in the middle has no number: whoever is cut off there hears it again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from mobox.delivery import sse
from mobox.errors import BadCursor
from mobox.events import LogEntry
from mobox.formatters import Formatter, StoredRun, formatter_of_run, is_indexed
from mobox.server.places import BEGINNING, Place, write_place
from mobox.server.session_index import Format, SessionIndex
from mobox.storage.log import PAGE, Log, Run, Status, pages, status_after

__all__ = ["Batch", "FormatTeller", "LateTeller", "Numbered", "Reading", "Teller", "tellers"]

Documents = list[bytes]
Numbered = tuple[bytes | None, bytes]
"""A document and its cursor; what begins a response in the middle has none (Rule 3)."""


class Batch(NamedTuple):
    """What is to be sent at once; there may be nothing in it."""

    documents: list[Numbered]
    waits: bool = False
    """Whether the run waits here, and nothing more comes until somebody has answered."""


class Teller(Protocol):
    """Tells a log to one reader, from its first entry on."""

    async def tell(self, entries: Sequence[LogEntry]) -> list[Documents]:
        """The documents that tell each of `entries`."""
        ...

    def pause(self) -> Documents:
        """The documents that end a response where the run waits."""
        ...

    def resume(self) -> Documents:
        """The documents that begin a response in the middle."""
        ...


class FormatTeller:
    """Tells a log in the words of a protocol."""

    def __init__(self, formatter: Formatter) -> None:
        self._formatter = formatter
        self.pause = formatter.pause
        self.resume = formatter.resume

    async def tell(self, entries: Sequence[LogEntry]) -> list[Documents]:
        return [self._formatter.format(entry) for entry in entries]


class LateTeller:
    """A teller for which something is needed that is known when the run has spoken."""

    def __init__(self, make: Callable[[], Awaitable[Teller]]) -> None:
        self._make = make
        self._teller: Teller | None = None

    async def tell(self, entries: Sequence[LogEntry]) -> list[Documents]:
        if self._teller is None:
            self._teller = await self._make()
        return await self._teller.tell(entries)

    def pause(self) -> Documents:
        return self._teller.pause() if self._teller is not None else []

    def resume(self) -> Documents:
        return self._teller.resume() if self._teller is not None else []


def tellers(
    run: Run,
    formats: Sequence[Format],
    tell: Callable[[list[Formatter]], Teller],
    index: SessionIndex,
) -> Callable[[], Teller]:
    """What makes the tellers of a run; `tell` takes a fresh formatter for each of `formats`.

    Only for one that numbers the events of a whole chat those of the runs before are counted.
    """
    stored = StoredRun(id=run.id, chat_id=run.chat_id, owner=run.owner)

    def make(firsts: Sequence[int]) -> Teller:
        runs = (replace(stored, first_event_index=first) for first in firsts)
        return tell(
            [
                formatter_of_run(fmt.protocol, told, fmt.profile)
                for fmt, told in zip(formats, runs, strict=True)
            ]
        )

    async def counted() -> Teller:
        return make(
            [await index.first_of(run, fmt) if is_indexed(fmt.protocol) else 0 for fmt in formats]
        )

    uncounted = [0] * len(formats)
    make(uncounted)  # an unknown format is refused before the response begins
    if any(is_indexed(fmt.protocol) for fmt in formats):
        return partial(LateTeller, counted)
    return partial(make, uncounted)


class Reading:
    """One response."""

    def __init__(self, log: Log, run: Run, make: Callable[[], Teller]) -> None:
        self._log = log
        self._run = run
        self._make = make
        self._left: list[Numbered] = []
        """What was there before the first entry that is told."""
        self._is_over = self._resumes = False
        self._begin()

    @property
    def is_done(self) -> bool:
        """Whether all of the run was told."""
        return self._status == "done"

    @property
    def place(self) -> Place:
        """After the last document, when all batches were taken."""
        return self._place

    async def go_to(self, place: Place) -> None:
        """Go to a place, before anything is sent; `BadCursor` if there is none like that."""
        await self._replay(place.seq)
        read = len(self._last) if place.documents is None else place.documents
        if read <= len(self._last):
            self._left = _numbered(self._seq, self._last[read:], read)
        else:
            await self._go_to_end(read)

    async def told(self, *, live: bool) -> AsyncGenerator[bytes, None]:
        """The batches as Server-Sent Events."""
        async with aclosing(self.batches(live=live)) as batches:
            async for batch in batches:
                if batch.documents:
                    yield sse.encode_numbered(batch.documents)

    async def batches(self, *, live: bool) -> AsyncGenerator[Batch, None]:
        """All that comes after, in batches: as far as the log has come, or as it comes."""
        if self._left:
            yield Batch(self._left)
        while not self._is_over:
            if entries := await self._next(live):
                yield Batch(await self._tell(entries))
            elif self._status == "waiting" and not self._has_waited:
                yield Batch(self._ending(), waits=True)
            elif live and self._status != "done":
                await self._log.beyond(self._run.id, self._seq)
            else:
                return

    def _begin(self) -> None:
        self._teller = self._make()
        self._status: Status = "running"
        self._seq = 0
        self._last: Documents = []  # what tells the entry where we are
        self._has_waited = False  # and said so
        self._place = BEGINNING

    async def _replay(self, through: int) -> None:
        """Tell the teller, and nobody else."""
        async for page in pages(self._log, self._run.id, self._seq, through):
            await self._advance(page)

    async def _advance(self, entries: list[LogEntry]) -> list[Documents]:
        told = await self._teller.tell(entries)
        self._status = status_after(self._status, [entry.event for entry in entries])
        self._seq, self._last = entries[-1].seq, told[-1]
        self._has_waited, self._place = False, Place(self._seq, len(self._last))
        return told

    async def _go_to_end(self, read: int) -> None:
        """Go to a place among the documents which ended a response where we are, or after them."""
        seq, before = self._seq, len(self._last)
        ending = self._teller.pause() if self._status == "waiting" else []
        if read - before > len(ending):
            raise BadCursor(f"{seq}.{read}", self._run.tail_seq)
        self._left = _numbered(seq, ending[read - before :], read)
        self._is_over = bool(self._left)
        if not self._is_over:
            self._begin()  # with a teller that has not said its last words
            await self._replay(seq)
            self._resumes = True
        self._place = Place(seq, before + len(ending))

    async def _next(self, live: bool) -> list[LogEntry]:
        limit = PAGE if live else min(PAGE, self._run.tail_seq - self._seq)
        return await self._log.read(self._run.id, self._seq, limit) if limit > 0 else []

    async def _tell(self, entries: list[LogEntry]) -> list[Numbered]:
        prelude = self._teller.resume() if self._resumes else []
        self._resumes = False
        told: list[Numbered] = [(None, document) for document in prelude]
        for entry, documents in zip(entries, await self._advance(entries), strict=True):
            told += _numbered(entry.seq, documents)
        return told

    def _ending(self) -> list[Numbered]:
        """What ends the response where the run waits, unless whoever reads has that."""
        self._has_waited = True
        if self._resumes:
            return []
        ending, told = self._teller.pause(), len(self._last)
        self._is_over = bool(ending)
        self._place = Place(self._seq, told + len(ending))
        return _numbered(self._seq, ending, told)


def _numbered(seq: int, documents: Sequence[bytes], read: int = 0) -> list[Numbered]:
    """The documents that follow those of an entry which were read."""
    return [
        (write_place(seq, number), document) for number, document in enumerate(documents, read + 1)
    ]
