"""Consecutive deltas: the log is the same however they are read, and so is its formatted form.

Lines are compared with their values, which no parser decodes by itself; the formatters' fast path
is compared with their slow one.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mobox import LogEntry, Recorder
from mobox.capture.jsonlines import JsonLines
from mobox.errors import ProtocolError
from mobox.events import Done, Error, Paused, Start, Text, TextDelta, Thinking, ThinkingDelta
from mobox.events.json_text import SHORT
from mobox.formatters import format_all, get_formatter
from mobox.formatters.ai_sdk import AISDKFormatter
from mobox.lifecycle import Lifecycle
from mobox.parsers import get_parser
from mobox.parsers.detection import UnreadLines
from support.slow_path import as_stored, assert_same_by_turns, assert_same_log, recorded
from support.strategies import Events, endings, events, logs, numbered, runs

THOROUGH = settings(max_examples=150)

INDEXES = st.sampled_from([0, 0, 0, 1])
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": ""},
    {"type": "text", "text": "So "},
    {"type": "thinking", "thinking": "", "signature": "s"},
    {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}},
    {"type": "tool_use", "id": "toolu_2", "name": "TodoWrite", "input": {}},
    {"type": "unheard_of"},
    {"type": "text", "text": 7},
]
DELTAS: list[dict[str, Any]] = [
    {"type": "text_delta", "text": 'é "🙂"\n'},
    {"type": "text_delta", "text": "more"},
    {"type": "text_delta", "text": ""},
    {"type": "text_delta", "text": SHORT * "long "},
    {"type": "text_delta", "text": "x", "deep": json.loads("[" * 201 + "]" * 201)},
    {"type": "text_delta"},
    {"type": "thinking_delta", "thinking": "hm"},
    {"type": "signature_delta", "signature": "s"},
    {"type": "input_json_delta", "partial_json": '{"todos": ['},
    {"type": "input_json_delta", "partial_json": "]}"},
    {"type": "citations_delta", "citation": {"type": "page", "url": "https://example.org"}},
    {"type": "unheard_of"},
]
OTHERS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "msg_1", "usage": {"output_tokens": 1}}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"type": "message_stop"},
    {"type": "ping"},
    {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    {"type": "text", "data": {"content": "emitted"}},
]
NOISE = [b"", b"   ", b"no JSON", b'{"type": "ping"} {"type": "ping"}', b"\xff", b"7"]


def line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def delta(index: int, more: dict[str, Any]) -> bytes:
    return line({"type": "content_block_delta", "index": index, "delta": more})


MESSAGE = [line(value) for value in (OTHERS[0], OTHERS[2])]

starts = st.builds(
    lambda index, block: line(
        {"type": "content_block_start", "index": index, "content_block": block}
    ),
    INDEXES,
    st.sampled_from(BLOCKS),
)
deltas = st.builds(delta, INDEXES, st.sampled_from(DELTAS))
said = st.builds(delta, st.just(0), st.sampled_from(DELTAS[:2]))
stops = st.builds(lambda index: line({"type": "content_block_stop", "index": index}), INDEXES)
rest = st.sampled_from([*map(line, OTHERS), *NOISE])
endings_of_lines = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b" \n"])
kinds = [starts, deltas, said, said, said, stops, st.sampled_from(MESSAGE), rest]
bodies = st.lists(st.tuples(st.one_of(kinds), endings_of_lines), max_size=25).map(
    lambda parts: [text + end for text, end in parts]
)


MORE = delta(0, DELTAS[1])
INPUT = delta(0, DELTAS[-4])
CALL = line({"type": "content_block_start", "index": 0, "content_block": BLOCKS[3]})
START, STOP = MESSAGE[0], MESSAGE[1]
ENDED: list[list[bytes]] = [
    [MORE, MORE, START, MORE],
    [START, MORE, MORE, STOP, MORE],
    [START, MORE, MORE, line({"type": "content_block_stop", "index": 0}), MORE],
    [START, CALL, INPUT, INPUT, STOP, INPUT],
    [MORE, MORE, MORE.replace(b", ", b",\n"), MORE],
    [MORE, MORE, MORE + b" " + MORE, MORE],
]
"""Lines after which, or with which, a block does not continue."""


@pytest.mark.parametrize("lines", ENDED)
def test_deltas_end_where_their_block_does(lines: list[bytes]) -> None:
    reads = [text + b"\n" for text in lines]
    recorder = Recorder("claude")
    by_value = recorder.feed(JsonLines().feed(b"".join(reads))) + recorder.close()
    assert recorded("claude", *reads) == recorded("claude", b"".join(reads)) == by_value


def test_a_line_is_not_taken_before_it_ends() -> None:
    lines = [MORE + b"\n", MORE + b"\n", MORE + b" and more\n"]
    assert recorded("claude", *lines) == recorded("claude", *lines[:2], MORE, b" and more\n")


@THOROUGH
@given(bodies, st.lists(st.integers(0, 5000), max_size=5))
def test_lines_make_the_log_of_their_values(lines: list[bytes], cuts: list[int]) -> None:
    assert_same_log("claude", lines, cuts)


@THOROUGH
@given(bodies)
def test_lines_and_values_may_take_turns(lines: list[bytes]) -> None:
    assert_same_by_turns("claude", lines)


TEXTS: list[dict[str, Any]] = [
    {"type": "text", "data": {"content": 'é "🙂"\n'}},
    {"type": "text", "data": {"content": "more"}},
    {"type": "text", "data": {"content": ""}},
    {"type": "text", "data": {"content": SHORT * "long "}},
    {"type": "text", "data": {"content": "s", "scope": ["a"]}},
    {"type": "text", "data": {"content": "x", "mood": "kind"}},
    {"type": "text", "data": {"content": "x"}, "at": 7},
    {"type": "text", "data": {"content": 7}},
    {"type": "text", "data": {"content": None}},
    {"type": "text_delta", "data": {"delta": "d"}},
    {"type": "text_delta", "data": {"delta": "d", "scope": ["a"]}},
    {"type": "text_delta", "data": {"id": "text_1", "delta": "d"}},
    {"type": "thinking_delta", "data": {"delta": "d"}},
]
ASIDES: list[dict[str, Any]] = [
    {"type": "text_end", "data": {}},
    {"type": "thinking", "data": {"content": "hm"}},
    {"type": "status", "data": {"message": "Looking"}},
    {"type": "tool_use", "data": {"name": "ls", "input": {}}},
    {"type": "retract", "data": {"blocks": ["text_1"]}},
    {"type": "error", "data": {"message": "busy"}},
    {"type": "paused", "data": {"request_ids": []}},
    {"type": "done", "data": {"reason": "stop"}},
]
tight = st.sampled_from(TEXTS).map(lambda value: json.dumps(value, separators=(",", ":")).encode())
broken = [b'{"type":"text","data":{"content":"', b'{"type":"text","data":{"content":"\\ud800"}}']
emitted = st.lists(
    st.one_of(tight, tight, st.sampled_from([*map(line, TEXTS), *map(line, ASIDES), *broken])),
    max_size=25,
)


@THOROUGH
@given(emitted)
@example([line(ASIDES[1]), line(ASIDES[0]), line(ASIDES[0])])
def test_emitted_lines_make_the_same_log_by_the_long_way(lines: list[bytes]) -> None:
    short, long_way, values = Recorder("emitted"), Lifecycle("emitted"), JsonLines()
    parser = get_parser("emitted")
    told = [entry.event for text in lines for entry in short.read(text + b"\n")]
    raws = [raw for text in lines for raw in values.feed(text + b"\n")]
    parsed = [event for raw in raws for event in parser.feed(raw)]
    assert told == [event for said in parsed for event in long_way._place(said)]
    unread = UnreadLines("emitted")
    unread.see(parsed)
    error, done = unread.error(), Done(reason="error")
    end = long_way.close() if error is None else long_way._place(error) + long_way.close(done)
    assert [entry.event for entry in short.close()] == end


def test_an_unnamed_word_after_the_end_is_refused() -> None:
    lifecycle, more = Lifecycle("test"), TextDelta(delta="b")
    lifecycle.feed_all([more, more])
    lifecycle.close()
    with pytest.raises(ProtocolError):
        lifecycle.feed(more)


@THOROUGH
@given(events() | runs(), endings())
def test_a_lifecycle_makes_the_same_log_one_by_one(said: Events, done: Done | None) -> None:
    at_once, one_by_one = Lifecycle("test"), Lifecycle("test")
    assert at_once.feed_all(said) == [event for each in said for event in one_by_one.feed(each)]
    assert at_once.waiting == one_by_one.waiting
    assert at_once.close(done) == one_by_one.close(done)


@pytest.mark.parametrize("event", [Error(id="a", message="busy"), Paused(id="a", request_ids=())])
def test_the_first_delta_after_a_halt_ends_it(event: Error | Paused) -> None:
    lifecycle, more = Lifecycle("test"), TextDelta(id="a", delta="b")
    lifecycle.feed_all([Text(id="a"), more, event])
    assert lifecycle.feed_all([more, more]) == [more, more]
    assert lifecycle.close()[-1] == Done(reason="truncated")


def test_a_delta_after_the_end_is_refused() -> None:
    lifecycle, more = Lifecycle("test"), TextDelta(id="a", delta="b")
    lifecycle.feed_all([Text(id="a"), more])
    lifecycle.close()
    with pytest.raises(ProtocolError):
        lifecycle.feed(more)


@THOROUGH
@given(log=logs(), place=st.integers(0, 30))
def test_formatter_gives_the_same_on_the_slow_path(log: list[LogEntry], place: int) -> None:
    for profile in ("v5", "v6", "v7"):
        short, long_way = AISDKFormatter("msg_1", profile), AISDKFormatter("msg_1", profile)
        told = [*format_all(short, log[:place]), *short.resume(), *format_all(short, log[place:])]
        assert told == [
            *(
                document
                for entry in log[:place]
                for document in long_way._write(entry.event, entry.ts)
            ),
            *long_way.resume(),
            *(
                document
                for entry in log[place:]
                for document in long_way._write(entry.event, entry.ts)
            ),
        ], profile


@pytest.mark.parametrize("said", [[""], ["", "", "b"], ["b"]])
def test_part_of_a_later_version_is_empty_until_it_has_text(said: list[str]) -> None:
    deltas = [ThinkingDelta(id="a", delta=delta) for delta in said]
    log = numbered([Start(framework="test"), *deltas, Thinking(id="a", content="x")])
    long_way = AISDKFormatter("msg_1")
    told = [document for e in log for document in long_way._write(e.event, e.ts)]
    assert format_all(AISDKFormatter("msg_1"), log) == told
    assert format_all(AISDKFormatter("msg_1"), as_stored(log)) == told


def test_a_part_that_a_pause_has_closed_is_not_gone_on_with() -> None:
    formatter, more = get_formatter("ai-sdk", "msg_1"), TextDelta(id="a", delta="b")
    format_all(formatter, numbered([Start(framework="test"), Text(id="a"), more]))
    formatter.pause()
    begun, told = formatter.format(LogEntry(4, 4, None, more))
    assert b'"text-start"' in begun
    assert b'"text-delta"' in told
