"""The steps and subagents of a run, from their starts to their ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from mobox.events import StepEnd, StepStart, StreamEvent, SubagentEnd, SubagentStart
from mobox.names import Names, named

__all__ = ["Spans"]

_END_OF: Final[dict[type[StreamEvent], type[StreamEvent]]] = {
    StepStart: StepEnd,
    SubagentStart: SubagentEnd,
}
_START_OF: Final = {end: start for start, end in _END_OF.items()}
_PREFIXES: Final[dict[type[StreamEvent], str]] = {StepStart: "step", SubagentStart: "subagent"}


class Spans:
    """The open steps and subagents, in the order of their starts."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._open: dict[tuple[type[StreamEvent], str], StreamEvent] = {}

    def start(self, event: StepStart | SubagentStart) -> Iterator[StreamEvent]:
        """Start one; an open one of the same name ends first."""
        kind = type(event)
        name = event.id or self._names.fresh(_PREFIXES[kind])
        if (kind, name) in self._open:
            yield _end_of(self._open.pop((kind, name)))
        event = named(event, name)
        self._open[kind, name] = event
        yield event

    def end(self, event: StepEnd | SubagentEnd) -> Iterator[StreamEvent]:
        """End one, the last if none is named; nothing if it is not open."""
        kind = _START_OF[type(event)]
        name = event.id if event.id is not None else self._last(kind)
        start = self._open.pop((kind, name or ""), None)
        if start is None:
            return
        event = named(event, name)
        if isinstance(event, SubagentEnd) and isinstance(start, SubagentStart):
            event = replace(event, agent=event.agent or start.agent)
        yield event

    def interrupt_all(self) -> Iterator[StreamEvent]:
        """The run ends: end all that are open, the last first."""
        for start in reversed(self._open.values()):
            yield _end_of(start, status="interrupted")

    def _last(self, kind: type[StreamEvent]) -> str | None:
        return next((name for each, name in reversed(self._open) if each is kind), None)


def _end_of(start: StreamEvent, **how: str) -> StreamEvent:
    end: Any = _END_OF[type(start)]
    who = {"agent": start.agent} if isinstance(start, SubagentStart) else {}
    event: StreamEvent = end(id=start.id, scope=start.scope, **who, **how)
    return event
