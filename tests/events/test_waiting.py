"""When a run waits, and what it may still say while it does."""

from __future__ import annotations

import pytest

from mobox import Recorder, StreamEvent
from mobox.events import (
    Custom,
    Done,
    Error,
    Events,
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
    TodoUpdate,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.waiting import LETS_WAIT
from mobox.lifecycle import Lifecycle
from mobox.storage.log import status_after
from support.grammar_log import legal_log

PAUSE = Paused(request_ids=("r",), resume={"at": 1})
OPEN: Events = [
    Start(framework="test"),
    StepStart(id="s"),
    Text(id="t"),
    Thinking(id="h"),
    ToolUseStart(id="agent", name="task"),
    ToolUseEnd(id="agent"),
    SubagentStart(id="agent", agent="reader"),
    ToolUseStart(id="other", name="read"),
    ToolUseStart(id="c", name="delete_file"),
    ToolUseEnd(id="c"),
    InputRequest(id="r", tool_call_id="c"),
    PAUSE,
]
"""A run that waits while a step, a text, a thought, a subagent and another call are open."""

WAITS: dict[EventType, StreamEvent] = {
    EventType.RAW: Raw(raw=1),
    EventType.RESULT: Result(num_turns=1),
    EventType.STATE: State(mode="snapshot", value=1),
    EventType.STATUS: Status(message="tidying up"),
    EventType.STEP_END: StepEnd(id="s"),
    EventType.SUBAGENT_END: SubagentEnd(id="agent", agent="reader"),
    EventType.TEXT_END: TextEnd(id="t"),
    EventType.THINKING_END: ThinkingEnd(id="h"),
    EventType.TOOL_USE_END: ToolUseEnd(id="other", input={}),
    EventType.USAGE: Usage(input=1),
}
"""Closes what was open, or reports: the run waits on, and nothing more is logged."""

WAITS_AGAIN: dict[EventType, StreamEvent] = {
    EventType.CUSTOM: Custom(name="chart"),
    EventType.FILE: File(media_type="image/png"),
    EventType.INPUT_REQUEST: InputRequest(id="q", kind="question"),
    EventType.SOURCE: Source(url="u"),
    EventType.SUBAGENT_START: SubagentStart(id="x", agent="writer"),
    EventType.TODO_CREATE: TodoCreate(),
    EventType.TODO_UPDATE: TodoUpdate(),
    EventType.TODO_DONE: TodoDone(),
    EventType.TOOL_RESULT: ToolResult(id="other"),
    EventType.RETRACT: Retract(blocks=("t",)),
}
"""Other work of the agent, which is over when it is told: PAUSED is logged again."""

RUNS_UNTIL_ENDED: dict[EventType, tuple[StreamEvent, StreamEvent]] = {
    EventType.TEXT: (Text(id="m"), TextEnd(id="m")),
    EventType.TEXT_DELTA: (TextDelta(id="t", delta="a"), TextEnd(id="t")),
    EventType.THINKING: (Thinking(id="m"), ThinkingEnd(id="m")),
    EventType.THINKING_DELTA: (ThinkingDelta(id="h", delta="a"), ThinkingEnd(id="h")),
    EventType.TOOL_USE_START: (ToolUseStart(id="n", name="read"), ToolUseEnd(id="n")),
    EventType.TOOL_USE_DELTA: (ToolUseDelta(id="other", delta="{}"), ToolUseEnd(id="other")),
}
"""Other work that is being written, and its end: the run is running in between."""

GOES_ON: dict[EventType, StreamEvent] = {
    EventType.START: Start(framework="test"),
    EventType.DONE: Done(reason="stop"),
    EventType.ERROR: Error(message="overloaded"),
    EventType.INPUT_RESPONSE: InputResponse(id="r", decision="approved"),
    EventType.STEP_START: StepStart(id="next"),
}
"""The pause is over."""

STAYS: dict[str, StreamEvent] = {
    "an error of a subagent": Error(scope=("agent",), message="overloaded"),
    "a turn of a subagent": StepStart(id="next", scope=("agent",)),
    "a task": StepStart(id="next", kind="task"),
    "a part of the result": ToolResult(id="c", partial=True),
}
"""Looks like the end of the pause, and is none: PAUSED is logged again."""


def waiting() -> Lifecycle:
    lifecycle = Lifecycle()
    lifecycle.feed_all(OPEN)
    assert lifecycle.waiting
    return lifecycle


def read(lifecycle: Lifecycle, event: StreamEvent) -> Events:
    """What is logged of a line that says `event`."""
    return lifecycle.feed(event) + lifecycle.pause_again()


def test_every_type_of_event_has_its_row() -> None:
    rows = [*WAITS, *WAITS_AGAIN, *RUNS_UNTIL_ENDED, *GOES_ON, EventType.PAUSED]
    assert sorted(rows) == sorted(EventType)
    assert WAITS.keys() == LETS_WAIT


@pytest.mark.parametrize("event", WAITS.values(), ids=WAITS)
def test_closing_and_reporting_events_keep_a_run_waiting(event: StreamEvent) -> None:
    lifecycle = waiting()
    assert read(lifecycle, event) == [event]
    assert lifecycle.waiting
    assert status_after("waiting", [event]) == "waiting"
    assert lifecycle.close() == []


@pytest.mark.parametrize("event", [*WAITS_AGAIN.values(), *STAYS.values()], ids=repr)
def test_other_work_is_followed_by_the_pause(event: StreamEvent) -> None:
    lifecycle = waiting()
    logged = read(lifecycle, event)
    assert (logged[-1], lifecycle.waiting) == (PAUSE, True)
    assert event in logged[:-1]
    assert status_after("waiting", logged) == "waiting"


@pytest.mark.parametrize(("begun", "ended"), RUNS_UNTIL_ENDED.values(), ids=RUNS_UNTIL_ENDED)
def test_a_run_is_running_while_other_work_is_written(
    begun: StreamEvent, ended: StreamEvent
) -> None:
    lifecycle = waiting()
    assert read(lifecycle, begun) == [begun]
    assert not lifecycle.waiting
    assert status_after("waiting", [begun]) == "running"
    assert read(lifecycle, ended) == [ended, PAUSE]
    assert lifecycle.waiting


@pytest.mark.parametrize("words", [TextDelta(delta="So"), ThinkingDelta(delta="Hm")], ids=repr)
@pytest.mark.parametrize("event", [Status(message="Reading"), Custom(name="x")], ids=repr)
def test_a_run_waits_again_when_something_else_ends_a_block_without_a_name(
    words: StreamEvent, event: StreamEvent
) -> None:
    lifecycle = waiting()
    assert read(lifecycle, words)[-1] != PAUSE
    assert read(lifecycle, event)[1:] == [event, PAUSE]


@pytest.mark.parametrize("event", GOES_ON.values(), ids=GOES_ON)
def test_a_pause_that_is_over_stays_over(event: StreamEvent) -> None:
    lifecycle = waiting()
    assert Paused not in map(type, read(lifecycle, event))
    assert not lifecycle.waiting
    assert Paused not in map(type, read(lifecycle, Custom(name="more")))


@pytest.mark.parametrize("call", ["c", "agent"])
def test_a_pause_is_over_when_the_call_has_a_result_or_one_around_it(call: str) -> None:
    lifecycle = Lifecycle()
    within = [ToolUseStart(id="c", scope=("agent",), name="rm"), ToolUseEnd(id="c")]
    lifecycle.feed_all([*OPEN[:7], *within, *OPEN[-2:]])
    assert lifecycle.waiting
    result = ToolResult(id=call)
    assert read(lifecycle, result) == [result]
    assert not lifecycle.waiting


def test_one_answer_of_several_leaves_the_others_open() -> None:
    lifecycle = waiting()
    both = Paused(request_ids=("r", "q"))
    lifecycle.feed_all([InputRequest(id="q", kind="question"), both])
    answer = InputResponse(id="r", decision="cancelled")
    assert read(lifecycle, answer) == [answer, Paused(request_ids=("q",))]
    assert read(lifecycle, InputResponse(id="q", decision="answered"))[1:] == []


def test_pause_for_an_unknown_request_ends_with_the_next_event() -> None:
    lifecycle = Lifecycle()
    lifecycle.feed(Paused(request_ids=("nobody",)))
    word = Custom(name="more")
    assert read(lifecycle, word) == [word]
    assert not lifecycle.waiting


def test_a_run_whose_input_ends_amid_other_work_waits() -> None:
    lifecycle = waiting()
    lifecycle.feed(TextDelta(id="t", delta="While I wait"))
    assert lifecycle.pause_again(at_end=True) == [PAUSE]
    assert lifecycle.close() == []
    more = TextDelta(id="t", delta=", more.")
    assert lifecycle.feed(more) == [more]
    assert not lifecycle.waiting


LINES = b"""\
{"type":"start","data":{}}
{"type":"step_start","data":{"id":"s1","name":"turn","kind":"turn"}}
{"type":"tool_use","data":{"id":"t1","name":"delete_file","input":{"path":"a.txt"}}}
{"type":"input_request","data":{"id":"r1","kind":"approval","tool_call_id":"t1","prompt":"May I?"}}
{"type":"paused","data":{"request_ids":["r1"]}}
"""
STEP_END = b'{"type":"step_end","data":{"id":"s1"}}\n'
SECOND_CALL = b'{"type":"tool_use","data":{"id":"t2","name":"read_file","input":{}}}\n'


@pytest.mark.parametrize("after", [STEP_END, SECOND_CALL, SECOND_CALL + STEP_END])
def test_message_with_open_request_ends_waiting(after: bytes) -> None:
    recorder = Recorder("emitted")
    log = [entry.event for entry in recorder.read(LINES + after) + recorder.close()]
    legal_log(log)
    assert not any(isinstance(event, Done) for event in log)
    assert status_after("running", log) == "waiting"
