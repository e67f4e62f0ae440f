"""The types of the typed protocol (`astream_events` v3) that the parser reads.

Keys that are not listed are ignored, and null is the same as absent.

See: langchain_protocol. On a bare chat model only the inner events come, without their envelope.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from mobox.events import JSON
from mobox.parsers.langchain.wire import Index, Object
from mobox.parsers.values import NoException

Namespace = list[str]


class Delta(Struct, tag_field="type", gc=False):
    """The delta of a content-block-delta."""


class TextDelta(Delta, tag="text-delta"):
    text: str


class ReasoningDelta(Delta, tag="reasoning-delta"):
    text: str = field(name="reasoning")


class ToolCallDelta(Delta, tag="tool-call-delta"):
    text: str = field(name="args")


class DataDelta(Delta, tag="data-delta"):
    data: str


class BlockDelta(Delta, tag="block-delta"):
    fields: Object


AnyDelta = TextDelta | ReasoningDelta | ToolCallDelta | DataDelta | BlockDelta


class Event(Struct, tag_field="event", gc=False):
    """Something of a message."""


class StartMetadata(Struct):
    provider: str | None = None
    model: str | None = None


class MessageStart(Event, tag="message-start"):
    id: str | None = None
    role: str | None = None
    metadata: StartMetadata | None = None


class ContentBlockStart(Event, tag="content-block-start"):
    index: Index
    content: Object


class ContentBlockDelta(Event, tag="content-block-delta"):
    index: Index
    delta: AnyDelta


class ContentBlockFinish(Event, tag="content-block-finish"):
    index: Index
    content: Object


class MessageFinish(Event, tag="message-finish"):
    usage: JSON = None
    metadata: Object | None = None
    reason: str | None = None


class MessageError(Event, tag="error"):
    message: str
    code: str | None = None


AnyEvent = (
    MessageStart
    | ContentBlockStart
    | ContentBlockDelta
    | ContentBlockFinish
    | MessageFinish
    | MessageError
)


class Line(Struct, tag_field="method", gc=False):
    """One event of a run."""


class MessagesParams(Struct, gc=False):
    data: tuple[AnyEvent, Object] | AnyEvent
    namespace: Namespace | None = None


class Messages(Line, tag="messages"):
    params: MessagesParams


class ToolData(Struct):
    event: str
    tool_call_id: str
    tool_name: str | None = None
    input: JSON = None
    output: JSON = None
    delta: JSON = None
    message: str | None = None


class ToolsParams(Struct):
    data: ToolData
    namespace: Namespace | None = None


class Tools(Line, tag="tools"):
    params: ToolsParams


class Cause(Struct):
    tool_call_id: str | None = None


class LifecycleData(Struct):
    event: str
    namespace: Namespace | None = None
    graph_name: str | None = None
    cause: Cause | None = None
    error: str | None = None


class LifecycleParams(Struct):
    data: LifecycleData
    namespace: Namespace | None = None


class Lifecycle(Line, tag="lifecycle"):
    params: LifecycleParams


class StateParams(Struct):
    data: JSON
    namespace: Namespace | None = None
    interrupts: list[JSON] | None = None


class Values(Line, tag="values"):
    params: StateParams


class Updates(Line, tag="updates"):
    params: StateParams


class Custom(Line, tag="custom"):
    params: StateParams


class Tasks(Line, tag="tasks"):
    params: StateParams


class Checkpoints(Line, tag="checkpoints"):
    params: StateParams


class InputRequested(Struct):
    interrupt_id: str
    payload: JSON = None


class InputParams(Struct):
    data: InputRequested
    namespace: Namespace | None = None


class Input(Line, tag="input.requested"):
    params: InputParams


class ModelRun(Struct, gc=False):
    """The model run of a message."""

    run_id: str | None = None


# A line that is a delta of a block and nothing else, as most are


class BlockDeltaEvent(Struct, gc=False):
    event: Literal["content-block-delta"]  # a tagged Struct alone does not check its tag
    index: Index
    delta: TextDelta | ReasoningDelta | ToolCallDelta


class DeltaParams(Struct, gc=False):
    data: tuple[BlockDeltaEvent, ModelRun]
    namespace: Namespace | None = None


class DeltaLine(NoException):
    """A simplified line, which has data, does not fit."""

    method: Literal["messages"]
    params: DeltaParams
    data: UnsetType = UNSET


AnyLine = Messages | Tools | Lifecycle | Values | Updates | Custom | Tasks | Checkpoints | Input
