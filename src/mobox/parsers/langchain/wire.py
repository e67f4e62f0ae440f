"""The types of LangChain's messages and of graphs' other data that the parser reads.

Decoding validates: another type raises `msgspec.ValidationError` and becomes RAW. Keys that are not
listed are ignored, and null is the same as absent.

See: langchain_core.messages, langgraph.types.
"""

from __future__ import annotations

from msgspec import Struct, field

from mobox.events import JSON, Count

Object = dict[str, JSON]
Index = int | str | None


class ToolCallChunk(Struct):
    name: str | None = None
    args: str | None = None
    id: str | None = None
    index: Index = None


class ToolCall(Struct):
    name: str
    args: JSON = None
    id: str | None = None


class InputDetails(Struct):
    cache_read: Count | None = None
    cache_creation: Count | None = None


class OutputDetails(Struct):
    reasoning: Count | None = None


class Usage(Struct):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    input_token_details: InputDetails | None = None
    output_token_details: OutputDetails | None = None


class AiMessage(Struct):
    """A complete answer of a model, or a delta of one."""

    content: str | list[str | Object] | None = None
    id: str | None = None
    tool_calls: list[ToolCall] | None = None
    invalid_tool_calls: list[Object] | None = None
    tool_call_chunks: list[ToolCallChunk] | None = None
    usage_metadata: JSON = None
    response_metadata: Object | None = None
    additional_kwargs: Object | None = None
    chunk_position: str | None = None


class ToolMessage(Struct):
    """The result of a call."""

    tool_call_id: str | None = None
    content: JSON = None
    name: str | None = None
    id: str | None = None
    status: str | None = None
    artifact: JSON = None


class MessageMetadata(Struct, frozen=True):
    """Where in a graph a message comes from."""

    run_id: str | None = None
    langgraph_step: int | None = None
    checkpoint_ns: str | None = field(default=None, name="langgraph_checkpoint_ns")
    agent: str | None = field(default=None, name="lc_agent_name")
    model: str | None = field(default=None, name="ls_model_name")
    vendor: str | None = field(default=None, name="ls_provider")
    thread_id: str | None = None


class Interrupt(Struct):
    value: JSON = None
    id: str | None = None
    response_schema: JSON = None


class Todo(Struct):
    content: str
    status: str | None = None


class Task(Struct):
    """A node that is to run, or has run."""

    id: str
    input: JSON = None
    error: JSON = None
    interrupts: list[JSON] | None = None
