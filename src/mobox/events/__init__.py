"""The event model: every framework is parsed into it, every protocol is formatted from it.

Rule 1: an event states what the agent did, never how a client shows it.
Rule 2: nothing here knows a framework or a protocol by name.
Rule 3: an opening event may carry the whole block; blocks and tools are keyed by `id`.
Rule 4: USAGE is absolute per id (replace, never add); TODO_* always carries the full list.
Rule 5: unrecognized input is RAW; unknown events of a log of another version decode to RAW too.

docs/events.md explains each type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, dataclass_transform

import msgspec
from msgspec import Meta, Struct

from mobox.errors import CorruptLog, InvalidEvent

__all__ = [  # docs/stability.md
    "AGENT_STARTED", "CLASSES", "FAILURES", "JSON", "MOST", "UNKNOWN_TOOL",
    "AnyEvent", "Count", "Custom", "Display", "Done", "DoneReason", "Error", "EventType", "Events",
    "File", "InputRequest", "InputResponse", "LogEntry", "Outcome", "Paused", "Raw", "Result",
    "Retract", "Scope", "Source", "Start", "State", "Status", "StepEnd", "StepStart", "StreamEvent",
    "SubagentEnd", "SubagentStart", "Text", "TextDelta", "TextEnd", "Thinking", "ThinkingDelta",
    "ThinkingEnd", "TodoCreate", "TodoDone", "TodoItem", "TodoUpdate", "ToolKind", "ToolResult",
    "ToolUseDelta", "ToolUseEnd", "ToolUseStart", "Usage",
    "decode", "decode_many", "encode", "encode_many",
]  # fmt: skip

JSON = Any
"""A JSON value: what json.loads can return."""
Scope = tuple[str, ...]
"""The tool calls that spawned the emitting agent, outermost first; empty for the root."""

MOST = 2**53
"""The largest integer that every client and database can hold."""
LATEST = 8_640_000_000_000_000
"""The last time that every client can show, in milliseconds: that of a `Date` of JavaScript."""
Count = Annotated[int, Meta(ge=0, le=MOST)]
"""A number of tokens, of turns, of milliseconds."""


class EventType(StrEnum):
    """What happened. The value is the name used in the log and on the wire."""

    START = "start"
    DONE = "done"
    PAUSED = "paused"
    ERROR = "error"
    STATUS = "status"
    TEXT = "text"
    TEXT_DELTA = "text_delta"
    TEXT_END = "text_end"
    THINKING = "thinking"
    THINKING_DELTA = "thinking_delta"
    THINKING_END = "thinking_end"
    TOOL_USE_START = "tool_use_start"
    TOOL_USE_DELTA = "tool_use_delta"
    TOOL_USE_END = "tool_use_end"
    TOOL_RESULT = "tool_result"
    STEP_START = "step_start"
    STEP_END = "step_end"
    SUBAGENT_START = "subagent_start"
    SUBAGENT_END = "subagent_end"
    TODO_CREATE = "todo_create"
    TODO_UPDATE = "todo_update"
    TODO_DONE = "todo_done"
    SOURCE = "source"
    FILE = "file"
    STATE = "state"
    INPUT_REQUEST = "input_request"
    INPUT_RESPONSE = "input_response"
    USAGE = "usage"
    RESULT = "result"
    RETRACT = "retract"
    CUSTOM = "custom"
    RAW = "raw"


def _tag(class_name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_name).lower()


# gc=False: events hold JSON and never themselves, so the collector has no cycle to find in them.
@dataclass_transform(kw_only_default=True, frozen_default=True)  # for mypy: what is inherited
class StreamEvent(
    Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="type", tag=_tag
):
    """One thing an agent did."""

    type: ClassVar[EventType]
    more: ClassVar[tuple[StreamEvent, ...]] = ()
    """The other events of its line, where `parse` of `mobox.compat` returned it."""

    id: str | None = None
    """The block, tool call, step, subagent or request this is about."""
    scope: Scope = ()
    provider: dict[str, JSON] | None = None
    """Vendor state needed to replay history (signatures, encrypted content), by vendor."""

    @staticmethod
    def of(
        type: str,  # noqa: A002 - the documents' name for it
        data: Mapping[str, JSON] | None = None,
        **envelope: JSON,
    ) -> StreamEvent:
        """The event of `type` with the fields in `data`; `id`, `scope`, `provider` may be there."""
        if data is not None and not isinstance(data, Mapping):
            raise InvalidEvent(f"{type}: expected the fields as a mapping, got {data!r:.80}")
        fields = {**(data or {}), **envelope}
        event_class = CLASSES.get(type)
        if event_class is None:
            raise InvalidEvent(f"unknown event type {type!r}; known: {', '.join(EventType)}")
        if unknown := fields.keys() - set(event_class.__struct_fields__):
            raise InvalidEvent(
                f"{type} has no field {', '.join(sorted(unknown))};"
                f" it has: {', '.join(event_class.__struct_fields__)}"
            )
        try:
            return msgspec.convert(fields, event_class)
        except msgspec.ValidationError as error:
            raise InvalidEvent(f"{type}: {error}") from error

    def split(self) -> list[StreamEvent]:
        """The event and its `more`, each as an event of its own."""
        if not self.more:
            return [self]
        return [CLASSES[self.type](**msgspec.structs.asdict(self)), *self.more]

    @property
    def data(self) -> dict[str, JSON]:
        """The fields of this type alone, as JSON, without those left at their default."""
        fields = self.as_json()
        return {name: fields[name] for name in fields if name not in _ENVELOPE}

    def as_json(self) -> dict[str, JSON]:
        """The event as it comes back from a log, where tuples are lists."""
        fields: dict[str, JSON] = msgspec.json.decode(msgspec.json.encode(self))
        return fields


Events = list[StreamEvent]
"""Events in order."""
_ENVELOPE = {"type", "id", "scope", "provider"}

DoneReason = Literal[
    "stop", "tool", "length", "content_filter", "refusal", "max_turns", "cancelled",
    "truncated", "interrupted", "lost", "error",
]  # fmt: skip
FAILURES: frozenset[DoneReason] = frozenset({"error", "lost"})
"""The reasons that clients get as an error: the last logged ERROR, if there is one."""
ToolKind = Literal[
    "function", "code", "shell", "search", "mcp", "image", "agent", "handoff", "custom"
]
Display = Literal["todos", "think", "agent"]
AGENT_STARTED = "agent-started"
"""The name of the CUSTOM event with the fields of a START which was not the run's first event.
Its id is the same, so that clients keep only the latest."""
UNKNOWN_TOOL = "unknown"
"""The name of a call whose start is missing or was not recognized."""
Outcome = Literal["ok", "error", "denied", "interrupted", "unknown"]


class Start(StreamEvent):
    """The run began; the first event, once per run."""

    framework: str
    agent: str | None = None
    model: str | None = None
    session_id: str | None = None
    prompt_preview: str | None = None
    simulated: bool = False


class Done(StreamEvent):
    """The run ended; the last event, exactly once per run."""

    reason: DoneReason
    native: str | None = None
    """The provider's own name for the reason."""


class Paused(StreamEvent):
    """The run waits for an answer; responses end here, the run does not."""

    request_ids: tuple[str, ...]
    resume: JSON = None


class Error(StreamEvent):
    """Something failed."""

    message: str
    code: str | None = None
    retryable: bool | None = None
    retry_after: float | None = None
    """Seconds after which a provider wants to be asked again."""
    exit_code: int | None = None
    signal: str | None = None
    stderr_tail: str | None = None
    public: bool = False
    """Whether its message is written for readers: others see only the sentence of the code where
    the details of errors are not shown (brief.py)."""


class Status(StreamEvent):
    """A progress line."""

    message: str
    kind: Literal["activity", "retry", "progress", "notice", "fallback", "preparation"] = "activity"
    """`progress` is frequent, `preparation` is the server's own, before the agent starts: neither
    is a line of Processing."""


class Text(StreamEvent):
    """An answer block opened."""

    content: str = ""
    kind: Literal["answer", "commentary", "refusal"] = "answer"


class TextDelta(StreamEvent):
    """More of an answer block."""

    delta: str


class TextEnd(StreamEvent):
    """An answer block ended."""

    interrupted: bool = False


class Thinking(StreamEvent):
    """A reasoning block opened."""

    content: str = ""
    source: str = "model"
    """Where the thought comes from: model, think, plan, summary, or an application's own name."""
    redacted: bool = False


class ThinkingDelta(StreamEvent):
    """More of a reasoning block."""

    delta: str


class ThinkingEnd(StreamEvent):
    """A reasoning block ended; its signature, if any, is in `provider`."""


class ToolUseStart(StreamEvent):
    """A tool call began."""

    name: str
    input: JSON = None
    kind: ToolKind = "function"
    server: bool = False
    """The provider runs this tool itself."""
    frontend: bool = False
    """The page runs this tool, and answers with its result."""
    display: Display | None = None
    """The other event that shows this call, so that a client need not show it twice."""


class ToolUseDelta(StreamEvent):
    """More of a tool call's input, as JSON text."""

    delta: str


class ToolUseEnd(StreamEvent):
    """A tool call's input is complete."""

    input: JSON = None
    invalid: str | None = None
    """The input as it came, where it is not JSON."""


class ToolResult(StreamEvent):
    """The result of a tool call."""

    output: JSON = None
    status: Outcome = "ok"
    partial: bool = False
    """More of this result follows."""
    structured: JSON = None


class StepStart(StreamEvent):
    """A turn of the loop, a graph node, a plan step or a compaction began."""

    kind: Literal["turn", "node", "task", "compaction"] = "turn"
    name: str | None = None
    number: int | None = None


class StepEnd(StreamEvent):
    """A step ended."""

    status: Outcome = "ok"
    reason: str | None = None


class SubagentStart(StreamEvent):
    """An agent was spawned; `id` is the tool call that did it."""

    agent: str
    task: str | None = None
    background: bool = False


class SubagentEnd(StreamEvent):
    """A spawned agent ended."""

    agent: str | None = None
    summary: str | None = None
    status: Outcome = "ok"


class TodoItem(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One line of the plan."""

    content: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    active_form: str | None = None


class TodoCreate(StreamEvent):
    """The plan was made."""

    items: tuple[TodoItem, ...] = ()


class TodoUpdate(StreamEvent):
    """The plan changed."""

    items: tuple[TodoItem, ...] = ()


class TodoDone(StreamEvent):
    """A line of the plan was finished."""

    items: tuple[TodoItem, ...] = ()
    item: str | None = None
    index: int | None = None


TodoEvent = TodoCreate | TodoUpdate | TodoDone


class Source(StreamEvent):
    """A citation when `id` is a text block, a source when it is a tool call."""

    url: str | None = None
    document: str | None = None
    file: str | None = None
    title: str | None = None
    cited_text: str | None = None
    location: JSON = None
    score: float | None = None
    confidence: float | None = None


class File(StreamEvent):
    """An image, a sound, an artifact."""

    media_type: str
    url: str | None = None
    base64: str | None = None
    file_id: str | None = None
    name: str | None = None
    size: int | None = None


class State(StreamEvent):
    """Shared state."""

    mode: Literal["snapshot", "patch"]
    value: JSON


class InputRequest(StreamEvent):
    """The agent requests input from a person."""

    kind: Literal["approval", "question", "input", "auth", "tool"] = "approval"
    tool_call_id: str | None = None
    prompt: str | None = None
    schema: JSON = None
    options: JSON = None
    allowed: tuple[str, ...] = ()
    """The decisions that a person may make about an approval, by their names in events/turn.py."""
    resume: JSON = None


class InputResponse(StreamEvent):
    """The answer to a request."""

    decision: Literal["approved", "denied", "edited", "answered", "cancelled"]
    value: JSON = None
    reason: str | None = None
    """A comment beside the decision."""
    permission: str | None = None
    """The permission of the chat that this answer created or, if `automatic`, that it is from."""
    automatic: bool = False
    """Given by the server: a permission covers the call, and nobody was asked."""

    @property
    def comment(self) -> str | None:
        """The reason; logs of older versions have it as the value."""
        is_old = self.decision in ("approved", "denied") and isinstance(self.value, str)
        return self.reason or (self.value if is_old else None)


class Usage(StreamEvent):
    """Tokens, absolute for this id; `input` includes cache, `output` includes reasoning."""

    per: Literal["call", "run"] = "call"
    input: Count = 0
    output: Count = 0
    cache_read: Count | None = None
    cache_write: Count | None = None
    reasoning: Count | None = None
    total: Count | None = None
    cost_usd: float | None = None
    model: str | None = None
    service_tier: str | None = None
    execution: str | None = None
    """The execution of the agent that used this; `None` for the first. A run is their sum."""


class Result(StreamEvent):
    """Final statistics."""

    text: str | None = None
    duration_ms: Count | float | None = None
    num_turns: Count | None = None
    session_id: str | None = None
    cost_usd: float | None = None
    is_error: bool = False
    execution: str | None = None
    """As in USAGE."""


class Retract(StreamEvent):
    """These blocks are being sent again, after a stream that broke."""

    blocks: tuple[str, ...]
    reason: str | None = None


class Custom(StreamEvent):
    """A deliberate application event."""

    name: str
    value: JSON = None


class Raw(StreamEvent):
    """Not recognized: the vendor's line as it was."""

    raw: JSON
    source: str | None = None


CLASSES: dict[str, type[StreamEvent]] = {}
for _class in StreamEvent.__subclasses__():
    _class.type = EventType(_tag(_class.__name__))
    CLASSES[_class.type] = _class

if TYPE_CHECKING:
    AnyEvent = StreamEvent
else:
    AnyEvent = Union[tuple(StreamEvent.__subclasses__())]  # noqa: UP007 - made at run time


class LogEntry(Struct, frozen=True, gc=False):
    """An event and its place in the log of its run."""

    seq: int
    """Dense per run, from 1."""
    id: int
    """Increasing over the whole store; equal to `seq` where there is no store."""
    ts: int | None
    """When it was read, in milliseconds; `None` for a recording without times."""
    event: AnyEvent


class _ForeignEntry(Struct):
    seq: int
    id: int
    ts: int | None
    event: JSON


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(LogEntry)
_foreign_decoder = msgspec.json.Decoder(_ForeignEntry)


def encode(entry: LogEntry) -> bytes:
    """One entry as JSON, without a line end."""
    return _encoder.encode(entry)


encode_many: Callable[[Iterable[LogEntry]], bytes] = _encoder.encode_lines
"""Entries as JSON lines."""


def decode(line: bytes) -> LogEntry:
    """The entry that `encode` made.

    From another version, an event that is unknown or has other types here becomes RAW, and fields
    that are unknown are left out.
    """
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_foreign(line)


def decode_many(lines: bytes) -> list[LogEntry]:
    """The entries that `encode_many` made."""
    return [decode(line) for line in lines.split(b"\n") if line]


def _decode_foreign(line: bytes) -> LogEntry:
    try:
        foreign = _foreign_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptLog(f"not a log entry: {error}: {line[:80]!r}") from error
    raw = Raw(raw=foreign.event, source="unknown event")
    return LogEntry(foreign.seq, foreign.id, foreign.ts, raw)
