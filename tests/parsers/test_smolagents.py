"""smolagents' lines, one behaviour each; whole streams are in tests/golden/smolagents."""

import json
from typing import Any

import pytest

from mobox import Recorder, get_parser
from mobox.events import (
    Done,
    File,
    Raw,
    Result,
    Retract,
    Status,
    StepEnd,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    Thinking,
    ThinkingDelta,
    TodoCreate,
    TodoItem,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.parsers.smolagents.agent import items_of
from mobox.parsers.smolagents.code import without_code

Line = dict[str, Any]


def line(kind: str, *within: str, **data: Any) -> Line:
    return {"type": kind, "data": data, **({"within": list(within)} if within else {})}


def delta(content: str | None, *within: str, **more: Any) -> Line:
    return line("ChatMessageStreamDelta", *within, content=content, **more)


def call(name: str, arguments: Any, *within: str, call_id: str = "call_1") -> Line:
    function = {"name": name, "arguments": arguments}
    return line("ToolCall", *within, id=call_id, type="function", function=function)


def parse(*lines: Line) -> list[StreamEvent]:
    recorder = Recorder("smolagents")
    return [entry.event for entry in recorder.feed(lines) + recorder.close()]


def of(kind: type[StreamEvent], events: list[StreamEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_code_is_a_call_whose_result_is_what_its_step_observed() -> None:
    events = parse(
        call("python_interpreter", "print(1)"),
        line("ActionOutput", output=None, is_final_answer=False),
        line("ActionStep", step_number=1, observations="1", action_output=7, model_output="hm"),
    )
    assert events[2:5] == [
        ToolUseStart(id="call_1", name="python_interpreter", kind="code"),
        ToolUseEnd(id="call_1", input={"code": "print(1)"}),
        Thinking(id="step_1:1", content="hm"),
    ]
    assert of(ToolResult, events) == [ToolResult(id="call_1", output="1", structured=7)]


def test_fragments_of_a_call_are_its_input() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a"'}}
    more = {"index": 0, "id": None, "function": {"name": "", "arguments": ": 1}"}}
    events = parse(
        delta("", tool_calls=[first]),
        delta("", tool_calls=[more]),
        call("look", {"a": 1}, call_id="c1"),
    )
    assert [event.type for event in events[2:6]] == [
        "tool_use_start",
        "tool_use_delta",
        "tool_use_delta",
        "tool_use_end",
    ]


def test_calls_without_an_id_are_counted_and_none_twice() -> None:
    nameless = {"function": {"name": "ls", "arguments": {}}}
    calls = [line("ToolCall", **nameless), line("ToolOutput", id="p.step_1:call_1", output="a")]
    parser = get_parser("smolagents", "p.")
    events = [event for each in [*calls, calls[0]] for event in parser.feed(each)]
    assert [e.id for e in of(ToolUseStart, events)] == ["p.step_1:call_1", "p.step_1:call_2"]


def test_streamed_plan_is_retracted_and_sent_as_a_plan() -> None:
    events = parse(delta("1. look\n2. answer"), line("PlanningStep", plan="1. look\n2. answer"))
    assert of(Retract, events) == [Retract(blocks=("step_1:1",), reason="plan")]
    assert of(Thinking, events)[-1] == Thinking(
        id="step_1:plan", content="1. look\n2. answer", source="plan"
    )
    items = (TodoItem(content="look"), TodoItem(content="answer"))
    assert of(TodoCreate, events) == [TodoCreate(items=items)]


def test_only_the_plan_of_a_plan_is_todos() -> None:
    plan = "## 1. Facts\n- rain\n## 2. Plan\n1. Ask.\n2) Tell.\n<end_plan>\n3. No more"
    assert [item.content for item in items_of(plan)] == ["Ask.", "Tell."]
    assert items_of("No list at all.") == ()


@pytest.mark.parametrize("type_", ["AgentParsingError", None])
def test_error_outside_of_a_call_is_a_notice(type_: str | None) -> None:
    error = {"type": type_, "message": "no code"}
    events = parse(delta("hm"), line("ActionStep", step_number=1, error=error))
    assert of(Status, events) == [Status(message="no code", kind="notice")]
    assert of(StepEnd, events)[0].status == "error"


def test_the_error_of_a_call_is_its_result() -> None:
    error = {"type": "AgentToolExecutionError", "message": "kaput"}
    events = parse(call("boom", {}), line("ActionStep", step_number=1, error=error))
    assert of(ToolResult, events) == [ToolResult(id="call_1", output="kaput", status="error")]
    assert of(Status, events) == []


def test_a_step_that_comes_twice_reached_the_limit() -> None:
    step = line("ActionStep", step_number=1, model_output="hm")
    events = parse(step, step, line("FinalAnswerStep", output="I could not"))
    assert len(of(StepStart, events)) == 1
    assert events[-1] == Done(reason="max_turns")


def test_repeated_usage_is_emitted_once() -> None:
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    events = parse(
        delta("hm", token_usage=usage), line("ActionStep", step_number=1, token_usage=usage)
    )
    assert of(Usage, events) == [Usage(id="step_1", input=5, output=2, total=7)]


@pytest.mark.parametrize("usage", [{"input_tokens": "5"}, 7], ids=str)
def test_invalid_usage_loses_neither_the_text_nor_the_step(usage: Any) -> None:
    step = line("ActionStep", step_number=1, observations="1", token_usage=usage)
    events = parse(delta("hm", token_usage=usage), step)
    assert [raw.raw for raw in of(Raw, events)] == [usage, usage]
    assert of(ThinkingDelta, events) == [ThinkingDelta(id="step_1:1", delta="hm")]
    assert of(StepEnd, events) == [StepEnd(id="step_1")]


def test_the_answer_is_text_and_result() -> None:
    timing = {"start_time": 10.0, "end_time": 10.5}
    events = parse(
        line("ActionStep", step_number=3, timing=timing), line("FinalAnswerStep", output={"a": 1})
    )
    assert of(Text, events) == [Text(id="answer", content='{"a":1}')]
    assert of(Result, events) == [Result(text='{"a":1}', duration_ms=500.0, num_turns=3)]


def test_an_answer_has_another_name_in_earlier_versions() -> None:
    events = parse(line("FinalAnswerStep", final_answer="42"))
    assert of(Text, events) == [Text(id="answer", content="42")]


def test_empty_answer_ends_the_run_without_text() -> None:
    nested = line("FinalAnswerStep", "sub:1", output=None)
    events = parse(nested, line("FinalAnswerStep", output=None))
    assert of(Text, events) == []
    assert of(SubagentEnd, events) == [SubagentEnd(id="sub:1", agent="sub")]
    assert events[-2:] == [Result(), Done(reason="stop")]


def test_a_final_step_without_an_answer_is_kept() -> None:
    final = line("FinalAnswerStep", "sub:1", said="42")
    events = parse(final, delta("hm", "sub:1"))
    assert [raw.raw for raw in of(Raw, events)] == [final]
    assert of(Text, events) == []
    assert [start.id for start in of(SubagentStart, events)] == ["sub:1"]


@pytest.mark.parametrize(
    "image",
    ["data:image/png;base64,iVBO", {"media_type": "image/png", "base64": "iVBO"}],
)
def test_images_are_files(image: Any) -> None:
    step = line("ActionStep", step_number=1, observations_images=[image, "iVBO", 7, {}, "no!"])
    events = parse(step, line("FinalAnswerStep", output=image))
    owners = ["step_1", "step_1", "answer"]
    expected = [File(id=owner, media_type="image/png", base64="iVBO") for owner in owners]
    assert of(File, events) == expected
    assert of(Text, events) == []


def test_the_image_that_a_tool_returns_is_a_file_too() -> None:
    image = {"media_type": "image/png", "base64": "iVBO"}
    output = line("ToolOutput", id="call_1", output=image, observation="Stored an image.")
    events = parse(call("draw", {}), output)
    assert of(ToolResult, events) == [ToolResult(id="call_1", output="Stored an image.")]
    assert len(of(File, events)) == 1


def test_a_managed_agent_is_nested_under_the_call_that_it_came_of() -> None:
    events = parse(
        call("sub", {"task": "weather"}),
        line("TaskStep", "sub:1", task="weather"),
        call("look", {}, "sub:1"),
        line("ToolOutput", "sub:1", id="call_1", output="21C"),
        line("FinalAnswerStep", "sub:1", output="21C"),
        line("ToolOutput", id="call_1", output="21C"),
        line("FinalAnswerStep", output="21C"),
    )
    assert of(SubagentStart, events) == [SubagentStart(id="call_1", agent="sub", task="weather")]
    assert of(SubagentEnd, events) == [SubagentEnd(id="call_1", agent="sub", summary="21C")]
    nested = [event for event in events if event.scope == ("call_1",)]
    assert [event.id for event in of(ToolUseStart, nested)] == ["call_1/call_1"]
    assert [event.content for event in of(Text, events) if not event.scope] == ["21C"]


def test_two_agents_that_one_piece_of_code_calls_are_two() -> None:
    events = parse(
        call("python_interpreter", "a(); b(); c()"),
        line("FinalAnswerStep", "a:1", output=1),
        line("FinalAnswerStep", "b:2", output=2),
        delta("hm", "c:3", "d:4"),
    )
    assert [start.id for start in of(SubagentStart, events)] == ["call_1", "b:2", "c:3", "d:4"]
    assert of(Thinking, events)[0].scope == ("c:3", "d:4")


def test_calls_that_code_makes_are_calls_with_results_of_their_own() -> None:
    events = parse(
        call("python_interpreter", "delete('a')"),
        call("delete", {"path": "a"}, call_id="call_1.1"),
        line("ToolOutput", id="call_1.1", output="No.", observation="No.", status="denied"),
        line("ActionStep", step_number=1, observations="logs"),
    )
    assert [(e.id, e.name, e.kind) for e in of(ToolUseStart, events)] == [
        ("call_1", "python_interpreter", "code"),
        ("call_1.1", "delete", "function"),
    ]
    assert of(ToolResult, events) == [
        ToolResult(id="call_1.1", output="No.", status="denied"),
        ToolResult(id="call_1", output="logs"),
    ]


SAID = "Thought: I look.\n<code>\nlook()\n</code>"


def said(events: list[StreamEvent]) -> str:
    return "".join(event.delta for event in of(ThinkingDelta, events))


@pytest.mark.parametrize("size", range(1, len(SAID)))
def test_code_is_no_thought_however_its_text_is_split(size: int) -> None:
    deltas = [delta(SAID[start : start + size]) for start in range(0, len(SAID), size)]
    events = parse(*deltas, call("python_interpreter", "look()"))
    assert said(events) == "Thought: I look.\n"
    assert of(ToolUseEnd, events) == [ToolUseEnd(id="call_1", input={"code": "look()"})]


@pytest.mark.parametrize("size", range(1, len(SAID)))
def test_announced_code_is_the_streamed_input_of_its_call(size: int) -> None:
    tags = line("CodeTags", id="call_1", opening="<code>", closing="</code>")
    text = SAID.replace("look()", 'look("a")\n\nlook()')
    deltas = [delta(text[start : start + size]) for start in range(0, len(text), size)]
    events = parse(tags, *deltas, call("python_interpreter", 'look("a")\n\nlook()'))
    assert said(events) == "Thought: I look.\n"
    input_text = "".join(event.delta for event in of(ToolUseDelta, events))
    assert json.loads(input_text) == {"code": 'look("a")\n\nlook()'}
    assert [(e.id, e.kind) for e in of(ToolUseStart, events)] == [("call_1", "code")]


@pytest.mark.parametrize(
    "end",
    [
        [call("python_interpreter", "look(1)")],
        [line("ActionStep", step_number=1, error={"type": "AgentParsingError", "message": "no"})],
        [line("FinalAnswerStep", output="42")],
        [],
    ],
)
def test_code_that_becomes_no_call_is_a_thought(end: list[Line]) -> None:
    assert said(parse(delta(SAID), *end)) == SAID


def test_announced_code_that_becomes_no_call_is_a_failed_call() -> None:
    tags = line("CodeTags", id="call_1", opening="<code>", closing="</code>")
    error = {"type": "AgentParsingError", "message": "no"}
    events = parse(tags, delta(SAID), line("ActionStep", step_number=1, error=error))
    assert of(ToolResult, events) == [ToolResult(id="call_1", output="no", status="error")]


def test_text_after_the_code_is_a_thought() -> None:
    text = f"{SAID}\nThat was it."
    events = parse(delta(text), call("python_interpreter", "look()"))
    assert said(events) == "Thought: I look.\nThat was it."


@pytest.mark.parametrize(
    ("text", "code", "rest"),
    [
        (SAID, "look()", "I look."),
        ("I look.\n```python\nlook()\n```\nThen I answer.", "look()", "I look.\n\nThen I answer."),
        ('{"thought": "I look.", "code": "print(\\"a\\")"}', 'print("a")', "I look."),
        ("<code>\nlook()", "look()", ""),
        ("look", "", None),
        ("look", "seek", None),
    ],
)
def test_code_is_cut_out_of_the_text(text: str, code: str, rest: str | None) -> None:
    assert without_code(text, code) == rest


@pytest.mark.parametrize(
    ("observation", "output"),
    [
        ("Execution logs:\na\nb\nLast output from code snippet:\n7", "a\nb"),
        ("Execution logs:\nLast output from code snippet:\n7", "7"),
        ("Execution logs:\nLast output from code snippet:\nNone", ""),
        ("Something else", "Something else"),
    ],
)
def test_the_result_of_code_is_what_it_printed(observation: str, output: str) -> None:
    step = line("ActionStep", step_number=1, observations=observation)
    events = parse(call("python_interpreter", "f()"), step)
    assert [result.output for result in of(ToolResult, events)] == [output]


def test_agents_that_name_their_calls_are_nested_under_them() -> None:
    events = parse(
        call("python_interpreter", "a(); a()"),
        call("a", {"task": "x"}, call_id="call_1.1"),
        call("a", {"task": "y"}, call_id="call_1.2"),
        line("TaskStep", "a:call_1.2", task="y"),
        call("b", {"task": "z"}, "a:call_1.2", call_id="c"),
        delta("hm", "a:call_1.2", "b:c"),
        line("TaskStep", "a:call_1.1", task="x"),
    )
    assert [(e.id, e.agent) for e in of(SubagentStart, events)] == [
        ("call_1.2", "a"),
        ("call_1.2/c", "b"),
        ("call_1.1", "a"),
    ]
    assert of(Thinking, events)[0].scope == ("call_1.2", "call_1.2/c")


def test_calls_keep_their_ids_in_later_processes() -> None:
    parser = get_parser("smolagents", "1.2.")
    lines = [call("look", {}, call_id="c1"), line("ToolOutput", id="c1", output="21C")]
    events = [event for each in lines for event in parser.feed(each)]
    assert [event.id for event in events] == ["1.2.step_1", "c1", "c1", "c1"]


def test_foreign_line_is_kept() -> None:
    unknown: list[Any] = [line("SystemPromptStep"), line("TaskStep", task="x"), {"type": []}, 7]
    events = parse(*unknown, delta("hm"))
    assert [event.raw for event in of(Raw, events)] == unknown
    assert parse(line("ActionStep", step_number="one"))[1].type == "raw"


def test_objects_mean_what_their_lines_mean() -> None:
    error = {"_exception": "AgentToolExecutionError", "str": "kaput"}
    objects: list[Line] = [
        {"_class": "ChatMessageStreamDelta", "content": "hm", "tool_calls": None},
        {"_class": "ToolCall", "name": "boom", "arguments": {"a": 1}, "id": "c1"},
        {"_class": "TaskStep", "task": "x", "within": ["sub:1"]},
        {"_class": "ActionStep", "step_number": 1, "error": error},
    ]
    lines = [
        delta("hm"),
        call("boom", {"a": 1}, call_id="c1"),
        line("TaskStep", "sub:1", task="x"),
        line("ActionStep", step_number=1, error={"type": error["_exception"], "message": "kaput"}),
    ]
    assert parse(*objects) == parse(*lines)
    shaped = {"_class": "ToolCall", **lines[1]["data"]}
    assert parse(shaped) == parse(lines[1])
