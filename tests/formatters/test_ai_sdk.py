"""The AI SDK formatter: any log gives a legal stream, and each event says what it should."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mobox import EventType, LogEntry, StreamEvent
from mobox.delivery import sse
from mobox.errors import UnknownProfile
from mobox.events import (
    Custom,
    Done,
    DoneReason,
    Error,
    File,
    InputRequest,
    InputResponse,
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
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
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
from mobox.events.transcript import build_message
from mobox.formatters.ai_sdk import AISDKFormatter, profile_for
from mobox.formatters.ai_sdk.snapshot import ui_message
from support.ai_sdk_client import AiSdkClients
from support.client_results import is_call
from support.grammar_ai_sdk import DONE, PROFILES, VARIANTS, check_ai_sdk, chunks_of
from support.strategies import log_of, logs, numbered

Chunk = dict[str, Any]


profiles = st.sampled_from([name for name in AISDKFormatter.PROFILES if name in PROFILES])


def documents_of(log: Sequence[LogEntry], profile: str = "v6") -> list[list[bytes]]:
    """What each entry of a log becomes."""
    formatter = AISDKFormatter("msg_1", profile)
    return [formatter.format(entry) for entry in log]


def response_to(log: Sequence[LogEntry], profile: str = "v6") -> list[bytes]:
    """The whole response; where the log has not ended, the run waits for an answer."""
    formatter = AISDKFormatter("msg_1", profile)
    documents = [document for entry in log for document in formatter.format(entry)]
    return documents if documents[-1] == DONE else [*documents, *formatter.pause()]


def without_times(log: Sequence[LogEntry]) -> list[LogEntry]:
    return [replace(entry, ts=None) for entry in log]


def told(*events: StreamEvent, times: bool = False, profile: str = "v6") -> list[Chunk]:
    """The chunks of a run that says `events`, between start and the end of the stream."""
    log = numbered(log_of([*events, Done(reason="stop")]))
    documents = response_to(log if times else without_times(log), profile)
    check_ai_sdk(documents, profile)
    return chunks_of(documents)[1:-1]


def chunks_of_calls(*events: StreamEvent) -> list[Chunk]:
    """The same for calls in the last step: the run ends with an empty one."""
    *chunks, start, finish = told(*events)
    assert types([start, finish]) == ["start-step", "finish-step"]
    return chunks


def types(chunks: Sequence[Chunk]) -> list[str]:
    return [chunk["type"] for chunk in chunks]


def of_type(kind: str, chunks: Sequence[Chunk]) -> list[Chunk]:
    return [chunk for chunk in chunks if chunk["type"] == kind]


# Any log


@given(logs(), profiles)
def test_any_order_of_events_gives_a_legal_stream(log: list[LogEntry], profile: str) -> None:
    check_ai_sdk(response_to(log, profile), profile)
    check_ai_sdk(response_to(without_times(log), profile), profile)


@given(logs(), st.integers(min_value=1), profiles)
def test_a_response_may_end_after_any_entry(log: list[LogEntry], cut: int, profile: str) -> None:
    check_ai_sdk(response_to(log[: 1 + cut % len(log)], profile), profile)


@given(logs(), st.integers(min_value=1), profiles)
def test_a_response_may_begin_after_any_entry(log: list[LogEntry], cut: int, profile: str) -> None:
    whole = documents_of(log, profile)
    cut = 1 + cut % len(log)
    if whole[cut - 1][-1:] == [DONE]:
        return
    formatter = AISDKFormatter("msg_1", profile)
    for entry in log[:cut]:
        formatter.format(entry)
    documents = formatter.resume()
    documents += [document for entry in log[cut:] for document in formatter.format(entry)]
    documents += [] if documents[-1] == DONE else formatter.pause()
    told = [chunk for documents in whole[:cut] for chunk in chunks_of(documents)]
    check_ai_sdk(documents, profile, continues={chunk.get("toolCallId", "") for chunk in told})


@given(logs(), profiles)
def test_root_agents_text_is_text_and_that_of_others_is_reasoning(
    log: list[LogEntry], profile: str
) -> None:
    for (entry, kind), documents in zip(said_in(log), documents_of(log, profile), strict=True):
        if kind is not None:
            deltas = [c for c in chunks_of(documents) if c["type"].endswith("-delta")]
            assert "".join(chunk["delta"] for chunk in deltas) == text_in(entry)
            assert {(c["type"], c["id"]) for c in deltas} <= {(f"{kind}-delta", entry.event.id)}


@given(logs(), profiles)
def test_nothing_else_is_text(log: list[LogEntry], profile: str) -> None:
    sent = of_type("text-delta", chunks_of(response_to(log, profile)))
    assert "".join(chunk["delta"] for chunk in sent) == text_of(log)


@given(logs(), profiles)
def test_durations_are_differences_of_log_times(log: list[LogEntry], profile: str) -> None:
    opened: dict[str, int] = {}
    for entry, documents in zip(log, documents_of(log, profile), strict=True):
        assert entry.ts is not None
        for chunk in chunks_of(documents):
            if chunk["type"] == "reasoning-start":
                opened[chunk["id"]] = entry.ts
            elif chunk["type"] == "reasoning-end":
                duration = entry.ts - opened.pop(chunk["id"])
                assert chunk["providerMetadata"]["mobox"]["durationMs"] == duration


@given(logs(), profiles)
def test_without_log_times_there_are_no_durations(log: list[LogEntry], profile: str) -> None:
    for chunk in chunks_of(response_to(without_times(log), profile)):
        mobox = chunk.get("providerMetadata", {}).get("mobox", {})
        assert "durationMs" not in mobox
        assert "durationMs" not in chunk.get("messageMetadata", {})


def check_reading(clients: AiSdkClients, client: str, profile: str, log: list[LogEntry]) -> None:
    """The client takes the whole stream, and shows the answer and each call once."""
    reading = clients.read(client, sse.encode(response_to(log, profile)))
    assert reading.error is None
    parts = reading.message["parts"] if reading.message is not None else []
    assert "streaming" not in [part.get("state") for part in parts]
    if profile == "v7" and any(isinstance(entry.event, Retract) for entry in log):
        return  # reset-step takes back what was said
    assert "".join(part["text"] for part in parts if part["type"] == "text") == text_of(log)
    calls = [part["toolCallId"] for part in parts if is_call(part)]
    starts = [entry.event for entry in log if isinstance(entry.event, ToolUseStart)]
    assert calls == [f"msg_1:{start.id}" for start in starts]


@pytest.mark.parametrize("client", ["ai-v6", "ai"])
@settings(max_examples=200)  # the first reading loads the client
@given(log=logs())
def test_the_real_client_reads_any_log(
    ai_sdk: AiSdkClients, client: str, log: list[LogEntry]
) -> None:
    check_reading(ai_sdk, client, "v6", log)


@pytest.mark.parametrize(
    ("client", "profile"),
    [("ai-v6-strict", "v6"), ("ai", "v7"), ("ai-v5", "v5"), ("ai-v5-strict", "v5")],
)
@settings(max_examples=50)
@given(log=logs())
def test_clients_of_other_versions_agree(
    ai_sdk: AiSdkClients, client: str, profile: str, log: list[LogEntry]
) -> None:
    check_reading(ai_sdk, client, profile, log)


def said_in(log: Sequence[LogEntry]) -> list[tuple[LogEntry, str | None]]:
    """Each entry, and the kind of part that its text is in: a block says who speaks in it."""
    kinds: dict[str | None, str] = {}
    said: list[tuple[LogEntry, str | None]] = []
    for entry in log:
        if isinstance(entry.event, Text):
            kinds[entry.event.id] = "reasoning" if entry.event.scope else "text"
        is_said = isinstance(entry.event, Text | TextDelta)
        said.append((entry, kinds[entry.event.id] if is_said else None))
    return said


def text_of(log: Sequence[LogEntry]) -> str:
    """What the root agent says."""
    return "".join(text_in(entry) for entry, kind in said_in(log) if kind == "text")


def text_in(entry: LogEntry) -> str:
    event = entry.event
    assert isinstance(event, Text | TextDelta)
    return event.content if isinstance(event, Text) else event.delta


def test_every_event_type_has_a_writer() -> None:
    assert set(AISDKFormatter.WRITERS) == set(EventType)


def test_an_unknown_profile_is_refused_and_the_known_are_listed() -> None:
    with pytest.raises(UnknownProfile, match=r"unknown profile 'v1'; known: .*v5, .*v6"):
        AISDKFormatter("msg_1", "v1")


# The run


def ending(*events: StreamEvent, done: Done | None = None) -> list[Chunk]:
    """The last chunks, from where everything is closed."""
    documents = response_to(without_times(numbered(log_of(events, done))))
    check_ai_sdk(documents)
    chunks = chunks_of(documents)
    closed = [n for n, chunk in enumerate(chunks) if chunk["type"].endswith(("-end", "start"))]
    return chunks[closed[-1] + 1 :]


FINISH_REASONS: list[tuple[DoneReason, str]] = [
    ("stop", "stop"),
    ("tool", "tool-calls"),
    ("length", "length"),
    ("content_filter", "content-filter"),
    ("refusal", "content-filter"),
    ("max_turns", "other"),
    ("truncated", "other"),
    ("interrupted", "other"),
]


@pytest.mark.parametrize(("reason", "finish"), FINISH_REASONS)
def test_a_run_that_ends_is_finished_with_a_reason(reason: DoneReason, finish: str) -> None:
    assert ending(done=Done(reason=reason)) == [
        {"type": "finish", "finishReason": finish, "messageMetadata": {"reason": reason}}
    ]


def test_a_cancelled_run_is_an_abort_and_not_a_finish() -> None:
    assert ending(Text(content="So"), done=Done(reason="cancelled")) == [
        {"type": "message-metadata", "messageMetadata": {"reason": "cancelled"}},
        {"type": "abort", "reason": "cancelled"},
    ]


@pytest.mark.parametrize(
    ("reason", "events", "text"),
    [
        ("error", [Error(message="one"), Error(message="two")], "two"),
        ("lost", [Error(message="one")], "one"),
        ("error", [], "The run failed."),
        (
            "lost",
            [],
            "The server stopped while the agent was working. Everything up to here is saved.",
        ),
    ],
)
def test_a_failed_run_ends_with_its_last_error(
    reason: DoneReason, events: list[StreamEvent], text: str
) -> None:
    assert ending(*events, done=Done(reason=reason)) == [
        {"type": "message-metadata", "messageMetadata": {"reason": reason, "error": text}},
        {"type": "error", "errorText": text},
        {"type": "finish", "finishReason": "error"},
    ]


def test_an_error_is_held_until_the_run_ends() -> None:
    log = numbered(log_of([Error(message="one"), Text(content="Well")], Done(reason="error")))
    by_entry = documents_of(log)
    assert [entry.event.type for entry in log][:3] == ["start", "error", "text"]
    assert by_entry[1] == []
    assert b'"errorText":"one"' in b"".join(by_entry[-1])


def test_an_error_that_did_not_end_the_run_is_a_notice_in_processing() -> None:
    chunks = told(Error(message="one"), Error(message="two"), Text(id="a", content="Well"))
    assert types(chunks)[:3] == ["text-start", "text-delta", "text-end"]
    assert chunks[3:] == [
        start_of("processing_1", "processing"),
        {"type": "reasoning-delta", "id": "processing_1", "delta": "one"},
        {"type": "reasoning-delta", "id": "processing_1", "delta": "\ntwo"},
        end_of("processing_1", "processing"),
    ]


def test_errors_before_the_last_are_notices_of_a_failed_run() -> None:
    documents = response_to(numbered(log_of([Error(message="one"), Error(message="two")])))
    chunks = chunks_of(documents)
    assert [chunk["delta"] for chunk in of_type("reasoning-delta", chunks)] == ["one"]
    assert [chunk["errorText"] for chunk in of_type("error", chunks)] == ["two"]


def test_message_has_the_duration_of_the_run() -> None:
    log = numbered(log_of([Text(content="Hi"), Done(reason="stop")]))
    [finish] = of_type("finish", chunks_of(response_to(log)))
    assert finish["messageMetadata"] == {"reason": "stop", "durationMs": 100 * (len(log) - 1)}


@pytest.mark.parametrize("reason", ["stop", "cancelled", "error"])
def test_message_marks_a_simulated_model(reason: DoneReason) -> None:
    log = numbered(log_of([Start(framework="test", simulated=True), Done(reason=reason)]))
    [metadata] = [
        chunk["messageMetadata"]
        for chunk in chunks_of(response_to(log))
        if "messageMetadata" in chunk
    ]
    assert metadata["simulated"] is True
    assert metadata == ui_message(build_message(log, "msg_1"))["metadata"]


def test_a_run_that_waits_ends_its_response_and_not_its_message() -> None:
    asked = [ToolUseStart(id="c", name="rm"), InputRequest(id="ask", tool_call_id="c")]
    log = numbered(
        log_of([StepStart(), Status(message="hm"), *asked, Paused(request_ids=("ask",))])
    )
    assert documents_of(log)[-1] == []
    documents = response_to(log)
    check_ai_sdk(documents)
    assert chunks_of(documents)[-3:] == [
        {"type": "tool-approval-request", "approvalId": "msg_1:ask", "toolCallId": "msg_1:c"},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "tool-calls"},
    ]


def test_block_open_at_the_end_of_a_response_is_reopened_in_the_next() -> None:
    formatter = AISDKFormatter("msg_1")
    for entry in numbered([Start(framework="test"), Text(id="a", content="One ")]):
        formatter.format(entry)
    documents = formatter.resume() + formatter.format(
        LogEntry(3, 3, 300, TextDelta(id="a", delta="two."))
    )
    assert chunks_of(documents) == [
        {"type": "start", "messageId": "msg_1"},
        {"type": "text-start", "id": "a", "providerMetadata": {"mobox": {"id": "a"}}},
        {"type": "text-delta", "id": "a", "delta": "two."},
    ]


# Steps

TURN = [StepStart(id="t1"), Text(id="a", content="Hi"), TextEnd(id="a"), StepEnd(id="t1")]
STEPS: list[tuple[str, list[StreamEvent], list[str]]] = [
    (
        "a turn of the root agent is a step",
        [*TURN, StepStart(id="t2"), StepEnd(id="t2")],
        [
            *("start-step", "text-start", "text-delta", "text-end", "finish-step"),
            *("start-step", "finish-step"),
        ],
    ),
    (
        "a turn that nobody ended ends with the next",
        [StepStart(id="t1"), Custom(name="x"), StepStart(id="t2")],
        ["start-step", "data-x", "finish-step", "start-step", "finish-step"],
    ),
    (
        "a turn that said nothing goes on as the next",
        [StepStart(id="t1"), StepEnd(id="t1"), StepStart(id="t2")],
        ["start-step", "finish-step"],
    ),
    (
        "the result of a call belongs to the step of the call, also when its turn has ended",
        [
            StepStart(id="t1"),
            ToolUseStart(id="c", name="ls"),
            ToolUseEnd(id="c", input={}),
            StepEnd(id="t1"),
            ToolResult(id="c", output=1),
            StepStart(id="t2"),
        ],
        [
            "start-step",
            "tool-input-start",
            "tool-input-available",
            "tool-output-available",
            "finish-step",
            "start-step",
            "finish-step",
        ],
    ),
    (
        "an answer begins a step",
        [
            StepStart(id="t1"),
            ToolUseStart(id="c", name="ls"),
            ToolUseEnd(id="c", input={}),
            InputRequest(id="q", kind="tool", tool_call_id="c"),
            Paused(request_ids=("q",)),
            InputResponse(id="q", decision="answered", value=1),
            ToolResult(id="c", output=1),
        ],
        [
            "start-step",
            "tool-input-start",
            "tool-input-available",
            "finish-step",
            "start-step",
            "tool-output-available",
            "finish-step",
        ],
    ),
    (
        "and so does the answer to a question",
        [
            StepStart(id="t1"),
            InputRequest(id="q", kind="question"),
            Paused(request_ids=("q",)),
            InputResponse(id="q", decision="answered", value=1),
        ],
        [
            "start-step",
            "tool-input-available",
            "tool-output-available",
            "finish-step",
            "start-step",
            "finish-step",
        ],
    ),
    ("a turn of a subagent is none", [StepStart(id="t", scope=("c",)), StepEnd(id="t")], []),
    ("a node of a graph is none", [StepStart(id="n", kind="node"), StepEnd(id="n")], []),
    (
        "a turn does not begin while a part is open",
        [StepStart(id="t1"), Text(id="a", content="x"), StepStart(id="t2"), TextEnd(id="a")],
        ["start-step", "text-start", "text-delta", "text-end", "finish-step"],
    ),
    (
        "a turn does not begin while the input of a call streams",
        [
            *(StepStart(id="t1"), ToolUseStart(id="c", name="ls"), StepStart(id="t2")),
            *(ToolUseEnd(id="c", input={}), ToolResult(id="c", output=1)),
        ],
        [
            *("start-step", "tool-input-start", "tool-input-available"),
            *("tool-output-available", "finish-step", "start-step", "finish-step"),
        ],
    ),
    (
        "a run does not end with a step that has calls: clients would send it again",
        [
            *(ToolUseStart(id="c", name="ls"), ToolUseEnd(id="c", input={})),
            *(ToolResult(id="c", output=1), Text(id="t", content="One.")),
        ],
        [
            *("tool-input-start", "tool-input-available", "tool-output-available"),
            *("text-start", "text-delta", "text-end", "start-step", "finish-step"),
        ],
    ),
    (
        "calls that the provider runs are not sent again",
        [
            *(ToolUseStart(id="c", name="ls", server=True), ToolUseEnd(id="c", input={})),
            ToolResult(id="c", output=1),
        ],
        ["tool-input-start", "tool-input-available", "tool-output-available"],
    ),
    (
        "a step of the plan is data that is replaced when it ends",
        [StepStart(id="s", kind="task", name="Read", number=1), StepEnd(id="s", status="error")],
        ["data-step", "data-step"],
    ),
    (
        "an id may be that of a turn first and that of a task later",
        [StepStart(id="s"), StepEnd(id="s"), StepStart(id="s", kind="task"), StepEnd(id="s")],
        ["start-step", "data-step", "data-step", "finish-step"],
    ),
]


@pytest.mark.parametrize(
    ("events", "expected"), [row[1:] for row in STEPS], ids=[r[0] for r in STEPS]
)
def test_steps(events: list[StreamEvent], expected: list[str]) -> None:
    assert types(told(*events)) == expected


def test_plan_step_has_its_name_and_its_outcome() -> None:
    first, last = told(
        StepStart(id="s", kind="task", name="Read", number=1), StepEnd(id="s", status="error")
    )
    about = {"kind": "task", "name": "Read", "number": 1}
    assert first == {"type": "data-step", "id": "s", "data": {**about, "status": "running"}}
    assert last == {"type": "data-step", "id": "s", "data": {**about, "status": "error"}}


# Blocks


def start_of(name: str, variant: str, **more: Any) -> Chunk:
    metadata = {"mobox": {"variant": variant, "id": name, **more}}
    return {"type": "reasoning-start", "id": name, "providerMetadata": metadata}


def end_of(name: str, variant: str, **more: Any) -> Chunk:
    return start_of(name, variant, **more) | {"type": "reasoning-end"}


def flow(chunks: Sequence[Chunk]) -> list[str]:
    """Openings, words and closings of parts, in one line each."""
    signs = {"start": "<{id}", "delta": "{delta}", "end": "{id}>"}
    return [
        signs[chunk["type"].rpartition("-")[2]].format_map(chunk)
        for chunk in chunks
        if chunk["type"].startswith(("text-", "reasoning-"))
    ]


S, T, A = Status(message="status"), Thinking(content="thought"), TextDelta(delta="answer")
TRANSITIONS: list[tuple[str, list[StreamEvent], str]] = [
    ("a status opens Processing", [S], "<processing_1 status processing_1>"),
    ("a second one is a line of it", [S, S], "<processing_1 status ¶status processing_1>"),
    (
        "a thought closes Processing and opens Thinking",
        [S, T],
        "<processing_1 status processing_1> <thinking_1 thought thinking_1>",
    ),
    (
        "more of a thought is joined to it",
        [T, T],
        "<thinking_1 thought thought thinking_1>",
    ),
    (
        "a second whole thought is a paragraph of it",
        [T, Thinking(content="thought", source="think")],
        "<thinking_1 thought ¶¶thought thinking_1>",
    ),
    (
        "a status closes Thinking and opens Processing",
        [T, S],
        "<thinking_1 thought thinking_1> <processing_1 status processing_1>",
    ),
    (
        "text closes Processing",
        [S, A],
        "<processing_1 status processing_1> <text_1 answer text_1>",
    ),
    ("text closes Thinking", [T, A], "<thinking_1 thought thinking_1> <text_1 answer text_1>"),
    (
        "a status closes the text, and more text is another part",
        [A, S, A],
        "<text_1 answer text_1> <processing_1 status processing_1> <text_2 answer text_2>",
    ),
    (
        "each Processing has a number of its own",
        [S, T, S],
        "<processing_1 status processing_1> <thinking_1 thought thinking_1>"
        " <processing_2 status processing_2>",
    ),
    (
        "a tool call closes what is open without a name",
        [S, ToolUseStart(id="c", name="ls"), S],
        "<processing_1 status processing_1> <processing_2 status processing_2>",
    ),
    (
        "the coming and going of a subagent are thoughts",
        [
            SubagentStart(id="c", agent="bee", task="fly"),
            SubagentEnd(id="c", agent="bee", summary="flew"),
        ],
        "<thinking_1 bee started: fly ¶¶bee finished: flew thinking_1>",
    ),
    (
        "a thought goes on in the block of a subagent's note, and the note in that of a thought",
        [SubagentStart(id="c", agent="bee"), T, SubagentEnd(id="c", agent="bee", status="error")],
        "<thinking_1 bee started ¶¶thought ¶¶bee failed thinking_1>",
    ),
    (
        "blocks with names interleave",
        [
            *(Text(id="a", content="1"), Text(id="b", content="2")),
            *(TextDelta(id="a", delta="3"), TextEnd(id="b"), TextEnd(id="a")),
        ],
        "<a 1 <b 2 3 b> a>",
    ),
    (
        "an agent may give a block of its own the name that our next one would have",
        [
            *(Text(id="processing_1", content="1"), S, TextDelta(id="processing_1", delta="2")),
            *(S, TextEnd(id="processing_1"), S),
        ],
        "<processing_1 1 <processing_2 status 2 ¶status processing_1> ¶status processing_2>",
    ),
    (
        "an empty block is still a part",
        [Text(id="a"), TextEnd(id="a"), Thinking(id="b", redacted=True), ThinkingEnd(id="b")],
        "<a a> <b b>",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "expected"), [row[1:] for row in TRANSITIONS], ids=[row[0] for row in TRANSITIONS]
)
def test_blocks(events: list[StreamEvent], expected: str) -> None:
    assert " ".join(flow(told(*events))).replace("\n", "¶") == expected


def test_unnamed_block_states_its_kind() -> None:
    assert told(S, T) == [
        start_of("processing_1", "processing"),
        {"type": "reasoning-delta", "id": "processing_1", "delta": "status"},
        {
            "type": "data-status",
            "transient": True,
            "data": {"message": "status", "kind": "activity"},
        },
        end_of("processing_1", "processing"),
        start_of("thinking_1", "thinking"),
        {"type": "reasoning-delta", "id": "thinking_1", "delta": "thought"},
        end_of("thinking_1", "thinking"),
    ]


def test_block_reports_its_duration_at_its_end() -> None:
    chunks = told(S, S, T, A, times=True)
    ends = of_type("reasoning-end", chunks)
    assert ends == [
        end_of("processing_1", "processing", durationMs=200),
        end_of("thinking_1", "thinking", durationMs=100),
    ]


def test_text_of_a_subagent_is_reasoning_with_its_name() -> None:
    scope = ("c", "d")
    assert told(
        Text(id="a", scope=scope, content="I "),
        TextDelta(id="a", scope=scope, delta="see."),
        TextEnd(id="a", scope=scope),
    ) == [
        start_of("a", "thinking", scope=["msg_1:c", "msg_1:d"]),
        {"type": "reasoning-delta", "id": "a", "delta": "I "},
        {"type": "reasoning-delta", "id": "a", "delta": "see."},
        end_of("a", "thinking", scope=["msg_1:c", "msg_1:d"]),
    ]


@pytest.mark.parametrize("kind", ["commentary", "refusal"])
def test_text_that_is_no_answer_is_marked(kind: Any) -> None:
    [start, *_] = told(Text(id="a", content="x", kind=kind))
    assert start["providerMetadata"] == {"mobox": {"id": "a", "variant": kind}}


@pytest.mark.parametrize("name", ["a", None])
def test_a_signature_is_on_the_end_of_its_thought_and_nowhere_else(name: str | None) -> None:
    provider = {"anthropic": {"signature": "c2ln"}, "odd": "no map"}
    *others, end = told(
        Thinking(id=name, content="x", provider=provider), ThinkingEnd(id=name, provider=provider)
    )
    assert end["providerMetadata"]["anthropic"] == {"signature": "c2ln"}
    assert end["providerMetadata"]["mobox"]["variant"] == "thinking"
    assert "odd" not in end["providerMetadata"]
    assert "c2ln" not in json.dumps(others)


def test_a_signature_is_kept_where_a_thought_goes_on_in_the_block_of_a_note() -> None:
    note, signed = SubagentStart(id="c", agent="bee"), {"anthropic": {"signature": "c2ln"}}
    chunks = told(note, T, ThinkingEnd(provider=signed), SubagentEnd(id="c"))
    first, second = of_type("reasoning-end", chunks)
    assert first["providerMetadata"]["anthropic"] == {"signature": "c2ln"}
    assert "anthropic" not in second["providerMetadata"]


def test_a_vendor_cannot_take_our_name() -> None:
    *_, end = told(Thinking(id="a"), ThinkingEnd(id="a", provider={"mobox": {"variant": "x"}}))
    assert end == end_of("a", "thinking")


def test_a_subagent_is_data_that_is_replaced_when_it_ends() -> None:
    first, last = of_type(
        "data-subagent",
        told(
            SubagentStart(id="c", agent="bee", task="fly", background=True, scope=("b",)),
            SubagentEnd(id="c", summary="flew", status="error", scope=("b",)),
        ),
    )
    about = {"agent": "bee", "scope": ["msg_1:b"], "task": "fly", "background": True}
    running = {**about, "status": "running"}
    assert first == {"type": "data-subagent", "id": "msg_1:c", "data": running}
    ended = {**about, "status": "error", "summary": "flew"}
    assert last == {"type": "data-subagent", "id": "msg_1:c", "data": ended}


PLAN = (
    TodoItem(content="Read", status="completed"),
    TodoItem(content="Write", status="in_progress", active_form="Writing"),
)
PLANS: list[tuple[str, StreamEvent, str]] = [
    ("made", TodoCreate(items=PLAN), "Planned 2 steps: Read; Write"),
    ("changed", TodoUpdate(items=PLAN), "1 of 2 steps done: Writing"),
    ("done", TodoDone(items=PLAN, item="Read"), "1 of 2 steps done: finished Read"),
]


@pytest.mark.parametrize(("event", "line"), [row[1:] for row in PLANS], ids=[r[0] for r in PLANS])
def test_a_change_of_the_plan_is_a_line_in_processing_and_replaces_the_todos(
    event: StreamEvent, line: str
) -> None:
    items = [
        {"content": "Read", "status": "completed"},
        {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
    ]
    assert told(S, event)[3:5] == [
        {"type": "reasoning-delta", "id": "processing_1", "delta": f"\n{line}"},
        {"type": "data-todos", "id": "todos", "data": {"items": items}},
    ]


def test_the_plan_of_a_subagent_replaces_only_its_own() -> None:
    event = TodoCreate(items=PLAN[:1], scope=("a", "b"))
    [plan] = [chunk for chunk in told(event) if chunk["type"] == "data-todos"]
    items = [{"content": "Read", "status": "completed"}]
    assert plan["id"] == "todos/msg_1:b"
    assert plan["data"] == {"items": items, "scope": ["msg_1:a", "msg_1:b"]}


# Tool calls

CALL = ToolUseStart(id="c", name="ls")
PART = {"toolCallId": "msg_1:c", "dynamic": True}
STARTED = {"type": "tool-input-start", "toolName": "ls", **PART}


def available(value: Any, **more: Any) -> Chunk:
    return {"type": "tool-input-available", "toolName": "ls", "input": value, **PART, **more}


def output(value: Any, **more: Any) -> Chunk:
    return {"type": "tool-output-available", "output": value, **PART, **more}


def failed(text: str) -> Chunk:
    return {"type": "tool-output-error", "errorText": text, **PART}


ENDED = ToolUseEnd(id="c", input={})
BROKEN = {
    "type": "tool-input-error",
    "toolName": "ls",
    "input": "{oops",
    "errorText": "The input of this call is not valid JSON.",
    **PART,
}
CALLS: list[tuple[str, list[StreamEvent], list[Chunk]]] = [
    (
        "the input streams",
        [
            *(ToolUseDelta(id="c", delta='{"a":'), ToolUseDelta(id="c", delta="1}")),
            *(ToolUseEnd(id="c", input={"a": 1}), ToolResult(id="c", output=[1])),
        ],
        [
            {"type": "tool-input-delta", "toolCallId": "msg_1:c", "inputTextDelta": '{"a":'},
            {"type": "tool-input-delta", "toolCallId": "msg_1:c", "inputTextDelta": "1}"},
            available({"a": 1}),
            output([1]),
        ],
    ),
    (
        "no input is an empty object, since a part needs one",
        [ToolUseEnd(id="c"), ToolResult(id="c", output="x")],
        [available({}), output("x")],
    ),
    ("no output is null", [ENDED, ToolResult(id="c")], [available({}), output(None)]),
    (
        "what comes before the whole output is preliminary",
        [ENDED, ToolResult(id="c", output=1, partial=True), ToolResult(id="c", output=2)],
        [available({}), output(1, preliminary=True), output(2)],
    ),
    (
        "an unknown outcome is an output",
        [ENDED, ToolResult(id="c", output=1, status="unknown")],
        [available({}), output(1)],
    ),
    (
        "an error is told in words",
        [ENDED, ToolResult(id="c", output="No such file", status="error")],
        [available({}), failed("No such file")],
    ),
    (
        "an error in blocks is told in their words",
        [ENDED, ToolResult(id="c", output=[{"text": "No"}, {"text": "file"}], status="error")],
        [available({}), failed("No\nfile")],
    ),
    (
        "an error without words is told as it is",
        [ENDED, ToolResult(id="c", output={"code": 7}, status="error")],
        [available({}), failed('{"code":7}')],
    ),
    (
        "an error without anything has a text of ours",
        [ENDED, ToolResult(id="c", status="error")],
        [available({}), failed("The call failed.")],
    ),
    (
        "a denial is an error",
        [ENDED, ToolResult(id="c", status="denied")],
        [available({}), failed("The call was denied.")],
    ),
    (
        "a call without a result is interrupted when the run ends",
        [ENDED],
        [available({}), failed("The call was interrupted.")],
    ),
    ("an input that is no JSON ends the call", [ToolUseEnd(id="c", invalid="{oops")], [BROKEN]),
    (
        "a call that ran on a broken input has its output in the same part",
        [ToolUseEnd(id="c", invalid="{oops"), ToolResult(id="c", output=1)],
        [BROKEN, output(1)],
    ),
    (
        "a call that failed on a broken input tells its own error",
        [ToolUseEnd(id="c", invalid="{oops"), ToolResult(id="c", output="bad", status="error")],
        [BROKEN, failed("bad")],
    ),
]


@pytest.mark.parametrize(
    ("events", "expected"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS]
)
def test_calls(events: list[StreamEvent], expected: list[Chunk]) -> None:
    assert chunks_of_calls(CALL, *events) == [STARTED, *expected]


@pytest.mark.parametrize(
    ("start", "mobox"),
    [
        (ToolUseStart(id="c", name="ls", kind="shell"), {"kind": "shell"}),
        (ToolUseStart(id="c", name="ls", display="todos"), {"display": "todos"}),
        (ToolUseStart(id="c", name="ls", scope=("t",)), {"scope": ["msg_1:t"]}),
    ],
)
def test_kind_of_a_call_is_sent_with_its_input(start: ToolUseStart, mobox: Chunk) -> None:
    chunks = chunks_of_calls(start, ENDED, ToolResult(id="c", output=1))
    assert chunks == [STARTED, available({}, providerMetadata={"mobox": mobox}), output(1)]


def test_a_broken_input_keeps_what_the_call_is() -> None:
    _, broken = chunks_of_calls(replace(CALL, kind="code"), ToolUseEnd(id="c", invalid="{oops"))
    assert broken == {**BROKEN, "providerMetadata": {"mobox": {"kind": "code"}}}


def test_a_tool_of_the_provider_is_marked_on_every_chunk() -> None:
    chunks = told(replace(CALL, server=True), ENDED, ToolResult(id="c", output=1))
    assert [chunk.get("providerExecuted") for chunk in chunks] == [True, True, True]


@pytest.mark.parametrize(
    ("profile", "frontend", "dynamic"),
    [
        ("v7", True, None),
        ("v7", False, True),
        ("v7-static", False, None),
        ("v7-dynamic", True, True),
    ],
)
def test_every_chunk_of_a_call_is_static_or_dynamic(
    profile: str, frontend: bool, dynamic: bool | None
) -> None:
    start = replace(CALL, frontend=frontend)
    log = numbered(log_of([start, ENDED, ToolResult(id="c", output=1), Done(reason="stop")]))
    documents = response_to(log, profile)
    check_ai_sdk(documents, profile)
    calls = [c for c in chunks_of(documents) if c["type"].startswith("tool-")]
    assert [chunk.get("dynamic") for chunk in calls] == [dynamic] * 3


@pytest.mark.parametrize(
    ("requested", "setting", "served"),
    [
        (None, "page", "v6"),
        (None, "all", "v6-static"),
        ("v7", "page", "v7"),
        ("v7", "all", "v7-static"),
        ("v7", "none", "v7-dynamic"),
        ("v7-static", "none", "v7-static"),
        ("document", "all", "document"),
    ],
)
def test_setting_is_what_the_name_of_a_version_means(
    requested: str | None, setting: str, served: str
) -> None:
    assert profile_for(requested, setting) == served


# Requests


APPROVAL = InputRequest(id="ask", prompt="Why?", options=["a"])
OF_CALL = replace(APPROVAL, tool_call_id="c")
ASK = {"type": "tool-approval-request", "approvalId": "msg_1:ask", "toolCallId": "msg_1:c"}
WHY = {**ASK, "reason": "Why?"}
ANSWER = {"type": "tool-approval-response", "approvalId": "msg_1:ask"}


@pytest.mark.parametrize(
    ("profile", "decision", "expected"),
    [
        ("v6", "approved", []),
        ("v6", "denied", []),
        ("v7", "approved", [WHY, {**ANSWER, "approved": True}]),
        ("v7", "denied", [WHY, {**ANSWER, "approved": False}]),
    ],
)
def test_answered_approval_is_sent_only_with_its_answer(
    profile: str, decision: Any, expected: list[Chunk]
) -> None:
    events = [CALL, ENDED, OF_CALL, InputResponse(id="ask", decision=decision)]
    documents = response_to(numbered(log_of([*events, Done(reason="stop")])), profile)
    check_ai_sdk(documents, profile)
    assert [c for c in chunks_of(documents) if c["type"].startswith("tool-approval-")] == expected


@pytest.mark.parametrize(
    ("said", "expected"), [("Not mine", {"reason": "Not mine"}), ({"a": 1}, {})]
)
def test_comment_of_a_decision_is_sent_with_it(said: Any, expected: dict[str, str]) -> None:
    answer = InputResponse(id="ask", decision="denied", value=said)
    log = numbered(log_of([CALL, ENDED, OF_CALL, answer, Done(reason="stop")]))
    told = [c for c in chunks_of(response_to(log, "v7")) if c["type"] == ANSWER["type"]]
    assert told == [{**ANSWER, "approved": False, **expected}]


REQUESTS: list[tuple[str, list[StreamEvent]]] = [
    ("a question", [replace(APPROVAL, kind="question")]),
    ("a question about a call", [CALL, ENDED, replace(OF_CALL, kind="question")]),
    ("an approval of no call", [APPROVAL]),
    ("an approval of a call without a name", [replace(APPROVAL, tool_call_id="")]),
    (
        "an approval of a call that has its result",
        [CALL, ENDED, ToolResult(id="c", output=1), OF_CALL],
    ),
    (
        "an approval of a call with a broken input",
        [CALL, ToolUseEnd(id="c", invalid="{"), OF_CALL],
    ),
]


@pytest.mark.parametrize("events", [row[1] for row in REQUESTS], ids=[row[0] for row in REQUESTS])
@pytest.mark.parametrize("profile", ["v5", "v6", "v7"])
def test_other_requests_are_calls_that_the_answer_ends(
    profile: str, events: list[StreamEvent]
) -> None:
    answer = InputResponse(id="ask", decision="answered", value="a")
    chunks = told(*events, answer, profile=profile)
    assert of_type("data-input", chunks) == []
    asked, ended = (c for c in chunks if c.get("toolCallId") == "msg_1:@ask:ask")
    assert (asked["type"], asked["toolName"]) == ("tool-input-available", "ask_user")
    assert asked["input"].items() >= {"prompt": "Why?", "options": ["a"]}.items()
    assert ended == {
        "type": "tool-output-available",
        "toolCallId": "msg_1:@ask:ask",
        "output": "a",
    }


@pytest.mark.parametrize("events", [row[1] for row in REQUESTS], ids=[row[0] for row in REQUESTS])
def test_other_requests_of_our_page_are_data_that_is_replaced_by_the_answer(
    events: list[StreamEvent],
) -> None:
    answer = InputResponse(id="ask", decision="answered", value="a")
    first, last = of_type("data-input", told(*events, answer, profile="page"))
    assert first["id"] == last["id"] == "msg_1:ask"
    assert first["data"]["prompt"] == "Why?"
    assert first["data"]["options"] == ["a"]
    answered = {"decision": "answered", "value": "a"}
    assert last["data"] == {**first["data"], "answered": answered}


@pytest.mark.parametrize("client", ["ai-v6", "ai"])
def test_the_real_client_shows_the_approval_that_a_response_ends_with(
    ai_sdk: AiSdkClients, client: str
) -> None:
    asked = [CALL, ENDED, InputRequest(id="ask", tool_call_id="c"), Paused(request_ids=("ask",))]
    reading = ai_sdk.read(client, sse.encode(response_to(numbered(log_of(asked)))))
    assert reading.error is None
    assert reading.message is not None
    [part] = reading.message["parts"]
    assert (part["state"], part["approval"]) == ("approval-requested", {"id": "msg_1:ask"})


# What a message carries besides

OTHERS: list[tuple[str, list[StreamEvent], list[Chunk]]] = [
    (
        "a page is a source with its address",
        [Source(id="t", url="https://a.org", title="A", cited_text="x", score=0.5, confidence=1.0)],
        [
            {
                "type": "source-url",
                "sourceId": "source_1",
                "url": "https://a.org",
                "title": "A",
                "providerMetadata": {
                    "mobox": {"for": "t", "citedText": "x", "score": 0.5, "confidence": 1.0}
                },
            }
        ],
    ),
    (
        "a document is a source with a title",
        [Source(document="a.txt", location={"page": 1}), Source(file="f"), Source(scope=("c",))],
        [
            {
                "type": "source-document",
                "sourceId": f"source_{n}",
                "mediaType": "text/plain",
                "title": title,
                "providerMetadata": {"mobox": mobox},
            }
            for n, title, mobox in [
                (1, "a.txt", {"location": {"page": 1}}),
                (2, "f", {"file": "f"}),
                (3, "Source", {"scope": ["msg_1:c"]}),
            ]
        ],
    ),
    (
        "a source that says nothing about itself has no metadata",
        [Source(url="https://a.org")],
        [{"type": "source-url", "sourceId": "source_1", "url": "https://a.org"}],
    ),
    (
        "bytes are a data address",
        [File(media_type="image/gif", base64="R0lG", name="a.gif", size=3)],
        [
            {
                "type": "file",
                "mediaType": "image/gif",
                "url": "data:image/gif;base64,R0lG",
                "providerMetadata": {"mobox": {"name": "a.gif", "size": 3}},
            }
        ],
    ),
    (
        "a file with an address has no use for its bytes",
        [File(media_type="image/gif", url="https://a.org/a.gif", base64="R0lG")],
        [{"type": "file", "mediaType": "image/gif", "url": "https://a.org/a.gif"}],
    ),
    (
        "a file that only the provider can fetch is data",
        [File(media_type="a/b", file_id="f"), File(media_type="a/b", url="", base64="", name="n")],
        [
            {"type": "data-file", "data": {"mediaType": "a/b", "fileId": "f"}},
            {"type": "data-file", "data": {"mediaType": "a/b", "name": "n"}},
        ],
    ),
    (
        "shared state is data that is not kept",
        [State(mode="patch", value=[{"op": "add"}])],
        [
            {
                "type": "data-state",
                "transient": True,
                "data": {"mode": "patch", "value": [{"op": "add"}]},
            }
        ],
    ),
    (
        "an application's event is data of its own name",
        [Custom(name="chart", value=None), Custom(id="x", name="chart", value={"n": 1})],
        [
            {"type": "data-chart", "data": None},
            {"type": "data-chart", "id": "x", "data": {"n": 1}},
        ],
    ),
    (
        "a name that is no name is made one",
        [Custom(name="a b/ü"), Custom(name="")],
        [{"type": "data-a-b-", "data": None}, {"type": "data-custom", "data": None}],
    ),
    ("what is not understood is not shown", [Raw(raw={"a": 1}, source="x")], []),
]


@pytest.mark.parametrize(
    ("events", "expected"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS]
)
def test_other_events(events: list[StreamEvent], expected: list[Chunk]) -> None:
    assert told(*events) == expected


def test_retracted_blocks_are_named_all_that_have_been_so_far() -> None:
    said = [Text(id=name, content=name) for name in "abc"]
    chunks = told(*said, Retract(blocks=("a",)), Retract(blocks=("b", "c")))
    assert of_type("data-retract", chunks) == [
        {"type": "data-retract", "id": "retract", "data": {"ids": ["a"]}},
        {"type": "data-retract", "id": "retract", "data": {"ids": ["a", "b", "c"]}},
    ]


def test_an_application_cannot_take_a_name_of_ours() -> None:
    ours = told(S, TodoCreate(items=PLAN), Usage(id="u"), Text(id="a"), Retract(blocks=("a",)))
    ours += told(SubagentStart(id="c", agent="bee"), StepStart(id="s", kind="task"))
    ours += told(State(mode="patch", value=1), File(media_type="a/b"))
    ours += told(InputRequest(id="ask"), profile="page")
    names = {chunk["type"].removeprefix("data-") for chunk in ours if "data" in chunk}
    assert len(names) == 9
    for name in names:
        assert types(told(Custom(name=name))) == [f"data-custom-{name}"]


# Usage


def usage(*events: StreamEvent) -> Chunk:
    """What the one usage part says in the end, which the end of the message repeats."""
    documents = response_to(without_times(numbered(log_of([*events, Done(reason="stop")]))))
    *_, last, finish = chunks_of(documents)
    assert (last["type"], last["id"]) == ("data-usage", "usage")
    assert finish["messageMetadata"]["usage"] == last["data"]
    data: Chunk = last["data"]
    return data


def test_the_usage_of_calls_is_summed() -> None:
    assert usage(
        Usage(id="a", input=10, output=1, cache_read=4, reasoning=1),
        Usage(id="b", input=20, output=2, cache_write=8, total=22, cost_usd=0.5),
    ) == {
        "inputTokens": 30,
        "outputTokens": 3,
        "cachedInputTokens": 4,
        "cacheWriteTokens": 8,
        "reasoningTokens": 1,
        "totalTokens": 22,
        "costUsd": 0.5,
        "isTotal": False,
    }


def test_usage_replaces_earlier_usage_of_its_id() -> None:
    told_twice = [Usage(id="a", input=10, output=1), Usage(id="a", input=10, output=9)]
    assert usage(*told_twice) == {"inputTokens": 10, "outputTokens": 9, "isTotal": False}


def test_the_total_of_the_run_takes_the_place_of_the_sum() -> None:
    call, run = Usage(id="a", input=10, output=1), Usage(per="run", input=7, output=8)
    assert usage(call, run) == usage(run, call)
    assert usage(run, call) == {"inputTokens": 7, "outputTokens": 8, "isTotal": True}


def test_the_result_of_the_run_adds_its_statistics() -> None:
    result = Result(duration_ms=45000, num_turns=12, cost_usd=0.25, session_id="s", text="t")
    statistics = {"durationMs": 45000, "numTurns": 12, "costUsd": 0.25}
    assert usage(result) == {"isTotal": False, **statistics}
    assert usage(Usage(per="run", input=1, output=2), result) == {
        "inputTokens": 1,
        "outputTokens": 2,
        "isTotal": True,
        **statistics,
    }


# Payloads

HOSTILE: list[tuple[str, Any, Any]] = [
    ("a key __proto__", {"__proto__": {"x": 1}}, {"(__proto__)": {"x": 1}}),
    ("one deep inside", [{"a": [{"__proto__": 1}]}], [{"a": [{"(__proto__)": 1}]}]),
    (
        "constructor.prototype",
        {"constructor": {"prototype": 1}},
        {"(constructor)": {"prototype": 1}},
    ),
    ("a constructor that is harmless", {"constructor": "Ltd"}, {"constructor": "Ltd"}),
    ("such a word that is no key", ["__proto__", "constructor"], ["__proto__", "constructor"]),
    ("numbers that are none", [float("nan"), float("inf"), 1.5], [None, None, 1.5]),
    ("null", {"a": None}, {"a": None}),
    ("line ends", "a\r\n\u2028b", "a\r\n\u2028b"),
    ("an integer that no computer likes", 2**70, 2**70),
]


@pytest.mark.parametrize(
    ("value", "shown"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE]
)
def test_any_payload_arrives(ai_sdk: AiSdkClients, value: Any, shown: Any) -> None:
    events = [CALL, ToolUseEnd(id="c", input=value), ToolResult(id="c", output=value)]
    events += [Custom(name="chart", value=value), State(mode="snapshot", value=value)]
    events += [Usage(id="u")]
    documents = response_to(numbered(log_of([*events, Done(reason="stop")])))
    check_ai_sdk(documents)
    by_type = {chunk["type"]: chunk for chunk in chunks_of(documents)}
    assert by_type["tool-input-available"]["input"] == shown
    assert by_type["tool-output-available"]["output"] == shown
    assert by_type["data-chart"]["data"] == shown
    assert by_type["data-state"]["data"]["value"] == shown
    assert ai_sdk.read("ai-v6", sse.encode(documents)).error is None


@pytest.mark.parametrize("key", ["__proto__", "constructor", "prototype", "toString"])
def test_any_metadata_arrives(ai_sdk: AiSdkClients, key: str) -> None:
    value = {"a": [{key: 1}], key: "x"}
    events = [Source(url="https://a.org", location=value), Thinking(id="t")]
    events += [ThinkingEnd(id="t", provider={"vendor": value, key: {key: 1}})]
    documents = response_to(numbered(log_of([*events, Done(reason="stop")])))
    check_ai_sdk(documents)
    [source, _, end, _] = chunks_of(documents)[1:]
    harmless = key if key in ("prototype", "toString") else f"({key})"
    shown = {"a": [{harmless: 1}], harmless: "x"}
    assert source["providerMetadata"]["mobox"]["location"] == shown
    assert end["providerMetadata"]["vendor"] == shown
    assert end["providerMetadata"][harmless] == {harmless: 1}
    assert ai_sdk.read("ai-v6", sse.encode(documents)).error is None


@pytest.mark.parametrize("delta", ['{"__proto__": {"x": 1}}', '{"a": "\u2028'])
def test_a_streamed_input_arrives_as_it_is(ai_sdk: AiSdkClients, delta: str) -> None:
    documents = response_to(numbered(log_of([CALL, ToolUseDelta(id="c", delta=delta)])))
    [chunk] = of_type("tool-input-delta", chunks_of(documents))
    assert chunk["inputTextDelta"] == delta
    check_ai_sdk(documents)
    assert ai_sdk.read("ai-v6", sse.encode(documents)).error is None


# The grammar itself: what it refuses

START, FINISH = {"type": "start", "messageId": "msg_1"}, {"type": "finish"}
OPEN, CLOSE = {"type": "text-start", "id": "a"}, {"type": "text-end", "id": "a"}
INPUT = {"type": "tool-input-available", "toolName": "ls", "input": {}, **PART}
STEP, STEP_END = {"type": "start-step"}, {"type": "finish-step"}
ILLEGAL: list[tuple[str, list[Chunk | bytes], str]] = [
    ("nothing", [], "[DONE] is missing"),
    ("no start", [FINISH, DONE], "chunk 1 (finish): after nothing"),
    ("no id", [{"type": "start"}, FINISH, DONE], "chunk 1 (start): ['messageId'] missing"),
    ("two starts", [START, START, FINISH, DONE], "chunk 2 (start)"),
    ("no end", [START, FINISH], "after chunk 2: [DONE] is missing"),
    ("no finish", [START, DONE], "chunk 2 ([DONE])"),
    ("two ends", [START, FINISH, DONE, DONE], "chunk 4 ([DONE])"),
    ("more after the finish", [START, FINISH, OPEN, CLOSE, DONE], "(text-start): after finish"),
    ("more after an abort", [START, {"type": "abort"}, FINISH, DONE], "after abort comes only"),
    ("more after an error", [START, {"type": "error", "errorText": "x"}, STEP], "after error"),
    ("an unknown type", [START, {"type": "done"}], "the client does not know this type"),
    ("one of a later version", [START, {"type": "reset-step"}], "does not know this type"),
    ("no type", [START, b"{}"], "a chunk has a type"),
    ("an unknown key", [START, {**OPEN, "name": "x"}], "['name'] unknown"),
    ("a null", [START, {**OPEN, "providerMetadata": None}], "providerMetadata cannot be None"),
    ("a constructor", [START, {**OPEN, "providerMetadata": {"a": {"constructor": 1}}}], "cannot"),
    ("flat metadata", [START, {**OPEN, "providerMetadata": {"a": "b"}}], "providerMetadata cannot"),
    ("an unknown reason", [START, {**FINISH, "finishReason": "end_turn"}], "finishReason cannot"),
    ("data without a name", [START, {"type": "data-", "data": 1}], "data without a name"),
    ("data without data", [START, {"type": "data-x"}], "['data'] missing"),
    ("a line end", [START, b'{"type":\n"start-step"}'], "no line ends"),
    ("bytes that are no text", [START, b'{"type":"data-x","data":"\xff"}'], "UTF-8"),
    ("broken JSON", [START, b'{"type":'], "is JSON"),
    ("a list", [START, b"[]"], "is an object"),
    ("NaN", [START, b'{"type":"data-x","data":NaN}'], "NaN is no JSON"),
    ("a key twice", [START, b'{"type":"data-x","data":{"a":1,"a":2}}'], "a key stands twice"),
    ("__proto__", [START, {"type": "data-x", "data": [{"__proto__": 1}]}], "__proto__"),
    (
        "constructor.prototype",
        [START, {"type": "data-x", "data": {"constructor": {"prototype": 1}}}],
        "constructor.prototype",
    ),
    ("a part that is open twice", [START, OPEN, OPEN], "is open already"),
    ("a delta of no part", [START, {"type": "text-delta", "id": "a", "delta": "x"}], "is not open"),
    ("an end of another kind", [START, OPEN, {"type": "reasoning-end", "id": "a"}], "is not open"),
    ("an open part at the end", [START, OPEN, FINISH, DONE], "still open"),
    ("an open part at an abort", [START, OPEN, {"type": "abort"}], "still open"),
    ("an open part at an error", [START, OPEN, {"type": "error", "errorText": "x"}], "still open"),
    ("an open part at the end of a step", [START, STEP, OPEN, STEP_END], "still open"),
    ("an open part at the start of a step", [START, OPEN, STEP], "still open"),
    ("a step in a step", [START, STEP, STEP], "a step is open already"),
    ("the end of no step", [START, STEP_END], "no step is open"),
    ("an open step at the end", [START, STEP, FINISH], "the step is still open"),
    ("a step in an input", [START, STARTED, STEP], "two parts of msg_1:c"),
    (
        "a call that other messages may have too",
        [START, {**STARTED, "toolCallId": "c"}],
        "begins with the id of its message",
    ),
    ("a call that starts twice", [START, STARTED, STARTED], "has started before"),
    ("an input that comes twice", [START, INPUT, INPUT], "does not stream"),
    ("an input of another tool", [START, STARTED, {**INPUT, "toolName": "x"}], "began as ls"),
    ("a call that changes", [START, STARTED, {**INPUT, "dynamic": False}], "dynamic was True"),
    (
        "more input of a call that has it",
        [START, INPUT, {"type": "tool-input-delta", "toolCallId": "msg_1:c", "inputTextDelta": ""}],
        "does not stream",
    ),
    ("an output of no call", [START, output(1)], "nobody started this call"),
    ("an output before the input", [START, STARTED, output(1)], "an output before the input"),
    ("an approval of no call", [START, ASK], "nobody started this call"),
    ("an approval after the output", [START, INPUT, output(1), ASK], "a call that is told"),
    ("an approval of a broken call", [START, BROKEN, ASK], "a call that is failed"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("stream", "complaint"), [row[1:] for row in ILLEGAL], ids=[row[0] for row in ILLEGAL]
)
def test_the_grammar_refuses(stream: list[Chunk | bytes], complaint: str) -> None:
    documents = [c if isinstance(c, bytes) else json.dumps(c).encode() for c in stream]
    with pytest.raises(AssertionError) as refused:
        check_ai_sdk(documents)
    assert complaint in str(refused.value)


def test_the_grammar_knows_every_profile_that_we_write() -> None:
    names = {name + variant for name in PROFILES for variant in VARIANTS}
    assert set(AISDKFormatter.PROFILES) <= names
