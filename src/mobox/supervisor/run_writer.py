"""Writes a run's log: parses agent output, repairs event order and appends batches."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
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
from mobox.events.waiting import LETS_WAIT
from mobox.lifecycle import Lifecycle
from mobox.parsers import EventParser, get_parser
from mobox.parsers.detection import UnreadLines
from mobox.storage.log import Log, RawLine, Run, pages
from mobox.supervisor.input_requests import InputRequests

log = logging.getLogger("mobox.supervisor")

MOST_LINES: Final = 1024
"""Output of more lines is parsed in pieces."""
PIECE: Final = 4096
"""Bytes of a piece."""


class Clock:
    """The wall clock at its creation plus the time elapsed since: it never goes back."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def now(self) -> int:
        """In milliseconds."""
        return round((self._ahead + time.monotonic()) * 1000)


class RunWriter:
    """The only writer of one attempt: bytes are split, parsed, repaired and appended, in order.

    Appends under the attempt's epoch. Starts empty; `take_up` rebuilds its state from the log.
    """

    def __init__(
        self, log: Log, run: Run, on_pause: Callable[[bool], object] = lambda waits: None
    ) -> None:
        """`on_pause` is called with true when the log pauses, with false when it continues.

        That is before the event is stored: when a reader has it, everyone else knows.
        """
        self.input_requests = InputRequests()
        """The input requests of all attempts of this run."""
        self.has_unread_answer = False
        """True between storing an answer and the agent's next output."""
        self._log = log
        self._run = run
        self._on_pause = on_pause
        self._was_waiting = False  # as `on_pause` was last called
        self._lifecycle = Lifecycle(run.framework)
        self._unread = UnreadLines(run.framework)
        self._clock = Clock()
        self._append_lock = asyncio.Lock()
        self._lines = JsonLines()
        self._parser: EventParser | None = None
        self._execution = ""  # the prefix of ids of every execution but the first
        self._processes = 0
        self._answered: set[str | None] = set()

    @classmethod
    async def take_up(cls, log: Log, run: Run) -> RunWriter:
        """A writer that continues at the end of an existing log."""
        writer = cls(log, run)
        await writer.catch_up()
        return writer

    async def catch_up(self) -> None:
        """Rebuild the state from the log."""
        self._lifecycle, self.input_requests = Lifecycle(self._run.framework), InputRequests()
        self._unread = self._unread.afresh()
        async for page in pages(self._log, self._run.id):
            events = [entry.event for entry in page]
            self._lifecycle.feed_all(events)
            self.input_requests.see_all(events)
            self._unread.recall(events)
        self._was_waiting = self._lifecycle.waiting

    @property
    def waiting(self) -> bool:
        """Whether the run is paused until an input request is answered."""
        return self._lifecycle.waiting

    @property
    def fails(self) -> bool:
        """Whether the agent's own events, or the lack of any, end the run with an error."""
        if self.waiting:
            return False
        return self._lifecycle.own_end().reason == "error" or self._unread.error() is not None

    @property
    def may_pause_again(self) -> bool:
        """Whether the run counts as running although an input request is open."""
        return self._lifecycle.may_pause_again

    async def pause_again(self) -> None:
        """Append PAUSED: an input request is open and the agent does nothing else."""
        async with self._append_lock:
            await self._store(self._lifecycle.pause_again(at_end=True))

    def listen(self) -> None:
        """Start parsing another process; the ids that its parser makes up get a new prefix."""
        self._processes += 1
        attempt, process = self._run.leg, self._processes
        first = f"{attempt}." if attempt > 1 else ""
        self._execution = first if process == 1 else f"{attempt}.{process}."
        self._lines = JsonLines()
        self._parser = get_parser(self._run.framework, self._execution)

    async def write(self, *events: StreamEvent) -> list[LogEntry]:
        """Append the server's own events."""
        async with self._append_lock:
            stored = await self._store(self._lifecycle.feed_all(events))
            replies = {event.id for event in events if isinstance(event, InputResponse)}
            self._answered |= replies
            self.has_unread_answer = self.has_unread_answer or bool(replies)
            return stored

    async def read(self, data: bytes) -> None:
        """Parse an agent's output and append its events, with the raw lines."""
        async with self._append_lock:
            if data.count(b"\n") <= MOST_LINES:
                await self._parse(self._lines.split(data))
                return
            for start in range(0, len(data), PIECE):  # parsing a piece blocks the event loop
                await self._parse(self._lines.split(data[start : start + PIECE]))

    async def finish_reading(self) -> None:
        """Append what the end of an agent's output completes."""
        assert self._parser is not None  # after `listen`
        async with self._append_lock:
            await self._parse(self._lines.split(END))
            last = self._of_execution(self._parser.close())
            self._unread.see(last)
            events = self._lifecycle.feed_last(last)
            await self._store(events + self._lifecycle.pause_again(at_end=True))

    async def end(self, done: Done | None, *last: StreamEvent) -> None:
        """Append the last events and DONE; `done` overrides the end that the agent proposed.

        A run of which no line was parsed ends with an error, unless `done` is given.
        All in one append, so that a waiting run ends without running again.
        """
        async with self._append_lock:
            if done is None and (error := self._unread.error()) is not None:
                done, last = Done(reason="error"), (*last, error)
            events = self._lifecycle.feed_all(last)
            await self._store(events + self._lifecycle.close(done))
        if self._unread.count:
            log.warning("run %s: %s", self._run.id, self._unread.summary())

    async def _parse(self, items: Iterable[Item]) -> None:
        assert self._parser is not None  # after `listen`
        events: list[StreamEvent] = []
        lines = []
        for item in items:
            first = len(events)
            parsed = self._parser.feed_lines([item])
            if self._execution:
                parsed = self._of_execution(parsed)
            self._unread.see(parsed)
            events += self._lifecycle.feed_all(
                self._since_answers(parsed) if self._answered else parsed
            )
            events += self._lifecycle.pause_again()
            line = item if isinstance(item, bytes) else msgspec.json.encode(item.raw)
            lines.append(RawLine(line, first, len(events)))
        await self._store(events, lines)

    def _of_execution(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """`events`, with USAGE and RESULT marked with their execution, unless it is the first."""
        if not self._execution:
            return events
        name = self._execution.rstrip(".")
        return [
            replace(event, execution=name) if isinstance(event, Usage | Result) else event
            for event in events
        ]

    def _since_answers(self, events: Sequence[StreamEvent]) -> list[StreamEvent]:
        """Events emitted after an answer: a pause for requests answered already becomes RAW."""
        since: list[StreamEvent] = []
        for event in events:
            match event:
                case InputRequest():
                    self._answered.discard(event.id)
                    since.append(event)
                case Paused(request_ids=ids) if ids and self._answered.issuperset(ids):
                    since.append(Raw(raw=event.as_json(), source="answered already"))
                case _:
                    since.append(event)
        self.has_unread_answer = self.has_unread_answer and all(
            event.type in LETS_WAIT for event in since
        )
        return since

    async def _store(
        self, events: Sequence[StreamEvent], lines: Sequence[RawLine] = ()
    ) -> list[LogEntry]:
        if (waiting := self._lifecycle.waiting) is not self._was_waiting:
            self._was_waiting = waiting
            self._on_pause(waiting)
        if not events and not lines:
            return []
        run = self._run
        try:
            stored = await self._log.append(run.id, run.epoch, events, self._clock.now(), lines)
        except (RunActive, StorageError):  # forget the events that were not stored
            await self.catch_up()
            raise
        self.input_requests.see_all(events)
        return stored
