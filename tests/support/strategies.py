"""Events for property tests, by hypothesis.

* `events()`   any events in any order: ids collide, ends come first, scopes make no sense
* `runs()`     what an agent might really say, with ids of its own or none
* `endings()`  the DONE a supervisor may close a run with, or None
* `logs()`     what the lifecycle makes of either, as the log entries that a formatter reads

The fields come from the types of the classes, so a new event or field needs nothing here, unless
its values have to collide with something: then it has a row in FIELDS.

An event, or a scene of a run, is a single draw of bytes, which `Choices` takes one by one: a draw
for each field would take several times as long as what is tested. Fewer and smaller bytes choose
what is simpler, so examples still shrink.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

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
T = TypeVar("T")

# Few, so that they meet; among them those that the lifecycle gives and those it makes of "a".
IDS = ["a", "b", "a_1", "text_1", "text_2", "thinking_1", "call_1", "step_1", ""]
SCOPES: list[tuple[str, ...]] = [(), ("a",), ("a", "b")]
ALPHABET = 'ab é🙂\n"\\{}'

LARGEST, LONGEST = 2**53, 1e9
DRAWN = 96
"""How many bytes are drawn for an event or a scene: as many as nearly all of them take."""


class Choices:
    """What was drawn, byte by byte; when all are taken, zeros, which choose what is simplest."""

    def __init__(self, drawn: bytes) -> None:
        self._left = iter(drawn)

    def below(self, count: int) -> int:
        return next(self._left, 0) % count

    def one_of(self, options: Sequence[T]) -> T:
        return options[next(self._left, 0) % len(options)]

    def some(self, most: int, make: Callable[[Choices], T]) -> list[T]:
        return [make(self) for _ in range(self.below(most + 1))]

    def maybe(self, event: StreamEvent) -> Events:
        """What some frameworks leave out."""
        return self.one_of([[event], []])

    def bytes(self, count: int) -> bytes:
        return bytes(next(self._left, 0) for _ in range(count))


Maker = Callable[[Choices], Any]


def text(of: Choices) -> str:
    return "".join(of.some(5, lambda of: of.one_of(ALPHABET)))


def name(of: Choices) -> str:
    return of.one_of(IDS)


def scope(of: Choices) -> tuple[str, ...]:
    return of.one_of(SCOPES)


def flag(of: Choices) -> bool:
    return of.one_of([False, True])


def nothing(_of: Choices) -> None:
    return None


def count(of: Choices) -> int:
    """Of no byte to seven, so that there are small ones, large ones, and the largest there is."""
    return min(LARGEST, int.from_bytes(of.bytes(of.below(8))))


def duration(of: Choices) -> float:
    return of.one_of([0.0, 0.1, 5e-324, LONGEST, count(of) % LONGEST, count(of) / (LARGEST + 1)])


def whole_number(of: Choices) -> int:
    """Mostly small, and some that no float holds."""
    return int.from_bytes(of.bytes(of.one_of([1, 1, 2, 2, 2, 4, 8, 16])), signed=True)


def real_number(of: Choices) -> float:
    """Any that JSON has; of random bits, which make very large and very small ones, and of short
    ones."""
    number: float = struct.unpack("<d", of.bytes(8))[0]
    if not math.isfinite(number):
        return 1.7976931348623157e308
    return of.one_of([number, -0.0, 0.5, 1.1, 5e-324, float(2**53), round(math.tanh(number), 3)])


def json_value(of: Choices, depth: int = 3) -> Any:
    """At most three lists or objects deep, with two values in each."""
    kind = of.below(len(SCALARS) + 2 if depth else len(SCALARS))
    if kind < len(SCALARS):
        return SCALARS[kind](of)
    inner = of.some(2, lambda of: json_value(of, depth - 1))
    return inner if kind == len(SCALARS) else {text(of): value for value in inner}


SCALARS: list[Maker] = [nothing, flag, whole_number, real_number, text]


def either(*makers: Maker) -> Maker:
    return lambda of: of.one_of(makers)(of)


def tuple_of(most: int, make: Maker) -> Maker:
    return lambda of: tuple(of.some(most, make))


FIELDS: dict[str, Maker] = {
    "id": either(nothing, name),
    "scope": scope,
    "provider": either(nothing, lambda of: {text(of): json_value(of) for _ in range(of.below(2))}),
    "tool_call_id": either(nothing, name),
    "request_ids": tuple_of(2, name),
    "blocks": tuple_of(3, name),
}
"""Fields whose type says too little."""

TYPES: dict[Any, Maker] = {
    str: text,
    bool: flag,
    int: count,
    float: duration,
    type(None): nothing,
    Any: json_value,
}


def of_type(hint: Any) -> Maker:
    """Values of a type that events are made of."""
    if hint in TYPES:
        return TYPES[hint]
    if get_origin(hint) is Literal:
        return lambda of: of.one_of(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return either(*map(of_type, get_args(hint)))
    if get_origin(hint) is tuple:
        return tuple_of(3, of_type(get_args(hint)[0]))
    return maker_of(hint)


def maker_of(struct: type[Any]) -> Maker:
    """A Struct, with any values in its fields."""
    hints = get_type_hints(struct)
    fields = {
        name: FIELDS[name] if name in FIELDS else of_type(hints[name])
        for name in struct.__struct_fields__
    }
    return lambda of: struct(**{name: make(of) for name, make in fields.items()})


def drawn(make: Callable[[Choices], T]) -> SearchStrategy[T]:
    """Whatever is made of the bytes of one draw."""
    return st.binary(min_size=DRAWN, max_size=DRAWN).map(lambda data: make(Choices(data)))


MAKERS: dict[str, Maker] = {name: maker_of(each) for name, each in CLASSES.items()}

EVENTS: dict[str, SearchStrategy[StreamEvent]] = {
    name: drawn(make) for name, make in MAKERS.items()
}
"""Any event of each type."""

json_values: SearchStrategy[Any] = drawn(json_value)
scopes = st.sampled_from(SCOPES)

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
    kinds = [MAKERS[name] for name in (*EventType, *BUSY)]
    return drawn(either(*kinds))


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


ONE_ID_FOR_TWO_BLOCKS = numbered(
    [
        Start(framework="test"),
        Thinking(id="b"),
        ThinkingEnd(id="b"),
        Text(id="b"),
        TextDelta(id="b", delta=""),
        TextEnd(id="b"),
        Done(reason="stop"),
    ]
)
"""Where the third and fourth entry are unknown, the text seems to begin inside the thought."""

THOUGHT_AFTER_NOTHING = numbered(
    [
        Start(framework="test"),
        Text(id="b"),
        TextDelta(id="b", delta=""),
        TextEnd(id="b"),
        Thinking(id="b"),
        ThinkingDelta(id="b", delta=""),
        ThinkingEnd(id="b"),
        Thinking(id="b", content="hm"),
        ThinkingEnd(id="b"),
        Done(reason="stop"),
    ]
)
"""Where the fourth and seventh entry are unknown, all of it seems to be one block."""


def logs() -> SearchStrategy[list[LogEntry]]:
    """Logs of runs that have ended or wait."""
    return st.builds(log_of, events() | runs(), endings()).map(numbered)


@st.composite
def runs(draw: DrawFn, max_size: int = 8) -> Events:
    """What an agent might say: scenes one after the other, then an end or none."""
    first, last = draw(st.sampled_from(BEGINNINGS)), draw(st.sampled_from(ENDS))
    size = draw(st.integers(0, max_size))
    scenes = draw(st.lists(st.binary(min_size=DRAWN, max_size=DRAWN), min_size=size, max_size=size))
    told = [_scene(Choices(each), number) for number, each in enumerate(scenes)]
    return [*first, *(event for scene in told for event in scene), *last]


def _scene(of: Choices, number: int) -> Events:
    return of.one_of(SCENES)(of, number)


def answer(of: Choices, number: int) -> Events:
    """A text, in one piece or many, with or without a name and an end."""
    name, where = _name(of, f"msg{number}"), scope(of)
    deltas: Events = [TextDelta(id=name, scope=where, delta=delta) for delta in of.some(4, text)]
    return [
        Text(id=name, scope=where, content=text(of)),
        *deltas,
        *of.maybe(Source(id=name, scope=where, url="https://example.org")),
        *of.maybe(TextEnd(id=name, scope=where)),
    ]


def thought(of: Choices, number: int) -> Events:
    """A thought, likewise; the end brings a signature."""
    name, where = _name(of, f"idea{number}"), scope(of)
    deltas: Events = [ThinkingDelta(id=name, scope=where, delta=d) for d in of.some(4, text)]
    signed = ThinkingEnd(id=name, scope=where, provider={"test": {"signature": "s"}})
    return [Thinking(id=name, scope=where, content=text(of)), *deltas, *of.maybe(signed)]


def call(of: Choices, number: int) -> Events:
    """A tool call, maybe cut short, maybe with a question to a person."""
    name, where = f"call{number}", scope(of)
    whole: Events = [
        ToolUseStart(id=name, scope=where, name="search", server=flag(of), frontend=flag(of)),
        ToolUseDelta(id=name, scope=where, delta='{"q":'),
        ToolUseDelta(id=name, scope=where, delta='"mobox"}'),
        ToolUseEnd(id=name, scope=where, input={"q": "mobox"}),
        *of.maybe(
            InputRequest(
                id=f"ask{number}",
                scope=where,
                tool_call_id=name,
                allowed=of.one_of(((), ("approve", "edit", "reject", "respond"))),
            )
        ),
        *of.maybe(ToolResult(id=name, scope=where, output="…", partial=True)),
        ToolResult(id=name, scope=where, output=json_value(of)),
    ]
    return whole[: 1 + of.below(len(whole))] if flag(of) else whole


def parallel_calls(of: Choices, number: int) -> Events:
    """Two calls whose events interleave, each in its order."""
    one, other = call(of, 2 * number + 100), call(of, 2 * number + 101)
    told: Events = []
    while one and other:
        told.append(of.one_of([one, other]).pop(0))
    return [*told, *one, *other]


def subagent(of: Choices, number: int) -> Events:
    """A call that spawns an agent, which answers inside it."""
    name = f"task{number}"
    inside = [replace(event, scope=(name,)) for event in answer(of, number)]
    return [
        ToolUseStart(id=name, name="task", kind="agent", display="agent", input={}),
        ToolUseEnd(id=name, input={}),
        SubagentStart(id=name, agent="researcher", task="look"),
        *inside,
        *of.maybe(SubagentEnd(id=name, agent="researcher", summary="seen")),
        *of.maybe(ToolResult(id=name, output="seen")),
    ]


def retry(of: Choices, number: int) -> Events:
    """A stream that broke and is sent again."""
    broken = [*answer(of, number), *call(of, number)]
    named = tuple(dict.fromkeys(event.id for event in broken if event.id is not None))
    failed = Error(message="overloaded", retryable=True)
    return [*broken, *of.maybe(failed), Retract(blocks=named, reason="retry"), *broken]


def lines(of: Choices, number: int) -> Events:
    """Status lines and the plan."""
    plan = (TodoItem(content="look", status="in_progress"), TodoItem(content="write"))
    said: Events = [
        Status(message=f"step {number}"),
        TodoCreate(items=plan),
        TodoUpdate(items=plan),
        TodoDone(items=plan, item="look", index=0),
        TodoCreate(items=plan[1:], scope=(f"sub{number}",)),
    ]
    return [of.one_of(said), *of.some(3, lambda of: of.one_of(said))]


def turn(of: Choices, number: int) -> Events:
    """The border of a turn, with its tokens."""
    name = f"turn{number}"
    start, usage = StepStart(id=name, number=number), Usage(id=name, input=10, output=number)
    return of.one_of([[start], [start, usage, StepEnd(id=name)]])


def notes(of: Choices, number: int) -> Events:
    """What stands beside the speech."""
    said: Events = [
        File(media_type="image/png", base64="aGk="),
        Custom(name="chart", value={"n": number}),
        Error(message="a tool failed"),
        Result(num_turns=number),
    ]
    return [of.one_of(said)]


def _name(of: Choices, name: str) -> str | None:
    """Some frameworks name their blocks, some do not."""
    return of.one_of([name, None])


SCENES: list[Callable[[Choices, int], Events]] = [
    answer, thought, call, parallel_calls, subagent, retry, lines, turn, notes,
]  # fmt: skip

BEGINNINGS: list[Events] = [[], [Start(framework="test", model="m")]]

ENDS: list[Events] = [
    [Done(reason="stop")],
    [Done(reason="tool")],
    [Usage(per="run", input=1, output=1), Result(num_turns=1), Done(reason="stop")],
    [Error(message="died", exit_code=1)],
    [Error(message="died"), Done(reason="stop")],
    [InputRequest(id="ask", kind="question"), Paused(request_ids=("ask",))],
    [],
]
