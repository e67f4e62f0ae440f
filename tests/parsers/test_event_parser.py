"""What every parser does, whatever its framework."""

import json
import pkgutil
from importlib import import_module
from typing import Any

import pytest
from msgspec import Struct, UnsetType
from msgspec.inspect import AnyType, CustomType, NoneType, StructType, UnionType, type_info

from mobox import parsers
from mobox.events import (
    JSON,
    MOST,
    Custom,
    Raw,
    Retract,
    StreamEvent,
    Text,
    Thinking,
    TodoCreate,
    TodoDone,
    TodoItem,
    ToolUseStart,
    Usage,
)
from mobox.parsers import EmittedParser, EventParser, get_parser
from mobox.parsers.claude import ClaudeParser, wire
from mobox.parsers.claude.messages import Messages


class Careless(EventParser):
    def read(self, raw: JSON) -> list[StreamEvent]:
        return [Text(content=raw["words"])]


def test_a_parser_that_raises_keeps_the_line_and_goes_on() -> None:
    parser = Careless()
    [kept] = parser.feed({"word": "typo"})
    assert kept == Raw(raw={"word": "typo"}, source="parser failed: KeyError('words')")
    assert parser.feed({"words": "fine"}) == [Text(content="fine")]


def test_a_line_that_streams_is_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> list[StreamEvent]:
        raise KeyError("words")

    stop = {"type": "message_stop"}
    monkeypatch.setattr(Messages, "LINES", {wire.MessageStop: broken})
    kept = [Raw(raw=stop, source="parser failed: KeyError('words')")]
    assert ClaudeParser().feed(stop) == kept
    assert ClaudeParser().feed_line(json.dumps(stop).encode()) == kept


def test_an_event_that_is_one_already_passes_through() -> None:
    text = Text(id="a", content="hello")
    assert EmittedParser().feed(text) == [text]
    assert EmittedParser().feed_line(b"no JSON") == [Raw(raw="no JSON", source="not JSON")]


TODOS = [{"content": "Look", "status": "pending"}, {"content": "Tell"}]
PLAN = (TodoItem(content="Look"), TodoItem(content="Tell"))


def call(name: str, **given: Any) -> JSON:
    return {"type": "tool_use", "data": {"id": "t", "name": name, "input": given}}


def test_plan_of_a_call_alone_is_emitted() -> None:
    parser = EmittedParser()
    *_, plan = parser.feed(call("write_todos", todos=TODOS))
    assert plan == TodoCreate(items=PLAN)
    done = [{"content": "Look", "status": "completed"}, {"content": "Tell"}]
    *_, plan = parser.feed(call("TodoWrite", todos=done) | {})
    assert isinstance(plan, TodoDone)
    assert plan.item == "Look"


def test_plan_emitted_by_a_line_is_not_repeated_by_the_call() -> None:
    parser = EmittedParser()
    parser.feed({"type": "todo_create", "data": {"items": TODOS}})
    assert len(parser.feed(call("write_todos", todos=TODOS))) == 2


def test_thought_is_emitted_once_by_its_line_or_its_call() -> None:
    parser = EmittedParser()
    *_, thought = parser.feed(call("think_tool", thought="Hm"))
    assert thought == Thinking(content="Hm", source="think")
    parser = EmittedParser()
    parser.feed({"type": "think", "data": {"thought": "Hm"}})
    assert len(parser.feed(call("think_tool", thought="Hm"))) == 2


def test_thought_line_after_its_call_is_skipped_once() -> None:
    line = {"type": "think", "data": {"thought": "Hm"}}
    parser = EmittedParser()
    parser.feed(call("think_tool", thought="Hm"))
    parser.feed({"type": "think", "data": {"thought": "Else"}})
    assert parser.feed(line) == []
    assert parser.feed(line) == [Thinking(content="Hm", source="think")]


@pytest.mark.parametrize("more", [{"data": {"thought": "Hm", "mood": "dark"}}, {"at": 7}])
def test_other_fields_of_such_a_line_are_kept(more: dict[str, JSON]) -> None:
    line = {"type": "think", "data": {"thought": "Hm"}, **more}
    parser = EmittedParser()
    parser.feed(call("think_tool", thought="Hm"))
    assert parser.feed(line) == [Raw(raw=line, source="told before")]


def claude(*lines: JSON) -> list[StreamEvent]:
    parser = ClaudeParser()
    return [event for line in lines for event in parser.feed_line(json.dumps(line).encode())]


def started(message: str, *content: JSON) -> list[JSON]:
    start = {"type": "message_start", "message": {"id": message, "model": "m"}}
    blocks = [
        {"type": "content_block_start", "index": index, "content_block": block}
        for index, block in enumerate(content)
    ]
    return [start, *blocks]


def test_plan_without_results_is_the_input_of_the_call() -> None:
    tool = {"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": TODOS}}
    *_, plan = claude(*started("m", tool), {"type": "content_block_stop", "index": 0})
    assert plan == TodoCreate(items=PLAN)


def test_a_message_that_broke_off_is_taken_back_when_another_follows() -> None:
    half, whole = {"type": "text", "text": "Half"}, {"type": "text", "text": "Whole"}
    events = claude(*started("a", half), *started("b", whole))
    assert [event for event in events if isinstance(event, Retract)] == [
        Retract(blocks=("a:0",), reason="retry")
    ]


def test_a_block_of_a_whole_message_that_is_not_understood_takes_no_other_along() -> None:
    content = [{"type": "text", "text": "Hello"}, {"type": "hologram"}, {"type": "text", "text": 7}]
    line = {"type": "assistant", "message": {"id": "m", "content": content}}
    told = [event for event in claude(line) if isinstance(event, Text | Raw)]
    assert told[0] == Text(id="m:0", content="Hello")
    assert told[1:]
    assert all(isinstance(event, Raw) for event in told[1:])


@pytest.mark.parametrize("count", [-1, 2**60, 10**400])
def test_a_count_that_no_client_can_count_is_kept_as_raw(count: int) -> None:
    usage = {"input_tokens": count, "cache_read_input_tokens": count}
    line = {"type": "message_start", "message": {"id": "m", "usage": usage}}
    [raw] = [event for event in claude(line) if isinstance(event, Raw)]
    assert raw.raw == usage
    assert (raw.source or "").startswith("malformed")


_CACHED = {"cache_read_input_tokens": MOST, "cache_creation_input_tokens": MOST}
_TOTALS = {"total_input_tokens": MOST, "total_tool_use_tokens": MOST, "total_thought_tokens": MOST}
USED: list[tuple[str, JSON]] = [
    ("claude", {"type": "message_start", "message": {"usage": {"input_tokens": MOST, **_CACHED}}}),
    ("claude", {"type": "result", "modelUsage": {model: {"outputTokens": MOST} for model in "ab"}}),
    ("emitted", {"type": "usage", "data": {"input_tokens": MOST, **_CACHED}}),
    ("gemini", {"event_type": "interaction.completed", "interaction": {"usage": _TOTALS}}),
]


@pytest.mark.parametrize(("framework", "line"), USED, ids=str)
def test_sums_of_counts_can_be_read_back(framework: str, line: JSON) -> None:
    [used] = [event for event in get_parser(framework).feed(line) if isinstance(event, Usage)]
    assert MOST in (used.input, used.output)
    assert StreamEvent.of("usage", used.data, id=used.id) == used


SHAPES = [
    shape
    for module in pkgutil.walk_packages(parsers.__path__, f"{parsers.__name__}.")
    if module.name.endswith("wire")
    for shape in vars(import_module(module.name)).values()
    if isinstance(shape, type) and issubclass(shape, Struct) and shape.__module__ == module.name
]


ABSENT = CustomType(UnsetType)
"""The type of a key that a line which is decoded directly must not have, not even as null."""


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.__module__}.{shape.__name__}")
def test_null_is_the_same_as_absent(shape: type[Struct]) -> None:
    told = type_info(shape)
    assert isinstance(told, StructType)
    for field in told.fields:
        if field.type == ABSENT:
            continue
        types = field.type.types if isinstance(field.type, UnionType) else (field.type,)
        may_be_null = any(isinstance(each, AnyType | NoneType) for each in types)
        assert field.required or may_be_null, field.name


NULLS: list[tuple[str, JSON, StreamEvent]] = [
    (
        "langchain",
        {
            "event": "on_custom_event",
            "run_id": "r",
            "name": None,
            "data": None,
            "metadata": None,
            "parent_ids": None,
        },
        Custom(name="custom", value={}),
    ),
    (
        "langchain",
        {"method": "custom", "params": {"data": 1, "namespace": None}},
        Custom(name="custom", value=1),
    ),
    (
        "openai",
        {"choices": [{"delta": {"executed_tools": [{"index": None, "type": None}]}}]},
        ToolUseStart(id="call_1", name="tool", kind="custom", server=True),
    ),
    (
        "smolagents",
        {"type": "FinalAnswerStep", "data": {"output": "42"}, "within": None},
        Text(id="answer", content="42"),
    ),
    (
        "claude",
        {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": None}]}},
        Text(id="m:0"),
    ),
]


@pytest.mark.parametrize(("framework", "line", "told"), NULLS, ids=str)
def test_a_line_with_nulls_is_read(framework: str, line: JSON, told: StreamEvent) -> None:
    assert told in get_parser(framework).feed(line)


UNREAD: list[tuple[str, JSON]] = [
    (
        "langchain",
        {
            "method": "lifecycle",
            "params": {"data": {"event": "started", "namespace": ["n"], "cause": {}}},
        },
    ),
    (
        "langchain",
        {
            "method": "tools",
            "params": {"data": {"event": "tool-error", "tool_call_id": "t", "code": 7}},
        },
    ),
    ("langchain", {"method": "tasks", "params": {"data": {"id": "t", "result": 7}}}),
    (
        "langchain",
        {"type": "ai", "content": "", "tool_calls": [{"name": "ls", "id": "t", "error": 7}]},
    ),
    (
        "openai",
        {
            "type": "response.output_item.added",
            "item": {"type": "message", "id": "m", "name": 7, "status": 7, "execution": 7},
        },
    ),
    ("openai", {"choices": [{"delta": {"audio": {"id": 7, "transcript": "Hello"}}}]}),
    (
        "gemini",
        {"candidates": [{"index": "0", "content": {"role": 7, "parts": [{"text": "Hello"}]}}]},
    ),
    ("gemini", {"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": 7}}),
    ("smolagents", {"type": "ActionOutput", "data": {"output": 7, "is_final_answer": None}}),
    ("smolagents", {"type": "ActionStep", "data": {"step_number": 1, "is_final_answer": None}}),
    (
        "adk",
        {"author": "a", "invocationId": 7, "content": {"parts": [{"text": "Hello"}]}},
    ),
]


@pytest.mark.parametrize(("framework", "line"), UNREAD, ids=str)
def test_unread_lines_may_be_anything(framework: str, line: JSON) -> None:
    events = get_parser(framework).feed(line)
    assert [event for event in events if isinstance(event, Raw)] == []


def test_thought_that_a_subagents_tool_prints_has_the_scope_of_its_call() -> None:
    call = {"type": "tool_use", "id": "t", "name": "think_tool", "input": {"thought": "Hm"}}
    spawn = {"type": "tool_use", "id": "s", "name": "Task", "input": {"prompt": "go"}}
    parser = get_parser("claude")
    parser.feed({"type": "assistant", "message": {"id": "m", "content": [spawn]}})
    subagent = {"id": "n", "content": [call]}
    parser.feed({"type": "assistant", "message": subagent, "parent_tool_use_id": "s"})
    [thought] = parser.feed({"type": "think", "data": {"thought": "Hm"}})
    assert thought == Thinking(content="Hm", scope=("s",), source="think")


def test_thought_with_a_scope_keeps_it() -> None:
    parser = get_parser("emitted")
    parser.feed({"type": "tool_call_start", "data": {"name": "think_tool", "scope": ["a"]}})
    [thought] = parser.feed({"type": "think", "data": {"thought": "Hm", "scope": ["b"]}})
    assert thought.scope == ("b",)
