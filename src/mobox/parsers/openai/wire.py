"""The types of OpenAI's streams, and of compatible APIs, that the parser reads.

Converting validates: a line of another type raises `msgspec.ValidationError` and becomes RAW. Keys
that are not listed are ignored, and null is the same as absent.

See: https://platform.openai.com/docs/api-reference/chat-streaming and .../responses-streaming; the
additions of others to chat completions are known from recordings.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from mobox.events import JSON, Count, names
from mobox.parsers.values import NoException

Index = Count
Object = dict[str, JSON]
Silence = Literal[""] | None


# Chat completions


class Function(Struct):
    name: str | None = None
    arguments: JSON = None


class CallPiece(Struct):
    index: Index | None = None
    id: str | None = None
    function: Function | None = None
    custom: Object | None = None


class Delta(Struct):
    role: str | None = None
    content: str | list[JSON] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: JSON = None
    reasoning_details: list[Object] | None = None
    tool_calls: list[CallPiece] | None = None
    function_call: Function | None = None
    annotations: list[Object] | None = None
    images: list[Object] | None = None
    audio: Object | None = None
    executed_tools: list[Object] | None = None


class Choice(Struct):
    index: Index | None = None
    delta: Object | None = None
    message: Object | None = None
    text: str | None = None
    """In place of a delta, in the older completions."""
    finish_reason: str | None = None


class Chunk(Struct):
    choices: list[Choice]
    id: str | None = None
    model: str | None = None
    service_tier: str | None = None
    usage: JSON = None
    x_groq: JSON = None
    error: JSON = None
    citations: JSON = None
    search_results: JSON = None
    web_search: JSON = None
    prompt_filter_results: JSON = None


class DeltaLine(NoException, kw_only=True):
    """Base of types for lines with nothing but a delta; no other line of the Agents SDK fits."""

    result: UnsetType = field(default=UNSET, name="__result__")
    tool_call: UnsetType = UNSET


class InputDelta(Struct):
    arguments: str
    name: Silence = None


class CallDelta(Struct):
    """A piece of a call that started before: another delta of its input."""

    index: Index
    function: InputDelta
    id: Silence = None
    custom: None = None


class OneDelta(Struct):
    """A delta of text, of a thought, or of the input of one call; fields with more do not fit."""

    role: str | None = None
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[CallDelta] | None = None
    refusal: Silence = None
    reasoning_details: None = None
    function_call: None = None
    annotations: None = None
    images: None = None
    audio: None = None
    executed_tools: None = None


class DeltaChoice(Struct):
    delta: OneDelta
    index: Literal[0] | None = None
    text: str | None = None
    message: None = None
    finish_reason: None = None


class DeltaChunk(DeltaLine):
    """A chunk with one choice and nothing beside it, as most are."""

    choices: tuple[DeltaChoice]
    id: str | None = None
    model: str | None = None
    service_tier: str | None = None
    usage: None = None
    x_groq: None = None
    error: None = None
    citations: None = None
    search_results: None = None
    web_search: None = None
    prompt_filter_results: None = None
    type: UnsetType = UNSET


class ExecutedTool(Struct):
    """A tool that the provider ran within a completion."""

    index: Index | None = None
    type: str | None = None
    name: str | None = None
    arguments: JSON = None
    output: JSON = None
    search_results: JSON = None


class Audio(Struct):
    data: str | None = None
    transcript: str | None = None


# Responses


class Response(Struct):
    id: str | None = None
    model: str | None = None
    status: str | None = None
    output: list[JSON] | None = None
    usage: JSON = None
    error: Object | None = None
    incomplete_details: Object | None = None
    service_tier: str | None = None


class Event(Struct):
    """Any of the events of a response: each has some of these."""

    type: str
    response: Response | None = None
    item: Object | None = None
    item_id: str | None = None
    output_index: Index | None = None
    content_index: Index | None = None
    summary_index: Index | None = None
    command_index: Index | None = None
    part: Object | None = None
    delta: JSON = None
    text: str | None = None
    refusal: str | None = None
    annotation: Object | None = None
    partial_image_b64: str | None = None
    partial_image_index: Index | None = None
    error: JSON = None
    message: str | None = None
    code: JSON = None


class DeltaEvent(Event, kw_only=True):
    """An event with nothing but a delta, as most are; one with more content does not fit."""

    delta: str
    response: None = None
    item: None = None
    part: None = None
    text: None = None
    refusal: None = None
    annotation: None = None
    error: None = None
    message: None = None
    exception: UnsetType = field(default=UNSET, name="_exception")
    long_exception: UnsetType = field(default=UNSET, name="__exception__")
    result: UnsetType = field(default=UNSET, name="__result__")
    tool_call: UnsetType = UNSET


class WrappedDelta(DeltaLine):
    """Such an event as the Agents SDK wraps it."""

    type: Literal["raw_response_event"]
    data: DeltaEvent


class Item(Struct):
    """An item of a response's output: what all kinds have in common."""

    type: str
    id: str | None = None
    call_id: str | None = None
    phase: str | None = None
    server_label: str | None = None
    approval_request_id: str | None = None


class Part(Struct):
    """A part of a message or of a reasoning item."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None
    annotations: JSON = None


# Agents SDK


class RunItem(Struct):
    type: str
    raw_item: Object | None = None
    output: JSON = None
    tool_origin: JSON = None


class Interruption(Struct):
    """A call that waits: for an approval, or for the page, which runs the tool."""

    kind: Literal["approval", "tool"] | None = None
    tool_name: str | None = None
    name: str | None = None
    call_id: str | None = None
    arguments: JSON = None
    raw: Object | None = None
    raw_item: Object | None = None


class RunResult(Struct):
    """The record of an ended run of the Agents SDK; an agent prints it as its last line."""

    final_output: JSON = None
    current_turn: Count | None = None
    interruptions: list[JSON] | None = None
    usage: JSON = None
    state: JSON = None


# Errors


class Problem(Struct):
    message: str | None = None
    code: JSON = None
    type: str | None = None


# Names for messages, items and calls.

FAKE = "__fake_id__"
"""The id that the Agents SDK gives all items of a model without ids."""


class Names(names.IdAllocator):
    """The names in use in one run."""

    def unique(self, given: str | None, kind: str) -> str:
        """The provider's own name, or a generated one."""
        return super().unique(None if given == FAKE else given, kind)
