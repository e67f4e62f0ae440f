"""The Claude parser on Claude Code's stream-json lines, and on the Agent SDK's objects."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mobox import Recorder, StreamEvent, get_parser
from mobox.capture.jsonlines import JsonLines
from mobox.events import (
    Done,
    DoneReason,
    Error,
    EventType,
    File,
    InputRequest,
    InputResponse,
    Outcome,
    Paused,
    Raw,
    Result,
    Retract,
    Start,
    Status,
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
    TodoItem,
    TodoUpdate,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.waiting import LETS_WAIT
from mobox.parsers.values import NOT_SHOWN
from support.grammar_log import legal_log

Line = dict[str, Any]
Lines = list[Line]
Events = list[StreamEvent]

FOLDER = Path(__file__).parent.parent / "recordings" / "claude"


# What the program writes

INIT: Line = {"type": "system", "subtype": "init", "model": "claude", "session_id": "s"}


def system(subtype: str, **about: Any) -> Line:
    return {"type": "system", "subtype": subtype, **about}


def streamed(*events: Line, parent: str | None = None) -> Lines:
    return [{"type": "stream_event", "event": e, "parent_tool_use_id": parent} for e in events]


def begin(name: str) -> Line:
    return {"type": "message_start", "message": {"id": name, "model": "claude"}}


def opened(index: int, kind: str, **block: Any) -> Line:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **block}}


def more(index: int, kind: str, **change: Any) -> Line:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **change}}


def stopped(index: int) -> Line:
    return {"type": "content_block_stop", "index": index}


def ending(reason: str | None = "end_turn") -> Lines:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}},
        {"type": "message_stop"},
    ]


def text_block(index: int, *pieces: str) -> Lines:
    deltas = [more(index, "text_delta", text=piece) for piece in pieces]
    return [opened(index, "text", text=""), *deltas, stopped(index)]


def message(name: str, *pieces: str, reason: str | None = "end_turn") -> Lines:
    """A message of text, streamed from its start to its stop."""
    return streamed(begin(name), *text_block(0, *pieces), *ending(reason))


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def tool(name: str, tool_id: str, **arguments: Any) -> Line:
    return {"type": "tool_use", "id": tool_id, "name": name, "input": arguments}


def whole(name: str | None, *content: Line, parent: str | None = None, **about: Any) -> Line:
    message = {"id": name, "model": "claude", "content": list(content)}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, **about}


def synthetic(words: str, **about: Any) -> Line:
    message = {"id": "made-up", "model": "<synthetic>", "content": [text(words)]}
    return {"type": "assistant", "message": message, **about}


def user(*content: Line, parent: str | None = None, **about: Any) -> Line:
    message = {"role": "user", "content": list(content)}
    return {"type": "user", "message": message, "parent_tool_use_id": parent, **about}


def output(tool_id: str, content: Any = "done", is_error: bool = False) -> Line:
    return {
        "type": "tool_result",
        "tool_use_id": tool_id,
        "content": content,
        "is_error": is_error,
    }


def result(**about: Any) -> Line:
    return {"type": "result", "subtype": "success", "is_error": False, **about}


def can_use_tool(request_id: str, tool_id: str | None, name: str = "Bash", **about: Any) -> Line:
    request = {"subtype": "can_use_tool", "tool_name": name, "tool_use_id": tool_id, **about}
    return {"type": "control_request", "request_id": request_id, "request": request}


def started(task_id: str, tool_id: str | None = None, **about: Any) -> Line:
    return system("task_started", task_id=task_id, tool_use_id=tool_id, **about)


def notified(task_id: str, status: str | None = "completed", **about: Any) -> Line:
    return system("task_notification", task_id=task_id, status=status, **about)


# What the parser emits


def fed(*lines: Any, prefix: str = "") -> Events:
    """The events of these lines, before the source ends."""
    parser = get_parser("claude", prefix)
    return [event for line in lines for event in parser.feed(line)]


def last_of(*lines: Any) -> Events:
    """The events of the last of these lines."""
    parser = get_parser("claude")
    for line in lines[:-1]:
        parser.feed(line)
    return parser.feed(lines[-1])


def closed(*lines: Line) -> Events:
    """What the parser adds when the source ends after these lines."""
    parser = get_parser("claude")
    for line in lines:
        parser.feed(line)
    return parser.close()


def log_of(*lines: Line) -> Events:
    """The whole run, which is a legal one."""
    recorder = Recorder("claude")
    log = [entry.event for entry in [*recorder.feed(lines), *recorder.close()]]
    legal_log(log)
    return log


def answers(log: Events) -> list[str]:
    """The text blocks of the root that stay."""
    gone = {block for event in log if isinstance(event, Retract) for block in event.blocks}
    texts: dict[str | None, str] = {}
    for event in log:
        if isinstance(event, Text | TextDelta) and not event.scope and event.id not in gone:
            piece = event.content if isinstance(event, Text) else event.delta
            texts[event.id] = texts.get(event.id, "") + piece
    return list(texts.values())


def of_type(events: Sequence[StreamEvent], *types: type[StreamEvent]) -> Events:
    return [event for event in events if isinstance(event, types)]


# Blocks are emitted once, streamed or whole


def test_block_streamed_and_repeated_whole_is_emitted_once() -> None:
    lines = streamed(begin("m"), *text_block(0, "Hel", "lo")[:-1])
    lines += [whole("m", text("Hello")), *streamed(stopped(0), *ending())]
    assert fed(INIT, *lines) == [
        Start(framework="claude", model="claude", session_id="s"),
        StepStart(id="m", number=1),
        Text(id="m:0"),
        TextDelta(id="m:0", delta="Hel"),
        TextDelta(id="m:0", delta="lo"),
        TextEnd(id="m:0"),
        StepEnd(id="m", reason="end_turn"),
    ]


def test_message_that_arrives_whole_is_emitted_whole() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "Eq"}
    assert fed(whole("m", thought, text("Hello"), tool("ls", "t", path="."))) == [
        StepStart(id="m", number=1),
        Thinking(id="m:0", content="Hm."),
        ThinkingEnd(id="m:0", provider={"anthropic": {"signature": "Eq"}}),
        Text(id="m:1", content="Hello"),
        TextEnd(id="m:1"),
        ToolUseStart(id="t", name="ls"),
        ToolUseEnd(id="t", input={"path": "."}),
    ]


def test_a_message_whose_blocks_come_a_line_each_is_one_turn() -> None:
    lines = [whole("m1", text("a")), whole("m1", text("b")), whole("m2", text("c"))]
    assert fed(*lines) == [
        StepStart(id="m1", number=1),
        Text(id="m1:0", content="a"),
        TextEnd(id="m1:0"),
        Text(id="m1:1", content="b"),
        TextEnd(id="m1:1"),
        StepEnd(id="m1"),
        StepStart(id="m2", number=2),
        Text(id="m2:0", content="c"),
        TextEnd(id="m2:0"),
    ]


def test_a_whole_message_without_an_id_is_the_one_that_is_being_streamed() -> None:
    words = streamed(begin("m"), *text_block(0, "Hello")[:-1])
    assert last_of(*words, whole(None, text("Hello"))) == []
    after = [*words, *streamed(stopped(0), *ending()), whole(None, text("More."))]
    assert of_type(last_of(*after), Text) == [Text(id="message_1:0", content="More.")]


def test_whole_messages_without_an_id_are_one_each_and_counted() -> None:
    steps = of_type(fed(whole(None, text("a")), whole(None, text("b")), prefix="2."), StepStart)
    assert [step.id for step in steps] == ["2.message_1", "2.message_2"]


CALLING = streamed(
    begin("m"),
    opened(0, "tool_use", id="t", name="ls", input={}),
    more(0, "input_json_delta", partial_json='{"path":'),
)


def test_the_input_of_a_tool_is_complete_before_its_block_stops() -> None:
    end = ToolUseEnd(id="t", input={"path": "."})
    assert last_of(*CALLING, whole("m", tool("ls", "t", path="."))) == [end]
    stop = streamed(stopped(0))
    assert last_of(*CALLING, whole("m", tool("ls", "t", path=".")), *stop) == []


def test_a_result_may_come_before_the_block_of_its_call_stops() -> None:
    emitted = [whole("m", tool("ls", "t", path=".")), user(output("t", "a.txt"))]
    log = log_of(*CALLING, *emitted, *streamed(stopped(0), *ending("tool_use")), result())
    assert of_type(log, ToolUseStart, ToolUseDelta, ToolUseEnd, ToolResult, Raw) == [
        ToolUseStart(id="t", name="ls"),
        ToolUseDelta(id="t", delta='{"path":'),
        ToolUseEnd(id="t", input={"path": "."}),
        ToolResult(id="t", output="a.txt"),
    ]


def test_of_two_streamed_calls_only_the_whole_one_is_complete() -> None:
    second = streamed(opened(1, "tool_use", id="u", name="ls", input={}))
    assert last_of(*CALLING, *second, whole("m", tool("ls", "u"))) == [ToolUseEnd(id="u", input={})]


# A message that broke off is sent again


def broken(name: str, *pieces: str) -> Lines:
    return message(name, *pieces, reason=None)


def test_interrupted_message_is_retracted_when_another_follows() -> None:
    tries = streamed(begin("m1"), *text_block(0, "Once"), *text_block(1, "upon"), *ending(None))
    assert last_of(*tries, *streamed(begin("m2"))) == [
        Retract(blocks=("m1:0", "m1:1"), reason="retry"),
        StepStart(id="m2", number=2),
    ]


def test_a_message_may_be_interrupted_twice_in_a_row() -> None:
    retry = system("api_retry", attempt=1, max_retries=10, error="overloaded")
    log = log_of(*broken("m1", "O"), retry, *broken("m2", "On"), *message("m3", "Once."), result())
    assert of_type(log, Retract) == [
        Retract(blocks=("m1:0",), reason="retry"),
        Retract(blocks=("m2:0",), reason="retry"),
    ]
    assert answers(log) == ["Once."]


def test_text_before_a_broken_message_is_kept() -> None:
    log = log_of(*message("m1", "First."), *broken("m2", "Sec"), *message("m3", "Second."))
    assert answers(log) == ["First.", "Second."]


def test_a_message_that_was_interrupted_stays() -> None:
    interrupt = result(is_error=True, subtype="error_during_execution")
    log = log_of(*broken("m1", "Once"), interrupt, *message("m2", "Again."), result())
    assert of_type(log, Retract) == []
    assert answers(log) == ["Once", "Again."]


def test_a_tool_that_has_its_result_is_not_retracted() -> None:
    emitted = [whole("m", tool("ls", "t", path=".")), user(output("t"))]
    lines = [*CALLING, *emitted, *streamed(stopped(0), *text_block(1, "So"), *ending(None))]
    assert of_type(log_of(*lines, *message("m2", "So.")), Retract) == [
        Retract(blocks=("m:1",), reason="retry")
    ]


# Messages that the program makes up


def test_error_sent_as_a_message_is_an_error() -> None:
    log = log_of(synthetic("API Error: Overloaded", error="unknown"), result(is_error=True))
    error = Error(message="API Error: Overloaded", code="overloaded", retryable=True)
    assert of_type(log, Error, Text) == [error]
    assert log[-1] == Done(reason="error", native="success")


@pytest.mark.parametrize(
    ("kind", "words", "code", "retryable"),
    [
        (
            "rate_limit",
            "API Error: Request rejected (429)",
            "rate_limited",
            True,
        ),
        ("server_error", "API Error: 529 Overloaded. Try again.", "overloaded", True),
        ("server_error", "API Error: Connection refused (ECONNREFUSED)", "network", True),
        ("unknown", "API Error: Request timed out.", "timeout", True),
        ("authentication_failed", "Invalid API key", "auth", False),
        ("billing_error", "Credit balance is too low", "budget", False),
        ("invalid_request", "Prompt is too long", "context_length", False),
        ("invalid_request", "API Error: 400 No such model", "invalid_request", None),
        ("unknown", "What?", "unknown", None),
    ],
)
def test_error_has_the_code_of_its_kind(
    kind: str, words: str, code: str, retryable: bool | None
) -> None:
    [error] = of_type(fed(synthetic(words, error=kind)), Error)
    assert error == Error(message=words, code=code, retryable=retryable)


@pytest.mark.parametrize("about", [{"error": "unknown"}, {"is_api_error_message": True}])
def test_error_without_message_has_a_text(about: Line) -> None:
    line = synthetic("", **about)
    line["message"]["content"] = [{"type": "image"}]
    [error] = of_type(fed(line), Error)
    assert error == Error(message="The model failed.", code=about.get("error"))


def test_error_of_a_subagent_does_not_end_the_run() -> None:
    failed = synthetic("No", error="unknown", parent_tool_use_id="t")
    log = log_of(AGENT, failed, result(is_error=True, errors=["Broke."]))
    assert of_type(log, Error) == [
        Error(scope=("t",), message="No", code="unknown"),
        Error(message="Broke.", code="success"),
    ]


def test_text_of_the_program_is_text_unless_it_is_an_error() -> None:
    log = log_of(synthetic("Context: 12 of 200k tokens"), result())
    assert answers(log) == ["Context: 12 of 200k tokens"]
    assert log[-1] == Done(reason="stop", native="end_turn")


# How a run ends

ENDS: list[tuple[str, Line, str | None, DoneReason, str | None]] = [
    ("by its own word", {"stop_reason": "end_turn"}, None, "stop", "end_turn"),
    ("without a word", {"stop_reason": None}, None, "stop", "end_turn"),
    ("after a tool", {"stop_reason": "tool_use"}, None, "stop", "tool_use"),
    ("cut off", {"stop_reason": "max_tokens"}, None, "length", "max_tokens"),
    (
        "max turns",
        {"is_error": True, "subtype": "error_max_turns", "stop_reason": "tool_use"},
        None,
        "max_turns",
        "error_max_turns",
    ),
    (
        "max turns, by another name",
        {"is_error": True, "subtype": "error", "terminal_reason": "max_turns"},
        None,
        "max_turns",
        "max_turns",
    ),
    (
        "interrupted during its answer",
        {"is_error": True, "subtype": "error_x", "terminal_reason": "aborted_streaming"},
        None,
        "interrupted",
        "aborted_streaming",
    ),
    (
        "interrupted while its tools ran",
        {"is_error": True, "subtype": "error_x", "terminal_reason": "aborted_tools"},
        None,
        "interrupted",
        "aborted_tools",
    ),
    (
        "refused, and called a success",
        {"is_error": True, "stop_reason": "refusal", "terminal_reason": "api_error"},
        "invalid_request",
        "refusal",
        "refusal",
    ),
    (
        "too long, and called a success",
        {"is_error": True, "stop_reason": "stop_sequence", "terminal_reason": "api_error"},
        "max_output_tokens",
        "length",
        "max_output_tokens",
    ),
    (
        "failed, and called a success",
        {"is_error": True, "stop_reason": "stop_sequence", "terminal_reason": "api_error"},
        "unknown",
        "error",
        "api_error",
    ),
    ("failed", {"is_error": True, "subtype": "error_x"}, None, "error", "error_x"),
    ("failed without a word", {"is_error": True, "subtype": ""}, None, "error", None),
]


@pytest.mark.parametrize(
    ("about", "error", "reason", "native"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS]
)
def test_a_run_ends(about: Line, error: str | None, reason: DoneReason, native: str | None) -> None:
    emitted = [synthetic("API Error", error=error)] if error else []
    assert log_of(INIT, *emitted, result(**about))[-1] == Done(reason=reason, native=native)


FAILURES: list[tuple[Line, str]] = [
    ({"errors": ["One.", "Two."], "result": "x"}, "One.\nTwo."),
    ({"errors": [], "result": "Broke."}, "Broke."),
    ({"subtype": "error_x"}, "error_x"),
    ({"subtype": ""}, "The session failed."),
]


@pytest.mark.parametrize(("about", "message"), FAILURES)
def test_failure_is_reported_with_the_best_message(about: Line, message: str) -> None:
    [error] = of_type(fed(result(**{"is_error": True, **about})), Error)
    assert isinstance(error, Error)
    assert error.message == message


def test_each_failure_is_reported_once() -> None:
    first = [synthetic("Overloaded", error="unknown"), result(is_error=True)]
    second = [*message("m2", "x"), result(is_error=True, subtype="error_x", errors=["Broke."])]
    log = log_of(*message("m1", "y"), *first, *second)
    assert of_type(log, Error) == [
        Error(message="Overloaded", code="overloaded", retryable=True),
        Error(message="Broke.", code="error_x"),
    ]


def test_an_error_of_an_earlier_turn_does_not_end_a_later_one() -> None:
    first = [synthetic("Too long", error="max_output_tokens"), result(is_error=True)]
    second = [*message("m2", "x"), result(is_error=True, subtype="error_x")]
    assert log_of(*first, *second)[-1] == Done(reason="error", native="error_x")


def test_a_result_is_not_the_end() -> None:
    lines = [*message("m1", "Wait."), result(result="Wait."), INIT, *message("m2", "Done.")]
    log = log_of(INIT, *lines, result(result="Done."))
    assert [event.text for event in log if isinstance(event, Result)] == ["Wait.", "Done."]
    assert answers(log) == ["Wait.", "Done."]
    assert of_type(log, Done) == [Done(reason="stop", native="end_turn")]


@pytest.mark.parametrize("line", [streamed(begin("m2"))[0], whole("m2", text("Wh"))])
def test_turn_interrupted_after_a_result_is_truncated(line: Line) -> None:
    assert closed(INIT, *message("m1", "Wait."), result(), line) == []
    assert log_of(INIT, *message("m1", "Wait."), result(), line)[-1] == Done(reason="truncated")


def test_run_interrupted_after_an_idle_session_is_truncated() -> None:
    idle = system("session_state_changed", state="idle")
    lines = [INIT, *message("m1", "Wait."), result(), idle]
    assert log_of(*lines)[-1] == Done(reason="stop", native="end_turn")
    assert log_of(*lines, whole("m2", text("Wh")))[-1] == Done(reason="truncated")


def test_a_session_without_a_result_is_truncated() -> None:
    assert log_of(INIT, *message("m", "Hello"))[-1] == Done(reason="truncated")


def test_the_end_is_proposed_when_the_session_is_idle() -> None:
    idle, running = (system("session_state_changed", state=s) for s in ("idle", "running"))
    assert fed(idle, running) == []
    assert last_of(result(), idle) == [Done(reason="stop", native="end_turn")]
    assert last_of(result(), running) == []


def test_result_reports_its_duration() -> None:
    about: Line = {"duration_ms": 12, "num_turns": 2, "session_id": "s", "total_cost_usd": 0.5}
    assert fed(result(result="Hi", **about)) == [
        Result(text="Hi", duration_ms=12, num_turns=2, session_id="s", cost_usd=0.5)
    ]
    assert of_type(fed(result(is_error=True)), Result) == [Result(is_error=True)]


def test_a_result_ends_the_last_turn() -> None:
    assert fed(whole("m", text("Hi")), result())[-2:] == [StepEnd(id="m"), Result()]


USE: Line = {
    "inputTokens": 10,
    "outputTokens": 5,
    "cacheReadInputTokens": 200,
    "cacheCreationInputTokens": 3000,
}


def test_usage_of_the_run_is_that_of_its_models() -> None:
    [usage, _] = fed(result(modelUsage={"claude": USE}, total_cost_usd=0.5))
    assert usage == Usage(
        per="run",
        input=3210,
        output=5,
        cache_read=200,
        cache_write=3000,
        cost_usd=0.5,
        model="claude",
    )


def test_several_models_are_added_up() -> None:
    [usage, _] = fed(result(modelUsage={"a": USE, "b": {**USE, "thinkingTokens": 3}}))
    assert usage == Usage(
        per="run", input=6420, output=10, cache_read=400, cache_write=6000, reasoning=3
    )


@pytest.mark.parametrize("models", [None, {}])
def test_result_without_usage_has_none(models: Any) -> None:
    assert of_type(fed(result(modelUsage=models)), Usage) == []


def usages_in(*lines: Line) -> list[Usage]:
    return [event for event in fed(*lines) if isinstance(event, Usage)]


SPENT = {"input_tokens": 10, "output_tokens": 20, "service_tier": "standard"}


def test_usage_of_a_result_counts_without_its_models() -> None:
    [usage, _] = fed(result(usage=SPENT, total_cost_usd=0.5))
    assert usage == Usage(per="run", input=10, output=20, cost_usd=0.5, service_tier="standard")


def test_usage_of_a_result_includes_its_cache() -> None:
    cached = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 3}
    details = {"output_tokens_details": {"thinking_tokens": 5}}
    [usage, _] = fed(result(usage={**SPENT, **cached, **details}))
    assert usage == Usage(
        per="run",
        input=113,
        output=20,
        cache_read=100,
        cache_write=3,
        reasoning=5,
        service_tier="standard",
    )


def test_models_of_a_result_outweigh_its_usage() -> None:
    [usage, _] = fed(result(modelUsage={"claude": USE}, usage=SPENT))
    assert usage == fed(result(modelUsage={"claude": USE}))[0]


def test_usage_of_results_is_the_sum_over_their_turns() -> None:
    usages = usages_in(result(usage=SPENT), *message("m", "x"), result(usage=SPENT))
    assert [(usage.input, usage.output) for usage in usages] == [(10, 20), (20, 40)]


def test_usage_of_a_result_has_that_of_subagents_beside_it() -> None:
    spawns = whole("m", tool("Task", "t", prompt="go"))
    line = whole("n", text("I am the subagent"), parent="t")
    line["message"]["usage"] = {"input_tokens": 3, "output_tokens": 4}
    usage = usages_in(spawns, line, line, result(usage=SPENT))[-1]
    assert (usage.per, usage.input, usage.output) == ("run", 13, 24)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0, "output_tokens": 0}])
def test_result_that_counted_nothing_leaves_what_messages_used(usage: Any) -> None:
    line = whole("m", text("x"))
    line["message"]["usage"] = {"input_tokens": 3, "output_tokens": 4}
    assert {used.per for used in usages_in(line, result(usage=usage))} == {"call"}


def test_usage_that_cannot_be_read_is_raw() -> None:
    [raw, ended] = fed(result(usage={"input_tokens": "many"}))
    assert isinstance(raw, Raw)
    assert isinstance(ended, Result)


# Subagents

AGENT = whole("m", tool("Agent", "t", subagent_type="researcher", prompt="Look."))
SUBAGENT_STARTED = SubagentStart(id="t", agent="researcher", task="Look.")
RESEARCHER = started(
    "task", "t", task_type="local_agent", subagent_type="researcher", prompt="Look."
)


def test_the_lines_of_a_subagent_are_in_its_scope() -> None:
    nested = [
        whole("n", text("Hm."), tool("Bash", "u", command="ls"), parent="t"),
        user(output("u", "a.txt"), parent="t"),
    ]
    assert fed(AGENT, RESEARCHER, *nested)[3:] == [
        SUBAGENT_STARTED,
        StepStart(id="n", scope=("t",), number=1),
        Text(id="n:0", scope=("t",), content="Hm."),
        TextEnd(id="n:0", scope=("t",)),
        ToolUseStart(id="u", scope=("t",), name="Bash", kind="shell"),
        ToolUseEnd(id="u", scope=("t",), input={"command": "ls"}),
        ToolResult(id="u", scope=("t",), output="a.txt"),
    ]


def test_a_subagent_of_a_subagent_is_in_the_scope_of_both() -> None:
    inner = started("task2", "u", subagent_type="scout", prompt="Dig.")
    lines = [AGENT, RESEARCHER, whole("n", tool("Agent", "u"), parent="t"), inner]
    deep = whole("o", text("Deep."), parent="u")
    log = log_of(*lines, deep, notified("task2"), notified("task"), user(output("t")), result())
    assert SubagentStart(id="u", scope=("t",), agent="scout", task="Dig.") in log
    assert Text(id="o:0", scope=("t", "u"), content="Deep.") in log
    assert of_type(log, SubagentEnd) == [
        SubagentEnd(id="u", scope=("t",), agent="scout"),
        SubagentEnd(id="t", agent="researcher"),
    ]


def test_subagent_that_emits_before_its_announcement_starts_once() -> None:
    words = whole("n", text("Hm."), parent="t")
    assert fed(AGENT, words)[3] == SUBAGENT_STARTED
    assert of_type(fed(AGENT, words, RESEARCHER, words), SubagentStart) == [SUBAGENT_STARTED]
    prompt = user(text("Look."), parent="t")
    assert last_of(AGENT, prompt) == [
        SUBAGENT_STARTED,
        Raw(scope=("t",), raw=prompt, source=NOT_SHOWN),
    ]


def test_subagent_with_an_empty_call_is_an_agent() -> None:
    call = whole("m", tool("Task", "t", subagent_type=7, prompt=None))
    start = last_of(call, whole("n", parent="t"))[0]
    assert start == SubagentStart(id="t", agent="agent")


@pytest.mark.parametrize(("failed", "status"), [(False, "ok"), (True, "error")])
def test_unannounced_subagent_ends_with_its_call(failed: bool, status: Outcome) -> None:
    lines = [AGENT, whole("n", text("Hm."), parent="t"), user(output("t", "Seen.", failed))]
    end = SubagentEnd(id="t", agent="researcher", status=status)
    assert of_type(fed(*lines), SubagentEnd) == [end]
    assert of_type(fed(AGENT, lines[1], RESEARCHER, lines[2]), SubagentEnd) == []


def test_a_subagent_in_the_background_outlives_the_result_of_its_call() -> None:
    began = {**RESEARCHER, "is_backgrounded": True}
    late = whole("n", text("Late."), parent="t")
    lines = [AGENT, began, user(output("t", "launched")), *message("m2", "Wait."), result(), late]
    log = log_of(*lines, notified("task", summary="Found."), *message("m3", "Done."), result())
    assert replace(SUBAGENT_STARTED, background=True) in log
    end = SubagentEnd(id="t", agent="researcher", summary="Found.")
    assert log.index(Text(id="n:0", scope=("t",), content="Late.")) < log.index(end)
    assert answers(log) == ["Wait.", "Done."]


def test_output_of_a_subagent_without_call_is_nested() -> None:
    assert of_type(fed(whole("n", text("Hm."), parent="t")), Text, SubagentStart) == [
        Text(id="n:0", scope=("t",), content="Hm.")
    ]


def test_the_last_turn_of_a_subagent_ends_with_it() -> None:
    words = whole("n", text("Hm."), parent="t")
    assert last_of(AGENT, RESEARCHER, words, notified("task", summary="Seen.")) == [
        StepEnd(id="n", scope=("t",)),
        SubagentEnd(id="t", agent="researcher", summary="Seen."),
    ]


OUTCOMES: list[tuple[str | None, Outcome]] = [
    ("completed", "ok"),
    ("failed", "error"),
    ("killed", "interrupted"),
    ("stopped", "interrupted"),
    ("cancelled", "interrupted"),
    ("dreaming", "unknown"),
    (None, "unknown"),
]


@pytest.mark.parametrize(("status", "outcome"), OUTCOMES)
def test_a_task_ends(status: str | None, outcome: Outcome) -> None:
    agent = last_of(AGENT, RESEARCHER, notified("task", status))
    assert agent == [SubagentEnd(id="t", agent="researcher", status=outcome)]
    command = last_of(started("b", task_type="local_bash"), notified("b", status))
    assert command == [StepEnd(id="b", status=outcome)]


@pytest.mark.parametrize(("status", "outcome"), OUTCOMES[:-2])
def test_a_task_may_end_without_a_notification(status: str, outcome: Outcome) -> None:
    updated = system("task_updated", task_id="task", patch={"status": status})
    assert fed(AGENT, RESEARCHER, updated)[4:] == []
    end = SubagentEnd(id="t", agent="researcher", status=outcome)
    assert closed(AGENT, RESEARCHER, updated) == [end]


def test_a_task_that_is_updated_and_notified_of_ends_once() -> None:
    updated = system("task_updated", task_id="task", patch={"status": "completed"})
    other = system("task_updated", task_id="other", patch={"status": "completed"})
    lines = [AGENT, RESEARCHER, updated, other, notified("task", summary="Seen.")]
    assert of_type(log_of(*lines, user(output("t")), result()), SubagentEnd) == [
        SubagentEnd(id="t", agent="researcher", summary="Seen.")
    ]


def test_a_task_that_is_only_running_is_interrupted_by_the_end() -> None:
    running = system("task_updated", task_id="task", patch={"status": "running"})
    log = log_of(AGENT, RESEARCHER, running, user(output("t")), result())
    assert of_type(log, SubagentEnd) == [
        SubagentEnd(id="t", agent="researcher", status="interrupted")
    ]


def test_end_of_an_unknown_task_is_raw() -> None:
    line = notified("task", summary="Seen.")
    assert fed(line) == [Raw(raw=line)]


def test_a_command_in_the_background_is_a_step() -> None:
    call = whole("m", tool("Bash", "t", command="sleep 9", run_in_background=True))
    began = started("b", "t", task_type="local_bash", description="Sleep")
    assert last_of(call, began) == [StepStart(id="b", kind="task", name="Sleep")]
    lines = [call, began, user(output("t", "running")), notified("b", summary="exit 0"), result()]
    assert of_type(log_of(*lines), StepEnd)[0] == StepEnd(id="b", reason="exit 0")


def test_an_agent_without_a_call_is_a_step() -> None:
    began = started("a", task_type="local_agent", description="Watch")
    assert fed(began) == [StepStart(id="a", kind="task", name="Watch")]


def test_progress_belongs_to_its_agent() -> None:
    def progress(task_id: str) -> Line:
        return system("task_progress", task_id=task_id, description="Reading")

    status = Status(message="Reading", kind="progress")
    assert last_of(AGENT, RESEARCHER, progress("task")) == [replace(status, scope=("t",))]
    assert last_of(started("b"), progress("b")) == [status]
    assert fed(progress("other")) == [status]


# The plan


def todo(words: str, status: str) -> Line:
    return {"content": words, "status": status, "activeForm": f"{words}ing"}


def writes(number: int, *items: tuple[str, str], failed: bool = False) -> Lines:
    todos = [todo(*item) for item in items]
    tool_id = f"t{number}"
    call = whole(f"m{number}", tool("TodoWrite", tool_id, todos=todos))
    return [call, user(output(tool_id, "Todos were changed", failed))]


def contents(event: StreamEvent) -> list[tuple[str, str]]:
    assert isinstance(event, TodoCreate | TodoUpdate | TodoDone)
    return [(item.content, item.status) for item in event.items]


def test_todo_write_emits_the_whole_plan_and_the_changes() -> None:
    stages = [
        [("cook", "pending"), ("eat", "pending")],
        [("cook", "in_progress"), ("eat", "pending")],
        [("cook", "completed"), ("eat", "pending")],
        [("cook", "completed"), ("eat", "completed"), ("rest", "pending")],
    ]
    lines = [line for number, stage in enumerate(stages) for line in writes(number, *stage)]
    emitted = of_type(log_of(*lines, result()), TodoCreate, TodoUpdate, TodoDone)
    assert [type(event) for event in emitted] == [TodoCreate, TodoUpdate, TodoDone, TodoDone]
    assert [contents(event) for event in emitted] == stages
    assert [(e.item, e.index) for e in emitted if isinstance(e, TodoDone)] == [
        ("cook", 0),
        ("eat", 1),
    ]


def test_the_plan_keeps_what_an_item_is_called_while_it_is_done() -> None:
    [created] = of_type(fed(*writes(1, ("cook", "pending"))), TodoCreate)
    assert created == TodoCreate(items=(TodoItem(content="cook", active_form="cooking"),))


def test_the_plan_of_a_subagent_is_not_that_of_the_root() -> None:
    spawn = whole("m", tool("Agent", "a", subagent_type="cook", prompt="Cook."))
    nested = [{**line, "parent_tool_use_id": "a"} for line in writes(2, ("chop", "pending"))]
    again = writes(3, ("eat", "completed"))
    lines = [*writes(1, ("eat", "pending")), spawn, *nested, *again]
    emitted = of_type(log_of(*lines, result()), TodoCreate, TodoUpdate, TodoDone)
    assert [(event.type, event.scope, contents(event)) for event in emitted] == [
        (EventType.TODO_CREATE, (), [("eat", "pending")]),
        (EventType.TODO_CREATE, ("a",), [("chop", "pending")]),
        (EventType.TODO_DONE, (), [("eat", "completed")]),
    ]


def test_the_tasks_are_the_sessions_whichever_agent_changes_them() -> None:
    spawn = whole("m", tool("Agent", "a", subagent_type="cook", prompt="Cook."))
    update = task(3, "TaskUpdate", taskId="1", status="completed")
    nested = [{**line, "parent_tool_use_id": "a"} for line in update]
    *_, done = of_type(log_of(*COOK, *EAT, spawn, *nested), TodoCreate, TodoUpdate, TodoDone)
    assert (done.scope, contents(done)) == ((), [("cook", "completed"), ("eat", "pending")])


def test_a_plan_that_is_written_again_changes_nothing() -> None:
    lines = [*writes(1, ("cook", "pending")), *writes(2, ("cook", "pending"))]
    assert len(of_type(fed(*lines), TodoCreate, TodoUpdate, TodoDone)) == 1


def test_a_todo_write_that_fails_plans_nothing() -> None:
    assert of_type(fed(*writes(1, ("cook", "pending"), failed=True)), TodoCreate) == []


def test_result_of_a_todo_write_takes_precedence_over_its_input() -> None:
    call = whole("m", tool("TodoWrite", "t", todos=[todo("cook", "pending")]))
    kept = {"oldTodos": [], "newTodos": [todo("bake", "dreaming")]}
    [created] = of_type(fed(call, user(output("t"), tool_use_result=kept)), TodoCreate)
    assert contents(created) == [("bake", "pending")]


def task(number: int, name: str, outcome: Any = None, **arguments: Any) -> Lines:
    """A call of one of the tools that keep the list of tasks, and its result."""
    tool_id = f"t{number}"
    call = whole(f"m{number}", tool(name, tool_id, **arguments))
    return [call, user(output(tool_id), tool_use_result=outcome)]


COOK = task(1, "TaskCreate", {"task": {"id": "1", "subject": "cook"}}, subject="cook")
EAT = task(2, "TaskCreate", {"task": {"id": "2", "subject": "eat"}}, activeForm="eating")


def planned(*lines: Line) -> Events:
    return of_type(log_of(*lines, result()), TodoCreate, TodoUpdate, TodoDone)


def test_tasks_that_are_created_and_updated_are_a_plan() -> None:
    update = task(3, "TaskUpdate", {"success": True}, taskId="1", status="in_progress")
    rename = task(4, "TaskUpdate", None, taskId="2", subject="dine", activeForm="dining")
    finish = task(5, "TaskUpdate", None, taskId="1", status="completed")
    emitted = planned(*COOK, *EAT, *update, *rename, *finish)
    assert [type(event) for event in emitted] == [
        TodoCreate,
        TodoUpdate,
        TodoUpdate,
        TodoUpdate,
        TodoDone,
    ]
    assert emitted[1] == TodoUpdate(
        items=(TodoItem(content="cook"), TodoItem(content="eat", active_form="eating"))
    )
    assert emitted[4] == TodoDone(
        items=(
            TodoItem(content="cook", status="completed"),
            TodoItem(content="dine", active_form="dining"),
        ),
        item="cook",
        index=0,
    )


def test_a_task_that_is_deleted_leaves_the_plan() -> None:
    delete = task(3, "TaskUpdate", None, taskId="1", status="deleted")
    assert contents(planned(*COOK, *EAT, *delete)[-1]) == [("eat", "pending")]


def test_a_list_of_tasks_adds_what_was_not_known() -> None:
    listed = [
        {"id": "1", "subject": "boil", "status": "completed"},
        {"id": "7", "subject": "rest", "status": "in_progress"},
    ]
    emitted = planned(*COOK, *task(3, "TaskList", {"tasks": listed}))
    assert contents(emitted[-1]) == [("cook", "pending"), ("rest", "in_progress")]


NO_PLANS = [
    task(1, "TaskUpdate", None, taskId="9", status="completed"),
    task(1, "TaskCreate", "Task created"),
    task(1, "TaskCreate", {"task": {"id": 7}}),
    task(1, "TodoWrite", None, todos="cook"),
    task(1, "TaskList", {"tasks": None}),
    task(1, "Bash", {"tasks": []}, command="ls"),
    [user(output("t1"), tool_use_result={"newTodos": []})],
]


@pytest.mark.parametrize("lines", NO_PLANS, ids=lambda lines: json.dumps(lines)[:60])
def test_invalid_plan_is_ignored(lines: Lines) -> None:
    assert planned(*lines) == []


# Permissions and questions

NEEDS = whole("m", tool("Bash", "t", command="rm x"))
APPROVE = InputRequest(id="r", tool_call_id="t")


def test_a_request_while_nothing_is_streamed_pauses_at_once() -> None:
    rules = [{"type": "addRules"}]
    request = can_use_tool("r", "t", description="Delete x", permission_suggestions=rules)
    assert last_of(NEEDS, request) == [
        replace(APPROVE, prompt="Delete x", options=rules),
        Paused(request_ids=("r",)),
    ]


def test_a_request_in_a_message_that_streams_pauses_when_it_stops() -> None:
    emitted = whole("m", tool("ls", "t", path="."))
    lines = [*CALLING, emitted]
    assert last_of(*lines, can_use_tool("r", "t")) == [APPROVE]
    rest = streamed(stopped(0), *text_block(1, "Well?"), *ending("tool_use"))
    assert last_of(*lines, can_use_tool("r", "t"), *rest) == [
        StepEnd(id="m", reason="tool_use"),
        Paused(request_ids=("r",)),
    ]


def test_request_waits_for_the_input_of_its_call() -> None:
    emitted = whole("m", tool("ls", "t", path="."))
    assert last_of(*CALLING, can_use_tool("r", "t")) == []
    end = ToolUseEnd(id="t", input={"path": "."})
    assert last_of(*CALLING, can_use_tool("r", "t"), emitted) == [end, APPROVE]
    stop = streamed({"type": "message_stop"})
    assert last_of(*CALLING, can_use_tool("r", "t"), *stop)[:2] == [
        ToolUseEnd(id="t", invalid='{"path":'),
        APPROVE,
    ]


def test_several_requests_may_be_pending() -> None:
    both = whole("m", tool("Bash", "t"), tool("Bash", "u"))
    assert last_of(both, can_use_tool("r", "t"), can_use_tool("q", "u"))[-1] == Paused(
        request_ids=("r", "q")
    )
    answered = user(output("t"))
    third = whole("m", tool("Bash", "v"))
    lines = [both, can_use_tool("r", "t"), can_use_tool("q", "u"), answered, third]
    assert last_of(*lines, can_use_tool("p", "v"))[-1] == Paused(request_ids=("q", "p"))


def test_run_that_waits_at_its_end_is_paused() -> None:
    log = log_of(INIT, NEEDS, can_use_tool("r", "t"))
    assert log[-1] == Paused(request_ids=("r",))
    assert of_type(log, Done, Paused) == log[-1:]


PENDING = {
    "in the middle of a message": [*CALLING, whole("m", tool("ls", "t")), can_use_tool("r", "t")],
    "before its input is complete": [*CALLING, can_use_tool("r", "t")],
    "of a call that was only announced": [*CALLING[:2], can_use_tool("r", "t")],
    "while a task ends": [
        started("b"),
        NEEDS,
        can_use_tool("r", "t"),
        system("task_updated", task_id="b", patch={"status": "failed"}),
    ],
    "of a subagent that goes on": [
        NEEDS,
        can_use_tool("r", "t"),
        whole("n", text("Hm."), parent="u"),
    ],
    "after a result": [*message("m1", "Hi"), result(), NEEDS, can_use_tool("r", "t")],
}


@pytest.mark.parametrize("lines", PENDING.values(), ids=PENDING)
def test_a_run_with_an_open_request_waits_however_it_is_cut_off(lines: Lines) -> None:
    log = log_of(*lines)
    events = [event for event in log if event.type not in LETS_WAIT]
    assert events[-1] == Paused(request_ids=("r",))
    request = next(number for number, event in enumerate(log) if event == APPROVE)
    assert any(isinstance(event, ToolUseEnd) and event.id == "t" for event in log[:request])
    assert of_type(log, Raw) == []


def test_a_request_is_over_when_its_call_has_a_result() -> None:
    lines = [NEEDS, can_use_tool("r", "t"), user(output("t"))]
    assert log_of(*lines)[-1] == Done(reason="truncated")
    assert of_type(fed(*lines, *message("m2", "Done.")), Paused) == [Paused(request_ids=("r",))]


def test_a_request_that_names_no_call_is_over_with_the_next_result() -> None:
    lines = [NEEDS, can_use_tool("r", None), user(output("t")), *message("m2", "Done.")]
    assert of_type(fed(*lines), Paused) == [Paused(request_ids=("r",))]


def test_a_request_is_over_when_the_turn_is() -> None:
    assert log_of(NEEDS, can_use_tool("r", "t"), result())[-1] == Done(
        reason="stop", native="end_turn"
    )
    held = log_of(*CALLING, can_use_tool("r", "t"), result())
    assert of_type(held, InputRequest, Paused) == []


def test_withdrawn_request_is_cancelled() -> None:
    cancel = {"type": "control_cancel_request", "request_id": "r"}
    cancelled = InputResponse(id="r", decision="cancelled")
    assert last_of(NEEDS, can_use_tool("r", "t"), cancel) == [cancelled]
    assert log_of(NEEDS, can_use_tool("r", "t"), cancel)[-1] == Done(reason="truncated")
    assert last_of(*CALLING, can_use_tool("r", "t"), cancel) == [Raw(raw=cancel)]  # not emitted yet
    assert fed(cancel) == [Raw(raw=cancel)]
    assert last_of(NEEDS, can_use_tool("r", "t"), cancel, cancel) == [Raw(raw=cancel)]


def test_a_request_of_a_subagent_is_in_its_scope() -> None:
    nested = whole("n", tool("Bash", "u"), parent="t")
    request = last_of(AGENT, nested, can_use_tool("r", "u"))[0]
    assert request == InputRequest(id="r", scope=("t",), tool_call_id="u")


def test_question_has_its_options() -> None:
    questions = {"questions": [{"question": "Tea?", "options": [{"label": "Yes"}]}]}
    call = whole("m", tool("AskUserQuestion", "t", **questions))
    assert last_of(call, can_use_tool("r", "t", "AskUserQuestion", input=questions)) == [
        InputRequest(id="r", kind="question", tool_call_id="t", options=questions),
        Paused(request_ids=("r",)),
    ]


@pytest.mark.parametrize("subtype", ["hook_callback", "mcp_message", None])
def test_other_requests_are_not_for_people(subtype: Any) -> None:
    line = {"type": "control_request", "request_id": "r", "request": {"subtype": subtype}}
    assert fed(line) == [Raw(raw=line, source=NOT_SHOWN)]


# Results

PNG: Line = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
}
PDF: Line = {
    **PNG,
    "type": "document",
    "source": {**PNG["source"], "media_type": "application/pdf"},
}
LINKED = {"type": "image", "source": {"type": "url", "url": "https://a.org/x.png"}}


def test_image_is_a_file_emitted_once() -> None:
    kept = {"type": "image", "file": {"type": "image/png", "base64": "aGk=", "size": 2}}
    line = user(output("t", [text("See:"), PNG]), tool_use_result=kept)
    assert last_of(NEEDS, line) == [
        ToolResult(
            id="t",
            output=[text("See:"), {"type": "image", "media_type": "image/png"}],
            structured={"type": "image", "file": {"type": "image/png", "size": 2}},
        ),
        File(id="t", media_type="image/png", base64="aGk="),
    ]


def test_a_document_is_a_file_too() -> None:
    emitted, shown = last_of(NEEDS, user(output("t", [PDF])))
    assert emitted == ToolResult(
        id="t", output=[{"type": "document", "media_type": "application/pdf"}]
    )
    assert shown == File(id="t", media_type="application/pdf", base64="aGk=")


ODD_IMAGES: list[Any] = [
    LINKED,
    "x",
    {"type": "image"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png"}},
    {"type": "image", "source": {"type": "base64", "media_type": 7, "data": "aGk="}},
]


@pytest.mark.parametrize("block", ODD_IMAGES, ids=str)
def test_other_content_stays_in_place(block: Any) -> None:
    assert last_of(NEEDS, user(output("t", [block]))) == [ToolResult(id="t", output=[block])]


def test_denied_tool_is_marked_as_denied() -> None:
    meta = [{"id": "t", "permission_decision": {"decision": "reject"}}]
    line = user(output("t", "No.", is_error=True), tool_result_meta=meta)
    assert last_of(NEEDS, line) == [ToolResult(id="t", output="No.", status="denied")]


@pytest.mark.parametrize("odd", [{"type": "tool_result"}, 7], ids=str)
def test_invalid_result_does_not_lose_the_others(odd: Any) -> None:
    line = user(odd, output("t"))
    assert fed(line) == [ToolResult(id="t", output="done"), Raw(raw=line)]


@pytest.mark.parametrize(
    "meta",
    [7, [7], [{"id": []}], [{"id": "t", "permission_decision": 7}, {}], {"id": "t"}],
    ids=str,
)
def test_unreadable_details_of_a_result_do_not_lose_it(meta: Any) -> None:
    line = user(output("t"), tool_result_meta=meta)
    assert fed(line) == [ToolResult(id="t", output="done")]


def test_session_without_error_has_ended_normally() -> None:
    parser = get_parser("claude")
    [total, ended] = parser.feed(
        result(subtype=None, is_error=None, modelUsage={"claude": {"inputTokens": None}})
    )
    assert total == Usage(per="run", cache_read=0, cache_write=0, model="claude")
    assert ended == Result()
    assert parser.close() == [Done(reason="stop", native="end_turn")]


@pytest.mark.parametrize(
    "meta", [None, [], [{"id": "u"}], [{"id": "t", "permission_decision": {"decision": "allow"}}]]
)
def test_a_tool_that_failed_is_not_denied(meta: Any) -> None:
    line = user(output("t", "No.", is_error=True), tool_result_meta=meta)
    assert last_of(NEEDS, line) == [ToolResult(id="t", output="No.", status="error")]


def test_an_error_loses_the_tags_that_are_for_the_model() -> None:
    line = user(output("t", "<tool_use_error>No.</tool_use_error>", is_error=True))
    assert last_of(NEEDS, line) == [ToolResult(id="t", output="No.", status="error")]


STRUCTURED: list[tuple[Any, Any]] = [
    ({"stdout": "a", "stderr": ""}, {"stdout": "a", "stderr": ""}),
    ({"file": {"content": "a"}}, {"file": {"content": "a"}}),
    ({"file": "a"}, {"file": "a"}),
    ("done", None),
    ("Error: x", None),
    ([{"type": "text", "text": "done"}], None),
    (None, None),
]


@pytest.mark.parametrize(("kept", "structured"), STRUCTURED)
def test_programs_data_of_a_result_is_kept(kept: Any, structured: Any) -> None:
    line = user(output("t"), tool_use_result=kept)
    assert last_of(NEEDS, line) == [ToolResult(id="t", output="done", structured=structured)]


def test_several_results_in_a_line_are_emitted_in_order() -> None:
    both = whole("m", tool("ls", "t"), tool("ls", "u"))
    assert last_of(both, user(output("u", 1), output("t", 2))) == [
        ToolResult(id="u", output=1),
        ToolResult(id="t", output=2),
    ]


# What the program sends to the model

WORDS: list[Line] = [
    user(text("[Request interrupted by user]")),
    {"type": "user", "message": {"role": "user", "content": "Continue."}},
    user(text("a"), PNG),
    user(),
]


@pytest.mark.parametrize("line", WORDS)
def test_messages_of_the_program_to_the_model_are_raw(line: Line) -> None:
    assert fed(line) == [Raw(raw=line, source=NOT_SHOWN)]


def test_text_beside_a_result_is_raw_too() -> None:
    line = user(output("t"), text("<reminder>"))
    assert last_of(NEEDS, line) == [ToolResult(id="t", output="done"), Raw(raw=line)]


# The session itself


def test_session_starts_once() -> None:
    assert fed(INIT, INIT) == [
        Start(framework="claude", model="claude", session_id="s"),
        Status(message="The session goes on"),
    ]


def test_pieces_of_a_thought_are_reported_by_the_hundred() -> None:
    counts = [system("thinking_tokens", estimated_tokens=50 * n, estimated_tokens_delta=50)
              for n in range(1, 7)]  # fmt: skip
    told = [f"{count} tokens thought" for count in (100, 200, 300)]
    assert [event.message for event in fed(*counts) if isinstance(event, Status)] == told


STATUSES: list[tuple[Line, Status]] = [
    (
        system("status", status="requesting"),
        Status(message="Waiting for the model", kind="progress"),
    ),
    (system("status", status="dreaming"), Status(message="dreaming", kind="progress")),
    (
        system("thinking_tokens", estimated_tokens=302, estimated_tokens_delta=3),
        Status(message="302 tokens thought", kind="progress"),
    ),
    (
        system("api_retry", attempt=2, max_retries=10, error="overloaded"),
        Status(message="Retrying, attempt 2 of 10: overloaded", kind="retry"),
    ),
    (system("api_retry", attempt=1), Status(message="Retrying, attempt 1", kind="retry")),
    (system("informational", content="Note."), Status(message="Note.", kind="notice")),
    (
        system(
            "model_refusal_no_fallback", original_model="opus", api_refusal_explanation="Not this."
        ),
        Status(message="opus refused: Not this.", kind="notice"),
    ),
    (system("model_refusal_no_fallback"), Status(message="The model refused", kind="notice")),
    (
        system("background_tasks_changed", tasks=[{}, {}]),
        Status(message="2 tasks in the background", kind="progress"),
    ),
    (
        {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning"}},
        Status(message="Rate limit: allowed_warning", kind="notice"),
    ),
    ({"type": "rate_limit_event"}, Status(message="Rate limit: reported", kind="notice")),
    (
        {"type": "conversation_reset"},
        Status(message="The conversation was reset", kind="notice"),
    ),
]


@pytest.mark.parametrize(("line", "status"), STATUSES, ids=[json.dumps(s[0]) for s in STATUSES])
def test_a_line_about_the_session_is_a_status(line: Line, status: Status) -> None:
    assert fed(line) == [status]


@pytest.mark.parametrize("line", [system("status", status=None), system("status")])
def test_a_status_that_is_over_is_nothing(line: Line) -> None:
    assert fed(line) == []


COMPACTING = system("status", status="compacting")
SHRUNK = {"trigger": "auto", "pre_tokens": 9}
BOUNDARY = system("compact_boundary", compact_metadata=SHRUNK)
SHORTENED = StepEnd(id="compaction_1", provider={"anthropic": {"compaction": SHRUNK}})
COMPACTIONS: list[tuple[str, Lines, Events]] = [
    (
        "with all its lines",
        [COMPACTING, system("status", status=None, compact_result="success"), BOUNDARY],
        [StepStart(id="compaction_1", kind="compaction"), SHORTENED],
    ),
    (
        "whose start nobody saw",
        [BOUNDARY],
        [StepStart(id="compaction_1", kind="compaction"), SHORTENED],
    ),
    (
        "that failed",
        [COMPACTING, system("status", status=None, compact_result="failed")],
        [
            StepStart(id="compaction_1", kind="compaction"),
            StepEnd(
                id="compaction_1",
                status="error",
                provider={"anthropic": {"compaction": {"result": "failed"}}},
            ),
        ],
    ),
]


@pytest.mark.parametrize(
    ("lines", "events"), [row[1:] for row in COMPACTIONS], ids=[row[0] for row in COMPACTIONS]
)
def test_a_compaction_is_a_step(lines: Lines, events: Events) -> None:
    assert fed(*lines) == events
    log_of(*lines, result())


def test_compactions_are_counted_behind_the_prefix() -> None:
    steps = of_type(fed(BOUNDARY, system("compact_boundary"), prefix="2."), StepStart)
    assert [step.id for step in steps] == ["2.compaction_1", "2.compaction_2"]


# What is not understood


@pytest.mark.parametrize(
    "line",
    [
        system("hook_started", hook_name="x"),
        system("dream"),
        {"type": "keep_alive"},
        {"type": "tool_progress", "tool_use_id": "t"},
    ],
    ids=str,
)
def test_an_unknown_line_is_raw(line: Line) -> None:
    assert fed(line) == [Raw(raw=line)]


def test_a_response_to_the_sdk_is_not_shown() -> None:
    line = {"type": "control_response", "response": {"subtype": "success"}}
    assert fed(line) == [Raw(raw=line, source=NOT_SHOWN)]


@pytest.mark.parametrize(
    "line",
    [
        {"type": "system"},
        {"type": "system", "subtype": 7},
        system("init", model=7),
        system("task_started"),
        system("task_updated", task_id="t"),
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": "Hi"}},
        {"type": "user", "message": None},
        {"type": "user", "message": {"content": 7}},
        user({"type": "tool_result"}),
        {"type": "stream_event"},
        {"type": "stream_event", "event": {"type": "message_start"}},
        result(is_error="yes"),
        {"type": "control_request", "request_id": "r"},
        {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool"}},
        {"type": "control_cancel_request"},
    ],
    ids=str,
)
def test_broken_line_is_raw_with_the_reason(line: Line) -> None:
    [raw] = fed(line)
    assert isinstance(raw, Raw)
    assert raw.raw == line
    assert (raw.source or "").startswith("malformed: ")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values within a value, itself included."""
    yield path
    keys = value if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    for key in keys:
        yield from places(value[key], (*path, key))


def with_value(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = with_value(value[path[0]], path[1:], new)
    return copy


def value_at(value: Any, path: tuple[Any, ...]) -> Any:
    return value_at(value[path[0]], path[1:]) if path else value


@pytest.mark.parametrize("usage", [{"claude": {"inputTokens": -1}}, {"claude": 7}, 7], ids=str)
def test_invalid_total_does_not_lose_the_end(usage: Any) -> None:
    parser = get_parser("claude")
    [raw, ended] = parser.feed(result(result="42", modelUsage=usage))
    assert isinstance(raw, Raw)
    assert raw.raw == usage
    assert isinstance(ended, Result)
    assert parser.close() == [Done(reason="stop", native="end_turn")]


EVERY_LINE: Lines = [
    *(
        INIT,
        AGENT,
        RESEARCHER,
        NEEDS,
        can_use_tool("r", "t", description="x"),
        BOUNDARY,
        COMPACTING,
    ),
    *(user(output("t", [PNG]), tool_use_result={"file": {"base64": ""}}), notified("task")),
    *(line for line, _ in STATUSES),
    *(*COOK, *writes(2, ("cook", "completed")), synthetic("No", error="x")),
    *(result(modelUsage={"claude": USE}, errors=["x"]), *CALLING, *message("m9", "x")),
    *({"type": "control_cancel_request", "request_id": "r"}, system("task_updated", patch={})),
]


@pytest.mark.parametrize("odd", [None, 7, -1, 1.5, True, "x", [], {}, [7], {"a": 7}], ids=repr)
def test_no_value_of_a_wrong_type_is_fatal(odd: Any) -> None:
    for line in EVERY_LINE:
        for path in places(line):
            spoiled = with_value(line, path, odd)
            parser = get_parser("claude")
            for before in (AGENT, RESEARCHER, *CALLING):
                parser.feed(before)
            kept = [raw.raw for raw in of_type(parser.feed(spoiled), Raw) if isinstance(raw, Raw)]
            assert kept in ([], *([value_at(spoiled, place)] for place in places(spoiled)))
            parser.close()


# Recordings

RECORDED: dict[str, tuple[DoneReason, str, dict[str, int]]] = {
    "ask": ("stop", "end_turn", {}),
    "bg_all": ("stop", "end_turn", {}),
    "compact2": ("stop", "end_turn", {"user": 2}),
    "cut": ("stop", "end_turn", {}),
    "img": ("stop", "end_turn", {}),
    "interrupt": ("interrupted", "aborted_streaming", {"user": 1}),
    "maxturns": ("max_turns", "error_max_turns", {}),
    "mcp": ("stop", "end_turn", {"control_request": 4}),
    "perm": ("stop", "end_turn", {}),
    "refusal": ("refusal", "refusal", {"user": 1}),
    "sub_async_all": ("stop", "end_turn", {}),
    "sub_sync_fwd": ("stop", "end_turn", {"user": 2}),
    "tasks": ("stop", "end_turn", {}),
    "todowrite": ("stop", "end_turn", {}),
}
"""How each run ended, and the lines that are not for people, by type; besides what the program
answers to the SDK's own requests (control_response)."""

each_recording = pytest.mark.parametrize("name", RECORDED)


def values_of(name: str) -> list[Any]:
    lines = JsonLines()
    return lines.feed((FOLDER / f"{name}.jsonl").read_bytes()) + lines.close()


def recorded(name: str) -> Events:
    return log_of(*values_of(name))


def test_every_recording_is_known_here() -> None:
    assert {path.stem for path in FOLDER.glob("agent_*")} == {f"agent_{name}" for name in RECORDED}


@each_recording
def test_a_recording_is_understood_to_its_end(name: str) -> None:
    log = recorded(f"agent_{name}")
    reason, native, raws = RECORDED[name]
    assert log[-1] == Done(reason=reason, native=native)
    found = Counter(event.raw["type"] for event in log if isinstance(event, Raw))
    del found["control_response"]
    assert found == raws


@each_recording
def test_last_answer_of_a_recording_equals_its_result(name: str) -> None:
    log = recorded(f"agent_{name}")
    results = [event for event in log if isinstance(event, Result) and not event.is_error]
    for last in results[-1:]:
        assert last.text in (answers(log)[-1], "")


@each_recording
def test_every_call_of_a_recording_that_ended_well_has_its_result(name: str) -> None:
    log = recorded(f"agent_{name}")
    results = [event for event in log if isinstance(event, ToolResult)]
    if RECORDED[name][0] == "stop":
        assert {event.id for event in results} == {e.id for e in log if type(e) is ToolUseEnd}
        assert "interrupted" not in {event.status for event in results}


@each_recording
def test_line_of_text_equals_its_value(name: str) -> None:
    by_value, by_line = get_parser("claude"), get_parser("claude")
    for value in values_of(f"agent_{name}"):
        assert by_line.feed_line(json.dumps(value).encode()) == by_value.feed(value)
    assert by_line.close() == by_value.close()


# The Agent SDK's objects


def without(events: Events, *types: type[StreamEvent]) -> Events:
    return [event for event in events if not isinstance(event, types)]


@pytest.mark.parametrize("name", ["cut", "interrupt", "perm", "tasks"])
def test_sdk_objects_equal_the_lines(name: str) -> None:
    lines, objects = recorded(f"agent_{name}"), recorded(f"sdk_{name}")
    lost = (Raw, InputRequest, Paused)  # the SDK answers these itself
    denied = [e for e in lines if isinstance(e, ToolResult) and e.status == "denied"]
    expected = [replace(e, status="error") if e in denied else e for e in without(lines, *lost)]
    assert without(objects, Raw) == expected
    assert len(denied) == (name == "perm")


def test_an_object_that_is_not_understood_is_raw_as_it_came() -> None:
    for value in values_of("sdk_interrupt"):
        source = NOT_SHOWN if value["_class"] == "UserMessage" else None
        for raw in of_type(fed(value), Raw):
            assert raw == Raw(raw=value, source=source)
    words = {"_class": "UserMessage", "content": "Continue.", "parent_tool_use_id": None}
    assert fed(words) == [Raw(raw=words, source=NOT_SHOWN)]


@pytest.mark.parametrize("about", [{"type": "assistant"}, {"_class": "AssistantMessage"}], ids=str)
def test_a_block_that_is_not_understood_is_raw_alone(about: Line) -> None:
    blocks = [{"type": "text", "text": "Hello."}, {"type": "dream", "of": "sheep"}]
    message = {"id": "m", "content": blocks}
    line = {**about, "message": message, "message_id": "m", "content": blocks}
    assert of_type(fed(line), Raw) == [Raw(raw=blocks[1])]


OBJECTS: list[tuple[Line, Events]] = [
    (
        {"_class": "RateLimitEvent", "rate_limit_info": {"status": "rejected"}},
        [Status(message="Rate limit: rejected", kind="notice")],
    ),
    (
        {"_class": "ConversationResetMessage"},
        [Status(message="The conversation was reset", kind="notice")],
    ),
    (
        {"_class": "SystemMessage", "subtype": "informational", "content": "Note."},
        [Status(message="Note.", kind="notice")],
    ),
    (
        {
            "_class": "AssistantMessage",
            "message_id": "m",
            "model": "claude",
            "content": [
                {"_class": "ServerToolUseBlock", "id": "t", "name": "web_search", "input": {}},
                {"_class": "ServerToolResultBlock", "tool_use_id": "t", "content": []},
            ],
        },
        [
            StepStart(id="m", number=1),
            ToolUseStart(id="t", name="web_search", kind="search", server=True),
            ToolUseEnd(id="t", input={}),
            ToolResult(id="t", output=[]),
        ],
    ),
]


@pytest.mark.parametrize(("line", "events"), OBJECTS, ids=[row[0]["_class"] for row in OBJECTS])
def test_an_object_is(line: Line, events: Events) -> None:
    assert fed(line) == events


@pytest.mark.parametrize(
    "line",
    [
        {"_class": "DreamMessage"},
        {"_class": None, "type": "dream"},
        {"_class": "HookEventMessage", "data": {"subtype": "hook_started"}},
        {"_class": "MirrorErrorMessage", "data": None, "subtype": "mirror_error"},
    ],
    ids=str,
)
def test_an_unknown_object_is_raw(line: Line) -> None:
    assert fed(line) == [Raw(raw=line)]


@pytest.mark.parametrize(
    "line",
    [
        {"_class": "AssistantMessage", "content": "x"},
        {"_class": "AssistantMessage", "content": [7]},
        {"_class": "UserMessage"},
        {"_class": "ResultMessage", "subtype": 7},
        {"_class": "StreamEvent", "event": None},
    ],
    ids=str,
)
def test_broken_object_is_raw_with_the_reason(line: Line) -> None:
    [raw] = fed(line)
    assert isinstance(raw, Raw)
    assert raw.raw == line
    assert (raw.source or "").startswith("malformed: ")
