"""A small log for each thing that an event can say: what comes before it only makes it legal.

docs/protocols.md has a row for each.
"""

from __future__ import annotations

from typing import NamedTuple

from mobox import LogEntry
from mobox import events as ev
from mobox.events import StreamEvent


class Case(NamedTuple):
    """A log whose last event has a row; what is before it is there to make it legal."""

    event: StreamEvent
    after: tuple[StreamEvent, ...] = ()
    which: str = ""

    @property
    def name(self) -> str:
        return f"`{self.event.type}`{self.which and ' ' + self.which}"

    @property
    def log(self) -> list[LogEntry]:
        begin = () if isinstance(self.event, ev.Start) else (START,)
        events = (*begin, *self.after, self.event)
        return [LogEntry(seq, seq, 1000 * seq, event) for seq, event in enumerate(events, 1)]


START = ev.Start(framework="demo", prompt_preview="Is it raining?")
TURN = ev.StepStart(id="turn_1", number=1)
ANSWER = ev.Text(id="a", content="Yes")
PLACED = ev.Text(id="a", content='Yes: <<{"type":"promql","tool_call_id":"c"}>>')
HALF_PLACED = ev.Text(id="a", content='Yes: <<{"type":"promql"')
CITED = ev.Source(id="a", url="https://a.example")
SAID = (ANSWER, ev.TextEnd(id="a"))
FAILED = ev.Error(message="overloaded")
THOUGHT = ev.Thinking(id="t", content="Look outside")
CALL = (ev.ToolUseStart(id="c", name="weather"),)
GIVEN = (*CALL, ev.ToolUseEnd(id="c", input={"city": "Lisbon"}))
CODE = (ev.ToolUseStart(id="c", name="python", kind="code"),)
GIVEN_CODE = (*CODE, ev.ToolUseEnd(id="c", input={"code": "1 + 1"}))
TASK = (ev.ToolUseStart(id="s", name="task", kind="agent"), ev.ToolUseEnd(id="s"))
SPAWNED = (*TASK, ev.SubagentStart(id="s", agent="forecaster"))
ASIDE = (*SPAWNED, ev.Thinking(id="x", scope=("s",)), ev.ThinkingEnd(id="x", scope=("s",)))
THEIRS = ev.Text(id="w", scope=("s",), content="Wet")
APPROVAL = ev.InputRequest(id="r", tool_call_id="c", prompt="Sure?")
EDITABLE = ev.InputRequest(id="r", tool_call_id="c", allowed=("approve", "edit", "reject"))
QUESTION = ev.InputRequest(id="r", kind="question", prompt="Which city?")
PLAN = (ev.TodoItem(content="Look outside"),)
STEP = ev.StepStart(id="k", kind="compaction", name="Summing up")

SECTIONS: dict[str, list[Case]] = {
    "The run": [
        Case(START),
        Case(ev.Status(message="Warming up")),
        Case(ev.Status(message="42 %", kind="progress"), which="of kind `progress`"),
        Case(ev.Status(message="Starting it", kind="preparation"), which="of kind `preparation`"),
        Case(ev.Usage(id="u", input=3, output=4)),
        Case(ev.Result(text="Yes", duration_ms=9)),
        Case(FAILED),
        Case(ev.Paused(request_ids=("r",)), (QUESTION,)),
        Case(ev.Done(reason="stop"), (TURN, *SAID, ev.StepEnd(id="turn_1"))),
        Case(ev.Done(reason="stop"), (FAILED, *SAID), "after an error"),
        Case(ev.Done(reason="error"), (FAILED,), "of a run that failed"),
        Case(ev.Done(reason="cancelled"), which="of one that was stopped"),
    ],
    "What it says": [
        Case(ANSWER),
        Case(ev.TextDelta(id="a", delta=", it is"), (ANSWER,)),
        Case(ev.TextEnd(id="a"), (ANSWER,)),
        Case(ev.TextEnd(id="a"), (ANSWER, CITED), "that cites"),
        Case(ev.TextEnd(id="a"), (HALF_PLACED,), "amid a placeholder"),
        Case(THEIRS, ASIDE, "of a subagent"),
        Case(ev.TextDelta(id="w", scope=("s",), delta="!"), (*ASIDE, THEIRS), "of a subagent"),
        Case(ev.TextEnd(id="w", scope=("s",)), (*ASIDE, THEIRS), "of a subagent"),
        Case(THOUGHT),
        Case(ev.ThinkingDelta(id="t", delta=" first"), (THOUGHT,)),
        Case(ev.ThinkingEnd(id="t"), (THOUGHT,)),
        Case(ev.ThinkingEnd(id="t", provider={"demo": {"signature": "s"}}), (THOUGHT,), "signed"),
        Case(ev.Retract(blocks=("a",)), SAID),
        Case(ev.Retract(blocks=("a",)), (TURN, *SAID), "of the whole turn"),
    ],
    "Tool calls": [
        Case(*CALL),
        Case(*CALL, (PLACED, ev.TextEnd(id="a")), "that a placeholder named before"),
        Case(*CODE, which="of code"),
        Case(ev.ToolUseStart(id="c", name="w", provider={"demo": {"s": "x"}}), which="signed"),
        Case(ev.ToolUseDelta(id="c", delta='{"city'), CALL),
        Case(ev.ToolUseDelta(id="c", delta='{"code": "1'), CODE, "of code"),
        Case(GIVEN[-1], CALL),
        Case(ev.ToolUseEnd(id="c", invalid='{"city'), CALL, "of a broken input"),
        Case(GIVEN_CODE[-1], CODE, "of code"),
        Case(ev.ToolResult(id="c", output="Rain"), GIVEN),
        Case(ev.ToolResult(id="c", output="Ra", partial=True), GIVEN, "in part"),
        Case(ev.ToolResult(id="c", output="Fog", status="error"), GIVEN, "that failed"),
        Case(ev.ToolResult(id="c", output="", structured=2), GIVEN_CODE, "of code"),
    ],
    "Steps, subagents, plans": [
        Case(TURN),
        Case(ev.StepStart(id="turn_2"), (TURN, *SAID, ev.StepEnd(id="turn_1")), "of the next turn"),
        Case(ev.StepStart(id="n", kind="node", name="plan"), which="of a graph or a subagent"),
        Case(STEP, which="of a task, a compaction"),
        Case(ev.StepEnd(id="turn_1"), (TURN, *SAID)),
        Case(ev.StepEnd(id="k"), (STEP,), "of a task, a compaction"),
        Case(SPAWNED[-1], TASK),
        Case(ev.SubagentEnd(id="s", agent="forecaster", summary="wet"), ASIDE),
        Case(ev.TodoCreate(items=PLAN)),
        Case(ev.TodoUpdate(items=PLAN)),
        Case(ev.TodoDone(items=PLAN, index=0)),
    ],
    "What comes beside": [
        Case(CITED, (ANSWER,), "of a text"),
        Case(CITED, SAID, "of a text that has ended"),
        Case(ev.Source(id="c", document="sky.txt"), GIVEN, "of a call"),
        Case(ev.File(media_type="image/png", url="https://a.example/sky.png", name="sky")),
        Case(ev.File(media_type="text/csv", file_id="f1"), which="that only its provider has"),
        Case(ev.File(id="c", media_type="image/png", base64="AA=="), GIVEN_CODE, "of code"),
        Case(ev.State(mode="snapshot", value={"city": "Lisbon"})),
        Case(ev.State(mode="patch", value={"rain": True}), which="as a patch"),
        Case(ev.Custom(name="NAME", value=1)),
        Case(ev.Raw(raw={"kind": "squawk"})),
    ],
    "People who are asked": [
        Case(APPROVAL, GIVEN, "for an approval"),
        Case(EDITABLE, GIVEN, "that says what it allows"),
        Case(QUESTION, which="for anything else"),
        Case(ev.InputResponse(id="r", decision="approved"), (*GIVEN, APPROVAL), "to an approval"),
        Case(
            ev.InputResponse(id="r", decision="edited", value={"path": "b"}),
            (*GIVEN, EDITABLE),
            "with the changed input",
        ),
        Case(ev.InputResponse(id="r", decision="answered", value="Porto"), (QUESTION,), "to else"),
    ],
}
CASES = [case for cases in SECTIONS.values() for case in cases]

WAITS = (*GIVEN, APPROVAL, ev.Paused(request_ids=("r",)))
"""A run that waits for a person."""
OPEN: list[tuple[StreamEvent, ...]] = [
    (ev.Status(message="Warming up"),),
    (TURN, *SAID),
    SPAWNED,
    (ev.InputRequest(id="q", kind="question"),),
]
"""What may be open when an event comes, and is ended by it."""
HALF = (TURN, ANSWER)
"""A run in the middle of a sentence."""
