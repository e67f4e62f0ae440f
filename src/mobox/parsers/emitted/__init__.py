"""The lines of `mobox.emitter`, `{"type": …, "data": {…}}`, which any framework's agents may print.

Rule 1: LINES holds the lines of the event-mapping document; a line of exactly `type` and `data`
        whose type is an EventType is that event itself.
Rule 2: a line of LINES is read by a Form: other names for a field are a row of its `names`, the
        first present one wins, null is the same as absent.
Rule 3: fields that a form does not read, and unknown enum values, are kept in
        `provider["emitted"]` of the first event made: nothing of a known line is lost.
Rule 4: a value of the wrong type raises `msgspec.ValidationError` before any state has changed.
Rule 5: lines have few ids. Missing ones are generated; a result or an end without one belongs to
        the oldest open call. A thought has no id even if its line has, as thoughts share a block.
Rule 6: a thought that comes both from a call and from a line is emitted once, for the first.
Rule 7: `done` of the agent itself, and `exit`, say that it writes no more: `ending`. `exit` makes
        no event: how the run ended follows from the lines before it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, ClassVar, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mobox.events import (
    CLASSES,
    JSON,
    Events,
    Raw,
    Scope,
    Source,
    Start,
    Status,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Thinking,
    ThinkingEnd,
    TodoCreate,
    TodoDone,
    TodoUpdate,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.names import IdAllocator
from mobox.parsers import tool_kinds
from mobox.parsers.emitted.lines import (
    LINES,
    Data,
    FinishedLine,
    Items,
    PlanLine,
    SearchLine,
    SearchResultLine,
    SpawnLine,
    mark_done,
    position_of,
    read_item,
    read_items,
)
from mobox.parsers.formats import Format
from mobox.parsers.tool_kinds import todo_change, tool_kind
from mobox.parsers.values import as_object, objects_in, parse_or_raw

DONE: Final = "done"
EXIT: Final = "exit"
SEARCH: Final = "internet_search"
"""The tool that `search` and `search_result` lines are about."""

Starts = dict[str | None, ToolUseStart]


class OpenCalls:
    """The calls without a result, the oldest first: most lines do not name a call by its id.

    Lookups take constant time, however many calls an agent leaves without a result.
    """

    def __init__(self) -> None:
        self._calls: Starts = {}
        self._searches: Starts = {}  # the searches among them
        self._others: Starts = {}  # the others
        self._without_input: dict[str, Starts] = defaultdict(dict)  # by the name of the tool

    def start(self, start: ToolUseStart) -> None:
        """A call starts; an earlier one with its id is removed."""
        self.end(start.id)
        self._calls[start.id] = start
        self._of_kind(search=start.name == SEARCH)[start.id] = start
        self._without_input[start.name][start.id] = start

    def complete(self, call_id: str | None) -> None:
        """Its input is known."""
        if call_id in self._calls:
            self._without_input[self._calls[call_id].name].pop(call_id, None)

    def end(self, call_id: str | None) -> None:
        """It has its result."""
        self.complete(call_id)
        for calls in (self._calls, self._searches, self._others):
            calls.pop(call_id, None)

    def awaiting_input(self, call_id: str | None, name: str) -> ToolUseStart | None:
        """The call of that id whose input is not known; without an id, the oldest of that tool."""
        if call_id is None:
            return next(iter(self._without_input[name].values()), None)
        start = self._calls.get(call_id)
        return self._without_input[start.name].get(call_id) if start is not None else None

    def oldest(self, *, search: bool) -> str | None:
        """The oldest call, among the searches or among the others."""
        return next(iter(self._of_kind(search=search)), None)

    def _of_kind(self, *, search: bool) -> Starts:
        return self._searches if search else self._others


_TRACKED = {ToolUseStart, ToolUseEnd, Thinking}


class Thoughts:
    """Removes duplicates: the thought in a think tool's call, and the line that the tool prints.

    Each is emitted once, for the first of the two: a tool may print before its call is reported.
    A line has no scope. It gets that of the call with this thought, or of a think tool's call
    whose input is not complete.
    """

    def __init__(self) -> None:
        self._calls: dict[str | None, Scope] = {}  # of think tools, while their input comes
        self._scopes: dict[str, Scope] = {}  # of thoughts in calls
        self._of_calls: Counter[str] = Counter()  # emitted for a call, whose line may follow
        self._of_lines: Counter[str] = Counter()  # emitted for a line, whose call may follow

    def is_new_in_call(self, thought: str) -> bool:
        """Whether the thought of a call must be emitted."""
        if _take(self._of_lines, thought):
            return False
        self._of_calls[thought] += 1
        return True

    def from_line(self, thought: Thinking) -> Thinking | None:
        """The thought of a line, with its scope; `None` if it was emitted for a call."""
        if _take(self._of_calls, thought.content):
            return None
        self._of_lines[thought.content] += 1
        scope = self._scopes.get(thought.content) or next(iter(self._calls.values()), ())
        return replace(thought, scope=thought.scope or scope)

    def without_repeats(self, events: Events) -> Events:
        """`events` of a framework without thoughts that were emitted for a line."""
        if _TRACKED.isdisjoint(map(type, events)):
            return events
        kept: Events = []
        repeated: set[str | None] = set()
        for event in events:
            if isinstance(event, ToolUseStart | ToolUseEnd):
                self._track(event)
            if self._is_repeat(event):
                repeated.add(event.id)
            elif not (isinstance(event, ThinkingEnd) and event.id in repeated):
                kept.append(event)
        return kept

    def _is_repeat(self, event: StreamEvent) -> bool:
        if not isinstance(event, Thinking) or event.source != "think":
            return False
        return not self.is_new_in_call(event.content)

    def _track(self, event: ToolUseStart | ToolUseEnd) -> None:
        if isinstance(event, ToolUseStart):
            if tool_kinds.LANGCHAIN_DISPLAYS.get(event.name) == "think":
                self._calls[event.id] = event.scope
        elif event.id in self._calls:
            thought = as_object(event.input).get("thought")
            scope = self._calls.pop(event.id)
            if isinstance(thought, str):
                self._scopes[thought] = scope


def _take(counter: Counter[str], thought: str) -> bool:
    if not counter[thought]:
        del counter[thought]
        return False
    counter[thought] -= 1
    return True


Handler = Callable[["EmittedLines", Any], Events]
Tracker = Callable[["EmittedLines", Any], None]

_DISPLAYS: Final = {**tool_kinds.CLAUDE_DISPLAYS, **tool_kinds.LANGCHAIN_DISPLAYS}
"""Tools whose calls are repeated by other lines, and the kind of those lines."""

_REPEATED: Final = "told before"
"""The reason of a RAW for a line that repeats its call with more fields, and makes no event."""

_DEFAULTS: Final = ToolUseStart(name="")
_ABOUT_CALL: Final = ("scope", "name", "kind", "server", "frontend", "display")
_SOURCE_FIELDS: Final = {"url": (str,), "title": (str,), "score": (int, float)}
_USAGE_WITHIN: Final = ("done", "result")


class EmittedLines:
    """The emitted lines of one run."""

    def __init__(self, prefix: str = "", framework: str = "emitted") -> None:
        self._names = IdAllocator(prefix)
        self._framework = framework
        self._calls = OpenCalls()
        self._agents: dict[str | None, str] = {}  # open subagents: their names, oldest first
        self._plans: dict[tuple[str, ...], Items] = {}  # by the scope of the agent whose it is
        self._thought: str | None = None  # the last one emitted
        self.ending: str | None = None
        """The line by which the agent said that it writes no more: `done` or `exit`."""
        self.thoughts = Thoughts()
        """Thoughts that come both from a call and from a line."""

    @staticmethod
    def knows(line: dict[str, JSON]) -> bool:
        """Whether this is an emitted line.

        Vendors use the same keys (LangGraph's parts have type, ns, data), so only a line with
        exactly type and data may be an event that the documents do not name.
        """
        kind = line.get("type")
        if type(kind) is not str or type(line.get("data")) is not dict:
            return False
        return kind in LINES or kind == EXIT or (kind in CLASSES and len(line) == 2)

    def read(self, line: dict[str, JSON]) -> Events:
        """Parse a line that `knows` accepts; may raise `msgspec.ValidationError`."""
        kind, data = line["type"], line["data"]
        if kind == EXIT or (kind == DONE and not data.get("scope")):
            self.ending = kind
        if kind == EXIT:
            return []
        if kind in _USAGE_WITHIN and type(data.get("usage")) is dict:
            data = dict(data)
            usage = data.pop("usage")
            used = parse_or_raw(lambda: self._read("usage_total", usage), usage)
            events = [*used, *self._read(kind, data)]
        else:
            events = self._read(kind, data)
        for event in events:
            track = self.TRACKERS.get(type(event))
            if track is not None:
                track(self, event)
        outside = {name: line[name] for name in line if name not in ("type", "data")}
        if outside and events:
            events[0] = _with_extra(events[0], outside, under="emitted_line")
        return events or ([Raw(raw=line, source=_REPEATED)] if outside else [])

    def _read(self, kind: str, data: Data) -> Events:
        form = LINES.get(kind)
        if form is None:
            return [_parse_event(kind, data)]
        line, rest = form.read(data)
        handler = self.HANDLERS.get(kind)
        events = [line] if handler is None else handler(self, line)
        if not events:
            adds = rest.keys() - {"id"}  # nothing refers to it
            return [Raw(raw={"type": kind, "data": data}, source=_REPEATED)] if adds else []
        return [_with_extra(events[0], rest), *events[1:]]

    # The run

    def _start(self, start: Start) -> Events:
        return [replace(start, framework=start.framework or self._framework)]

    def _usage(self, usage: Usage) -> Events:
        if usage.per == "call" and usage.id is None:
            usage = replace(usage, id=self._names.fresh("usage"))
        return [usage]

    # Tool calls

    def _tool_call_start(self, start: ToolUseStart) -> Events:
        return [self._with_id(start)]

    def _tool_use(self, use: ToolUseStart) -> Events:
        started = self._calls.awaiting_input(use.id or None, use.name)
        if started is None:
            start = self._with_id(use)
            events: Events = [replace(start, input=None), _input_end(start, use.input)]
            return events + self._display_events(start, use.input)
        given = started.input if use.input is None else use.input
        shown = replace(started, display=started.display or use.display)
        end = _with_extra(_input_end(started, given), _changes(started, use))
        return [end, *self._display_events(shown, given)]

    def _display_events(self, call: ToolUseStart, given: JSON) -> Events:
        """The event as which a call is displayed, if no line of its own has it."""
        given = as_object(given)
        if call.display == "todos" and given.get("todos"):
            return self._plan_changes(call, given["todos"])
        thought = given.get("thought")
        is_thought = call.display == "think" and isinstance(thought, str)
        if is_thought and self.thoughts.is_new_in_call(thought) and thought != self._thought:
            return [Thinking(scope=call.scope, content=thought, source="think")]
        return []

    def _plan_changes(self, call: ToolUseStart, todos: JSON) -> Events:
        before = self._plan_of(call)
        try:
            plan = msgspec.convert({"items": todos}, PlanLine)
            after, _ = read_items(plan, before)
        except msgspec.ValidationError:
            return []  # a plan of another shape; it is in the call
        return [replace(event, scope=call.scope) for event in todo_change(before, after)]

    def _think(self, thought: Thinking) -> Events:
        event = self.thoughts.from_line(thought)
        return [] if event is None else [event]

    def _with_id(self, start: ToolUseStart) -> ToolUseStart:
        display = start.display or _DISPLAYS.get(start.name)
        return replace(start, id=start.id or self._names.fresh("call"), display=display)

    def _tool_result(self, result: ToolResult) -> Events:
        # Leave unknown calls to the lifecycle: the call may be one of the framework's.
        name = result.id or self._calls.oldest(search=False) or self._calls.oldest(search=True)
        return [replace(result, id=name)]

    def _search(self, search: SearchLine) -> Events:
        name = search.id or self._names.fresh("call")
        start = ToolUseStart(id=name, scope=search.scope, name=SEARCH, kind="search")
        topic = {} if search.topic is None else {"topic": search.topic}
        return [start, _input_end(start, {"query": search.query, **topic})]

    def _search_result(self, found: SearchResultLine) -> Events:
        name = found.id or self._calls.oldest(search=True) or self._names.fresh("call")
        result = ToolResult(
            id=name, scope=found.scope, output={"results": found.results}, status=found.status
        )
        sources = (_source_of(each) for each in objects_in(found.results))
        return [
            result,
            *(Source(id=name, scope=found.scope, **fields) for fields in sources if fields),
        ]

    def _track_call(self, start: ToolUseStart) -> None:
        self._names.take(start.id)
        self._calls.start(start)

    def _track_input(self, end: ToolUseEnd) -> None:
        self._calls.complete(end.id)

    def _track_result(self, result: ToolResult) -> None:
        if not result.partial:
            self._calls.end(result.id)

    # Subagents

    def _subagent_spawn(self, spawn: SpawnLine) -> Events:
        about = {"agent": spawn.agent, "task": spawn.task}
        named = ": ".join(text for text in (spawn.agent or "subagent", spawn.task) if text)
        status = Status(scope=spawn.scope, message=spawn.message or f"Spawning {named}")
        return [
            _with_extra(status, {name: text for name, text in about.items() if text is not None})
        ]

    def _subagent_start(self, start: SubagentStart) -> Events:
        return [replace(start, id=start.id or self._names.fresh("subagent"))]

    def _subagent_complete(self, end: SubagentEnd) -> Events:
        name = end.id or self._oldest_agent(end.agent)
        if name is not None:
            return [replace(end, id=name, agent=end.agent or self._agents.get(name))]
        # Its start is missing, but its summary must be shown.
        name = self._names.fresh("subagent")
        start = SubagentStart(id=name, scope=end.scope, agent=end.agent or "subagent")
        return [start, replace(end, id=name)]

    def _oldest_agent(self, agent: str | None) -> str | None:
        names = (name for name, known in self._agents.items() if agent in (None, known))
        return next(names, None)

    def _track_agent(self, start: SubagentStart) -> None:
        self._names.take(start.id)
        self._agents[start.id] = start.agent

    def _track_agent_end(self, end: SubagentEnd) -> None:
        self._agents.pop(end.id, None)

    # The plan

    def _plan_of(self, line: PlanLine | StreamEvent) -> Items:
        return self._plans.get(line.scope, ())

    def _todo_create(self, plan: PlanLine) -> Events:
        items, kept = read_items(plan, self._plan_of(plan))
        return [_with_extra(TodoCreate(scope=plan.scope, items=items), kept)]

    def _todo_update(self, plan: PlanLine) -> Events:
        items, kept = read_items(plan, self._plan_of(plan))
        return [_with_extra(TodoUpdate(scope=plan.scope, items=items), kept)]

    def _todo_done(self, done: FinishedLine) -> Events:
        items, kept = read_items(done, self._plan_of(done))
        item = None if done.item is None else read_item(done.item)[0].content
        position = position_of(items, item, done.index)
        if done.items is None:
            items = mark_done(items, item, position)
        if item is None and position is not None:
            item = items[position].content
        if type(done.item) is dict:
            kept["item"] = done.item
        event = TodoDone(scope=done.scope, items=items, item=item, index=done.index)
        return [_with_extra(event, kept)]

    def _track_plan(self, event: TodoCreate | TodoUpdate | TodoDone) -> None:
        self._plans[event.scope] = event.items

    def _track_thought(self, event: Thinking) -> None:
        self._thought = event.content

    HANDLERS: ClassVar[dict[str, Handler]] = {
        "start": _start,
        "tool_use": _tool_use,
        "tool_call_start": _tool_call_start,
        "tool_result": _tool_result,
        "search": _search,
        "search_result": _search_result,
        "subagent_spawn": _subagent_spawn,
        "subagent_start": _subagent_start,
        "subagent_complete": _subagent_complete,
        "think": _think,
        "todos": _todo_create,
        "todo_create": _todo_create,
        "todo_update": _todo_update,
        "todo_done": _todo_done,
        "usage": _usage,
        "usage_total": _usage,
    }
    """Handlers of lines that need more than their form; the form makes the event of the others."""

    TRACKERS: ClassVar[dict[type[StreamEvent], Tracker]] = {
        ToolUseStart: _track_call,
        ToolUseEnd: _track_input,
        ToolResult: _track_result,
        SubagentStart: _track_agent,
        SubagentEnd: _track_agent_end,
        TodoCreate: _track_plan,
        TodoUpdate: _track_plan,
        TodoDone: _track_plan,
        Thinking: _track_thought,
    }
    """Handlers that remember emitted events, for later lines that omit ids."""


def _parse_event(kind: str, data: Data) -> StreamEvent:
    """The event of a line that has an event's type, as strict as `StreamEvent.of`."""
    event_class = CLASSES[kind]
    known = {name: data[name] for name in data if name in event_class.__struct_fields__}
    rest = {name: data[name] for name in data if name not in known}
    event = msgspec.convert({**known, "type": kind}, event_class)
    if isinstance(event, ToolUseStart) and "kind" not in known:
        event = replace(event, kind=tool_kind(event.name))
    if rest and "emitted" in (event.provider or {}):
        raise msgspec.ValidationError("unknown fields, and provider.emitted is taken")
    return _with_extra(event, rest)


def _with_extra(event: StreamEvent, rest: Data, under: str = "emitted") -> StreamEvent:
    if not rest:
        return event
    bag = event.provider or {}
    return replace(event, provider={**bag, under: {**bag.get(under, {}), **rest}})


def _input_end(start: ToolUseStart, value: JSON) -> ToolUseEnd:
    return ToolUseEnd(id=start.id, scope=start.scope, input=value)


def _changes(start: ToolUseStart, use: ToolUseStart) -> Data:
    """Fields of the line with a call's input that differ from the line with its start."""
    fields = {name: getattr(use, name) for name in _ABOUT_CALL}
    return {
        name: list(value) if name == "scope" else value
        for name, value in fields.items()
        if value not in (getattr(start, name), getattr(_DEFAULTS, name))
    }


def _source_of(result: Data) -> Data:
    """The fields of a SOURCE, if it is one; other fields are still in the call's output."""
    fields = {
        name: result[name]
        for name, types in _SOURCE_FIELDS.items()
        if type(result.get(name)) in types
    }
    return fields if "url" in fields else {}


# The fast path for the line that agents print most: text, and nothing else

_STARTS = (b'{"type":"text","data":{"content":"', b'{"type": "text", "data": {"content": "')


class _Content(Struct, forbid_unknown_fields=True, gc=False):
    content: str


class _TextLine(Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    data: _Content


_decode = msgspec.json.Decoder(_TextLine).decode


def plain_text(line: bytes) -> str | None:
    """The text of a text line; `None` if it has other fields or another form."""
    if not line.startswith(_STARTS):
        return None
    try:
        return _decode(line).data.content
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _shape(line: JSON) -> float:
    return float(isinstance(line, dict) and EmittedLines.knows(line))


EMITTED = Format("Mobox's simplified lines", (_shape,), kind=("type",), known=tuple(LINES))
