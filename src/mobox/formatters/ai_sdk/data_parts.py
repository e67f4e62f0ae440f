"""Data parts: content for which the AI SDK has no part type.

A part with an id is replaced by the next one under it; `data-usage` and `data-retract` are one
each, and so is the `data-todos` of each agent: their ids are fixed. A transient one reaches
`onData` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from mobox.events import (
    JSON,
    InputRequest,
    InputResponse,
    State,
    Status,
    StepEnd,
    StepStart,
    SubagentEnd,
    SubagentStart,
    TodoItem,
)
from mobox.formatters.ai_sdk.chunks import data, scope
from mobox.formatters.fields import known
from mobox.usage import Totals

__all__ = [
    "custom",
    "request",
    "retract",
    "state",
    "status",
    "step",
    "subagent",
    "todos",
    "usage",
    "usage_data",
]

_OURS = {"usage", "todos", "status", "retract", "input", "subagent", "step", "file", "state"}
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


class _Usage(Struct, kw_only=True, omit_defaults=True, rename="camel"):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    is_total: bool
    duration_ms: int | float | None = None
    num_turns: int | None = None


def todos(items: Iterable[TodoItem], owner: tuple[str, ...] = ()) -> bytes:
    """The current plan of the run, or of the subagent with the scope `owner`."""
    lines = [
        {"content": item.content, "status": item.status, **known({"activeForm": item.active_form})}
        for item in items
    ]
    whose: dict[str, JSON] = {"scope": list(owner)} if owner else {}
    return data("todos", {"items": lines} | whose, "/".join(("todos", *owner[-1:])))


def usage(totals: Totals) -> bytes:
    """The usage of the run."""
    return data("usage", _usage(totals), "usage")


def usage_data(totals: Totals) -> dict[str, JSON]:
    """Tokens and costs with the AI SDK's names."""
    fields: dict[str, JSON] = msgspec.to_builtins(_usage(totals))
    return fields


def _usage(totals: Totals) -> _Usage:
    return _Usage(
        input_tokens=totals.input,
        output_tokens=totals.output,
        cached_input_tokens=totals.cache_read,
        cache_write_tokens=totals.cache_write,
        reasoning_tokens=totals.reasoning,
        total_tokens=totals.total,
        cost_usd=totals.cost_usd,
        is_total=totals.is_total,
        duration_ms=totals.duration_ms,
        num_turns=totals.num_turns,
    )


def step(start: StepStart, end: StepEnd | None = None) -> bytes:
    """A task or a compaction, running or ended."""
    about = known({"kind": start.kind, "name": start.name, "number": start.number})
    return data("step", about | {"status": end.status if end else "running"}, start.id)


def subagent(start: SubagentStart, end: SubagentEnd | None = None) -> bytes:
    """A spawned agent, running or ended; `scope` of other parts holds its id."""
    about = {
        "agent": start.agent,
        "task": start.task,
        "background": start.background or None,
        "status": end.status if end else "running",
        "summary": end.summary if end else None,
    }
    return data("subagent", known(about) | scope(start), start.id)


def request(input_request: InputRequest, response: InputResponse | None = None) -> bytes:
    """An input request and its answer."""
    about = {
        "kind": input_request.kind,
        "toolCallId": input_request.tool_call_id,
        "prompt": input_request.prompt,
        "schema": input_request.schema,
        "options": input_request.options,
        "allowed": list(input_request.allowed) or None,
    }
    answered = _answered(response) if response is not None else None
    return data("input", known({**about, "answered": answered}), input_request.id)


def _answered(response: InputResponse) -> dict[str, JSON]:
    about = {"decision": response.decision, "value": response.value, "reason": response.reason}
    return known(about)


def retract(blocks: Iterable[str]) -> bytes:
    """The parts that were sent again since, by the `id` in their `mobox` metadata."""
    return data("retract", {"ids": list(blocks)}, "retract")


def custom(name: str, value: JSON, part_id: str | None) -> bytes:
    """An application's own data; a reserved name gets a prefix."""
    safe = _UNSAFE.sub("-", name) or "custom"
    return data(f"custom-{safe}" if safe in _OURS else safe, value, part_id)


def status(event: Status) -> bytes:
    """A progress line as it happens."""
    about = {"message": event.message, "kind": event.kind}
    return data("status", about | scope(event), transient=True)


def state(event: State) -> bytes:
    """Shared state as it changes."""
    return data("state", {"mode": event.mode, "value": event.value}, transient=True)
