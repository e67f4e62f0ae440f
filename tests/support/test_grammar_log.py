"""The checker of logs finds what it is there to find."""

from __future__ import annotations

import pytest

from mobox.events import (
    Done,
    InputRequest,
    Paused,
    Retract,
    Start,
    StepStart,
    SubagentEnd,
    Text,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from support.grammar_log import legal_log
from support.strategies import Events

START = Start(framework="test")
STOP = Done(reason="stop")
CALLED = ToolUseStart(id="c", name="search")
COMPLETE: Events = [CALLED, ToolUseEnd(id="c", input={})]
SERVERS: Events = [ToolUseStart(id="c", name="f", server=True), ToolUseEnd(id="c", input={})]
INTERRUPTED = ToolResult(id="c", status="interrupted")

ILLEGAL: dict[str, Events] = {
    "no start": [STOP],
    "two starts": [START, START, STOP],
    "no end": [START],
    "two ends": [START, STOP, STOP],
    "a text without a name": [START, Text(), STOP],
    "a text that never ends": [START, Text(id="m"), STOP],
    "a text that opens twice": [START, Text(id="m"), Text(id="m"), TextEnd(id="m"), STOP],
    "a delta of nothing": [START, TextDelta(id="m", delta=""), STOP],
    "a delta of the other kind": [START, Text(id="m"), ThinkingDelta(id="m", delta=""), STOP],
    "an end of nothing": [START, TextEnd(id="m"), STOP],
    "a step that never ends": [START, StepStart(id="s"), STOP],
    "a step that ends as a subagent": [START, StepStart(id="s"), SubagentEnd(id="s"), STOP],
    "a step that starts twice": [START, StepStart(id="s"), StepStart(id="s"), STOP],
    "a call that never ends": [START, CALLED, Done(reason="tool")],
    "a call without a result": [START, *COMPLETE, STOP],
    "a server's call without a result": [START, *SERVERS, Done(reason="tool")],
    "a call with half a result": [START, *COMPLETE, ToolResult(id="c", partial=True), STOP],
    "a call that repeats": [START, *COMPLETE, INTERRUPTED, CALLED, STOP],
    "a result before the end": [START, CALLED, ToolResult(id="c"), STOP],
    "input after the end": [START, *COMPLETE, ToolUseDelta(id="c", delta=""), INTERRUPTED, STOP],
    "two ends of the input": [START, *COMPLETE, ToolUseEnd(id="c"), INTERRUPTED, STOP],
    "a request before the end": [START, CALLED, InputRequest(id="ask", tool_call_id="c"), STOP],
    "a retracted result": [
        START, *COMPLETE, ToolResult(id="c"), INTERRUPTED, Retract(blocks=("c",)), STOP,
    ],
    "a text under an id that is hidden": [
        START, *(Text(id="m"), TextEnd(id="m"), Retract(blocks=("m",))) * 2, STOP,
    ],
    "a text that is retracted twice": [
        START, Text(id="m"), TextEnd(id="m"), *2 * [Retract(blocks=("m",))], STOP,
    ],
    "a retracted call that is open": [START, *COMPLETE, Retract(blocks=("c",)), INTERRUPTED, STOP],
}  # fmt: skip


@pytest.mark.parametrize("log", ILLEGAL.values(), ids=ILLEGAL)
def test_the_checker_finds_a_log_that_breaks_a_rule(log: Events) -> None:
    with pytest.raises(AssertionError):
        legal_log(log)


def test_the_checker_lets_a_run_wait() -> None:
    legal_log([START, Text(id="m"), Paused(request_ids=("ask",))])
