"""Profile `document`: the frames of the event-mapping document, as it writes them."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox import LogEntry, Recorder, StreamEvent, get_formatter
from mobox.events import (
    Done,
    Error,
    File,
    Paused,
    Start,
    Status,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    TodoCreate,
    TodoItem,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.formatters import format_all
from support.recordings import each_recording, recorded_log
from support.strategies import log_of, logs, numbered

Frame = dict[str, Any]

# The fourteen types with their keys: those that must be there, and those that may.
KEYS: dict[str, tuple[set[str], set[str]]] = {
    "start": ({"messageId"}, set()),
    "text-start": ({"id"}, set()),
    "text-delta": ({"id", "delta"}, set()),
    "text-end": ({"id"}, set()),
    "reasoning-start": ({"id", "providerMetadata"}, set()),
    "reasoning-delta": ({"id", "delta"}, set()),
    "reasoning-end": ({"id"}, set()),
    "tool-input-start": ({"id", "name"}, set()),
    "tool-input-available": ({"id", "name", "input"}, set()),
    "tool-output-available": ({"id", "output"}, set()),
    "data-usage": ({"usage"}, {"isTotal"}),
    "finish": (set(), set()),
    "done": (set(), set()),
    "error": ({"error"}, set()),
}
VARIANTS = {"thinking": "thinking", "processing": "processing"}

LOST = "The server stopped while the agent was working. Everything up to here is saved."


def frames_of(log: Sequence[LogEntry]) -> list[Frame]:
    """The whole response; where the log has not ended, the run waits for an answer."""
    formatter = get_formatter("ai-sdk", "msg_1", "document")
    documents = format_all(formatter, log)
    if not isinstance(log[-1].event, Done):
        documents += formatter.pause()
    return [json.loads(document) for document in documents]


def told(*events: StreamEvent, done: Done | None = None) -> list[Frame]:
    """The frames between the first and the last two, of a run that ended well."""
    log = numbered(log_of([Start(framework="test"), *events, done or Done(reason="stop")]))
    frames = frames_of(log)
    assert frames[0] == {"type": "start", "messageId": "msg_1"}
    assert frames[-2:] == [{"type": "finish"}, {"type": "done"}]
    return frames[1:-2]


def lines_told(*lines: Frame, framework: str = "emitted") -> list[Frame]:
    recorder = Recorder(framework)
    return frames_of([*recorder.feed(lines), *recorder.close()])


def check(frames: Sequence[Frame]) -> None:
    """Fail unless these are a whole response that the document's frontend can follow."""
    assert frames[0]["type"] == "start"
    assert [frame["type"] for frame in frames[-2:]] == ["finish", "done"]
    open_blocks: set[tuple[str, str]] = set()
    numbers: Counter[str] = Counter()
    calls: dict[str, str] = {}
    for frame in frames:
        kind, keys = frame["type"], frame.keys() - {"type"}
        must, may = KEYS[kind]
        assert must <= keys <= must | may, frame
        block, _, what = kind.partition("-")
        if what == "start" and block in ("text", "reasoning"):
            name, _, number = frame["id"].rpartition("_")
            numbers[name] += 1
            assert number == str(numbers[name]), f"{frame} is not numbered on"
            assert name == "text" if block == "text" else name in VARIANTS
            if block == "reasoning":
                assert frame["providerMetadata"] == {"mobox": {"variant": VARIANTS[name]}}
            open_blocks.add((block, frame["id"]))
        elif what in ("delta", "end") and block in ("text", "reasoning"):
            assert (block, frame["id"]) in open_blocks, f"{frame} is in no open block"
            assert frame.get("delta") != ""
            if what == "end":
                open_blocks.remove((block, frame["id"]))
        elif kind == "tool-input-start":
            assert frame["id"] not in calls
            calls[frame["id"]] = frame["name"]
        elif kind == "tool-input-available":
            assert frame["name"] == calls[frame["id"]]
        elif kind == "tool-output-available":
            assert frame["id"] in calls
    assert not open_blocks, f"{open_blocks} never ended"
    assert sum(frame["type"] in ("start", "finish", "done") for frame in frames) == 3


# Any log


@given(logs())
def test_any_log_gives_only_the_fourteen_types_with_their_keys(log: list[LogEntry]) -> None:
    check(frames_of(log))


@given(logs())
def test_error_is_emitted_at_most_once_just_before_the_end(log: list[LogEntry]) -> None:
    frames = frames_of(log)
    done = log[-1].event
    failed = isinstance(done, Done) and done.reason in ("error", "lost")
    errors = [number for number, frame in enumerate(frames) if frame["type"] == "error"]
    assert errors == ([len(frames) - 3] if failed else [])


@each_recording
def test_a_recording_gives_them_too(recording: Path) -> None:
    check(frames_of(recorded_log(recording)))


def test_the_checker_knows_fourteen_types() -> None:
    assert len(KEYS) == 14


@given(logs(), st.integers(min_value=0))
def test_a_response_may_begin_after_any_entry(log: list[LogEntry], cut: int) -> None:
    formatter = get_formatter("ai-sdk", "msg_1", "document")
    place = cut % len(log)
    format_all(formatter, log[:place])
    frames = [json.loads(d) for d in [*formatter.resume(), *format_all(formatter, log[place:])]]
    if place:
        assert frames[0] == {"type": "start", "messageId": "msg_1"}
        opened = {f["id"] for f in frames if f["type"] in ("text-start", "reasoning-start")}
        assert {f["id"] for f in frames if f["type"].endswith(("-delta", "-end"))} <= opened


# The document's own examples


def test_the_document_s_start() -> None:
    assert lines_told({"type": "start", "data": {}})[0] == {"type": "start", "messageId": "msg_1"}


def test_the_document_s_text() -> None:
    deltas = [TextDelta(id="x", delta="Hello "), TextDelta(id="x", delta="world!")]
    assert told(Text(id="x"), *deltas, TextEnd(id="x")) == [
        {"type": "text-start", "id": "text_1"},
        {"type": "text-delta", "id": "text_1", "delta": "Hello "},
        {"type": "text-delta", "id": "text_1", "delta": "world!"},
        {"type": "text-end", "id": "text_1"},
    ]


def test_the_document_s_thinking() -> None:
    line = {"type": "thinking", "data": {"content": "Let me analyze..."}}
    assert lines_told(line, {"type": "done", "data": {}})[1:-2] == [
        {
            "type": "reasoning-start",
            "id": "thinking_1",
            "providerMetadata": {"mobox": {"variant": "thinking"}},
        },
        {"type": "reasoning-delta", "id": "thinking_1", "delta": "Let me analyze..."},
        {"type": "reasoning-end", "id": "thinking_1"},
    ]


def test_the_document_s_tool_calls() -> None:
    query: Frame = {"query": "AI news"}
    found: Frame = {"results": []}
    lines = [
        {"type": "tool_use", "data": {"id": "call_1", "name": "web_search", "input": query}},
        {"type": "tool_result", "data": {"tool_use_id": "call_1", "content": found}},
    ]
    assert lines_told(*lines)[1:-2] == [
        {"type": "tool-input-start", "id": "call_1", "name": "web_search"},
        {"type": "tool-input-available", "id": "call_1", "name": "web_search", "input": query},
        {"type": "tool-output-available", "id": "call_1", "output": found},
    ]


def test_the_document_s_usage() -> None:
    usage = {"input_tokens": 100, "output_tokens": 50}
    one, total, statistics = lines_told(
        {"type": "usage", "data": usage},
        {"type": "usage_total", "data": {"input_tokens": 500, "output_tokens": 60}},
        {"type": "result", "data": {"duration_ms": 45000, "num_turns": 12}},
    )[1:-2]
    assert one == {"type": "data-usage", "usage": {"inputTokens": 100, "outputTokens": 50}}
    assert total == {
        "type": "data-usage",
        "usage": {"inputTokens": 500, "outputTokens": 60},
        "isTotal": True,
    }
    assert statistics["usage"] == {**total["usage"], "durationMs": 45000, "numTurns": 12}


def test_the_document_s_completion() -> None:
    assert lines_told({"type": "done", "data": {}})[1:] == [{"type": "finish"}, {"type": "done"}]


def test_the_document_s_error() -> None:
    line = {"type": "error", "data": {"message": "Something went wrong"}}
    assert lines_told(line)[1:] == [
        {"type": "error", "error": "Something went wrong"},
        {"type": "finish"},
        {"type": "done"},
    ]


API: list[Frame] = [
    {"type": "message_start", "message": {"id": "m", "model": "claude"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Hello"},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t", "name": "ls", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'},
    },
    {"type": "content_block_stop", "index": 1},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use"},
        "usage": {"output_tokens": 5},
    },
    {"type": "message_stop"},
]
MAPPED: list[tuple[str, list[Frame], list[str]]] = [
    (
        "claude",
        API,
        [
            *("text-start", "text-delta", "text-end"),
            *("tool-input-start", "tool-input-available", "data-usage"),
        ],
    ),
    (
        "emitted",
        [
            {"type": "status", "data": {"message": "Starting"}},
            {"type": "todo_create", "data": {"items": [{"content": "a", "status": "pending"}]}},
            {"type": "subagent_start", "data": {"agent": "scout", "task": "look"}},
            {"type": "search", "data": {"id": "s", "query": "AI safety"}},
            {"type": "search_result", "data": {"count": 0, "results": []}},
            {"type": "think", "data": {"thought": "Found 3."}},
            {"type": "subagent_complete", "data": {"agent": "scout", "summary": "ok"}},
            {"type": "text", "data": {"content": "# Report"}},
        ],
        [
            *("reasoning-start", "reasoning-delta", "reasoning-delta", "reasoning-end"),
            *("reasoning-start", "reasoning-delta", "reasoning-end"),
            *("tool-input-start", "tool-input-available", "tool-output-available"),
            *("reasoning-start", "reasoning-delta", "reasoning-delta", "reasoning-end"),
            *("text-start", "text-delta", "text-end"),
        ],
    ),
]


@pytest.mark.parametrize(("framework", "lines", "types"), MAPPED, ids=[m[0] for m in MAPPED])
def test_the_document_s_mapping(framework: str, lines: list[Frame], types: list[str]) -> None:
    frames = lines_told(*lines, framework=framework)
    assert [frame["type"] for frame in frames[1:-2]] == types


# Blocks


def blocks(*events: StreamEvent) -> str:
    """What is opened and closed, in short: `+text_1 -text_1`."""
    marks = {"-start": "+", "-end": "-"}
    shown = [(frame["type"], frame.get("id")) for frame in told(*events)]
    return " ".join(
        f"{mark}{name}"
        for kind, name in shown
        for end, mark in marks.items()
        if kind.endswith(end) and not kind.startswith("tool")
    )


TRANSITIONS: list[tuple[list[StreamEvent], str]] = [
    (
        [Status(message="a"), Thinking(content="b")],
        "+processing_1 -processing_1 +thinking_1 -thinking_1",
    ),
    (
        [Thinking(content="b"), Status(message="a")],
        "+thinking_1 -thinking_1 +processing_1 -processing_1",
    ),
    (
        [Status(message="a"), Text(content="b"), Status(message="c")],
        "+processing_1 -processing_1 +text_1 -text_1 +processing_2 -processing_2",
    ),
    ([Status(message="a"), Status(message="b")], "+processing_1 -processing_1"),
    ([Thinking(content="a"), Thinking(content="b")], "+thinking_1 -thinking_1"),
    ([Text(content="a"), TextDelta(delta="b")], "+text_1 -text_1"),
    ([Status(message="a", kind="progress")], ""),
    (
        [Text(id="x", content="a"), Text(id="y", content="b"), TextEnd(id="x"), TextEnd(id="y")],
        "+text_1 +text_2 -text_1 -text_2",
    ),
    (
        [Text(id="x", content="a", scope=("t",)), TextEnd(id="x", scope=("t",))],
        "+thinking_1 -thinking_1",
    ),
    (
        [SubagentStart(id="t", agent="a"), Thinking(content="b"), SubagentEnd(id="t")],
        "+thinking_1 -thinking_1",
    ),
    ([Status(message="a"), File(media_type="image/png", url="x")], "+processing_1 -processing_1"),
]


@pytest.mark.parametrize(("events", "expected"), TRANSITIONS)
def test_one_block_closes_another(events: list[StreamEvent], expected: str) -> None:
    assert blocks(*events) == expected


def test_blocks_that_have_names_are_numbered_like_all_others() -> None:
    events = [Text(id="msg:7", content="a"), TextEnd(id="msg:7"), Text(content="b")]
    assert blocks(*events) == "+text_1 -text_1 +text_2 -text_2"


def deltas(*events: StreamEvent) -> list[str]:
    return [frame["delta"] for frame in told(*events) if "delta" in frame]


def test_lines_and_thoughts_are_set_apart() -> None:
    assert deltas(Status(message="a"), Status(message="b")) == ["a", "\nb"]
    assert deltas(Thinking(content="a"), Thinking(content="b")) == ["a", "b"]
    whole = Thinking(content="b", source="think")
    assert deltas(Thinking(content="a"), whole) == ["a", "\n\nb"]
    note = SubagentStart(id="t", agent="scout")
    assert deltas(note, Thinking(content="b"))[:2] == ["scout started", "\n\nb"]


def test_a_change_of_the_plan_is_a_line() -> None:
    assert deltas(TodoCreate(items=(TodoItem(content="cook"),))) == ["Planned 1 step: cook"]


def test_an_empty_piece_is_nothing() -> None:
    assert deltas(Text(id="x", content=""), TextDelta(id="x", delta=""), Status(message="")) == []


def test_a_thought_ends_without_its_signature() -> None:
    end = ThinkingEnd(id="x", provider={"v": {"signature": "s"}})
    frames = told(Thinking(id="x"), ThinkingDelta(id="x", delta="a"), end)
    assert frames[-1] == {"type": "reasoning-end", "id": "thinking_1"}


# Calls


def test_input_is_emitted_when_it_is_complete() -> None:
    pieces = [ToolUseDelta(id="t", delta='{"a":'), ToolUseDelta(id="t", delta="1}")]
    call = [ToolUseStart(id="t", name="ls"), *pieces, ToolUseEnd(id="t", input={"a": 1})]
    assert [frame["type"] for frame in told(*call)][:2] == [
        "tool-input-start",
        "tool-input-available",
    ]


INPUTS: list[tuple[ToolUseEnd, Any]] = [
    (ToolUseEnd(id="t", input={"a": 1}), {"a": 1}),
    (ToolUseEnd(id="t", input=0), 0),
    (ToolUseEnd(id="t"), {}),
    (ToolUseEnd(id="t", invalid='{"a"'), '{"a"'),
]


@pytest.mark.parametrize(("end", "value"), INPUTS)
def test_an_input_is(end: ToolUseEnd, value: Any) -> None:
    assert told(ToolUseStart(id="t", name="ls"), end)[1]["input"] == value


OUTPUTS: list[tuple[ToolResult, Any]] = [
    (ToolResult(id="t", output="x"), "x"),
    (ToolResult(id="t"), None),
    (ToolResult(id="t", output=[1], status="unknown"), [1]),
    (ToolResult(id="t", output="No.", status="error"), {"error": "No."}),
    (ToolResult(id="t", status="denied"), {"error": "The call was denied."}),
    (ToolResult(id="t", status="interrupted"), {"error": "The call was interrupted."}),
]


@pytest.mark.parametrize(("result", "output"), OUTPUTS)
def test_an_output_is(result: ToolResult, output: Any) -> None:
    assert told(ToolUseStart(id="t", name="ls"), result)[2]["output"] == output


# Ends

ENDINGS: list[tuple[list[StreamEvent], Done, list[str], list[str]]] = [
    ([], Done(reason="stop"), [], []),
    ([], Done(reason="cancelled"), [], []),
    ([], Done(reason="error"), [], ["The run failed."]),
    ([Error(message="a")], Done(reason="error"), [], ["a"]),
    ([Error(message="a"), Error(message="b")], Done(reason="error"), ["a"], ["b"]),
    ([Error(message="a"), Text(content="")], Done(reason="stop"), ["a"], []),
]


@pytest.mark.parametrize(("events", "done", "notices", "errors"), ENDINGS)
def test_a_run_ends(
    events: list[StreamEvent], done: Done, notices: list[str], errors: list[str]
) -> None:
    frames = told(*events, done=done)
    assert [frame["delta"] for frame in frames if "delta" in frame] == notices
    assert [frame["error"] for frame in frames if frame["type"] == "error"] == errors


def test_lost_run_is_marked_as_lost() -> None:
    frames = frames_of(numbered(log_of([], Done(reason="lost"))))
    assert frames[-3] == {
        "type": "error",
        "error": LOST,
    }


def test_a_run_that_waits_ends_its_response_and_goes_on_in_the_next() -> None:
    formatter = get_formatter("ai-sdk", "msg_1", "document")
    log = numbered(log_of([Text(id="x", content="Well?"), Paused(request_ids=())]))
    format_all(formatter, log)
    assert [json.loads(frame) for frame in formatter.resume()] == [
        {"type": "start", "messageId": "msg_1"},
        {"type": "text-start", "id": "text_1"},
    ]
    assert [json.loads(frame) for frame in formatter.pause()] == [
        {"type": "text-end", "id": "text_1"},
        {"type": "finish"},
        {"type": "done"},
    ]


def test_no_key_that_pollutes_prototypes_is_sent() -> None:
    frames = told(ToolUseStart(id="t", name="ls"), ToolUseEnd(id="t", input={"__proto__": 1}))
    assert frames[1]["input"] == {"(__proto__)": 1}
