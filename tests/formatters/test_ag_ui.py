"""AG-UI: any log gives a legal stream, and what each event becomes."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mobox.errors import UnknownProfile
from mobox.events import (
    Custom,
    Done,
    DoneReason,
    Error,
    EventType,
    File,
    InputRequest,
    InputResponse,
    LogEntry,
    Paused,
    Raw,
    Result,
    Retract,
    Source,
    Start,
    State,
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
    ThinkingEnd,
    TodoCreate,
    TodoItem,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.message import Message
from mobox.events.transcript import build_message
from mobox.events.turn import PromptData, PromptFile, PromptText, UserMessage
from mobox.formatters import format_all, get_formatter, profiles_of
from mobox.formatters.ag_ui import (
    AGUIFormatter,
    connect,
    own_id,
    profile_for,
    snapshot,
    user_message,
    wire_id,
)
from mobox.formatters.ag_ui.tools import completion
from support.ag_ui_client import CLIENTS, AGUIClients
from support.grammar_ag_ui import PROFILES, Event, check_ag_ui, events_of
from support.strategies import log_of, logs, numbered, with_unknown

profiles = st.sampled_from(AGUIFormatter.PROFILES)
each_profile = pytest.mark.parametrize("profile", CLIENTS)


def response_to(log: Sequence[LogEntry], profile: str = "1.0") -> list[bytes]:
    """The whole response; where the log has not ended, the run waits for an answer."""
    formatter = AGUIFormatter("r", profile, thread_id="t")
    documents = [document for entry in log for document in formatter.format(entry)]
    is_over = isinstance(log[-1].event, Done)
    return documents if is_over else [*documents, *formatter.pause()]


def without_times(log: Sequence[LogEntry]) -> list[LogEntry]:
    return [replace(entry, ts=None) for entry in log]


def told(*said: StreamEvent, profile: str = "1.0", times: bool = False) -> list[Event]:
    """The events of a run that says this, after its first and before its last."""
    log = numbered(log_of([*said, Done(reason="stop")]))
    documents = response_to(log if times else without_times(log), profile)
    check_ag_ui(documents, profile)
    return events_of(documents)[1:-1]


def last(*said: StreamEvent, profile: str = "1.0") -> Event:
    """The last event of the response to a run that says this, and maybe waits."""
    documents = response_to(without_times(numbered(log_of(said))), profile)
    check_ag_ui(documents, profile)
    return events_of(documents)[-1]


def types(events: Sequence[Event]) -> list[str]:
    return [event["type"] for event in events]


# Any log


@given(logs(), profiles)
def test_any_order_of_events_gives_a_legal_stream(log: list[LogEntry], profile: str) -> None:
    check_ag_ui(response_to(log, profile), profile)
    check_ag_ui(response_to(without_times(log), profile), profile)


@given(logs(), st.integers(min_value=0), profiles)
def test_a_response_may_end_after_any_entry(log: list[LogEntry], cut: int, profile: str) -> None:
    check_ag_ui(response_to(log[: 1 + cut % len(log)], profile), profile)


@given(logs(), st.integers(min_value=0), profiles)
def test_a_response_may_begin_after_any_entry(log: list[LogEntry], cut: int, profile: str) -> None:
    cut = 1 + cut % len(log)
    formatter = AGUIFormatter("r", profile, thread_id="t", run_id="joined")
    format_all(formatter, log[:cut])
    documents = formatter.resume() + format_all(formatter, log[cut:])
    if cut == len(log) or not isinstance(log[-1].event, Done):
        documents += formatter.pause()
    check_ag_ui(documents, profile)


@given(logs(), st.integers(min_value=0), profiles)
def test_a_response_may_end_and_another_begin_after_any_entry(
    log: list[LogEntry], cut: int, profile: str
) -> None:
    formatter = AGUIFormatter("r", profile)
    for part in (log[: 1 + cut % len(log)], log[1 + cut % len(log) :]):
        begun = formatter.resume() if part[:1] != log[:1] else []
        documents = begun + format_all(formatter, part)
        is_over = bool(part) and isinstance(part[-1].event, Done)
        check_ag_ui(documents if is_over else documents + formatter.pause(), profile)


@given(log=logs(), place=st.integers(0, 30), profile=profiles)
def test_many_entries_at_once_are_formatted_as_one_by_one(
    log: list[LogEntry], place: int, profile: str
) -> None:
    short, long_way = AGUIFormatter("r", profile), AGUIFormatter("r", profile)
    told = [*format_all(short, log[:place]), *short.resume(), *format_all(short, log[place:])]
    assert told == [
        *(document for entry in log[:place] for document in long_way._write(entry.event, entry.ts)),
        *long_way.resume(),
        *(document for entry in log[place:] for document in long_way._write(entry.event, entry.ts)),
    ]


@given(logs(), st.sets(st.integers(1, 20)), profiles)
def test_log_of_a_later_version_can_be_formatted(
    log: list[LogEntry], lost: set[int], profile: str
) -> None:
    check_ag_ui(response_to(with_unknown(log, lost), profile), profile)


def test_every_event_type_has_a_writer() -> None:
    assert AGUIFormatter.WRITERS.keys() == set(EventType)


# Single events

HELLO = [
    {"type": "TEXT_MESSAGE_START", "messageId": "r:a", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "r:a", "delta": "Hel"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "r:a", "delta": "lo"},
    {"type": "TEXT_MESSAGE_END", "messageId": "r:a"},
]
ASKED = InputRequest(id="q", tool_call_id="c", prompt="May I?")
CALL = [
    ToolUseStart(id="c", name="search"),
    ToolUseDelta(id="c", delta='{"q": '),
    ToolUseDelta(id="c", delta='"x"}'),
    ToolUseEnd(id="c", input={"q": "x"}),
]
FOUND = ToolResult(id="c", output="found")


def test_a_text_is_a_message() -> None:
    assert told(Text(id="a", content="Hel"), TextDelta(id="a", delta="lo")) == HELLO


def test_empty_piece_is_not_emitted() -> None:
    empty = TextDelta(id="a", delta="")
    said = [
        Text(id="a"),
        empty,
        TextDelta(id="a", delta="Hel"),
        empty,
        TextDelta(id="a", delta="lo"),
    ]
    assert told(*said) == HELLO


def test_a_block_that_is_opened_again_is_another_message() -> None:
    events = told(Text(id="a", content="1"), TextEnd(id="a"), Text(id="a", content="2"))
    starts = [event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START"]
    assert starts == ["r:a", "r:a@2"]


def test_kind_of_a_text_is_metadata() -> None:
    start, _ = told(Text(id="a", kind="commentary"))
    assert start["metadata"] == {"mobox": {"kind": "commentary"}}


def test_a_thought_has_its_signature_and_how_long_it_took() -> None:
    signed = ThinkingEnd(id="a", provider={"anthropic": {"signature": "s"}})
    assert told(Thinking(id="a", content="Hm", source="plan"), signed, times=True) == [
        {"type": "REASONING_START", "messageId": "r:a"},
        {
            "type": "REASONING_MESSAGE_START",
            "messageId": "r:a",
            "role": "reasoning",
            "metadata": {"mobox": {"source": "plan"}},
        },
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r:a", "delta": "Hm"},
        {
            "type": "REASONING_MESSAGE_END",
            "messageId": "r:a",
            "metadata": {"mobox": {"source": "plan", "durationMs": 100}},
        },
        {
            "type": "REASONING_ENCRYPTED_VALUE",
            "subtype": "message",
            "entityId": "r:a",
            "encryptedValue": '{"anthropic":{"signature":"s"}}',
        },
        {"type": "REASONING_END", "messageId": "r:a"},
        {
            "type": "CUSTOM",
            "name": "mobox.duration",
            "value": {"messageId": "r:a", "durationMs": 100},
        },
        {"type": "CUSTOM", "name": "mobox.duration", "value": {"durationMs": 300}},
    ]


def test_call_is_sent_in_pieces_and_its_result_as_a_message() -> None:
    assert told(*CALL, FOUND) == [
        {"type": "TOOL_CALL_START", "toolCallId": "r:c", "toolCallName": "search"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "r:c", "delta": '{"q": '},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "r:c", "delta": '"x"}'},
        {"type": "TOOL_CALL_END", "toolCallId": "r:c"},
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": "r:c@result",
            "toolCallId": "r:c",
            "content": "found",
            "role": "tool",
        },
    ]


def test_an_input_that_comes_at_once_is_one_piece() -> None:
    events = told(ToolUseStart(id="c", name="f"), ToolUseEnd(id="c", input={"q": 1}), FOUND)
    assert [e["delta"] for e in events if e["type"] == "TOOL_CALL_ARGS"] == ['{"q":1}']


def test_an_input_that_is_another_than_was_streamed_is_corrected() -> None:
    events = told(*CALL[:3], ToolUseEnd(id="c", input={"q": "y"}), FOUND)
    assert types(events)[3:5] == ["TOOL_CALL_END", "MESSAGES_SNAPSHOT"]
    (call,) = events[4]["messages"][0]["toolCalls"]
    assert call["function"]["arguments"] == '{"q":"y"}'


def test_an_input_that_was_cut_off_is_completed() -> None:
    events = told(*CALL[:2], ToolUseEnd(id="c", invalid='{"q": '))
    assert "".join(e["delta"] for e in events if e["type"] == "TOOL_CALL_ARGS") == '{"q": null}'
    (end,) = [event for event in events if event["type"] == "TOOL_CALL_END"]
    assert end["metadata"] == {"mobox": {"invalid": True, "added": "null}"}}


CUT_OFF = {
    '{"a': '{"a":null}',
    '{"a"': '{"a":null}',
    '{"a":': '{"a":null}',
    '{"a": "b': '{"a": "b"}',
    '{"a": "b\\': '{"a": "b\\\\"}',
    '{"a": "\\u00': '{"a": "\\u0000"}',
    '{"a": [1, {"b": tr': '{"a": [1, {"b": true}]}',
    '{"a": 1,': '{"a": 1,"":null}',
    '{"a": 1.': '{"a": 1.0}',
    "[": "[]",
}


@pytest.mark.parametrize("text", CUT_OFF)
def test_a_text_that_was_cut_off_is_completed(text: str) -> None:
    assert text + completion(text) == CUT_OFF[text]
    json.loads(CUT_OFF[text])


@pytest.mark.parametrize("text", ['{"a": nope', "}", '{"a": 1}}', "[[" * 2000])
def test_invalid_json_gets_no_completion(text: str) -> None:
    assert completion(text) == ""


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ),
    st.data(),
)
def test_every_beginning_of_an_object_can_be_completed(value: Any, data: st.DataObject) -> None:
    text = json.dumps({"value": value}, ensure_ascii=data.draw(st.booleans()))
    cut = text[: data.draw(st.integers(1, len(text)))]
    assert json.loads(cut + completion(cut)) is not None


def test_a_second_result_corrects_the_first() -> None:
    events = told(*CALL, FOUND, ToolResult(id="c", output="more"))
    assert types(events)[4:] == ["TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT"]
    assert [m["content"] for m in events[-1]["messages"] if m["role"] == "tool"] == ["more"]


def test_a_part_of_a_result_is_not_a_result() -> None:
    events = told(*CALL, ToolResult(id="c", output="…", partial=True), FOUND)
    assert events[4] == {
        "type": "CUSTOM",
        "name": "mobox.tool_output",
        "value": {"toolCallId": "r:c", "output": "…"},
    }
    assert types(events)[5:] == ["TOOL_CALL_RESULT"]


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
SOUND = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
WORDS = {"type": "text", "text": "Look"}
RESULTS: list[tuple[Any, Any]] = [
    ("plain", "plain"),
    (None, "null"),
    ({"n": 1}, '{"n":1}'),
    ([], "[]"),
    ([WORDS, WORDS], "Look\nLook"),
    ([WORDS, 7], '[{"type":"text","text":"Look"},7]'),
    ([WORDS, {"type": "image", "url": "https://x"}], None),
    (
        [WORDS, PICTURE, SOUND],
        [
            WORDS,
            {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
            {"type": "audio", "source": {"type": "data", "value": "aGk=", "mimeType": "audio/wav"}},
        ],
    ),
]


@pytest.mark.parametrize(("output", "content"), RESULTS)
def test_a_result_is_text_or_parts(output: Any, content: Any) -> None:
    result = told(*CALL, ToolResult(id="c", output=output))[-1]
    expected = json.dumps(output, separators=(",", ":")) if content is None else content
    assert result["content"] == expected
    old = told(*CALL, ToolResult(id="c", output=output), profile="pre-1.0")[-1]
    assert isinstance(old["content"], str)


@pytest.mark.parametrize(
    ("result", "content"),
    [
        (ToolResult(id="c", output={"error": "no such file"}, status="error"), "no such file"),
        (ToolResult(id="c", status="denied"), "The call was denied."),
        (ToolResult(id="c", status="interrupted"), "The call was interrupted."),
    ],
)
def test_reason_of_a_failed_call_is_metadata(result: ToolResult, content: str) -> None:
    event = told(*CALL, result)[-1]
    assert event["content"] == content
    assert event["metadata"] == {"mobox": {"status": result.status}}


def test_a_call_keeps_what_its_vendor_wants_to_see_again() -> None:
    start = ToolUseStart(
        id="c", name="f", kind="search", server=True, provider={"google": {"thoughtSignature": "s"}}
    )
    events = told(start, ToolUseEnd(id="c"), FOUND)
    assert events[0]["metadata"] == {"mobox": {"kind": "search", "server": True}}
    assert events[1]["subtype"] == "tool-call"
    assert events[1]["encryptedValue"] == '{"google":{"thoughtSignature":"s"}}'


def test_citations_are_sent_when_their_text_ends() -> None:
    cited = Source(id="a", url="https://example.org", title="Example", cited_text="so")
    events = told(Text(id="a", content="So."), cited, TextEnd(id="a"))
    expected = [{"url": "https://example.org", "title": "Example", "citedText": "so"}]
    assert events[-1]["metadata"] == {"citations": expected}


def test_a_citation_that_comes_late_opens_its_text_again() -> None:
    events = told(Text(id="a", content="So."), TextEnd(id="a"), Source(id="a", file="a.pdf"))
    assert types(events)[2:] == ["TEXT_MESSAGE_END", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END"]
    assert events[-1]["metadata"] == {"citations": [{"file": "a.pdf"}]}


def test_a_link_that_could_run_is_no_link() -> None:
    (activity,) = told(Source(url="javascript:alert(1)", title="x"))
    assert activity["content"] == {"sources": [{"title": "x", "document": "javascript:alert(1)"}]}


def test_uncited_sources_are_one_activity() -> None:
    events = told(*CALL, Source(id="c", url="https://a.org"), Source(url="https://b.org"), FOUND)
    found = [event for event in events if event["type"] == "ACTIVITY_SNAPSHOT"]
    assert [event["messageId"] for event in found] == ["r:@sources"] * 2
    assert [s["url"] for s in found[-1]["content"]["sources"]] == ["https://a.org", "https://b.org"]


def test_a_plan_is_an_activity_of_the_agent_whose_it_is() -> None:
    items = (TodoItem(content="look", status="in_progress", active_form="Looking"),)
    events = told(TodoCreate(items=items), TodoCreate(items=items, scope=("c",)))
    mine, theirs = [event for event in events if event["type"] == "ACTIVITY_SNAPSHOT"]
    assert mine == {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": "r:@todos",
        "activityType": "mobox.todos",
        "content": {
            "items": [{"content": "look", "status": "in_progress", "activeForm": "Looking"}]
        },
    }
    assert (theirs["messageId"], theirs["subagentRunId"]) == ("r:@todos/c", "r:c")


FILES = [
    (File(media_type="image/png", base64="aGk="), "data:image/png;base64,aGk="),
    (File(media_type="image/png", url="https://example.org/a.png"), "https://example.org/a.png"),
    (File(media_type="image/png", url="javascript:alert(1)"), None),
    (File(media_type="text/html,<script>", base64="aGk="), None),
    (File(media_type="image/png", file_id="f"), None),
]


@pytest.mark.parametrize(("said", "url"), FILES)
def test_a_file_is_an_activity(said: File, url: str | None) -> None:
    (activity,) = told(said)
    assert (activity["messageId"], activity["activityType"]) == ("r:@file_1", "mobox.file")
    assert activity["content"].get("url") == url


@pytest.mark.parametrize(
    ("said", "event"),
    [
        (
            Status(message="0.5", kind="progress"),
            ("mobox.status", {"message": "0.5", "kind": "progress"}),
        ),
        (Custom(name="chart", value=None), ("chart", None)),
        (
            Usage(input=3, output=4, cache_read=1),
            (
                "mobox.usage",
                {"inputTokens": 3, "outputTokens": 4, "cachedInputTokens": 1, "isTotal": False},
            ),
        ),
        (Result(num_turns=2), ("mobox.usage", {"isTotal": False, "numTurns": 2})),
        (
            State(mode="patch", value=7),
            ("mobox.state", {"mode": "patch", "value": 7}),
        ),
        (
            InputRequest(id="q", kind="question", prompt="Which?"),
            ("mobox.input_request", {"id": "r:q", "kind": "question", "prompt": "Which?"}),
        ),
        (
            InputResponse(id="q", decision="approved"),
            ("mobox.input_response", {"id": "r:q", "decision": "approved"}),
        ),
    ],
)
def test_data_without_an_event_is_custom(said: StreamEvent, event: tuple[str, Any]) -> None:
    name, value = event
    told_as = [e for e in told(said) if e["type"] == "CUSTOM"]
    assert told_as == [{"type": "CUSTOM", "name": name, "value": value}]


def customs(*said: StreamEvent, times: bool = False) -> list[tuple[str, Any]]:
    events = [event for event in told(*said, times=times) if event["type"] == "CUSTOM"]
    return [(event["name"], event["value"]) for event in events]


def test_activity_of_an_agent_is_sent_line_by_line() -> None:
    plan = TodoCreate(items=(TodoItem(content="look", status="pending"),))
    assert customs(Status(message="Looking"), plan, Text(id="a", content="x")) == [
        ("mobox.status", {"message": "Looking", "kind": "activity"}),
        ("mobox.processing", {"id": "processing_1", "line": "Looking"}),
        ("mobox.processing", {"id": "processing_1", "line": "Planned 1 step: look"}),
        ("mobox.processing", {"id": "processing_1"}),
    ]


def test_busy_time_of_an_agent_is_reported_at_its_end() -> None:
    *_, (name, ended), _duration = customs(Status(message="Looking"), times=True)
    assert name == "mobox.processing"
    assert ended == {"id": "processing_1", "durationMs": 100}


def test_an_error_that_a_run_got_over_is_such_a_line() -> None:
    assert customs(Error(message="busy"), Text(content="x")) == [
        ("mobox.status", {"message": "busy", "kind": "notice"}),
        ("mobox.processing", {"id": "processing_1", "line": "busy"}),
        ("mobox.processing", {"id": "processing_1"}),
    ]


def test_repeated_application_event_names_what_it_replaces() -> None:
    (event,) = told(Custom(id="c1", name="chart", value=[1]))
    assert event["metadata"] == {"mobox": {"id": "c1"}}


def test_answer_contains_its_question() -> None:
    call = [ToolUseStart(id="c", name="rm"), ToolUseEnd(id="c", input={})]
    asked = InputRequest(id="q", kind="approval", tool_call_id="c", prompt="Sure?", options=["y"])
    about = {"id": "r:q", "kind": "approval", "prompt": "Sure?", "toolCallId": "r:c"}
    answer = {"decision": "denied", "value": "no"}
    assert customs(*call, asked, InputResponse(id="q", decision="denied", value="no")) == [
        ("mobox.input_request", {**about, "options": ["y"]}),
        ("mobox.input_response", {**about, "options": ["y"], **answer}),
    ]


@pytest.mark.parametrize(
    ("output", "form"),
    [
        ("text", None),
        ({"a": 1}, {"json": True}),
        (7, {"json": True}),
        ([], {"json": True}),
        ([{"type": "text", "text": "one\ntwo"}, {"type": "text", "text": ""}], {"lines": [2, 1]}),
        ([{"type": "text", "text": "one", "more": 1}], None),
        ([{"type": "image", "data": "aGk=", "mimeType": "image/png"}], None),
    ],
)
def test_original_value_of_a_result_is_metadata(output: Any, form: Any) -> None:
    *_, result = told(*CALL, ToolResult(id="c", output=output))
    assert result.get("metadata") == (form and {"mobox": form})


def test_kind_and_outcome_of_a_step_are_metadata() -> None:
    start = StepStart(id="s", kind="task", name="Look", number=2)
    begun, ended = told(start, StepEnd(id="s", status="error"))
    about = {"id": "s", "kind": "task", "name": "Look", "number": 2}
    assert begun["metadata"] == {"mobox": about}
    assert ended["metadata"] == {"mobox": {**about, "status": "error"}}


def test_a_step_that_only_its_response_ends_has_no_status() -> None:
    asking = (InputRequest(id="q", kind="question"), Paused(request_ids=("q",)))
    events = events_of(response_to(numbered(log_of([StepStart(id="s", kind="task"), *asking]))))
    (ended,) = [event for event in events if event["type"] == "STEP_FINISHED"]
    assert ended["metadata"] == {"mobox": {"id": "s", "kind": "task"}}


def test_folder_and_background_flag_of_a_subagent_are_metadata() -> None:
    outer, inner = (
        SubagentStart(id="c", agent="a"),
        SubagentStart(id="d", agent="b", scope=("c",), background=True),
    )
    started = [e for e in told(outer, inner) if e["type"] == "SUBAGENT_STARTED"]
    assert "metadata" not in started[0]
    assert started[1]["metadata"] == {"mobox": {"scope": ["c"], "background": True}}


def test_response_of_a_waiting_run_ends_as_waiting() -> None:
    asked = InputRequest(id="q", kind="tool", tool_call_id="c")
    assert last(*CALL, asked, Paused(request_ids=("q",)))["metadata"] == {
        "mobox": {"waiting": True}
    }
    assert "metadata" not in last(*CALL, Done(reason="stop"))


def test_raw_lines_are_not_sent_to_clients() -> None:
    assert told(Text(id="a", content="x"), Raw(raw="secret", source="stderr")) == [
        *(HELLO[0], {**HELLO[1], "delta": "x"}, HELLO[3])
    ]


def test_the_name_of_a_step_is_free_when_it_starts() -> None:
    node = StepStart(id="1", kind="node", name="tools")
    events = told(
        *(node, replace(node, id="2"), replace(node, id="3", scope=("c",))),
        *(StepEnd(id="1"), StepEnd(id="2"), StepEnd(id="3", scope=("c",)), StepStart(number=4)),
    )
    names = [(event["stepName"], event.get("subagentRunId")) for event in events]
    assert names[:3] == [("tools", None), ("tools (2)", None), ("tools", "r:c")]
    assert names[3:] == [*names[:3], ("turn 4", None), ("turn 4", None)]


SPAWNED = SubagentStart(id="c", agent="researcher", task="look")
NOTE = [
    {"type": "REASONING_START", "messageId": "r:thinking_1"},
    {"type": "REASONING_MESSAGE_START", "messageId": "r:thinking_1", "role": "reasoning"},
    {
        "type": "REASONING_MESSAGE_CONTENT",
        "messageId": "r:thinking_1",
        "delta": "researcher started: look",
    },
]


def test_text_of_a_subagent_is_tagged_with_it() -> None:
    inside = Text(id="a", scope=("c",), content="Seen.")
    events = told(SPAWNED, inside, SubagentEnd(id="c", summary="seen"))
    assert events[:3] == NOTE
    assert events[3] == {
        "type": "SUBAGENT_STARTED",
        "subagentRunId": "r:c",
        "name": "researcher",
        "description": "look",
        "parentToolCallId": "r:c",
    }
    said = [event for event in events if event["type"] == "TEXT_MESSAGE_START"]
    assert [event["subagentRunId"] for event in said] == ["r:c"]
    (end,) = [event for event in events if event["type"] == "SUBAGENT_FINISHED"]
    assert (end["result"], end["outcome"]) == ("seen", {"type": "success"})


def test_older_clients_get_subagent_text_as_a_thought() -> None:
    inside = Text(id="a", scope=("c",), content="Seen.")
    events = told(SPAWNED, inside, SubagentEnd(id="c", summary="seen"), profile="pre-1.0")
    about = {"subagentRunId": "r:c", "name": "researcher", "task": "look"}
    custom = [event["value"] for event in events if event["type"] == "CUSTOM"]
    assert custom == [
        {**about, "status": "running"},
        {**about, "status": "ok", "summary": "seen"},
    ]
    starts = [event for event in events if event["type"] == "REASONING_MESSAGE_START"]
    assert [event.get("subagentRunId") for event in starts] == [None, "r:c", None]


def test_a_subagent_of_a_subagent_names_its_parent() -> None:
    inner = SubagentStart(id="d", scope=("c",), agent="reader")
    failed = SubagentEnd(id="d", scope=("c",), status="error")
    events = told(SPAWNED, inner, failed, SubagentEnd(id="c"))
    agents = [event for event in events if event["type"].startswith("SUBAGENT")]
    assert agents[1]["parentSubagentRunId"] == "r:c"
    assert agents[2] == {
        "type": "SUBAGENT_ERROR",
        "subagentRunId": "r:d",
        "message": "The subagent failed.",
        "code": "error",
    }


def test_a_subagent_that_is_started_again_is_not_another() -> None:
    events = told(SPAWNED, SubagentEnd(id="c"), SPAWNED, SubagentEnd(id="c", summary="again"))
    agents = [e for e in events if e["type"] == "CUSTOM" or e["type"].startswith("SUBAGENT")]
    assert types(agents) == ["SUBAGENT_STARTED", "SUBAGENT_FINISHED", "CUSTOM", "CUSTOM"]


STATES: list[tuple[list[tuple[str, Any]], Any]] = [
    ([("snapshot", {"n": 1}), ("patch", {"m": 2})], {"n": 1, "m": 2}),
    ([("patch", {"a/b": 1, "c~d": 2})], {"a/b": 1, "c~d": 2}),
    ([("snapshot", [1, 2])], [1, 2]),
    (
        [
            ("snapshot", {"list": [1, 2], "gone": 0}),
            (
                "patch",
                [
                    {"op": "add", "path": "/list/-", "value": 3},
                    {"op": "add", "path": "/list/0", "value": 0},
                    {"op": "replace", "path": "/list/1", "value": "one"},
                    {"op": "remove", "path": "/gone"},
                ],
            ),
        ],
        {"list": [0, "one", 2, 3]},
    ),
]


@each_profile
@pytest.mark.parametrize(("changes", "state"), STATES)
def test_real_client_has_the_sent_state(
    ag_ui: AGUIClients, changes: list[tuple[Any, Any]], state: Any, profile: str
) -> None:
    said = [State(mode=mode, value=value) for mode, value in changes]
    log = numbered(log_of([*said, Done(reason="stop")]))
    reading = ag_ui.read(profile, response_to(log, profile))
    assert (reading.error, reading.warnings, reading.state) == (None, [], state)
    formatter = AGUIFormatter("r", profile)
    format_all(formatter, log)
    joined = ag_ui.read(profile, formatter.resume() + formatter.pause())
    assert (joined.error, joined.warnings, joined.state) == (None, [], state)


@pytest.mark.parametrize(
    "patch",
    [
        "no patch",
        [7],
        [{"op": "move", "from": "/a", "path": "/b"}],
        [{"op": "add", "path": "a", "value": 1}],
        [{"op": "add", "path": "/a"}],
        [{"op": "remove", "path": "/missing"}],
        [{"op": "replace", "path": "/list/9", "value": 1}],
        [{"op": "add", "path": "/list/x", "value": 1}],
        [{"op": "add", "path": "/n/deeper", "value": 1}],
        {"__proto__": {"polluted": True}},
    ],
)
def test_a_patch_that_does_not_apply_is_custom(patch: Any) -> None:
    before = State(mode="snapshot", value={"list": [1], "n": 1})
    _, event = told(before, State(mode="patch", value=patch))
    assert event["value"] == {"mode": "patch", "value": patch}


# How responses end


def ended(reason: Any, *said: StreamEvent, profile: str = "1.0") -> Event:
    log = without_times(numbered(log_of(said, Done(reason=reason))))
    documents = response_to(log, profile)
    check_ag_ui(documents, profile)
    return events_of(documents)[-1]


RUN = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def test_a_run_ends_well() -> None:
    assert last(Text(content="x"), Done(reason="stop")) == {**RUN, "outcome": {"type": "success"}}


def test_why_a_run_ended_otherwise_is_metadata() -> None:
    assert last(Done(reason="length")) == {
        **RUN,
        "outcome": {"type": "success"},
        "metadata": {"mobox": {"reason": "length"}},
    }


def test_cancelled_run_is_reported_to_clients_that_support_it() -> None:
    why = {"metadata": {"mobox": {"reason": "cancelled"}}}
    assert ended("cancelled") == {**RUN, "outcome": {"type": "cancelled"}, **why}
    assert ended("cancelled", profile="pre-1.0") == {**RUN, **why}


@pytest.mark.parametrize("reason", ["stop", "cancelled", "error"])
def test_the_end_of_a_run_marks_a_simulated_model(reason: DoneReason) -> None:
    end = last(Start(framework="test", simulated=True), Done(reason=reason))
    why = {"reason": reason} if reason != "stop" else {}
    assert end["metadata"] == {"mobox": {**why, "simulated": True}}


@pytest.mark.parametrize("reason", ["error", "lost"])
def test_failed_run_has_its_reason(reason: str) -> None:
    assert ended(reason, Error(message="first"), Error(message="last", code="E1")) == {
        "type": "RUN_ERROR",
        "message": "last",
        "code": "E1",
        "metadata": {"mobox": {"reason": reason}},
    }
    assert ended(reason)["code"] == reason
    assert ended(reason)["message"].startswith(("The run failed.", "The server stopped"))


def test_tokens_are_reported_by_model() -> None:
    one, other = Usage(id="1", model="m", input=1, output=2), Usage(id="2", model="n", input=3)
    again = replace(one, id="3")
    assert last(one, other, again, Done(reason="stop"))["usage"] == [
        {"model": "m", "inputTokens": 2, "outputTokens": 4},
        {"model": "n", "inputTokens": 3, "outputTokens": 0},
    ]


def test_the_total_that_a_run_names_is_its_usage() -> None:
    call = Usage(id="1", model="m", input=1, output=2)
    whole = Usage(per="run", input=5, output=6, cache_write=2, reasoning=1, total=11)
    assert last(call, whole, Done(reason="stop"))["usage"] == [
        {
            "model": "m",
            "inputTokens": 5,
            "outputTokens": 6,
            "totalTokens": 11,
            "reasoningTokens": 1,
            "cacheWriteInputTokens": 2,
        }
    ]


def test_token_counts_are_capped_at_what_clients_can_count() -> None:
    usage = last(
        Usage(id="1", input=2**53, output=1), Usage(id="2", input=2**53), Done(reason="stop")
    )
    assert usage["usage"][0]["inputTokens"] == 2**53 - 1


def test_calls_that_are_handed_over_are_pending() -> None:
    outcome = last(*CALL, Done(reason="tool"))["outcome"]
    assert outcome == {"type": "success", "pendingToolCallIds": ["r:c"]}
    old = last(*CALL, Done(reason="tool"), profile="pre-1.0")["outcome"]
    assert old == {"type": "success"}


PAUSED = Paused(request_ids=("q",))


@pytest.mark.parametrize("profile", AGUIFormatter.PROFILES)
def test_input_request_is_an_interrupt(profile: str) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    question = InputRequest(id="p", kind="question", prompt="Who?", schema=schema, options=["a"])
    outcome = last(*CALL, ASKED, question, PAUSED, profile=profile)["outcome"]
    approval, other = outcome["interrupts"]
    assert outcome["type"] == "interrupt"
    assert approval["responseSchema"]["required"] == ["approved"]
    assert {name: approval[name] for name in ("id", "reason", "message", "toolCallId")} == {
        "id": "r:q",
        "reason": "tool_call",
        "message": "May I?",
        "toolCallId": "r:c",
    }
    assert other == {
        "id": "r:p",
        "reason": "input_required",
        "message": "Who?",
        "responseSchema": schema,
        "metadata": {"mobox": {"kind": "question", "options": ["a"]}},
    }


DECIDED = {"approved": {"type": "boolean"}}
WORDS = {"type": "string"}


@pytest.mark.parametrize(
    ("allowed", "schema"),
    [
        ((), {**DECIDED, "reason": WORDS}),
        (("approve",), DECIDED),
        (("approve", "edit", "reject"), {**DECIDED, "editedArgs": {}, "reason": WORDS}),
    ],
)
def test_interrupt_lists_the_allowed_decisions(
    allowed: tuple[str, ...], schema: dict[str, object]
) -> None:
    asked = InputRequest(id="q", tool_call_id="c", allowed=allowed)
    [interrupt] = last(*CALL, asked, PAUSED)["outcome"]["interrupts"]
    form = {"type": "object", "properties": schema, "required": ["approved"]}
    assert interrupt["responseSchema"] == form
    assert interrupt["metadata"]["mobox"].get("allowed", []) == list(allowed)


def test_an_interrupt_whose_tool_a_person_may_stand_in_for_takes_words() -> None:
    asked = InputRequest(id="q", tool_call_id="c", allowed=("respond",))
    [interrupt] = last(*CALL, asked, PAUSED)["outcome"]["interrupts"]
    assert interrupt["responseSchema"] == WORDS
    both = InputRequest(id="q", tool_call_id="c", allowed=("approve", "respond"))
    [interrupt] = last(*CALL, both, PAUSED)["outcome"]["interrupts"]
    form = {"type": "object", "properties": DECIDED, "required": ["approved"]}
    assert interrupt["responseSchema"] == {"anyOf": [form, WORDS]}


def test_answered_request_is_not_repeated() -> None:
    answered = [*CALL, ASKED, InputResponse(id="q", decision="approved"), FOUND]
    question = InputRequest(id="p", kind="question")
    outcome = last(*answered, question, PAUSED)["outcome"]
    assert [each["id"] for each in outcome["interrupts"]] == ["r:p"]


def test_call_with_a_result_is_not_requested_again() -> None:
    question = InputRequest(id="p", kind="question")
    outcome = last(*CALL, ASKED, FOUND, question, PAUSED)["outcome"]
    assert [each["id"] for each in outcome["interrupts"]] == ["r:p"]


def test_a_tool_of_the_frontend_is_no_interrupt() -> None:
    outcome = last(*CALL, replace(ASKED, kind="tool"), PAUSED)["outcome"]
    assert outcome == {"type": "success", "pendingToolCallIds": ["r:c"]}


def test_open_blocks_are_closed_at_the_end_of_a_response_and_reopened_in_the_next() -> None:
    said = [
        *(StepStart(id="s", number=1), SPAWNED, Thinking(id="a", content="Hm"), *CALL[:2]),
        *(InputRequest(id="q", kind="question"), PAUSED),
    ]
    asked = {"id": "u", "role": "user", "content": "Hi"}
    formatter = AGUIFormatter("r", thread_id="t", run_id="second", history=[asked])
    format_all(formatter, without_times(numbered(log_of(said))))
    closed, opened = events_of(formatter.pause()), events_of(formatter.resume())
    assert types(closed) == [
        *("REASONING_MESSAGE_END", "REASONING_END", "TOOL_CALL_END", "STEP_FINISHED"),
        *("SUBAGENT_FINISHED", "RUN_FINISHED"),
    ]
    assert closed[-2]["outcome"] == {"type": "suspended"}
    assert types(opened) == [
        *("RUN_STARTED", "MESSAGES_SNAPSHOT", "SUBAGENT_STARTED", "STEP_STARTED"),
        *("TOOL_CALL_START", "REASONING_START", "REASONING_MESSAGE_START"),
    ]
    assert opened[0] == {
        "type": "RUN_STARTED",
        "threadId": "t",
        "runId": "second",
        "protocolVersion": "1.0",
    }
    messages = opened[1]["messages"]
    assert [message["role"] for message in messages] == [
        *("user", "reasoning", "reasoning", "assistant")
    ]
    assert messages[3]["toolCalls"][0]["function"]["arguments"] == '{"q": '


def test_joining_client_does_not_get_an_ended_parent() -> None:
    inner = SubagentStart(id="d", scope=("c",), agent="reader")
    formatter = AGUIFormatter("r")
    format_all(formatter, numbered(log_of([SPAWNED, inner, SubagentEnd(id="c")]))[:-2])
    started = [e for e in events_of(formatter.resume()) if e["type"] == "SUBAGENT_STARTED"]
    assert [event["subagentRunId"] for event in started] == ["r:d"]
    assert "parentSubagentRunId" not in started[0]
    check_ag_ui(formatter.resume() + formatter.pause())


def test_client_joining_a_finished_run_gets_its_end() -> None:
    formatter = AGUIFormatter("r", thread_id="t")
    documents = format_all(formatter, numbered(log_of([Text(content="x")], Done(reason="lost"))))
    assert formatter.pause() == documents[-1:]
    check_ag_ui(formatter.resume() + formatter.pause())


# What was taken back


def test_retracted_content_is_gone() -> None:
    said = [Thinking(id="i", content="Hm"), ThinkingEnd(id="i"), Text(id="a", content="x"), *CALL]
    taken_back = Retract(blocks=("a", "c"))
    events = told(*said, taken_back, Source(id="a", url="https://a.org"), ToolResult(id="c"))
    (retracted,) = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    assert [message["id"] for message in retracted["messages"]] == ["r:i"]
    assert events[-1] == retracted


def test_the_thread_is_not_taken_back_with_it() -> None:
    before = [{"id": "u", "role": "user", "content": "Hi"}]
    formatter = AGUIFormatter("r", history=before)
    log = numbered(log_of([Text(id="a", content="x"), Retract(blocks=("a",))]))
    snapshots = [e for e in events_of(format_all(formatter, log)) if "messages" in e]
    assert snapshots == [{"type": "MESSAGES_SNAPSHOT", "messages": before}]


def test_the_only_thought_is_emptied_because_a_client_would_keep_it() -> None:
    events = told(Thinking(id="i", content="Hm"), Retract(blocks=("i",)))
    assert events[-1]["messages"] == [{"id": "r:i", "role": "reasoning", "content": ""}]


# At rest


def test_a_message_that_was_stored_without_parts() -> None:
    stored = Message(id="r", parts=[], content="Hello", metadata={"thinking": "Hm"})
    assert snapshot(stored) == [
        {"id": "r:@reasoning", "role": "reasoning", "content": "Hm"},
        {"id": "r:@assistant", "role": "assistant", "content": "Hello"},
    ]


def test_a_message_of_a_person() -> None:
    said = UserMessage(id="u", parts=(PromptText(text="Look"), PromptText(text="here")))
    assert user_message(said) == {"id": "u", "role": "user", "content": "Look\nhere"}


def test_a_message_of_a_person_with_files() -> None:
    parts = (
        PromptText(text="Look"),
        PromptFile(media_type="image/png", url="data:image/png;base64,aGk=", name="a.png"),
        PromptFile(media_type="application/pdf", url="https://example.org/a.pdf"),
        PromptData(name="mine", value=1),
    )
    message = user_message(UserMessage(id="u", parts=parts, metadata={"from": "web"}))
    assert message == {
        "id": "u",
        "role": "user",
        "content": [
            {"type": "text", "text": "Look"},
            {
                "type": "image",
                "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"},
                "metadata": {"filename": "a.png"},
            },
            {
                "type": "document",
                "source": {
                    "type": "url",
                    "value": "https://example.org/a.pdf",
                    "mimeType": "application/pdf",
                },
            },
        ],
        "metadata": {"from": "web"},
    }


@each_profile
def test_the_real_client_connects_to_a_thread_where_nothing_is_under_way(
    ag_ui: AGUIClients, profile: str
) -> None:
    log = numbered(log_of([Thinking(id="i", content="Hm"), *CALL, FOUND, Text(content="x")]))
    asked = user_message(UserMessage(id="u", parts=(PromptText(text="Look"),)))
    messages = [asked, *snapshot(build_message(log, "r"), profile)]
    documents = connect(messages, thread_id="t", run_id="c", profile=profile)
    check_ag_ui(documents, profile)
    reading = ag_ui.read(profile, documents)
    assert (reading.error, reading.warnings, reading.messages) == (None, [], messages)


# Names


def test_ids_on_the_wire_have_their_runs_in_front() -> None:
    assert wire_id("r", "a:b") == "r:a:b"
    assert own_id("r:a:b") == ("r", "a:b")
    assert own_id("f3b8") == (None, "f3b8")


def test_a_client_without_a_version_is_older() -> None:
    assert (profile_for(None), profile_for("1.0"), profile_for("1.1")) == ("pre-1.0", "1.0", "1.0")


def test_it_is_registered_and_knows_its_profiles() -> None:
    assert isinstance(get_formatter("ag-ui", "r"), AGUIFormatter)
    assert profiles_of("ag-ui") == ("1.0", "pre-1.0")
    with pytest.raises(UnknownProfile):
        AGUIFormatter("r", "0.1")


def test_the_first_entry_begins_the_run_even_if_it_is_of_a_later_version() -> None:
    formatter = AGUIFormatter("r")
    unknown = LogEntry(1, 1, None, Raw(raw={"type": "begin"}, source="unknown event"))
    assert types(events_of(formatter.format(unknown))) == ["RUN_STARTED"]
    assert formatter.format(LogEntry(2, 2, None, Start(framework="test"))) == []


# The grammar itself: what it refuses

START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
END = {**RUN}
SAID = HELLO[:2]
BEGUN = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}
DONE_CALL = [BEGUN, {"type": "TOOL_CALL_END", "toolCallId": "c"}]
TOLD = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "x"}
STEP = {"type": "STEP_STARTED", "stepName": "s"}
AGENT = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}
OVER = {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}
REFUSED: list[tuple[list[Event], str]] = [
    ([END], "RUN_STARTED is first"),
    ([START, START], "RUN_STARTED is first"),
    ([START, END, STEP], "nothing comes after the end"),
    ([START, {**END, "runId": "x"}], "another run ends"),
    ([START, {"type": "THINKING_START"}, END], "does not know this type"),
    ([START, {"type": "STEP_STARTED", "stepName": "s", "stepId": "1"}, END], "unknown"),
    ([START, {"type": "TEXT_MESSAGE_START", "messageId": None}, END], "cannot be None"),
    ([START, *SAID, END], "still open"),
    ([START, SAID[1], END], "is not open"),
    ([START, SAID[0], SAID[0], END], "is open already"),
    ([START, SAID[0], {**SAID[1], "delta": ""}, END], "cannot be ''"),
    ([START, SAID[0], {**SAID[1], "subagentRunId": "s"}, END], "is of None"),
    ([START, STEP, STEP, END], "this step is open already"),
    ([START, STEP, {**STEP, "type": "STEP_FINISHED", "subagentRunId": "s"}], "is not open"),
    ([START, BEGUN, TOLD, END], "before the input is complete"),
    ([START, TOLD, END], "nobody started this call"),
    ([START, *DONE_CALL, TOLD, TOLD, END], "two results"),
    ([START, *DONE_CALL, BEGUN, END], "started before"),
    ([START, *DONE_CALL, {**TOLD, "content": {"n": 1}}, END], "no such content"),
    ([START, *DONE_CALL, {**TOLD, "messageId": "c"}, END], "such a message already"),
    ([START, AGENT, END], "still open"),
    ([START, AGENT, OVER, AGENT, END], "started once"),
    ([START, OVER, END], "does not run"),
    ([START, {**AGENT, "parentSubagentRunId": "x"}, END], "started its parent"),
    ([START, {**END, "outcome": {"type": "interrupt", "interrupts": []}}], "know the outcome"),
    ([START, {**END, "usage": [{"inputTokens": -1}]}], "usage cannot be"),
    ([START, {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "x", "value": 1}]}], "delta"),
    ([START, {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "x"}]}], "messages"),
    (
        [START, {"type": "MESSAGES_SNAPSHOT", "messages": 2 * [{"id": "m", "role": "assistant"}]}],
        "stands twice",
    ),
    (
        [
            START,
            {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": "message",
                "entityId": "m",
                "encryptedValue": "s",
            },
        ],
        "could belong to",
    ),
    ([START], "the run has no end"),
]


@pytest.mark.parametrize(("stream", "complaint"), REFUSED)
def test_the_grammar_refuses(stream: list[Event], complaint: str) -> None:
    with pytest.raises(AssertionError) as refused:
        check_ag_ui([json.dumps(event).encode() for event in stream])
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    "event",
    [
        {**END, "outcome": {"type": "cancelled"}},
        {**END, "outcome": {"type": "success", "pendingToolCallIds": ["c"]}},
        AGENT,
    ],
)
def test_the_grammar_of_older_clients_refuses_what_is_new(event: Event) -> None:
    old = {key: START[key] for key in ("type", "threadId", "runId")}
    with pytest.raises(AssertionError, match="does not know"):
        check_ag_ui([json.dumps(each).encode() for each in (old, event)], "pre-1.0")


def test_the_grammar_knows_every_profile_that_we_write() -> None:
    assert set(PROFILES) == set(AGUIFormatter.PROFILES)
