"""The grammar of a run: START first, one DONE last, and nothing left open in between.

Every event of a run passes through one Lifecycle on its way into the log. It adds the events that
agents and frameworks leave out, so that readers of the log can rely on these rules:

Rule 1: START is the first entry, DONE the last, each exactly once. An earlier DONE is only a
        proposal, until the agent starts another turn. A run that ends waiting (PAUSED) stays open.
        PAUSED is logged once, and again after other work of an agent whose request is still open.
        An ERROR after which no work follows is the run's end, unless a DONE after it gives a
        reason other than success.
        A later START, of a subordinate agent or of another attempt, is logged as CUSTOM.
Rule 2: every TEXT and THINKING has an id and one END; deltas and ends name an open block. A block
        that is sent again after a RETRACT gets a new id: clients hide retracted blocks by id.
Rule 3: a tool call has START, END, then its results; ids of calls do not repeat in a run. When the
        run ends each has a result, except those that DONE(tool) hands over to the caller.
Rule 4: an event that cannot be placed (an end without a start) is kept as RAW.
Rule 5: feeding a log to a new Lifecycle gives the same log and the state at its end. That is how
        another process closes a crashed run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Final, TypeVar

from msgspec.structs import replace

from mobox.errors import ProtocolError
from mobox.events import (
    AGENT_STARTED,
    Custom,
    Done,
    Events,
    EventType,
    InputRequest,
    Paused,
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
)
from mobox.events.blocks import NOTES, Block, Blocks, OpenBlock, end_of
from mobox.events.names import IdAllocator, named
from mobox.events.waiting import Pause
from mobox.lifecycle.calls import Calls, RenamedCalls
from mobox.lifecycle.ending import AGENTS_OWN_REASONS, Ending
from mobox.lifecycle.thoughts import Thoughts

Handler = Callable[["Lifecycle", Any], Iterable[StreamEvent]]
_E = TypeVar("_E", bound=StreamEvent)
_DELTA_OF: dict[type[StreamEvent], type[StreamEvent]] = {Text: TextDelta, Thinking: ThinkingDelta}
_OPENING_OF: dict[type[StreamEvent], type[StreamEvent]] = {
    TextDelta: Text,
    TextEnd: Text,
    ThinkingDelta: Thinking,
    ThinkingEnd: Thinking,
}
_END_OF: Final[dict[type[StreamEvent], type[StreamEvent]]] = {
    StepStart: StepEnd,
    SubagentStart: SubagentEnd,
}
_START_OF: Final = {end: start for start, end in _END_OF.items()}
_PREFIXES: Final[dict[type[StreamEvent], str]] = {StepStart: "step", SubagentStart: "subagent"}
_HALTS: Final = {EventType.PAUSED, EventType.ERROR, EventType.INPUT_RESPONSE}
_OPENING_IN: dict[Block, type[StreamEvent]] = {Block.TEXT: Text, Block.THINKING: Thinking}
NOISE = 32
"""How many RAW events are held back until the first other event, so that START can precede them."""


class Lifecycle:
    """The state of one run."""

    def __init__(self, framework: str = "unknown") -> None:
        self.ended = False
        self._framework = framework
        self._started = False
        self._noise: Events = []  # RAW events before the first other event
        self._ending = Ending()
        self._pause = Pause()
        self._blocks = Blocks()
        self._thoughts = Thoughts()  # of the block without a framework id
        self._open: dict[str | None, tuple[type[StreamEvent], StreamEvent]] = {}
        self._names = IdAllocator()
        self._spans = Spans(self._names)
        self._block_ids: set[str | None] = set()  # all blocks that were opened in this run
        self._retracted: set[str] = set()
        self._resent: dict[str | None, str] = {}  # new ids of retracted blocks that are sent again
        self._calls = Calls(self._names)
        self._renamed = RenamedCalls(self._calls.latest)

    @property
    def waiting(self) -> bool:
        """Whether the run waits for an answer."""
        return self._pause.waiting

    def feed(self, event: StreamEvent) -> Events:
        """Take an event of a parser; return the events to log."""
        return self.feed_all((event,))

    def feed_all(self, events: Iterable[StreamEvent]) -> Events:
        """`feed` for several events."""
        log: Events = []
        for event in events:
            placed = self._place(event)
            log += self._renamed.follow(placed) if self._calls.latest else placed
        return log

    def feed_line(self, events: Events) -> Events:
        """`feed_all` for the events of one line, and PAUSED again if the agent still waits."""
        if len(events) == 1 and not self._calls.latest and self._goes_on(events[0]):
            return events
        log = self.feed_all(events)
        return log + self.pause_again() if self._pause.is_on else log

    def feed_last(self, events: Iterable[StreamEvent]) -> Events:
        """`feed_all` for the events that a parser adds when its source has ended.

        They are not new work: a failed run stays failed and does not wait.
        """
        failed = self._ending.failed
        log: Events = []
        for event in events:
            if isinstance(event, Done):
                self._ending.fall_back_on(event)
                self._pause.end()
            elif not (failed and isinstance(event, Paused)):
                log += self.feed(event)
                self._ending.failed = self._ending.failed or failed
        return log

    def _place(self, event: StreamEvent) -> Events:
        if self._goes_on(event):
            return [event]
        if self.ended:
            raise ProtocolError(f"{event.type} after DONE")
        if isinstance(event, Done):
            self._ending.propose(event)
            self._pause.end()
            return []
        if isinstance(event, Paused) and self._pause.is_repeated_by(event):
            return []  # parsers repeat it when their source ends
        if not self._started and isinstance(event, Raw) and len(self._noise) < NOISE:
            self._noise.append(self._calls.with_latest_names(event))
            return []
        before = [] if self._started else self._log(self._begin(event))
        handler = self.HANDLERS.get(event.type, Lifecycle._pass)
        placed = self._log(handler(self, self._calls.with_latest_names(event)))
        if not placed:
            placed = self._log([Raw(raw=event.as_json(), source=f"stray {event.type}")])
        return before + placed

    def _goes_on(self, event: StreamEvent) -> bool:
        """Whether this is a delta of an open block, as nine of ten events are: it changes nothing.

        Except while the run is halted.
        """
        opened = self._open.get(event.id)  # the class of the block's deltas, and its opening
        return opened is not None and opened[0] is type(event) and not self._is_halted

    @property
    def may_pause_again(self) -> bool:
        """Whether a request is open while the run counts as running."""
        return self._pause.is_due(at_end=True)

    def pause_again(self, *, at_end: bool = False) -> Events:
        """PAUSED, if the agent still waits after other work."""
        if not self._pause.is_due(at_end):
            return []
        return self._log([self._pause.again()])

    def close(self, done: Done | None = None) -> Events:
        """The input ended; return the events that close the run. `done` overrides the proposal."""
        if self.ended or (self.waiting and done is None):
            return []
        events = self._log(self._end_all(done or self.own_end()))
        self.ended = True
        return self._renamed.follow(events)

    def _log(self, events: Iterable[StreamEvent]) -> Events:
        """Log `events`. All pass here, so that readers derive the same Blocks from the log."""
        log: Events = []
        for event in events:
            closed = self._blocks.turn_to(event).closed
            if closed is not None and self._is_logged(closed):
                self._enter(self._end_block(closed.id), log)
            self._enter(event, log)
            if event.type in NOTES and (note := self._blocks.open) is not None:
                self._thoughts.before(event, note.id)
            self._names.take(event.id)
        return log

    def _enter(self, event: StreamEvent, log: Events) -> None:
        log.append(event)
        if self._is_halted or event.type in _HALTS:
            self._pause.update(event)
            self._ending.see(event)

    @property
    def _is_halted(self) -> bool:
        """Whether the run waits, will wait again, or has failed, which any event may change."""
        return self._pause.is_on or self._ending.failed

    def _is_logged(self, block: OpenBlock) -> bool:
        """Whether the log has this block: not Processing, nor a block that has only notes."""
        opened = self._open.get(block.id)
        return opened is not None and type(opened[1]) is _OPENING_IN.get(block.block)

    # The run

    def _begin(self, event: StreamEvent) -> Iterator[StreamEvent]:
        if not self._started and not isinstance(event, Start):
            yield from self._start(Start(framework=self._framework))

    def _start(self, event: Start) -> Iterator[StreamEvent]:
        if not self._started:
            self._started = True
            yield event
            yield from self._noise
        else:
            yield Custom(
                id=AGENT_STARTED,
                scope=event.scope,
                provider=event.provider,
                name=AGENT_STARTED,
                value=event.data,
            )

    def own_end(self) -> Done:
        """How the run ends if `close` gets no other DONE."""
        return self._ending.done

    @property
    def may_end(self) -> bool:
        """Whether the agent proposed an end, and no subagent or call is at work that it would cut.

        The calls of DONE(tool) are handed over to the caller.
        """
        if not self._ending.is_proposed or self._spans.has_subagent:
            return False
        return not self._calls.has_open or self.own_end().reason == "tool"

    def _end_all(self, done: Done) -> Iterator[StreamEvent]:
        yield from self._begin(done)
        for name in list(self._open):
            yield self._end_block(name, interrupted=done.reason not in AGENTS_OWN_REASONS)
        yield from self._calls.interrupt_all(handed_over=done.reason == "tool")
        yield from self._spans.interrupt_all()
        yield done

    # Blocks

    def _handle_opening(self, event: Text | Thinking) -> Iterator[StreamEvent]:
        if event.id is None:
            name = self._blocks.name_for(event)
            more = self._thoughts.continued(event, name)
            if self._is_open(name, type(event)):
                yield more
                return
            event = replace(event, id=name)
        yield from self._open_block(self._anew(event))

    def _handle_delta(self, event: TextDelta | ThinkingDelta) -> Iterator[StreamEvent]:
        if event.id is None:
            event = self._thoughts.continued(event, self._blocks.name_for(event))
        event = self._anew(event)
        opening: Any = _OPENING_OF[type(event)]
        if not self._is_open(event.id, opening):
            yield from self._open_block(opening(id=event.id, scope=event.scope))
        yield event

    def _handle_end(self, event: TextEnd | ThinkingEnd) -> Iterator[StreamEvent]:
        unnamed = self._blocks.open
        name = self._name_of(event.id) or (unnamed.id if unnamed is not None else None)
        if self._is_open(name, _OPENING_OF[type(event)]):
            del self._open[name]
            yield named(event, name)

    def _name_of(self, name: str | None) -> str | None:
        return self._resent.get(name, name)

    def _anew(self, event: _E) -> _E:
        """`event` under the current id of its block; a new id if the block was retracted."""
        name = self._name_of(event.id)
        if name in self._retracted:
            name = self._resent[event.id] = self._names.fresh(event.id or "")
        return event if name == event.id else replace(event, id=name)

    def _is_open(self, name: str | None, kind: type[StreamEvent]) -> bool:
        return name in self._open and type(self._open[name][1]) is kind

    def _open_block(self, event: Text | Thinking) -> Iterator[StreamEvent]:
        if event.id in self._open:
            yield self._end_block(event.id)
        self._open[event.id] = (_DELTA_OF[type(event)], event)
        self._block_ids.add(event.id)
        yield event

    def _end_block(self, name: str | None, interrupted: bool = False) -> StreamEvent:
        _, opening = self._open.pop(name)
        return end_of(opening, interrupted)

    # Steps and subagents

    def _start_span(self, event: StepStart | SubagentStart) -> Iterator[StreamEvent]:
        if isinstance(event, StepStart) and event.kind == "turn" and not event.scope:
            self._ending.withdraw()
        return self._spans.start(event)

    # The rest

    def _request(self, event: InputRequest) -> Iterator[StreamEvent]:
        scope = event.scope
        if event.tool_call_id:  # only a complete call can be approved
            call = yield from self._calls.complete(event.tool_call_id, event.scope)
            scope = call.start.scope
        event = replace(event, id=event.id or self._names.fresh("request"))
        self._pause.add_request(event, scope)
        yield event

    def _retract(self, event: Retract) -> Iterator[StreamEvent]:
        """End the retracted blocks; a call that has a result stays."""
        names = dict.fromkeys(self._resent.get(name, name) for name in event.blocks)
        blocks = tuple(name for name in names if self._can_be_retracted(name))
        if not blocks:
            return
        self._retracted |= set(blocks)
        for name in blocks:
            if name in self._open:
                yield self._end_block(name, interrupted=True)
            yield from self._calls.interrupt(name)
        yield replace(event, blocks=blocks)

    def _can_be_retracted(self, name: str) -> bool:
        is_known = name in self._block_ids or name in self._calls
        return is_known and name not in self._retracted and not self._calls.is_answered(name)

    def _pass(self, event: StreamEvent) -> Iterator[StreamEvent]:
        yield event

    HANDLERS: ClassVar[dict[EventType, Handler]] = {
        EventType.START: _start,
        EventType.TEXT: _handle_opening,
        EventType.TEXT_DELTA: _handle_delta,
        EventType.TEXT_END: _handle_end,
        EventType.THINKING: _handle_opening,
        EventType.THINKING_DELTA: _handle_delta,
        EventType.THINKING_END: _handle_end,
        EventType.TOOL_USE_START: lambda run, event: run._calls.start(event),
        EventType.TOOL_USE_DELTA: lambda run, event: run._calls.add_input(event),
        EventType.TOOL_USE_END: lambda run, event: run._calls.end(event),
        EventType.TOOL_RESULT: lambda run, event: run._calls.add_result(event),
        EventType.STEP_START: _start_span,
        EventType.STEP_END: lambda run, event: run._spans.end(event),
        EventType.SUBAGENT_START: _start_span,
        EventType.SUBAGENT_END: lambda run, event: run._spans.end(event),
        EventType.SOURCE: lambda run, event: [named(event, run._name_of(event.id))],
        EventType.INPUT_REQUEST: _request,
        EventType.RETRACT: _retract,
    }
    """Events that are not logged as they are. A handler that yields nothing could not place one."""


class Spans:
    """The open steps and subagents, in the order of their starts."""

    def __init__(self, names: IdAllocator) -> None:
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

    @property
    def has_subagent(self) -> bool:
        """Whether a subagent is open."""
        return any(kind is SubagentStart for kind, _ in self._open)

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
