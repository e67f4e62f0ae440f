"""StreamEvents as the AI SDK's UI message stream: one run is one assistant message.

Rule 1: `start` comes first and once, with the run's id, and `[DONE]` last.
Rule 2: parts are opened once and closed before finish-step, finish, abort and error.
Rule 3: an `error` chunk ends the turn at the client, so errors are held until the run's end.
Rule 4: `providerMetadata.mobox` is always complete: clients replace it, never merge.
Rule 5: only the root agent's text is text; text of subagents is reasoning with a `scope`.

docs/ai-sdk.md has the tables, and where the real clients differ from the documents.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final

from mobox.events import (
    JSON,
    Done,
    DoneReason,
    Error,
    EventType,
    File,
    InputResponse,
    Raw,
    Result,
    Retract,
    Source,
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
    ToolUseDelta,
    Usage,
)
from mobox.events.blocks import BETWEEN_THOUGHTS, BLOCK_OF, LINE_EVENTS, Blocks
from mobox.events.transcript import HeldErrors
from mobox.events.usage import UsageTotal
from mobox.events.work_clock import WorkClock
from mobox.formatters import Formatter
from mobox.formatters.ai_sdk.chunks import (
    DEFAULT,
    DONE,
    PROFILES,
    Chunks,
    chunk,
    custom_chunk,
    encode,
    file_chunk,
    message_metadata,
    profile_for,
    reasoning_about,
    retract_chunk,
    source_chunk,
    state_chunk,
    status_chunk,
    step_chunk,
    subagent_chunk,
    text_about,
    todos_chunk,
    usage_chunk,
)
from mobox.formatters.ai_sdk.document import DocumentFormatter
from mobox.formatters.ai_sdk.input_requests import Requests
from mobox.formatters.ai_sdk.parts import Parts, Steps, Tools
from mobox.formatters.ai_sdk.snapshot import ui_message, ui_user_message
from mobox.formatters.ai_sdk.wire_ids import WireIds
from mobox.formatters.delta_fast_path import NO_FAST_PATH, DeltaFastPath, FastPath
from mobox.formatters.pieces import format_pieces
from mobox.formatters.values import profile_named, run_failure

__all__ = [
    "DEFAULT",
    "HEADERS",
    "PROFILES",
    "REPLAYS_FINISHED",
    "AISDKFormatter",
    "DocumentFormatter",
    "ai_sdk",
    "profile_for",
    "ui_message",
    "ui_user_message",
]

Writer = Callable[["AISDKFormatter", Any], Chunks]

_TURNS = BLOCK_OF.keys() - {EventType.TEXT_END, EventType.THINKING_END}


class AISDKFormatter(DeltaFastPath):
    """Writes one assistant message."""

    PROFILES: ClassVar[tuple[str, ...]] = tuple(PROFILES)

    def __init__(self, message_id: str, profile: str = DEFAULT) -> None:
        self._profile = profile_named(profile, PROFILES)
        self._message_id = message_id
        self._ts: int | None = None
        self._started: int | None = None
        self._is_simulated = False
        self._has_started = False
        self._blocks = Blocks()
        self._parts = Parts()
        self._ids = WireIds(message_id)
        self._tools = Tools(self._profile, self._ids)
        self._usage = UsageTotal()
        self._clock = WorkClock()
        self._steps = Steps(self._ids)
        self._errors = HeldErrors()
        self._sources = 0
        self._tasks: dict[str | None, StepStart] = {}
        self._subagents: dict[str | None, SubagentStart] = {}
        self._requests = Requests(self._profile, self._tools, self._steps, self._ids)
        self._retracted: list[str] = []
        self._fast_path = NO_FAST_PATH

    def _write(self, event: StreamEvent, ts: int | None) -> Chunks:
        part = self._parts.find(event.id)
        if part is not None and part.delta_class is type(event):
            delta: str = event.delta  # type: ignore[attr-defined]
            part.empty = part.empty and not delta
            return [part.prefix + encode(delta) + b"}"]
        self._ts = ts
        self._clock.add(event, ts)
        kind = event.type
        turn = self._turn_to(event) if kind in _TURNS else []
        chunks = turn + self.WRITERS[kind](self, event)
        self._steps.record(chunks)
        return chunks

    def _fast_path_after(self, event: StreamEvent) -> FastPath:
        if isinstance(event, ToolUseDelta):
            return event.id, ToolUseDelta, partial(format_pieces, self._tools.prefix_of(event))
        return self._fast_path_into(type(event), event.id)

    def _fast_path_into(self, kind: type[StreamEvent], block_id: str | None) -> FastPath:
        part = self._parts.find(block_id)
        # An empty part may get a separator first.
        if part is None or part.delta_class is not kind or part.empty:
            return NO_FAST_PATH
        return block_id, kind, partial(format_pieces, part.prefix)

    def pause(self) -> Chunks:
        """The run waits for an answer: end the response, not the message."""
        self._fast_path = NO_FAST_PATH
        closing = [*self._parts.close_all(self._ts), *self._steps.finish()]
        return [*self._requests.pending(), *closing, self._finish("tool"), DONE]

    def resume(self) -> Chunks:
        """Start a response in the middle of the message, after entries formatted unsent."""
        self._steps.open = False
        return [self._start_chunk(), *self._parts.reopen()]

    # The run

    def _start(self, event: Start | Raw) -> Chunks:
        if self._has_started:
            return []
        self._has_started, self._started = True, self._ts
        self._is_simulated = isinstance(event, Start) and event.simulated
        return [self._start_chunk()]

    def _start_chunk(self) -> bytes:
        return chunk("start", messageId=self._message_id)

    def _done(self, event: Done) -> Chunks:
        fatal, notices = self._errors.release(event.reason)
        lines = [c for notice in notices for c in self._turn_to(notice) + self._line(notice)]
        chunks = [*lines, *self._parts.close_all(self._ts), *self._steps.close()]
        error, _ = run_failure(event.reason, fatal) or (None, None)
        metadata = self._metadata(event, error, fatal)
        if error is not None:
            failed = chunk("error", errorText=error)
            return [*chunks, _metadata_chunk(metadata), failed, self._finish(event.reason), DONE]
        if event.reason == "cancelled":
            reason = "cancelled" if self._profile.abort_reason else None
            return [*chunks, _metadata_chunk(metadata), chunk("abort", reason=reason), DONE]
        return [*chunks, self._finish(event.reason, metadata), DONE]

    def _finish(self, reason: DoneReason, metadata: dict[str, JSON] | None = None) -> bytes:
        reasons = self._profile.finish_reasons
        return chunk(
            "finish",
            finishReason=reasons[reason] if reasons is not None else None,
            messageMetadata=metadata,
        )

    def _metadata(self, event: Done, error: str | None, fatal: Error | None) -> dict[str, JSON]:
        duration = None
        if self._ts is not None and self._started is not None:
            duration = self._ts - self._started
        code = fatal.code if fatal is not None else None
        totals, simulated = self._usage.totals, self._is_simulated
        return message_metadata(event.reason, error, code, totals, duration, simulated)

    def _error(self, event: Error) -> Chunks:
        self._errors.hold(event)
        return []

    def _start_step(self, event: StepStart) -> Chunks:
        if event.kind == "turn" and not event.scope:
            return [] if self._is_amid else self._steps.start()
        if event.kind in ("turn", "node"):  # internals of a graph or a subagent
            return []
        self._tasks[event.id] = event
        return [step_chunk(event)]

    def _end_step(self, event: StepEnd) -> Chunks:
        """A turn's step ends when the next one starts: tool results still belong to it."""
        task = self._tasks.pop(event.id, None)
        return [step_chunk(task, event)] if task is not None else []

    @property
    def _is_amid(self) -> bool:
        """Whether something is open that spans turns of the root, such as a subagent's block."""
        return bool(self._parts) or self._tools.streaming

    # Blocks without a framework id: Processing, and the notes on subagents

    def _turn_to(self, event: StreamEvent) -> Chunks:
        move = self._blocks.turn_to(event)
        chunks: Chunks = []
        if move.closed is not None and move.closed.id in self._parts:
            chunks += self._parts.close(move.closed.id, self._ts)
        if move.opened is not None and event.type in LINE_EVENTS:
            about = reasoning_about(move.opened.block.value, move.opened.id)
            chunks += self._parts.open("reasoning", ThinkingDelta, about, self._ts)
        return chunks

    def _line(self, event: StreamEvent) -> Chunks:
        """One more line in the block that is open for it."""
        line = self._blocks.line(event)
        return self._parts.write(*line) if line is not None else []

    def _status(self, event: Status) -> Chunks:
        return [*self._line(event), status_chunk(event, self._ids)]

    def _todos(self, event: TodoEvent) -> Chunks:
        return [*self._line(event), todos_chunk(event.items, self._ids.all_of(event.scope))]

    def _start_subagent(self, event: SubagentStart) -> Chunks:
        self._subagents[event.id] = event
        return [*self._line(event), subagent_chunk(event, self._ids)]

    def _end_subagent(self, event: SubagentEnd) -> Chunks:
        start = self._subagents.get(event.id)
        known = [subagent_chunk(start, self._ids, event)] if start is not None else []
        return [*self._line(event), *known]

    # Blocks with an id

    def _text(self, event: Text) -> Chunks:
        assert event.id is not None  # the lifecycle names every block
        if event.scope:
            chunks = self._reasoning(event.id, event)
        else:
            worked = self._clock.worked(self._ts) if self._profile.details else None
            about = text_about(event.id, event.kind, worked)
            chunks = self._parts.open("text", TextDelta, about, self._ts)
        return chunks + self._parts.write(event.id, event.content)

    def _thinking(self, event: Thinking) -> Chunks:
        assert event.id is not None  # the lifecycle names every block
        part = self._parts.find(event.id)
        is_open = part is not None and part.delta_class is ThinkingDelta
        chunks = [] if is_open else self._reasoning(event.id, event)
        return chunks + self._parts.write(event.id, event.content, BETWEEN_THOUGHTS)

    def _more(self, event: TextDelta | ThinkingDelta) -> Chunks:
        """A delta of a block whose start is RAW: logged by a later version."""
        if isinstance(event, TextDelta):
            return self._text(Text(id=event.id, scope=event.scope, content=event.delta))
        return self._thinking(Thinking(id=event.id, scope=event.scope, content=event.delta))

    def _reasoning(self, block_id: str, event: Text | Thinking) -> Chunks:
        delta_class = TextDelta if isinstance(event, Text) else ThinkingDelta
        scope = self._ids.all_of(event.scope)
        said = self._profile.details and isinstance(event, Text)
        about = reasoning_about("thinking", block_id, scope, said=said)
        return self._parts.open("reasoning", delta_class, about, self._ts)

    def _end_block(self, event: TextEnd | ThinkingEnd) -> Chunks:
        self._blocks.turn_to(event)
        if event.id not in self._parts:
            return []
        provider = event.provider if isinstance(event, ThinkingEnd) else None
        return self._parts.close(event.id, self._ts, provider)

    # Tool calls and requests

    def _response(self, event: InputResponse) -> Chunks:
        """An answer starts a step: clients that send automatically need one, or never stop."""
        step = [] if self._is_amid else self._steps.start()
        return self._requests.answer(event) + step

    # Other parts of a message

    def _source(self, event: Source) -> Chunks:
        self._sources += 1
        return [source_chunk(event, f"source_{self._sources}", self._ids)]

    def _file(self, event: File) -> Chunks:
        return [file_chunk(event, self._ids, self._profile.file_metadata)]

    def _use(self, event: Usage | Result) -> Chunks:
        self._usage.add(event)
        totals = self._usage.totals
        return [usage_chunk(totals)] if totals is not None else []

    def _retract(self, event: Retract) -> Chunks:
        if self._profile.resets and self._steps.is_made_of(event.blocks):
            self._tools.forget(event.blocks)
            return self._steps.reset()
        self._retracted += map(self._ids.block, event.blocks)
        return [retract_chunk(self._retracted)]

    WRITERS: ClassVar[dict[EventType, Writer]] = {
        EventType.START: _start,
        EventType.DONE: _done,
        EventType.PAUSED: lambda run, event: [],
        EventType.ERROR: _error,
        EventType.STATUS: _status,
        EventType.TEXT: _text,
        EventType.TEXT_DELTA: _more,
        EventType.TEXT_END: _end_block,
        EventType.THINKING: _thinking,
        EventType.THINKING_DELTA: _more,
        EventType.THINKING_END: _end_block,
        EventType.TOOL_USE_START: lambda run, event: run._tools.start(event),
        EventType.TOOL_USE_DELTA: lambda run, event: run._tools.more(event),
        EventType.TOOL_USE_END: lambda run, event: run._tools.end(event),
        EventType.TOOL_RESULT: lambda run, event: run._tools.result(event),
        EventType.STEP_START: _start_step,
        EventType.STEP_END: _end_step,
        EventType.SUBAGENT_START: _start_subagent,
        EventType.SUBAGENT_END: _end_subagent,
        EventType.TODO_CREATE: _todos,
        EventType.TODO_UPDATE: _todos,
        EventType.TODO_DONE: _todos,
        EventType.SOURCE: _source,
        EventType.FILE: _file,
        EventType.STATE: lambda run, event: [state_chunk(event)],
        EventType.INPUT_REQUEST: lambda run, event: run._requests.request(event),
        EventType.INPUT_RESPONSE: _response,
        EventType.USAGE: _use,
        EventType.RESULT: _use,
        EventType.RETRACT: _retract,
        EventType.CUSTOM: lambda run, event: [custom_chunk(event.name, event.value, event.id)],
        EventType.RAW: _start,
    }
    """Total over EventType. Deltas of open blocks never get here: see `_write`. A RAW is ignored,
    unless it is the first event: then it is the START of a later version."""


def _metadata_chunk(metadata: dict[str, JSON]) -> bytes:
    return chunk("message-metadata", messageMetadata=metadata)


HEADERS: Final = {"x-vercel-ai-ui-message-stream": "v1"}
"""Headers of a response, beside those of SSE."""

REPLAYS_FINISHED: Final = {None, *PROFILES} - {"v5", "v5-static", "v5-dynamic"}
"""Profiles whose clients recognize a message that is replayed after its end."""


class _AISDK:
    """Chooses the formatter for a version of the client."""

    PROFILES = (*AISDKFormatter.PROFILES, "document")

    def __call__(self, message_id: str, profile: str) -> Formatter:
        if profile == "document":
            return DocumentFormatter(message_id)
        return AISDKFormatter(message_id, profile)


ai_sdk = _AISDK()
