"""The types of LangChain's messages and of graphs' other data that the parser reads.

Decoding validates: another type raises `msgspec.ValidationError` and becomes RAW. Keys that are not
listed are ignored, and null is the same as absent.

See: langchain_core.messages, langgraph.types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct, field

from mobox.events import JSON, Count, Done, DoneReason

Object = dict[str, JSON]
Index = int | str | None
Namespace = tuple[str, ...]
"""The path of a graph within a graph; that of the root is empty."""


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


# Objects
#
# A message is `{"lc": 1, "type": "constructor", "id": […, class], "kwargs": {…}}` by LangChain's
# `dumps`, its fields with a `type` by `model_dump`, and those with the name of its class, `_lc` or
# `_class`, in capture/sdk and recordings. Commands and interrupts are dataclasses.

_KINDS: Final = {
    "AIMessage": "ai",
    "AIMessageChunk": "chunk",
    "ai": "ai",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "tool": "tool",
    "HumanMessage": "other",
    "HumanMessageChunk": "other",
    "human": "other",
    "SystemMessage": "other",
    "SystemMessageChunk": "other",
    "system": "other",
    "ChatMessage": "other",
    "ChatMessageChunk": "other",
    "FunctionMessage": "other",
    "FunctionMessageChunk": "other",
    "function": "other",
    "RemoveMessage": "other",
    "remove": "other",
}
"""By the class or the `type` of a message; "other" is input of the model, not its output."""


class MessageObject(NamedTuple):
    """A message: its kind and its fields."""

    kind: str
    fields: Object

    @property
    def id(self) -> str | None:
        """Its id in the graph's state."""
        name = self.fields.get("id")
        return name if isinstance(name, str) and name else None


def class_name(raw: JSON) -> str | None:
    """The class of an object, if its form has it."""
    if not isinstance(raw, dict):
        return None
    path = raw.get("id")
    if raw.get("lc") == 1 and isinstance(path, list) and path:
        return str(path[-1])
    name = raw.get("_lc") or raw.get("_class")
    return name if isinstance(name, str) else None


def unwrapped(raw: Object) -> Object:
    """The fields of an object."""
    kwargs = raw.get("kwargs")
    return kwargs if raw.get("lc") == 1 and isinstance(kwargs, dict) else raw


def emitted_in(raw: Object) -> tuple[Namespace, Object] | None:
    """The line of `mobox.emitter` that a custom event has, and the namespace of who emitted it."""
    params = raw.get("params")
    data = params.get("data") if isinstance(params, dict) else None
    line = data.get("mobox_line") if isinstance(data, dict) else None
    if not isinstance(line, dict) or not isinstance(params, dict):
        return None
    namespace = params.get("namespace")
    names = namespace if isinstance(namespace, list) else []
    return tuple(each for each in names if isinstance(each, str)), line


def as_message(raw: JSON) -> MessageObject | None:
    """The message that `raw` is, if it is one."""
    if not isinstance(raw, dict):
        return None
    name, fields = class_name(raw), unwrapped(raw)
    if name is None:
        kind = fields.get("type")
        name = kind if isinstance(kind, str) and "content" in fields else None
    known = _KINDS.get(name or "")
    return MessageObject(known, fields) if known is not None else None


def messages_in(raw: JSON) -> Iterator[MessageObject]:
    """The messages of a state, which may have one or several."""
    for each in raw if isinstance(raw, list) else [raw]:
        message = as_message(each)
        if message is not None:
            yield message


def is_command(raw: JSON) -> bool:
    """Whether a node or a tool returns a Command: an update, and where to go next."""
    return isinstance(raw, dict) and "update" in raw and "goto" in raw


# Ends

_REASONS: Final[dict[str, DoneReason]] = {
    "tool_use": "tool",
    "tool_calls": "tool",
    "function_call": "tool",
    "max_tokens": "length",
    "length": "length",
    "model_context_window_exceeded": "length",
    "incomplete": "length",
    "refusal": "refusal",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
}
"""Stop reasons of all providers, in lower case; an unknown one counts as a normal stop."""

_EXCEPTIONS: Final[dict[str, DoneReason]] = {
    "CancelledError": "interrupted",
    "KeyboardInterrupt": "interrupted",
    "GraphRecursionError": "max_turns",
}
"""Exceptions that are no failure; the others are."""

_REASON_KEYS: Final = ("stop_reason", "finish_reason", "done_reason", "stopReason", "finishReason")


def stop_reason(metadata: JSON) -> str | None:
    """The provider's stop reason in a message's metadata."""
    if not isinstance(metadata, dict):
        return None
    reasons = (metadata.get(name) for name in _REASON_KEYS)
    return next((reason for reason in reasons if isinstance(reason, str)), None)


def done_of_exception(name: str | None) -> Done | None:
    """The end of a run that raised an exception of that class, if the class has its own reason."""
    reason = _EXCEPTIONS.get(name or "")
    return None if reason is None else Done(reason=reason, native=name)


def done_of(native: str | None) -> Done:
    """The end of a run whose last message stopped for that reason."""
    return Done(reason=_REASONS.get((native or "").lower(), "stop"), native=native)


def done_of_message(native: str | None, calls: bool) -> Done:
    """The end of a run that is one message: its calls are for the caller to run."""
    done = done_of(native)
    return Done(reason="tool", native=native) if calls and done.reason == "stop" else done
