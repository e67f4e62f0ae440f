"""A message of bounded size, whatever its log holds: what has no room is left out, and counted.

Rule 1: the log keeps everything. A message that was shortened says so at its end, in its text, so
        that every protocol and every agent sees it.
Rule 2: what is kept is valid: blocks and calls that are shown are closed, and calls that are left
        out have no result. Questions, answers, usage and the end are always kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from mobox.events import (
    JSON,
    Done,
    Error,
    EventType,
    LogEntry,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.message import Message
from mobox.events.transcript import Transcript

EARLIER_LEFT_OUT: Final = "[Earlier messages are left out: this chat is too long to be read whole.]"
"""Before a part of a chat, where there is no cursor to the rest."""
LONGEST: Final = 4_000_000
"""Characters of a message."""
_ERRORS: Final = 100
"""Errors that are kept of a message without room."""
_CUT: Final = " […]"
_NOTE: Final = (
    "\n\n[Shortened: {omitted:,} characters of this answer are left out here. The whole of it is "
    "in the log of its run: GET /api/runs/{run_id}/events]"
)
_NOTE_ID: Final = "mobox-shortened"
_LEFT_OUT: Final = "[shortened]"

_FREE: Final = {
    EventType.START,
    EventType.DONE,
    EventType.USAGE,
    EventType.RESULT,
    EventType.INPUT_REQUEST,
    EventType.INPUT_RESPONSE,
    EventType.RETRACT,
    EventType.PAUSED,
    EventType.STATE,
    EventType.TEXT_END,
    EventType.THINKING_END,
    EventType.RAW,
}
"""Events that are always kept: they are few, or a message keeps nothing of them."""

_encode = msgspec.json.Encoder().encode


def bounded_message(entries: Iterable[LogEntry], message_id: str) -> Message:
    """The message that a log adds up to, shortened where it is too long."""
    transcript = BoundedTranscript()
    for entry in entries:
        transcript.add(entry.event, entry.ts)
    return transcript.message(message_id)


class BoundedTranscript:
    """A transcript that keeps no more than so many characters."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._transcript = Transcript()
        self._left = longest
        self._omitted = 0
        self._calls: set[str | None] = set()
        self._replaced: dict[tuple[object, ...], int] = {}  # sizes of what a later event replaces
        self._errors = 0
        self._done: tuple[Done, int | None] | None = None

    def add(self, event: StreamEvent, ts: int | None) -> None:
        """Add the event of the next log entry, and its time."""
        if type(event) in _DELTAS:
            delta: str = event.delta  # type: ignore[attr-defined]
            self._left -= len(delta)
            if self._left >= 0:
                self._transcript.add(event, ts)
            else:
                self._shorten_delta(event, delta, ts)
        elif isinstance(event, Done):
            self._done = event, ts
        elif event.type in _FREE:
            self._transcript.add(event, ts)
        else:
            self._add_sized(event, ts)

    def message(self, message_id: str) -> Message:
        """The whole message as it is now."""
        if self._done is not None:
            done, ts = self._done
            self._done = None
            self._end(message_id, ts)
            self._transcript.add(done, ts)
        return self._transcript.message(message_id)

    def _end(self, message_id: str, ts: int | None) -> None:
        if self._omitted:
            note = _NOTE.format(omitted=self._omitted, run_id=message_id)
            self._transcript.add(Text(id=_NOTE_ID, content=note), ts)
            self._transcript.add(TextEnd(id=_NOTE_ID), ts)

    def _shorten_delta(self, event: StreamEvent, delta: str, ts: int | None) -> None:
        """Keep what there is room for, once; of a call's input nothing, as it would be no JSON."""
        kept = max(0, len(delta) + self._left)
        is_first = self._left + len(delta) >= 0
        self._left = min(self._left, -1)
        self._omitted += len(delta) - kept
        if is_first and not isinstance(event, ToolUseDelta):
            self._transcript.add(replace(event, delta=delta[:kept] + _CUT), ts)
        elif is_first:
            self._omitted += kept

    def _add_sized(self, event: StreamEvent, ts: int | None) -> None:
        if isinstance(event, ToolUseEnd | ToolResult) and event.id not in self._calls:
            if self._left < 0:
                self._omitted += _size(event)
                return
            self._calls.add(event.id)
        size = _size(event)
        place = _PLACES[event.type](event) if event.type in _PLACES else None
        if place is not None and self._left >= 0:
            self._left += self._replaced.get(place, 0)
            self._replaced[place] = size
        if size > self._left:
            self._shorten(event, size, ts)
            return
        self._left -= size
        if isinstance(event, ToolUseStart):
            self._calls.add(event.id)
        self._transcript.add(event, ts)

    def _shorten(self, event: StreamEvent, size: int, ts: int | None) -> None:
        room = max(0, self._left)
        self._omitted += size - room
        self._left = -1
        short = _SHORTER.get(type(event))
        if isinstance(event, Error):
            self._errors += 1
            if self._errors > _ERRORS:
                return
        if short is not None and (room or not isinstance(event, Text | Thinking)):
            self._transcript.add(short(event, room), ts)


def _size(event: StreamEvent) -> int:
    return len(_encode(event))


def _short_value(value: JSON, room: int) -> JSON:
    """A text is cut; anything else is too long as a whole."""
    return value[:room] + _CUT if isinstance(value, str) else _LEFT_OUT


def _short_input(event: ToolUseEnd, room: int) -> StreamEvent:
    if event.invalid is not None:
        return replace(event, invalid=event.invalid[:room] + _CUT, provider=None)
    return replace(event, input={"shortened": True}, provider=None)


def _short_result(event: ToolResult, room: int) -> StreamEvent:
    return replace(event, output=_short_value(event.output, room), structured=None, provider=None)


def _short_error(event: Error, room: int) -> StreamEvent:
    return replace(event, message=event.message[: room + 1000], stderr_tail=None, provider=None)


def _short_content(event: Text | Thinking, room: int) -> StreamEvent:
    return replace(event, content=event.content[:room] + _CUT, provider=None)


_PLACES: Final[dict[EventType, Callable[[Any], tuple[object, ...] | None]]] = {
    EventType.TOOL_RESULT: lambda event: ("result", event.id),
    EventType.CUSTOM: lambda event: ("custom", event.name, event.id) if event.id else None,
    EventType.TODO_CREATE: lambda event: ("todo", *event.scope[-1:]),
    EventType.TODO_UPDATE: lambda event: ("todo", *event.scope[-1:]),
    EventType.TODO_DONE: lambda event: ("todo", *event.scope[-1:]),
}
"""Where an event is kept that replaces the one before it there."""
_DELTAS: Final = (TextDelta, ThinkingDelta, ToolUseDelta)
_SHORTER: Final[dict[type[StreamEvent], Callable[[Any, int], StreamEvent]]] = {
    Text: _short_content,
    Thinking: _short_content,
    ToolUseEnd: _short_input,
    ToolResult: _short_result,
    Error: _short_error,
}
"""How events are shortened; others are left out."""
