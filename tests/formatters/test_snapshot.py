"""A stored message as the client would have it, had it read the stream."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from formatters.test_law import CLIENTS, VERSIONS, client_of, comparable, without_last_step
from mobox.errors import UnknownProfile
from mobox.events import (
    Custom,
    Done,
    Error,
    File,
    InputRequest,
    InputResponse,
    LogEntry,
    Outcome,
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
    TodoItem,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.message import Message
from mobox.events.transcript import build_message
from mobox.events.usage import Totals
from mobox.formatters import format_all, get_formatter
from mobox.formatters.ai_sdk import ui_message
from mobox.formatters.ai_sdk.parts import INVALID_INPUT
from support.ai_sdk_client import AiSdkClients, as_in_javascript
from support.recordings import each_recording, timed_log
from support.strategies import (
    ONE_ID_FOR_TWO_BLOCKS,
    THOUGHT_AFTER_NOTHING,
    endings,
    log_of,
    logs,
    numbered,
)

UIPart = dict[str, Any]

every_profile = pytest.mark.parametrize("profile", CLIENTS)


# The law, for any log


def shown(parts: list[UIPart], profile: str) -> list[UIPart]:
    """What the law compares; an input of which nothing has come is none."""
    kept = comparable(without_last_step(parts), profile)
    read = [{k: v for k, v in part.items() if (k, v) != ("rawInput", "")} for part in kept]
    told: list[UIPart] = as_in_javascript(read)
    return told


def assert_law(ai_sdk: AiSdkClients, log: list[LogEntry], profile: str) -> None:
    formatter = get_formatter("ai-sdk", "msg_1", profile)
    reading = ai_sdk.read_chunks(client_of(profile), format_all(formatter, log))
    assert reading.error is None
    client = reading.message["parts"] if reading.message is not None else []
    stored = ui_message(build_message(log, "msg_1"), profile)
    assert shown(client, profile) == shown(stored["parts"], profile)
    if reading.message is not None and "metadata" in stored:
        metadata = as_in_javascript(reading.message["metadata"])
        assert metadata == as_in_javascript(stored["metadata"])


def assert_law_at(ai_sdk: AiSdkClients, log: list[LogEntry], profile: str, cuts: list[int]) -> None:
    """At the end, and at a few places before."""
    for k in {len(log), *(cut % len(log) + 1 for cut in cuts)}:
        assert_law(ai_sdk, log[:k], profile)


cuts = st.lists(st.integers(min_value=1), max_size=3)


@every_profile
@settings(max_examples=60)
@given(log=logs(), cuts=cuts)
def test_any_message_is_reloaded_as_it_was_streamed(
    ai_sdk: AiSdkClients, profile: str, log: list[LogEntry], cuts: list[int]
) -> None:
    assert_law_at(ai_sdk, log, profile, cuts)


@pytest.mark.parametrize("profile", [f"{name}-static" for name in VERSIONS])
@each_recording
def test_a_message_of_static_tools_is_reloaded_as_it_was_streamed(
    ai_sdk: AiSdkClients, recording: Path, profile: str
) -> None:
    assert_law(ai_sdk, timed_log(recording), profile)


def few(event_class: Any, **fields: Any) -> st.SearchStrategy[StreamEvent]:
    return st.builds(event_class, **{name: st.sampled_from(f) for name, f in fields.items()})


calls, blocks = ["t", "u"], ["x", "y"]
statuses: list[Outcome] = ["ok", "error", "denied", "interrupted", "unknown"]
MEDDLED = st.one_of(
    few(ToolUseStart, id=calls, name=["ls"], scope=[(), ("a",)], frontend=[False, True]),
    few(ToolUseDelta, id=calls, delta=["", "{", "1"]),
    few(ToolUseEnd, id=calls, input=[None, {"a": 1}], invalid=[None, None, "{"]),
    few(ToolResult, id=calls, output=[None, "x"], status=statuses, partial=[True, False]),
    few(InputRequest, id=["r", "q"], tool_call_id=calls),
    few(InputRequest, id=["p", "q"], tool_call_id=calls, kind=["question", "tool"]),
    few(
        InputResponse,
        id=["r", "q", "p"],
        decision=["approved", "denied", "answered", "cancelled"],
        reason=[None, "why"],
    ),
    few(StepStart, id=["s1", "s2"], kind=["turn", "turn", "task"]),
    few(Text, id=blocks, content=["hi"]),
    few(TextEnd, id=blocks),
    st.builds(Retract, blocks=st.lists(st.sampled_from([*calls, *blocks])).map(tuple)),
    few(Status, message=["busy"]),
    few(Error, message=["broke"]),
    few(Paused, request_ids=[()]),
)
"""What goes wrong with calls: asked and answered, denied, broken and taken back, in any order."""


@every_profile
@settings(max_examples=60)
@given(said=st.lists(MEDDLED, max_size=14), done=endings(), cuts=cuts)
def test_message_with_retracted_requests_equals_the_stream(
    ai_sdk: AiSdkClients, profile: str, said: list[StreamEvent], done: Done | None, cuts: list[int]
) -> None:
    assert_law_at(ai_sdk, numbered(log_of(said, done)), profile, cuts)


# The law, for what a later version of mobox has logged

RAW = Raw(raw={"type": "telepathy"}, source="unknown event")


@every_profile
@settings(max_examples=60)
@given(log=logs(), unknown=st.lists(st.integers(min_value=1), min_size=1, max_size=4), cuts=cuts)
@example(log=ONE_ID_FOR_TWO_BLOCKS, unknown=[2, 3], cuts=[4, 5])
@example(log=THOUGHT_AFTER_NOTHING, unknown=[3, 6], cuts=[5, 8])
def test_message_with_unknown_events_equals_the_stream(
    ai_sdk: AiSdkClients, profile: str, log: list[LogEntry], unknown: list[int], cuts: list[int]
) -> None:
    log = list(log)
    for number in unknown:
        log[number % len(log)] = replace(log[number % len(log)], event=RAW)
    assert_law_at(ai_sdk, log, profile, cuts)
    format_all(get_formatter("ai-sdk", "msg_1", "document"), log)


# What begins something, told by a later version; and what is said of it then.
BEGINNINGS: dict[str, tuple[list[StreamEvent], UIPart]] = {
    "a text": (
        [RAW, TextDelta(id="x", delta="H"), TextDelta(id="x", delta="i"), TextEnd(id="x")],
        {"type": "text", "text": "Hi", "state": "done"},
    ),
    "a thought": (
        [RAW, ThinkingDelta(id="x", delta="Hm"), ThinkingEnd(id="x")],
        {"type": "reasoning", "text": "Hm", "state": "done"},
    ),
    "a call": (
        [RAW, ToolUseDelta(id="t", delta="{"), ToolUseDelta(id="t", delta="}")],
        {"type": "dynamic-tool", "toolName": "unknown", "state": "input-streaming"},
    ),
    "a call that says nothing before its input": (
        [RAW, ToolUseEnd(id="t", input={"a": 1})],
        {"type": "dynamic-tool", "toolName": "unknown", "input": {"a": 1}},
    ),
    "a call and its input": (
        [RAW, RAW, ToolResult(id="t", output=1)],
        {"type": "dynamic-tool", "toolName": "unknown", "input": {}, "output": 1},
    ),
    "the input of a call": (
        [ToolUseStart(id="t", name="ls"), RAW, ToolResult(id="t", output=1)],
        {"type": "dynamic-tool", "toolName": "ls", "input": {}, "output": 1},
    ),
    "a subagent": (
        [RAW, SubagentEnd(id="a", agent="scout", summary="Seen.")],
        {"type": "reasoning", "text": "scout finished: Seen."},
    ),
}


@every_profile
@pytest.mark.parametrize("start", [Start(framework="test"), RAW], ids=["start", "no start"])
@pytest.mark.parametrize(("events", "part"), BEGINNINGS.values(), ids=BEGINNINGS)
def test_blocks_of_a_later_version_are_sent_from_the_first_known_event(
    ai_sdk: AiSdkClients,
    profile: str,
    start: StreamEvent,
    events: list[StreamEvent],
    part: UIPart,
) -> None:
    log = numbered([start, *events])
    for k in range(1, len(log) + 1):
        assert_law(ai_sdk, log[:k], profile)
    [told] = ui_message(build_message(log, "msg_1"), profile)["parts"]
    assert part.items() <= told.items()
    formatter = get_formatter("ai-sdk", "msg_1", profile)
    assert formatter.format(log[0]) == [b'{"type":"start","messageId":"msg_1"}']


# The law, where it was broken once

CALLED: list[StreamEvent] = [ToolUseStart(id="t", name="ls"), ToolUseEnd(id="t", input={})]
SCOPED: list[StreamEvent] = [
    ToolUseStart(id="t", name="ls", scope=("a",)),
    ToolUseEnd(id="t", scope=("a",), invalid="{"),
]
ASKED = InputRequest(id="r", tool_call_id="t")
QUESTION = InputRequest(id="r", kind="question")
MAY_IT = InputRequest(id="r", kind="question", tool_call_id="t", prompt="May it?")
APPROVED = InputResponse(id="r", decision="approved")
DENIED = InputResponse(id="r", decision="denied")
EDITED = InputResponse(id="r", decision="edited", value={"path": "b"})
RESPONDED = InputResponse(id="r", decision="answered", value="Nothing is there.")
OFFERED = InputRequest(id="r", tool_call_id="t", allowed=("approve", "edit", "respond"))
CANCELLED = InputResponse(id="r", decision="cancelled")

ONCE_BROKEN: dict[str, list[StreamEvent]] = {
    "a broken input with metadata": SCOPED,
    "a broken input that got a part of a result": [
        *SCOPED,
        ToolResult(id="t", scope=("a",), output="x", partial=True),
    ],
    "a call that was denied and interrupted": [*CALLED, ASKED, DENIED],
    "a call that was denied and ran": [*CALLED, ASKED, DENIED, ToolResult(id="t", output="x")],
    "a request that was taken back": [*CALLED, ASKED, CANCELLED, ToolResult(id="t", output="x")],
    "an answer that came too late": [*CALLED, ASKED, ToolResult(id="t"), APPROVED],
    "two answers": [*CALLED, ASKED, APPROVED, DENIED],
    "two answers to a question": [
        QUESTION,
        InputResponse(id="r", decision="answered", value=1),
        InputResponse(id="r", decision="answered", value=2),
    ],
    "a question that is asked twice": [QUESTION, Text(content="x"), QUESTION],
    "and in a step of its own": [QUESTION, StepStart(id="s"), QUESTION, APPROVED, Text(id="x")],
    "a request that is an approval in between": [*CALLED, MAY_IT, ASKED, MAY_IT],
    "a request that is a question in between": [*CALLED, ASKED, MAY_IT, ASKED, APPROVED],
    "a turn that repeats a question and is taken back": [
        *(*CALLED, MAY_IT, ASKED, StepStart(id="s"), MAY_IT),
        *(Text(id="x"), Retract(blocks=("x",))),
    ],
    "a call whose input was changed": [*CALLED, OFFERED, EDITED, ToolResult(id="t", output="x")],
    "a call whose words were changed": [
        *(*CALLED, OFFERED, InputResponse(id="r", decision="edited", value="b")),
    ],
    "a call that a person answered": [*CALLED, OFFERED, RESPONDED, ToolResult(id="t", output="x")],
    "a change that came too late": [*CALLED, OFFERED, ToolResult(id="t"), EDITED],
    "an approval that is asked twice": [*CALLED, OFFERED, Text(content="x"), OFFERED, EDITED],
    "an approval that allows more when it is asked again": [*CALLED, ASKED, OFFERED, APPROVED],
    "an approval that allows less when it is asked again": [*CALLED, OFFERED, ASKED, DENIED],
    "a question that becomes an approval": [*CALLED, MAY_IT, OFFERED, MAY_IT, EDITED],
    "a turn that repeats an approval and is taken back": [
        *(*CALLED, OFFERED, StepStart(id="s"), OFFERED, Text(id="x"), Retract(blocks=("x",))),
    ],
    "a turn that repeats an approval and is taken back with its call": [
        *(StepStart(id="s"), *CALLED, OFFERED, Retract(blocks=("t",))),
    ],
    "an agent that starts in a run which was set up, and in another leg": [
        *(Status(message="Preparing"), Start(framework="test", model="m", session_id="s")),
        *(Text(content="x"), Start(framework="test", model="n")),
    ],
    "a task that runs twice": [
        *(StepStart(id="s", kind="task"), StepEnd(id="s"), Text(content="x")),
        *(StepStart(id="s", kind="task"),),
    ],
    "a subagent that comes twice": [
        *(SubagentStart(id="t", agent="a"), SubagentEnd(id="t", agent="a"), Text(content="x")),
        *(SubagentStart(id="t", agent="b"),),
    ],
    "a text that is sent again under its id": [
        *(StepStart(id="s"), Text(id="x", content="On"), TextEnd(id="x"), Retract(blocks=("x",))),
        *(Text(id="x", content="Once."),),
    ],
    "a turn that is taken back while its call is asked about": [
        *(StepStart(id="s"), *CALLED, ASKED, Retract(blocks=("t",))),
    ],
    "a result of a call that was taken back": [
        *(StepStart(id="s"), *CALLED, Retract(blocks=("t",)), ToolResult(id="t", output="x")),
    ],
}


@every_profile
@pytest.mark.parametrize("events", ONCE_BROKEN.values(), ids=ONCE_BROKEN)
def test_the_law_holds_for(ai_sdk: AiSdkClients, profile: str, events: list[StreamEvent]) -> None:
    log = numbered(log_of([Start(framework="test"), *events]))
    for k in range(1, len(log) + 1):
        assert_law(ai_sdk, log[:k], profile)


# Messages


def stored(*events: StreamEvent, profile: str = "v6", done: Done | None = None) -> dict[str, Any]:
    """The reloaded message of a run that says this, without times."""
    log = log_of(
        [Start(framework="test"), *events, *([done] if done else [Paused(request_ids=())])]
    )
    entries = [LogEntry(n, n, None, event) for n, event in enumerate(log, 1)]
    return ui_message(build_message(entries, "msg_1"), profile)


def tool_of(*events: StreamEvent, profile: str = "v6") -> UIPart:
    [part] = [p for p in stored(*events, profile=profile)["parts"] if p["type"] == "dynamic-tool"]
    return {key: value for key, value in part.items() if key not in ("type", "toolCallId")}


def test_a_message_is_a_ui_message() -> None:
    message = stored(Text(id="x", content="Hi"), done=Done(reason="stop"))
    assert message == {
        "id": "msg_1",
        "role": "assistant",
        "parts": [
            {
                "type": "text",
                "text": "Hi",
                "state": "done",
                "providerMetadata": {"mobox": {"id": "x"}},
            }
        ],
        "metadata": {"reason": "stop"},
    }


def test_metadata_equals_that_of_the_last_chunk() -> None:
    usage = Totals(input=1, output=2, is_total=True, num_turns=3)
    message = Message(id="m", parts=[], reason="length", usage=usage, duration_ms=7)
    told = {"inputTokens": 1, "outputTokens": 2, "isTotal": True, "numTurns": 3}
    assert ui_message(message)["metadata"] == {"reason": "length", "usage": told, "durationMs": 7}


def test_a_message_that_has_not_ended_has_no_metadata() -> None:
    assert "metadata" not in stored(Text(content="Hi"))


def test_a_message_of_columns_is_processing_thinking_and_text() -> None:
    metadata = {"processing": ["Starting", "Ending"], "thinking": "Hm."}
    message = Message(id="m", role="assistant", parts=[], content="Hi", metadata=metadata)
    assert ui_message(message)["parts"] == [
        {
            "type": "reasoning",
            "text": "Starting\nEnding",
            "state": "done",
            "providerMetadata": {"mobox": {"variant": "processing"}},
        },
        {
            "type": "reasoning",
            "text": "Hm.",
            "state": "done",
            "providerMetadata": {"mobox": {"variant": "thinking"}},
        },
        {"type": "text", "text": "Hi", "state": "done"},
    ]


@pytest.mark.parametrize(
    ("content", "metadata", "types"),
    [
        ("", {}, []),
        ("Hi", {}, ["text"]),
        ("", {"thinking": "Hm."}, ["reasoning"]),
        ("", {"processing": ["a"]}, ["reasoning"]),
        ("Hi", {"processing": [], "thinking": ""}, ["text"]),
    ],
)
def test_columns_that_are_empty_are_left_out(
    content: str, metadata: dict[str, Any], types: list[str]
) -> None:
    message = Message(id="m", parts=[], content=content, metadata=metadata)
    assert [part["type"] for part in ui_message(message)["parts"]] == types


def test_a_message_of_columns_is_what_the_columns_of_one_with_parts_are() -> None:
    log = numbered(
        log_of([Status(message="a"), Thinking(content="b"), Text(content="c"), Done(reason="stop")])
    )
    whole = build_message(log, "m")
    row = Message(id="m", parts=[], content=whole.content, metadata=whole.metadata)
    texts = [part["text"] for part in ui_message(row)["parts"]]
    assert texts == [part["text"] for part in ui_message(whole)["parts"]] == ["a", "b", "c"]


@pytest.mark.parametrize("profile", ["v4", "document", ""])
def test_an_unknown_profile_is_refused_and_the_known_are_listed(profile: str) -> None:
    with pytest.raises(UnknownProfile, match=r"known: .*v5, .*v6, .*v7"):
        ui_message(Message(id="m", parts=[]), profile)


# Calls

INPUT = ToolUseEnd(id="t", input={"a": 1})
NAMED = {"toolName": "ls"}
CALLS: list[tuple[str, list[StreamEvent], UIPart]] = [
    ("that has begun", [], {"state": "input-streaming"}),
    (
        "whose input streams",
        [ToolUseDelta(id="t", delta='{"a"')],
        {"state": "input-streaming", "rawInput": '{"a"'},
    ),
    ("that waits", [INPUT], {"state": "input-available", "input": {"a": 1}}),
    (
        "with a part of its result",
        [INPUT, ToolResult(id="t", output="x", partial=True)],
        {"state": "output-available", "input": {"a": 1}, "output": "x", "preliminary": True},
    ),
    (
        "with its result",
        [INPUT, ToolResult(id="t", output=None)],
        {"state": "output-available", "input": {"a": 1}, "output": None},
    ),
    (
        "that failed",
        [INPUT, ToolResult(id="t", output={"message": "No."}, status="error")],
        {"state": "output-error", "input": {"a": 1}, "errorText": "No."},
    ),
    (
        "that was denied",
        [INPUT, ToolResult(id="t", status="denied")],
        {"state": "output-error", "input": {"a": 1}, "errorText": "The call was denied."},
    ),
    (
        "that was interrupted",
        [INPUT, ToolResult(id="t", status="interrupted")],
        {"state": "output-error", "input": {"a": 1}, "errorText": "The call was interrupted."},
    ),
    (
        "whose input is no JSON",
        [ToolUseEnd(id="t", invalid="{")],
        {"state": "output-error", "input": "{", "errorText": INVALID_INPUT},
    ),
    (
        "whose input is no JSON, at the end of the run",
        [ToolUseEnd(id="t", invalid="{"), ToolResult(id="t", status="interrupted")],
        {"state": "output-error", "input": "{", "errorText": INVALID_INPUT},
    ),
    (
        "whose input is no JSON, and that has a result",
        [ToolUseEnd(id="t", invalid="{"), ToolResult(id="t", output="x", status="error")],
        {"state": "output-error", "input": "{", "errorText": "x"},
    ),
]


@every_profile
@pytest.mark.parametrize(
    ("events", "told"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS]
)
def test_a_call(profile: str, events: list[StreamEvent], told: UIPart) -> None:
    start = ToolUseStart(id="t", name="ls")
    assert tool_of(start, *events, profile=profile) == NAMED | told


STATIC: dict[str, tuple[bool, bool]] = {
    "v6": (True, False),
    "v6-static": (True, True),
    "v6-dynamic": (False, False),
}
"""By profile, whether a tool that the page runs has a static part, and whether another has."""


@pytest.mark.parametrize("profile", STATIC)
def test_profile_decides_which_tools_are_static(profile: str) -> None:
    for frontend, is_static in zip((True, False), STATIC[profile], strict=True):
        start = ToolUseStart(id="t", name="ls", frontend=frontend)
        [part] = stored(start, INPUT, profile=profile)["parts"]
        kind = {"type": "tool-ls"} if is_static else {"type": "dynamic-tool", "toolName": "ls"}
        given = {"toolCallId": "msg_1:t", "state": "input-available", "input": {"a": 1}}
        assert part == kind | given


@pytest.mark.parametrize(
    ("profile", "key"), [("v5", "rawInput"), ("v6", "rawInput"), ("v7", "input")]
)
def test_broken_input_of_a_static_tool_is_where_the_client_keeps_it(profile: str, key: str) -> None:
    start = ToolUseStart(id="t", name="ls", frontend=True)
    [part] = stored(start, ToolUseEnd(id="t", invalid="{"), profile=profile)["parts"]
    assert part["state"] == "output-error"
    assert {name: part[name] for name in part if name.lower().endswith("input")} == {key: "{"}


def test_hosted_tool_is_marked_as_hosted() -> None:
    assert tool_of(ToolUseStart(id="t", name="ls", server=True))["providerExecuted"] is True


ABOUT = {"mobox": {"kind": "shell", "display": "think", "scope": ["msg_1:a"]}}
METADATA: list[tuple[str, list[StreamEvent], list[str]]] = [
    ("v5", [], []),
    ("v6", [], []),
    ("v7", [], ["callProviderMetadata"]),
    ("v5", [INPUT], ["callProviderMetadata"]),
    ("v6", [INPUT], ["callProviderMetadata"]),
    ("v7", [INPUT], ["callProviderMetadata"]),
    ("v5", [ToolUseEnd(id="t", invalid="{")], []),
    ("v6", [ToolUseEnd(id="t", invalid="{")], ["resultProviderMetadata"]),
    (
        "v7",
        [ToolUseEnd(id="t", invalid="{")],
        ["callProviderMetadata", "resultProviderMetadata"],
    ),
]


@pytest.mark.parametrize(("profile", "events", "where"), METADATA)
def test_kind_of_a_call_is_where_the_client_keeps_it(
    profile: str, events: list[StreamEvent], where: list[str]
) -> None:
    start = ToolUseStart(id="t", name="ls", kind="shell", display="think", scope=("a",))
    part = tool_of(start, *events, profile=profile)
    assert {key: part[key] for key in part if "Metadata" in key} == dict.fromkeys(where, ABOUT)


# Approvals

OK = ToolResult(id="t", output="x")
REFUSED = ToolResult(id="t", output="No.", status="denied")
ANSWERS: list[tuple[list[StreamEvent], str, bool | None]] = [
    ([ASKED], "input-available", None),
    ([ASKED, APPROVED], "approval-responded", True),
    ([ASKED, DENIED], "approval-responded", False),
    ([ASKED, APPROVED, OK], "output-available", True),
    ([ASKED, DENIED, REFUSED], "output-denied", False),
    ([ASKED, DENIED, OK], "output-denied", False),
    ([ASKED, CANCELLED], "input-available", None),
    ([ASKED, CANCELLED, OK], "output-available", None),
    ([ASKED, OK], "output-available", None),
    ([ASKED, REFUSED], "output-error", None),
    ([REFUSED], "output-error", None),
]


@pytest.mark.parametrize(("events", "state", "approved"), ANSWERS)
def test_version_7_shows_what_was_answered(
    events: list[StreamEvent], state: str, approved: bool | None
) -> None:
    part = tool_of(*CALLED, *events, profile="v7")
    assert part["state"] == state
    expected = None if approved is None else {"id": "msg_1:r", "approved": approved}
    assert part.get("approval") == expected


@pytest.mark.parametrize(("events", "state"), [row[:2] for row in ANSWERS])
def test_version_6_shows_only_the_result(events: list[StreamEvent], state: str) -> None:
    part = tool_of(*CALLED, *events, profile="v6")
    assert "approval" not in part
    assert part["state"].startswith(("input-available", "output-available", "output-error"))
    kinds = {p["type"] for p in stored(*CALLED, *events, profile="v6")["parts"]}
    assert "data-input" not in kinds


# Requests that no other part shows

TEA = InputResponse(id="r", decision="answered", value="tea")


def ask_of(*events: StreamEvent, profile: str = "v6") -> list[UIPart]:
    """The calls of `ask_user`, and that nothing else shows the request."""
    parts = stored(*events, profile=profile)["parts"]
    assert "data-input" not in [part["type"] for part in parts]
    return [part for part in parts if part["type"] == "tool-ask_user"]


@pytest.mark.parametrize("profile", VERSIONS)
def test_a_question_is_a_call_that_any_client_can_answer(profile: str) -> None:
    called = {"type": "tool-ask_user", "toolCallId": "msg_1:@ask:r", "input": {"kind": "question"}}
    assert ask_of(QUESTION, profile=profile) == [{**called, "state": "input-available"}]
    answered = {**called, "state": "output-available", "output": "tea"}
    assert ask_of(QUESTION, TEA, profile=profile) == [answered]


def test_a_question_is_data_for_our_page() -> None:
    assert stored(QUESTION, TEA, profile="page")["parts"][0] == {
        "type": "data-input",
        "id": "msg_1:r",
        "data": {"kind": "question", "answered": {"decision": "answered", "value": "tea"}},
    }


def test_version_5_asks_for_an_approval() -> None:
    [asked] = ask_of(*CALLED, ASKED, APPROVED, profile="v5")
    assert asked["input"] == {"kind": "approval", "toolCallId": "msg_1:t"}
    assert asked["output"] == {"approved": True}


@pytest.mark.parametrize("profile", VERSIONS)
def test_a_tool_of_the_page_is_shown_by_its_call(profile: str) -> None:
    request = InputRequest(id="r", kind="tool", tool_call_id="t")
    assert ask_of(*CALLED, request, profile=profile) == []
    of_no_call = InputRequest(id="r", kind="tool")
    assert len(ask_of(*CALLED, of_no_call, profile=profile)) == 1


@pytest.mark.parametrize("profile", VERSIONS)
def test_a_question_that_is_asked_again_is_another_call(profile: str) -> None:
    first, second = ask_of(QUESTION, TEA, QUESTION, profile=profile)
    assert (first["toolCallId"], first["output"]) == ("msg_1:@ask:r", "tea")
    assert (second["toolCallId"], second["state"]) == ("msg_1:@ask2:r", "input-available")
    first, second = ask_of(QUESTION, QUESTION, TEA, profile=profile)
    assert (first["state"], first["errorText"]) == ("output-error", "The request was made again.")
    assert (second["state"], second["output"]) == ("output-available", "tea")


ENDS: list[tuple[InputRequest, InputResponse, UIPart]] = [
    (QUESTION, APPROVED, {"output": {"approved": True}}),
    (QUESTION, DENIED, {"errorText": "The request was denied."}),
    (QUESTION, replace(DENIED, reason="No time."), {"errorText": "No time."}),
    (QUESTION, CANCELLED, {"errorText": "The request was cancelled."}),
    (InputRequest(id="r"), APPROVED, {"output": {"approved": True}}),
    (
        InputRequest(id="r"),
        replace(DENIED, reason="Mine."),
        {"output": {"approved": False, "reason": "Mine."}},
    ),
    (InputRequest(id="r"), EDITED, {"output": {"approved": True, "input": {"path": "b"}}}),
    (InputRequest(id="r"), CANCELLED, {"errorText": "The request was cancelled."}),
]


@pytest.mark.parametrize(("request_", "response", "result"), ENDS)
def test_answer_is_the_result_of_the_call(
    request_: InputRequest, response: InputResponse, result: UIPart
) -> None:
    [part] = ask_of(request_, response)
    assert {name: part[name] for name in part if name in ("output", "errorText")} == result


# What would harm a browser

HARM = {"__proto__": {"polluted": True}, "constructor": {"prototype": {}}}
HARMFUL: list[list[StreamEvent]] = [
    [Custom(name="chart", value=HARM)],
    [ToolUseStart(id="t", name="ls"), ToolUseEnd(id="t", input=HARM)],
    [*CALLED, ToolResult(id="t", output=[HARM])],
    [Thinking(id="x"), ThinkingEnd(id="x", provider={"v": HARM})],
]


@every_profile
@pytest.mark.parametrize("events", HARMFUL, ids=lambda events: str(events[-1].type))
def test_no_key_that_pollutes_prototypes_is_reloaded(
    ai_sdk: AiSdkClients, profile: str, events: list[StreamEvent]
) -> None:
    assert "'(__proto__)'" in repr(stored(*events, profile=profile))
    assert "'__proto__'" not in repr(stored(*events, profile=profile))
    assert_law(ai_sdk, numbered(log_of(events)), profile)


def test_words_are_not_keys() -> None:
    [part] = stored(Text(id="x", content='"__proto__" and "constructor"'))["parts"]
    assert part["text"] == '"__proto__" and "constructor"'


# The other parts


def test_parts_that_are_one_chunk_live_are_that_chunk() -> None:
    plan = (TodoItem(content="cook", active_form="cooking"),)
    parts = stored(
        Source(id="x", url="https://a.org", title="A"),
        File(media_type="image/png", base64="aGk="),
        Usage(id="u", input=1, output=2),
        Result(num_turns=3),
        StepStart(id="s", kind="task", name="Sleep"),
        SubagentStart(id="t", agent="scout", scope=("a",)),
        TodoCreate(items=plan),
        Custom(name="chart", value=1),
    )["parts"]
    by_type = {part["type"]: part for part in parts}
    assert [by_type[kind] for kind in by_type if kind != "reasoning"] == [
        {
            "type": "source-url",
            "sourceId": "source_1",
            "url": "https://a.org",
            "title": "A",
            "providerMetadata": {"mobox": {"for": "x"}},
        },
        {"type": "file", "url": "data:image/png;base64,aGk=", "mediaType": "image/png"},
        {
            "type": "data-usage",
            "id": "usage",
            "data": {"inputTokens": 1, "outputTokens": 2, "isTotal": False, "numTurns": 3},
        },
        {
            "type": "data-step",
            "id": "s",
            "data": {"kind": "task", "name": "Sleep", "status": "running"},
        },
        {
            "type": "data-subagent",
            "id": "msg_1:t",
            "data": {"agent": "scout", "status": "running", "scope": ["msg_1:a"]},
        },
        {
            "type": "data-todos",
            "id": "todos",
            "data": {"items": [{"content": "cook", "status": "pending", "activeForm": "cooking"}]},
        },
        {"type": "data-chart", "data": 1},
    ]


def test_text_of_a_subagent_is_reasoning() -> None:
    [part] = stored(Text(id="x", content="Hi", scope=("a",)))["parts"]
    assert part == {
        "type": "reasoning",
        "id": "x",
        "text": "Hi",
        "state": "streaming",
        "providerMetadata": {"mobox": {"variant": "thinking", "id": "x", "scope": ["msg_1:a"]}},
    }


TAKEN_BACK: list[StreamEvent] = [
    *(StepStart(id="s"), Text(id="x"), TextDelta(id="x", delta="On"), TextEnd(id="x")),
    *(Retract(blocks=("x",)), Text(id="y", content="Once.")),
]


@pytest.mark.parametrize(
    ("profile", "texts", "hidden"),
    [("v5", ["On", "Once."], ["x"]), ("v6", ["On", "Once."], ["x"]), ("v7", ["Once."], None)],
)
def test_retracted_content_is_gone_or_hidden(
    profile: str, texts: list[str], hidden: list[str] | None
) -> None:
    parts = stored(*TAKEN_BACK, profile=profile)["parts"]
    assert [part["text"] for part in parts if part["type"] == "text"] == texts
    retracts = [part["data"]["ids"] for part in parts if part["type"] == "data-retract"]
    assert retracts == ([hidden] if hidden else [])


def test_all_that_was_taken_back_is_listed_in_one_place() -> None:
    events = [Text(id="x"), Retract(blocks=("x",)), Text(id="y"), Retract(blocks=("y",))]
    parts = stored(*events)["parts"]
    [retract] = [part for part in parts if part["type"] == "data-retract"]
    assert retract["data"] == {"ids": ["x", "y"]}
    assert parts.index(retract) == 1
