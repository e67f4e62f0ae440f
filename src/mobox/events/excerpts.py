"""What a reader of a shared chat sees of a log: an excerpt.

Rule 1: an excerpt is made of the log before it is formatted or folded, so that no protocol and no
        stored message has more than it.
Rule 2: a table lists what is shown. An event type that it does not list is not.
Rule 3: `everything` keeps the number of events and their order, so that every cursor stays valid.
Rule 4: what only a program needs, as the state of a paused agent, is in no excerpt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal

from msgspec.structs import replace

from mobox.events import (
    EventType,
    InputRequest,
    LogEntry,
    Paused,
    Result,
    Source,
    Start,
    StepEnd,
    StepStart,
    StreamEvent,
    Text,
    TextDelta,
)

Shows = Literal["answer", "tools", "everything"]
"""The answer alone, also the work without the thoughts, or all of it."""

_ANSWER: Final = frozenset(
    {
        EventType.START, EventType.DONE, EventType.PAUSED, EventType.ERROR, EventType.RETRACT,
        EventType.TEXT, EventType.TEXT_DELTA, EventType.TEXT_END,
        EventType.SOURCE, EventType.FILE, EventType.STEP_START, EventType.STEP_END,
    }
)  # fmt: skip
_WORK: Final = frozenset(
    {
        EventType.STATUS, EventType.TOOL_USE_START, EventType.TOOL_USE_DELTA,
        EventType.TOOL_USE_END, EventType.TOOL_RESULT, EventType.SUBAGENT_START,
        EventType.SUBAGENT_END, EventType.TODO_CREATE, EventType.TODO_UPDATE, EventType.TODO_DONE,
        EventType.INPUT_REQUEST, EventType.INPUT_RESPONSE, EventType.CUSTOM,
    }
)  # fmt: skip
SHOWN: Final[dict[Shows, frozenset[EventType]]] = {
    "answer": _ANSWER,
    "tools": _ANSWER | _WORK,
    "everything": frozenset(EventType),
}

_FOR_PROGRAMS: Final[dict[type[StreamEvent], Callable[[Any], StreamEvent]]] = {
    Start: lambda event: replace(event, session_id=None),
    Result: lambda event: replace(event, session_id=None),
    Paused: lambda event: replace(event, resume=None),
    InputRequest: lambda event: replace(event, resume=None),
}


class Excerpt:
    """Makes the excerpt of one log, from its first entry on."""

    def __init__(self, shows: Shows) -> None:
        self._shows = shows
        self._types = SHOWN[shows]
        self._texts: set[str | None] = set()
        """The blocks of the answer: what is cited there."""

    def of(self, entries: Iterable[LogEntry]) -> list[LogEntry]:
        """The entries that are shown, as they are shown."""
        return list(self._shown(entries))

    def _shown(self, entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
        for entry in entries:
            event = entry.event
            if event.type in self._types and (self._shows != "answer" or self._is_answer(event)):
                made = self._without_more(event)
                yield entry if made is event else replace(entry, event=made)

    def _is_answer(self, event: StreamEvent) -> bool:
        """Whether it is of the main agent's answer; of its steps only the turns are shown."""
        if event.scope:
            return False
        if isinstance(event, Text | TextDelta):
            self._texts.add(event.id)
        if isinstance(event, StepStart):
            return event.kind == "turn"
        if isinstance(event, StepEnd):
            return False
        return not isinstance(event, Source) or event.id in self._texts

    def _without_more(self, event: StreamEvent) -> StreamEvent:
        made = _FOR_PROGRAMS.get(type(event))
        event = event if made is None else made(event)
        if self._shows == "everything" or event.provider is None:
            return event
        return replace(event, provider=None)  # thoughts may be in it, encrypted
