"""The grammar of a run: START first, one DONE last, and nothing left open in between.

Every event of a run passes through one Lifecycle on its way into the log. It mends what agents and
frameworks leave out, so that whoever reads the log may rely on these rules:

Rule 1: START is the first entry, DONE the last, each exactly once. A DONE on the way is only the
        agent's proposal. A run that ends waiting (PAUSED) stays open.
Rule 2: every TEXT and THINKING has an id and one END; deltas and ends name an open block.
Rule 3: a tool call has START, END, then its results; ids of calls do not repeat in a run.
Rule 4: what cannot be placed (an end of nothing, a second START) is kept, as RAW.
Rule 5: feeding a log to a new Lifecycle gives that log again, and the state at its end. That is how
        a crashed run is closed by somebody else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from mobox.blocks import BETWEEN_THOUGHTS, Blocks
from mobox.errors import ProtocolError
from mobox.events import (
    Done,
    EventType,
    InputRequest,
    Raw,
    Retract,
    Start,
    StepEnd,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)

__all__ = ["Lifecycle"]

Events = list[StreamEvent]
Handler = Callable[["Lifecycle", Any], Events]

_DELTA_OF: dict[type[StreamEvent], type[StreamEvent]] = {Text: TextDelta, Thinking: ThinkingDelta}
_END_OF: dict[type[StreamEvent], type[StreamEvent]] = {
    Text: TextEnd,
    Thinking: ThinkingEnd,
    StepStart: StepEnd,
    SubagentStart: SubagentEnd,
}
_OPENING_OF = {other: opening for opening, other in [*_DELTA_OF.items(), *_END_OF.items()]}
_INTERRUPTED: dict[type[StreamEvent], dict[str, Any]] = {
    TextEnd: {"interrupted": True},
    StepEnd: {"status": "interrupted"},
    SubagentEnd: {"status": "interrupted"},
}
_SPEECH = {
    EventType.TEXT,
    EventType.TEXT_DELTA,
    EventType.THINKING,
    EventType.THINKING_DELTA,
    EventType.TOOL_USE_START,
    EventType.TOOL_RESULT,
    EventType.STEP_START,
}
_TURN_BY_THEMSELVES = {EventType.TEXT_END, EventType.THINKING_END, EventType.DONE}


class Lifecycle:
    """The state of one run."""

    def __init__(self, framework: str = "unknown") -> None:
        self.waiting = False
        self.ended = False
        self._framework = framework
        self._started = False
        self._proposal: Done | None = None
        self._failed = False  # the last that was said is an error
        self._blocks = Blocks()
        self._open: dict[str, tuple[type[StreamEvent], StreamEvent]] = {}  # id: its delta, opening
        self._calls: dict[str, _Call] = {}
        self._renamed: dict[str, str] = {}  # an id that a framework used again: its latest name
        self._spans: dict[tuple[type[StreamEvent], str], StreamEvent] = {}  # steps and subagents
        self._names: set[str] = set()
        self._count: Counter[str] = Counter()

    def feed(self, event: StreamEvent) -> Events:
        """Take what a parser made; return what goes into the log."""
        opened = self._open.get(event.id)  # type: ignore[arg-type]  # None is no key, and cheap
        if opened is not None and opened[0] is type(event):  # a delta: nine of ten events
            self.waiting = self._failed = False
            return [event]
        if self.ended:
            raise ProtocolError(f"{event.type} after DONE")
        before = self._begin(event)
        self.waiting = event.type is EventType.PAUSED
        self._failed = event.type is EventType.ERROR or (
            self._failed and event.type not in _SPEECH
        )
        event = self._with_latest_ids(event) if self._renamed else event
        if event.type not in _TURN_BY_THEMSELVES:
            before += self._turn_to(event)
        handler = self.HANDLERS.get(event.type, Lifecycle._pass)
        return before + handler(self, event)

    def close(self, done: Done | None = None) -> Events:
        """The input ended; return what closes the run. `done` overrules what the agent proposed."""
        if self.ended or (self.waiting and done is None):
            return []
        done = done or self._own_end()
        events = self._begin(done) + self._turn_to(done)
        events += [_end_of(opening, interrupted=True) for _, opening in self._open.values()]
        for call in self._calls.values():
            events += self._settle(call, handed_over=done.reason == "tool")
        events += [_end_of(span, interrupted=True) for span in reversed(self._spans.values())]
        self._open.clear()
        self.ended, self.waiting = True, False
        return [*events, done]

    def _begin(self, event: StreamEvent) -> Events:
        if self._started or event.type is EventType.START:
            return []
        self._started = True
        return [Start(framework=self._framework)]

    def _start(self, event: Start) -> Events:
        if self._started:
            return self._stray(event)
        self._started = True
        return [event]

    def _propose(self, event: Done) -> Events:
        self._proposal = event
        return []

    def _own_end(self) -> Done:
        if self._proposal is None:
            return Done(reason="error" if self._failed else "truncated")
        if self._failed and self._proposal.reason == "stop":
            return replace(self._proposal, reason="error")
        return self._proposal

    # Blocks

    def _turn_to(self, event: StreamEvent) -> Events:
        closed = self._blocks.turn_to(event).closed
        return self._end_open(closed.id) if closed is not None else []

    def _end_open(self, name: str, interrupted: bool = False) -> Events:
        if name not in self._open:
            return []
        _, opening = self._open.pop(name)
        return [_end_of(opening, interrupted)]

    def _open_block(self, event: Text | Thinking) -> Events:
        if event.id is None:
            return self._open_unnamed(event)
        again = self._end_open(event.id)
        self._open[event.id] = (_DELTA_OF[type(event)], event)
        return [*again, event]

    def _open_unnamed(self, event: Text | Thinking) -> Events:
        name = self._unnamed_block()
        if name not in self._open:
            return self._open_block(replace(event, id=name))
        if not event.content:
            return []
        if isinstance(event, Text):
            return [TextDelta(id=name, scope=event.scope, delta=event.content)]
        return [
            ThinkingDelta(id=name, scope=event.scope, delta=BETWEEN_THOUGHTS + event.content)
        ]

    def _delta(self, event: TextDelta | ThinkingDelta) -> Events:
        if event.id is None:
            event = replace(event, id=self._unnamed_block())
        opened = self._open.get(event.id or "")
        if opened is not None and opened[0] is type(event):
            return [event]
        opening: Any = _OPENING_OF[type(event)]
        return [*self._open_block(opening(id=event.id, scope=event.scope)), event]

    def _end_block(self, event: TextEnd | ThinkingEnd) -> Events:
        unnamed = self._blocks.open
        name = event.id or (unnamed.id if unnamed is not None else "")
        _, opening = self._open.get(name, (None, None))
        if type(opening) is not _OPENING_OF[type(event)]:
            return self._stray(event)
        event = replace(event, id=name)
        self._blocks.turn_to(event)
        del self._open[name]
        return [event]

    def _unnamed_block(self) -> str:
        assert self._blocks.open is not None  # BLOCK_OF has a row for TEXT* and THINKING*
        return self._blocks.open.id

    # Tool calls

    def _start_call(self, event: ToolUseStart) -> Events:
        latest = self._calls.get(self._renamed.get(event.id or "", event.id or ""))
        if latest is not None and not latest.ended:
            return self._stray(event)
        name = event.id or self._name("call")
        if latest is not None:
            self._renamed[name] = name = self._name(name)
        event = replace(event, id=name)
        self._calls[name] = _Call(event)
        self._names.add(name)
        return [event]

    def _call_of(self, event: StreamEvent) -> tuple[_Call, Events]:
        """The call that `event` is about, with the START it needs where nobody told of it."""
        if event.id in self._calls:
            return self._calls[event.id], []
        if event.id is None:
            for call in reversed(self._calls.values()):
                if not call.settled:
                    return call, []
        name = event.id or self._name("call")
        start = ToolUseStart(id=name, scope=event.scope, name="unknown")
        before = self._start_call(start)
        return self._calls[name], before

    def _more_input(self, event: ToolUseDelta) -> Events:
        call, before = self._call_of(event)
        if call.ended:
            return self._stray(event)
        call.deltas.append(event.delta)
        return [*before, replace(event, id=call.start.id)]

    def _end_call(self, event: ToolUseEnd) -> Events:
        call, before = self._call_of(event)
        if call.ended:
            return self._stray(event)
        call.ended = True
        call.deltas.clear()
        return [*before, replace(event, id=call.start.id)]

    def _result(self, event: ToolResult) -> Events:
        call, before = self._call_of(event)
        if not call.ended:
            before += self._end_call(call.end())
        call.settled = call.settled or not event.partial
        return [*before, replace(event, id=call.start.id)]

    def _settle(self, call: _Call, handed_over: bool = False) -> Events:
        events = [] if call.ended else self._end_call(call.end())
        # A run that ends with "tool" hands its finished calls over: the caller runs them.
        caller_runs_it = handed_over and not events and not call.start.server
        if call.settled or caller_runs_it:
            return events
        call.settled = True
        return [
            *events,
            ToolResult(id=call.start.id, scope=call.start.scope, status="interrupted"),
        ]

    # Steps, subagents, requests

    def _start_span(self, event: StepStart | SubagentStart) -> Events:
        name = event.id or self._name("step" if isinstance(event, StepStart) else "subagent")
        event = replace(event, id=name)
        before = self._spans.pop((type(event), name), None)
        self._spans[type(event), name] = event
        self._names.add(name)
        return [event] if before is None else [_end_of(before), event]

    def _end_span(self, event: StepEnd | SubagentEnd) -> Events:
        opening = _OPENING_OF[type(event)]
        for kind, name in reversed(self._spans):
            if kind is opening and event.id in (None, name):
                del self._spans[kind, name]
                return [replace(event, id=name)]
        return self._stray(event)

    def _request(self, event: InputRequest) -> Events:
        name = event.id or self._name("request")
        self._names.add(name)
        call = self._calls.get(event.tool_call_id or "")
        before = self._end_call(call.end()) if call is not None and not call.ended else []
        return [*before, replace(event, id=name)]

    def _retract(self, event: Retract) -> Events:
        """Blocks that are sent again end here; a tool that has its result stays."""
        calls = {name: self._calls[name] for name in event.blocks if name in self._calls}
        kept = {name for name, call in calls.items() if call.settled}
        before: Events = []
        for name in event.blocks:
            before += self._end_open(name, interrupted=True)
            before += self._settle(calls[name]) if name in calls else []
        return [
            *before,
            replace(event, blocks=tuple(name for name in event.blocks if name not in kept)),
        ]

    # What is left

    def _pass(self, event: StreamEvent) -> Events:
        return [event]

    def _stray(self, event: StreamEvent) -> Events:
        return [Raw(raw=msgspec.to_builtins(event), source=f"stray {event.type}")]

    def _name(self, prefix: str) -> str:
        while True:
            self._count[prefix] += 1
            name = f"{prefix}_{self._count[prefix]}"
            if name not in self._names:
                return name

    def _with_latest_ids(self, event: StreamEvent) -> StreamEvent:
        names: dict[str, Any] = {"scope": tuple(self._renamed.get(s, s) for s in event.scope)}
        if event.id is not None and event.type is not EventType.TOOL_USE_START:
            names["id"] = self._renamed.get(event.id, event.id)
        if isinstance(event, InputRequest) and event.tool_call_id is not None:
            names["tool_call_id"] = self._renamed.get(event.tool_call_id, event.tool_call_id)
        return replace(event, **names)

    HANDLERS: ClassVar[dict[EventType, Handler]] = {
        EventType.START: _start,
        EventType.DONE: _propose,
        EventType.TEXT: _open_block,
        EventType.TEXT_DELTA: _delta,
        EventType.TEXT_END: _end_block,
        EventType.THINKING: _open_block,
        EventType.THINKING_DELTA: _delta,
        EventType.THINKING_END: _end_block,
        EventType.TOOL_USE_START: _start_call,
        EventType.TOOL_USE_DELTA: _more_input,
        EventType.TOOL_USE_END: _end_call,
        EventType.TOOL_RESULT: _result,
        EventType.STEP_START: _start_span,
        EventType.STEP_END: _end_span,
        EventType.SUBAGENT_START: _start_span,
        EventType.SUBAGENT_END: _end_span,
        EventType.INPUT_REQUEST: _request,
        EventType.RETRACT: _retract,
    }
    """What needs more than to be passed on."""


class _Call:
    """What is known of one tool call."""

    def __init__(self, start: ToolUseStart) -> None:
        self.start = start
        self.deltas: list[str] = []
        self.ended = False
        self.settled = False

    def end(self) -> ToolUseEnd:
        """The end of an input that nobody ended."""
        text = "".join(self.deltas)
        return ToolUseEnd(
            id=self.start.id,
            scope=self.start.scope,
            input=self.start.input,
            invalid=text if text and self.start.input is None else None,
        )


def _end_of(opening: StreamEvent, interrupted: bool = False) -> StreamEvent:
    end: Any = _END_OF[type(opening)]
    how = _INTERRUPTED.get(end, {}) if interrupted else {}
    event: StreamEvent = end(id=opening.id, scope=opening.scope, **how)
    return event
