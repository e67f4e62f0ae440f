"""ADK's events, one behaviour each; whole runs are in tests/golden/adk."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox import Recorder
from mobox.events import (
    Custom,
    Done,
    Error,
    File,
    InputRequest,
    InputResponse,
    Paused,
    Raw,
    Retract,
    State,
    Status,
    StepEnd,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.parsers.adk.run import levels_of
from pipeline.test_golden import text_of
from support.slow_path import takes_the_short_way

RECORDINGS = sorted((Path(__file__).parent.parent / "recordings" / "adk").glob("*"))
Line = dict[str, Any]


def event(*parts: Line, author: str = "root", partial: bool | None = None, **more: Any) -> Line:
    content = {"content": {"parts": list(parts)}} if parts else {}
    told = {} if partial is None else {"partial": partial}
    return {"author": author, "invocationId": "i1", "id": "e1", **content, **told, **more}


def text(words: str, **more: Any) -> Line:
    return event({"text": words}, **more)


def call(name: str, call_id: str, **args: Any) -> Line:
    return {"functionCall": {"id": call_id, "name": name, "args": args}}


def result(name: str, call_id: str, **response: Any) -> Line:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def told(*lines: Any) -> list[StreamEvent]:
    recorder = Recorder("adk")
    return [entry.event for entry in recorder.feed(lines) + recorder.close()]


def of(kind: type[StreamEvent], events: list[StreamEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: str(path.stem))
def test_the_answer_is_what_adk_calls_final(path: Path) -> None:
    lines = [json.loads(each) for each in path.read_text("utf-8").splitlines()]
    finals = [
        part.get("text", "")
        for line in lines
        if line.get("__final__") and not line.get("partial") and "@" not in line.get("branch", "")
        for part in line.get("content", {}).get("parts", [])
    ]
    recorder = Recorder("adk")
    log = recorder.read(path.read_bytes()) + recorder.close()
    answer = text_of(log)
    if path.stem == "workflow_request_input":
        assert answer == '{"got":"yes"}'  # nobody speaks: what the workflow puts out
    else:
        assert answer.endswith("".join(finals))


# Turns


def test_turn_streamed_and_repeated_whole_is_emitted_once() -> None:
    used = {"promptTokenCount": 3}
    events = told(
        text("It is ", partial=True, usageMetadata={"promptTokenCount": 1}),
        text("21°C.", partial=True, usageMetadata=used),
        text("It is 21°C.", partial=False, finishReason="STOP", usageMetadata=used),
    )
    assert [piece.content for piece in of(Text, events)] == ["It is "]
    assert of(TextDelta, events) == [TextDelta(id="e1:1", delta="21°C.")]
    assert of(Usage, events) == [Usage(id="e1", input=3)]
    assert events[-1] == Done(reason="stop", native="STOP")


def test_additions_in_the_whole_message_are_emitted() -> None:
    events = told(text("It is ", partial=True), text("It is 21°C.", finishReason="STOP"))
    assert of(TextDelta, events) == [TextDelta(id="e1:1", delta="21°C.")]


def test_pieces_that_are_not_in_the_whole_are_taken_back() -> None:
    events = told(text("Well, ", partial=True), text("No.", finishReason="STOP"))
    assert of(Retract, events) == [Retract(blocks=("e1:1",), reason="replaced")]
    assert [piece.content for piece in of(Text, events)] == ["Well, ", "No."]


def test_a_whole_without_text_takes_nothing_back() -> None:
    events = told(text("Well, ", partial=True), event(call("f", "c1"), finishReason="STOP"))
    assert of(Retract, events) == []
    assert of(ToolUseStart, events)[0].id == "c1"


def test_calls_are_emitted_once_whichever_event_has_them() -> None:
    look = call("look", "c1", a=1)
    events = told(
        event(look, partial=True), event(look, call("go", "c2")), event(result("go", "c2"))
    )
    assert [start.id for start in of(ToolUseStart, events)] == ["c1", "c2"]


def test_parts_without_an_id_are_emitted_once() -> None:
    code = {"executableCode": {"code": "1"}}
    events = told(event(code, partial=True), event(code, {"text": "so"}, finishReason="STOP"))
    assert len(of(ToolUseStart, events)) == 1
    assert of(Text, events)[0].content == "so"


def test_turns_are_counted_by_speaker() -> None:
    events = told(text("a"), text("b", author="other", id="e2"), text("c", id="e3"))
    assert [(step.name, step.number) for step in of(StepStart, events)] == [
        ("root", 1),
        ("other", 1),
        ("root", 2),
    ]


# What an event does


def test_actions_count_only_where_an_event_is_not_partial() -> None:
    actions = {
        "stateDelta": {"a_b": 1},
        "artifactDelta": {"n.txt": 2},
        "transferToAgent": "other",
        "compaction": {"compactedContent": {}},
        "renderUiWidgets": [{"id": "w"}],
    }
    events = told(text("a", partial=True, actions=actions), text("a", actions=actions))
    assert of(State, events) == [State(mode="patch", value={"a_b": 1})]
    assert [(file.name, file.file_id) for file in of(File, events)] == [("n.txt", "n.txt@2")]
    assert of(Status, events) == [Status(message="other takes over")]
    assert [step.kind for step in of(StepStart, events)] == ["turn", "compaction"]
    assert of(Custom, events) == [Custom(name="ui-widgets", value=[{"id": "w"}])]


# Who speaks


@pytest.mark.parametrize(
    ("branch", "ids"),
    [
        (None, []),
        ("writer@c1", ["c1"]),
        ("par.p1", ["par.p1"]),
        ("par.p1.writer@c1", ["par.p1", "c1"]),
        ("writer@c1.par.p1", ["c1", "writer@c1.par.p1"]),
        ("alone", ["alone"]),
        ("@c1", ["c1"]),
        ("writer@", ["writer@"]),
    ],
)
def test_the_levels_of_a_branch(branch: str | None, ids: list[str]) -> None:
    assert [level.id for level in levels_of(branch)] == ids


def test_an_agent_that_a_call_spawned_ends_with_its_result() -> None:
    events = told(
        event(call("writer", "c1", request="Write.")),
        text("Done.", author="writer", branch="writer@c1", id="e2"),
        event(result("writer", "c1", result="Done."), id="e3"),
        text("Here.", id="e4", finishReason="STOP"),
    )
    assert of(SubagentStart, events) == [SubagentStart(id="c1", agent="writer", task="Write.")]
    assert of(SubagentEnd, events) == [SubagentEnd(id="c1", agent="writer")]
    assert [(said.content, said.scope) for said in of(Text, events)] == [
        ("Done.", ("c1",)),
        ("Here.", ()),
    ]


def test_parallel_agents_have_ended_when_the_root_emits() -> None:
    beside = [text("a", author="p1", branch="par.p1"), text("b", author="p2", branch="par.p2")]
    events = told(*beside, text("So: ab", id="e3", finishReason="STOP"))
    assert [end.id for end in of(SubagentEnd, events)] == ["par.p2", "par.p1"]
    assert [said.content for said in of(Text, events) if not said.scope] == ["So: ab"]


# Ends


def test_error_is_emitted_once_and_is_the_result_of_its_call() -> None:
    events = told(
        event(call("boom", "c1")),
        event(errorCode="ValueError", errorMessage="kaput"),
        {"_exception": "ValueError", "str": "kaput"},
    )
    assert of(ToolResult, events) == [ToolResult(id="c1", output="kaput", status="error")]
    assert of(Error, events) == [Error(message="kaput", code="ValueError")]
    assert [raw.source for raw in of(Raw, events)] == ["told before"]
    assert events[-1] == Done(reason="error")


def test_another_exception_is_another_error() -> None:
    events = told(
        text("a", partial=True),
        event(errorCode="ValueError"),
        {"_exception": "E", "str": "x"},
        {"_exception": 7},
    )
    assert [error.message for error in of(Error, events)] == ["ValueError", "x"]
    assert of(StepEnd, events)[0].status == "interrupted"


def test_a_finish_reason_is_no_error_although_adk_calls_it_one() -> None:
    events = told(text("Well", finishReason="SAFETY", errorCode="SAFETY", errorMessage="Unsafe."))
    assert of(Error, events) == []
    assert of(Status, events) == [Status(message="Unsafe.", kind="notice")]
    assert events[-1] == Done(reason="content_filter", native="SAFETY")


def test_unexecuted_call_is_handed_over() -> None:
    events = told(event(call("look", "c1"), finishReason="STOP"))
    assert of(ToolUseEnd, events) == [ToolUseEnd(id="c1", input={})]
    assert events[-1] == Done(reason="tool", native="STOP")


def test_a_run_that_ends_without_a_word_was_cut_off() -> None:
    assert told(text("a", partial=True))[-1] == Done(reason="truncated")


# Asking


CONFIRM = event(
    call("adk_request_confirmation", "r1", originalFunctionCall={"id": "c1"}),
    longRunningToolIds=["r1"],
    id="e2",
)
PLACEHOLDER = event(
    result("rm", "c1", error="ask"),
    actions={"requestedToolConfirmations": {"c1": {}}, "skipSummarization": True},
    id="e3",
)


def follow_up(call_id: str, **response: Any) -> Line:
    return {"__follow_up__": {"parts": [{"function_response": {"id": call_id, **response}}]}}


@pytest.mark.parametrize(("confirmed", "decision"), [(True, "approved"), (False, "denied")])
def test_confirmation_is_requested_paused_for_and_answered(confirmed: bool, decision: str) -> None:
    asked = [event(call("rm", "c1")), CONFIRM, PLACEHOLDER]
    events = told(*asked)
    assert of(InputRequest, events)[0].tool_call_id == "c1"
    assert events[-1] == Paused(request_ids=("r1",))
    answer = follow_up("r1", response={"confirmed": confirmed})
    events = told(*asked, answer, event(result("rm", "c1", ok=True), id="e4"))
    assert of(InputResponse, events)[0].decision == decision
    assert [response.output for response in of(ToolResult, events)] == [{"ok": True}]
    assert len(of(Paused, events)) == 1


def test_result_answers_an_unanswered_confirmation() -> None:
    done = [
        event(result("rm", "c1", ok=True), id="e4"),
        text("Gone.", id="e5", finishReason="STOP"),
    ]
    assert told(event(call("rm", "c1")), CONFIRM, PLACEHOLDER, *done)[-1].type == "done"


def test_session_sends_answers_as_user_events() -> None:
    answer = event(result("adk_request_confirmation", "r1", confirmed=True), author="user")
    events = told(event(call("rm", "c1")), CONFIRM, PLACEHOLDER, answer)
    assert of(InputResponse, events)[0].decision == "approved"
    assert of(Raw, told(text("Hello", author="user")))[0].raw == text("Hello", author="user")


def test_a_denied_call_has_the_status_of_one() -> None:
    rejected = event(result("rm", "c1", error="This tool call is rejected. No."), id="e4")
    events = told(event(call("rm", "c1")), CONFIRM, PLACEHOLDER, rejected)
    assert [each.status for each in of(ToolResult, events)] == ["denied"]


def test_adks_own_hint_is_no_prompt() -> None:
    hints = ["Please approve or reject the tool call rm() by responding with …", "Really?"]
    for hint, prompt in zip(hints, [None, "Really?"], strict=True):
        args = {"originalFunctionCall": {"id": "c1"}, "toolConfirmation": {"hint": hint}}
        events = told(event(call("adk_request_confirmation", "r1", **args)))
        assert [each.prompt for each in of(InputRequest, events)] == [prompt]


def test_user_events_have_results_of_calls_of_an_earlier_stream() -> None:
    answers = event(
        result("adk_request_confirmation", "r1", confirmed=True),
        result("locate", "c1", city="Lisbon"),
        author="user",
    )
    events = told(answers, text("Done.", finishReason="STOP"))
    assert [(each.id, each.output) for each in of(ToolResult, events)] == [
        ("c1", {"city": "Lisbon"})
    ]
    assert of(InputResponse, events) == of(Raw, events) == []


def test_agent_with_a_task_returns_its_result_as_user() -> None:
    events = told(
        event(call("helper", "c1", request="Help.")),
        text("Done.", author="helper", branch="helper@c1", id="e2", finishReason="STOP"),
        event(result("helper", "c1", result="Done."), author="user", id="e3"),
    )
    assert [each.id for each in of(SubagentEnd, events)] == ["c1"]
    assert [each.output for each in of(ToolResult, events)] == [{"result": "Done."}]


def test_credentials_and_input_are_requested() -> None:
    credential = call("adk_request_credential", "r1", functionCallId="c1", authConfig={"k": 1})
    wish = call("adk_request_input", "r2", message="Which?", response_schema={"type": "string"})
    events = told(event(call("mail", "c1")), event(credential, id="e2"), event(wish, id="e3"))
    auth, question = of(InputRequest, events)
    assert (auth.kind, auth.tool_call_id, auth.options) == ("auth", "c1", {"k": 1})
    assert (question.kind, question.prompt, question.schema) == (
        "input",
        "Which?",
        {"type": "string"},
    )
    assert events[-1] == Paused(request_ids=("r1", "r2"))


def test_a_result_of_nothing_does_not_cost_the_others() -> None:
    nobody = {"functionResponse": {"name": "nobody", "response": {}}}
    events = told(event(call("f", "c1")), event(nobody, result("f", "c1"), id="e2"))
    assert [raw.raw for raw in of(Raw, events)] == [nobody]
    assert [told.id for told in of(ToolResult, events)] == ["c1"]


def test_a_request_that_makes_no_sense_is_kept() -> None:
    broken = call("adk_request_input", "r1", message=7)
    assert of(Raw, told(event(broken)))[0].raw == broken


def test_a_tool_that_takes_long_waits_for_its_result() -> None:
    asked = [
        event(call("ask", "c1"), longRunningToolIds=["c1"]),
        event(result("ask", "c1", ticket=1), id="e2"),
        text("I asked.", id="e3", finishReason="STOP"),
    ]
    events = told(*asked)
    assert of(ToolResult, events)[0].partial
    assert events[-1] == Paused(request_ids=("c1",))
    events = told(*asked, follow_up("c1", response={"ok": 1}), text("So.", id="e4"))
    assert of(ToolResult, events)[-1].output == {"ok": 1}


def test_end_of_the_workflow_ends_a_pause() -> None:
    wish = event(call("adk_request_input", "r1"), author="wf")
    node = event(author="wf", output=1, nodeInfo={"path": "wf@1/a@1"}, id="e2")
    assert told(wish, node)[-1] == Paused(request_ids=("r1",))
    end = event(author="wf", output=2, nodeInfo={"path": "wf@1/b@1", "outputFor": ["wf@1"]})
    assert told(wish, node, end)[-1] == Done(reason="stop")


# The short way


def test_both_spellings_mean_the_same() -> None:
    snake = {
        "author": "root",
        "invocation_id": "i1",
        "id": "e1",
        "content": {"parts": [{"text": "a", "thought_signature": "s"}]},
        "finish_reason": "STOP",
        "usage_metadata": {"prompt_token_count": 3},
        "actions": {"state_delta": {"a_b": 1}},
        "error_code": None,
    }
    camel = event(
        {"text": "a", "thoughtSignature": "s"},
        finishReason="STOP",
        usageMetadata={"promptTokenCount": 3},
        actions={"stateDelta": {"a_b": 1}},
    )
    assert told(snake) == told(camel)


@pytest.mark.parametrize("line", [7, {}, {"author": "root"}, event(branch=7), follow_up("nobody")])
def test_unknown_line_is_kept(line: Any) -> None:
    assert of(Raw, told(line))[0].raw == line


MORE = text("more", partial=True, branch="w@c1", actions={"stateDelta": {}}, timestamp=1.5)
OTHERS: list[Line] = [
    text("", partial=True, branch="w@c1"),
    text("x", partial=True),
    text("x", partial=True, branch="w@c1", author="other"),
    text("x", partial=True, branch="w@c1", author="user"),
    text("x", partial=False, branch="w@c1"),
    text("x", branch="w@c1"),
    event({"text": "x", "thought": True}, partial=True, branch="w@c1"),
    event({"text": "x", "thoughtSignature": "s"}, partial=True, branch="w@c1"),
    event({"text": "x"}, {"text": "y"}, partial=True, branch="w@c1"),
    {**MORE, "finishReason": "STOP"},
    {**MORE, "errorCode": "E"},
    {**MORE, "error_code": "E"},
    {**MORE, "actions": {"state_delta": 7}},
    {**MORE, "actions": 7},
    {**MORE, "nodeInfo": {"path": 7}},
    {**MORE, "id": 7},
    {**MORE, "_exception": "E"},
    {**MORE, "__follow_up__": {}},
    {**MORE, "type": "text", "data": {"content": "x"}},
    {"author": "root", "invocation_id": "i1", "partial": True, "content": MORE["content"]},
    event(result("look", "c1"), branch="w@c1"),
]


@pytest.mark.parametrize("line", OTHERS, ids=str)
def test_an_event_that_is_not_only_a_delta_takes_the_long_way(line: Line) -> None:
    assert not takes_the_short_way("adk", [MORE], line)


def test_a_delta_of_the_open_block_takes_the_short_way() -> None:
    thought = event({"text": "hm", "thought": True}, partial=True)
    assert not takes_the_short_way("adk", [], MORE)
    assert takes_the_short_way("adk", [MORE], MORE)
    assert takes_the_short_way("adk", [thought], thought)
    assert takes_the_short_way("adk", [MORE, text("x", partial=True, branch="par.p1")], MORE)
    assert takes_the_short_way("adk", [MORE, event(result("look", "c1"), branch="w@c1")], MORE)
    assert not takes_the_short_way("adk", [MORE, {**MORE, "partial": False}], MORE)


pieces = st.sampled_from(
    [
        *OTHERS,
        *[MORE] * 5,
        text("a", partial=True),
        text("a", partial=True),
        text("b", partial=True, branch="par.p1"),
        text("", partial=True),
        event({"text": "c", "thought": True}, partial=True),
        text("d", partial=True, finishReason="STOP"),
        text("aa", partial=False, finishReason="STOP"),
        text("aa", id="e2"),
        event(call("look", "c1"), partial=True),
        {"type": "status", "data": {"message": "f"}},
    ]
)


@given(st.lists(pieces, max_size=10))
def test_lines_mean_what_values_mean(lines: list[Line]) -> None:
    by_value, by_line = Recorder("adk"), Recorder("adk")
    body = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
    expected = by_value.feed(lines) + by_value.close()
    assert by_line.read(body) + by_line.close() == expected
