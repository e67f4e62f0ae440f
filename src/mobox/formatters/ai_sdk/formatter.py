"""StreamEvents as the AI SDK's UI message stream: one run is one assistant message.

Rule 1: `start` comes first and once, with the run's id, and `[DONE]` last.
Rule 2: parts are opened once and closed before finish-step, finish, abort and error.
Rule 3: an `error` chunk ends the turn at the client, so errors are held until the run's end.
Rule 4: `providerMetadata.mobox` is whole on every chunk that carries it: clients replace, not merge.
Rule 5: only the root agent's text is text; what subagents say is reasoning with a `scope`.

docs/ai-sdk.md has the tables, and where the real clients differ from the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from mobox.blocks import BETWEEN_THOUGHTS, BLOCK_OF, Block, Blocks, line_of
from mobox.errors import UnknownProfile
from mobox.events import (
    JSON,
    Custom,
    Done,
    DoneReason,
    Error,
    EventType,
    File,
    InputRequest,
    InputResponse,
    LogEntry,
    Result,
    Retract,
    Source,
    Start,
    State,
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
    TodoCreate,
    TodoDone,
    TodoUpdate,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.formatters.ai_sdk.attachments import file, source
from mobox.formatters.ai_sdk.chunks import DONE, chunk, data, scope
from mobox.formatters.ai_sdk.parts import Parts
from mobox.formatters.ai_sdk.profiles import PROFILES
from mobox.formatters.ai_sdk.tools import Tools
from mobox.formatters.ai_sdk.usage import UsageTotal

__all__ = ["AISDKFormatter"]

Chunks = list[bytes]
Writer = Callable[["AISDKFormatter", Any], Chunks]

_RESERVED = {"usage", "todos", "status", "retract", "input", "subagent", "step", "file", "state"}
_LINES = {event for event, block in BLOCK_OF.items() if block is Block.PROCESSING} | {
    EventType.SUBAGENT_START,
    EventType.SUBAGENT_END,
}
_END_TEXTS = {"error": "The run failed.", "lost": "The run was lost."}
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


class AISDKFormatter:
    """Writes one assistant message."""

    PROFILES: ClassVar[tuple[str, ...]] = tuple(PROFILES)

    def __init__(self, message_id: str, profile: str = "v6") -> None:
        if profile not in PROFILES:
            raise UnknownProfile(profile, PROFILES)
        self._profile = PROFILES[profile]
        self._message_id = message_id
        self._ts: int | None = None
        self._started: int | None = None
        self._blocks = Blocks()
        self._parts = Parts()
        self._tools = Tools()
        self._usage = UsageTotal()
        self._turns: set[str | None] = set()
        self._step_open = False
        self._errors: list[Error] = []
        self._sources = 0
        self._subagents: dict[str | None, dict[str, JSON]] = {}
        self._steps: dict[str | None, dict[str, JSON]] = {}
        self._requests: dict[str | None, dict[str, JSON]] = {}
        self._retracted: list[str] = []

    def format(self, entry: LogEntry) -> Chunks:
        """The chunks that tell `entry`."""
        event = entry.event
        delta = self._parts.delta(event)
        if delta is not None:
            return delta
        self._ts = entry.ts
        return self._turn_to(event) + self.WRITERS[event.type](self, event)

    def pause(self) -> Chunks:
        """The run waits for an answer: end the response, not the message."""
        return [*self._close_parts(), *self._finish_step(), self._finish("tool"), DONE]

    def resume(self) -> Chunks:
        """Begin a response in the middle of the message, after entries formatted unsent."""
        self._step_open = False
        return [self._start_chunk(), *self._parts.reopen()]

    # The run

    def _start(self, _event: Start) -> Chunks:
        self._started = self._ts
        return [self._start_chunk()]

    def _start_chunk(self) -> bytes:
        return chunk("start", messageId=self._message_id)

    def _done(self, event: Done) -> Chunks:
        failed = event.reason in ("error", "lost")
        fatal = self._errors.pop() if failed and self._errors else None
        notices = [line for error in self._errors for line in self._notice(error.message)]
        chunks = [*notices, *self._close_parts(), *self._finish_step()]
        if failed:
            text = fatal.message if fatal is not None else _END_TEXTS[event.reason]
            return [
                *chunks,
                *self._metadata_chunk(event),
                chunk("error", errorText=text),
                self._finish(event.reason),
                DONE,
            ]
        if event.reason == "cancelled":
            reason = "cancelled" if self._profile.abort_reason else None
            return [*chunks, *self._metadata_chunk(event), chunk("abort", reason=reason), DONE]
        return [*chunks, self._finish(event.reason, self._metadata(event)), DONE]

    def _finish(self, reason: DoneReason, metadata: dict[str, JSON] | None = None) -> bytes:
        reasons = self._profile.finish_reasons
        return chunk(
            "finish",
            finishReason=reasons[reason] if reasons is not None else None,
            messageMetadata=metadata,
        )

    def _metadata_chunk(self, event: Done) -> Chunks:
        return [chunk("message-metadata", messageMetadata=self._metadata(event))]

    def _metadata(self, event: Done) -> dict[str, JSON]:
        metadata: dict[str, JSON] = {"reason": event.reason}
        if usage := self._usage.data:
            metadata["usage"] = usage
        if self._ts is not None and self._started is not None:
            metadata["durationMs"] = self._ts - self._started
        return metadata

    def _error(self, event: Error) -> Chunks:
        self._errors.append(event)
        return []

    def _start_step(self, event: StepStart) -> Chunks:
        if event.kind == "turn" and not event.scope:
            self._turns.add(event.id)
            return self._start_turn()
        if event.kind in ("turn", "node"):  # the inner workings of a graph or a subagent
            return []
        about = {"kind": event.kind, "name": event.name, "number": event.number}
        self._steps[event.id] = {k: v for k, v in about.items() if v is not None}
        return [data("step", self._steps[event.id] | {"status": "running"}, event.id)]

    def _start_turn(self) -> Chunks:
        if self._parts:  # of a subagent, say, that speaks across the turns of the root
            return []
        chunks = [*self._finish_step(), chunk("start-step")]
        self._step_open = True
        return chunks

    def _end_step(self, event: StepEnd) -> Chunks:
        if event.id in self._turns:
            return [] if self._parts else self._finish_step()
        step = self._steps.pop(event.id, None)
        return [data("step", step | {"status": event.status}, event.id)] if step else []

    def _finish_step(self) -> Chunks:
        if not self._step_open:
            return []
        self._step_open = False
        return [chunk("finish-step")]

    # Blocks without a name: Processing, and the notes of subagents

    def _turn_to(self, event: StreamEvent) -> Chunks:
        if event.type not in BLOCK_OF:
            return []
        turn = self._blocks.turn_to(event)
        chunks: Chunks = []
        if turn.closed is not None and turn.closed.id in self._parts:
            chunks += self._parts.close(turn.closed.id, self._ts)
        if turn.opened is not None and event.type in _LINES:
            block, block_id, _ = turn.opened
            about = {"variant": block.value, "id": block_id}
            chunks += self._parts.open_reasoning(block_id, self._ts, **about)
        return chunks

    def _line(self, event: StreamEvent) -> Chunks:
        """One more line in the block that is open for it."""
        assert self._blocks.open is not None  # BLOCK_OF has a row for whatever is told as a line
        thought = self._blocks.open.block is Block.THINKING
        between = BETWEEN_THOUGHTS if thought else "\n"
        return self._parts.write(self._blocks.open.id, line_of(event), between)

    def _notice(self, message: str) -> Chunks:
        status = Status(message=message, kind="notice")
        return self._turn_to(status) + self._line(status)

    def _status(self, event: Status) -> Chunks:
        return [*self._line(event), data("status", event.data, transient=True)]

    def _todos(self, event: TodoCreate | TodoUpdate | TodoDone) -> Chunks:
        items = [
            {"content": item.content, "status": item.status}
            | ({"activeForm": item.active_form} if item.active_form is not None else {})
            for item in event.items
        ]
        return [*self._line(event), data("todos", {"items": items}, "todos")]

    def _start_subagent(self, event: SubagentStart) -> Chunks:
        about = self._subagents[event.id] = {"agent": event.agent, **scope(event)}
        if event.task is not None:
            about["task"] = event.task
        if event.background:
            about["background"] = True
        return [*self._line(event), data("subagent", about | {"status": "running"}, event.id)]

    def _end_subagent(self, event: SubagentEnd) -> Chunks:
        about = self._subagents.pop(event.id, {}) | {"status": event.status}
        if event.summary is not None:
            about["summary"] = event.summary
        return [*self._line(event), data("subagent", about, event.id)]

    # Blocks with a name

    def _text(self, event: Text) -> Chunks:
        assert event.id is not None  # the lifecycle names every block
        if event.scope:
            chunks = self._reasoning(event.id, event)
        else:
            kind = {"variant": event.kind} if event.kind != "answer" else {}
            chunks = self._parts.open_text(event.id, self._ts, id=event.id, **kind)
        return chunks + self._parts.write(event.id, event.content)

    def _thinking(self, event: Thinking) -> Chunks:
        assert event.id is not None  # the lifecycle names every block
        chunks = [] if event.id in self._parts else self._reasoning(event.id, event)
        return chunks + self._parts.write(event.id, event.content, BETWEEN_THOUGHTS)

    def _reasoning(self, block_id: str, event: Text | Thinking) -> Chunks:
        told_by = TextDelta if isinstance(event, Text) else ThinkingDelta
        about = {"variant": "thinking", "id": block_id, **scope(event)}
        return self._parts.open_reasoning(block_id, self._ts, told_by, **about)

    def _end_block(self, event: TextEnd | ThinkingEnd) -> Chunks:
        self._blocks.turn_to(event)
        if event.id not in self._parts:
            return []
        return self._parts.close(event.id, self._ts, event.provider)

    def _close_parts(self) -> Chunks:
        return self._parts.close_all(self._ts)

    # Tool calls and requests

    def _start_tool(self, event: ToolUseStart) -> Chunks:
        return self._tools.start(event)

    def _more_input(self, event: ToolUseDelta) -> Chunks:
        return self._tools.more(event)

    def _end_tool(self, event: ToolUseEnd) -> Chunks:
        return self._tools.end(event)

    def _result(self, event: ToolResult) -> Chunks:
        return self._tools.result(event)

    def _request(self, event: InputRequest) -> Chunks:
        if self._profile.approvals and event.kind == "approval" and event.tool_call_id is not None:
            return [
                chunk("tool-approval-request", approvalId=event.id, toolCallId=event.tool_call_id)
            ]
        about = self._requests[event.id] = {
            "kind": event.kind,
            "prompt": event.prompt,
            "schema": event.schema,
            "options": event.options,
            "toolCallId": event.tool_call_id,
        }
        return [data("input", about, event.id)]

    def _response(self, event: InputResponse) -> Chunks:
        about = self._requests.get(event.id)
        if about is None:
            return []
        answer = {"decision": event.decision, "value": event.value}
        return [data("input", about | {"answered": answer}, event.id)]

    # What a message carries besides

    def _source(self, event: Source) -> Chunks:
        self._sources += 1
        return [source(event, f"source_{self._sources}")]

    def _file(self, event: File) -> Chunks:
        return [file(event)]

    def _state(self, event: State) -> Chunks:
        return [data("state", {"mode": event.mode, "value": event.value}, transient=True)]

    def _count_usage(self, event: Usage) -> Chunks:
        self._usage.use(event)
        return [data("usage", self._usage.data, "usage")]

    def _count_result(self, event: Result) -> Chunks:
        self._usage.end(event)
        return [data("usage", self._usage.data, "usage")] if self._usage.data else []

    def _retract(self, event: Retract) -> Chunks:
        self._retracted += event.blocks
        return [data("retract", {"ids": self._retracted}, "retract")]

    def _custom(self, event: Custom) -> Chunks:
        name = _UNSAFE.sub("-", event.name) or "custom"
        return [data(f"custom-{name}" if name in _RESERVED else name, event.value, event.id)]

    def _nothing(self, _event: StreamEvent) -> Chunks:
        return []

    WRITERS: ClassVar[dict[EventType, Writer]] = {
        EventType.START: _start,
        EventType.DONE: _done,
        EventType.PAUSED: _nothing,
        EventType.ERROR: _error,
        EventType.STATUS: _status,
        EventType.TEXT: _text,
        EventType.TEXT_DELTA: _nothing,
        EventType.TEXT_END: _end_block,
        EventType.THINKING: _thinking,
        EventType.THINKING_DELTA: _nothing,
        EventType.THINKING_END: _end_block,
        EventType.TOOL_USE_START: _start_tool,
        EventType.TOOL_USE_DELTA: _more_input,
        EventType.TOOL_USE_END: _end_tool,
        EventType.TOOL_RESULT: _result,
        EventType.STEP_START: _start_step,
        EventType.STEP_END: _end_step,
        EventType.SUBAGENT_START: _start_subagent,
        EventType.SUBAGENT_END: _end_subagent,
        EventType.TODO_CREATE: _todos,
        EventType.TODO_UPDATE: _todos,
        EventType.TODO_DONE: _todos,
        EventType.SOURCE: _source,
        EventType.FILE: _file,
        EventType.STATE: _state,
        EventType.INPUT_REQUEST: _request,
        EventType.INPUT_RESPONSE: _response,
        EventType.USAGE: _count_usage,
        EventType.RESULT: _count_result,
        EventType.RETRACT: _retract,
        EventType.CUSTOM: _custom,
        EventType.RAW: _nothing,
    }
    """Total over EventType. Deltas of open blocks never get here: see `format`."""

