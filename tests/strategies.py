"""Events for property tests, by hypothesis.

* `events()`   any events in any order: ids collide, ends come first, scopes make no sense
* `runs()`     what an agent might really say, with ids of its own or none
* `endings()`  the DONE a supervisor may close a run with, or None
* `logs()`     what the lifecycle makes of either, as the log entries that a formatter reads

The fields come from the types of the classes, so a new event or field needs nothing here, unless
its values have to collide with something: then it has a row in FIELDS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from msgspec.structs import replace

from mobox.events import (
    CLASSES,
    Custom,
    Done,
    Error,
    EventType,
    File,
    InputRequest,
    LogEntry,
    Paused,
    Raw,
    Result,
    Retract,
    Source,
    Start,
    Status,
    StepEnd,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    TodoCreate,
    TodoDone,
    TodoItem,
    TodoUpdate,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.lifecycle import Lifecycle

Events = list[StreamEvent]

# Few, so that they meet; among them those that the lifecycle gives and those it makes of "a".
IDS = ["a", "b", "a_1", "text_1", "text_2", "thinking_1", "call_1", "step_1", ""]
SCOPES: list[tuple[str, ...]] = [(), ("a",), ("a", "b")]

texts = st.text(alphabet='ab é🙂\n"\\{}', max_size=5)
ids = st.sampled_from(IDS)
scopes = st.sampled_from(SCOPES)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)

FIELDS: dict[str, SearchStrategy[Any]] = {
    "id": st.none() | ids,
    "scope": scopes,
    "provider": st.none() | st.dictionaries(texts, json_values, max_size=1),
    "tool_call_id": st.none() | ids,
    "request_ids": st.lists(ids, max_size=2).map(tuple),
    "blocks": st.lists(ids, max_size=3).map(tuple),
}
"""Fields whose type says too little."""

TYPES: dict[Any, SearchStrategy[Any]] = {
    str: texts,
    bool: st.booleans(),
    int: st.integers(min_value=0, max_value=2**53),
    float: st.floats(min_value=0, max_value=1e9),
    type(None): st.none(),
    Any: json_values,
}


def of_type(hint: Any) -> SearchStrategy[Any]:
    """Values of a type that events are made of."""
    if hint in TYPES:
        return TYPES[hint]
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return st.one_of([of_type(part) for part in get_args(hint)])
    if get_origin(hint) is tuple:
        return st.lists(of_type(get_args(hint)[0]), max_size=3).map(tuple)
    return st.builds(hint, **fields_of(hint))


def fields_of(struct: type[Any]) -> dict[str, SearchStrategy[Any]]:
    """A strategy for each field of a Struct."""
    hints = get_type_hints(struct)
    return {
        name: FIELDS[name] if name in FIELDS else of_type(hints[name])
        for name in struct.__struct_fields__
    }


EVENTS: dict[str, SearchStrategy[StreamEvent]] = {
    name: st.builds(event_class, **fields_of(event_class)) for name, event_class in CLASSES.items()
}
"""Any event of each type."""

BUSY = [
    EventType.TEXT,
    EventType.TEXT_DELTA,
    EventType.TEXT_END,
    EventType.THINKING,
    EventType.THINKING_DELTA,
    EventType.TOOL_USE_START,
    EventType.TOOL_USE_DELTA,
    EventType.TOOL_USE_END,
    EventType.TOOL_RESULT,
]
"""The types that most of the rules are about."""


def any_event() -> SearchStrategy[StreamEvent]:
    """One event of any type."""
    return st.sampled_from([*EventType, *BUSY]).flatmap(lambda name: EVENTS[name])


def events(max_size: int = 30) -> SearchStrategy[Events]:
    """Any events in any order."""
    return st.lists(any_event(), max_size=max_size)


def endings() -> SearchStrategy[Done | None]:
    """What a run may be closed with from outside, if with anything."""
    reasons: list[Literal["cancelled", "interrupted", "lost", "error"]]
    reasons = ["cancelled", "interrupted", "lost", "error"]
    return st.none() | st.sampled_from(reasons).map(lambda reason: Done(reason=reason))


def log_of(said: Iterable[StreamEvent], done: Done | None = None) -> Events:
    """What the lifecycle logs of a run that says this."""
    lifecycle = Lifecycle("test")
    log = [entry for event in said for entry in lifecycle.feed(event)]
    return log + lifecycle.close(done)


def numbered(log: Iterable[StreamEvent]) -> list[LogEntry]:
    """The entries of a log, a tenth of a second apart."""
    return [LogEntry(seq, seq, 100 * seq, event) for seq, event in enumerate(log, 1)]


def with_unknown(log: Iterable[LogEntry], lost: set[int]) -> list[LogEntry]:
    """A log of a later version, in which some events are unknown to us."""
    unknown = Raw(raw={"type": "new"}, source="unknown event")
    return [
        LogEntry(entry.seq, entry.id, entry.ts, unknown)
        if entry.seq in lost and not isinstance(entry.event, Done)
        else entry
        for entry in log
    ]


def logs() -> SearchStrategy[list[LogEntry]]:
    """Logs of runs that have ended or wait."""
    return st.builds(log_of, events() | runs(), endings()).map(numbered)


@st.composite
def runs(draw: DrawFn, max_size: int = 8) -> Events:
    """What an agent might say: scenes one after the other, then an end or none."""
    first = draw(st.sampled_from([[], [Start(framework="test", model="m")]]))
    numbers = range(draw(st.integers(0, max_size)))
    scenes = [draw(draw(st.sampled_from(SCENES))(number)) for number in numbers]
    last = draw(st.sampled_from(ENDS))
    return [*first, *(event for scene in scenes for event in scene), *last]


@st.composite
def answer(draw: DrawFn, number: int) -> Events:
    """A text, in one piece or many, with or without a name and an end."""
    name, scope = draw(names_for(f"msg{number}")), draw(scopes)
    deltas: Events = [TextDelta(id=name, scope=scope, delta=d) for d in draw(pieces)]
    cited = draw(st.booleans())
    return [
        Text(id=name, scope=scope, content=draw(texts)),
        *deltas,
        *([Source(id=name, scope=scope, url="https://example.org")] if cited else []),
        *draw(maybe(TextEnd(id=name, scope=scope))),
    ]


@st.composite
def thought(draw: DrawFn, number: int) -> Events:
    """A thought, likewise; the end brings a signature."""
    name, scope = draw(names_for(f"idea{number}")), draw(scopes)
    deltas: Events = [ThinkingDelta(id=name, scope=scope, delta=d) for d in draw(pieces)]
    signed = ThinkingEnd(id=name, scope=scope, provider={"test": {"signature": "s"}})
    return [Thinking(id=name, scope=scope, content=draw(texts)), *deltas, *draw(maybe(signed))]


@st.composite
def call(draw: DrawFn, number: int) -> Events:
    """A tool call, maybe cut short, maybe with a question to a person."""
    name, scope = f"call{number}", draw(scopes)
    whole: Events = [
        ToolUseStart(id=name, scope=scope, name="search", server=draw(st.booleans())),
        ToolUseDelta(id=name, scope=scope, delta='{"q":'),
        ToolUseDelta(id=name, scope=scope, delta='"mobox"}'),
        ToolUseEnd(id=name, scope=scope, input={"q": "mobox"}),
        *draw(maybe(InputRequest(id=f"ask{number}", scope=scope, tool_call_id=name))),
        *draw(maybe(ToolResult(id=name, scope=scope, output="…", partial=True))),
        ToolResult(id=name, scope=scope, output=draw(json_values)),
    ]
    return whole[: draw(st.integers(1, len(whole)))] if draw(st.booleans()) else whole


@st.composite
def parallel_calls(draw: DrawFn, number: int) -> Events:
    """Two calls whose events interleave, each in its order."""
    one, other = draw(call(2 * number + 100)), draw(call(2 * number + 101))
    turns = draw(st.permutations([one] * len(one) + [other] * len(other)))
    return [events.pop() for events in turns][::-1]  # from the back, so that each keeps its order


@st.composite
def subagent(draw: DrawFn, number: int) -> Events:
    """A call that spawns an agent, which answers inside it."""
    name = f"task{number}"
    inside = [replace(event, scope=(name,)) for event in draw(answer(number))]
    return [
        ToolUseStart(id=name, name="task", kind="agent", display="agent", input={}),
        ToolUseEnd(id=name, input={}),
        SubagentStart(id=name, agent="researcher", task="look"),
        *inside,
        *draw(maybe(SubagentEnd(id=name, agent="researcher", summary="seen"))),
        *draw(maybe(ToolResult(id=name, output="seen"))),
    ]


@st.composite
def retry(draw: DrawFn, number: int) -> Events:
    """A stream that broke and is sent again."""
    broken = [*draw(answer(number)), *draw(call(number))]
    named = tuple(dict.fromkeys(event.id for event in broken if event.id is not None))
    failed = Error(message="overloaded", retryable=True)
    return [*broken, *draw(maybe(failed)), Retract(blocks=named, reason="retry"), *broken]


def lines(number: int) -> SearchStrategy[Events]:
    """Status lines and the plan."""
    plan = (TodoItem(content="look", status="in_progress"), TodoItem(content="write"))
    said: Events = [
        Status(message=f"step {number}"),
        TodoCreate(items=plan),
        TodoUpdate(items=plan),
        TodoDone(items=plan, item="look", index=0),
        TodoCreate(items=plan[1:], scope=(f"sub{number}",)),
    ]
    return st.lists(st.sampled_from(said), min_size=1, max_size=4)


def turn(number: int) -> SearchStrategy[Events]:
    """The border of a turn, with its tokens."""
    name = f"turn{number}"
    start, usage = StepStart(id=name, number=number), Usage(id=name, input=10, output=number)
    return st.sampled_from([[start], [start, usage, StepEnd(id=name)]])


def notes(number: int) -> SearchStrategy[Events]:
    """What stands beside the speech."""
    said: Events = [
        File(media_type="image/png", base64="aGk="),
        Custom(name="chart", value={"n": number}),
        Error(message="a tool failed"),
        Result(num_turns=number),
    ]
    return st.sampled_from(said).map(lambda event: [event])


def names_for(name: str) -> SearchStrategy[str | None]:
    """Some frameworks name their blocks, some do not."""
    return st.sampled_from([name, None])


def maybe(event: StreamEvent) -> SearchStrategy[Events]:
    """What some frameworks leave out."""
    return st.sampled_from([[event], []])


pieces = st.lists(texts, max_size=4)

SCENES: list[Callable[[int], SearchStrategy[Events]]] = [
    answer, thought, call, parallel_calls, subagent, retry, lines, turn, notes,
]  # fmt: skip

ENDS: list[Events] = [
    [Done(reason="stop")],
    [Done(reason="tool")],
    [Usage(per="run", input=1, output=1), Result(num_turns=1), Done(reason="stop")],
    [Error(message="died", exit_code=1)],
    [Error(message="died"), Done(reason="stop")],
    [InputRequest(id="ask", kind="question"), Paused(request_ids=("ask",))],
    [],
]
