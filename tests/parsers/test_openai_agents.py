"""The OpenAI parser on the Agents SDK."""

import json
from typing import Any

import pytest

from mobox import get_parser
from mobox.events import (
    Done,
    DoneReason,
    InputRequest,
    InputResponse,
    Paused,
    Raw,
    Result,
    Start,
    SubagentEnd,
    SubagentStart,
    Text,
    TodoCreate,
    TodoDone,
    TodoItem,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from parsers.openai_lines import (
    Line,
    added,
    created,
    done,
    ended,
    event,
    logged,
    of,
    ran,
    raw,
    run,
    text_of,
)

AGENT: Line = {"type": "agent_updated_stream_event", "new_agent": "a"}
CALL = {"call_id": "c", "name": "f", "arguments": "{}"}
CALLED = [
    AGENT,
    *map(raw, [created(), added(0, "function_call", **CALL), done(0, "function_call", **CALL)]),
    raw(ended()),
    ran("tool_call_item", {"type": "function_call", **CALL}),
]
ANSWERED = [
    raw(created("r2")),
    raw(event("output_text.delta", content_index=0, delta="Hi")),
    raw(ended(name="r2")),
    ran(
        "message_output_item",
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
    ),
]


def output(value: Any, call: str = "c") -> Line:
    return ran("tool_call_output_item", {"call_id": call, "output": str(value)}, output=value)


def left(**more: Any) -> Line:
    return {"__result__": True, "interruptions": [], **more}


def test_both_names_parse_the_same_and_keep_their_name() -> None:
    assert get_parser("openai-agents").feed(AGENT) == [Start(framework="openai-agents", agent="a")]
    assert get_parser("openai").feed(AGENT) == [Start(framework="openai", agent="a")]


def test_repetitions_in_run_items_are_emitted_once() -> None:
    said = run(*CALLED, output(21), *ANSWERED, left(final_output="Hi", current_turn=2))
    assert [start.id for start in of(ToolUseStart, said)] == ["c"]
    assert of(ToolResult, said) == [ToolResult(id="c", output=21)]
    assert text_of(said) == "Hi"
    assert of(Result, said) == [Result(text="Hi", num_turns=2)]
    assert said[-1] == Done(reason="stop", native="completed")


def test_run_items_are_emitted_where_nothing_is_streamed() -> None:
    items = [
        line for line in [*CALLED, output(21), *ANSWERED] if line["type"] != "raw_response_event"
    ]
    said = run(*items)
    assert [start.id for start in of(ToolUseStart, said)] == ["c"]
    assert of(ToolUseEnd, said) == [ToolUseEnd(id="c", input={})]
    assert text_of(said) == "Hi"


def test_a_hand_off_is_a_call_with_a_result() -> None:
    call = {"call_id": "h", "name": "transfer_to_b", "arguments": "{}"}
    moved = ran("handoff_output_item", {"call_id": "h", "output": '{"assistant": "b"}'})
    said = run(
        AGENT,
        raw(created()),
        raw(done(0, "function_call", **call)),
        moved,
        {**AGENT, "new_agent": "b"},
    )
    assert of(ToolUseStart, said)[0].kind == "handoff"
    assert of(ToolResult, said) == [ToolResult(id="h", output='{"assistant": "b"}')]
    assert [start.agent for start in of(Start, said)] == ["a", "b"]


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ("fine", "ok"),
        ("Tool execution was not approved.", "denied"),
        ("An error occurred while running the tool. Please try again.", "error"),
    ],
)
def test_messages_of_the_sdk_give_the_status_of_a_call(told: str, status: str) -> None:
    assert of(ToolResult, run(*CALLED, output(told)))[0].status == status


def test_a_call_that_a_person_is_to_approve_pauses_the_run() -> None:
    asked = {"type": "tool_approval_item", "tool_name": "f", "call_id": "c", "arguments": "{}"}
    said = logged(*CALLED, left(interruptions=[asked], state={"$schemaVersion": "1"}))
    assert said[-2:] == [
        InputRequest(id="c", tool_call_id="c"),
        Paused(request_ids=("c",), resume={"$schemaVersion": "1"}),
    ]


def test_pause_is_emitted_once() -> None:
    said = run(*CALLED, left(interruptions=[{"call_id": "c", "tool_name": "f"}]))
    assert of(Paused, said) == [Paused(request_ids=("c",))]


def test_call_that_the_page_runs_is_a_request_for_its_result() -> None:
    asked = {"kind": "tool", "tool_name": "f", "call_id": "c", "arguments": "{}"}
    said = logged(*CALLED, left(interruptions=[asked]))
    assert of(InputRequest, said) == [InputRequest(id="c", kind="tool", tool_call_id="c")]


def test_request_about_an_unknown_call_emits_the_call() -> None:
    asked = {"raw_item": {"call_id": "x", "name": "g", "arguments": '{"a": 1}'}}
    said = run(AGENT, left(interruptions=[asked]))
    assert of(ToolUseStart, said) == [ToolUseStart(id="x", name="g")]
    assert of(ToolUseEnd, said) == [ToolUseEnd(id="x", input={"a": 1})]


def test_hosted_call_requested_twice_is_requested_once() -> None:
    item = {"id": "q", "name": "ask", "arguments": "{}", "server_label": "s"}
    asked = {"call_id": "q", "raw": item}
    request = {**done(0, "mcp_approval_request", **item)}
    said = logged(
        AGENT,
        raw(created()),
        raw(request),
        raw(ended()),
        ran("mcp_approval_request_item", item),
        left(interruptions=[asked]),
    )
    assert len(of(InputRequest, said)) == 1
    assert of(Paused, said) == [Paused(request_ids=("q",))]


def test_answer_by_the_program_is_emitted() -> None:
    answer = {"approval_request_id": "q", "approve": False}
    said = run(AGENT, ran("mcp_approval_response_item", answer))
    assert of(InputResponse, said) == [InputResponse(id="q", decision="denied")]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("MaxTurnsExceeded", "max_turns"),
        ("InputGuardrailTripwireTriggered", "content_filter"),
        ("OutputGuardrailTripwireTriggered", "content_filter"),
        ("ModelRefusalError", "refusal"),
        ("ModelBehaviorError", "error"),
        ("APIConnectionError", "error"),
    ],
)
def test_an_exception_is_how_the_run_ended(name: str, reason: DoneReason) -> None:
    said = run(*CALLED, {"__exception__": name, "message": "why"}, left())
    assert said[-1] == Done(reason=reason, native=name)
    assert of(Result, said)[0].is_error is (reason == "error")


def test_error_of_the_api_is_not_repeated() -> None:
    raised = {"__exception__": "ModelBehaviorError", "message": "busy"}
    said = run(AGENT, raw(created()), raw({"type": "error", "message": "busy"}), raised)
    assert of(Raw, said) == [Raw(raw=raised, source="told before")]


def test_a_response_that_was_cut_off_ends_the_run_for_that_reason() -> None:
    cut = ended("incomplete", incomplete_details={"reason": "max_output_tokens"})
    said = run(AGENT, raw(created()), raw(cut), {"__exception__": "ModelBehaviorError"})
    assert said[-1] == Done(reason="length", native="max_output_tokens")


def test_a_run_that_breaks_off_before_a_result_proposes_no_end() -> None:
    assert of(Done, run(*CALLED)) == []


def test_the_use_of_the_whole_run_comes_with_what_it_leaves() -> None:
    details = {"cached_tokens": 1, "cache_write_tokens": 2}
    usage = {
        "input_tokens": 3,
        "output_tokens": 4,
        "total_tokens": 7,
        "input_tokens_details": details,
    }
    assert of(Usage, run(AGENT, left(usage=usage))) == [
        Usage(per="run", input=3, output=4, total=7, cache_read=1, cache_write=2)
    ]


@pytest.mark.parametrize("told", [{"call_id": "c", "name": "f"}, "f", {"name": "f"}])
def test_agent_as_tool_emits_in_the_scope_of_its_call(told: Any) -> None:
    def inner(line: Line) -> Line:
        return {"event": line, "agent": {"name": "b"}, "tool_call": told}

    said = run(*CALLED, *map(inner, [AGENT, *ANSWERED]), output("Hi"))
    assert [(start.id, start.agent) for start in of(SubagentStart, said)] == [("c", "b")]
    assert of(SubagentEnd, said) == [SubagentEnd(id="c", agent="b")]
    assert [text.scope for text in of(Text, said)] == [("c",)]
    assert text_of(said) == ""


def plan(call: str, *statuses: str) -> list[Line]:
    todos = [{"content": f"step {n}", "status": status} for n, status in enumerate(statuses)]
    given = {"call_id": call, "name": "write_todos", "arguments": json.dumps({"todos": todos})}
    return [raw(done(ord(call), "function_call", **given)), output("shown", call)]


def test_todos_that_are_written_are_the_plan() -> None:
    said = run(
        AGENT,
        raw(created()),
        *plan("a", "in_progress", "pending"),
        *plan("b", "completed", "in_progress"),
        *plan("c", "completed", "in_progress"),
        *within(raw(created("r2")), *plan("i", "pending")),
    )
    assert [start.display for start in of(ToolUseStart, said)] == ["todos"] * 4
    (first, inner), (second,) = of(TodoCreate, said), of(TodoDone, said)
    assert first.items == (
        TodoItem(content="step 0", status="in_progress"),
        TodoItem(content="step 1"),
    )
    assert (second.item, second.index) == ("step 0", 0)
    assert inner.scope == ("c",)


def test_todos_of_another_form_are_only_a_call() -> None:
    given = {"call_id": "a", "name": "write_todos", "arguments": '{"todos": "none"}'}
    said = run(AGENT, raw(created()), raw(done(0, "function_call", **given)))
    assert not of(TodoCreate, said)
    assert of(ToolUseEnd, said)[0].input == {"todos": "none"}


def within(*lines: Line) -> list[Line]:
    """Lines of an agent that is the tool of the call `c`."""
    about = {"agent": {"name": "b"}, "tool_call": {"call_id": "c", "name": "f"}}
    return [{"event": line, **about} for line in lines]


INNER_CALL = {"call_id": "i", "name": "g", "arguments": "{}"}


def test_request_of_an_inner_agent_has_the_scope_of_its_call() -> None:
    inner = within(*map(raw, [created("r2"), done(0, "function_call", **INNER_CALL)]))
    said = run(*CALLED, *inner, left(interruptions=[{"call_id": "i", "tool_name": "g"}]))
    assert [start.id for start in of(ToolUseStart, said)] == ["c", "i"]
    assert of(InputRequest, said) == [InputRequest(id="i", scope=("c",), tool_call_id="i")]
    assert said[-1] == Paused(request_ids=("i",))


def test_inner_agent_that_goes_on_after_a_pause_is_not_started_again() -> None:
    said = run(AGENT, *within(output("fine", "i")), output("Hi"), prefix="2.")
    assert of(SubagentStart, said) == []
    assert of(SubagentEnd, said) == [SubagentEnd(id="c", agent="b")]
    assert [(result.id, result.scope) for result in of(ToolResult, said)] == [
        ("i", ("c",)),
        ("c", ()),
    ]


@pytest.mark.parametrize(
    "origin", [{"type": "agent_as_tool", "agent_name": "b"}, "ToolOrigin(agent_name='b')"]
)
def test_origin_of_a_tool_marks_it_as_an_agent(origin: Any) -> None:
    item = ran("tool_call_item", {**CALL, "arguments": '{"input": "do"}'}, tool_origin=origin)
    said = run(*CALLED[:-1], item)
    assert of(SubagentStart, said) == [SubagentStart(id="c", agent="b", task="do")]


def test_a_request_about_no_call_costs_neither_the_result_nor_the_other_requests() -> None:
    said = run(AGENT, left(interruptions=[{}, {"call_id": "c", "tool_name": "f"}]))
    assert of(Raw, said) == [Raw(raw={})]
    assert len(of(Result, said)) == 1
    assert said[-1] == Paused(request_ids=("c",))


def test_a_nested_line_without_its_event_is_raw() -> None:
    line = {"event": "raw_response_event", "agent": "b", "tool_call": "nobody"}
    assert of(Raw, run(AGENT, line)) == [Raw(raw=line)]
