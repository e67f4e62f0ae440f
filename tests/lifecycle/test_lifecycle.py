"""The rules of a log, one by one; test_lifecycle_properties.py has those that hold for any run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mobox.errors import ProtocolError
from mobox.events import (
    AGENT_STARTED,
    Custom,
    Done,
    DoneReason,
    Error,
    EventType,
    File,
    InputRequest,
    InputResponse,
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
    TodoUpdate,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.blocks import BETWEEN_THOUGHTS
from mobox.lifecycle import Lifecycle
from support.grammar_log import legal_log
from support.strategies import Events, log_of

START = Start(framework="test")
STOP = Done(reason="stop")
LOST = Done(reason="lost")


# Rule 1: START first, DONE last


def test_silent_run_has_a_start_and_an_end() -> None:
    assert log_of([]) == [START, Done(reason="truncated")]


def test_the_frameworks_own_start_is_kept() -> None:
    start = Start(framework="claude", model="m")
    assert log_of([start, STOP]) == [start, STOP]


def test_start_of_a_configured_agent_is_emitted_as_its_own() -> None:
    run, setup = Start(framework="claude", agent="cook"), Status(message="Preparing")
    agent = Start(framework="claude", model="m", session_id="s", provider={"v": {"a": 1}})
    told = Custom(
        id=AGENT_STARTED,
        name=AGENT_STARTED,
        value={"framework": "claude", "model": "m", "session_id": "s"},
        provider={"v": {"a": 1}},
    )
    log = log_of([run, setup, agent, STOP])
    assert log == [run, setup, told, STOP]
    legal_log(log)


def test_late_start_is_custom() -> None:
    late = Start(framework="test", model="m")
    assert [entry.type for entry in log_of([Status(message="up"), late])] == [
        EventType.START,
        EventType.STATUS,
        EventType.CUSTOM,
        EventType.DONE,
    ]


def test_an_agent_that_starts_again_waits_no_more() -> None:
    lifecycle = Lifecycle("test")
    lifecycle.feed(Paused(request_ids=("ask",)))
    lifecycle.feed(START)
    assert not lifecycle.waiting


def test_a_done_on_the_way_is_only_a_proposal_and_the_last_one_counts() -> None:
    usage = Usage(input=1)
    assert log_of([Done(reason="tool"), usage, Done(reason="length")]) == [
        START,
        usage,
        Done(reason="length"),
    ]


FAILED = Error(message="overloaded")
SAID = TextDelta(id="m", delta="a")
CALLED = ToolUseStart(id="c", name="search")
SPAWNED = SubagentStart(id="s", agent="a")
TOOL = Done(reason="tool")
CUT = Done(reason="length")

REASONS: dict[str, tuple[Events, Done | None, DoneReason]] = {
    "nothing proposed is truncated": ([SAID], None, "truncated"),
    "the agent's own word": ([SAID, STOP], None, "stop"),
    "the agent's own word for less": ([SAID, Done(reason="length")], None, "length"),
    "an error last is an error": ([SAID, FAILED], None, "error"),
    "an error before the end is an error": ([SAID, FAILED, STOP], None, "error"),
    "tokens after an error are no speech": ([FAILED, Usage(input=1), STOP], None, "error"),
    "an error that was overcome": ([FAILED, SAID, STOP], None, "stop"),
    "an error overcome by a delta": ([SAID, FAILED, SAID, STOP], None, "stop"),
    "an error overcome, no end": ([FAILED, SAID], None, "truncated"),
    "an error overcome by a call": ([FAILED, CALLED, STOP], None, "stop"),
    "an interruption overcomes nothing": (
        [CALLED, FAILED, Retract(blocks=("c",)), STOP],
        None,
        "error",
    ),
    "an error after the agent's own word": ([SAID, STOP, FAILED], None, "error"),
    "an error after a call was handed over": ([CALLED, TOOL, FAILED], None, "error"),
    "an error before a call is handed over": ([CALLED, FAILED, TOOL], None, "error"),
    "an error after a message that was cut": ([CUT, FAILED], None, "error"),
    "an end that explains an error": ([FAILED, CUT], None, "length"),
    "an end that explained another error": ([FAILED, CUT, FAILED], None, "error"),
    "an end that explained an error that was overcome": ([FAILED, CUT, SAID], None, "length"),
    "an error overcome by a file": ([FAILED, File(media_type="a/b"), STOP], None, "stop"),
    "an error overcome by an agent": ([FAILED, SPAWNED, STOP], None, "stop"),
    "an error overcome by a plan": ([FAILED, TodoUpdate(), STOP], None, "stop"),
    "an error overcome by a question": ([FAILED, InputRequest(id="q"), STOP], None, "stop"),
    "statistics after an error": ([FAILED, Result(text="a"), STOP], None, "error"),
    "the end of a step after an error": (
        [StepStart(id="s"), FAILED, StepEnd(id="s"), STOP],
        None,
        "error",
    ),
    "only success gives way to an error": ([FAILED, Done(reason="refusal")], None, "refusal"),
    "the supervisor overrules nothing": ([SAID], Done(reason="cancelled"), "cancelled"),
    "the supervisor overrules a stop": ([SAID, STOP], Done(reason="cancelled"), "cancelled"),
    "the supervisor overrules an error": ([FAILED], Done(reason="interrupted"), "interrupted"),
    "the supervisor overrules a pause": ([Paused(request_ids=())], LOST, "lost"),
    "an end after a pause is an end": ([Paused(request_ids=()), STOP], None, "stop"),
    "a turn that breaks off after an end": ([STOP, StepStart(id="s")], None, "truncated"),
    "a turn that ends after an end": (
        [STOP, StepStart(id="s"), Done(reason="length")],
        None,
        "length",
    ),
    "a subagent's turn after an end": ([STOP, StepStart(id="s", scope=("a",))], None, "stop"),
    "a task after an end": ([STOP, StepStart(id="s", kind="task")], None, "stop"),
}


@pytest.mark.parametrize(("said", "done", "reason"), REASONS.values(), ids=REASONS)
def test_the_reason_is_who_had_the_last_word(
    said: Events, done: Done | None, reason: DoneReason
) -> None:
    last = log_of(said, done)[-1]
    assert isinstance(last, Done)
    assert last.reason == reason


def test_an_error_keeps_the_providers_own_word() -> None:
    proposal = Done(reason="stop", native="end_turn")
    assert log_of([FAILED, proposal])[-1] == Done(reason="error", native="end_turn")


LAST_WORDS: dict[str, tuple[Events, Events, DoneReason]] = {
    "how the last message ended": ([SAID], [CUT], "length"),
    "an error after that message": ([SAID, FAILED], [CUT], "error"),
    "an end that explains the error": ([SAID, FAILED, CUT], [STOP], "length"),
    "an end that a person brought about": ([FAILED], [Done(reason="cancelled")], "cancelled"),
    "an answer that was held back": ([SAID], [Text(id="n", content="a"), STOP], "stop"),
    "such an answer after an error": ([FAILED], [Text(id="n", content="a"), STOP], "error"),
    "a question after an error": ([FAILED], [Paused(request_ids=("q",))], "error"),
    "an end after a question": ([Paused(request_ids=("q",))], [STOP], "stop"),
}


@pytest.mark.parametrize(("said", "last", "reason"), LAST_WORDS.values(), ids=LAST_WORDS)
def test_parser_events_at_the_end_are_no_new_work(
    said: Events, last: Events, reason: DoneReason
) -> None:
    lifecycle = Lifecycle("test")
    lifecycle.feed_all(said)
    lifecycle.feed_last(last)
    end = lifecycle.close()[-1]
    assert isinstance(end, Done)
    assert end.reason == reason


def test_a_question_at_the_end_is_one() -> None:
    lifecycle = Lifecycle("test")
    lifecycle.feed_last([SAID, Paused(request_ids=("q",))])
    assert lifecycle.waiting


def test_another_process_goes_on_after_what_was_added_at_the_end() -> None:
    lifecycle = Lifecycle("test")
    lifecycle.feed(FAILED)
    lifecycle.feed_last([TextDelta(id="n", delta="a")])
    lifecycle.feed_all([TextDelta(id="n", delta="b"), STOP])
    assert lifecycle.close()[-1] == STOP


def test_a_run_that_ends_waiting_stays_open() -> None:
    lifecycle = Lifecycle("test")
    lifecycle.feed(TextDelta(delta="May I?"))
    lifecycle.feed(Paused(request_ids=("ask",)))
    assert lifecycle.waiting
    assert lifecycle.close() == []
    assert not lifecycle.ended


def test_waiting_is_sent_once_until_a_new_event_or_request() -> None:
    lifecycle = Lifecycle("test")
    pause, more = Paused(request_ids=("ask",), resume={"at": 1}), Usage(input=1)
    assert lifecycle.feed(pause)[-1:] == [pause]
    assert lifecycle.feed_all([more, pause, Paused(request_ids=("ask",))]) == [more]
    assert lifecycle.waiting
    for other in (Paused(request_ids=("ask", "too")), pause, Paused(request_ids=("ask",))):
        lifecycle.feed(InputResponse(id="ask", decision="approved"))
        assert lifecycle.feed(other) == [other]
    assert lifecycle.feed(pause) == [pause]


def test_a_run_that_waited_goes_on() -> None:
    lifecycle = Lifecycle("test")
    lifecycle.feed(TextDelta(delta="May I?"))
    lifecycle.feed(Paused(request_ids=("ask",)))
    yes = InputResponse(id="ask", decision="approved")
    assert lifecycle.feed(yes) == [yes]
    assert lifecycle.feed(TextDelta(delta="!")) == [TextDelta(id="text_1", delta="!")]
    assert not lifecycle.waiting


def test_a_delta_ends_the_wait_too() -> None:
    lifecycle = Lifecycle()
    lifecycle.feed(SAID)
    lifecycle.feed(Paused(request_ids=()))
    lifecycle.feed(SAID)
    assert not lifecycle.waiting


def test_a_run_ends_once() -> None:
    lifecycle = Lifecycle()
    assert lifecycle.close()
    assert lifecycle.ended
    assert lifecycle.close(LOST) == []


@pytest.mark.parametrize("late", [SAID, STOP, START, Status(message="late")])
def test_nothing_can_be_emitted_after_the_end(late: StreamEvent) -> None:
    lifecycle = Lifecycle()
    lifecycle.feed(SAID)
    lifecycle.close()
    with pytest.raises(ProtocolError, match=f"{late.type} after DONE"):
        lifecycle.feed(late)


# The other rules, each as what is said and what is logged of it between START and DONE(stop)

THINK = Thinking(id="thinking_1", content="a")
WHOLE = Thinking(content="w", source="think")
NOTE = SubagentStart(id="c", agent="researcher")

LOGGED: dict[str, tuple[Events, Events]] = {
    # Rule 2: blocks
    "a text without a name gets one and ends": (
        [Text(content="a")],
        [Text(id="text_1", content="a"), TextEnd(id="text_1")],
    ),
    "a delta without a block opens one": (
        [TextDelta(delta="a", scope=("c",))],
        [
            Text(id="text_1", scope=("c",)),
            TextDelta(id="text_1", scope=("c",), delta="a"),
            TextEnd(id="text_1", scope=("c",)),
        ],
    ),
    "texts without a name are one block": (
        [Text(content="a"), Text(content="b", provider={"v": 1})],
        [
            Text(id="text_1", content="a"),
            TextDelta(id="text_1", delta="b", provider={"v": 1}),
            TextEnd(id="text_1"),
        ],
    ),
    "what the model thinks without a name is joined as it comes": (
        [Thinking(content="a"), ThinkingDelta(delta="b"), Thinking(content="c"), Thinking()],
        [
            THINK,
            ThinkingDelta(id="thinking_1", delta="b"),
            ThinkingDelta(id="thinking_1", delta="c"),
            ThinkingDelta(id="thinking_1", delta=""),
            ThinkingEnd(id="thinking_1"),
        ],
    ),
    "whole thoughts without a name are paragraphs of one block": (
        [
            WHOLE,
            WHOLE,
            Thinking(source="think"),
            Thinking(content="a"),
            Thinking(content="b"),
            WHOLE,
        ],
        [
            replace(WHOLE, id="thinking_1"),
            ThinkingDelta(id="thinking_1", delta=BETWEEN_THOUGHTS + "w"),
            ThinkingDelta(id="thinking_1", delta=""),
            ThinkingDelta(id="thinking_1", delta=BETWEEN_THOUGHTS + "a"),
            ThinkingDelta(id="thinking_1", delta="b"),
            ThinkingDelta(id="thinking_1", delta=BETWEEN_THOUGHTS + "w"),
            ThinkingEnd(id="thinking_1"),
        ],
    ),
    "what the model thinks after a note on a subagent is a paragraph": (
        [
            *(NOTE, ThinkingDelta(delta="a"), ThinkingDelta(delta="b")),
            *(SubagentEnd(id="c"), ThinkingDelta(delta=""), Thinking(content="c")),
        ],
        [
            NOTE,
            Thinking(id="thinking_1"),
            ThinkingDelta(id="thinking_1", delta=BETWEEN_THOUGHTS + "a"),
            ThinkingDelta(id="thinking_1", delta="b"),
            SubagentEnd(id="c", agent="researcher"),
            ThinkingDelta(id="thinking_1", delta=""),
            ThinkingDelta(id="thinking_1", delta=BETWEEN_THOUGHTS + "c"),
            ThinkingEnd(id="thinking_1"),
        ],
    ),
    "a text without a name ends where a thought begins": (
        [TextDelta(delta="a"), Thinking(content="a"), Text(content="b")],
        [
            Text(id="text_1"),
            TextDelta(id="text_1", delta="a"),
            TextEnd(id="text_1"),
            THINK,
            ThinkingEnd(id="thinking_1"),
            Text(id="text_2", content="b"),
            TextEnd(id="text_2"),
        ],
    ),
    "a status line ends a thought, and is no block of the log": (
        [Thinking(content="a"), Status(message="up"), Thinking(content="b")],
        [
            THINK,
            ThinkingEnd(id="thinking_1"),
            Status(message="up"),
            Thinking(id="thinking_2", content="b"),
            ThinkingEnd(id="thinking_2"),
        ],
    ),
    "a thought takes the block that a note on a subagent opened": (
        [NOTE, Thinking(content="a"), SubagentEnd(id="c")],
        [NOTE, THINK, SubagentEnd(id="c", agent="researcher"), ThinkingEnd(id="thinking_1")],
    ),
    "an end without a name ends the block without a name": (
        [Text(content="a"), TextEnd(), TextDelta(delta="b")],
        [
            Text(id="text_1", content="a"),
            TextEnd(id="text_1"),
            Text(id="text_2"),
            TextDelta(id="text_2", delta="b"),
            TextEnd(id="text_2"),
        ],
    ),
    "an end keeps its signature": (
        [Thinking(content="a"), ThinkingEnd(provider={"v": "s"})],
        [THINK, ThinkingEnd(id="thinking_1", provider={"v": "s"})],
    ),
    "blocks with names interleave": (
        [Text(id="m"), Thinking(id="n"), TextDelta(id="m", delta="a"), ThinkingEnd(id="n")],
        [
            Text(id="m"),
            Thinking(id="n"),
            TextDelta(id="m", delta="a"),
            ThinkingEnd(id="n"),
            TextEnd(id="m"),
        ],
    ),
    "a delta that names no block opens it, and ends ours": (
        [Text(content="a"), ThinkingDelta(id="n", delta="b")],
        [
            Text(id="text_1", content="a"),
            TextEnd(id="text_1"),
            Thinking(id="n"),
            ThinkingDelta(id="n", delta="b"),
            ThinkingEnd(id="n"),
        ],
    ),
    "a block that opens again has ended first": (
        [Text(id="m", content="a"), Text(id="m", content="b")],
        [Text(id="m", content="a"), TextEnd(id="m"), Text(id="m", content="b"), TextEnd(id="m")],
    ),
    "a delta of the other kind is another block": (
        [Text(id="m", content="a"), ThinkingDelta(id="m", delta="b")],
        [
            Text(id="m", content="a"),
            TextEnd(id="m"),
            Thinking(id="m"),
            ThinkingDelta(id="m", delta="b"),
            ThinkingEnd(id="m"),
        ],
    ),
    "a name that is no name is none": (
        [Text(id="", content="a")],
        [Text(id="text_1", content="a"), TextEnd(id="text_1")],
    ),
    # Steps and subagents
    "a step without a name gets one, and the last that is open ends first": (
        [StepStart(), StepStart(id="s"), StepEnd(), StepEnd(reason="tool")],
        [
            StepStart(id="step_1"),
            StepStart(id="s"),
            StepEnd(id="s"),
            StepEnd(id="step_1", reason="tool"),
        ],
    ),
    "a step that starts again has ended first": (
        [StepStart(id="s"), StepStart(id="s", number=2), StepEnd(id="s")],
        [StepStart(id="s"), StepEnd(id="s"), StepStart(id="s", number=2), StepEnd(id="s")],
    ),
    "a subagent without a name gets one": (
        [SubagentStart(agent="r"), SubagentEnd()],
        [
            SubagentStart(id="subagent_1", agent="r"),
            SubagentEnd(id="subagent_1", agent="r"),
        ],
    ),
    "a step and a subagent of one name are two": (
        [StepStart(id="c"), NOTE, StepEnd(id="c"), SubagentEnd(id="c")],
        [StepStart(id="c"), NOTE, StepEnd(id="c"), SubagentEnd(id="c", agent="researcher")],
    ),
    "what is inside ends before what is around it": (
        [StepStart(id="s"), CALLED, NOTE, Text(id="m", scope=("c",))],
        [
            StepStart(id="s"),
            CALLED,
            NOTE,
            Text(id="m", scope=("c",)),
            TextEnd(id="m", scope=("c",)),
            ToolUseEnd(id="c"),
            ToolResult(id="c", status="interrupted"),
            SubagentEnd(id="c", agent="researcher", status="interrupted"),
            StepEnd(id="s", status="interrupted"),
        ],
    ),
    "a request without a name gets one": (
        [InputRequest(kind="question"), InputRequest(kind="question")],
        [
            InputRequest(id="request_1", kind="question"),
            InputRequest(id="request_2", kind="question"),
        ],
    ),
    "what was never said, or is retracted already, cannot be": (
        [Text(id="a"), *2 * [Retract(blocks=("a", "b"))]],
        [
            Text(id="a"),
            TextEnd(id="a", interrupted=True),
            Retract(blocks=("a",)),
            Raw(raw={"type": "retract", "blocks": ["a", "b"]}, source="stray retract"),
        ],
    ),
    "what is retracted ends, and begins again as ours": (
        [Text(content="a"), Retract(blocks=("text_1", "other")), Text(content="a")],
        [
            Text(id="text_1", content="a"),
            TextEnd(id="text_1", interrupted=True),
            Retract(blocks=("text_1",)),
            Text(id="text_2", content="a"),
            TextEnd(id="text_2"),
        ],
    ),
    "what is sent again under the id that is hidden gets another": (
        [
            *(Text(id="m"), Retract(blocks=("m",)), Text(id="m"), TextDelta(id="m", delta="a")),
            *(Source(id="m", url="u"), Retract(blocks=("m",)), Text(id="m"), TextEnd(id="m")),
        ],
        [
            *(Text(id="m"), TextEnd(id="m", interrupted=True), Retract(blocks=("m",))),
            *(Text(id="m_1"), TextDelta(id="m_1", delta="a"), Source(id="m_1", url="u")),
            *(TextEnd(id="m_1", interrupted=True), Retract(blocks=("m_1",))),
            *(Text(id="m_2"), TextEnd(id="m_2")),
        ],
    ),
    "so does more of what is hidden": (
        [Thinking(id="m"), Retract(blocks=("m",)), *2 * [ThinkingDelta(id="m", delta="a")]],
        [
            *(Thinking(id="m"), ThinkingEnd(id="m"), Retract(blocks=("m",))),
            *(Thinking(id="m_1"), *2 * [ThinkingDelta(id="m_1", delta="a")]),
            ThinkingEnd(id="m_1"),
        ],
    ),
}


@pytest.mark.parametrize(("said", "logged"), LOGGED.values(), ids=LOGGED)
def test_emitted_events_are_logged_by_the_rules(said: Events, logged: Events) -> None:
    log = log_of([START, *said, STOP])
    assert log == [START, *logged, STOP]
    legal_log(log)


# Rule 4: what cannot be placed

STRAYS: dict[str, Events] = {
    "an end of no text": [TextEnd(id="m")],
    "an end of the other kind": [Text(id="m"), ThinkingEnd(id="m")],
    "a second end": [Text(id="m"), TextEnd(id="m"), TextEnd(id="m")],
    "an end without a name, where no block is open": [Text(id="m"), TextEnd()],
    "an end without a name of the other kind": [Text(), ThinkingEnd()],
    "the end of a block that is only a note": [NOTE, ThinkingEnd()],
    "an end of no step": [StepEnd(id="s")],
    "an end of no step at all": [StepEnd()],
    "an end of no subagent": [StepStart(id="s"), SubagentEnd(id="s")],
}


@pytest.mark.parametrize("said", STRAYS.values(), ids=STRAYS)
def test_unplaceable_content_is_raw(said: Events) -> None:
    lifecycle = Lifecycle()
    *before, stray = said
    for event in before:
        lifecycle.feed(event)
    (raw,) = lifecycle.feed(stray)[-1:]
    assert isinstance(raw, Raw)
    assert raw.source == f"stray {stray.type}"
    assert StreamEvent.of(raw.raw.pop("type"), raw.raw) == stray


def test_unplaceable_content_ends_no_block() -> None:
    lifecycle = Lifecycle()
    lifecycle.feed(TextDelta(delta="a"))
    lifecycle.feed(SubagentEnd(id="c"))
    assert lifecycle.feed(TextDelta(delta="b")) == [TextDelta(id="text_1", delta="b")]


# The end


@pytest.mark.parametrize(
    ("reason", "interrupted"),
    [("stop", False), ("length", False), ("cancelled", True), ("lost", True), ("truncated", True)],
)
def test_a_text_is_interrupted_unless_the_agent_ended_itself(
    reason: DoneReason, interrupted: bool
) -> None:
    done = Done(reason=reason)
    assert log_of([Text(id="m"), TextDelta(delta="a")], done)[-3:] == [
        TextEnd(id="m", interrupted=interrupted),
        TextEnd(id="text_1", interrupted=interrupted),
        done,
    ]


# Texts that name a call whose id was used again

PLACED = '<<{"tool_call_id":"q"}>>'


def call_of(name: str) -> Events:
    return [ToolUseStart(id=name, name="query"), ToolUseEnd(id=name), ToolResult(id=name)]


def texts_of(log: Events) -> list[str]:
    said = {event.id: "" for event in log if isinstance(event, Text)}
    for event in log:
        if isinstance(event, Text):
            said[event.id] += event.content
        elif isinstance(event, TextDelta):
            said[event.id] += event.delta
    return list(said.values())


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("size", [1, 5, 100])
@pytest.mark.parametrize("name", [None, "block"])
def test_a_placeholder_names_the_latest_call_of_its_id(
    name: str | None, size: int, at_once: bool
) -> None:
    text = f"a {PLACED} b <"
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    said: Events = []
    for number in (1, 2):
        block = name and f"{name}{number}"
        said += [*call_of("q"), *(TextDelta(id=block, delta=piece) for piece in pieces)]
        said += [TextDelta(id=block, delta=""), TextEnd(id=block)]
    lifecycle = Lifecycle("test")
    log = lifecycle.feed_all(said) if at_once else [e for s in said for e in lifecycle.feed(s)]
    log += lifecycle.close(Done(reason="stop"))
    legal_log(log)
    calls = [event.id for event in log if isinstance(event, ToolUseStart)]
    assert calls[0] == "q"
    assert texts_of(log) == [text, text.replace('"q"', f'"{calls[1]}"')]
    again = Lifecycle("test")
    assert again.feed_all(log) + again.close(Done(reason="stop")) == log


def test_a_text_that_was_whole_and_one_that_is_cut_off_follow_their_call_too() -> None:
    said = [*call_of("q"), *call_of("q"), Text(id="a", content=PLACED), Text(id="b", content="<<{")]
    lifecycle = Lifecycle("test")
    log = lifecycle.feed_all(said) + lifecycle.close()
    assert texts_of(log) == [PLACED.replace('"q"', '"q_1"'), "<<{"]


# What a supervisor asks


def fed(*events: StreamEvent) -> Lifecycle:
    lifecycle = Lifecycle("test")
    for event in (START, *events):
        lifecycle.feed(event)
    return lifecycle


WORKING: list[tuple[tuple[StreamEvent, ...], bool]] = [
    ((), False),
    ((STOP,), True),
    ((SubagentStart(id="a", agent="helper"), STOP), False),
    ((SubagentStart(id="a", agent="helper"), SubagentEnd(id="a"), STOP), True),
    ((ToolUseStart(id="c", name="look"), ToolUseEnd(id="c", input={}), STOP), False),
    ((ToolUseStart(id="c", name="look"), ToolUseEnd(id="c", input={}), Done(reason="tool")), True),
]


@pytest.mark.parametrize(("events", "may_end"), WORKING)
def test_a_proposed_end_waits_for_subagents_and_calls(
    events: tuple[StreamEvent, ...], may_end: bool
) -> None:
    assert fed(*events).may_end is may_end


def test_a_run_with_an_open_request_may_pause_again() -> None:
    helper = SubagentStart(id="a", agent="helper")
    asked = (helper, InputRequest(id="r", kind="question", prompt="Which?"))
    paused = Paused(request_ids=("r",))
    assert not fed(*asked).may_pause_again
    assert not fed(*asked, paused).may_pause_again
    assert fed(*asked, paused, TextDelta(id="t", scope=("a",), delta="Still")).may_pause_again
