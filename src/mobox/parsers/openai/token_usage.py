"""Token usage, errors and stop reasons of OpenAI and compatible APIs."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import convert
from msgspec.structs import replace

from mobox.events import JSON, Done, DoneReason, Error, StreamEvent, Usage
from mobox.events.usage import sum_counts
from mobox.parsers.openai import wire
from mobox.parsers.values import failure, parse_or_raw

VENDOR = "openai"
"""The key of `provider` under which this vendor's state is kept."""

_REASONS: dict[str, DoneReason] = {
    "stop": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool",
    "function_call": "tool",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "error": "error",
    "network_error": "error",
    "failed": "error",
    "cancelled": "cancelled",
    "MaxTurnsExceeded": "max_turns",
    "ModelRefusalError": "refusal",
    "InputGuardrailTripwireTriggered": "content_filter",
    "OutputGuardrailTripwireTriggered": "content_filter",
    "ToolInputGuardrailTripwireTriggered": "content_filter",
    "ToolOutputGuardrailTripwireTriggered": "content_filter",
}
"""Stop reasons of OpenAI and compatible APIs; an unknown one counts as a normal stop."""

_COUNTS = {
    "input": ("prompt_tokens", "input_tokens"),
    "output": ("completion_tokens", "output_tokens"),
    "total": ("total_tokens",),
    "cache_read": (
        "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        "cached_tokens",
    ),
    "cache_write": (
        "prompt_tokens_details.cache_write_tokens",
        "input_tokens_details.cache_write_tokens",
    ),
    "reasoning": (
        "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
        "reasoning_tokens",
    ),
    "cost_usd": ("cost", "cost.total_cost"),
}
"""The fields of USAGE, and the names under which they come."""

_NAMED = {name for names in _COUNTS.values() for name in names}
_GROUPS = {name.partition(".")[0] for name in _NAMED if "." in name}


def used(usage: JSON, scope: tuple[str, ...] = (), **about: Any) -> list[StreamEvent]:
    """The tokens of one call, or of a whole run."""
    if not usage:
        return []
    return parse_or_raw(lambda: [_use_of(convert(usage, dict), scope=scope, **about)], usage, scope)


def _use_of(usage: dict[str, JSON], **about: Any) -> Usage:
    flat = dict(_flat(usage))
    counts = {
        field: next((flat[name] for name in names if flat.get(name) is not None), None)
        for field, names in _COUNTS.items()
    }
    known = _NAMED | _GROUPS | {"_class"}
    rest = {name: value for name, value in usage.items() if name not in known}
    present = {name: count for name, count in counts.items() if count is not None}
    provider = {VENDOR: rest} if any(v is not None for v in rest.values()) else None
    used = convert({"type": "usage", **present, **about, "provider": provider}, Usage)
    return msgspec.structs.replace(used, output=sum_counts(used.output, _thought_beside(used)))


def _thought_beside(used: Usage) -> int:
    """Most APIs include reasoning in output. Some count it apart, which only their total shows."""
    thought = used.reasoning or 0
    beside = used.total == used.input + used.output + thought
    return thought if beside else 0


def _flat(usage: dict[str, JSON]) -> list[tuple[str, JSON]]:
    flat: list[tuple[str, JSON]] = []
    for name, value in usage.items():
        if name in _GROUPS:
            # A stored state wraps its details in a list with one item.
            value = value[0] if isinstance(value, list) and value else value
        if name in _GROUPS and isinstance(value, dict):
            flat += [(f"{name}.{inner}", within) for inner, within in value.items()]
        else:
            flat.append((name, value))
    return flat


def error_of(problem: JSON, scope: tuple[str, ...] = ()) -> Error:
    """A provider's error, as text or as an object."""
    if not isinstance(problem, dict):
        return failure(problem if isinstance(problem, str) and problem else "Error", scope=scope)
    parsed = convert(problem, wire.Problem)
    names = [name for name in (parsed.code, parsed.type) if isinstance(name, str | int)]
    message = parsed.message or next(map(str, names), "The provider reported an error.")
    error = failure(message, *names, scope=scope)
    return replace(error, provider={VENDOR: {"error": problem}})


def done_of(native: str, *, called: bool = False, refused: bool = False) -> Done:
    """How a run ended. A model that calls tools or refuses may still report `stop`."""
    reason = _REASONS.get(native, "stop")
    if reason == "stop" and called:
        reason = "tool"
    elif reason == "stop" and refused:
        reason = "refusal"
    return Done(reason=reason, native=native)
