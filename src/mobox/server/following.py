"""A run told from any place on, each document with the cursor of the place after it.

Rule 1: documents are numbered within the entry that they tell, so a connection that is cut between
        two of them loses neither. To go on is to tell the log again and leave out what was read.
Rule 2: where the run waits, a protocol may have documents that end a response. They are numbered on
        from those of the last entry; who has read them begins a new response when the run goes on.
        A protocol without such documents goes on in the same response.
Rule 3: what begins a response in the middle has no number: whoever is cut off there hears it again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Protocol

from mobox.delivery import sse
from mobox.errors import BadCursor
from mobox.events import LogEntry
from mobox.formatters import Formatter
from mobox.server.places import Place, write_place
from mobox.storage.log import PAGE, Log, Run, Status, status_after

__all__ = ["FormatTeller", "Reading", "Teller"]

Documents = list[bytes]


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


class Reading:
    """One response."""

    def __init__(self, log: Log, run: Run, make: Callable[[], Teller]) -> None:
        self._log = log
        self._run = run
        self._make = make
        self._left = b""
        """What was there before the first entry that is told."""
        self._is_over = self._resumes = False
        self._begin()

    async def go_to(self, place: Place) -> None:
        """Go to a place, before anything is sent; `BadCursor` if there is none like that."""
        await self._replay(place.seq)
        read = len(self._last) if place.documents is None else place.documents
        if read <= len(self._last):
            self._left = _numbered(self._seq, self._last[read:], read)
        else:
            await self._go_to_end(read)

    async def told(self, *, live: bool) -> AsyncGenerator[bytes, None]:
        """All that comes after, in batches: as far as the log has come, or as it comes."""
        if self._left:
            yield self._left
        while not self._is_over:
            if entries := await self._next(live):
                if batch := await self._tell(entries):
                    yield batch
            elif ending := self._ending():
                yield ending
            elif live and self._status != "done":
                await self._log.beyond(self._run.id, self._seq)
            else:
                return

    def _begin(self) -> None:
        self._teller = self._make()
        self._status: Status = "running"
        self._seq = 0
        self._last: Documents = []  # what tells the entry where we are

    async def _replay(self, through: int) -> None:
        """Tell the teller, and nobody else."""
        while self._seq < through:
            entries = await self._log.read(self._run.id, self._seq, min(PAGE, through - self._seq))
            await self._advance(entries)

    async def _advance(self, entries: list[LogEntry]) -> list[Documents]:
        told = await self._teller.tell(entries)
        self._status = status_after(self._status, [entry.event for entry in entries])
        self._seq, self._last = entries[-1].seq, told[-1]
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

    async def _next(self, live: bool) -> list[LogEntry]:
        limit = PAGE if live else min(PAGE, self._run.tail_seq - self._seq)
        return await self._log.read(self._run.id, self._seq, limit) if limit > 0 else []

    async def _tell(self, entries: list[LogEntry]) -> bytes:
        prelude = self._teller.resume() if self._resumes else []
        self._resumes = False
        told = zip(entries, await self._advance(entries), strict=True)
        numbered = (_numbered(entry.seq, documents) for entry, documents in told)
        return sse.encode(prelude) + b"".join(numbered)

    def _ending(self) -> bytes:
        """What ends the response, where the run waits and whoever reads does not know yet."""
        if self._status != "waiting" or self._resumes:
            return b""
        ending = self._teller.pause()
        self._is_over = bool(ending)
        return _numbered(self._seq, ending, len(self._last))


def _numbered(seq: int, documents: Sequence[bytes], read: int = 0) -> bytes:
    """The documents that follow those of an entry which were read."""
    return sse.encode_numbered(
        (write_place(seq, number), document) for number, document in enumerate(documents, read + 1)
    )
