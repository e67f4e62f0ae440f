"""What an agent is shown of what was said before."""

from __future__ import annotations

from mobox.events import (
    Done,
    DoneReason,
    File,
    InputRequest,
    LogEntry,
    Retract,
    Source,
    Start,
    StreamEvent,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.message import (
    AnyPart,
    CustomPart,
    Message,
    RetractPart,
    TextPart,
    ToolPart,
    parts_for_history,
)
from mobox.events.transcript import build_message
from mobox.lifecycle import Lifecycle

CALL = [ToolUseStart(id="call_1", name="look"), ToolUseEnd(id="call_1", input={"at": "it"})]


def told(*events: StreamEvent, reason: DoneReason | None = "stop") -> list[AnyPart]:
    """What is told of a run that said `events` and ended, or has not."""
    lifecycle = Lifecycle("emitted")
    log = lifecycle.feed_all([Start(framework="emitted"), *events])
    log += lifecycle.close(Done(reason=reason)) if reason is not None else []
    return parts_for_history(
        build_message([LogEntry(n, n, n, event) for n, event in enumerate(log)], "run")
    )


def words(event_id: str, text: str) -> list[StreamEvent]:
    return [Text(id=event_id), TextDelta(id=event_id, delta=text), TextEnd(id=event_id)]


def test_history_is_sent_unchanged() -> None:
    (text, tool) = told(*words("t1", "Hi"), *CALL, ToolResult(id="call_1", output="seen"))
    assert isinstance(text, TextPart)
    assert text.text == "Hi"
    assert isinstance(tool, ToolPart)
    assert (tool.input, tool.status, tool.output) == ({"at": "it"}, "ok", "seen")


def test_a_call_that_broke_off_has_an_end() -> None:
    for broken in ([CALL[0]], CALL, [*CALL, ToolResult(id="call_1", output=1, partial=True)]):
        (tool,) = told(*broken, reason="error")
        assert isinstance(tool, ToolPart)
        assert (tool.ended, tool.status, tool.partial) == (True, "interrupted", False)


def test_a_call_that_was_handed_over_and_never_came_back_has_an_end() -> None:
    (tool,) = told(*CALL, reason="tool")
    assert isinstance(tool, ToolPart)
    assert tool.status == "interrupted"


def test_a_part_of_a_result_is_no_result() -> None:
    part = ToolPart(id="call_1", name="look", ended=True, status="ok", partial=True, output="se")
    (tool,) = parts_for_history(Message(id="run", parts=[part], reason="lost"))
    assert isinstance(tool, ToolPart)
    assert (tool.status, tool.partial) == ("interrupted", False)
    assert part.partial  # the message itself stays as it is


def test_of_a_run_that_goes_on_a_call_stays_open() -> None:
    (tool, _) = told(*CALL, InputRequest(id="r1", tool_call_id="call_1"), reason=None)
    assert isinstance(tool, ToolPart)
    assert tool.status is None


def test_retracted_content_and_its_dependents_are_not_sent() -> None:
    parts = told(
        *words("t1", "Helo"),
        Source(id="t1", url="https://example.org"),
        *CALL,
        File(id="call_1", media_type="image/png"),
        InputRequest(id="r1", kind="approval", tool_call_id="call_1"),
        Retract(blocks=("t1", "call_1")),
        *words("t1", "Hello"),
        Source(id="t1", url="https://example.org/2"),
    )
    assert [type(part).__name__ for part in parts] == ["TextPart", "SourcePart"]
    assert isinstance(parts[0], TextPart)
    assert parts[0].text == "Hello"


def test_a_subagent_goes_with_the_call_that_spawned_it() -> None:
    parts = told(*CALL, SubagentStart(id="call_1", agent="scout"), Retract(blocks=("call_1",)))
    assert "SubagentPart" not in [type(part).__name__ for part in parts]


def test_other_part_with_a_retracted_id_stays() -> None:
    own = CustomPart(name="chart", id="t1")
    message = Message(id="run", parts=[own, RetractPart(blocks=("t1",))], reason="stop")
    assert parts_for_history(message) == [own]
