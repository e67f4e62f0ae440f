"""Tool calls in the log: START, input, END, results, whatever the framework left out."""

from __future__ import annotations

import pytest

from mobox.events import (
    Done,
    DoneReason,
    InputRequest,
    Raw,
    Retract,
    Source,
    Start,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextEnd,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.lifecycle import Lifecycle
from support.grammar_log import legal_log
from support.strategies import Events, log_of

START = Start(framework="test")
STOP = Done(reason="stop")
CALLED = ToolUseStart(id="c", name="search")
NOTE = SubagentStart(id="c", agent="researcher")

# What is said, and what is logged of it between START and DONE(stop).
LOGGED: dict[str, tuple[Events, Events]] = {
    "a call is told in its order": (
        [
            ToolUseStart(id="c", name="f"),
            ToolUseDelta(id="c", delta="{}"),
            ToolUseEnd(id="c", input={}),
            ToolResult(id="c", output=1, partial=True),
            ToolResult(id="c", output=2),
        ],
        [
            ToolUseStart(id="c", name="f"),
            ToolUseDelta(id="c", delta="{}"),
            ToolUseEnd(id="c", input={}),
            ToolResult(id="c", output=1, partial=True),
            ToolResult(id="c", output=2),
        ],
    ),
    "a call without a name gets one, and what follows is about it": (
        [
            ToolUseStart(name="f"),
            ToolUseDelta(delta="{}"),
            ToolUseEnd(input={}),
            ToolResult(output=2),
        ],
        [
            ToolUseStart(id="call_1", name="f"),
            ToolUseDelta(id="call_1", delta="{}"),
            ToolUseEnd(id="call_1", input={}),
            ToolResult(id="call_1", output=2),
        ],
    ),
    "a name that the framework uses itself is not given": (
        [CALLED, ToolResult(id="c"), ToolUseStart(id="call_1", name="f"), ToolUseStart(name="g")],
        [
            CALLED,
            ToolUseEnd(id="c"),
            ToolResult(id="c"),
            ToolUseStart(id="call_1", name="f"),
            ToolUseStart(id="call_2", name="g"),
            ToolUseEnd(id="call_1"),
            ToolResult(id="call_1", status="interrupted"),
            ToolUseEnd(id="call_2"),
            ToolResult(id="call_2", status="interrupted"),
        ],
    ),
    "a result that nobody asked for starts its call, which ends our text": (
        [Text(content="a"), ToolResult(id="c", scope=("t",), output=1)],
        [
            Text(id="text_1", content="a"),
            TextEnd(id="text_1"),
            ToolUseStart(id="c", scope=("t",), name="unknown"),
            ToolUseEnd(id="c", scope=("t",)),
            ToolResult(id="c", scope=("t",), output=1),
        ],
    ),
    "a result ends the input, which is what was streamed": (
        [CALLED, ToolUseDelta(id="c", delta='{"q":1}'), ToolResult(id="c")],
        [
            CALLED,
            ToolUseDelta(id="c", delta='{"q":1}'),
            ToolUseEnd(id="c", input={"q": 1}),
            ToolResult(id="c"),
        ],
    ),
    "an input that broke off is invalid, and the call interrupted": (
        [CALLED, ToolUseDelta(id="c", delta='{"q"')],
        [
            CALLED,
            ToolUseDelta(id="c", delta='{"q"'),
            ToolUseEnd(id="c", invalid='{"q"'),
            ToolResult(id="c", status="interrupted"),
        ],
    ),
    "an input that came with the start is the input": (
        [ToolUseStart(id="c", name="f", input=[1]), ToolUseDelta(id="c", delta="[")],
        [
            ToolUseStart(id="c", name="f", input=[1]),
            ToolUseDelta(id="c", delta="["),
            ToolUseEnd(id="c", input=[1]),
            ToolResult(id="c", status="interrupted"),
        ],
    ),
    "an id that is used again becomes another, for all that is about it": (
        [
            CALLED,
            ToolResult(id="c", output=1),
            CALLED,
            NOTE,
            Text(id="c", scope=("c",), content="a"),
            Source(id="c", url="u"),
            InputRequest(id="ask", tool_call_id="c"),
            ToolResult(id="c", output=2),
            Retract(blocks=("c", "m")),
        ],
        [
            CALLED,
            ToolUseEnd(id="c"),
            ToolResult(id="c", output=1),
            ToolUseStart(id="c_1", name="search"),
            SubagentStart(id="c_1", agent="researcher"),
            Text(id="c", scope=("c_1",), content="a"),
            Source(id="c_1", url="u"),
            ToolUseEnd(id="c_1"),
            InputRequest(id="ask", tool_call_id="c_1"),
            ToolResult(id="c_1", output=2),
            Raw(raw={"type": "retract", "blocks": ["c", "m"]}, source="stray retract"),
            TextEnd(id="c", scope=("c_1",)),
            SubagentEnd(id="c_1", agent="researcher", status="interrupted"),
        ],
    ),
    "a second result is a result": (
        [CALLED, ToolResult(id="c", output=1), ToolResult(id="c", output=2)],
        [CALLED, ToolUseEnd(id="c"), ToolResult(id="c", output=1), ToolResult(id="c", output=2)],
    ),
    "a person is asked about a call that is complete": (
        [CALLED, InputRequest(id="ask", tool_call_id="c"), ToolResult(id="c", status="denied")],
        [
            CALLED,
            ToolUseEnd(id="c"),
            InputRequest(id="ask", tool_call_id="c"),
            ToolResult(id="c", status="denied"),
        ],
    ),
    "a person is asked about a call that is known": (
        [InputRequest(id="ask", tool_call_id="c"), ToolResult(id="c")],
        [
            ToolUseStart(id="c", name="unknown"),
            ToolUseEnd(id="c"),
            InputRequest(id="ask", tool_call_id="c"),
            ToolResult(id="c"),
        ],
    ),
    "a call that is retracted is interrupted, one with a result stays": (
        [CALLED, ToolResult(id="b"), Retract(blocks=("b", "c"), reason="retry")],
        [
            CALLED,
            ToolUseStart(id="b", name="unknown"),
            ToolUseEnd(id="b"),
            ToolResult(id="b"),
            ToolUseEnd(id="c"),
            ToolResult(id="c", status="interrupted"),
            Retract(blocks=("c",), reason="retry"),
        ],
    ),
}


@pytest.mark.parametrize(("said", "logged"), LOGGED.values(), ids=LOGGED)
def test_calls_are_logged_by_the_rules(said: Events, logged: Events) -> None:
    log = log_of([START, *said, STOP])
    assert log == [START, *logged, STOP]
    legal_log(log)


STRAYS: dict[str, Events] = {
    "a call that starts twice": [CALLED, CALLED],
    "input after its end": [CALLED, ToolUseEnd(id="c"), ToolUseDelta(id="c", delta="{")],
    "a second end of the input": [CALLED, ToolUseEnd(id="c"), ToolUseEnd(id="c")],
}


@pytest.mark.parametrize("said", STRAYS.values(), ids=STRAYS)
def test_unplaceable_part_of_a_call_is_raw(said: Events) -> None:
    *before, stray = said
    lifecycle = Lifecycle()
    for event in before:
        lifecycle.feed(event)
    (raw,) = lifecycle.feed(stray)
    assert isinstance(raw, Raw)
    assert raw.source == f"stray {stray.type}"
    assert StreamEvent.of(raw.raw.pop("type"), raw.raw) == stray


COMPLETE: Events = [CALLED, ToolUseEnd(id="c", input={})]
SERVERS: Events = [ToolUseStart(id="c", name="f", server=True), ToolUseEnd(id="c", input={})]
INTERRUPTED = ToolResult(id="c", status="interrupted")

HANDED_OVER: dict[str, tuple[Events, DoneReason, Events]] = {
    "a complete call is handed over": (COMPLETE, "tool", []),
    "an incomplete one is not": ([CALLED], "tool", [ToolUseEnd(id="c"), INTERRUPTED]),
    "nor one that the provider runs": (SERVERS, "tool", [INTERRUPTED]),
    "nor at any other end": (COMPLETE, "stop", [INTERRUPTED]),
    "nor in a crash": (COMPLETE, "lost", [INTERRUPTED]),
    "half a result is none": (
        [*COMPLETE, ToolResult(id="c", partial=True)],
        "error",
        [ToolResult(id="c", partial=True), INTERRUPTED],
    ),
}


@pytest.mark.parametrize(("said", "reason", "ends"), HANDED_OVER.values(), ids=HANDED_OVER)
def test_a_run_that_ends_for_its_tools_hands_them_over(
    said: Events, reason: DoneReason, ends: Events
) -> None:
    log = log_of(said, Done(reason=reason))
    assert log[-1 - len(ends) :] == [*ends, Done(reason=reason)]
    legal_log(log)
