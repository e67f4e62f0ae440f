"""The LangChain parser: the same run in its three streams, and what is peculiar to each of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from mobox import Recorder, StreamEvent, get_parser
from mobox.events import (
    Custom,
    Done,
    DoneReason,
    Error,
    File,
    InputRequest,
    Paused,
    Raw,
    Result,
    Retract,
    Source,
    Start,
    State,
    StepEnd,
    StepStart,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingEnd,
    TodoCreate,
    TodoDone,
    TodoUpdate,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from support.grammar_log import legal_log
from support.run_trees import Tree, tree_of

Line = dict[str, Any]
Events = list[StreamEvent]

RECORDINGS = Path(__file__).parent.parent / "recordings"


# What the packages write


def ai(name: str | None = "m1", content: Any = "", **fields: Any) -> Line:
    return {"type": "ai", "id": name, "content": content, **fields}


def chunk(name: str | None = "m1", content: Any = "", **fields: Any) -> Line:
    return {"type": "AIMessageChunk", "id": name, "content": content, **fields}


def called(call_id: str, name: str, **args: Any) -> Line:
    return {"id": call_id, "name": name, "args": args, "type": "tool_call"}


def answered(call_id: str, content: Any = "done", **fields: Any) -> Line:
    return {"type": "tool", "tool_call_id": call_id, "content": content, "name": "ls", **fields}


def human(words: str) -> Line:
    return {"type": "human", "content": words, "id": f"human {words}"}


def event(method: str, data: Any, *namespace: str, **params: Any) -> Line:
    params = {"namespace": list(namespace), "timestamp": 1, "data": data, **params}
    return {"type": "event", "method": method, "params": params}


def in_message(kind: str, *namespace: str, run: str = "r1", **data: Any) -> Line:
    return event("messages", [{"event": kind, **data}, {"run_id": run}], *namespace)


def begin(name: str = "m1", *namespace: str, run: str = "r1") -> Line:
    return in_message("message-start", *namespace, run=run, role="ai", id=name)


def block(index: int, kind: str, *namespace: str, run: str = "r1", **content: Any) -> Line:
    content = {"type": kind, **content}
    return in_message("content-block-start", *namespace, run=run, index=index, content=content)


def more(index: int, kind: str, *namespace: str, run: str = "r1", **delta: Any) -> Line:
    delta = {"type": kind, **delta}
    return in_message("content-block-delta", *namespace, run=run, index=index, delta=delta)


def finish(index: int, kind: str, *namespace: str, run: str = "r1", **content: Any) -> Line:
    content = {"type": kind, **content}
    return in_message("content-block-finish", *namespace, run=run, index=index, content=content)


def ending(reason: str = "end_turn", *namespace: str, run: str = "r1") -> Line:
    return in_message("message-finish", *namespace, run=run, metadata={"stop_reason": reason})


def tool(kind: str, call_id: str, *namespace: str, **data: Any) -> Line:
    return event("tools", {"event": kind, "tool_call_id": call_id, **data}, *namespace)


def on(kind: str, run: str, *parents: str, name: str = "", agent: str = "", **data: Any) -> Line:
    metadata = {"lc_agent_name": agent} if agent else {}
    return {
        "event": kind,
        "run_id": run,
        "parent_ids": list(parents),
        "name": name,
        "metadata": metadata,
        "data": data,
    }


def recorded(*lines: Any, framework: str = "langchain") -> Events:
    """The log of a run that printed these lines, read one by one and at once."""
    texts = [json.dumps(line).encode() + b"\n" for line in lines]
    one_by_one, at_once, by_value = (Recorder(framework) for _ in range(3))
    log = [entry for text in texts for entry in one_by_one.read(text)] + one_by_one.close()
    assert at_once.read(b"".join(texts)) + at_once.close() == log
    assert by_value.feed(lines) + by_value.close() == log
    events = [entry.event for entry in log]
    legal_log(events)
    return events


def fed(*lines: Any, prefix: str = "") -> Events:
    """The events of these lines, before the source ends."""
    parser = get_parser("langchain", prefix)
    return [event for line in lines for event in parser.feed(line)]


def of(kind: Any, log: Events) -> Any:
    return [event for event in log if isinstance(event, kind)]


def replayed(name: str) -> tuple[Events, Tree]:
    path = RECORDINGS / f"{name}.jsonl"
    recorder = Recorder(path.parent.name)
    log = recorder.read(path.read_bytes()) + recorder.close()
    events = [entry.event for entry in log]
    return events, tree_of(events)


# The same run, three times


SAME = {
    "deep": ("deepagents/callbacks", "deepagents/protocol", "deepagents/parts"),
    "tools": ("langchain/callbacks_tools", "langchain/protocol_tools", "langchain/parts_tools"),
    "hitl": ("langchain/callbacks_hitl", "langchain/protocol_hitl", "langchain/parts_hitl"),
    "fail": ("langchain/callbacks_fail", "langchain/parts_fail"),
}


@pytest.mark.parametrize("names", SAME.values(), ids=SAME)
def test_a_run_is_the_same_in_each_of_its_streams(names: tuple[str, ...]) -> None:
    first, *others = [replayed(name)[1] for name in names]
    for other in others:
        assert other == first


@pytest.mark.parametrize("name", SAME["deep"])
def test_deep_agent_emits_plan_subagents_thoughts_and_files(name: str) -> None:
    log, tree = replayed(name)
    assert list(tree.turns) == [(), ("toolu_ta",), ("toolu_tb",)]
    assert tree.text() == "Planning.Delegating.# Research Report\n\nA and B agree."
    assert tree.text(("toolu_ta",)) == "Searching A.A: finding one."
    assert tree.text(("toolu_tb",)) == "Searching B.B: finding two."
    assert tree.agents == {
        "toolu_ta": ((), "research-agent", "[[da_sub_a]] Research A", "ok"),
        "toolu_tb": ((), "research-agent", "[[da_sub_b]] Research B", "ok"),
    }
    assert [kind for kind, _, _ in tree.plans] == ["todo_create", "todo_update"]
    thoughts = [block[1] for block in tree.turns[("toolu_ta",)][1] if block[0] == "think"]
    assert thoughts == ["Found 2 sources on A."]
    displays = {call["name"]: call["display"] for call in tree.calls.values()}
    assert displays["write_todos"] == "todos"
    assert displays["task"] == "agent"
    assert displays["think_tool"] == "think"
    [file] = of(File, log)
    assert (file.name, file.media_type, file.size) == ("/report.md", "text/markdown", 9)
    assert of(State, log)[-1].value["files"]["/report.md"]["content"] == "# Report\n"
    assert of(Result, log) == [Result(text="# Research Report\n\nA and B agree.")]
    [start] = of(Start, log)
    assert (start.framework, start.agent, start.model) == (
        "deepagents",
        "orchestrator",
        "claude-sonnet-4-5",
    )
    assert of(Raw, log) == []


@pytest.mark.parametrize("name", SAME["hitl"])
def test_approval_is_requested_once_and_the_run_waits(name: str) -> None:
    log, tree = replayed(name)
    assert tree.asked == [("approval", "toolu_h1")]
    [request] = of(InputRequest, log)
    assert request.allowed == ("approve", "edit", "reject", "respond")
    assert request.resume == {"interrupt": request.id, "action": 0}
    assert of(Paused, log) == [Paused(request_ids=(request.id,))]
    assert tree.end == "waits"


@pytest.mark.parametrize(
    "path",
    [*RECORDINGS.glob("langchain/*"), *RECORDINGS.glob("deepagents/*")],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_only_lines_of_the_recorder_are_not_understood(path: Path) -> None:
    log, _ = replayed(f"{path.parent.name}/{path.stem}")
    assert {name for raw in of(Raw, log) for name in raw.raw} <= {
        *("_sum", "_after", "_content_blocks", "_tool_calls", "_usage", "_response_metadata"),
    }


def test_model_emits_the_same_events_in_both_streams() -> None:
    protocol, pieces = (replayed(f"langchain/{name}_everything") for name in ("protocol", "chunks"))
    for log, tree in (protocol, pieces):
        cited = [source for source in of(Source, log) if not source.id.startswith("srvtoolu")]
        assert tree.text() == (
            "I will search. Based on the results, safety work grew in 2026, and the document "
            "says Financial Management. "
        )
        assert [source.cited_text for source in cited] == [
            "Safety work grew in 2026.",
            "Financial Management",
        ]
        assert [thought.redacted for thought in of(Thinking, log)] == [False, True]
        assert [result.id for result in of(ToolResult, log)] == ["srvtoolu_01A"]
        assert of(Usage, log)[-1].input == 2580
        assert log[-1] == Done(reason="tool", native="tool_use")
    assert protocol[1].calls == pieces[1].calls


# The typed protocol


def test_a_block_ends_where_the_next_one_begins_not_in_the_burst_of_ends() -> None:
    log = recorded(
        begin(),
        block(0, "reasoning", reasoning=""),
        more(0, "reasoning-delta", reasoning="Hm."),
        block(1, "text", text=""),
        more(1, "text-delta", text="So."),
        finish(0, "reasoning", reasoning="Hm.", extras={"signature": "s"}),
        finish(1, "text", text="So.", annotations=[{"type": "citation", "url": "https://a.b/"}]),
        ending(),
    )
    assert [type(e) for e in log[2:8]] == [
        Thinking,
        type(log[3]),
        ThinkingEnd,
        Text,
        TextDelta,
        Source,
    ]
    assert of(Source, log) == [Source(id="m1:1", url="https://a.b/")]
    late = {"langchain": {"blocks": {"m1:0": {"signature": "s"}}}}
    assert of(StepEnd, log)[0].provider == late


def test_inputs_of_parallel_calls_may_alternate() -> None:
    log = recorded(
        begin(),
        block(0, "tool_call_chunk", id="a", name="ls", args=""),
        more(0, "tool-call-delta", args='{"x": '),
        block(1, "tool_call_chunk", id="b", name="ls", args=""),
        more(1, "tool-call-delta", args='{"y": 2}'),
        more(0, "tool-call-delta", args="1}"),
        finish(0, "tool_call", id="a", name="ls", args={"x": 1}),
        finish(1, "tool_call", id="b", name="ls", args={"y": 2}),
        ending("tool_use"),
    )
    assert {end.id: end.input for end in of(ToolUseEnd, log)} == {"a": {"x": 1}, "b": {"y": 2}}


def test_invalid_json_input_is_emitted_unchanged() -> None:
    log = recorded(
        begin(),
        block(0, "tool_call_chunk", id="a", name="ls", args=""),
        more(0, "tool-call-delta", args='{"x": '),
        finish(0, "invalid_tool_call", id="a", name="ls", args='{"x": ', error="cut"),
        ending("max_tokens"),
    )
    assert of(ToolUseEnd, log) == [ToolUseEnd(id="a", invalid='{"x": ')]


def test_a_tool_that_does_not_exist_gets_its_result_from_the_state() -> None:
    past = event("values", {"messages": [human("go")]})
    calls = [called("a", "nope")]
    error = answered("a", "Error: nope is not a valid tool", status="error", id="t1")
    log = recorded(
        past,
        begin(),
        block(0, "tool_call_chunk", id="a", name="nope", args="{}"),
        ending("tool_use"),
        event("values", {"messages": [human("go"), ai("m1", "", tool_calls=calls), error]}),
        event("values", {"messages": [human("go"), ai("m1", "", tool_calls=calls), error]}),
    )
    [result] = of(ToolResult, log)
    assert (result.status, result.output) == ("error", "Error: nope is not a valid tool")
    assert tree_of(log).end == "stop"


def test_a_command_is_its_message_its_plan_and_its_state() -> None:
    update = {
        "messages": [answered("a", "Updated")],
        "todos": [{"content": "one", "status": "in_progress"}],
    }
    log = recorded(
        begin(),
        block(0, "tool_call_chunk", id="a", name="write_todos", args="{}"),
        ending("tool_use"),
        tool("tool-started", "a", tool_name="write_todos", input={}),
        tool("tool-output-delta", "a", delta="half"),
        tool("tool-finished", "a", output={"update": update, "goto": [], "graph": None}),
    )
    assert [(r.output, r.partial) for r in of(ToolResult, log)] == [
        ("half", True),
        ("Updated", False),
    ]
    assert len(of(TodoCreate, log)) == 1


def test_plan_is_sent_as_changes() -> None:
    def written(*statuses: str) -> Line:
        todos = [{"content": f"step {n}", "status": s} for n, s in enumerate(statuses)]
        return {"ns": [], "mode": "updates", "data": {"tools": {"todos": todos}}}

    log = recorded(
        written("pending", "pending"),
        written("pending", "pending"),
        written("in_progress", "pending"),
        written("completed", "in_progress"),
        written("completed", "completed"),
    )
    kinds = [type(e) for e in log if isinstance(e, TodoCreate | TodoUpdate | TodoDone)]
    assert kinds == [TodoCreate, TodoUpdate, TodoDone, TodoDone]
    assert of(TodoDone, log)[0].item == "step 0"


def test_child_may_emit_before_its_start_is_emitted() -> None:
    child = "tools:1"
    cause = {"type": "toolCall", "tool_call_id": "a"}
    log = recorded(
        event("values", {"messages": [human("go")]}),
        begin(),
        block(0, "tool_call_chunk", id="a", name="task", args='{"description": "find"}'),
        ending("tool_use"),
        event("values", {"messages": [human("find")]}, child),
        event(
            "lifecycle",
            {"event": "started", "namespace": [child], "graph_name": "scout", "cause": cause},
        ),
        begin("m2", child, run="r2"),
        block(0, "text", child, run="r2", text="Found."),
        ending("end_turn", child, run="r2"),
        tool("tool-finished", "a", output=answered("a", "Found.")),
        event("lifecycle", {"event": "completed", "namespace": [child]}),
    )
    assert of(SubagentStart, log) == [SubagentStart(id="a", agent="scout", task="find")]
    assert of(SubagentEnd, log) == [SubagentEnd(id="a", agent="scout")]
    assert of(Text, log) == [Text(id="m2:0", scope=("a",))]


def test_graph_without_a_call_emits_for_its_parent() -> None:
    node = "research:1"
    log = recorded(
        event("lifecycle", {"event": "started", "namespace": [node], "graph_name": "research"}),
        begin("m1", node),
        block(0, "text", node, text="Hi"),
        ending("end_turn", node),
        event("lifecycle", {"event": "failed", "namespace": [node]}),
    )
    assert of(StepStart, log)[0].kind == "node"
    assert of(StepEnd, log)[-1] == StepEnd(id=node, status="error")
    assert of(Text, log)[0].scope == ()


def test_a_model_that_a_tool_calls_is_not_the_answer() -> None:
    metadata = {"run_id": "r2", "langgraph_checkpoint_ns": "tools:7"}
    start = {"event": "message-start", "role": "ai", "id": "m2"}
    log = recorded(
        begin(),
        block(0, "tool_call_chunk", id="a", name="summarise", args="{}"),
        ending("tool_use"),
        tool("tool-started", "a", tool_name="summarise", input={}),
        event("messages", [start, metadata]),
        event("messages", [{"event": "message-finish"}, metadata]),
        tool("tool-finished", "a", output="short"),
    )
    assert [step.scope for step in of(StepStart, log)] == [(), ("a",)]
    assert [result.output for result in of(ToolResult, log)] == ["short"]


def test_an_error_within_a_message_ends_it_and_the_run() -> None:
    log = recorded(
        begin(),
        block(0, "text", text="So"),
        in_message("error", message="Overloaded", code="overloaded_error"),
    )
    assert of(Error, log) == [Error(message="Overloaded", code="overloaded", retryable=True)]
    assert log[-1] == Done(reason="error")


def in_node(kind: str, run: str, **data: Any) -> Line:
    metadata = {"run_id": run, "langgraph_checkpoint_ns": "model:1", "langgraph_step": 1}
    return event("messages", [{"event": kind, **data}, metadata])


@pytest.mark.parametrize("error", [[], [in_node("error", "r1", message="Overloaded")]])
def test_interrupted_message_is_retracted_when_its_node_retries(error: Any) -> None:
    text = {"type": "text", "text": "So"}
    log = recorded(
        in_node("message-start", "r1", id="m1"),
        in_node("content-block-start", "r1", index=0, content=text),
        *error,
        in_node("message-start", "r2", id="m2"),
        in_node("content-block-start", "r2", index=0, content=text),
        in_node("message-finish", "r2", metadata={"stop_reason": "end_turn"}),
    )
    assert of(Retract, log) == [Retract(blocks=("m1:0",), reason="retry")]
    assert log[-1] == Done(reason="stop", native="end_turn")


def test_parallel_nodes_retract_nothing() -> None:
    def piece(name: str, content: str, **fields: Any) -> list[Any]:
        metadata = {"langgraph_checkpoint_ns": f"node:{name}", "langgraph_step": 1}
        return ["messages", [chunk(name, content, **fields), metadata]]

    log = recorded(
        piece("a", "one "),
        piece("b", "two "),
        piece("a", "three", chunk_position="last"),
        piece("b", "four", chunk_position="last"),
    )
    assert tree_of(log).turns == {(): [[["text", "one three"]], [["text", "two four"]]]}
    assert of(Retract, log) == []


@pytest.mark.parametrize(
    ("name", "reason"), [("GraphRecursionError", "max_turns"), ("CancelledError", "interrupted")]
)
def test_some_exceptions_are_ends_of_their_own(name: str, reason: DoneReason) -> None:
    log = recorded(begin(), ending(), {"_exception": name, "str": "over"})
    assert log[-1] == Done(reason=reason, native=name)


def test_raised_exception_ends_the_run() -> None:
    raised = {"_exception": "ValueError", "str": "boom"}
    log = recorded(
        begin(),
        block(0, "tool_call_chunk", id="a", name="boom", args="{}"),
        ending("tool_use"),
        tool("tool-error", "a", message="boom"),
        raised,
    )
    assert of(ToolResult, log) == [ToolResult(id="a", output="boom", status="error")]
    assert log[-1] == Done(reason="error")


def test_interrupted_message_is_truncated() -> None:
    log = recorded(begin(), block(0, "text", text=""), more(0, "text-delta", text="So"))
    assert log[-2:] == [
        StepEnd(id="m1", status="interrupted"),
        Done(reason="truncated"),
    ]


def test_interrupt_is_a_request_in_each_of_its_forms() -> None:
    ask = {"id": "i1", "value": "Which city?"}
    requested = event("input.requested", {"interrupt_id": "i2", "payload": {"question": "Sure?"}})
    state = event("values", {"messages": []}, interrupts=[ask])
    log = recorded(
        begin(), ending(), state, requested, {"_interrupted": True, "_interrupts": [ask]}
    )
    assert [(r.id, r.kind, r.prompt) for r in of(InputRequest, log)] == [
        ("i1", "question", "Which city?"),
        ("i2", "question", "Sure?"),
    ]
    assert log[-1] == Paused(request_ids=("i1", "i2"))


def test_call_of_a_tool_of_the_page_is_a_request_for_its_result() -> None:
    call = {"frontend_tool": {"tool_call_id": "a", "name": "show"}}
    messages = {"messages": [ai(tool_calls=[called("a", "show", what="map")])]}
    interrupts = [{"id": "i", "value": call}, {"id": "j", "value": {"frontend_tool": "other"}}]
    log = recorded(["updates", {"model": messages, "__interrupt__": interrupts}])
    assert [(r.id, r.kind, r.tool_call_id) for r in of(InputRequest, log)] == [
        ("i", "tool", "a"),
        ("j", "input", None),
    ]


def test_several_calls_are_approved_one_by_one() -> None:
    calls = [called("a", "rm", path="/x"), called("b", "rm", path="/y")]
    actions = [{"name": "rm", "args": call["args"]} for call in reversed(calls)]
    interrupt = {"id": "i", "value": {"actionRequests": actions, "reviewConfigs": []}}
    log = recorded(
        ["updates", {"model": {"messages": [ai(tool_calls=calls)]}, "__interrupt__": [interrupt]}]
    )
    assert [(r.id, r.tool_call_id) for r in of(InputRequest, log)] == [("i:0", "b"), ("i:1", "a")]
    assert log[-1] == Paused(request_ids=("i:0", "i:1"))


OLD_ACTION = {"action": "rm", "args": {"path": "/x"}}
OLD_FLAGS = {"allow_accept": True, "allow_edit": True, "allow_ignore": False, "allow_respond": True}


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ({"reviewConfigs": [{"actionName": "rm", "allowedDecisions": ["edit"]}]}, ("edit",)),
        ({"review_configs": [{"action_name": "ls", "allowed_decisions": ["edit"]}]}, ()),
        ({"review_configs": [{"action_name": "rm", "allowed_decisions": "edit"}]}, ()),
        ({"review_configs": [{"action_name": "rm", "allowed_decisions": ["edit", 1]}]}, ("edit",)),
        ([{"action_request": OLD_ACTION, "config": OLD_FLAGS}], ("approve", "edit", "respond")),
        ([{"action_request": OLD_ACTION, "config": {}}], ()),
        ([{"action_request": OLD_ACTION}], ()),
    ],
)
def test_allowed_decisions_of_a_call_are_sent(value: Any, allowed: tuple[str, ...]) -> None:
    actions = {"action_requests": [{"name": "rm", "args": {"path": "/x"}}]}
    whole = {**actions, **value} if isinstance(value, dict) else value
    messages = {"messages": [ai(tool_calls=[called("a", "rm", path="/x")])]}
    log = recorded(["updates", {"model": messages, "__interrupt__": [{"id": "i", "value": whole}]}])
    [request] = of(InputRequest, log)
    assert (request.tool_call_id, request.allowed) == ("a", allowed)


def test_breakpoint_before_tools_requests_approval_of_the_calls() -> None:
    calls = [called("a", "rm")]
    log = recorded(
        ["updates", {"model": {"messages": [ai(tool_calls=calls)]}}],
        ["updates", {"__interrupt__": []}],
    )
    assert [r.tool_call_id for r in of(InputRequest, log)] == ["a"]
    assert isinstance(log[-1], Paused)


def test_events_after_a_pause_do_not_end_the_run() -> None:
    interrupt = {"id": "i", "value": "Go on?"}
    log = recorded(["updates", {"__interrupt__": [interrupt]}], ["custom", {"progress": 1}])
    assert [type(event) for event in log[1:]] == [InputRequest, Paused, Custom, Paused]


# Attempts


RESUMED = [
    event(
        "values",
        {"messages": [human("go"), ai("m0", "Sure.", tool_calls=[called("a", "rm", path="/x")])]},
    ),
    tool("tool-started", "a", tool_name="rm", input={"path": "/x"}),
    tool("tool-finished", "a", output=answered("a", "gone")),
]


def test_past_call_is_emitted_when_it_runs() -> None:
    events = fed(*RESUMED)
    assert events == [
        Start(framework="langchain"),
        ToolUseStart(id="a", name="rm"),
        ToolUseEnd(id="a", input={"path": "/x"}),
        ToolResult(id="a", output="gone"),
    ]


def test_later_attempt_emits_only_the_result() -> None:
    assert fed(*RESUMED, prefix="2.")[1:] == [ToolResult(id="a", output="gone")]


def test_rejected_call_is_denied() -> None:
    why = answered("a", "User rejected the tool call for `rm` with id a", status="error", id="t")
    events = fed(
        RESUMED[0], ["updates", {"HumanInTheLoopMiddleware": {"messages": [why]}}], prefix="2."
    )
    assert [result.status for result in of(ToolResult, events)] == ["denied"]


# LangGraph's parts


FORMS: dict[str, Any] = {
    "tuple": lambda mode, data: [mode, data],
    "with a namespace": lambda mode, data: [[], mode, data],
    "an object": lambda mode, data: {"ns": [], "mode": mode, "data": data},
    "a stream part": lambda mode, data: {"type": mode, "ns": [], "data": data},
    "one mode": lambda _mode, data: data,
    "one mode with subgraphs": lambda _mode, data: [[], data],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_part_may_come_in_any_form(form: Any) -> None:
    metadata = {"langgraph_step": 1, "langgraph_checkpoint_ns": "model:1"}
    log = recorded(
        form("values", {"messages": [human("go")]}),
        form("messages", [chunk(content="Hel"), metadata]),
        form("messages", [chunk(content="lo", chunk_position="last"), metadata]),
        form("updates", {"model": {"messages": [ai(content="Hello")]}}),
        form("values", {"messages": [human("go"), ai(content="Hello")]}),
    )
    tree = tree_of(log)
    assert tree.turns == {(): [[["text", "Hello"]]]}
    assert log[-2:] == [Result(text="Hello"), Done(reason="stop")]


@pytest.mark.parametrize("mode", ["updates", "values"])
def test_unstreamed_message_is_emitted_whole(mode: str) -> None:
    state = {
        "messages": [ai(content=[{"type": "text", "text": "Hi"}], tool_calls=[called("a", "ls")])]
    }
    after = {"messages": [*state["messages"], answered("a", id="t")]}
    parts: dict[str, list[Line]] = {
        "updates": [{"model": state}, {"tools": after}],
        "values": [{"messages": []}, state, after],
    }
    log = recorded(*([mode, part] for part in parts[mode]))
    tree = tree_of(log)
    assert tree.turns == {(): [[["text", "Hi"], ["call", "a"]]]}
    assert tree.calls["a"]["output"] == "done"


def test_agent_without_a_call_id_is_found_by_its_task() -> None:
    calls = [
        called("a", "task", description="find A", subagent_type="scout"),
        called("b", "task", description="find B", subagent_type="scout"),
    ]
    metadata = {"lc_agent_name": "scout"}
    log = recorded(
        [[], "updates", {"model": {"messages": [ai(tool_calls=calls)]}}],
        [["tools:2"], "values", {"messages": [human("find B")]}],
        [["tools:1"], "values", {"messages": [human("find A")]}],
        [["tools:2"], "messages", [chunk("m2", "B it is"), metadata]],
        [["tools:1"], "messages", [chunk("m3", "A it is"), metadata]],
        [[], "updates", {"tools": {"messages": [answered("b", id="x"), answered("a", id="y")]}}],
    )
    tree = tree_of(log)
    assert tree.text(("a",)) == "A it is"
    assert tree.text(("b",)) == "B it is"
    assert [end.interrupted for end in of(TextEnd, log)] == [False, False]
    assert tree.end == "stop"
    assert {agent[1:] for agent in tree.agents.values()} == {
        ("scout", "find A", "ok"),
        ("scout", "find B", "ok"),
    }


def test_agents_may_spawn_agents() -> None:
    def task(task_id: str, call_id: str, *namespace: str) -> list[Any]:
        return [
            list(namespace),
            "tasks",
            {"id": task_id, "name": "tools", "input": [called(call_id, "task")]},
        ]

    log = recorded(
        [[], "updates", {"model": {"messages": [ai("m1", tool_calls=[called("a", "task")])]}}],
        task("1", "a"),
        [
            ["tools:1"],
            "updates",
            {"model": {"messages": [ai("m2", tool_calls=[called("b", "task")])]}},
        ],
        task("2", "b", "tools:1"),
        [["tools:1", "tools:2"], "updates", {"model": {"messages": [ai("m3", "deep")]}}],
        [["tools:1"], "updates", {"tools": {"messages": [answered("b", id="x")]}}],
        [[], "updates", {"tools": {"messages": [answered("a", id="y")]}}],
    )
    assert [(e.id, e.scope) for e in of(SubagentStart, log)] == [("a", ()), ("b", ("a",))]
    assert tree_of(log).text(("a", "b")) == "deep"


def test_id_of_the_provider_that_comes_late_is_the_same_message() -> None:
    metadata = {"langgraph_step": 1, "langgraph_checkpoint_ns": "model:1"}
    log = recorded(
        ["messages", [chunk("run-1"), metadata]],
        ["messages", [chunk("msg_1"), metadata]],
        ["messages", [chunk("run-1", "Hi"), metadata]],
        ["values", {"messages": []}],
        ["values", {"messages": [ai("msg_1", "Hi")]}],
    )
    assert tree_of(log).turns == {(): [[["text", "Hi"]]]}
    assert log[-1] == Done(reason="stop")


def test_rest_of_the_state_is_sent_when_it_changes() -> None:
    log = recorded(
        ["values", {"messages": [], "topic": None}],
        ["values", {"messages": [], "topic": "tea"}],
        ["values", {"messages": [], "topic": "tea"}],
        ["updates", {"node": {"topic": "tea"}}],
    )
    assert of(State, log) == [State(mode="snapshot", value={"topic": "tea"})]
    patched = recorded(
        ["updates", {"node": {"topic": "tea"}}], ["updates", {"node": {"topic": "tea"}}]
    )
    assert of(State, patched) == [State(mode="patch", value={"topic": "tea"})]


# The callbacks


def test_a_tools_call_is_found_through_its_parent() -> None:
    calls = [called("a", "ls", path="/"), called("b", "ls", path="/")]
    log = recorded(
        on("on_chain_start", "root"),
        on("on_chat_model_end", "model", "root", output=ai(tool_calls=calls)),
        on("on_chain_start", "n2", "root", name="tools", input=[calls[1]]),
        on("on_tool_start", "t2", "root", "n2", name="ls", input={"path": "/"}),
        on("on_custom_event", "t2", "root", "n2", name="progress", done=1),
        on("on_tool_error", "t2", "root", "n2", name="ls", error={"_exception": "E", "str": "no"}),
        on("on_tool_start", "t1", "root", name="ls", input={"path": "/"}),
        on("on_tool_end", "t1", "root", name="ls", output="etc"),
        on("on_chain_end", "root", output={"messages": []}),
    )
    assert {r.id: (r.output, r.status) for r in of(ToolResult, log)} == {
        "b": ("no", "error"),
        "a": ("etc", "ok"),
    }
    assert of(Custom, log) == [Custom(name="progress", value={"done": 1})]


def test_tool_run_without_a_model_call_is_emitted() -> None:
    log = recorded(
        on("on_tool_start", "t1", name="ls", input={"path": "/"}),
        on("on_tool_end", "t1", name="ls", output="etc"),
    )
    assert of(ToolUseStart, log) == [ToolUseStart(id="t1", name="ls")]
    assert of(ToolResult, log) == [ToolResult(id="t1", output="etc")]


def test_a_retriever_is_a_search_with_its_sources() -> None:
    found = {"page_content": "Tea.", "metadata": {"source": "https://a.b/", "title": "T"}}
    log = recorded(
        on("on_retriever_start", "s", name="Store", input={"query": "tea"}),
        on("on_retriever_end", "s", name="Store", output=[{"_lc": "Document", **found}]),
    )
    assert of(ToolUseEnd, log) == [ToolUseEnd(id="s", input={"query": "tea"})]
    assert of(Source, log) == [Source(id="s", url="https://a.b/", title="T", cited_text="Tea.")]


def test_documents_that_a_tool_returns_as_its_artifact_are_sources() -> None:
    pages = [
        {"page_content": "Tea.", "metadata": {"source": "https://a.b/", "title": "T"}},
        {"page_content": "Milk.", "metadata": {"source": "notes/milk.md"}},
    ]
    call = ai(tool_calls=[called("a", "look")])
    log = recorded(call, answered("a", "Tea. Milk.", artifact=pages), answered("a", "Tea. Milk."))
    assert of(Source, log) == [
        Source(id="a", url="https://a.b/", title="T", cited_text="Tea."),
        Source(id="a", document="notes/milk.md", cited_text="Milk."),
    ]


def in_stream(line: Line, *namespace: str) -> Line:
    """A line of `mobox.emitter` that came through the graph's stream."""
    params = {"namespace": list(namespace), "data": {"mobox_line": line}}
    return {"type": "event", "method": "custom", "params": params}


def test_lines_that_tools_emit_into_the_stream_have_the_scope_of_their_agent() -> None:
    calls = [called("a", "task", description="A"), called("b", "task", description="B")]
    tasks = [
        {"method": "tasks", "params": {"namespace": [], "data": {"id": f"t{n}", "input": call}}}
        for n, call in enumerate(calls)
    ]
    thoughts = [
        in_stream({"type": "think", "data": {"thought": f"Of {name}."}}, f"tools:t{n}")
        for n, name in enumerate("ab")
    ]
    chart = in_stream({"type": "custom", "data": {"name": "chart", "value": 1}})
    log = recorded(ai(tool_calls=calls), *tasks, *reversed(thoughts), chart)
    assert [(t.content, t.scope) for t in of(Thinking, log)] == [
        ("Of b.", ("b",)),
        ("Of a.", ("a",)),
    ]
    assert [(c.value, c.scope) for c in of(Custom, log) if c.name == "chart"] == [(1, ())]
    assert of(Raw, log) == []
    odd = in_stream({"type": "unheard-of"})
    assert [raw.raw for raw in of(Raw, recorded(odd))] == [odd]


def test_thought_of_a_call_is_not_repeated_by_the_line_in_the_stream() -> None:
    line = {"type": "think", "data": {"thought": "Hm."}}
    call = ai(tool_calls=[called("a", "think_tool", thought="Hm.")])
    assert [t.id for t in of(Thinking, recorded(call, in_stream(line)))] == ["a:thought"]


def test_plan_of_an_earlier_run_is_not_emitted() -> None:
    def state(*statuses: str) -> list[Any]:
        todos = [{"content": str(n), "status": status} for n, status in enumerate(statuses)]
        return ["values", {"messages": [], "todos": todos}]

    old, new, done = (
        state("completed"),
        state("in_progress", "pending"),
        state("completed", "pending"),
    )
    log = recorded(old, old, new, done)
    assert [type(event) for event in of((TodoCreate, TodoUpdate, TodoDone), log)] == [
        TodoCreate,
        TodoDone,
    ]
    later = get_parser("langchain", "2.")
    events = [event for line in (new, new, done) for event in later.feed(line)]
    assert [type(event) for event in of((TodoCreate, TodoDone), events)] == [TodoDone]


def test_node_that_forwards_an_old_message_emits_nothing() -> None:
    old = ai("old", "Said long ago.")
    stream = on("on_chain_stream", "n", "root", name="gate", chunk={"messages": [old]})
    stream["metadata"] = {"langgraph_node": "gate"}
    log = recorded(
        on("on_chain_start", "root"),
        on("on_chain_start", "n", "root", name="gate", input={"messages": [old]}),
        stream,
        on("on_chain_end", "root", output={"messages": [old, ai("new", "Done.")]}),
    )
    assert of(Text, log) == []
    assert of(Result, log) == [Result(text="Done.")]


def test_text_of_a_model_that_is_no_chat_model_is_an_answer() -> None:
    log = recorded(
        on("on_llm_start", "l"),
        on("on_llm_stream", "l", chunk={"text": "Once "}),
        on("on_llm_stream", "l", chunk="upon"),
        on("on_llm_end", "l", output={"generations": []}),
    )
    assert tree_of(log).text() == "Once upon"
    assert log[-1] == Done(reason="stop")


# Bare messages


DUMPS = {
    "model_dump": chunk(content="Hi", response_metadata={"finish_reason": "length"}),
    "dumps": {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessageChunk"],
        "kwargs": chunk(content="Hi", response_metadata={"finish_reason": "length"}),
    },
    "_lc": {
        "_lc": "AIMessageChunk",
        **chunk(content="Hi", response_metadata={"stop_reason": "length"}),
    },
}


@pytest.mark.parametrize("line", DUMPS.values(), ids=DUMPS)
def test_a_bare_message_may_come_in_any_form(line: Line) -> None:
    log = recorded(line)
    assert tree_of(log).text() == "Hi"
    assert log[-1] == Done(reason="length", native="length")


@pytest.mark.parametrize("usage", [{"input_tokens": "5"}, 7], ids=str)
def test_invalid_usage_does_not_lose_the_text(usage: Any) -> None:
    end = in_message("message-finish", usage=usage, metadata={"stop_reason": "end_turn"})
    for lines in (
        [chunk(content="Hi", usage_metadata=usage), chunk(chunk_position="last")],
        [begin(), block(0, "text", text="Hi"), end],
    ):
        log = recorded(*lines)
        assert "".join(event.delta for event in of(TextDelta, log)) == "Hi"
        assert [(raw.raw, raw.source[:9]) for raw in of(Raw, log)] == [(usage, "malformed")]
        assert [end.status for end in of(StepEnd, log)] == ["ok"]


def test_shares_of_the_usage_add_up() -> None:
    first = {"input_tokens": 10, "output_tokens": 0, "total_tokens": 10}
    rest = {"input_tokens": 0, "output_tokens": 5, "total_tokens": 5}
    log = recorded(chunk(usage_metadata=first), chunk(usage_metadata=rest, chunk_position="last"))
    assert of(Usage, log)[-1] == Usage(id="m1", input=10, output=5, total=15)


CONTENTS: list[tuple[Any, Line, list[Any]]] = [
    ("Hi", {}, [["text", "Hi"]]),
    ([{"type": "text", "text": "Hi", "index": 0}], {}, [["text", "Hi"]]),
    (["Hi"], {}, [["text", "Hi"]]),
    ([{"type": "thinking", "thinking": "Hm", "index": 0}], {}, [["model", "Hm"]]),
    ([{"type": "reasoning", "reasoning": "Hm"}], {}, [["model", "Hm"]]),
    ([{"type": "reasoning", "summary": [{"text": "Hm"}]}], {}, [["model", "Hm"]]),
    ([{"type": "reasoning_content", "reasoning_content": {"text": "Hm"}}], {}, [["model", "Hm"]]),
    ("", {"additional_kwargs": {"reasoning_content": "Hm"}}, [["model", "Hm"]]),
    ([], {"additional_kwargs": {"reasoning": {"summary": [{"text": "Hm"}]}}}, [["model", "Hm"]]),
    ([{"type": "refusal", "refusal": "No"}], {}, [["text", "No"]]),
    ([{"type": "non_standard", "value": {"type": "text", "text": "Hi"}}], {}, [["text", "Hi"]]),
]


@pytest.mark.parametrize("whole", [False, True], ids=["pieces", "whole"])
@pytest.mark.parametrize(("content", "beside", "expected"), CONTENTS)
def test_content_may_come_in_any_form(
    content: Any, beside: Line, expected: list[Any], whole: bool
) -> None:
    write = ai if whole else chunk
    assert tree_of(recorded(write(content=content, **beside))).turns == {(): [expected]}


def test_images_are_files_and_unknown_parts_are_kept() -> None:
    image = {"type": "image", "base64": "aGk=", "mime_type": "image/gif"}
    link = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    odd = {"type": "hologram"}
    log = recorded(ai(content=[image, link, odd]))
    assert [(f.media_type, f.base64) for f in of(File, log)] == [
        ("image/gif", "aGk="),
        ("image/png", "aGk="),
    ]
    assert of(Raw, log) == [Raw(raw=odd)]


def test_an_image_that_a_tool_returns_is_a_file() -> None:
    image = {"type": "image", "base64": "aGk=", "mime_type": "image/gif"}
    log = recorded(ai(tool_calls=[called("a", "look")]), answered("a", [image], artifact={"n": 1}))
    assert of(File, log) == [File(id="a", media_type="image/gif", base64="aGk=")]
    [result] = of(ToolResult, log)
    assert result.output == [{"type": "image", "media_type": "image/gif"}]
    assert result.structured == {"n": 1}


@pytest.mark.parametrize(
    ("native", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("refusal", "refusal"),
    ],
)
def test_stop_reasons_of_all_providers_are_mapped(native: str, reason: DoneReason) -> None:
    log = recorded(ai(content="Hi", response_metadata={"finish_reason": native}))
    assert log[-1] == Done(reason=reason, native=native)


# Everything else


@pytest.mark.parametrize(
    "line",
    [
        7,
        [],
        ["values", 7],
        [["ns"], "hm", {}],
        {"type": "event", "method": "unheard-of", "params": {}},
        {"event": "on_something_new", "run_id": "r"},
        {"type": "custom", "ns": "no list", "data": 1},
        {"_sum": {}},
    ],
)
def test_unparsed_content_is_kept(line: Any) -> None:
    assert fed(line) == [Raw(raw=line)]


def test_malformed_line_is_kept_with_its_reason() -> None:
    [raw] = of(Raw, fed(event("tools", {"event": "tool-started"})))
    assert "tool_call_id" in raw.source


def test_the_simplified_lines_are_read_too() -> None:
    log = recorded(
        {"type": "subagent_start", "data": {"name": "scout", "task": "find"}},
        {"type": "search", "data": {"query": "tea", "topic": "general"}},
        {"type": "text", "data": {"content": "Hi"}},
        framework="deepagents",
    )
    assert [type(e) for e in log[1:4]] == [SubagentStart, ToolUseStart, ToolUseEnd]
    assert [e.delta for e in of(TextDelta, log)] == ["Hi"]
    assert len(of(TextEnd, log)) == 1


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ({"type": "bash_code_execution_result", "stdout": "", "return_code": 0}, "ok"),
        ({"type": "bash_code_execution_result", "stderr": "no", "return_code": 1}, "error"),
        ({"type": "web_search_tool_result_error", "error_code": "unavailable"}, "error"),
    ],
    ids=str,
)
def test_failed_hosted_tool_is_marked_as_failed(output: Any, status: str) -> None:
    block = {"type": "bash_code_execution_tool_result", "tool_use_id": "t", "content": output}
    [result] = [event for event in fed(ai(content=[block])) if isinstance(event, ToolResult)]
    assert (result.status, result.output) == (status, output)


# Thoughts that a tool prints as well

THOUGHT = "Found 2 sources on A."
PRINTED = {"type": "think", "data": {"id": "think_ab", "thought": THOUGHT}}


def printed_at(place: int, recording: list[bytes]) -> Events:
    """A recording in which the think tool of a subagent prints its thought at this place."""
    recorder = Recorder("deepagents")
    lines = [*recording[:place], json.dumps(PRINTED).encode() + b"\n", *recording[place:]]
    return [entry.event for entry in recorder.read(b"".join(lines)) + recorder.close()]


@pytest.mark.parametrize("name", ["callbacks", "parts", "protocol"])
def test_thought_printed_by_a_think_tool_is_emitted_once_in_its_scope(name: str) -> None:
    recording = (RECORDINGS / f"deepagents/{name}.jsonl").read_bytes().splitlines(keepends=True)
    mentions = [place for place, line in enumerate(recording) if b"toolu_th1" in line]
    for place in range(mentions[0] + 1, mentions[-1] + 1):
        events = printed_at(place, recording)
        thoughts = [event for event in of(Thinking, events) if event.content == THOUGHT]
        assert [thought.scope for thought in thoughts] == [("toolu_ta",)], place
        assert not [raw for raw in of(Raw, events) if raw.source == "told before"]


def test_same_thought_of_two_calls_is_emitted_for_each() -> None:
    calls = [{"id": name, "name": "think_tool", "args": {"thought": "Hm"}} for name in "ab"]
    line = {"type": "think", "data": {"thought": "Hm"}}
    for lines in ([ai(tool_calls=calls), line, line], [line, line, ai(tool_calls=calls)]):
        assert [event.content for event in of(Thinking, fed(*lines))] == ["Hm", "Hm"]
