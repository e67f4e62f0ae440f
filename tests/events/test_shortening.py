"""A message of bounded size: nothing changes for short logs, and long ones say what is left out."""

from __future__ import annotations

import msgspec
import pytest

from mobox.events import (
    Custom,
    Done,
    Error,
    InputRequest,
    LogEntry,
    Start,
    Status,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingEnd,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.message import Message, RequestPart, TextPart, ToolPart
from mobox.events.shortening import BoundedTranscript, bounded_message
from mobox.events.transcript import build_message
from support.event_cases import CASES, Case

DONE = Done(reason="stop")
LONGEST = 1000


def log_of(*events: StreamEvent) -> list[LogEntry]:
    return [LogEntry(n, n, n, event) for n, event in enumerate(events, 1)]


def bounded(*events: StreamEvent) -> Message:
    transcript = BoundedTranscript(LONGEST)
    for entry in log_of(Start(framework="demo"), *events, DONE):
        transcript.add(entry.event, entry.ts)
    return transcript.message("r1")


def size(message: Message) -> int:
    return len(msgspec.json.encode(message.parts))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_short_messages_are_as_they_were(case: Case) -> None:
    is_over = isinstance(case.event, Done)
    ended = case.log if is_over else [*case.log, LogEntry(99, 99, 99_000, DONE)]
    assert bounded_message(case.log, "r1") == build_message(case.log, "r1")
    assert bounded_message(ended, "r1") == build_message(ended, "r1")


def test_long_text_is_cut_and_says_where_the_rest_is() -> None:
    deltas = [TextDelta(id="t", delta="word ") for _ in range(1000)]
    message = bounded(Text(id="t"), *deltas, TextEnd(id="t"), Text(id="u"), TextEnd(id="u"))
    kept = message.content.partition(" […]")[0]
    assert set(kept.split()) <= {"word", "wor", "wo", "w"}
    assert "[Shortened: 4," in message.content
    assert message.content.endswith("in the log of its run: GET /api/runs/r1/events]")
    assert message.reason == "stop" and size(message) < 2 * LONGEST
    assert all(part.ended for part in message.parts if isinstance(part, TextPart))


def test_one_long_event_is_cut() -> None:
    long = "x" * 5000
    message = bounded(
        Text(id="t", content=long),
        TextEnd(id="t"),
        Thinking(id="h", content=long),
        ThinkingEnd(id="h"),
    )
    assert message.content.startswith("xxx") and size(message) < 2 * LONGEST


@pytest.mark.parametrize("output", ["y" * 5000, {"rows": ["y" * 5000]}], ids=["text", "json"])
def test_calls_that_are_shown_have_a_result_and_others_are_left_out(output: object) -> None:
    events: list[StreamEvent] = []
    for n in range(50):
        events += [
            ToolUseStart(id=f"c{n}", name="search"),
            ToolUseDelta(id=f"c{n}", delta='{"q":"' + "z" * 100 + '"}'),
            ToolUseEnd(id=f"c{n}", input={"q": "z" * 100}),
            ToolResult(id=f"c{n}", output=output),
        ]
    message = bounded(*events)
    calls = [part for part in message.parts if isinstance(part, ToolPart)]
    assert 0 < len(calls) < 10
    assert all(call.ended and call.status == "ok" for call in calls)
    assert size(message) < 3 * LONGEST
    assert "[Shortened: " in message.content


def test_a_result_that_is_sent_again_counts_once() -> None:
    events: list[StreamEvent] = [
        ToolUseStart(id="c", name="run"),
        ToolUseEnd(id="c", input={}),
        *(ToolResult(id="c", output="o" * n, partial=True) for n in range(0, 300, 10)),
        ToolResult(id="c", output="o" * 300),
        *(Custom(name="state", id="s", value={"n": n, "text": "x" * 100}) for n in range(50)),
    ]
    message = bounded(*events)
    (call,) = [part for part in message.parts if isinstance(part, ToolPart)]
    assert call.output == "o" * 300
    assert message.content == ""


def test_questions_and_the_failure_are_kept() -> None:
    lines = [Status(message="line " * 20) for _ in range(100)]
    errors = [Error(message=f"error {n}") for n in range(1000)]
    transcript = BoundedTranscript(LONGEST)
    request = InputRequest(id="q", kind="question", prompt="Which one?")
    events = (Start(framework="demo"), *lines, request, *errors[:50], Done(reason="error"))
    for entry in log_of(*events):
        transcript.add(entry.event, entry.ts)
    message = transcript.message("r1")
    assert [part.request.prompt for part in message.parts if isinstance(part, RequestPart)]
    assert message.error == "error 49"
    assert size(message) < 10 * LONGEST
