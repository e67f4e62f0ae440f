"""The lines of `mobox.emitter`, `{"type": …, "data": {…}}`, which agents of every framework may print.

Rule 1: LINES holds the lines of the event-mapping document; a line of exactly `type` and `data`
        whose type is an EventType tells that event itself.
Rule 2: a line of LINES is read by a Form: other names for a field are a row of its `names`, the
        first that is there wins, null is the same as absent.
Rule 3: what a form does not ask for, and a word that is not in our vocabulary, is kept in
        `provider["emitted"]` of the first event made: nothing of a known line is lost.
Rule 4: a value of the wrong type raises `msgspec.ValidationError` before any state has changed.
Rule 5: lines have few ids. Missing ones are counted; a result or an end without one belongs to the
        oldest that is open. A thought has none even if its line does, since thoughts share a block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

import msgspec
from msgspec import Struct
from msgspec.inspect import LiteralType, StructType, UnionType, type_info
from msgspec.structs import replace

from mobox.events import (
    CLASSES,
    JSON,
    Done,
    Error,
    Outcome,
    Result,
    Source,
    Start,
    Status,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    TextDelta,
    Thinking,
    TodoCreate,
    TodoDone,
    TodoItem,
    TodoUpdate,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)

__all__ = ["DISPLAY_OF", "EmittedLines"]

Data = dict[str, JSON]
Events = list[StreamEvent]
Teller = Callable[["EmittedLines", Any, Data], Events]
Converter = Callable[[JSON], JSON]

DISPLAY_OF: Final = {
    "TodoWrite": "todos",
    "TaskCreate": "todos",
    "TaskUpdate": "todos",
    "write_todos": "todos",
    "think_tool": "think",
    "task": "agent",
    "Task": "agent",
}
"""Tools whose calls are told by other lines too, and as what."""

_SEARCH: Final = "internet_search"
_USAGE_WITHIN: Final = ("done", "result")
_CACHE_BESIDE_INPUT: Final = {
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}
"""Anthropic's names; its `input_tokens` leaves these out, where everybody else's has them in."""

_IS_ERROR: Final = {True: "error", False: "ok"}
_SOURCE_FIELDS: Final = {"url": (str,), "title": (str,), "score": (int, float)}


# What lines say that no event says in the same way


class _Spawn(Struct, kw_only=True):
    scope: tuple[str, ...] = ()
    message: str | None = None
    agent: str | None = None
    task: str | None = None


class _Search(Struct, kw_only=True):
    id: str | None = None
    scope: tuple[str, ...] = ()
    query: str
    topic: JSON = None


class _Found(Struct, kw_only=True):
    id: str | None = None
    scope: tuple[str, ...] = ()
    results: JSON = None
    status: Outcome = "ok"


class _Plan(Struct, kw_only=True):
    scope: tuple[str, ...] = ()
    items: list[str | Data] | None = None


class _Finished(_Plan, kw_only=True):
    item: str | Data | None = None
    index: int | None = None


# The names under which lines give a field, the best first

_Names = dict[str, tuple[str, ...]]

_CALL: Final[_Names] = {
    "id": ("id", "tool_use_id", "tool_call_id"),
    "name": ("name", "tool_name", "tool"),
    "input": ("input", "args", "arguments"),
}
_RESULT: Final[_Names] = {
    "id": ("tool_use_id", "tool_call_id", "id"),
    "output": ("content", "output", "result"),
    "status": ("status", "is_error"),
}
_AGENT: Final[_Names] = {
    "id": ("id",),
    "agent": ("agent", "name", "subagent_type"),
    "task": ("task", "description"),
    "status": ("status", "is_error"),
}
_PLAN: Final[_Names] = {"items": ("items", "todos")}
_STATISTICS: Final[_Names] = {
    "text": ("text", "result", "content"),
    "cost_usd": ("cost_usd", "total_cost_usd", "cost"),
}
_TOKENS: Final[_Names] = {
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
_TOKEN_GROUPS: Final = tuple(
    {name.partition(".")[0] for names in _TOKENS.values() for name in names if "." in name}
)
_FAILURE: Final[_Names] = {
    "message": ("message", "error", "content", "error.message"),
    "code": ("code", "error.code", "error.type"),
}
_END: Final[_Names] = {"native": ("native", "stop_reason", "finish_reason", "reason")}


class _Form:
    """How the data of one kind of line is read: into which Struct, from which names."""

    def __init__(
        self,
        into: type[Struct],
        *,
        tell: Teller | None = None,
        names: Mapping[str, tuple[str, ...]] | None = None,
        groups: tuple[str, ...] = (),
        **defaults: JSON,
    ) -> None:
        self.tell = tell
        self._into = into
        self._defaults = defaults
        self._groups = groups
        self._fields = list(_fields_of(into, names or {}))

    def read(self, data: Data) -> tuple[Any, Data]:
        """The Struct, and what it does not hold; raises `msgspec.ValidationError`."""
        rest = self._flat(data)
        fields = dict(self._defaults)
        for field, names, convert in self._fields:
            for name in names:
                value = convert(rest.get(name))
                if value is not None:
                    fields[field] = value
                    del rest[name]
                    break
        return msgspec.convert(fields, self._into, strict=False), rest

    def _flat(self, data: Data) -> Data:
        flat: Data = {}
        for name, value in data.items():
            if name in self._groups and type(value) is dict:
                flat |= {f"{name}.{inner}": within for inner, within in value.items()}
            else:
                flat[name] = value
        return {name: value for name, value in flat.items() if value is not None}


def _fields_of(
    into: type[Struct], names: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, tuple[str, ...], Converter]]:
    """The fields a line may fill. `provider` is ours, and `id` is read only where it is asked for."""
    described = type_info(into)
    assert isinstance(described, StructType)
    for field in described.fields:
        if field.name == "provider" or (field.name == "id" and "id" not in names):
            continue
        options = field.type.types if isinstance(field.type, UnionType) else (field.type,)
        words = [word for o in options if isinstance(o, LiteralType) for word in o.values]
        convert = _one_of(words) if words else _CONVERTERS.get(field.name, _as_it_is)
        yield field.name, names.get(field.name, (field.name,)), convert


# Converters: what a field makes of a value; None where the value is not for it


def _as_it_is(value: JSON) -> JSON:
    return value


def _one_of(words: list[Any]) -> Converter:
    meanings: dict[Any, JSON] = {word: word for word in words}
    if "ok" in words:
        meanings |= _IS_ERROR
    return lambda value: meanings.get(value) if type(value) in (str, bool) else None


def _text(value: JSON) -> JSON:
    return str(value) if type(value) is int else value


def _number(value: JSON) -> JSON:
    # No JSON can hold the numbers that have no digits: "nan", "-inf".
    return None if type(value) is str and not value[-1:].isdigit() else value


def _scope(value: JSON) -> JSON:
    """Other people's word for other things; ours is a list of ids."""
    ours = type(value) is list and all(type(name) is str for name in value)
    return value if ours else None


_CONVERTERS: Final[dict[str, Converter]] = {
    "id": _text,
    "code": _text,
    "signal": _text,
    "session_id": _text,
    "scope": _scope,
    "cost_usd": _number,
    "duration_ms": _number,
}


class EmittedLines:
    """The emitted lines of one run."""

    def __init__(self, prefix: str = "", framework: str = "emitted") -> None:
        self._prefix = prefix
        self._framework = framework
        self._count: Counter[str] = Counter()
        self._calls: dict[str, ToolUseStart] = {}  # those without their result, oldest first
        self._ended: set[str] = set()  # those of them whose input is known
        self._agents: dict[str, str] = {}  # open subagents: their names, oldest first
        self._plan: tuple[TodoItem, ...] = ()

    def knows(self, line: dict[str, JSON]) -> bool:
        """Whether this is an emitted line.

        Vendors use our words too (LangGraph's parts have type, ns, data), so only a line that is
        nothing but type and data may tell an event that the documents do not name.
        """
        kind = line.get("type")
        if type(kind) is not str or type(line.get("data")) is not dict:
            return False
        return kind in self.LINES or (kind in CLASSES and len(line) == 2)

    def read(self, line: dict[str, JSON]) -> Events:
        """What a line that `knows` knows means; may raise `msgspec.ValidationError`."""
        kind, data = line["type"], line["data"]
        if kind in _USAGE_WITHIN and type(data.get("usage")) is dict:
            data = {name: value for name, value in data.items() if name != "usage"}
            events = [*self._read("usage_total", line["data"]["usage"]), *self._read(kind, data)]
        else:
            events = self._read(kind, data)
        for event in events:
            self._note(event)
        outside = {name: value for name, value in line.items() if name not in ("type", "data")}
        return [_keep(events[0], outside, under="emitted_line"), *events[1:]]

    def _read(self, kind: str, data: Data) -> Events:
        form = self.LINES.get(kind)
        if form is None:
            return [_itself(kind, data)]
        told, rest = form.read(data)
        first, *others = form.tell(self, told, data) if form.tell else [told]
        return [_keep(first, rest), *others]

    def _note(self, event: StreamEvent) -> None:
        note = self.NOTES.get(type(event))
        if note is not None:
            note(self, event)

    def _next(self, kind: str) -> str:
        while True:
            self._count[kind] += 1
            name = f"{self._prefix}{kind}_{self._count[kind]}"
            if name not in self._calls and name not in self._agents:
                return name

    # The run

    def _start(self, start: Start, _data: Data) -> Events:
        return [replace(start, framework=start.framework or self._framework)]

    def _usage(self, usage: Usage, data: Data) -> Events:
        if data.get("input_tokens") is not None:
            beside = [f for name, f in _CACHE_BESIDE_INPUT.items() if data.get(name) is not None]
            usage = replace(usage, input=usage.input + sum(getattr(usage, f) for f in beside))
        if usage.per == "call" and usage.id is None:
            usage = replace(usage, id=self._next("usage"))
        return [usage]

    # Tool calls

    def _tool_call_start(self, start: ToolUseStart, _data: Data) -> Events:
        return [self._named(start)]

    def _tool_use(self, use: ToolUseStart, _data: Data) -> Events:
        begun = self._begun(use)
        if begun is None:
            start = self._named(use)
            return [replace(start, input=None), _input_of(start, use.input)]
        news = {
            field: getattr(use, field)
            for field in ("name", "kind")
            if getattr(use, field) != getattr(begun, field)
        }
        given = begun.input if use.input is None else use.input
        return [_keep(_input_of(begun, given), news)]

    def _begun(self, use: ToolUseStart) -> ToolUseStart | None:
        """The call that a `tool_call_start` told of and whose input this line brings."""
        for start in self._calls.values():
            same = start.id == use.id if use.id else start.name == use.name
            if same and start.id not in self._ended:
                return start
        return None

    def _named(self, start: ToolUseStart) -> ToolUseStart:
        display: Any = start.display or DISPLAY_OF.get(start.name)
        return replace(start, id=start.id or self._next("call"), display=display)

    def _tool_result(self, result: ToolResult, _data: Data) -> Events:
        # An id still missing after this is the lifecycle's to find: the call may be the framework's.
        return [replace(result, id=result.id or self._oldest(search=False) or self._oldest())]

    def _search(self, search: _Search, _data: Data) -> Events:
        start = ToolUseStart(
            id=search.id or self._next("call"), scope=search.scope, name=_SEARCH, kind="search"
        )
        topic = {} if search.topic is None else {"topic": search.topic}
        return [start, _input_of(start, {"query": search.query, **topic})]

    def _search_result(self, found: _Found, _data: Data) -> Events:
        name = found.id or self._oldest() or self._next("call")
        results = found.results if type(found.results) is list else []
        sources = [_source_of(result) for result in results if type(result) is dict]
        return [
            ToolResult(
                id=name,
                scope=found.scope,
                output={"results": found.results},
                status=found.status,
            ),
            *(Source(id=name, scope=found.scope, **fields) for fields in sources if "url" in fields),
        ]

    def _oldest(self, *, search: bool = True) -> str | None:
        """The oldest call without a result, among the searches or among the others."""
        names = (name for name, call in self._calls.items() if (call.name == _SEARCH) is search)
        return next(names, None)

    def _note_call(self, start: ToolUseStart) -> None:
        if start.id is not None:
            self._calls[start.id] = start
            self._ended.discard(start.id)

    def _note_input(self, end: ToolUseEnd) -> None:
        if end.id in self._calls:
            self._ended.add(end.id)

    def _note_result(self, result: ToolResult) -> None:
        if result.id is not None and not result.partial:
            self._calls.pop(result.id, None)
            self._ended.discard(result.id)

    # Subagents

    def _subagent_spawn(self, spawn: _Spawn, _data: Data) -> Events:
        about = {"agent": spawn.agent, "task": spawn.task}
        named = ": ".join(text for text in (spawn.agent or "subagent", spawn.task) if text)
        status = Status(scope=spawn.scope, message=spawn.message or f"Spawning {named}")
        return [_keep(status, {name: text for name, text in about.items() if text is not None})]

    def _subagent_start(self, start: SubagentStart, _data: Data) -> Events:
        return [replace(start, id=start.id or self._next("subagent"))]

    def _subagent_complete(self, end: SubagentEnd, _data: Data) -> Events:
        name = end.id or self._oldest_agent(end.agent)
        if name is not None:
            return [replace(end, id=name, agent=end.agent or self._agents.get(name))]
        name = self._next("subagent")  # nobody told of its start, yet its summary is to be seen
        start = SubagentStart(id=name, scope=end.scope, agent=end.agent or "subagent")
        return [start, replace(end, id=name)]

    def _oldest_agent(self, agent: str | None) -> str | None:
        names = (name for name, known in self._agents.items() if agent in (None, known))
        return next(names, None)

    def _note_agent(self, start: SubagentStart) -> None:
        if start.id is not None:
            self._agents[start.id] = start.agent

    def _note_agent_end(self, end: SubagentEnd) -> None:
        self._agents.pop(end.id or "", None)

    # The plan

    def _todo_create(self, plan: _Plan, _data: Data) -> Events:
        items, kept = self._items(plan)
        return [_keep(TodoCreate(scope=plan.scope, items=items), kept)]

    def _todo_update(self, plan: _Plan, _data: Data) -> Events:
        items, kept = self._items(plan)
        return [_keep(TodoUpdate(scope=plan.scope, items=items), kept)]

    def _todo_done(self, done: _Finished, _data: Data) -> Events:
        items, kept = self._items(done)
        item = None if done.item is None else _item_of(done.item)[0].content
        position = _position(items, item, done.index)
        if done.items is None:
            items = _finish(items, item, position)
        if item is None and position is not None:
            item = items[position].content
        if type(done.item) is dict:
            kept["item"] = done.item
        event = TodoDone(scope=done.scope, items=items, item=item, index=done.index)
        return [_keep(event, kept)]

    def _items(self, plan: _Plan) -> tuple[tuple[TodoItem, ...], Data]:
        """The whole list, and the items as they came where they say more than ours."""
        if plan.items is None:
            return self._plan, {}
        read = [_item_of(item) for item in plan.items]
        kept: Data = {"items": plan.items} if any(rest for _, rest in read) else {}
        return tuple(item for item, _ in read), kept

    def _note_plan(self, event: TodoCreate | TodoUpdate | TodoDone) -> None:
        self._plan = event.items

    LINES: ClassVar[dict[str, _Form]] = {
        "start": _Form(Start, tell=_start, framework=""),
        "status": _Form(Status),
        "text": _Form(TextDelta, names={"delta": ("content", "delta", "text")}),
        "thinking": _Form(Thinking, names={"content": ("content", "thinking", "thought")}),
        "think": _Form(Thinking, names={"content": ("thought", "content")}, source="think"),
        "tool_use": _Form(ToolUseStart, tell=_tool_use, names=_CALL),
        "tool_call_start": _Form(ToolUseStart, tell=_tool_call_start, names=_CALL),
        "tool_result": _Form(ToolResult, tell=_tool_result, names=_RESULT),
        "search": _Form(_Search, tell=_search, names={"id": _CALL["id"]}),
        "search_result": _Form(_Found, tell=_search_result, names=_RESULT),
        "subagent_spawn": _Form(_Spawn, tell=_subagent_spawn, names=_AGENT),
        "subagent_start": _Form(SubagentStart, tell=_subagent_start, names=_AGENT),
        "subagent_complete": _Form(SubagentEnd, tell=_subagent_complete, names=_AGENT),
        "todos": _Form(_Plan, tell=_todo_create, names=_PLAN),
        "todo_create": _Form(_Plan, tell=_todo_create, names=_PLAN),
        "todo_update": _Form(_Plan, tell=_todo_update, names=_PLAN),
        "todo_done": _Form(_Finished, tell=_todo_done, names=_PLAN),
        "usage": _Form(Usage, tell=_usage, names=_TOKENS, groups=_TOKEN_GROUPS),
        "usage_total": _Form(Usage, tell=_usage, names=_TOKENS, groups=_TOKEN_GROUPS, per="run"),
        "result": _Form(Result, names=_STATISTICS),
        "error": _Form(Error, names=_FAILURE, groups=("error",)),
        "done": _Form(Done, names=_END, reason="stop"),
    }
    """The lines of the document and how each is read."""

    NOTES: ClassVar[dict[type[StreamEvent], Callable[[EmittedLines, Any], None]]] = {
        ToolUseStart: _note_call,
        ToolUseEnd: _note_input,
        ToolResult: _note_result,
        SubagentStart: _note_agent,
        SubagentEnd: _note_agent_end,
        TodoCreate: _note_plan,
        TodoUpdate: _note_plan,
        TodoDone: _note_plan,
    }
    """What has to be remembered of the events made, for the lines that leave it out."""


def _itself(kind: str, data: Data) -> StreamEvent:
    """The event that a line of its own type tells, as strictly as `StreamEvent.of`."""
    event_class = CLASSES[kind]
    known = {name: data[name] for name in data if name in event_class.__struct_fields__}
    rest = {name: data[name] for name in data if name not in known}
    event = msgspec.convert({**known, "type": kind}, event_class)
    if rest and "emitted" in (event.provider or {}):
        raise msgspec.ValidationError("unknown fields, and provider.emitted is taken")
    return _keep(event, rest)


def _keep(event: StreamEvent, rest: Data, under: str = "emitted") -> StreamEvent:
    if not rest:
        return event
    bag = event.provider or {}
    return replace(event, provider={**bag, under: {**bag.get(under, {}), **rest}})


def _input_of(start: ToolUseStart, value: JSON) -> ToolUseEnd:
    return ToolUseEnd(id=start.id, scope=start.scope, input=value)


def _source_of(result: Data) -> Data:
    """The fields of a SOURCE; a result that fits them badly is still in the call's output."""
    return {
        name: result[name]
        for name, types in _SOURCE_FIELDS.items()
        if type(result.get(name)) in types
    }


_TODO_ITEM = _Form(
    TodoItem,
    names={
        "content": ("content", "title", "text"),
        "active_form": ("active_form", "activeForm"),
    },
)


def _item_of(item: str | Data) -> tuple[TodoItem, Data]:
    return (TodoItem(content=item), {}) if isinstance(item, str) else _TODO_ITEM.read(item)


def _position(items: tuple[TodoItem, ...], item: str | None, index: int | None) -> int | None:
    """The item meant. Its name counts for more than its index, which may begin at 1."""
    contents = [known.content for known in items]
    at_index = index if index is not None and 0 <= index < len(items) else None
    if item in contents and (at_index is None or contents[at_index] != item):
        return contents.index(item)
    return at_index


def _finish(
    items: tuple[TodoItem, ...], item: str | None, position: int | None
) -> tuple[TodoItem, ...]:
    if position is not None:
        finished = replace(items[position], status="completed")
        return (*items[:position], finished, *items[position + 1 :])
    return items if item is None else (*items, TodoItem(content=item, status="completed"))
