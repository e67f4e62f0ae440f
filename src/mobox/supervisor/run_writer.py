"""Writes a run's log: parses agent output, repairs event order and appends batches.

Rule 1: only the server writes answers to input requests. An agent's own output never approves or
        answers one, whatever its format: it can only withdraw a request.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from mobox.capture.jsonlines import END, Item
from mobox.capture.pipeline import Recorder
from mobox.errors import NotWaiting, RunActive, StorageError
from mobox.events import (
    Done,
    DoneReason,
    Error,
    Events,
    InputRequest,
    InputResponse,
    LogEntry,
    Paused,
    Raw,
    StreamEvent,
    ToolUseStart,
)
from mobox.events.turn import Answer, Frontend
from mobox.events.waiting import LETS_WAIT
from mobox.storage.log import Log, RawLine, Run, pages
from mobox.storage.permissions import Permission
from mobox.storage.retry import retry_while_unavailable
from mobox.supervisor.input_requests import InputRequests, Reply
from mobox.supervisor.permissions import automatic_replies, create_permissions

log = logging.getLogger("mobox.supervisor")

MOST_LINES: Final = 1024
"""Output of more lines is parsed in pieces."""
PIECE: Final = 4096
"""Bytes of a piece."""
OWN_ANSWER: Final = "answered by the agent itself"


class Clock:
    """The wall clock at its creation plus the time elapsed since: it never goes back."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def now(self) -> int:
        """In milliseconds."""
        return round((self._ahead + time.monotonic()) * 1000)


class RunWriter:
    """The only writer of one attempt. Appends events in order, under the attempt's epoch.

    Its recorder turns the agent's output into events for the log; the writer adds the store and
    the server's own events. Starts empty; `take_up` rebuilds its state from the existing log.
    """

    def __init__(
        self,
        log: Log,
        run: Run,
        on_pause: Callable[[bool], object] = lambda waits: None,
        may_answer: Callable[[], bool] = lambda: False,
        on_automatic: Callable[[Reply], object] = lambda reply: None,
    ) -> None:
        """`on_pause` is called with true when the log pauses, with false when it continues.

        That is before the event is stored: when a reader has it, everyone else knows.
        `may_answer` tells whether requests that a permission covers are answered automatically:
        not while the agent is being ended. `on_automatic` is called when such an answer is stored.
        """
        self.input_requests = InputRequests()
        """The input requests of all attempts of this run."""
        self.has_unread_answer = False
        """True between storing an answer and the agent's next output."""
        self.last_error: Error | None = None
        """The error that the agent reported with its last line."""
        self.end_reason: DoneReason | None = None
        """That of the DONE that was stored here."""
        self.has_ended = False
        """Whether the agent has ended its output by a line: `done` or `exit`."""
        self.late = bytearray()
        """What it wrote after that, in the reads until then."""
        self._until_end = False
        self._log = log
        self._run = run
        self._on_pause = on_pause
        self._may_answer = may_answer
        self._on_automatic = on_automatic
        self._was_waiting = False  # as `on_pause` was last called
        self._recorder = Recorder(run.framework, self._revise, begin=False)
        self._clock = Clock()
        self._append_lock = asyncio.Lock()
        self._processes = 0
        self._answered: set[str | None] = set()
        self._page_tools: frozenset[str] = frozenset()

    @classmethod
    async def take_up(cls, log: Log, run: Run) -> RunWriter:
        """A writer that continues at the end of an existing log."""
        writer = cls(log, run)
        await writer.catch_up()
        return writer

    async def catch_up(self) -> None:
        """Rebuild the state from the log."""
        self._recorder.forget()
        self.input_requests = InputRequests()
        async for page in pages(self._log, self._run.id):
            events = [entry.event for entry in page]
            self._recorder.recall(events)
            self.input_requests.see_all(events)
        self._was_waiting = self.waiting

    @property
    def waiting(self) -> bool:
        """Whether the run is paused until an input request is answered."""
        return self._recorder.lifecycle.waiting

    @property
    def fails(self) -> bool:
        """Whether the agent's own events, or the lack of any, end the run with an error."""
        if self.waiting:
            return False
        own_end = self._recorder.lifecycle.own_end()
        return own_end.reason == "error" or self._recorder.unread.error() is not None

    @property
    def may_pause_again(self) -> bool:
        """Whether the run counts as running although an input request is open."""
        return self._recorder.lifecycle.may_pause_again

    async def pause_again(self) -> None:
        """Append PAUSED: an input request is open and the agent does nothing else."""
        async with self._append_lock:
            await self._store(self._recorder.lifecycle.pause_again(at_end=True))

    def listen(self, *, until_end: bool = False) -> None:
        """Start parsing another process; the ids that its parser makes up get a new prefix.

        `until_end`: its output ends with the line that says so, not only when the process exits.
        """
        self._until_end, self.has_ended, self.late = until_end, False, bytearray()
        self._processes += 1
        attempt, process = self._run.leg, self._processes
        first = f"{attempt}." if attempt > 1 else ""
        self._recorder.begin_execution(first if process == 1 else f"{attempt}.{process}.")

    async def write(self, *events: StreamEvent) -> list[LogEntry]:
        """Append the server's own events."""
        async with self._append_lock:
            stored = await self._store(self._recorder.lifecycle.feed_all(events))
            self._note_answers(event for event in events if isinstance(event, InputResponse))
            return stored

    async def answer(self, answers: Iterable[Answer]) -> tuple[list[Reply], list[LogEntry]]:
        """Append a person's answers, and store the permissions that they create.

        `NotWaiting` if none of them answers an open request.
        """
        async with self._append_lock:
            requests, run = self.input_requests, self._run
            replies = requests.match(answers)
            if not replies:
                raise NotWaiting(run.id)
            requests.check(replies)
            known = await self._granted() if any(r.scope != "once" for r in replies) else ()
            now = self._clock.now()
            replies, created = create_permissions(requests, replies, run, known, now)
            events = self._recorder.lifecycle.feed_all(requests.events_of(replies))
            stored = await self._store(events, permissions=created)
            self._note_answers(reply.event for reply in replies)
            return replies, stored

    def _note_answers(self, answers: Iterable[InputResponse]) -> None:
        names = {answer.id for answer in answers}
        self._answered |= names
        self.has_unread_answer = self.has_unread_answer or bool(names)

    async def _granted(self) -> list[Permission]:
        return await retry_while_unavailable(self._log.granted, self._run.id)

    async def read(self, data: bytes) -> None:
        """Parse an agent's output and append its events, with the raw lines."""
        async with self._append_lock:
            for piece in _pieces(data):
                if self.has_ended:
                    self.late += piece
                else:
                    await self._parse(piece)

    async def finish_reading(self) -> None:
        """Append what the end of an agent's output completes."""
        async with self._append_lock:
            await self._parse(END)
            last = self._recorder.finish_execution()
            await self._store(last + self._recorder.lifecycle.pause_again(at_end=True))

    async def end(self, done: Done | None, *last: StreamEvent) -> None:
        """Append the last events and DONE; `done` overrides the end that the agent proposed.

        A run of which no line was parsed ends with an error, unless `done` is given.
        All in one append, so that a waiting run ends without running again.
        """
        async with self._append_lock:
            events = self._recorder.end(done, *last)
            await self._store(events)
        self.end_reason = next((e.reason for e in events if isinstance(e, Done)), None)
        if self._recorder.unread.count:
            log.warning("run %s: %s", self._run.id, self._recorder.unread.summary())

    async def _parse(self, data: bytes) -> None:
        events: Events = []
        lines = []
        last: Events = []
        for item, repaired in self._lines_of(data):
            first, last = len(events), repaired or last
            events += repaired
            lines.append(RawLine(_bytes_of(item), first, len(events)))
        if last:
            self.last_error = _error_in(last)
        await self._store(events, lines)

    def _lines_of(self, data: bytes) -> list[tuple[Item, Events]]:
        if not self._until_end:
            return self._recorder.parse(data)
        parsed, late = self._recorder.parse_until_end(data)
        self.has_ended = self.has_ended or self._recorder.has_ended
        self.late += b"".join(_bytes_of(item) + b"\n" for item in late)
        return parsed

    def set_frontend(self, frontend: Frontend | None) -> None:
        """The page sent this: calls of the tools that it declares are marked as run by it."""
        if frontend is not None:
            self._page_tools = frozenset(tool.name for tool in frontend.tools)

    def _revise(self, events: Events) -> Events:
        """The events of a line, with what the server knows about them."""
        if InputResponse in map(type, events):
            events = [_without_own_answer(event) for event in events]
        if self._page_tools:  # most pages declare none
            events = [self._with_page(event) for event in events]
        return self._since_answers(events)

    def _with_page(self, event: StreamEvent) -> StreamEvent:
        if type(event) is not ToolUseStart or event.name not in self._page_tools:
            return event
        return event if event.server else replace(event, frontend=True)

    def _since_answers(self, events: Events) -> Events:
        """Events emitted after an answer: a pause for requests answered already becomes RAW."""
        if not self._answered:
            return events
        since: Events = []
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
        self,
        events: Events,
        lines: Sequence[RawLine] = (),
        permissions: Sequence[Permission] = (),
    ) -> list[LogEntry]:
        self.input_requests.see_all(events)
        automatic = await self._automatic(permissions) if self._pauses(events) else []
        more = self._recorder.lifecycle.feed_all(self.input_requests.events_of(automatic))
        self.input_requests.see_all(more)
        stored = await self._append(events + more, lines, permissions)
        self._note_answers(reply.event for reply in automatic)
        for reply in automatic:
            self._on_automatic(reply)
        return stored

    def _pauses(self, events: Events) -> bool:
        is_paused = self.waiting and any(isinstance(event, Paused) for event in events)
        return is_paused and self._may_answer()

    async def _automatic(self, created: Sequence[Permission]) -> list[Reply]:
        try:
            granted = await self._granted()
        except StorageError:  # forget the events that are not stored
            await self.catch_up()
            raise
        return automatic_replies(self.input_requests, self._run, [*granted, *created])

    async def _append(
        self, events: Events, lines: Sequence[RawLine], permissions: Sequence[Permission]
    ) -> list[LogEntry]:
        if (waiting := self.waiting) is not self._was_waiting:
            self._was_waiting = waiting
            self._on_pause(waiting)
        if not events and not lines:
            return []
        run = self._run
        try:
            return await self._log.append(
                run.id, run.epoch, events, self._clock.now(), lines, permissions
            )
        except (RunActive, StorageError):  # forget the events that were not stored
            await self.catch_up()
            raise


def _without_own_answer(event: StreamEvent) -> StreamEvent:
    """An answer in the output of an agent as RAW (Rule 1): the request stays open.

    What it refuses itself is a request that it withdraws.
    """
    if type(event) is not InputResponse:
        return event
    if event.decision in ("denied", "cancelled"):
        return replace(event, decision="cancelled", permission=None, automatic=False)
    return Raw(raw=event.as_json(), source=OWN_ANSWER)


def _bytes_of(item: Item) -> bytes:
    return item if isinstance(item, bytes) else msgspec.json.encode(item.raw)


def _error_in(events: Events) -> Error | None:
    return next((event for event in events if isinstance(event, Error)), None)


def _pieces(data: bytes) -> list[bytes]:
    """The data, in pieces if it has many lines: parsing a piece blocks the event loop."""
    if data.count(b"\n") <= MOST_LINES:
        return [data]
    return [data[start : start + PIECE] for start in range(0, len(data), PIECE)]
