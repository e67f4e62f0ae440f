"""The fold: what a log says, at rest."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox import LogEntry, Recorder, StreamEvent
from mobox.compat import get_parser
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
    ThinkingDelta,
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
from mobox.events.message import (
    AnyPart,
    CustomPart,
    FilePart,
    Message,
    ProcessingPart,
    RequestPart,
    RetractPart,
    SourcePart,
    StepPart,
    SubagentPart,
    TextPart,
    ThinkingPart,
    TodosPart,
    ToolPart,
    TurnPart,
    UsagePart,
)
from mobox.events.transcript import Transcript, build_message
from mobox.events.usage import Totals
from support.recordings import each_recording, recorded_log
from support.strategies import log_of, logs, numbered

STOP = Done(reason="stop")


def folded(*events: StreamEvent, ends: Done | None = STOP) -> Message:
    """The message of a run that says this, a tenth of a second an entry."""
    return build_message(numbered(log_of([*events, ends] if ends else events)), "msg_1")


def untimed(*events: StreamEvent) -> list[AnyPart]:
    """The parts of a run that has no times, as far as it has come."""
    log = log_of([Start(framework="test"), *events, Paused(request_ids=())])
    return build_message(
        [LogEntry(n, n, None, event) for n, event in enumerate(log, 1)], "msg_1"
    ).parts


def texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, TextPart)]


# One part after the other

CALL = ToolUseStart(id="t", name="ls", kind="shell", server=True, display="think", scope=("a",))
ASKED = InputRequest(id="r", tool_call_id="t")
PLAN = (TodoItem(content="cook", status="in_progress"), TodoItem(content="eat"))
PAGE = Source(id="t", url="https://a.org")
IMAGE = File(id="t", media_type="image/png", base64="aGk=")
AGENT = SubagentStart(id="t", agent="scout", task="Look.")
TASK = StepStart(id="s", kind="task", name="Sleep")

PARTS: list[tuple[str, list[StreamEvent], list[AnyPart]]] = [
    (
        "a text that streams",
        [Text(id="x", content="Hel", kind="commentary"), TextDelta(id="x", delta="lo")],
        [TextPart(id="x", text="Hello", kind="commentary")],
    ),
    (
        "a text that ended",
        [Text(id="x"), TextDelta(id="x", delta="Hello"), TextEnd(id="x")],
        [TextPart(id="x", text="Hello", ended=True)],
    ),
    (
        "a thought with its signature",
        [
            Thinking(id="x", source="plan", redacted=True),
            ThinkingDelta(id="x", delta="Hm."),
            ThinkingEnd(id="x", provider={"v": {"signature": "s"}}),
        ],
        [
            ThinkingPart(
                id="x",
                text="Hm.",
                source="plan",
                redacted=True,
                ended=True,
                provider={"v": {"signature": "s"}},
            )
        ],
    ),
    (
        "whole thoughts without a name are paragraphs",
        [Thinking(content="One.", source="think"), Thinking(content="Two.", source="think")],
        [ThinkingPart(id="thinking_1", text="One.\n\nTwo.", source="think")],
    ),
    (
        "what the model thinks token by token is one thought",
        [Thinking(content="On"), Thinking(content="e."), Thinking(content=" Two.")],
        [ThinkingPart(id="thinking_1", text="One. Two.")],
    ),
    (
        "a thought goes on in the block of a note on a subagent",
        [AGENT, Thinking(content="Hm."), ThinkingEnd(id="thinking_1", provider={"v": {"s": 1}})],
        [
            ThinkingPart(
                id="thinking_1",
                text="scout started: Look.\n\nHm.",
                ended=True,
                provider={"v": {"s": 1}},
            ),
            SubagentPart(start=AGENT),
        ],
    ),
    (
        "lines are one Processing until something else is said",
        [Status(message="a"), Status(message="b"), Text(id="x"), Status(message="c")],
        [
            ProcessingPart(id="processing_1", text="a\nb", ended=True),
            TextPart(id="x"),
            ProcessingPart(id="processing_2", text="c"),
        ],
    ),
    ("progress is nothing", [Status(message="a", kind="progress")], []),
    (
        "blocks that interleave stand where they began",
        [
            *(Text(id="x", content="a"), Thinking(id="y", content="b")),
            *(TextDelta(id="x", delta="c"), TextEnd(id="x"), ThinkingEnd(id="y")),
        ],
        [TextPart(id="x", text="ac", ended=True), ThinkingPart(id="y", text="b", ended=True)],
    ),
    (
        "a call whose input streams",
        [CALL, ToolUseDelta(id="t", delta='{"a":'), ToolUseDelta(id="t", delta="1")],
        [
            ToolPart(
                id="t",
                name="ls",
                kind="shell",
                server=True,
                display="think",
                scope=("a",),
                input_text='{"a":1',
            )
        ],
    ),
    (
        "a call with its input",
        [
            ToolUseStart(id="t", name="ls"),
            ToolUseDelta(id="t", delta="1"),
            ToolUseEnd(id="t", input=1),
        ],
        [ToolPart(id="t", name="ls", input=1, ended=True)],
    ),
    (
        "a call without input",
        [ToolUseStart(id="t", name="ls"), ToolUseEnd(id="t")],
        [ToolPart(id="t", name="ls", input={}, ended=True)],
    ),
    (
        "a call whose input is no JSON",
        [ToolUseStart(id="t", name="ls"), ToolUseEnd(id="t", invalid="{")],
        [ToolPart(id="t", name="ls", input={}, input_text="{", ended=True, invalid=True)],
    ),
    (
        "a call with a part of its result",
        [ToolUseStart(id="t", name="ls"), ToolResult(id="t", output="a", partial=True)],
        [ToolPart(id="t", name="ls", input={}, ended=True, status="ok", output="a", partial=True)],
    ),
    (
        "a call with its result, which replaces the parts of it",
        [
            ToolUseStart(id="t", name="ls"),
            ToolResult(id="t", output="a", partial=True),
            ToolResult(id="t", output="b", status="error", structured={"c": 1}),
        ],
        [
            ToolPart(
                id="t",
                name="ls",
                input={},
                ended=True,
                status="error",
                output="b",
                structured={"c": 1},
            )
        ],
    ),
    (
        "a request to approve a call",
        [ToolUseStart(id="t", name="ls"), ToolUseEnd(id="t"), ASKED],
        [
            ToolPart(id="t", name="ls", input={}, ended=True),
            RequestPart(request=ASKED, approval=True),
        ],
    ),
    (
        "a request that was answered, where a turn begins",
        [ToolUseStart(id="t", name="ls"), ASKED, InputResponse(id="r", decision="approved")],
        [
            ToolPart(id="t", name="ls", input={}, ended=True),
            RequestPart(
                request=ASKED, response=InputResponse(id="r", decision="approved"), approval=True
            ),
            TurnPart(),
        ],
    ),
    (
        "a request about a call that has its result approves nothing",
        [ToolUseStart(id="t", name="ls"), ToolResult(id="t"), ASKED],
        [
            ToolPart(id="t", name="ls", input={}, ended=True, status="ok"),
            RequestPart(request=ASKED),
        ],
    ),
    (
        "a question about a call approves nothing",
        [ToolUseStart(id="t", name="ls"), InputRequest(id="r", kind="question", tool_call_id="t")],
        [
            ToolPart(id="t", name="ls", input={}, ended=True),
            RequestPart(request=InputRequest(id="r", kind="question", tool_call_id="t")),
        ],
    ),
    (
        "an answer to nothing begins a turn",
        [InputResponse(id="r", decision="denied")],
        [TurnPart()],
    ),
    (
        "a plan, which there is one of",
        [TodoCreate(items=PLAN), TodoDone(items=PLAN[1:], item="cook", index=0)],
        [
            ProcessingPart(
                id="processing_1",
                text="Planned 2 steps: cook; eat\n0 of 1 step done: finished cook",
            ),
            TodosPart(items=PLAN[1:]),
        ],
    ),
    (
        "the plan of a subagent, which leaves the root's alone",
        [TodoCreate(items=PLAN), TodoCreate(items=PLAN[:1], scope=("t",))],
        [
            ProcessingPart(
                id="processing_1", text="Planned 2 steps: cook; eat\nPlanned 1 step: cook"
            ),
            TodosPart(items=PLAN),
            TodosPart(items=PLAN[:1], scope=("t",)),
        ],
    ),
    (
        "a subagent that came and went",
        [AGENT, SubagentEnd(id="t", agent="scout", summary="Seen.")],
        [
            ThinkingPart(id="thinking_1", text="scout started: Look.\n\nscout finished: Seen."),
            SubagentPart(start=AGENT, end=SubagentEnd(id="t", agent="scout", summary="Seen.")),
        ],
    ),
    ("a page", [PAGE], [SourcePart(source=PAGE)]),
    ("a file", [IMAGE], [FilePart(file=IMAGE)]),
    ("a task", [TASK, StepEnd(id="s")], [StepPart(start=TASK, end=StepEnd(id="s"))]),
    ("a task that runs", [TASK], [StepPart(start=TASK)]),
    (
        "a compaction",
        [StepStart(id="s", kind="compaction")],
        [StepPart(start=StepStart(id="s", kind="compaction"))],
    ),
    ("a node is nothing", [StepStart(id="s", kind="node"), StepEnd(id="s")], []),
    ("a turn", [StepStart(id="s"), StepEnd(id="s")], [TurnPart()]),
    ("a turn of a subagent is nothing", [StepStart(id="s", scope=("a",))], []),
    ("a turn that says nothing goes on", [StepStart(id="s"), StepStart(id="r")], [TurnPart()]),
    (
        "no turn begins amid a block",
        [Text(id="x"), StepStart(id="s")],
        [TextPart(id="x")],
    ),
    (
        "no turn begins amid an input",
        [ToolUseStart(id="t", name="ls"), StepStart(id="s")],
        [ToolPart(id="t", name="ls")],
    ),
    (
        "what was used, which there is one of",
        [Usage(id="a", input=1, output=2), Usage(id="b", input=3, output=4), Result(num_turns=2)],
        [UsagePart(totals=Totals(input=4, output=6, num_turns=2))],
    ),
    (
        "an application's own is replaced under its id",
        [
            *(Custom(name="chart", value=1), Custom(name="chart", value=2)),
            *(Custom(name="chart", id="a", value=3), Custom(name="chart", id="a", value=4)),
            *(Custom(name="map", id="a", value=5),),
        ],
        [
            CustomPart(name="chart", value=1),
            CustomPart(name="chart", value=2),
            CustomPart(name="chart", id="a", value=4),
            CustomPart(name="map", id="a", value=5),
        ],
    ),
    ("what only passes by is nothing", [State(mode="patch", value=1), Raw(raw=1)], []),
]


@pytest.mark.parametrize(
    ("events", "parts"), [row[1:] for row in PARTS], ids=[row[0] for row in PARTS]
)
def test_parts(events: list[StreamEvent], parts: list[AnyPart]) -> None:
    assert untimed(*events) == parts


# The columns


def test_the_content_is_what_the_root_answered() -> None:
    message = folded(
        Text(id="x", content="One. "),
        Text(id="n", content="Nested.", scope=("a",)),
        Thinking(id="y", content="Hm."),
        Text(id="z", content="Two."),
    )
    assert message.content == "One. Two."


def test_the_content_is_without_what_was_taken_back() -> None:
    message = folded(
        Text(id="x", content="On"), Retract(blocks=("x",)), Text(id="y", content="Once.")
    )
    assert texts(message) == ["On", "Once."]
    assert message.content == "Once."


def test_a_thought_that_was_taken_back_is_not_in_the_metadata() -> None:
    message = folded(
        Thinking(id="x", content="H"), Retract(blocks=("x",)), Thinking(id="y", content="Hm.")
    )
    assert message.metadata == {"thinking": "Hm."}


def test_the_metadata_is_the_lines_and_the_thoughts() -> None:
    message = folded(
        Status(message="Starting"),
        Status(message="12 tokens", kind="progress"),
        TodoCreate(items=PLAN),
        Thinking(content="One."),
        SubagentStart(agent="scout", task="Look."),
        Thinking(id="n", content="Nested.", scope=("a",)),
        TodoUpdate(items=PLAN),
        Status(message="Ending"),
        SubagentEnd(agent="scout", summary="Seen."),
        Text(content="Done."),
    )
    assert message.metadata == {
        "processing": [
            "Starting",
            "Planned 2 steps: cook; eat",
            "0 of 2 steps done: cook",
            "Ending",
        ],
        "thinking": "One.\n\nscout started: Look.\n\nNested.\n\nscout finished: Seen.",
    }


def test_a_message_without_lines_and_thoughts_has_no_metadata() -> None:
    assert folded(Text(content="Hi"), Thinking(id="x", redacted=True)).metadata == {}


LINES: list[tuple[str, dict[str, Any]]] = [
    ("status", {"message": "Starting"}),
    ("thinking", {"content": "Let me think."}),
    ("think", {"thought": "Two sources."}),
    ("text", {"content": "Half of "}),
    ("subagent_start", {"agent": "scout", "task": "Look."}),
    ("think", {"thought": "Three sources."}),
    ("subagent_complete", {"agent": "scout", "summary": "Seen."}),
    ("text", {"content": "it."}),
]
"""Lines of the documents, each of which means one event."""


def test_the_columns_are_what_the_documents_parser_gives() -> None:
    lines = [{"type": kind, "data": data} for kind, data in LINES]
    parser, recorder = get_parser("emitted"), Recorder("emitted")
    for line in lines:
        parser.parse(line)
    message = build_message(recorder.feed(lines) + recorder.close(), "msg_1")
    assert message.content == parser.get_text() == "Half of it."
    assert message.metadata == {"processing": ["Starting"], "thinking": parser.get_thinking()}


REASONS: list[tuple[list[StreamEvent], DoneReason, str | None, list[str]]] = [
    ([STOP], "stop", None, []),
    ([Error(message="Broke."), Done(reason="error")], "error", "Broke.", []),
    ([Error(message="a"), Error(message="b"), Done(reason="error")], "error", "b", ["a"]),
    ([Error(message="a"), Text(content="x"), STOP], "stop", None, ["a"]),
    ([Error(message="a"), Done(reason="length")], "length", None, ["a"]),
    ([Done(reason="error")], "error", None, []),
    ([], "truncated", None, []),
]


@pytest.mark.parametrize(("events", "reason", "error", "notices"), REASONS)
def test_message_has_the_outcome_of_the_run(
    events: list[StreamEvent], reason: DoneReason, error: str | None, notices: list[str]
) -> None:
    message = folded(Start(framework="test"), *events, ends=None)
    assert (message.reason, message.error) == (reason, error)
    assert message.metadata.get("processing", []) == notices
    assert [p.text for p in message.parts if isinstance(p, ProcessingPart)] == notices


def test_lost_run_has_its_last_error() -> None:
    log = numbered(log_of([Error(message="Broke.")], Done(reason="lost")))
    assert build_message(log, "msg_1").error == "Broke."


def test_a_message_that_has_not_ended_has_no_reason_and_no_duration() -> None:
    log = numbered(log_of([Text(id="x", content="Hi"), Paused(request_ids=())]))
    message = build_message(log, "msg_1")
    assert (message.reason, message.error, message.duration_ms) == (None, None, None)
    assert message.parts == [TextPart(id="x", text="Hi", worked_ms=100)]
    assert build_message([], "msg_1") == Message(id="msg_1", parts=[])


def test_message_has_the_usage() -> None:
    message = folded(Usage(id="a", input=1, output=2), Usage(per="run", input=10, output=20))
    assert message.usage == Totals(input=10, output=20, is_total=True)
    assert folded().usage is None


def test_message_marks_a_simulated_model() -> None:
    assert folded(Start(framework="test", simulated=True)).simulated
    assert not folded(Start(framework="test")).simulated


@pytest.mark.parametrize(
    ("events", "model", "context"),
    [
        ([Start(framework="test", model="m")], "m", None),
        ([Usage(id="a", input=10, output=2, model="m")], "m", 12),
        ([Usage(id="a", input=10, output=2), Usage(id="b", input=30, output=1)], None, 31),
        ([Usage(id="a", input=10, model="m"), Usage(id="b", input=5, scope=("s",))], "m", 10),
        ([Usage(per="run", input=99, output=9, model="m")], "m", None),
        ([Usage(id="a", input=10), Usage(id="b", output=3)], None, 10),
        ([Custom(name="agent-started", value={"model": "m"})], "m", None),
        ([Custom(name="agent-started", value={"model": 7})], None, None),
        ([], None, None),
    ],
)
def test_message_has_the_model_and_how_full_its_context_was(
    events: list[StreamEvent], model: str | None, context: int | None
) -> None:
    message = folded(*events)
    assert (message.model, message.context) == (model, context)


def test_run_and_blocks_have_their_durations() -> None:
    log = log_of([Thinking(id="x"), ThinkingDelta(id="x", delta="Hm"), Text(id="y"), STOP])
    times = [1000, 1100, 1200, 1400, 1800, 1900, 2000]
    entries = [LogEntry(n, n, ts, e) for n, (ts, e) in enumerate(zip(times, log, strict=True), 1)]
    message = build_message(entries, "msg_1")
    assert message.duration_ms == 1000
    assert [p.duration_ms for p in message.parts if isinstance(p, ThinkingPart)] == [700]


def test_without_times_there_are_no_durations() -> None:
    log = log_of([Thinking(id="x"), STOP])
    message = build_message([LogEntry(n, n, None, e) for n, e in enumerate(log, 1)], "msg_1")
    assert message.duration_ms is None
    assert message.parts == [ThinkingPart(id="x", ended=True)]


RETRACTS: list[tuple[str, list[StreamEvent], bool]] = [
    ("all that the turn said", [StepStart(id="s"), Text(id="x"), Retract(blocks=("x",))], True),
    (
        "a part of it",
        [StepStart(id="s"), Text(id="x"), Text(id="y"), Retract(blocks=("x",))],
        False,
    ),
    ("without a turn", [Text(id="x"), Retract(blocks=("x",))], False),
    (
        "of a turn that said nothing",
        [Text(id="x"), TextEnd(id="x"), StepStart(id="s"), Retract(blocks=("x",))],
        False,
    ),
    (
        "with a request to approve it",
        [StepStart(id="s"), ToolUseStart(id="t", name="ls"), ASKED, Retract(blocks=("t",))],
        True,
    ),
    ("beside a page", [StepStart(id="s"), Text(id="x"), PAGE, Retract(blocks=("x",))], False),
    (
        "again in the same turn",
        [StepStart(id="s"), *(Text(id="x"), Retract(blocks=("x",))) * 2],
        True,
    ),
    (
        "after a turn was half taken back",
        [
            *(StepStart(id="s"), Text(id="x"), Text(id="y"), Retract(blocks=("x",))),
            *(Retract(blocks=("x", "y")),),
        ],
        False,
    ),
]


@pytest.mark.parametrize(
    ("events", "whole"), [row[1:] for row in RETRACTS], ids=[row[0] for row in RETRACTS]
)
def test_retracted_content_is_removed(events: list[StreamEvent], whole: bool) -> None:
    assert [p.whole_turn for p in untimed(*events) if isinstance(p, RetractPart)][-1] is whole


# Any log


def assert_stored(message: Message) -> None:
    assert msgspec.json.decode(msgspec.json.encode(message), type=Message) == message


@given(logs())
def test_parts_survive_being_stored(log: list[LogEntry]) -> None:
    assert_stored(build_message(log, "msg_1"))


@each_recording
def test_the_parts_of_a_recording_survive_being_stored(recording: Path) -> None:
    message = build_message(recorded_log(recording), "msg_1")
    assert message.parts
    assert_stored(message)


@given(logs(), st.integers(min_value=0))
def test_a_message_may_be_looked_at_while_it_grows(log: list[LogEntry], cut: int) -> None:
    transcript = Transcript()
    for number, entry in enumerate(log, 1):
        transcript.add(entry.event, entry.ts)
        if number % (cut % 5 + 1) == 0:
            assert transcript.message("msg_1") == build_message(log[:number], "msg_1")
    assert transcript.message("msg_1") == build_message(log, "msg_1")


@given(logs())
def test_nothing_emitted_is_lost(log: list[LogEntry]) -> None:
    def said(entries: Sequence[LogEntry], *types: type[StreamEvent]) -> str:
        told: list[Any] = [e.event for e in entries if isinstance(e.event, types)]
        return "".join(e.delta if hasattr(e, "delta") else e.content for e in told)

    parts = build_message(log, "msg_1").parts
    spoken = "".join(part.text for part in parts if isinstance(part, TextPart))
    assert sorted(spoken) == sorted(said(log, Text, TextDelta))
    thought = "".join(part.text for part in parts if isinstance(part, ThinkingPart))
    assert set(said(log, Thinking, ThinkingDelta)) <= set(thought)
    assert len(said(log, Thinking, ThinkingDelta)) <= len(thought)


def test_a_block_whose_end_is_not_known_keeps_its_text_when_its_id_is_used_again() -> None:
    events = [Text(id="a", content="one"), TextDelta(id="a", delta=" and"), Text(id="a")]
    parts = build_message(numbered([Start(framework="test"), *events]), "msg_1").parts
    assert [part.text for part in parts if isinstance(part, TextPart)] == ["one and", ""]


@given(logs())
def test_a_run_that_ended_has_nothing_open(log: list[LogEntry]) -> None:
    message = build_message(log, "msg_1")
    if message.reason is not None:
        blocks = [p for p in message.parts if isinstance(p, TextPart | ThinkingPart | ToolPart)]
        assert all(part.ended for part in blocks)
        assert [p for p in message.parts if isinstance(p, ProcessingPart) and not p.ended] == []


def test_result_without_usage_makes_no_usage_part() -> None:
    assert not any(isinstance(part, UsagePart) for part in untimed(Result(text="The answer.")))


def test_end_of_a_text_with_the_id_of_status_lines_ends_the_lines() -> None:
    transcript = Transcript()
    transcript.add(Status(message="Looking"), 1)
    transcript.add(TextEnd(id="processing_1"), 2)
    (lines,) = transcript.message("m").parts
    assert isinstance(lines, ProcessingPart)
    assert lines.ended
