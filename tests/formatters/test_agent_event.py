"""The `agent:event` contract: any log gives a legal run, and what each event becomes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mobox.errors import InvalidCursor, UnknownProfile
from mobox.events import (
    Done,
    DoneReason,
    Error,
    EventType,
    InputRequest,
    InputResponse,
    LogEntry,
    Paused,
    Raw,
    Result,
    Retract,
    Source,
    Start,
    Status,
    StreamEvent,
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
from mobox.formatters import format_all, get_formatter
from mobox.formatters.agent_event import AgentEventFormatter, Place, place_of
from mobox.formatters.agent_event.numbering import iso
from support.grammar_agent_event import Event, check_agent_events, events_of
from support.strategies import log_of, logs, numbered

profiles = st.sampled_from(AgentEventFormatter.PROFILES)


def waits(log: Sequence[LogEntry]) -> bool:
    return not isinstance(log[-1].event, Done)


def run_of(*said: StreamEvent, profile: str = "v1") -> list[Event]:
    """The events of a run that says this, and then stops or waits."""
    stops = not isinstance(said[-1], Done | Paused)
    log = numbered(log_of([*said, *([Done(reason="stop")] if stops else [])]))
    documents = format_all(AgentEventFormatter("r", profile), log)
    check_agent_events(documents, profile, waits=waits(log))
    return events_of(documents)


def told(*said: StreamEvent) -> list[Event]:
    """What a run that says this tells between its first and its last event, without its numbers."""
    numbers = ("messageId", "eventId", "eventIndex", "timestamp", "sequenceNumber")
    return [
        {key: value for key, value in event.items() if key not in (*numbers, "persistenceState")}
        for event in run_of(*said)[1:-1]
    ]


def types(events: Sequence[Event]) -> list[str]:
    return [event["type"] for event in events]


# Any log


@given(logs(), profiles)
def test_any_order_of_events_gives_a_legal_run(log: list[LogEntry], profile: str) -> None:
    timeless = [replace(entry, ts=None) for entry in log]
    for entries in (log, timeless):
        documents = format_all(AgentEventFormatter("r", profile), entries)
        check_agent_events(documents, profile, waits=waits(log))


@given(logs(), profiles, st.integers(0, 1000))
def test_run_numbers_its_events_from_the_given_index(
    log: list[LogEntry], profile: str, first: int
) -> None:
    formatter = AgentEventFormatter("r", profile, first_event_index=first)
    run = check_agent_events(format_all(formatter, log), profile, first=first, waits=waits(log))
    assert run.next_index == first + formatter.event_count


@given(logs(), profiles, st.integers(0, 9), st.integers(min_value=0))
def test_client_with_the_last_index_gets_what_follows(
    log: list[LogEntry], profile: str, first: int, last: int
) -> None:
    whole = events_of(format_all(AgentEventFormatter("r", profile, first_event_index=first), log))
    last = first - 1 + last % (len(whole) + 1)
    rest = AgentEventFormatter("r", profile, first_event_index=first, last_event_index=last)
    expected = [event for event in whole if event["eventIndex"] > last]
    assert events_of(format_all(rest, log)) == expected


@given(logs(), profiles, st.integers(0, 30))
def test_a_response_that_ends_and_goes_on_is_the_whole(
    log: list[LogEntry], profile: str, place: int
) -> None:
    formatter = AgentEventFormatter("r", profile)
    parts = format_all(formatter, log[:place]) + formatter.pause() + formatter.resume()
    parts += format_all(formatter, log[place:])
    long_way = AgentEventFormatter("r", profile)
    assert parts == [document for entry in log for document in long_way._write(entry)]


@given(logs(), st.sets(st.integers(1, 20)), profiles)
def test_log_of_a_later_version_can_be_formatted(
    log: list[LogEntry], lost: set[int], profile: str
) -> None:
    unknown = Raw(raw={"type": "new"}, source="unknown event")
    spoiled = [
        replace(entry, event=unknown)
        if entry.seq in lost and not isinstance(entry.event, Done)
        else entry
        for entry in log
    ]
    documents = format_all(AgentEventFormatter("r", profile), spoiled)
    check_agent_events(documents, profile, later_version=True, waits=waits(log))


def test_every_event_type_has_a_writer() -> None:
    assert AgentEventFormatter.WRITERS.keys() == set(EventType)


def test_a_profile_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnknownProfile):
        AgentEventFormatter("r", "v2")


# What every event carries

HELLO = [Text(id="a", content="Hel"), TextDelta(id="a", delta="lo"), TextEnd(id="a")]


def test_the_whole_of_a_short_run() -> None:
    log = [
        LogEntry(1, 71, 1_700_000_000_000, Start(framework="claude", model="m", agent="demo")),
        LogEntry(2, 72, 1_700_000_000_001, Text(id="a", content="Hi")),
        LogEntry(3, 75, 1_700_000_000_001, TextEnd(id="a")),
        LogEntry(4, 76, 1_700_000_000_999, Done(reason="stop")),
    ]
    formatter = AgentEventFormatter("r", session_id="chat", user_id="ann", first_event_index=5)
    assert events_of(format_all(formatter, log)) == [
        {
            "type": "session_start",
            "messageId": "r",
            "sessionId": "chat",
            "userId": "ann",
            "modelConfig": {"model": "m", "agent": "demo", "framework": "claude"},
            "eventIndex": 5,
            "eventId": "r.1.1",
            "timestamp": "2023-11-14T22:13:20.000Z",
            "sequenceNumber": 71,
            "persistenceState": "persisted",
        },
        {
            "type": "message_chunk",
            "messageId": "r",
            "blockIndex": 0,
            "content": "Hi",
            "eventIndex": 6,
            "eventId": "r.2.1",
            "timestamp": "2023-11-14T22:13:20.001Z",
            "persistenceState": "transient",
        },
        {
            "type": "message",
            "messageId": "r",
            "blockIndex": 0,
            "content": "Hi",
            "eventIndex": 7,
            "eventId": "r.3.1",
            "timestamp": "2023-11-14T22:13:20.001Z",
            "sequenceNumber": 75,
            "persistenceState": "persisted",
        },
        {
            "type": "complete",
            "messageId": "r",
            "stop_reason": "end_turn",
            "usage": {},
            "eventIndex": 8,
            "eventId": "r.4.1",
            "timestamp": "2023-11-14T22:13:20.999Z",
            "sequenceNumber": 76,
            "persistenceState": "persisted",
        },
    ]


def test_in_profile_document_what_is_stored_is_first_pending() -> None:
    events = run_of(*HELLO, profile="document")
    states = [(event["type"], event["persistenceState"]) for event in events]
    assert states == [
        ("session_start", "pending"),
        ("session_start", "persisted"),
        ("message_chunk", "transient"),
        ("message_chunk", "transient"),
        ("message", "pending"),
        ("message", "persisted"),
        ("complete", "pending"),
        ("complete", "persisted"),
    ]
    assert events[4]["eventId"] == events[5]["eventId"]


def test_without_times_the_events_still_sort_by_theirs() -> None:
    log = [replace(entry, ts=None) for entry in numbered(log_of(HELLO))]
    times = [event["timestamp"] for event in events_of(format_all(AgentEventFormatter("r"), log))]
    assert times[0] == "1970-01-01T00:00:00.001Z"
    assert times == sorted(set(times))


def test_a_run_may_be_called_anything() -> None:
    formatter = AgentEventFormatter('"ü\\%d', session_id='"')
    events = events_of(format_all(formatter, numbered(log_of(HELLO))))
    assert {event["messageId"] for event in events} == {'"ü\\%d'}
    assert events[1]["eventId"] == '"ü\\%d.2.1'


@given(st.integers(0, 253_402_300_799_999))
def test_a_time_is_written_as_iso_8601(ms: int) -> None:
    expected = datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    assert iso(ms) == f"{expected}.{ms % 1000:03}Z"


@pytest.mark.parametrize("day", ["2024-02-29", "2023-12-31", "2100-03-01", "2000-02-29"])
def test_the_days_of_leap_years_are_known(day: str) -> None:
    ms = int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()) * 1000
    assert iso(ms) == f"{day}T00:00:00.000Z"


# Thoughts and texts


def test_text_is_emitted_in_chunks_and_whole() -> None:
    assert told(*HELLO) == [
        {"type": "message_chunk", "blockIndex": 0, "content": "Hel"},
        {"type": "message_chunk", "blockIndex": 0, "content": "lo"},
        {"type": "message", "blockIndex": 0, "content": "Hello"},
    ]


def test_empty_content_is_not_sent() -> None:
    assert told(Text(id="a"), TextDelta(id="a", delta=""), Thinking(id="b"), *HELLO) == [
        {"type": "message_chunk", "blockIndex": 2, "content": "Hel"},
        {"type": "message_chunk", "blockIndex": 2, "content": "lo"},
        {"type": "message", "blockIndex": 2, "content": "Hello"},
    ]


@pytest.mark.parametrize("name", ["signature", "thoughtSignature"])
def test_a_thought_has_its_signature(name: str) -> None:
    signed = ThinkingEnd(id="a", provider={"state": 7, "vendor": {name: "s"}})
    assert told(Thinking(id="a", content="Hm"), signed) == [
        {"type": "thinking_chunk", "blockIndex": 0, "content": "Hm"},
        {"type": "thinking", "blockIndex": 0, "content": "Hm", "signature": "s"},
    ]


def test_signature_without_text_is_emitted() -> None:
    signed = ThinkingEnd(id="a", provider={"anthropic": {"signature": "s"}})
    assert told(Thinking(id="a"), signed) == [
        {"type": "thinking_chunk", "blockIndex": 0, "content": ""},
        {"type": "thinking", "blockIndex": 0, "content": "", "signature": "s"},
    ]


def test_vendor_data_in_a_thought_is_not_sent() -> None:
    kept = ThinkingEnd(id="a", provider={"openai": {"encrypted_content": "secret"}})
    assert "secret" not in str(told(Thinking(id="a", content="Hm"), kept))


def test_thoughts_that_follow_each_other_are_paragraphs() -> None:
    thoughts = [Thinking(content=content, source="think") for content in ("One", "Two")]
    (first, second, whole) = told(*thoughts)
    assert [first["content"], second["content"]] == ["One", "\n\nTwo"]
    assert whole["content"] == "One\n\nTwo"


def test_text_of_a_subagent_is_a_thought_of_its_call() -> None:
    events = told(Text(id="a", scope=("task",), content="Found"))
    assert types(events) == ["thinking_chunk", "thinking"]
    assert [event["scope"] for event in events] == [["task"], ["task"]]


def test_blocks_may_interleave() -> None:
    said = [
        Text(id="a", content="1"),
        Thinking(id="b", content="x"),
        TextDelta(id="a", delta="2"),
        ThinkingDelta(id="b", delta="y"),
        TextEnd(id="a"),
    ]
    events = [event for event in told(*said) if "chunk" not in event["type"]]
    assert events == [
        {"type": "message", "blockIndex": 0, "content": "12"},
        {"type": "thinking", "blockIndex": 1, "content": "xy"},
    ]


def test_events_without_a_type_in_the_contract_are_left_out() -> None:
    assert told(Status(message="Looking")) == []


# Citations

CITED = Source(id="a", url="https://example.org", title="Example", cited_text="so", score=0.5)
CITATION = {"url": "https://example.org", "title": "Example", "cited_text": "so", "score": 0.5}


def test_a_citation_goes_with_the_next_chunk_of_its_text() -> None:
    first, second, third, whole = told(
        Text(id="a", content="So"),
        CITED,
        TextDelta(id="a", delta="."),
        TextDelta(id="a", delta="!"),
    )
    assert [chunk.get("citations") for chunk in (first, second, third)] == [None, [CITATION], None]
    assert whole["citations"] == [CITATION]


def test_a_citation_with_no_chunk_after_it_has_an_empty_one() -> None:
    _, last, whole = told(Text(id="a", content="So."), CITED, TextEnd(id="a"))
    assert last == {
        "type": "message_chunk",
        "blockIndex": 0,
        "content": "",
        "citations": [CITATION],
    }
    assert (whole["content"], whole["citations"]) == ("So.", [CITATION])


def test_late_citation_names_its_text() -> None:
    late = told(*HELLO, CITED)[3:]
    assert [(event["type"], event["blockIndex"], event["content"]) for event in late] == [
        ("message_chunk", 1, ""),
        ("message", 1, ""),
    ]
    assert late[0]["citations"] == late[1]["citations"] == [CITATION | {"blockIndex": 0}]


def test_a_late_citation_goes_with_the_text_that_is_open() -> None:
    events = told(*HELLO, Text(id="b", content="1"), CITED, TextDelta(id="b", delta="2"))
    assert events[-2]["citations"] == events[-1]["citations"] == [CITATION | {"blockIndex": 0}]


def test_a_source_of_nothing_is_one_of_the_text_that_is_open() -> None:
    source = Source(file="a.pdf")
    assert told(Text(id="a", content="So"), source)[-1]["citations"] == [{"file": "a.pdf"}]


@pytest.mark.parametrize(
    "said",
    [
        [ToolUseStart(id="a", name="f"), ToolUseEnd(id="a"), ToolResult(id="a"), CITED],
        [Text(id="a", scope=("task",), content="So"), replace(CITED, scope=("task",))],
        [Thinking(id="a", content="So"), CITED],
        [*HELLO, Retract(blocks=("a",)), CITED],
    ],
    ids=["a tool", "a subagent", "a thought", "what was taken back"],
)
def test_only_texts_of_the_answer_are_cited(said: list[StreamEvent]) -> None:
    assert "citations" not in str(told(*said))


def test_a_link_that_could_run_is_no_link() -> None:
    source = Source(id="a", url="javascript:alert(1)", title="x")
    (_, chunk, _) = told(Text(id="a", content="So"), source)
    assert chunk["citations"] == [{"document": "javascript:alert(1)", "title": "x"}]


# Tool calls

CALL = [
    ToolUseStart(id="c", name="search"),
    ToolUseDelta(id="c", delta='{"q": "x"}'),
    ToolUseEnd(id="c", input={"q": "x"}),
]
USE = {
    "type": "tool_use",
    "tool_name": "search",
    "tool_call_id": "c",
    "tool_input": {"q": "x"},
    "blockIndex": 0,
}


def test_call_is_sent_when_its_input_is_complete_then_its_result() -> None:
    assert told(*CALL, ToolResult(id="c", output={"n": 1})) == [
        USE,
        {"type": "tool_result", "tool_name": "search", "tool_call_id": "c", "result": {"n": 1}},
    ]


@pytest.mark.parametrize(
    ("end", "given"),
    [
        (ToolUseEnd(id="c"), {}),
        (ToolUseEnd(id="c", input=["ls"]), {"input": ["ls"]}),
        (ToolUseEnd(id="c", input="ls"), {"input": "ls"}),
        (ToolUseEnd(id="c", invalid='{"q": '), {"input": '{"q": '}),
    ],
)
def test_an_input_is_always_an_object(end: ToolUseEnd, given: Any) -> None:
    events = told(ToolUseStart(id="c", name="f"), end, ToolResult(id="c", output="ok"))
    assert events[0]["tool_input"] == given


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult(id="c", output={"error": "no such file"}, status="error"), "no such file"),
        (ToolResult(id="c", status="denied"), "The call was denied."),
        (ToolResult(id="c", status="interrupted"), "The call was interrupted."),
    ],
)
def test_failed_result_is_marked_as_failed(result: ToolResult, text: str) -> None:
    event = told(*CALL, result)[-1]
    assert (event["result"], event["isError"]) == (text, True)


def test_part_of_a_result_is_not_emitted() -> None:
    part = ToolResult(id="c", output="…", partial=True)
    events = told(*CALL, part, ToolResult(id="c", output="found"))
    assert [event["result"] for event in events if event["type"] == "tool_result"] == ["found"]


def test_a_later_result_replaces_the_first() -> None:
    events = told(*CALL, ToolResult(id="c", output="1"), ToolResult(id="c", output="2"))
    assert [event["result"] for event in events[1:]] == ["1", "2"]


def test_call_of_a_subagent_names_its_parent() -> None:
    calls = [replace(event, scope=("task",)) for event in (*CALL, ToolResult(id="c", output=1))]
    assert [event["scope"] for event in told(*calls)] == [["task"], ["task"]]


# Taken back


def test_resent_content_is_retracted_by_the_next_event() -> None:
    said = [*HELLO, *CALL, Retract(blocks=("a", "c")), Text(id="a", content="Again")]
    events = told(*said)
    assert [event for event in events if "retracted" in event] == [
        {"type": "message_chunk", "blockIndex": 2, "content": "Again", "retracted": [0, 1]}
    ]


def test_end_retracts_what_is_not_repeated() -> None:
    assert run_of(*HELLO, Retract(blocks=("a",)))[-1]["retracted"] == [0]


# Ends

REASONS: dict[DoneReason, str] = {
    "stop": "end_turn",
    "tool": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "max_turns": "max_turns",
    "cancelled": "cancelled",
    "truncated": "truncated",
    "interrupted": "interrupted",
}


@pytest.mark.parametrize("reason", REASONS)
def test_reason_of_the_end_has_the_names_of_anthropic(reason: DoneReason) -> None:
    assert run_of(Done(reason=reason))[-1]["stop_reason"] == REASONS[reason]


def test_the_provider_s_own_word_comes_first() -> None:
    assert run_of(Done(reason="stop", native="STOP"))[-1]["stop_reason"] == "STOP"


def test_usage_has_the_names_of_anthropic() -> None:
    used = Usage(id="1", input=100, output=7, cache_read=60, cache_write=30, service_tier="batch")
    more = Usage(id="2", input=10, output=1)
    assert run_of(used, more, Result(num_turns=2))[-1]["usage"] == {
        "input_tokens": 20,
        "output_tokens": 8,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 60,
        "service_tier": "batch",
    }


def test_an_input_that_was_all_cache_is_not_less_than_nothing() -> None:
    used = Usage(input=10, output=1, cache_read=20)
    assert run_of(used)[-1]["usage"]["input_tokens"] == 0


def test_a_run_that_failed_ends_with_its_last_error() -> None:
    events = run_of(
        Error(message="first"), Error(message="overloaded", code="529"), Done(reason="error")
    )
    assert types(events) == ["session_start", "error"]
    assert (events[-1]["error"], events[-1]["code"]) == ("overloaded", "529")


@pytest.mark.parametrize("reason", ["error", "lost"])
def test_a_failure_without_words_has_ours(reason: DoneReason) -> None:
    last = run_of(Done(reason=reason))[-1]
    assert last["error"].startswith(("The run failed.", "The server stopped"))
    assert last["code"] == reason


def test_an_error_that_the_run_got_over_is_not_its_end() -> None:
    events = run_of(Error(message="try again"), *HELLO)
    assert types(events)[-1] == "complete"
    assert "try again" not in str(events)


def test_a_run_that_waits_has_no_end_and_goes_on_where_it_was() -> None:
    asked = [*CALL, InputRequest(id="q", tool_call_id="c"), Paused(request_ids=("q",))]
    assert types(run_of(*asked)) == ["session_start", "tool_use"]
    answered = InputResponse(id="q", decision="approved")
    events = run_of(*asked, answered, ToolResult(id="c", output="done"), *HELLO)
    assert types(events)[:3] == ["session_start", "tool_use", "tool_result"]
    assert types(events)[-1] == "complete"


# Cursors


def test_a_session_of_several_runs_has_one_order() -> None:
    first = 0
    events: list[Event] = []
    for name in ("r1", "r2", "r3"):
        formatter = AgentEventFormatter(name, first_event_index=first)
        events += events_of(format_all(formatter, numbered(log_of(HELLO))))
        first += formatter.event_count
    assert [event["eventIndex"] for event in events] == list(range(15))
    assert len({event["eventId"] for event in events}) == 15


@pytest.mark.parametrize(
    ("last", "place"),
    [
        (-1, Place(0, 0)),
        (0, Place(0, 0)),
        (3, Place(0, 0)),
        (4, Place(2, 5)),
        (5, Place(2, 5)),
        (7, Place(2, 5)),
    ],
)
def test_an_index_is_found_in_its_run(last: int, place: Place) -> None:
    assert place_of(last, [5, 0, 3]) == place


@pytest.mark.parametrize("last", [-2, 8, 10**20])
def test_index_that_was_never_sent_is_rejected(last: int) -> None:
    with pytest.raises(InvalidCursor) as refused:
        place_of(last, [5, 0, 3])
    assert refused.value.tail == 7


def test_complete_client_continues_with_the_newest_run() -> None:
    assert place_of(4, [5, 0]) == Place(1, 5)


def test_a_session_without_runs_has_a_beginning() -> None:
    assert place_of(-1, []) == Place(0, 0)


@given(st.lists(logs(), max_size=3), st.integers(min_value=0))
def test_resuming_at_any_index_gives_the_whole_session(
    runs: list[list[LogEntry]], last: int
) -> None:
    counts: list[int] = []
    whole: list[bytes] = []
    for number, log in enumerate(runs):
        formatter = AgentEventFormatter(f"r{number}", first_event_index=sum(counts))
        whole += format_all(formatter, log)
        counts.append(formatter.event_count)
    last = last % (len(whole) + 1) - 1
    place = place_of(last, counts)
    rest: list[bytes] = []
    first = place.first_event_index
    for number in range(place.run, len(runs)):
        formatter = AgentEventFormatter(
            f"r{number}", first_event_index=first, last_event_index=last
        )
        rest += format_all(formatter, runs[number])
        first += formatter.event_count
    assert rest == whole[last + 1 :]


def test_it_is_found_by_its_name() -> None:
    documents = format_all(get_formatter("agent-event", "r"), numbered(log_of(HELLO)))
    check_agent_events(documents)
