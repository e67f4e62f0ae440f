"""The Claude parser on the Messages API's stream: what each line means, and that none is fatal."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobox import LogEntry, Recorder, StreamEvent, get_formatter, get_parser
from mobox.capture.jsonlines import JsonLines
from mobox.events import (
    Done,
    DoneReason,
    Error,
    File,
    Raw,
    Retract,
    Source,
    Start,
    Status,
    StepEnd,
    StepStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from support.grammar_ai_sdk import check_ai_sdk
from support.grammar_log import legal_log

Line = dict[str, Any]
Lines = list[Line]
Events = list[StreamEvent]

FOLDER = Path(__file__).parent.parent / "recordings" / "claude"


def message(name: str | None = "m", **usage: Any) -> Line:
    about: Line = {
        "id": name,
        "model": "claude",
        "role": "assistant",
        "content": [],
        "usage": usage,
    }
    return {"type": "message_start", "message": about}


def start(index: int, kind: str, **block: Any) -> Line:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **block}}


def delta(index: int, kind: str, **change: Any) -> Line:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **change}}


def stop(index: int) -> Line:
    return {"type": "content_block_stop", "index": index}


def ending(reason: str | None = "end_turn", **about: Any) -> Lines:
    change = {"type": "message_delta", "delta": {"stop_reason": reason, **about}}
    return [change, {"type": "message_stop"}]


def fed(*lines: Any, prefix: str = "") -> Events:
    """The events of these lines, before the source ends."""
    parser = get_parser("claude", prefix)
    return [event for line in lines for event in parser.feed(line)]


def parse(*lines: Line) -> Events:
    """What the blocks of one message mean."""
    return fed(message("m"), *lines)[2:]


def closed(*lines: Line) -> Events:
    """What the parser adds when the source ends after these lines."""
    parser = get_parser("claude")
    for line in lines:
        parser.feed(line)
    return parser.close()


def log_of(*lines: Line) -> list[LogEntry]:
    recorder = Recorder("claude")
    return recorder.feed(lines) + recorder.close()


def events_of(log: Sequence[LogEntry]) -> Events:
    return [entry.event for entry in log]


# Blocks

CITED = {"type": "page_location", "cited_text": "x", "document_index": 0, "document_title": "Doc"}
BLOCKS: list[tuple[str, Lines, Events]] = [
    (
        "text",
        [start(0, "text", text=""), delta(0, "text_delta", text="Hi"), stop(0)],
        [Text(id="m:0"), TextDelta(id="m:0", delta="Hi"), TextEnd(id="m:0")],
    ),
    (
        "text that is there from the start, with what it cites",
        [start(0, "text", text="Hi", citations=[CITED]), stop(0)],
        [
            Text(id="m:0", content="Hi"),
            Source(
                id="m:0",
                document="Doc",
                title="Doc",
                cited_text="x",
                location={"type": "page_location", "document_index": 0},
            ),
            TextEnd(id="m:0"),
        ],
    ),
    (
        "thinking with its signature in pieces",
        [
            *(start(0, "thinking", thinking="", signature=""),),
            *(delta(0, "thinking_delta", thinking="Hm", estimated_tokens=1),),
            *(delta(0, "signature_delta", signature=text) for text in ("Eq", "QB")),
            *(stop(0),),
        ],
        [
            Thinking(id="m:0"),
            ThinkingDelta(id="m:0", delta="Hm"),
            ThinkingEnd(id="m:0", provider={"anthropic": {"signature": "EqQB"}}),
        ],
    ),
    (
        "thinking that is there from the start",
        [start(0, "thinking", thinking="Hm", signature="Eq"), stop(0)],
        [
            Thinking(id="m:0", content="Hm"),
            ThinkingEnd(id="m:0", provider={"anthropic": {"signature": "Eq"}}),
        ],
    ),
    (
        "redacted thinking",
        [start(0, "redacted_thinking", data="Emw"), stop(0)],
        [
            Thinking(id="m:0", redacted=True),
            ThinkingEnd(id="m:0", provider={"anthropic": {"redacted_data": "Emw"}}),
        ],
    ),
    (
        "a tool whose input streams, the first piece being empty",
        [
            *(start(0, "tool_use", id="t", name="ls", input={}, caller={"type": "direct"}),),
            *(delta(0, "input_json_delta", partial_json=text) for text in ("", '{"a":', " 1}")),
            *(stop(0),),
        ],
        [
            ToolUseStart(id="t", name="ls"),
            ToolUseDelta(id="t", delta='{"a":'),
            ToolUseDelta(id="t", delta=" 1}"),
            ToolUseEnd(id="t", input={"a": 1}),
        ],
    ),
    (
        "a tool whose input is there from the start",
        [start(0, "tool_use", id="t", name="ls", input={"a": 1}), stop(0)],
        [ToolUseStart(id="t", name="ls"), ToolUseEnd(id="t", input={"a": 1})],
    ),
    (
        "a tool without input",
        [start(0, "tool_use", id="t", name="ls"), stop(0)],
        [ToolUseStart(id="t", name="ls"), ToolUseEnd(id="t", input={})],
    ),
    (
        "a tool whose input breaks off",
        [
            *(start(0, "tool_use", id="t", name="ls", input={}),),
            *(delta(0, "input_json_delta", partial_json='{"a": "x'), stop(0)),
        ],
        [
            ToolUseStart(id="t", name="ls"),
            ToolUseDelta(id="t", delta='{"a": "x'),
            ToolUseEnd(id="t", invalid='{"a": "x'),
        ],
    ),
    (
        "a tool called by code that runs at the provider",
        [start(0, "tool_use", id="t", name="ls", caller={"type": "code", "tool_id": "c"})],
        [
            ToolUseStart(
                id="t",
                name="ls",
                provider={"anthropic": {"caller": {"type": "code", "tool_id": "c"}}},
            )
        ],
    ),
    (
        "a tool of an MCP server",
        [
            *(start(0, "mcp_tool_use", id="t", name="echo", server_name="demo", input={"x": 1}),),
            *(stop(0),),
            *(start(1, "mcp_tool_result", tool_use_id="t", is_error=False, content=[]), stop(1)),
        ],
        [
            ToolUseStart(
                id="t",
                name="echo",
                kind="mcp",
                server=True,
                provider={"anthropic": {"server_name": "demo"}},
            ),
            ToolUseEnd(id="t", input={"x": 1}),
            ToolResult(id="t", output=[]),
        ],
    ),
    (
        "the tools of an MCP server",
        [start(0, "mcp_tool_listing", mcp_server_name="demo", tools=[{}, {}]), stop(0)],
        [
            Status(
                message="demo offers 2 tools",
                provider={
                    "anthropic": {
                        "mcp_tool_listing": {
                            "type": "mcp_tool_listing",
                            "mcp_server_name": "demo",
                            "tools": [{}, {}],
                        }
                    }
                },
            )
        ],
    ),
    (
        "a file in the container",
        [start(0, "container_upload", file_id="f"), stop(0)],
        [File(id="m:0", media_type="application/octet-stream", file_id="f")],
    ),
    (
        "a compaction",
        [
            *(start(0, "compaction", content=None, encrypted_content=None),),
            *(delta(0, "compaction_delta", content="Sum", encrypted_content=None),),
            *(delta(0, "compaction_delta", content="mary", encrypted_content="Emw"), stop(0)),
        ],
        [
            StepStart(id="m:0", kind="compaction"),
            StepEnd(
                id="m:0",
                provider={"anthropic": {"content": "Summary", "encrypted_content": "Emw"}},
            ),
        ],
    ),
]


@pytest.mark.parametrize(
    ("lines", "expected"), [row[1:] for row in BLOCKS], ids=[row[0] for row in BLOCKS]
)
def test_a_block_is(lines: Lines, expected: Events) -> None:
    assert parse(*lines) == expected


def test_a_fallback_to_another_model_is_a_status() -> None:
    block = {"from": {"model": "opus"}, "to": {"model": "sonnet"}, "trigger": {"type": "refusal"}}
    [status] = parse(start(0, "fallback", **block), stop(0))
    assert isinstance(status, Status)
    assert (status.kind, status.message) == ("fallback", "opus declined; sonnet continues")
    assert status.provider == {"anthropic": {"fallback": {"type": "fallback", **block}}}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("web_search", "search"),
        ("web_fetch", "search"),
        ("tool_search_tool_regex", "search"),
        ("tool_search_tool_bm25", "search"),
        ("code_execution", "code"),
        ("text_editor_code_execution", "code"),
        ("bash_code_execution", "shell"),
        ("one_of_next_year", "function"),
    ],
)
def test_a_tool_of_the_provider_is_of_a_kind(name: str, kind: Any) -> None:
    assert parse(start(0, "server_tool_use", id="t", name=name, input={})) == [
        ToolUseStart(id="t", name=name, kind=kind, server=True)
    ]


# Results

CALLED = ToolUseStart(id="t", name="web_search", kind="search", server=True)
CALL = [start(0, "server_tool_use", id="t", name="web_search", input={}), stop(0)]
PAGE = {"type": "web_search_result", "url": "https://a.org", "title": "A"}


def result(kind: str, content: Any, **more: Any) -> Line:
    return start(1, kind, tool_use_id="t", content=content, **more)


RESULTS: list[tuple[str, Line, ToolResult, Events]] = [
    (
        "pages that were found are sources, and what only the provider can read is put aside",
        result("web_search_tool_result", [{**PAGE, "encrypted_content": "RW5j"}]),
        ToolResult(id="t", output=[PAGE], provider={"anthropic": {"/0/encrypted_content": "RW5j"}}),
        [Source(id="t", url="https://a.org", title="A")],
    ),
    (
        "a page that was fetched is a source",
        result(
            "web_fetch_tool_result",
            {"type": "web_fetch_result", "url": "https://a.org", "content": {"title": "A"}},
        ),
        ToolResult(
            id="t",
            output={"type": "web_fetch_result", "url": "https://a.org", "content": {"title": "A"}},
        ),
        [Source(id="t", url="https://a.org", title="A")],
    ),
    (
        "a search that failed",
        result(
            "web_search_tool_result",
            {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        ),
        ToolResult(
            id="t",
            output={"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
            status="error",
        ),
        [],
    ),
    (
        "code that ran, with the files it made",
        result(
            "code_execution_tool_result",
            {"type": "code_execution_result", "return_code": 0, "content": [{"file_id": "f"}]},
        ),
        ToolResult(
            id="t",
            output={
                "type": "code_execution_result",
                "return_code": 0,
                "content": [{"file_id": "f"}],
            },
        ),
        [File(id="t", media_type="application/octet-stream", file_id="f")],
    ),
    (
        "code that failed",
        result("bash_code_execution_tool_result", {"type": "x_result", "return_code": 1}),
        ToolResult(id="t", output={"type": "x_result", "return_code": 1}, status="error"),
        [],
    ),
    (
        "an MCP tool that failed",
        result("mcp_tool_result", [{"type": "text", "text": "no"}], is_error=True),
        ToolResult(id="t", output=[{"type": "text", "text": "no"}], status="error"),
        [],
    ),
    (
        "the result of a tool of next year",
        result("dream_tool_result", "sheep"),
        ToolResult(id="t", output="sheep"),
        [],
    ),
]


@pytest.mark.parametrize(
    ("line", "expected", "findings"), [row[1:] for row in RESULTS], ids=[r[0] for r in RESULTS]
)
def test_a_result_is(line: Line, expected: ToolResult, findings: Events) -> None:
    ended = ToolUseEnd(id="t", input={})
    assert parse(*CALL, line, stop(1)) == [CALLED, ended, expected, *findings]


def test_a_result_may_come_in_another_message_than_its_call() -> None:
    line = result("web_search_tool_result", [])
    log = events_of(log_of(message("m1"), *CALL, *ending("pause_turn"), message("m2"), line))
    assert [event for event in log if event.id == "t"] == [
        CALLED,
        ToolUseEnd(id="t", input={}),
        ToolResult(id="t", output=[]),
    ]


def test_result_without_call_creates_its_call() -> None:
    assert parse(result("web_search_tool_result", []), stop(1)) == [
        CALLED,
        ToolUseEnd(id="t", input={}),
        ToolResult(id="t", output=[]),
    ]


# Citations

CITATIONS: list[tuple[str, Line, Source]] = [
    (
        "char_location",
        {"document_index": 0, "document_title": "Doc", "start_char_index": 1, "file_id": "f"},
        Source(document="Doc", title="Doc", file="f"),
    ),
    (
        "page_location",
        {"document_index": 0, "document_title": "Doc", "start_page_number": 1},
        Source(document="Doc", title="Doc"),
    ),
    (
        "content_block_location",
        {"document_index": 0, "document_title": None, "start_block_index": 0},
        Source(),
    ),
    (
        "search_result_location",
        {"source": "kb://42", "title": "Note", "search_result_index": 0},
        Source(document="kb://42", title="Note"),
    ),
    (
        "web_search_result_location",
        {"url": "https://a.org", "title": "A", "encrypted_index": "Eo"},
        Source(url="https://a.org", title="A", provider={"anthropic": {"encrypted_index": "Eo"}}),
    ),
]


@pytest.mark.parametrize(("kind", "about", "expected"), CITATIONS)
def test_a_citation_is_a_source_of_its_text(kind: str, about: Line, expected: Source) -> None:
    citation = {"type": kind, "cited_text": "words", **about}
    lines = [start(0, "text", text=""), delta(0, "citations_delta", citation=citation)]
    [source] = parse(*lines)[1:]
    assert isinstance(source, Source)
    assert (source.id, source.cited_text) == ("m:0", "words")
    assert source.location["type"] == kind
    for field in ("url", "document", "title", "file", "provider"):
        assert getattr(source, field) == getattr(expected, field)


# Messages


def test_a_message_is_a_turn_and_the_first_starts_the_run() -> None:
    lines = [message("m1"), *ending("tool_use"), message("m2"), *ending()]
    assert fed(*lines) == [
        Start(framework="claude", model="claude"),
        StepStart(id="m1", number=1),
        StepEnd(id="m1", reason="tool_use"),
        StepStart(id="m2", number=2),
        StepEnd(id="m2", reason="end_turn"),
    ]


def test_a_message_without_an_id_is_counted() -> None:
    steps = [e for e in fed(message(None), message(None), prefix="2.") if type(e) is StepStart]
    assert [step.id for step in steps] == ["2.message_1", "2.message_2"]


def test_a_message_that_starts_again_under_its_id_is_another() -> None:
    text = [start(0, "text", text="x"), stop(0)]
    events = fed(message("m"), *text, *ending(), message("m"), *text, *ending())
    assert [e.id for e in events if type(e) is Text] == ["m:0", "m~2:0"]
    assert [e.id for e in events if type(e) is StepStart] == ["m", "m~2"]


def test_a_message_that_another_follows_was_interrupted() -> None:
    events = fed(message("m1"), message("m2"))
    assert [e.status for e in events if type(e) is StepEnd] == ["interrupted"]


def test_usage_is_cumulative_and_counts_the_cache_as_input() -> None:
    first = {"input_tokens": 10, "output_tokens": 1, "service_tier": "standard"}
    cache = {"cache_read_input_tokens": 200, "cache_creation_input_tokens": 3000}
    details = {"output_tokens_details": {"thinking_tokens": 5}}
    change = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9, **details}}
    about: Line = {"id": "m", "model": "claude", "service_tier": "standard"}
    assert [e for e in fed(message("m", **first, **cache), change) if type(e) is Usage] == [
        Usage(input=3210, output=1, cache_read=200, cache_write=3000, **about),
        Usage(input=3210, output=9, cache_read=200, cache_write=3000, reasoning=5, **about),
    ]


def test_usage_keeps_what_we_have_no_name_for() -> None:
    [usage] = [e for e in fed(message("m", input_tokens=1, speed="fast")) if type(e) is Usage]
    assert usage.provider == {"anthropic": {"speed": "fast"}}


@pytest.mark.parametrize("odd", [{"type": "char_location", "cited_text": 5}, 7], ids=str)
def test_invalid_citation_loses_neither_the_text_nor_the_others(odd: Any) -> None:
    known = {"type": "web_search_result_location", "url": "https://example.org"}
    text = start(0, "text", text="Hi", citations=[odd, known])
    events = fed(message("m"), text, stop(0))
    assert [e.raw for e in events if type(e) is Raw] == [odd]
    assert [e.content for e in events if type(e) is Text] == ["Hi"]
    assert [e.url for e in events if type(e) is Source] == ["https://example.org"]


@pytest.mark.parametrize(
    "usage", [{"output_tokens": "12"}, {"output_tokens": -1}, "12", [1]], ids=str
)
def test_invalid_usage_loses_neither_the_message_nor_its_end(usage: Any) -> None:
    begin = message("m", output_tokens=1)
    end: Line = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    later = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}}
    text = [start(0, "text", text="Hi"), stop(0)]
    events = fed(begin, *text, end, later, {"type": "message_stop"}, message("m2"))
    [raw] = [e for e in events if type(e) is Raw]
    assert raw.raw == usage
    assert (raw.source or "").startswith("malformed: ")
    assert [e.output for e in events if type(e) is Usage] == [1, 9]
    assert StepEnd(id="m", reason="end_turn") in events
    assert Retract not in map(type, events)


STOPS: list[tuple[str, DoneReason]] = [
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("pause_turn", "stop"),
    ("compaction", "stop"),
    ("tool_use", "tool"),
    ("max_tokens", "length"),
    ("model_context_window_exceeded", "length"),
    ("refusal", "refusal"),
    ("bored", "stop"),
]


@pytest.mark.parametrize(("native", "reason"), STOPS)
def test_last_message_has_the_reason_of_the_end(native: str, reason: DoneReason) -> None:
    lines = [message("m1"), *ending("max_tokens"), message("m2"), *ending(native)]
    assert closed(*lines) == [Done(reason=reason, native=native)]


def test_interrupted_run_proposes_no_end() -> None:
    assert closed(message("m1"), *ending(), message("m2")) == []
    assert events_of(log_of(message("m1")))[-1] == Done(reason="truncated")


def test_an_input_that_is_cut_off_ends_with_the_stream() -> None:
    tool = start(0, "tool_use", id="t", name="ls", input={})
    assert closed(message("m"), tool, delta(0, "input_json_delta", partial_json="[1")) == [
        ToolUseEnd(id="t", invalid="[1")
    ]
    assert closed(message("m"), tool, delta(0, "input_json_delta", partial_json="[1]")) == [
        ToolUseEnd(id="t", input=[1])
    ]


def test_end_of_a_message_is_kept() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    about = {"stop_details": details, "container": {"id": "c"}, "stop_sequence": "END"}
    status, end = fed(message("m"), *ending("refusal", **about))[2:]
    assert status == Status(message="Not this.", kind="notice")
    assert end == StepEnd(id="m", reason="refusal", provider={"anthropic": about})


def test_a_ping_is_nothing() -> None:
    assert fed({"type": "ping"}) == []


@pytest.mark.parametrize(
    ("kind", "code", "retryable"),
    [
        ("overloaded_error", "overloaded", True),
        ("authentication_error", "auth", False),
        ("invalid_request_error", "invalid_request_error", False),
    ],
)
def test_an_error_has_the_code_of_its_kind(kind: str, code: str, retryable: bool) -> None:
    body = {"type": "error", "error": {"type": kind, "message": "No"}, "request_id": "r"}
    request = {"anthropic": {"request_id": "r"}}
    assert fed(body) == [Error(message="No", code=code, retryable=retryable, provider=request)]


def test_exception_of_the_package_is_an_error() -> None:
    api = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    [error] = fed({"_exception": "APIStatusError", "str": "…", "body": api})
    assert isinstance(error, Error)
    assert (error.code, error.message) == ("overloaded", "Overloaded")
    [error] = fed({"_exception": "RemoteProtocolError", "str": "peer closed", "body": None})
    assert isinstance(error, Error)
    assert (error.code, error.message) == ("RemoteProtocolError", "peer closed")


# Streams that are joined in the middle

MIDDLES: list[tuple[str, Line, type[StreamEvent]]] = [
    ("text", delta(3, "text_delta", text="x"), TextEnd),
    ("thinking", delta(3, "thinking_delta", thinking="x"), ThinkingEnd),
    ("a signature", delta(3, "signature_delta", signature="x"), ThinkingEnd),
    ("a tool's input", delta(3, "input_json_delta", partial_json="1"), ToolUseEnd),
    ("a compaction", delta(3, "compaction_delta", content="x"), StepEnd),
]


@pytest.mark.parametrize(
    ("line", "end"), [row[1:] for row in MIDDLES], ids=[row[0] for row in MIDDLES]
)
def test_block_without_start_is_inferred_from_its_deltas(
    line: Line, end: type[StreamEvent]
) -> None:
    *_, last = fed(line, stop(3))
    assert type(last) is end
    assert last.id == "message:3"
    legal_log(events_of(log_of(line, stop(3), *ending())))


def test_end_of_an_unknown_block_is_raw() -> None:
    assert parse(stop(3)) == [Raw(raw=stop(3))]


def test_a_tool_result_that_comes_first_is_shown() -> None:
    log = events_of(log_of(result("web_search_tool_result", []), stop(1), *ending()))
    assert ToolResult(id="t", output=[]) in log
    legal_log(log)


# What is not understood


def test_an_unknown_block_is_raw_with_its_deltas_and_its_stop() -> None:
    lines = [start(0, "dream", sheep=3), delta(0, "text_delta", text="zzz"), stop(0)]
    assert parse(*lines) == [Raw(raw=line) for line in lines]


def test_an_index_is_free_again_after_an_unknown_block() -> None:
    lines = [start(0, "dream"), stop(0), start(0, "text", text="x"), stop(0)]
    assert parse(*lines)[2:] == [Text(id="m:0", content="x"), TextEnd(id="m:0")]


def test_unknown_delta_is_raw_and_its_block_continues() -> None:
    odd = delta(0, "dream_delta", sheep=3)
    events = parse(start(0, "text", text="a"), odd, delta(0, "text_delta", text="b"), stop(0))
    assert [type(event) for event in events] == [Text, Raw, TextDelta, TextEnd]
    raw = events[1]
    assert isinstance(raw, Raw)
    assert raw.raw == odd


@pytest.mark.parametrize(
    "line",
    [
        {"type": "content_block_dream", "index": 0},
        {"type": 7},
        {"type": None},
        {},
        {"message": {"id": "m"}},
        [],
        "message_start",
        None,
        1.5,
    ],
)
def test_an_unknown_line_is_raw(line: Any) -> None:
    assert fed(line) == [Raw(raw=line)]


@pytest.mark.parametrize(
    "line",
    [
        {"type": "message_start"},
        {"type": "message_start", "message": "m"},
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_start", "index": -1, "content_block": {"type": "text"}},
        {"type": "content_block_start", "index": 0, "content_block": {"text": "x"}},
        start(0, "text", text=1),
        start(0, "tool_use", id=1, name="ls"),
        start(0, "tool_use", name="ls"),
        start(0, "web_search_tool_result", content=[]),
        delta(0, "text_delta", text=None),
        delta(0, "text_delta"),
        {"type": "content_block_stop", "index": "0"},
        {"type": "message_delta"},
        {"type": "error"},
        {"type": "error", "error": "no"},
    ],
    ids=str,
)
def test_broken_line_is_raw_with_the_reason(line: Line) -> None:
    [raw] = fed(line)
    assert isinstance(raw, Raw)
    assert raw.raw == line
    assert (raw.source or "").startswith("malformed: ")


# Recordings

RECORDED: dict[str, tuple[DoneReason, str | None, str]] = {
    "hello": ("stop", "end_turn", "Hello, world. This is a streamed answer."),
    "everything": (
        "tool",
        "tool_use",
        "I will search. Based on the results, safety work grew in 2026, and the document says"
        " Financial Management. ",
    ),
    "wire_everything": (
        "tool",
        "tool_use",
        "I will search. Based on the results, safety work grew in 2026, and the document says"
        " Financial Management. ",
    ),
    "beta": ("stop", "end_turn", "After compaction."),
    "codeexec": ("stop", "end_turn", "The answer is 42."),
    "badjson": ("length", "max_tokens", ""),
    "maxtok": ("length", "max_tokens", "A very long answer that is cut by"),
    "refusal": ("refusal", "refusal", "I ca"),
    "overload": ("error", None, "This answer will break o"),
    "wire_overload": ("error", None, "This answer will break o"),
    "cut": ("error", None, "The connection drops in "),
}
[*PATHS] = [path for path in sorted(FOLDER.iterdir()) if path.stem in RECORDED]
each_recording = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def values_of(path: Path) -> list[Any]:
    lines = JsonLines()
    return lines.feed(path.read_bytes()) + lines.close()


def recorded(*reads: bytes) -> list[LogEntry]:
    recorder = Recorder("claude")
    return [entry for data in reads for entry in recorder.read(data)] + recorder.close()


def test_every_recording_is_known_here() -> None:
    assert {path.stem for path in PATHS} == set(RECORDED)


@each_recording
def test_a_recording_is_understood_to_its_end(path: Path) -> None:
    events = events_of(recorded(path.read_bytes()))
    legal_log(events)
    reason, native, text = RECORDED[path.stem]
    assert events[-1] == Done(reason=reason, native=native)
    assert "".join(event.delta for event in events if isinstance(event, TextDelta)) == text
    assert [event for event in events if isinstance(event, Raw)] == []


@each_recording
def test_the_parser_closes_every_block_of_a_whole_recording_once(path: Path) -> None:
    parser = get_parser("claude")
    events = [event for value in values_of(path) for event in parser.feed(value)]
    opened = [e.id for e in events if isinstance(e, Text | Thinking | ToolUseStart)]
    ended = [e.id for e in events if isinstance(e, TextEnd | ThinkingEnd | ToolUseEnd)]
    broken_off = RECORDED[path.stem][0] == "error"
    assert opened == ended + opened[-1:] * broken_off
    assert len(set(opened)) == len(opened)


@each_recording
def test_line_of_text_equals_its_value(path: Path) -> None:
    by_value, by_line = get_parser("claude"), get_parser("claude")
    for value in values_of(path):
        assert by_line.feed_line(json.dumps(value).encode()) == by_value.feed(value)
    assert by_line.close() == by_value.close()


@given(st.sampled_from(PATHS), st.lists(st.integers(min_value=0), max_size=6))
def test_read_boundaries_in_a_recording_do_not_matter(path: Path, cuts: list[int]) -> None:
    data = path.read_bytes()
    places = [0, *sorted(cut % len(data) for cut in cuts), len(data)]
    parts = [data[a:b] for a, b in pairwise(places)]
    assert recorded(*parts) == recorded(data)


def test_a_recording_may_come_byte_by_byte() -> None:
    for path in PATHS:
        data = path.read_bytes()
        assert recorded(*(data[n : n + 1] for n in range(len(data)))) == recorded(data)


# Recordings that went bad

VALUES: dict[str, list[Any]] = {path.stem: values_of(path) for path in PATHS}
ODDITIES: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**70, "", "x", [], {}, [1], {"a": 1}, [[]]),
    *("text", "tool_use", "web_search_tool_result", "text_delta", "t", [{"type": "text"}]),
]
numbers = st.integers(min_value=0)


def changed(value: Any, at: int, new: Any) -> tuple[Any, int]:
    """`value` with `new` as its node number `at`; and how many nodes are left to pass."""
    if at == 0:
        return new, -1
    at -= 1
    if isinstance(value, dict | list):
        copy = value.copy()
        for key in value if isinstance(value, dict) else range(len(value)):
            copy[key], at = changed(value[key], at, new)
            if at < 0:
                return copy, at
    return value, at


def pieces_of(value: Any) -> list[Any]:
    """The value, and all within it."""
    children = value.values() if isinstance(value, dict) else value if type(value) is list else ()
    return [value, *(piece for child in children for piece in pieces_of(child))]


@st.composite
def spoiled(draw: st.DrawFn) -> list[Any]:
    """A recording with lines missing, repeated or exchanged, and values of other types in it."""
    lines = list(VALUES[draw(st.sampled_from(sorted(VALUES)))])
    for _ in range(draw(st.integers(1, 6))):
        here, there = draw(numbers) % len(lines), draw(numbers) % len(lines)
        match draw(st.sampled_from(["drop", "repeat", "swap", "odd", "odd", "odd"])):
            case "drop" if len(lines) > 1:
                del lines[here]
            case "repeat":
                lines.insert(there, lines[here])
            case "swap":
                lines[here], lines[there] = lines[there], lines[here]
            case _:
                node, odd = (
                    draw(numbers) % len(pieces_of(lines[here])),
                    draw(st.sampled_from(ODDITIES)),
                )
                lines[here], _ = changed(lines[here], node, odd)
    return lines


def check_log(log: list[LogEntry]) -> None:
    legal_log(events_of(log))
    formatter = get_formatter("ai-sdk", "msg_1")
    check_ai_sdk([document for entry in log for document in formatter.format(entry)])


@settings(max_examples=300)
@given(spoiled())
def test_no_spoiled_recording_is_fatal(lines: list[Any]) -> None:
    recorder = Recorder("claude")
    check_log(recorder.feed(lines) + recorder.close())
    check_log(recorded("\n".join(map(json.dumps, lines)).encode()))


@given(spoiled())
def test_nothing_of_a_spoiled_recording_is_lost_that_is_raw(lines: list[Any]) -> None:
    parser = get_parser("claude")
    for line in lines:
        for event in parser.feed(line):
            if isinstance(event, Raw):
                assert event.raw in pieces_of(line)


# Messages that are sent at once


def message_start(*content: Any, name: str = "m", **about: Any) -> Line:
    """The start of a message that has its blocks already."""
    whole = {**message(name)["message"], "content": list(content), **about}
    return {"type": "message_start", "message": whole}


ROLL = {"type": "tool_use", "id": "t", "name": "roll_die", "input": {"player": "one"}}
STOPPED: Line = {"type": "message_stop"}


def test_blocks_in_the_start_of_a_message_are_emitted() -> None:
    usage = {"input_tokens": 3, "output_tokens": 2}
    events = fed(message_start(ROLL, stop_reason="tool_use", usage=usage), STOPPED)
    assert events == [
        Start(framework="claude", model="claude"),
        StepStart(id="m", number=1),
        Usage(id="m", input=3, output=2, model="claude"),
        ToolUseStart(id="t", name="roll_die"),
        ToolUseEnd(id="t", input={"player": "one"}),
        StepEnd(id="m", reason="tool_use"),
    ]


def test_stop_reason_in_the_start_of_a_message_is_how_it_ends() -> None:
    assert closed(message_start(ROLL, stop_reason="tool_use"), STOPPED) == [
        Done(reason="tool", native="tool_use")
    ]
    ends = fed(message_start(stop_reason="stop_sequence", stop_sequence="###"), STOPPED)
    assert ends[-1] == StepEnd(
        id="m", reason="stop_sequence", provider={"anthropic": {"stop_sequence": "###"}}
    )
    details = {"explanation": "not allowed"}
    refused = fed(message_start(stop_reason="refusal", stop_details=details), STOPPED)
    assert Status(message="not allowed", kind="notice") in refused


@pytest.mark.parametrize("reason", [None, 7, ["end_turn"]])
def test_message_without_a_stop_reason_was_interrupted(reason: Any) -> None:
    again = fed(
        message_start({"type": "text", "text": "Hi"}, stop_reason=reason), STOPPED, message("n")
    )
    assert Retract(blocks=("m:0",), reason="retry") in again


def test_every_kind_of_block_may_be_in_the_start() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm", "signature": "sig"},
        {"type": "text", "text": "Yes."},
        {"type": "hologram"},
        "odd",
        ROLL,
    ]
    events = fed(message_start(*blocks))[2:]
    assert events == [
        Thinking(id="m:0", content="Hm"),
        ThinkingEnd(id="m:0", provider={"anthropic": {"signature": "sig"}}),
        Text(id="m:1", content="Yes."),
        TextEnd(id="m:1"),
        Raw(raw={"type": "hologram"}),
        Raw(raw="odd", source="malformed: Expected `object`, got `str`"),
        ToolUseStart(id="t", name="roll_die"),
        ToolUseEnd(id="t", input={"player": "one"}),
    ]


@pytest.mark.parametrize("content", [None, [], [{"type": "text", "text": ""}], {}])
def test_start_without_content_emits_none(content: Any) -> None:
    line = message_start()
    line["message"]["content"] = content
    assert len(fed(line)) == 2


def test_content_of_a_start_may_be_a_text() -> None:
    line = message_start()
    line["message"]["content"] = "Hi"
    assert fed(line)[2:] == [Text(id="m:0", content="Hi"), TextEnd(id="m:0")]


def test_blocks_may_follow_those_of_the_start() -> None:
    events = fed(
        message_start({"type": "text", "text": "Hi"}), start(1, "text", text="there"), stop(1)
    )
    assert events[-2:] == [Text(id="m:1", content="there"), TextEnd(id="m:1")]
    assert not any(isinstance(event, Retract) for event in events)


def test_block_of_the_start_streamed_again_is_emitted_once() -> None:
    given = message_start({"type": "text", "text": "Hi"}, ROLL)
    log = log_of(given, start(0, "text", text=""), delta(0, "text_delta", text="Hi"), stop(0))
    assert Retract(blocks=("m:0",), reason="retry") in events_of(log)
    assert [event.id for event in events_of(log) if isinstance(event, ToolUseStart)] == ["t"]


def test_plan_in_the_start_of_a_message_is_emitted() -> None:
    todos = [{"content": "A", "status": "pending", "activeForm": "Doing A"}]
    write = {"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": todos}}
    assert any(event.type == "todo_create" for event in fed(message_start(write)))
