"""The lines that agents of every framework may print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.events import (
    CLASSES,
    Custom,
    Done,
    Error,
    EventType,
    File,
    InputRequest,
    LogEntry,
    Raw,
    Result,
    Source,
    Start,
    Status,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    TextDelta,
    TextEnd,
    Thinking,
    TodoCreate,
    TodoDone,
    TodoItem,
    TodoUpdate,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
    decode,
    encode,
)
from mobox.lifecycle import Lifecycle
from mobox.parsers import EventParser
from mobox.parsers.emitted import EmittedLines
from mobox.parsers.emitted.lines import LINES

Events = list[StreamEvent]


class Parser(EventParser):
    framework = "emitted"


def line(kind: str, /, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def feed(*lines: dict[str, Any], prefix: str = "") -> Events:
    parser = Parser(prefix)
    return [event for each in lines for event in parser.feed(each)]


def kept(**unknown: Any) -> dict[str, Any]:
    return {"emitted": unknown}


# The code blocks of the event-mapping document, line by line, with its `{...}` filled in.

CLAUDE_SIMPLIFIED: list[tuple[str, Events]] = [
    (
        '{"type": "start", "data": {"prompt_preview": "..."}}',
        [Start(framework="emitted", prompt_preview="...")],
    ),
    ('{"type": "status", "data": {"message": "Analyzing..."}}', [Status(message="Analyzing...")]),
    ('{"type": "text", "data": {"content": "Hello world"}}', [TextDelta(delta="Hello world")]),
    (
        '{"type": "thinking", "data": {"content": "Let me think..."}}',
        [Thinking(content="Let me think...")],
    ),
    (
        '{"type": "think", "data": {"thought": "Key insight from reflection..."}}',
        [Thinking(content="Key insight from reflection...", source="think")],
    ),
    (
        '{"type": "tool_use", "data": {"id": "...", "name": "web_search", "input": {"q": "AI"}}}',
        [ToolUseStart(id="...", name="web_search"), ToolUseEnd(id="...", input={"q": "AI"})],
    ),
    (
        '{"type": "tool_result", "data": {"tool_use_id": "...", "content": "..."}}',
        [ToolResult(id="...", output="...")],
    ),
    (
        '{"type": "result", "data": {"session_id": "...", "duration_ms": 1234}}',
        [Result(session_id="...", duration_ms=1234)],
    ),
    ('{"type": "done", "data": {}}', [Done(reason="stop")]),
]
DEEPAGENTS: list[tuple[str, Events]] = [
    (
        '{"type": "start", "data": {"prompt_preview": "...", "architecture":'
        ' "orchestrator_subagent"}}',
        [
            Start(
                framework="emitted",
                prompt_preview="...",
                provider=kept(architecture="orchestrator_subagent"),
            )
        ],
    ),
    (
        '{"type": "status", "data": {"message": "DeepAgents Research Agent starting..."}}',
        [Status(message="DeepAgents Research Agent starting...")],
    ),
    (
        '{"type": "todo_create", "data": {"items": [{"content": "Research topic A",'
        ' "status": "pending"}]}}',
        [TodoCreate(items=(TodoItem(content="Research topic A", status="pending"),))],
    ),
    (
        '{"type": "subagent_start", "data": {"agent": "research-agent",'
        ' "task": "Research AI safety"}}',
        [SubagentStart(id="subagent_1", agent="research-agent", task="Research AI safety")],
    ),
    (
        '{"type": "search", "data": {"id": "...", "query": "AI safety 2024", "topic": "general"}}',
        [
            ToolUseStart(id="...", name="internet_search", kind="search"),
            ToolUseEnd(id="...", input={"query": "AI safety 2024", "topic": "general"}),
        ],
    ),
    (
        '{"type": "search_result", "data": {"count": 5, "results": [{"title": "...",'
        ' "url": "..."}]}}',
        [
            ToolResult(
                id="...",
                output={"results": [{"title": "...", "url": "..."}]},
                provider=kept(count=5),
            ),
            Source(id="...", url="...", title="..."),
        ],
    ),
    (
        '{"type": "think", "data": {"id": "...", "thought": "Found 3 relevant sources..."}}',
        [Thinking(content="Found 3 relevant sources...", source="think", provider=kept(id="..."))],
    ),
    (
        '{"type": "subagent_complete", "data": {"agent": "research-agent", "summary": "..."}}',
        [SubagentEnd(id="subagent_1", agent="research-agent", summary="...")],
    ),
    (
        '{"type": "text", "data": {"content": "# Research Report\\n\\n..."}}',
        [TextDelta(delta="# Research Report\n\n...")],
    ),
    (
        '{"type": "usage", "data": {"input_tokens": 1000, "output_tokens": 500}}',
        [Usage(id="usage_1", input=1000, output=500)],
    ),
    (
        '{"type": "usage_total", "data": {"input_tokens": 5000, "output_tokens": 2500}}',
        [Usage(per="run", input=5000, output=2500)],
    ),
    (
        '{"type": "result", "data": {"duration_ms": 45000, "num_turns": 12}}',
        [Result(duration_ms=45000, num_turns=12)],
    ),
    ('{"type": "done", "data": {}}', [Done(reason="stop")]),
]
OTHER_BLOCKS: list[tuple[str, Events]] = [
    (
        '{"type": "start", "data": {"model": "gpt-4"}}',
        [Start(framework="emitted", model="gpt-4")],
    ),
    (
        '{"type": "tool_result", "data": {"id": "...", "content": "..."}}',
        [ToolResult(id="...", output="...")],
    ),
    (
        '{"type": "done", "data": {"usage": {"prompt_tokens": 10, "completion_tokens": 5}}}',
        [Usage(per="run", input=10, output=5), Done(reason="stop")],
    ),
    ('{"type": "status", "data": {"message": "..."}}', [Status(message="...")]),
    ('{"type": "think", "data": {"thought": "..."}}', [Thinking(content="...", source="think")]),
    ('{"type": "text", "data": {"content": "..."}}', [TextDelta(delta="...")]),
]


@pytest.mark.parametrize("block", [CLAUDE_SIMPLIFIED, DEEPAGENTS, OTHER_BLOCKS])
def test_documents_lines_are_parsed_as_documented(block: list[tuple[str, Events]]) -> None:
    parser = Parser()
    assert [parser.feed(json.loads(raw)) for raw, _ in block] == [events for _, events in block]


# "Event Consistency Across Frameworks", with subagents as events of their own (SUBAGENT_*).
MAPPING: list[tuple[str, dict[str, Any], EventType]] = [
    ("start", {}, EventType.START),
    ("status", {"message": "a"}, EventType.STATUS),
    ("text", {"content": "a"}, EventType.TEXT_DELTA),
    ("thinking", {"content": "a"}, EventType.THINKING),
    ("think", {"thought": "a"}, EventType.THINKING),
    ("tool_use", {"name": "a"}, EventType.TOOL_USE_START),
    ("tool_call_start", {"name": "a"}, EventType.TOOL_USE_START),
    ("tool_result", {"content": "a"}, EventType.TOOL_RESULT),
    ("error", {"message": "a"}, EventType.ERROR),
    ("done", {}, EventType.DONE),
    ("subagent_spawn", {"agent": "a"}, EventType.STATUS),
    ("subagent_start", {"agent": "a"}, EventType.SUBAGENT_START),
    ("subagent_complete", {"id": "a"}, EventType.SUBAGENT_END),
    ("search", {"query": "a"}, EventType.TOOL_USE_START),
    ("search_result", {"results": []}, EventType.TOOL_RESULT),
    ("todos", {"items": []}, EventType.TODO_CREATE),
    ("todo_create", {"items": []}, EventType.TODO_CREATE),
    ("todo_update", {"items": []}, EventType.TODO_UPDATE),
    ("todo_done", {"item": "a"}, EventType.TODO_DONE),
    ("usage", {}, EventType.USAGE),
    ("usage_total", {}, EventType.USAGE),
    ("result", {}, EventType.RESULT),
]


def test_the_lines_are_those_of_the_documents_tables() -> None:
    emitted = [(kind, data, feed(line(kind, **data))[0].type) for kind, data, _ in MAPPING]
    assert emitted == MAPPING
    assert {kind for kind, _, _ in MAPPING} == LINES.keys()


RULES: list[tuple[str, list[dict[str, Any]], Events]] = [
    # What a line is
    ("data must be there", [{"type": "done"}], [Raw(raw={"type": "done"})]),
    (
        "null is no data",
        [{"type": "done", "data": None}],
        [Raw(raw={"type": "done", "data": None})],
    ),
    ("a list is no data", [{"type": "text", "data": []}], [Raw(raw={"type": "text", "data": []})]),
    (
        "an unknown type is the framework's",
        [line("unknown", a=1)],
        [Raw(raw={"type": "unknown", "data": {"a": 1}})],
    ),
    ("a type must be a word", [{"type": [], "data": {}}], [Raw(raw={"type": [], "data": {}})]),
    (
        "what stands beside data is kept",
        [{"type": "status", "data": {"message": "a"}, "ts": 1}],
        [Status(message="a", provider={"emitted_line": {"ts": 1}})],
    ),
    # Text and thoughts share blocks, so they have no ids
    ("text", [line("text", content="a", id="t1")], [TextDelta(delta="a", provider=kept(id="t1"))]),
    (
        "thinking",
        [line("thinking", content="a", id="t1", signature="s")],
        [Thinking(content="a", provider=kept(id="t1", signature="s"))],
    ),
    (
        "a thought's own source",
        [line("thinking", content="a", source="reflect")],
        [Thinking(content="a", source="reflect")],
    ),
    (
        "status kind",
        [line("status", message="a", kind="retry")],
        [Status(message="a", kind="retry")],
    ),
    (
        "a word that is not ours is kept",
        [line("status", message="a", kind="banner")],
        [Status(message="a", provider=kept(kind="banner"))],
    ),
    # Null is the same as absent
    ("null", [line("start", model=None, x=None)], [Start(framework="emitted")]),
    ("an agent knows its framework", [line("start", framework="crew")], [Start(framework="crew")]),
    # Whose words a line carries
    ("scope", [line("text", content="a", scope=["c1"])], [TextDelta(delta="a", scope=("c1",))]),
    (
        "another scope",
        [line("search", id="s", query="q", scope="web")],
        [
            ToolUseStart(id="s", name="internet_search", kind="search", provider=kept(scope="web")),
            ToolUseEnd(id="s", input={"query": "q"}),
        ],
    ),
    # Tool calls
    (
        "ids of calls are counted",
        [
            line("tool_use", name="a"),
            line("search", query="q"),
            line("tool_use", name="b", input=1),
        ],
        [
            ToolUseStart(id="call_1", name="a"),
            ToolUseEnd(id="call_1"),
            ToolUseStart(id="call_2", name="internet_search", kind="search"),
            ToolUseEnd(id="call_2", input={"query": "q"}),
            ToolUseStart(id="call_3", name="b"),
            ToolUseEnd(id="call_3", input=1),
        ],
    ),
    (
        "a counted id is not one that is open",
        [line("tool_call_start", id="call_1", name="a"), line("tool_call_start", name="b")],
        [ToolUseStart(id="call_1", name="a"), ToolUseStart(id="call_2", name="b")],
    ),
    ("a numeric id", [line("tool_result", id=7, content=1)], [ToolResult(id="7", output=1)]),
    (
        "tool_use after its start brings only the input",
        [line("tool_call_start", id="c", name="a"), line("tool_use", id="c", name="a", input={})],
        [ToolUseStart(id="c", name="a"), ToolUseEnd(id="c", input={})],
    ),
    (
        "and its other fields are kept",
        [
            line("tool_call_start", id="c", name="a"),
            line("tool_use", id="c", name="b", kind="code"),
        ],
        [ToolUseStart(id="c", name="a"), ToolUseEnd(id="c", provider=kept(name="b", kind="code"))],
    ),
    (
        "all of it",
        [
            line("tool_call_start", id="c", name="a", kind="code"),
            line(
                "tool_use",
                id="c",
                name="a",
                server=True,
                frontend=True,
                display="todos",
                scope=["s"],
            ),
        ],
        [
            ToolUseStart(id="c", name="a", kind="code"),
            ToolUseEnd(
                id="c", provider=kept(server=True, frontend=True, display="todos", scope=["s"])
            ),
        ],
    ),
    (
        "a call that the page runs",
        [line("tool_use", id="c", name="a", frontend=True)],
        [ToolUseStart(id="c", name="a", frontend=True), ToolUseEnd(id="c")],
    ),
    (
        "the name of a frontend is another field",
        [line("tool_use", id="c", name="a", frontend="web")],
        [ToolUseStart(id="c", name="a", provider=kept(frontend="web")), ToolUseEnd(id="c")],
    ),
    (
        "a plan is emitted however its call started",
        [
            line("tool_call_start", id="c", name="write_todos"),
            line("tool_use", id="c", name="write_todos", input={"todos": [{"content": "x"}]}),
        ],
        [
            ToolUseStart(id="c", name="write_todos", display="todos"),
            ToolUseEnd(id="c", input={"todos": [{"content": "x"}]}),
            TodoCreate(items=(TodoItem(content="x"),)),
        ],
    ),
    (
        "and so is a thought, in the scope of its call",
        [
            line("tool_call_start", id="c", name="think_tool", scope=["s"]),
            line("tool_use", id="c", name="think_tool", input={"thought": "hm"}),
            line("tool_use", id="d", name="think_tool", input={"thought": "ah"}, scope=["s"]),
        ],
        [
            ToolUseStart(id="c", scope=("s",), name="think_tool", display="think"),
            ToolUseEnd(id="c", scope=("s",), input={"thought": "hm"}),
            Thinking(scope=("s",), content="hm", source="think"),
            ToolUseStart(id="d", scope=("s",), name="think_tool", display="think"),
            ToolUseEnd(id="d", scope=("s",), input={"thought": "ah"}),
            Thinking(scope=("s",), content="ah", source="think"),
        ],
    ),
    *(
        (
            f"a plan of another shape does not cost its call: {todos}",
            [
                line("tool_use", id="a", name="ls"),
                line("tool_use", name="write_todos", input={"todos": todos}),
                line("tool_result", id="a", content=1),
                line("tool_result", content=2),
            ],
            [
                ToolUseStart(id="a", name="ls"),
                ToolUseEnd(id="a"),
                ToolUseStart(id="call_1", name="write_todos", display="todos"),
                ToolUseEnd(id="call_1", input={"todos": todos}),
                ToolResult(id="a", output=1),
                ToolResult(id="call_1", output=2),
            ],
        )
        for todos in ('["x"]', [{"task": "x"}], 7)
    ),
    (
        "a start may carry the input",
        [
            line("tool_call_start", id="c", name="a", args={"x": 1}),
            line("tool_use", id="c", name="a"),
        ],
        [ToolUseStart(id="c", name="a", input={"x": 1}), ToolUseEnd(id="c", input={"x": 1})],
    ),
    (
        "without ids the name decides",
        [line("tool_call_start", name="a"), line("tool_use", name="a", input=1)],
        [ToolUseStart(id="call_1", name="a"), ToolUseEnd(id="call_1", input=1)],
    ),
    (
        "a call that is used again is another call",
        [line("tool_use", id="c", name="a"), line("tool_use", id="c", name="a")],
        [ToolUseStart(id="c", name="a"), ToolUseEnd(id="c")] * 2,
    ),
    (
        "a result without an id answers the oldest open call",
        [
            line("tool_use", id="a", name="x"),
            line("tool_use", id="b", name="y"),
            line("tool_result", tool_use_id="a", content=1),
            line("tool_result", content=2),
        ],
        [
            ToolUseStart(id="a", name="x"),
            ToolUseEnd(id="a"),
            ToolUseStart(id="b", name="y"),
            ToolUseEnd(id="b"),
            ToolResult(id="a", output=1),
            ToolResult(id="b", output=2),
        ],
    ),
    ("or what the lifecycle finds", [line("tool_result", content=2)], [ToolResult(output=2)]),
    (
        "tool_use_id is the call, id may be the result's own",
        [line("tool_result", id="r", tool_use_id="c", content="x")],
        [ToolResult(id="c", output="x", provider=kept(id="r"))],
    ),
    (
        "is_error",
        [line("tool_result", id="c", content="x", is_error=True)],
        [ToolResult(id="c", output="x", status="error")],
    ),
    ("not is_error", [line("tool_result", id="c", is_error=False)], [ToolResult(id="c")]),
    (
        "a status takes precedence over is_error",
        [line("tool_result", id="c", status="denied", is_error=True)],
        [ToolResult(id="c", status="denied", provider=kept(is_error=True))],
    ),
    (
        "a partial result leaves the call open",
        [line("tool_result", id="c", content=1, partial=True), line("tool_result", content=2)],
        [ToolResult(id="c", output=1, partial=True), ToolResult(output=2)],
    ),
    (
        "calls that other lines repeat are marked",
        [
            line("tool_call_start", id=name, name=name)
            for name in ("write_todos", "think_tool", "task")
        ],
        [
            ToolUseStart(id="write_todos", name="write_todos", display="todos"),
            ToolUseStart(id="think_tool", name="think_tool", display="think"),
            ToolUseStart(id="task", name="task", display="agent"),
        ],
    ),
    # Searches
    (
        "search results close the oldest search, tool results the oldest other call",
        [
            line("search", id="s1", query="a"),
            line("search", id="s2", query="b"),
            line("tool_use", id="t", name="x"),
            line("search_result", results=[]),
            line("tool_result", content=1),
            line("tool_result", content=2),
        ],
        [
            ToolUseStart(id="s1", name="internet_search", kind="search"),
            ToolUseEnd(id="s1", input={"query": "a"}),
            ToolUseStart(id="s2", name="internet_search", kind="search"),
            ToolUseEnd(id="s2", input={"query": "b"}),
            ToolUseStart(id="t", name="x"),
            ToolUseEnd(id="t"),
            ToolResult(id="s1", output={"results": []}),
            ToolResult(id="t", output=1),
            ToolResult(id="s2", output=2),
        ],
    ),
    (
        "a search is named by its id",
        [line("search", id="a", query="q"), line("search_result", id="b", results=None)],
        [
            ToolUseStart(id="a", name="internet_search", kind="search"),
            ToolUseEnd(id="a", input={"query": "q"}),
            ToolResult(id="b", output={"results": None}),
        ],
    ),
    (
        "only what has an address is a source",
        [
            line(
                "search_result",
                results=[{"url": "u", "score": 0.5, "title": 3}, {"title": "t"}, "s"],
            )
        ],
        [
            ToolResult(
                id="call_1",
                output={"results": [{"url": "u", "score": 0.5, "title": 3}, {"title": "t"}, "s"]},
            ),
            Source(id="call_1", url="u", score=0.5),
        ],
    ),
    (
        "a failed search",
        [line("search_result", id="s", results="no network", is_error=True)],
        [ToolResult(id="s", output={"results": "no network"}, status="error")],
    ),
    # Subagents
    (
        "spawn is a status line",
        [line("subagent_spawn", agent="researcher", description="AI safety", depth=1)],
        [
            Status(
                message="Spawning researcher: AI safety",
                provider=kept(agent="researcher", task="AI safety", depth=1),
            )
        ],
    ),
    (
        "spawn in its own words",
        [line("subagent_spawn", message="Off they go", agent="a"), line("subagent_spawn")],
        [
            Status(message="Off they go", provider=kept(agent="a")),
            Status(message="Spawning subagent"),
        ],
    ),
    (
        "complete ends the oldest of that name",
        [
            line("subagent_start", agent="a", task="1"),
            line("subagent_start", agent="b"),
            line("subagent_start", agent="a", task="2"),
            line("subagent_complete", agent="b", is_error=True),
            line("subagent_complete", agent="a", summary="one"),
            line("subagent_complete", summary="two"),
        ],
        [
            SubagentStart(id="subagent_1", agent="a", task="1"),
            SubagentStart(id="subagent_2", agent="b"),
            SubagentStart(id="subagent_3", agent="a", task="2"),
            SubagentEnd(id="subagent_2", agent="b", status="error"),
            SubagentEnd(id="subagent_1", agent="a", summary="one"),
            SubagentEnd(id="subagent_3", agent="a", summary="two"),
        ],
    ),
    (
        "complete without start is still emitted",
        [line("subagent_complete", agent="a", summary="s"), line("subagent_complete", summary="t")],
        [
            SubagentStart(id="subagent_1", agent="a"),
            SubagentEnd(id="subagent_1", agent="a", summary="s"),
            SubagentStart(id="subagent_2", agent="subagent"),
            SubagentEnd(id="subagent_2", summary="t"),
        ],
    ),
    (
        "a subagent's own id",
        [line("subagent_start", id="t1", agent="a"), line("subagent_complete", id="t1")],
        [SubagentStart(id="t1", agent="a"), SubagentEnd(id="t1", agent="a")],
    ),
    # The plan
    (
        "items in every shape",
        [
            line(
                "todos",
                todos=[
                    "a",
                    {"title": "b", "status": "in_progress", "activeForm": "Doing b"},
                    {"text": "c", "status": "completed"},
                ],
            )
        ],
        [
            TodoCreate(
                items=(
                    TodoItem(content="a"),
                    TodoItem(content="b", status="in_progress", active_form="Doing b"),
                    TodoItem(content="c", status="completed"),
                )
            )
        ],
    ),
    (
        "items with more fields are kept as they came",
        [line("todo_update", items=[{"content": "a", "status": "blocked", "owner": "x"}])],
        [
            TodoUpdate(
                items=(TodoItem(content="a"),),
                provider=kept(items=[{"content": "a", "status": "blocked", "owner": "x"}]),
            )
        ],
    ),
    (
        "done by name, by index, and by both",
        [
            line("todo_create", items=["a", "b", "c"]),
            line("todo_done", item="b"),
            line("todo_done", index=0),
            line("todo_done", item={"content": "c"}, index=3),
        ],
        [
            TodoCreate(items=tuple(TodoItem(content=c) for c in "abc")),
            TodoDone(
                items=(
                    TodoItem(content="a"),
                    TodoItem(content="b", status="completed"),
                    TodoItem(content="c"),
                ),
                item="b",
            ),
            TodoDone(
                items=(
                    TodoItem(content="a", status="completed"),
                    TodoItem(content="b", status="completed"),
                    TodoItem(content="c"),
                ),
                item="a",
                index=0,
            ),
            TodoDone(
                items=tuple(TodoItem(content=c, status="completed") for c in "abc"),
                item="c",
                index=3,
                provider=kept(item={"content": "c"}),
            ),
        ],
    ),
    (
        "a name counts for more than an index",
        [line("todo_create", items=["a", "b"]), line("todo_done", item="a", index=1)],
        [
            TodoCreate(items=(TodoItem(content="a"), TodoItem(content="b"))),
            TodoDone(
                items=(TodoItem(content="a", status="completed"), TodoItem(content="b")),
                item="a",
                index=1,
            ),
        ],
    ),
    (
        "of two with one name the index decides",
        [line("todo_create", items=["a", "a"]), line("todo_done", item="a", index=1)],
        [
            TodoCreate(items=(TodoItem(content="a"), TodoItem(content="a"))),
            TodoDone(
                items=(TodoItem(content="a"), TodoItem(content="a", status="completed")),
                item="a",
                index=1,
            ),
        ],
    ),
    (
        "done with a list of its own",
        [line("todo_done", item="a", items=[{"content": "a", "status": "completed"}, "b"])],
        [
            TodoDone(
                items=(TodoItem(content="a", status="completed"), TodoItem(content="b")), item="a"
            )
        ],
    ),
    (
        "an unknown item is added",
        [line("todo_done", item="a"), line("todo_update")],
        [
            TodoDone(items=(TodoItem(content="a", status="completed"),), item="a"),
            TodoUpdate(items=(TodoItem(content="a", status="completed"),)),
        ],
    ),
    ("done with nothing", [line("todo_done", index=4)], [TodoDone(index=4)]),
    (
        "a subagent's plan is its own",
        [
            line("todos", items=["a"]),
            line("todos", items=["b"], scope=["t"]),
            line("tool_use", id="w", name="write_todos", input={"todos": ["c"]}, scope=["t"]),
            line("todo_done", item="a"),
        ],
        [
            TodoCreate(items=(TodoItem(content="a"),)),
            TodoCreate(items=(TodoItem(content="b"),), scope=("t",)),
            ToolUseStart(id="w", name="write_todos", display="todos", scope=("t",)),
            ToolUseEnd(id="w", input={"todos": ["c"]}, scope=("t",)),
            TodoUpdate(items=(TodoItem(content="c"),), scope=("t",)),
            TodoDone(items=(TodoItem(content="a", status="completed"),), item="a"),
        ],
    ),
    # Usage
    (
        "Anthropic counts the cache beside the input",
        [
            line(
                "usage",
                input_tokens=10,
                output_tokens=5,
                cache_read_input_tokens=100,
                cache_creation_input_tokens=20,
            )
        ],
        [Usage(id="usage_1", input=130, output=5, cache_read=100, cache_write=20)],
    ),
    (
        "OpenAI counts it in",
        [
            line(
                "usage",
                prompt_tokens=100,
                completion_tokens=5,
                total_tokens=105,
                prompt_tokens_details={"cached_tokens": 80, "audio_tokens": 0},
                completion_tokens_details={"reasoning_tokens": 3},
            )
        ],
        [
            Usage(
                id="usage_1",
                input=100,
                output=5,
                total=105,
                cache_read=80,
                reasoning=3,
                provider={"emitted": {"prompt_tokens_details.audio_tokens": 0}},
            )
        ],
    ),
    (
        "LangChain counts it in",
        [line("usage", input_tokens=100, output_tokens=5, input_token_details={"cache_read": 80})],
        [Usage(id="usage_1", input=100, output=5, cache_read=80)],
    ),
    (
        "each call counts by itself",
        [line("usage", input_tokens=1), line("usage", id="msg_1"), line("usage", input_tokens="2")],
        [Usage(id="usage_1", input=1), Usage(id="msg_1"), Usage(id="usage_2", input=2)],
    ),
    (
        "cost",
        [line("usage_total", input=1, output=2, cost=0.5, model="m")],
        [Usage(per="run", input=1, output=2, cost_usd=0.5, model="m")],
    ),
    (
        "a cost that is no number",
        [line("usage_total", cost="nan"), line("result", cost="inf")],
        [Usage(per="run", provider=kept(cost="nan")), Result(provider=kept(cost="inf"))],
    ),
    # The end
    (
        "result",
        [line("result", result="42", total_cost_usd=0.1, is_error=True, usage={"input": 1})],
        [Usage(per="run", input=1), Result(text="42", cost_usd=0.1, is_error=True)],
    ),
    ("error message", [line("error", message="a", code=500)], [Error(message="a", code="500")]),
    (
        "error error",
        [line("error", error="a", content="b")],
        [Error(message="a", provider=kept(content="b"))],
    ),
    ("error content", [line("error", content="a")], [Error(message="a")]),
    (
        "error object",
        [line("error", error={"message": "a", "type": "overloaded", "x": 1})],
        [Error(message="a", code="overloaded", provider={"emitted": {"error.x": 1}})],
    ),
    ("a reason", [line("done", reason="max_turns")], [Done(reason="max_turns")]),
    ("their reason", [line("done", reason="end_turn")], [Done(reason="stop", native="end_turn")]),
    (
        "both reasons",
        [line("done", reason="length", stop_reason="max_tokens", usage=None)],
        [Done(reason="length", native="max_tokens")],
    ),
    # Our own vocabulary
    ("text_delta", [line("text_delta", delta="a", id="t")], [TextDelta(id="t", delta="a")]),
    ("custom", [line("custom", name="chart", value=[1])], [Custom(name="chart", value=[1])]),
    (
        "source",
        [line("source", url="u", id="c", rank=1)],
        [Source(id="c", url="u", provider=kept(rank=1))],
    ),
    (
        "file",
        [line("file", media_type="image/png", url="u")],
        [File(media_type="image/png", url="u")],
    ),
    ("step", [line("step_start", kind="node", name="n")], [StepStart(kind="node", name="n")]),
    (
        "request",
        [line("input_request", id="r", prompt="?", type="x")],
        [InputRequest(id="r", prompt="?", provider=kept(type="x"))],
    ),
    (
        "our own tool events count as open calls",
        [
            line("tool_use_start", id="c", name="a"),
            line("tool_use_delta", id="c", delta="{}"),
            line("tool_use", id="c", name="a", input={}),
            line("tool_result", output="x"),
        ],
        [
            ToolUseStart(id="c", name="a"),
            ToolUseDelta(id="c", delta="{}"),
            ToolUseEnd(id="c", input={}),
            ToolResult(id="c", output="x"),
        ],
    ),
    (
        "and those without an id are the lifecycle's to name",
        [
            line("tool_use_end", input=0),
            line("tool_use_start", name="a"),
            line("tool_use", name="a", input=1),
            line("tool_result", output="x"),
            line("tool_result", output="y"),
        ],
        [
            ToolUseEnd(input=0),
            ToolUseStart(name="a"),
            ToolUseEnd(input=1),
            ToolResult(output="x"),
            ToolResult(output="y"),
        ],
    ),
    (
        "a part of LangGraph is none of ours",
        [{"type": "custom", "ns": [], "data": {"name": "x"}}],
        [Raw(raw={"type": "custom", "ns": [], "data": {"name": "x"}})],
    ),
]


@pytest.mark.parametrize(("lines", "events"), [pytest.param(*r[1:], id=r[0]) for r in RULES])
def test_a_rule(lines: list[dict[str, Any]], events: Events) -> None:
    assert feed(*lines) == events


MALFORMED = [
    line("text"),
    line("text", content=None),
    line("text", content=["a"]),
    line("status"),
    line("tool_use", id="a"),
    line("tool_use", id={}, name="a"),
    line("search", topic="general"),
    line("subagent_start", task="x"),
    line("todos", items="a"),
    line("todos", items=[1]),
    line("todos", items=[{"status": "pending"}]),
    line("todo_done", item={"status": "completed"}),
    line("usage", input_tokens="many"),
    line("usage", input_tokens=1.5),
    line("usage", cache_read_input_tokens=[], input_tokens=1),
    line("done", reason=5),
    line("error"),
    line("custom", value=1),
    line("custom", name="a", provider={"emitted": 1}, x=1),
    line("text_delta", delta=5),
    line("source", url="u", provider="google"),
]


@pytest.mark.parametrize("malformed", MALFORMED, ids=json.dumps)
def test_a_line_of_the_wrong_shape_is_raw(malformed: dict[str, Any]) -> None:
    (event,) = feed(malformed)
    assert isinstance(event, Raw)
    assert event.raw == malformed
    assert str(event.source).startswith("malformed: ")


def test_malformed_usage_does_not_lose_the_end() -> None:
    usage: dict[str, Any] = {"input_tokens": {}}
    raw, done = feed(line("done", usage=usage))
    assert isinstance(raw, Raw)
    assert (raw.raw, str(raw.source)[:9]) == (usage, "malformed")
    assert done == Done(reason="stop")


def test_a_malformed_line_changes_nothing() -> None:
    parser = Parser()
    for malformed in MALFORMED:
        parser.feed(malformed)
    (start, _) = parser.feed(line("tool_use", name="a"))
    assert start.id == "call_1"
    assert parser.feed(line("todo_update")) == [TodoUpdate()]


def test_ids_that_are_made_up_start_with_the_prefix() -> None:
    events = feed(
        line("tool_use", name="a"),
        line("search", query="q"),
        line("subagent_start", agent="a"),
        line("usage"),
        line("tool_use", id="own", name="a"),
        prefix="2.",
    )
    assert list(dict.fromkeys(event.id for event in events)) == [
        "2.call_1",
        "2.call_2",
        "2.subagent_1",
        "2.usage_1",
        "own",
    ]


def test_a_run_starts_with_the_framework_of_its_parser() -> None:
    lines = EmittedLines(framework="claude")
    assert lines.read(line("start")) == [Start(framework="claude")]


def test_every_event_type_can_be_a_line() -> None:
    lines = EmittedLines()
    assert all(lines.knows({"type": kind.value, "data": {}}) for kind in EventType)


def test_event_emitted_as_itself_is_that_event() -> None:
    events: Events = [
        TextEnd(id="t", interrupted=True, scope=("c",)),
        InputRequest(id="r", kind="question", options=["a", "b"]),
        Custom(name="chart", value={"x": [1]}, provider={"vendor": {"a": 1}}),
    ]
    lines = EmittedLines()
    for event in events:
        built = msgspec.to_builtins(event)
        kind = built.pop("type")
        assert lines.read({"type": kind, "data": built}) == [event]


# Properties

WORDS = sorted(
    {name for form in LINES.values() for names in form.names.values() for name in names}
    | {field for event in CLASSES.values() for field in event.__struct_fields__}
    | {"usage", "error", "input_token_details", "title", "activeForm", "x"}
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=4), inner, max_size=5)


scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | objects(inner), max_leaves=8
)
likely = st.sampled_from(["a", "b", "ok", "error", "completed", "12", "true", "stop", "nan", ""])
data = st.dictionaries(st.sampled_from(WORDS), likely | st.integers(0, 9) | values, max_size=6)
kinds = st.sampled_from(sorted(LINES.keys() | set(EventType)))
any_lines = st.builds(lambda kind, data: {"type": kind, "data": data}, kinds, data)


@given(st.lists(any_lines, max_size=12))
def test_no_line_raises_and_every_event_can_be_stored(lines: list[dict[str, Any]]) -> None:
    events = feed(*lines)
    entries = [LogEntry(seq=n, id=n, ts=None, event=e) for n, e in enumerate(events, 1)]
    assert [decode(encode(entry)) for entry in entries] == entries


@given(st.lists(any_lines, max_size=12))
def test_any_lines_give_a_complete_log(lines: list[dict[str, Any]]) -> None:
    lifecycle = Lifecycle("emitted")
    emitted = [event for parsed in feed(*lines) for event in lifecycle.feed(parsed)]
    emitted += lifecycle.close(Done(reason="stop"))
    assert (emitted[0].type, emitted[-1].type) == (EventType.START, EventType.DONE)


@given(any_lines)
def test_nothing_of_a_line_is_lost(each: dict[str, Any]) -> None:
    events = feed(each)
    emitted = {
        meaning for event in events for leaf in values_of(event) for meaning in meanings(leaf)
    }
    for leaf in leaves(each["data"]):
        assert not emitted.isdisjoint(meanings(leaf)), (leaf, events)


def values_of(event: StreamEvent) -> Iterator[Any]:
    yield from leaves(msgspec.structs.asdict(event))
    yield event.type
    if isinstance(event, ToolResult | SubagentEnd):
        yield event.status == "error"  # is_error
    if isinstance(event, Usage):  # its input holds the cache, which Anthropic counts beside it
        for cached in (event.cache_read, event.cache_write):
            yield event.input - (cached or 0)
        yield event.input - (event.cache_read or 0) - (event.cache_write or 0)


def leaves(value: Any) -> Iterator[Any]:
    """The scalars within; null is absent."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    elif value is not None:
        yield value


def meanings(leaf: Any) -> set[Any]:
    """A leaf, and the number it may have been read as."""
    spelled = {"true": 1, "false": 0}.get(leaf.lower(), leaf) if isinstance(leaf, str) else leaf
    try:
        return {leaf, str(leaf), float(spelled)}
    except ValueError:
        return {leaf}
