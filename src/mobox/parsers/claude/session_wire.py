"""The types of Claude Code's stream-json lines that the parser reads.

These are the lines between the Agent SDK and its command line program (`claude -p
--output-format stream-json`). Keys that are not listed are ignored, and null is the same as
absent.
"""

from __future__ import annotations

from msgspec import Struct, field

from mobox.events import JSON, Count, Done, DoneReason
from mobox.parsers.claude import wire


class Line(Struct, gc=False):
    """One line; `type` has chosen its class."""


class StreamEvent(Line, tag_field="type", tag="stream_event"):
    event: wire.AnyLine
    parent_tool_use_id: str | None = None


class Assistant(Line):
    message: wire.WholeMessage
    parent_tool_use_id: str | None = None
    error: str | None = None
    is_api_error_message: bool | None = None


class UserMessage(Struct):
    content: str | list[JSON]


class User(Line):
    message: UserMessage
    parent_tool_use_id: str | None = None
    tool_use_result: JSON = None
    tool_result_meta: JSON = None


class ToolResult(Struct):
    tool_use_id: str
    content: JSON = None
    is_error: bool | None = None


class ModelUsage(Struct, rename="camel"):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    thinking_tokens: Count | None = None


class Result(Line):
    subtype: str | None = None
    is_error: bool | None = None
    result: str | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    duration_ms: Count | float | None = None
    num_turns: Count | None = None
    session_id: str | None = None
    total_cost_usd: int | float | None = None
    errors: list[str] | None = None
    usage: JSON = None
    model_usage: JSON = field(default=None, name="modelUsage")


class ControlRequest(Line):
    request_id: str
    request: dict[str, JSON]


class ControlCancel(Line):
    request_id: str


class CanUseTool(Struct):
    tool_name: str
    tool_use_id: str | None = None
    input: JSON = None
    description: str | None = None
    permission_suggestions: JSON = None


class RateLimit(Line):
    rate_limit_info: JSON = None


# `system` lines, by their `subtype`


class System(Struct):
    subtype: str


class Init(Struct):
    model: str | None = None
    session_id: str | None = None


class Status(Struct):
    status: str | None = None
    compact_result: str | None = None


class ThinkingTokens(Struct):
    estimated_tokens: int
    estimated_tokens_delta: int | None = None


class ApiRetry(Struct):
    attempt: int
    max_retries: int | None = None
    error: str | None = None


class Informational(Struct):
    content: str


class Refusal(Struct):
    original_model: str | None = None
    api_refusal_explanation: str | None = None


class SessionState(Struct):
    state: str


class CompactBoundary(Struct):
    compact_metadata: dict[str, JSON] | None = None


class TaskStarted(Struct):
    task_id: str
    tool_use_id: str | None = None
    task_type: str | None = None
    subagent_type: str | None = None
    description: str | None = None
    prompt: str | None = None
    is_backgrounded: bool | None = None


class TaskProgress(Struct):
    task_id: str
    description: str


class TaskPatch(Struct):
    status: str | None = None


class TaskUpdated(Struct):
    task_id: str
    patch: TaskPatch


class TaskNotification(Struct):
    task_id: str
    status: str | None = None
    summary: str | None = None


class BackgroundTasks(Struct):
    tasks: list[JSON]


# Ends

_STOPS: dict[str, DoneReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "compaction": "stop",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
"""The API's stop reasons; an unknown one counts as a normal stop."""

_FAILURES: dict[str, DoneReason] = {
    "error_max_turns": "max_turns",
    "max_turns": "max_turns",
    "max_output_tokens": "length",
    "aborted_streaming": "interrupted",
    "aborted_tools": "interrupted",
    "refusal": "refusal",
}
"""Values in the fields of a result with `is_error`; otherwise it is an error."""


def done_of_message(stop_reason: str) -> Done:
    """The end of a run that is a stream of the Messages API."""
    return Done(reason=_STOPS.get(stop_reason, "stop"), native=stop_reason)


def done_of_result(result: Result, error: str | None) -> Done:
    """The end of a session; `error` is the code of its last error.

    A result may have the subtype success and be an error: only `is_error` is reliable.
    """
    if not result.is_error:
        done = done_of_message(result.stop_reason or "end_turn")
        # The session has run its tools: it never ends by handing one over.
        return Done(reason="stop", native=done.native) if done.reason == "tool" else done
    for native in (result.subtype, result.terminal_reason, result.stop_reason, error):
        if native in _FAILURES:
            return Done(reason=_FAILURES[native], native=native)
    return Done(reason="error", native=result.terminal_reason or result.subtype or None)
