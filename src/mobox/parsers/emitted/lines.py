"""The forms of emitted lines: one per type, with the accepted names of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.inspect import LiteralType, StructType, UnionType, type_info
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
    TodoItem,
    ToolResult,
    ToolUseStart,
    Usage,
)
from mobox.events.usage import sum_counts
from mobox.parsers.tool_kinds import tool_kind

Data = dict[str, JSON]
Names = Mapping[str, tuple[str, ...]]
"""The names under which lines give a field, the best first."""
Converter = Callable[[JSON], JSON]
"""Converts a value for a field; `None` if the value does not fit."""
Repair = Callable[[Any, Data], Any]

_NO_NAMES: Final[Names] = {}
_IS_ERROR: Final = {True: "error", False: "ok"}


class LineForm:
    """Which fields of a line's data to read, from which names, into which Struct.

    No value is lost: it is in the Struct, in the rest, or the whole line is refused.
    """

    def __init__(
        self,
        into: type[Struct],
        names: Names = _NO_NAMES,
        *,
        groups: frozenset[str] = frozenset(),
        repair: Repair | None = None,
        **defaults: JSON,
    ) -> None:
        """`groups` are objects whose fields are named `group.field`; `repair` gets the data too."""
        self._into = into
        self._groups = groups
        self._repair = repair
        self._defaults = defaults
        self._fields = list(_fields_of(into, names))

    @property
    def names(self) -> Names:
        """The fields that a line may fill, with their names."""
        return {field: names for field, names, _ in self._fields}

    def read(self, data: Data) -> tuple[Any, Data]:
        """The Struct and the rest; raises `msgspec.ValidationError`."""
        rest = {name: value for name, value in self._flat(data) if value is not None}
        fields = dict(self._defaults)
        for field, names, convert in self._fields:
            for name in names:
                value = convert(rest.get(name))
                if value is not None:
                    fields[field] = value
                    del rest[name]
                    break
        parsed = msgspec.convert(fields, self._into, strict=False)
        return (parsed if self._repair is None else self._repair(parsed, data)), rest

    def _flat(self, data: Data) -> Iterator[tuple[str, JSON]]:
        for name, value in data.items():
            if name in self._groups and type(value) is dict:
                yield from ((f"{name}.{inner}", within) for inner, within in value.items())
            else:
                yield name, value


def _fields_of(
    into: type[Struct], names: Names
) -> Iterator[tuple[str, tuple[str, ...], Converter]]:
    """The fields a line may set: `provider` is ours, `id` only where the form lists it."""
    described = type_info(into)
    assert isinstance(described, StructType)
    for field in described.fields:
        if field.name == "provider" or (field.name == "id" and "id" not in names):
            continue
        options = field.type.types if isinstance(field.type, UnionType) else (field.type,)
        values = [value for o in options if isinstance(o, LiteralType) for value in o.values]
        convert = _one_of(values) if values else _CONVERTERS.get(field.name, _unchanged)
        yield field.name, names.get(field.name, (field.name,)), convert


def _unchanged(value: JSON) -> JSON:
    return value


def _one_of(values: list[Any]) -> Converter:
    meanings: dict[Any, JSON] = {value: value for value in values}
    if "ok" in values:
        meanings |= _IS_ERROR
    return lambda value: meanings.get(value) if type(value) in (str, bool) else None


def _text(value: JSON) -> JSON:
    return str(value) if type(value) is int else value


def _number(value: JSON) -> JSON:
    # msgspec reads "nan" and "-inf", which have no digits and which no JSON can hold.
    return None if type(value) is str and not value[-1:].isdigit() else value


def _flag(value: JSON) -> JSON:
    # The name of a frontend, which agents may give too, is no answer to whether the page runs it.
    return value if type(value) is bool else None


def _scope(value: JSON) -> JSON:
    # Agents use `scope` for other things too: ours is a list of ids.
    ours = type(value) is list and all(type(name) is str for name in value)
    return value if ours else None


_CONVERTERS: Final[dict[str, Converter]] = {
    "id": _text,
    "code": _text,
    "signal": _text,
    "session_id": _text,
    "scope": _scope,
    "frontend": _flag,
    "cost_usd": _number,
    "duration_ms": _number,
}


# Plans: items as text or objects, all of them or only the finished one

Items = tuple[TodoItem, ...]

_ITEM: Final = LineForm(
    TodoItem,
    {"content": ("content", "title", "text"), "active_form": ("active_form", "activeForm")},
)


class PlanLine(Struct, kw_only=True):
    """A line that carries the plan."""

    scope: tuple[str, ...] = ()
    items: list[str | Data] | None = None


class FinishedLine(PlanLine, kw_only=True):
    """A line that names the finished item."""

    item: str | Data | None = None
    index: int | None = None


def read_items(plan: PlanLine, before: Items) -> tuple[Items, Data]:
    """The whole list, and the original items where they have more fields."""
    if plan.items is None:
        return before, {}
    read = [read_item(item) for item in plan.items]
    kept: Data = {"items": plan.items} if any(rest for _, rest in read) else {}
    return tuple(item for item, _ in read), kept


def read_item(item: str | Data) -> tuple[TodoItem, Data]:
    """One item, and its other fields."""
    return (TodoItem(content=item), {}) if isinstance(item, str) else _ITEM.read(item)


def position_of(items: Items, item: str | None, index: int | None) -> int | None:
    """The index of the item. Its name takes precedence over its index, which may start at 1."""
    contents = [known.content for known in items]
    at_index = index if index is not None and 0 <= index < len(items) else None
    if item in contents and (at_index is None or contents[at_index] != item):
        return contents.index(item)
    return at_index


def mark_done(items: Items, item: str | None, position: int | None) -> Items:
    """The plan with that item done; an unknown item is added."""
    if position is not None:
        finished = replace(items[position], status="completed")
        return (*items[:position], finished, *items[position + 1 :])
    return items if item is None else (*items, TodoItem(content=item, status="completed"))


# Lines

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


class SearchResultLine(Struct, kw_only=True):
    """A search ended."""

    id: str | None = None
    scope: tuple[str, ...] = ()
    results: JSON = None
    status: Outcome = "ok"


def _with_cache(usage: Usage, data: Data) -> Usage:
    if data.get("input_tokens") is None:
        return usage
    beside = [field for name, field in _CACHE_BESIDE_INPUT.items() if data.get(name) is not None]
    return replace(usage, input=sum_counts(usage.input, *(getattr(usage, f) for f in beside)))


def _with_kind(start: ToolUseStart, data: Data) -> ToolUseStart:
    """The kind in the line takes precedence; else it is derived from the name."""
    is_given = data.get("kind") == start.kind
    return start if is_given else replace(start, kind=tool_kind(start.name))


LINES: Final = {
    "start": LineForm(Start, framework=""),
    "status": LineForm(Status),
    "text": LineForm(TextDelta, {"delta": ("content", "delta", "text")}),
    "thinking": LineForm(Thinking, {"content": ("content", "thinking", "thought")}),
    "think": LineForm(Thinking, {"content": ("thought", "content")}, source="think"),
    "tool_use": LineForm(ToolUseStart, _CALL, repair=_with_kind),
    "tool_call_start": LineForm(ToolUseStart, _CALL, repair=_with_kind),
    "tool_result": LineForm(ToolResult, _RESULT),
    "search": LineForm(SearchLine, _CALL),
    "search_result": LineForm(SearchResultLine, _RESULT),
    "subagent_spawn": LineForm(SpawnLine, _AGENT),
    "subagent_start": LineForm(SubagentStart, _AGENT),
    "subagent_complete": LineForm(SubagentEnd, _AGENT),
    "todos": LineForm(PlanLine, _PLAN),
    "todo_create": LineForm(PlanLine, _PLAN),
    "todo_update": LineForm(PlanLine, _PLAN),
    "todo_done": LineForm(FinishedLine, _PLAN),
    "usage": LineForm(Usage, _TOKENS, groups=_TOKEN_GROUPS, repair=_with_cache),
    "usage_total": LineForm(Usage, _TOKENS, groups=_TOKEN_GROUPS, repair=_with_cache, per="run"),
    "result": LineForm(Result, _STATISTICS),
    "error": LineForm(Error, _FAILURE, groups=frozenset({"error"})),
    "done": LineForm(Done, _END, reason="stop"),
}
