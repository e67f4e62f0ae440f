"""The writer of a run: what an agent and the server say, parsed, mended and stored in its log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from mobox.capture.jsonlines import END, Item, JsonLines
from mobox.errors import RunActive, StorageError
from mobox.events import (
    Done,
    InputRequest,
    InputResponse,
    LogEntry,
    Paused,
    Raw,
    Result,
    StreamEvent,
    Usage,
)
from mobox.lifecycle import Lifecycle
from mobox.parsers import EventParser, get_parser
from mobox.storage.log import Log, RawLine, Run, pages
from mobox.supervisor.asked import Asked
from mobox.unread import UnreadLines
from mobox.waiting import LETS_WAIT

__all__ = ["Clock", "Scribe"]

log = logging.getLogger("mobox.supervisor")

MOST_LINES: Final = 1024
PIECE: Final = 4096


class Clock:
    """The time on the wall as it was at first, and what has passed since: it never goes back."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def now(self) -> int:
        """In milliseconds."""
        return round((self._ahead + time.monotonic()) * 1000)


class Scribe:
    """Writes one leg of a run: all that enters its log passes here, and is stored in that order.

    A new one knows of nothing that was written before; see `take_up`.
    """

    def __init__(self, log: Log, run: Run) -> None:
        self.asked = Asked()
        """What the run has asked, in all of its legs."""
        self._log = log
        self._run = run
        self._lifecycle = Lifecycle(run.framework)
        self._unread = UnreadLines(run.framework)
        self._clock = Clock()
        self._pen = asyncio.Lock()
        self._lines = JsonLines()
        self._parser: EventParser | None = None
        self._execution = ""  # how the ids of a later one begin
        self._processes = 0
        self._answered: set[str | None] = set()
        self.unheard = False
        """A person has answered, and the agent has said nothing since."""

    @classmethod
    async def take_up(cls, log: Log, run: Run) -> Scribe:
        """Go on where the log ends, whoever wrote it."""
        scribe = cls(log, run)
        await scribe.catch_up()
        return scribe

    async def catch_up(self) -> None:
        """Learn what the log says, and nothing else."""
        self._lifecycle, self.asked = Lifecycle(self._run.framework), Asked()
        self._unread = self._unread.afresh()
        async for page in pages(self._log, self._run.id):
            events = [entry.event for entry in page]
            self._lifecycle.feed_all(events)
            self.asked.see_all(events)
            self._unread.recall(events)

    @property
    def waiting(self) -> bool:
        """Whether nothing more can be said without an answer."""
        return self._lifecycle.waiting

    @property
    def fails(self) -> bool:
        """Whether the run ends with an error by what the agent said, or nobody understood."""
        if self.waiting:
            return False
        return self._lifecycle.own_end().reason == "error" or self._unread.error() is not None

    @property
    def may_pause_again(self) -> bool:
        """Whether the run counts as running, though a request of the agent is open."""
        return self._lifecycle.may_pause_again

    async def pause_again(self) -> None:
        """Store that the run waits: a request is open, and the agent does nothing else."""
        async with self._pen:
            await self._store(self._lifecycle.pause_again(at_end=True))

    def listen(self) -> None:
        """A process begins to speak. Ids that its parser makes up must not be an earlier one's."""
        self._processes += 1
        leg, process = self._run.leg, self._processes
        first = f"{leg}." if leg > 1 else ""
        self._execution = first if process == 1 else f"{leg}.{process}."
        self._lines = JsonLines()
        self._parser = get_parser(self._run.framework, self._execution)

    async def write(self, *events: StreamEvent) -> list[LogEntry]:
        """Store what the server has to say."""
        async with self._pen:
            stored = await self._store(self._lifecycle.feed_all(events))
            replies = {event.id for event in events if isinstance(event, InputResponse)}
            self._answered |= replies
            self.unheard = self.unheard or bool(replies)
            return stored

    async def read(self, data: bytes) -> None:
        """Store what an agent wrote, beside the lines themselves."""
        async with self._pen:
            for piece in _pieces(data):
                await self._parse(self._lines.split(piece))

    async def finish_reading(self) -> None:
        """Store what the end of an agent's output completes."""
        assert self._parser is not None  # somebody listens
        async with self._pen:
            await self._parse(self._lines.split(END))
            last = self._of_execution(self._parser.close())
            self._unread.see(last)
            events = self._lifecycle.feed_last(last)
            await self._store(events + self._lifecycle.pause_again(at_end=True))

    async def end(self, done: Done | None, *last: StreamEvent) -> None:
        """Store the last words and the end; `done` overrules what the agent proposed.

        A run of which nothing was understood ends with an error, unless `done` says how it ends.
        In one append, so that a run that waits ends without running again.
        """
        async with self._pen:
            if done is None and (error := self._unread.error()) is not None:
                done, last = Done(reason="error"), (*last, error)
            events = self._lifecycle.feed_all(last)
            await self._store(events + self._lifecycle.close(done))
        if self._unread.count:
            log.warning("run %s: %s", self._run.id, self._unread.summary())

    async def _parse(self, items: Iterable[Item]) -> None:
        assert self._parser is not None  # somebody listens
        events: list[StreamEvent] = []
        lines = []
        for item in items:
            first = len(events)
            said = self._of_execution(self._parser.feed_lines([item]))
            self._unread.see(said)
            events += self._lifecycle.feed_all(
                self._since_answers(said) if self._answered else said
            )
            events += self._lifecycle.pause_again()
            line = item if isinstance(item, bytes) else msgspec.json.encode(item.raw)
            lines.append(RawLine(line, first, len(events)))
        await self._store(events, lines)

    def _of_execution(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """`events`, where use is told, with the execution that it is of."""
        if not self._execution:
            return events
        name = self._execution.rstrip(".")
        return [
            replace(event, execution=name) if isinstance(event, Usage | Result) else event
            for event in events
        ]

    def _since_answers(self, events: Sequence[StreamEvent]) -> list[StreamEvent]:
        """What is said after an answer: a pause for one that has come already is none."""
        heard: list[StreamEvent] = []
        for event in events:
            match event:
                case InputRequest():
                    self._answered.discard(event.id)
                    heard.append(event)
                case Paused(request_ids=asked) if asked and self._answered.issuperset(asked):
                    heard.append(Raw(raw=event.as_json(), source="answered already"))
                case _:
                    heard.append(event)
        self.unheard = self.unheard and all(event.type in LETS_WAIT for event in heard)
        return heard

    async def _store(
        self, events: Sequence[StreamEvent], lines: Sequence[RawLine] = ()
    ) -> list[LogEntry]:
        if not events and not lines:
            return []
        run = self._run
        try:
            stored = await self._log.append(run.id, run.epoch, events, self._clock.now(), lines)
        except (RunActive, StorageError):  # what is not stored was not said
            await self.catch_up()
            raise
        self.asked.see_all(events)
        return stored


def _pieces(data: bytes) -> list[bytes]:
    """The data, in pieces where it is many lines: nobody else gets a turn while they are parsed."""
    if data.count(b"\n") <= MOST_LINES:
        return [data]
    return [data[start : start + PIECE] for start in range(0, len(data), PIECE)]
