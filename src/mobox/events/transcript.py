"""The fold of a run's events into its message.

Rule 1: parts are in the order in which they were started; an event adds one, changes one, or both.
Rule 2: a transcript holds what a formatter sends live: for every protocol and every prefix of a
        log, `client(format(log[:k])) == snapshot(fold(log[:k]))`.
Rule 3: the log is the source of truth: a transcript can be discarded and rebuilt.
Rule 4: in the log of a later version, an opening event may be RAW: the next event of the block or
        call then opens it, as in the formatters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from mobox.events import (
    AGENT_STARTED,
    FAILURES,
    UNKNOWN_TOOL,
    Custom,
    Done,
    DoneReason,
    Error,
    EventType,
    InputRequest,
    InputResponse,
    LogEntry,
    Raw,
    Result,
    Retract,
    Start,
    Status,
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
    TodoEvent,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.blocks import BETWEEN_THOUGHTS, BLOCK_OF, LINE_EVENTS, Block, Blocks
from mobox.events.message import (
    AnyPart,
    BlockPart,
    CustomPart,
    FilePart,
    Message,
    ProcessingPart,
    RequestPart,
    RetractPart,
    SourcePart,
    StepPart,
    SubagentPart,
    TextPart,
    ThinkingPart,
    TodosPart,
    ToolPart,
    TurnPart,
    UsagePart,
    block_id,
)
from mobox.events.usage import UsageTotal, sum_counts
from mobox.events.work_clock import WorkClock


def build_message(entries: Iterable[LogEntry], message_id: str) -> Message:
    """The message that a log, or a prefix of one, adds up to."""
    transcript = Transcript()
    for entry in entries:
        transcript.add(entry.event, entry.ts)
    return transcript.message(message_id)


class Transcript:
    """The message of one run so far."""

    def __init__(self) -> None:
        self._parts: list[AnyPart] = []
        self._places: dict[tuple[Any, ...], int] = {}  # of parts that are replaced by name
        self._blocks = Blocks()
        self._open: dict[str | None, BlockPart] = {}
        self._started_at: dict[str | None, int | None] = {}  # start times of the open blocks
        self._deltas: dict[str | None, list[str]] = {}  # the deltas of the open blocks
        self._tools: dict[str | None, ToolPart] = {}
        self._inputs: dict[str | None, list[str]] = {}  # the deltas of incomplete inputs
        self._steps: dict[str | None, StepPart] = {}
        self._subagents: dict[str | None, SubagentPart] = {}
        self._requests: dict[str | None, RequestPart] = {}  # without an answer
        self._hidden: set[int] = set()  # the indexes of retracted parts
        self._usage = UsageTotal()
        self._clock = WorkClock()
        self._processing: list[str] = []
        self._errors = HeldErrors()
        self._done: Done | None = None
        self._fatal: Error | None = None
        self._ts: int | None = None
        self._began: int | None = None
        self._is_simulated = False
        self._model: str | None = None
        self._context: int | None = None
        self._has_started = False

    def add(self, event: StreamEvent, ts: int | None) -> None:
        """Add the event of the next log entry, and its time."""
        part = self._open.get(event.id)
        if part is not None and type(part) is _WRITES.get(type(event)):  # nine of ten events
            self._deltas[event.id].append(event.delta)  # type: ignore[attr-defined]
            return
        self._ts = ts
        self._clock.add(event, ts)
        self._turn_to(event)
        adder = self.ADDERS.get(event.type)
        if adder is not None:
            adder(self, event)

    def deltas_of(self, kind: type[StreamEvent], name: str | None) -> list[str]:
        """The deltas so far of the block or input of such an event; callers may append."""
        deltas = self._inputs if kind.type in _ABOUT_INPUT else self._deltas
        return deltas.get(name, [])

    @property
    def worked_ms(self) -> int | None:
        """How long the agent has worked at the last event, since its text before."""
        return self._clock.worked(self._ts)

    def message(self, message_id: str) -> Message:
        """The whole message as it is now."""
        self._join_deltas()
        shown = [part for n, part in enumerate(self._parts) if n not in self._hidden]
        answer = [part.text for part in shown if isinstance(part, TextPart) and not part.scope]
        thoughts = [part.text for part in shown if isinstance(part, ThinkingPart) and part.text]
        about = {"processing": self._processing, "thinking": BETWEEN_THOUGHTS.join(thoughts)}
        return Message(
            id=message_id,
            parts=list(self._parts),
            content="".join(answer),
            metadata={name: value for name, value in about.items() if value},
            usage=self._usage.totals,
            reason=self._done.reason if self._done is not None else None,
            error=self._fatal.message if self._fatal is not None else None,
            error_code=self._fatal.code if self._fatal is not None else None,
            errors=self._errors.count,
            duration_ms=self._since(self._began) if self._done is not None else None,
            simulated=self._is_simulated,
            model=self._model,
            context=self._context,
        )

    def _join_deltas(self) -> None:
        for name, deltas in self._deltas.items():
            self._open[name].text = "".join(deltas)
            deltas[:] = [self._open[name].text]
        for name, deltas in self._inputs.items():
            self._tools[name].input_text = "".join(deltas)
            deltas[:] = [self._tools[name].input_text]

    def _put(self, part: AnyPart, *name: str | int | None) -> None:
        """Add a part; it replaces an earlier part of the same name."""
        place = self._places.setdefault((type(part), *name), len(self._parts))
        self._parts[place : place + 1] = [part]

    def _since(self, ts: int | None) -> int | None:
        return self._ts - ts if self._ts is not None and ts is not None else None

    # The run

    def _start(self, event: Start | Raw) -> None:
        if not self._has_started:
            self._has_started, self._began = True, self._ts
            self._is_simulated = isinstance(event, Start) and event.simulated
        if isinstance(event, Start):
            self._model = event.model or self._model

    def _end(self, event: Done) -> None:
        self._fatal, notices = self._errors.release(event.reason)
        for notice in notices:
            self._turn_to(notice)
            self._line(notice)
        for name in list(self._open):
            self._close(name)
        self._done = event

    def _start_step(self, event: StepStart) -> None:
        if event.kind in ("task", "compaction"):
            self._steps[event.id] = part = StepPart(start=event)
            self._put(part, event.id)
        elif event.kind == "turn" and not event.scope:
            self._turn()

    def _turn(self) -> None:
        """Start a turn, unless something is open or the turn before is empty."""
        is_amid = bool(self._open or self._inputs)
        if not is_amid and not (self._parts and isinstance(self._parts[-1], TurnPart)):
            self._parts.append(TurnPart())

    def _end_step(self, event: StepEnd) -> None:
        if event.id in self._steps:
            self._steps.pop(event.id).end = event

    # Blocks

    def _turn_to(self, event: StreamEvent) -> None:
        move = self._blocks.turn_to(event)
        if move.closed is not None and move.closed.id in self._open and event.type not in _ENDS:
            self._close(move.closed.id)
        if move.opened is not None and event.type in LINE_EVENTS:
            kind = ThinkingPart if move.opened.block is Block.THINKING else ProcessingPart
            self._begin(kind(id=move.opened.id))

    def _begin(self, part: TextPart | ThinkingPart | ProcessingPart) -> None:
        if part.id in self._open:  # its end is RAW to this version: it stays as it is
            self._join_deltas()
        if isinstance(part, TextPart) and not part.scope:
            part.worked_ms = self.worked_ms
        self._parts.append(part)
        self._open[part.id] = part
        self._deltas[part.id] = []
        self._started_at[part.id] = self._ts

    def _close(self, name: str | None) -> None:
        part = self._open.pop(name)
        part.text = "".join(self._deltas.pop(name))
        part.ended = True
        part.duration_ms = self._since(self._started_at.pop(name))

    def _write(self, name: str, text: str, between: str = "") -> None:
        deltas = self._deltas[name]
        if text:
            deltas.append(between + text if any(deltas) else text)

    def _line(self, event: StreamEvent) -> None:
        line = self._blocks.line(event)
        if line is None:
            return
        if BLOCK_OF[event.type] is Block.PROCESSING:
            self._processing.append(line.text)
        self._write(*line)

    def _text(self, event: Text) -> None:
        assert event.id is not None  # the lifecycle names every block
        self._begin(TextPart(id=event.id, scope=event.scope, kind=event.kind))
        self._write(event.id, event.content)

    def _thinking(self, event: Thinking) -> None:
        assert event.id is not None  # the lifecycle names every block
        if not isinstance(self._open.get(event.id), ThinkingPart):
            self._begin(
                ThinkingPart(
                    id=event.id, scope=event.scope, source=event.source, redacted=event.redacted
                )
            )
        self._write(event.id, event.content, BETWEEN_THOUGHTS)

    def _more(self, event: TextDelta | ThinkingDelta) -> None:
        assert event.id is not None  # the lifecycle names every block
        kind = TextPart if isinstance(event, TextDelta) else ThinkingPart
        self._begin(kind(id=event.id, scope=event.scope))
        self._write(event.id, event.delta)

    def _end_block(self, event: TextEnd | ThinkingEnd) -> None:
        part = self._open.get(event.id)
        if part is None:
            return
        if isinstance(part, TextPart | ThinkingPart):
            part.provider = event.provider
        self._close(event.id)

    # Tool calls and requests

    def _start_tool(self, event: ToolUseStart) -> None:
        assert event.id is not None  # the lifecycle names every call
        part = ToolPart(
            id=event.id,
            name=event.name,
            kind=event.kind,
            server=event.server,
            frontend=event.frontend,
            display=event.display,
            scope=event.scope,
            provider=event.provider,
        )
        self._tools[event.id] = part
        self._inputs[event.id] = []
        self._parts.append(part)

    def _tool_of(self, event: ToolUseDelta | ToolUseEnd | ToolResult) -> ToolPart:
        if event.id not in self._tools:
            self._start_tool(ToolUseStart(id=event.id, scope=event.scope, name=UNKNOWN_TOOL))
        return self._tools[event.id]

    def _more_input(self, event: ToolUseDelta) -> None:
        self._tool_of(event)
        self._inputs[event.id].append(event.delta)

    def _end_tool(self, event: ToolUseEnd) -> None:
        part = self._tool_of(event)
        part.input_text = event.invalid or ""
        del self._inputs[event.id]
        part.input = {} if event.input is None else event.input
        part.ended, part.invalid = True, event.invalid is not None

    def _result(self, event: ToolResult) -> None:
        part = self._tool_of(event)
        if not part.ended:
            self._end_tool(ToolUseEnd(id=event.id))
        part.status, part.partial = event.status, event.partial
        part.output, part.structured = event.output, event.structured
        part.result_provider = event.provider

    def _request(self, event: InputRequest) -> None:
        approval = event.kind == "approval" and self._waits(event)
        if event.id in self._requests:
            self._requests[event.id].replaced = True
        self._requests[event.id] = part = RequestPart(request=event, approval=approval)
        self._parts.append(part)

    def _response(self, event: InputResponse) -> None:
        part = self._requests.pop(event.id, None)
        if part is not None and (not part.approval or self._waits(part.request)):
            part.response = event
        self._turn()

    def _waits(self, request: InputRequest) -> bool:
        """Whether it belongs to a call that has its input and no result."""
        call = self._tools.get(request.tool_call_id)
        return call is not None and call.ended and not call.invalid and call.status is None

    # What a message carries besides

    def _todo(self, event: TodoEvent) -> None:
        self._line(event)
        self._put(TodosPart(items=event.items, scope=event.scope), *event.scope[-1:])

    def _start_subagent(self, event: SubagentStart) -> None:
        self._line(event)
        self._subagents[event.id] = part = SubagentPart(start=event)
        self._put(part, event.id)

    def _end_subagent(self, event: SubagentEnd) -> None:
        self._line(event)
        if event.id in self._subagents:
            self._subagents[event.id].end = event

    def _use(self, event: Usage | Result) -> None:
        self._usage.add(event)
        if isinstance(event, Usage) and not event.scope:
            self._model = event.model or self._model
            if event.per == "call" and event.input:
                self._context = sum_counts(event.input, event.output)
        if (totals := self._usage.totals) is not None:
            self._put(UsagePart(totals=totals))

    def _retract(self, event: Retract) -> None:
        # By index: in the log of an older version, a block that is sent again may have the same id.
        self._hidden |= {n for n, p in enumerate(self._parts) if block_id(p) in event.blocks}
        ids = {block_id(part) for part in self._turn_so_far()}
        whole = bool(ids) and ids <= set(event.blocks)
        self._parts.append(RetractPart(blocks=event.blocks, whole_turn=whole))

    def _turn_so_far(self) -> list[AnyPart]:
        """What the current turn shows, the last first; nothing where there are no turns."""
        turn: list[AnyPart] = []
        for part in reversed(self._parts):
            if isinstance(part, TurnPart) or (isinstance(part, RetractPart) and part.whole_turn):
                return turn
            # A request may be shown with its call only.
            if not isinstance(part, RequestPart) or part.has_part:
                turn.append(part)
        return []

    def _custom(self, event: Custom) -> None:
        part = CustomPart(name=event.name, id=event.id, value=event.value)
        self._put(part, event.name, event.id or len(self._parts))
        if event.name == AGENT_STARTED and isinstance(event.value, dict):
            model = event.value.get("model")
            self._model = model if isinstance(model, str) and model else self._model

    ADDERS: ClassVar[dict[EventType, Callable[[Transcript, Any], None]]] = {
        EventType.START: _start,
        EventType.DONE: _end,
        EventType.ERROR: lambda run, event: run._errors.hold(event),
        EventType.STATUS: _line,
        EventType.TEXT: _text,
        EventType.TEXT_DELTA: _more,
        EventType.TEXT_END: _end_block,
        EventType.THINKING: _thinking,
        EventType.THINKING_DELTA: _more,
        EventType.THINKING_END: _end_block,
        EventType.TOOL_USE_START: _start_tool,
        EventType.TOOL_USE_DELTA: _more_input,
        EventType.TOOL_USE_END: _end_tool,
        EventType.TOOL_RESULT: _result,
        EventType.STEP_START: _start_step,
        EventType.STEP_END: _end_step,
        EventType.SUBAGENT_START: _start_subagent,
        EventType.SUBAGENT_END: _end_subagent,
        EventType.TODO_CREATE: _todo,
        EventType.TODO_UPDATE: _todo,
        EventType.TODO_DONE: _todo,
        EventType.SOURCE: lambda run, event: run._parts.append(SourcePart(source=event)),
        EventType.FILE: lambda run, event: run._parts.append(FilePart(file=event)),
        EventType.INPUT_REQUEST: _request,
        EventType.INPUT_RESPONSE: _response,
        EventType.USAGE: _use,
        EventType.RESULT: _use,
        EventType.RETRACT: _retract,
        EventType.CUSTOM: _custom,
        EventType.RAW: _start,
    }
    """Events that change the message; PAUSED and STATE do not, nor does RAW except as the first."""


_WRITES: dict[type[StreamEvent], type[BlockPart]] = {
    TextDelta: TextPart,
    ThinkingDelta: ThinkingPart,
}
"""The class of part for each delta: in a log of a later version two parts may share an id."""
_ABOUT_INPUT = {EventType.TOOL_USE_DELTA, EventType.TOOL_USE_END, EventType.TOOL_RESULT}
_ENDS = {EventType.TEXT_END, EventType.THINKING_END}


class HeldErrors:
    """The errors of one run, until it ends: only then is it known which of them was fatal."""

    def __init__(self) -> None:
        self.count = 0
        """How many there were."""
        self._errors: list[Error] = []

    def hold(self, error: Error) -> None:
        """Keep an error."""
        self.count += 1
        self._errors.append(error)

    def release(self, reason: DoneReason) -> tuple[Error | None, list[Status]]:
        """The fatal error of a run that ended so, which is the last, and the others as notices."""
        fatal = self._errors.pop() if reason in FAILURES and self._errors else None
        others = [error.message for error in self._errors]
        if fatal is not None:  # an agent may report the failure that ends it
            others = [message for message in others if message != fatal.message]
        return fatal, [Status(message=message, kind="notice") for message in others]
