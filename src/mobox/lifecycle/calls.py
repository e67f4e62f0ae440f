"""The tool calls of one run: their state, and the events added to complete their sequence.

Rule 1: a call is START, deltas of its input, END, then its results.
Rule 2: ids of calls do not repeat in a run: one that a framework reuses is renamed, and later
        events with that id get the new name.
Rule 3: an event of an unknown call starts that call.
Rule 4: a method that yields nothing could not place its event.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from mobox.events import (
    UNKNOWN_TOOL,
    Events,
    EventType,
    InputRequest,
    Retract,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.names import IdAllocator, named, tool_use_end
from mobox.events.placeholders import Placeholders

_ABOUT_CALLS = {
    EventType.TOOL_USE_DELTA,
    EventType.TOOL_USE_END,
    EventType.TOOL_RESULT,
    EventType.SUBAGENT_START,
    EventType.SUBAGENT_END,
    EventType.SOURCE,
    EventType.FILE,
}
"""Events whose `id` may be a call's id; that of a START is never translated."""


class _Call:
    def __init__(self, name: str, start: ToolUseStart) -> None:
        self.name = name
        self.start = start
        self.deltas: list[str] = []
        self.ended = False
        self.settled = False
        self.answered = False  # settled by a result of its own, not by an interruption

    def end(self) -> ToolUseEnd:
        """The END to add for an input that was not ended."""
        if self.start.input is None and self.deltas:
            return tool_use_end(self.name, "".join(self.deltas), self.start.scope)
        return ToolUseEnd(id=self.name, scope=self.start.scope, input=self.start.input)


class Calls:
    """The tool calls of one run."""

    def __init__(self, names: IdAllocator) -> None:
        self._names = names
        self._calls: dict[str | None, _Call] = {}
        self._open: dict[str | None, _Call] = {}  # calls without a result
        self.latest: dict[str | None, str] = {}
        """For each reused id, the name of its latest call in the log."""

    def __contains__(self, name: str | None) -> bool:
        return name in self._calls

    @property
    def has_open(self) -> bool:
        """Whether a call has no result yet."""
        return bool(self._open)

    def start(self, event: ToolUseStart) -> Iterator[StreamEvent]:
        """Start a call; nothing if it is open and its input is not complete."""
        known = self._calls.get(self.latest.get(event.id, event.id))
        if known is not None and not known.ended:
            return
        name = event.id or self._names.fresh("call")
        if known is not None:
            name = self.latest[event.id] = self._names.fresh(name)
        event = named(event, name)
        self._calls[name] = self._open[name] = _Call(name, event)
        yield event

    def add_input(self, event: ToolUseDelta) -> Iterator[StreamEvent]:
        """A delta of the input; nothing if the input is complete."""
        call = yield from self._call_of(event.id, event.scope)
        if not call.ended:
            call.deltas.append(event.delta)
            yield named(event, call.name)

    def end(self, event: ToolUseEnd) -> Iterator[StreamEvent]:
        """The input is complete; nothing if it was already."""
        call = yield from self._call_of(event.id, event.scope)
        if not call.ended:
            call.ended = True
            call.deltas.clear()
            yield named(event, call.name)

    def add_result(self, event: ToolResult) -> Iterator[StreamEvent]:
        """A final or partial result."""
        call = yield from self.complete(event.id, event.scope)
        if not event.partial:
            self._settle(call)
            call.answered = call.answered or event.status != "interrupted"
        yield named(event, call.name)

    def complete(
        self, name: str | None, scope: tuple[str, ...]
    ) -> Generator[StreamEvent, None, _Call]:
        """End the input of a call, unless it has ended."""
        call = yield from self._call_of(name, scope)
        if not call.ended:
            yield from self.end(call.end())
        return call

    def is_answered(self, name: str) -> bool:
        """Whether a call has a result other than an interruption."""
        return name in self._calls and self._calls[name].answered

    def interrupt(self, name: str, *, handed_over: bool = False) -> Iterator[StreamEvent]:
        """Add the result of an interrupted call; nothing if it has one or is unknown."""
        call = self._calls.get(name)
        if call is None or call.settled:
            return
        # A complete call that is handed over is run by the caller; an incomplete one cannot be.
        if handed_over and call.ended and not call.start.server:
            return
        yield from self.complete(name, call.start.scope)
        self._settle(call)
        yield ToolResult(id=name, scope=call.start.scope, status="interrupted")

    def interrupt_all(self, *, handed_over: bool) -> Iterator[StreamEvent]:
        """The run ends: settle all open calls, except those that the caller runs."""
        for call in list(self._open.values()):
            yield from self.interrupt(call.name, handed_over=handed_over)

    def with_latest_names(self, event: StreamEvent) -> StreamEvent:
        """`event` with its calls' names in the log; an empty id becomes `None`."""
        event = replace(event, id=None) if event.id == "" else event
        if not self.latest:
            return event
        names: dict[str, Any] = {"scope": self._latest_of(event.scope)}
        if event.type in _ABOUT_CALLS:
            names["id"] = self.latest.get(event.id, event.id)
        if isinstance(event, InputRequest):
            names["tool_call_id"] = self.latest.get(event.tool_call_id, event.tool_call_id)
        if isinstance(event, Retract):
            names["blocks"] = self._latest_of(event.blocks)
        return replace(event, **names)

    def _latest_of(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.latest.get(name, name) for name in names)

    def _call_of(
        self, name: str | None, scope: tuple[str, ...]
    ) -> Generator[StreamEvent, None, _Call]:
        call = self._calls.get(name) if name is not None else self._last_open()
        if call is None:
            yield from self.start(ToolUseStart(id=name, scope=scope, name=UNKNOWN_TOOL))
            call = next(reversed(self._calls.values()))
        return call

    def _last_open(self) -> _Call | None:
        return next(reversed(self._open.values()), None)

    def _settle(self, call: _Call) -> None:
        call.settled = True
        self._open.pop(call.name, None)


class RenamedCalls:
    """Renames calls in the open texts of one run.

    A placeholder in a text names the latest call of its id. Ids of calls do not repeat in a log, so
    the placeholder of an id which the agent reused gets the name that this call has in the log.
    """

    def __init__(self, latest: Mapping[str | None, str]) -> None:
        self._latest = latest
        self._texts: dict[str | None, Placeholders] = {}

    def follow(self, events: Iterable[StreamEvent]) -> Events:
        """`events` for the log, with the latest names of calls in their texts."""
        log: Events = []
        for event in events:
            match event:
                case Text(content=words):
                    log.append(replace(event, content=self._text(event.id).feed(words)))
                case TextDelta(delta=words):
                    text = self._text(event.id).feed(words)
                    log += [replace(event, delta=text)] if text or not words else []
                case TextEnd():
                    rest = self._text(event.id).flush()
                    more = TextDelta(id=event.id, scope=event.scope, delta=rest)
                    log += [more, event] if rest else [event]
                    del self._texts[event.id]
                case _:
                    log.append(event)
        return log

    def _text(self, name: str | None) -> Placeholders:
        return self._texts.setdefault(name, Placeholders(self._latest.get))
