"""The types of the Interactions API's events that the parser reads."""

from __future__ import annotations

from msgspec import Struct

from mobox.events import JSON, Count

Index = Count


class Usage(Struct):
    total_input_tokens: Count | None = None
    total_output_tokens: Count | None = None
    total_thought_tokens: Count | None = None
    total_tool_use_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_tokens: Count | None = None


class Interaction(Struct):
    id: str | None = None
    status: str | None = None
    model: str | None = None
    agent: str | None = None
    service_tier: str | None = None
    usage: JSON = None


class InteractionEvent(Struct):
    interaction: Interaction


class StatusUpdate(Struct):
    status: str | None = None


class StepStart(Struct):
    index: Index
    step: dict[str, JSON]


class StepDelta(Struct):
    index: Index
    delta: dict[str, JSON]


class StepStop(Struct):
    index: Index


class Failure(Struct):
    message: str | None = None
    code: JSON = None


class ErrorEvent(Struct):
    error: Failure | None = None


class Kind(Struct):
    """The kind of a step or a delta."""

    type: str


class Call(Struct):
    """A step that calls a tool."""

    id: str | None = None
    name: str | None = None
    arguments: JSON = None
    signature: str | None = None


class Outcome(Struct):
    """A step, or a delta, with the result of a call."""

    call_id: str | None = None
    result: JSON = None
    is_error: bool | None = None
    signature: str | None = None


class TextDelta(Struct):
    text: str


class Content(Struct):
    text: str | None = None


class SummaryDelta(Struct):
    content: Content | None = None


class SignatureDelta(Struct):
    signature: str


class ArgumentsDelta(Struct):
    arguments: JSON = None


class MediaDelta(Struct):
    type: str
    mime_type: str | None = None
    data: str | None = None
    uri: str | None = None


class Annotation(Struct):
    url: str | None = None
    title: str | None = None
    document_uri: str | None = None
    file_name: str | None = None
    source: str | None = None
    start_index: int | None = None
    end_index: int | None = None


class AnnotationsDelta(Struct):
    annotations: list[Annotation] | None = None
