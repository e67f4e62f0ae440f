"""The forms of emitted lines: one per type, with the accepted names of its fields."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mobox.events import (
    JSON,
    Done,
    Error,
    Outcome,
    Result,
    Start,
    Status,
    SubagentEnd,
    SubagentStart,
    TextDelta,
    Thinking,
    ToolResult,
    ToolUseStart,
    Usage,
)
from mobox.parsers.emitted.forms import Data, Form, Names
from mobox.parsers.emitted.plan import FinishedLine, PlanLine
from mobox.parsers.kinds import kind_of
from mobox.usage import sum_of

__all__ = ["LINES", "FoundLine", "SearchLine", "SpawnLine"]

_CACHE_BESIDE_INPUT: Final = {
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}
"""Anthropic's names: its `input_tokens` excludes these, that of other vendors includes them."""

_CALL: Final[Names] = {
    "id": ("id", "tool_use_id", "tool_call_id"),
    "name": ("name", "tool_name", "tool"),
    "input": ("input", "args", "arguments"),
}
_RESULT: Final[Names] = {
    "id": ("tool_use_id", "tool_call_id", "id"),
    "output": ("content", "output", "result"),
    "status": ("status", "is_error"),
}
_AGENT: Final[Names] = {
    "id": ("id",),
    "agent": ("agent", "name", "subagent_type"),
    "task": ("task", "description"),
    "status": ("status", "is_error"),
}
_PLAN: Final[Names] = {"items": ("items", "todos")}
_TOKENS: Final[Names] = {
    "id": ("id",),
    "input": ("input_tokens", "prompt_tokens", "input"),
    "output": ("output_tokens", "completion_tokens", "output"),
    "cache_read": (
        "cache_read_input_tokens",
        "cache_read",
        "input_token_details.cache_read",
        "prompt_tokens_details.cached_tokens",
    ),
    "cache_write": (
        "cache_creation_input_tokens",
        "cache_write",
        "input_token_details.cache_creation",
    ),
    "reasoning": (
        "reasoning_tokens",
        "reasoning",
        "output_token_details.reasoning",
        "completion_tokens_details.reasoning_tokens",
    ),
    "total": ("total_tokens", "total"),
    "cost_usd": ("cost_usd", "total_cost_usd", "cost"),
}
_TOKEN_GROUPS: Final = frozenset(
    name.partition(".")[0] for names in _TOKENS.values() for name in names if "." in name
)
_STATISTICS: Final[Names] = {
    "text": ("text", "result", "content"),
    "cost_usd": ("cost_usd", "total_cost_usd", "cost"),
}
_FAILURE: Final[Names] = {
    "message": ("message", "error", "content", "error.message", "text", "detail", "error_message"),
    "code": ("code", "error.code", "error.type"),
}
_END: Final[Names] = {"native": ("native", "stop_reason", "finish_reason", "reason")}


class SpawnLine(Struct, kw_only=True):
    """A subagent is about to be started; it has no id and no end."""

    scope: tuple[str, ...] = ()
    message: str | None = None
    agent: str | None = None
    task: str | None = None


class SearchLine(Struct, kw_only=True):
    """A search started."""

    id: str | None = None
    scope: tuple[str, ...] = ()
    query: str
    topic: JSON = None


class FoundLine(Struct, kw_only=True):
    """A search ended."""

    id: str | None = None
    scope: tuple[str, ...] = ()
    results: JSON = None
    status: Outcome = "ok"


def _with_cache(usage: Usage, data: Data) -> Usage:
    if data.get("input_tokens") is None:
        return usage
    beside = [field for name, field in _CACHE_BESIDE_INPUT.items() if data.get(name) is not None]
    return replace(usage, input=sum_of(usage.input, *(getattr(usage, f) for f in beside)))


def _with_kind(start: ToolUseStart, data: Data) -> ToolUseStart:
    """The kind in the line takes precedence; else it is derived from the name."""
    is_given = data.get("kind") == start.kind
    return start if is_given else replace(start, kind=kind_of(start.name))


LINES: Final = {
    "start": Form(Start, framework=""),
    "status": Form(Status),
    "text": Form(TextDelta, {"delta": ("content", "delta", "text")}),
    "thinking": Form(Thinking, {"content": ("content", "thinking", "thought")}),
    "think": Form(Thinking, {"content": ("thought", "content")}, source="think"),
    "tool_use": Form(ToolUseStart, _CALL, repair=_with_kind),
    "tool_call_start": Form(ToolUseStart, _CALL, repair=_with_kind),
    "tool_result": Form(ToolResult, _RESULT),
    "search": Form(SearchLine, _CALL),
    "search_result": Form(FoundLine, _RESULT),
    "subagent_spawn": Form(SpawnLine, _AGENT),
    "subagent_start": Form(SubagentStart, _AGENT),
    "subagent_complete": Form(SubagentEnd, _AGENT),
    "todos": Form(PlanLine, _PLAN),
    "todo_create": Form(PlanLine, _PLAN),
    "todo_update": Form(PlanLine, _PLAN),
    "todo_done": Form(FinishedLine, _PLAN),
    "usage": Form(Usage, _TOKENS, groups=_TOKEN_GROUPS, repair=_with_cache),
    "usage_total": Form(Usage, _TOKENS, groups=_TOKEN_GROUPS, repair=_with_cache, per="run"),
    "result": Form(Result, _STATISTICS),
    "error": Form(Error, _FAILURE, groups=frozenset({"error"})),
    "done": Form(Done, _END, reason="stop"),
}
