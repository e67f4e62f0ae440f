"""An error that is the last word is the run's end: in every framework, in every protocol."""

import json
from pathlib import Path
from typing import Any

import pytest

from mobox import LogEntry, Recorder, get_formatter
from mobox.events import Done, Error, EventType
from mobox.events.transcript import build_message
from support.recordings import RECORDINGS, name_of

Line = dict[str, Any]

EMITTED: Line = {"type": "error", "data": {"message": "boom"}}
RAISED: Line = {"_exception": "RuntimeError", "str": "boom"}
RAISED_BY_FULL_NAME: Line = {"__exception__": "builtins.RuntimeError", "message": "boom"}
OVERLOADED: Line = {"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}
NO_RESPONSE: Line = {
    "type": "response.failed",
    "response": {"id": "q", "status": "failed", "error": {"code": "x", "message": "boom"}},
}
NO_GRAPH: Line = {"event": "failed", "error": "boom"}
NO_EVENT: Line = {"author": "root", "invocationId": "e", "errorCode": "ValueError"}

OWN: dict[str, list[Line]] = {
    "claude": [
        OVERLOADED,
        {"type": "error", "error": {"type": "overloaded_error"}},
        {"type": "stream_event", "event": OVERLOADED},
        {
            "type": "assistant",
            "error": "server_error",
            "message": {"id": "z", "model": "<synthetic>", "content": [{"type": "text"}]},
        },
    ],
    "openai": [
        {"error": {"message": "boom", "code": 500}},
        {"error": {"message": "boom"}, "request_id": "r"},
        {"error": "boom"},
        {"object": "error", "message": "boom", "type": "ServerError", "code": 500},
        {"type": "error", "message": "boom", "code": "server_error"},
        NO_RESPONSE,
    ],
    "openai-agents": [
        {"type": "raw_response_event", "data": {"type": "error", "message": "boom"}},
        {"type": "raw_response_event", "data": NO_RESPONSE},
    ],
    "langchain": [
        {"method": "lifecycle", "params": {"namespace": [], "data": NO_GRAPH}},
        {"method": "lifecycle", "params": {"namespace": [], "data": {"event": "failed"}}},
        {
            "method": "messages",
            "params": {
                "namespace": [],
                "data": [{"event": "error", "message": "boom"}, {"run_id": "z"}],
            },
        },
    ],
    "gemini": [
        {"error": {"code": 503, "message": "boom", "status": "UNAVAILABLE"}},
        {"event_type": "error", "error": {"code": "x", "message": "boom"}},
    ],
    "adk": [{**NO_EVENT, "actions": {}}, {**NO_EVENT, "partial": True}],
}
"""How a framework itself reports an error."""
OWN["deepagents"] = OWN["langchain"]

AFTER: dict[str, Path] = {name_of(path): path for path in RECORDINGS if path.suffix == ".jsonl"}
CUT_SHORT = {"claude/agent_interrupt", "claude/sdk_interrupt"}
"""Runs that a person ended. The exception that follows is a consequence of that."""


def errors_of(framework: str) -> list[Line]:
    return [EMITTED, RAISED, RAISED_BY_FULL_NAME, *OWN.get(framework, [])]


def log_of(framework: str, *data: bytes) -> list[LogEntry]:
    recorder = Recorder(framework)
    return recorder.read(b"".join(data)) + recorder.close()


def end_of(log: list[LogEntry]) -> str:
    last = log[-1].event
    return last.reason if isinstance(last, Done) else str(last.type)


def lines_of(*lines: Line) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.parametrize("name", sorted(AFTER.keys() - CUT_SHORT))
def test_error_after_any_recording_is_its_end(name: str) -> None:
    framework, recording = AFTER[name].parent.name, AFTER[name].read_bytes()
    for error in errors_of(framework):
        log = log_of(framework, recording, b"\n", lines_of(error))
        assert end_of(log) == "error", error
        assert any(isinstance(entry.event, Error) for entry in log)


@pytest.mark.parametrize("name", sorted(AFTER.keys() & CUT_SHORT))
def test_error_after_an_interruption_leaves_it_one(name: str) -> None:
    log = log_of("claude", AFTER[name].read_bytes(), b"\n", lines_of(RAISED))
    assert end_of(log) == "interrupted"


@pytest.mark.parametrize("name", AFTER)
def test_emitted_error_that_work_follows_is_no_end(name: str) -> None:
    framework = AFTER[name].parent.name
    lines = AFTER[name].read_bytes().splitlines(keepends=True)
    end = end_of(log_of(framework, *lines))
    for place in range(1, len(lines), max(1, len(lines) // 8)):
        log = log_of(framework, *lines[:place], lines_of(EMITTED), *lines[place:])
        assert not _works_after_error(log) or end_of(log) == end, place


def _works_after_error(log: list[LogEntry]) -> bool:
    """Whether the agent goes on after the last error, and not only its parser when it closes."""
    types = [entry.event.type for entry in log]
    since = log[len(types) - types[::-1].index(EventType.ERROR) :]
    return EventType.STEP_START in {entry.event.type for entry in since}


# The end in every protocol

TURN: list[Line] = [
    {"type": "message_start", "message": {"id": "m", "model": "x"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Let me look."},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t", "name": "web_search"},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"q":1}'},
    },
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
FOUND: Line = {"type": "tool_result", "data": {"tool_use_id": "t", "content": "found"}}
ANSWER: list[Line] = [
    {"type": "message_start", "message": {"id": "n", "model": "x"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Yes."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"type": "message_stop"},
]
CUT: list[Line] = [
    *ANSWER[:3],
    {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
    {"type": "message_stop"},
]
FAILING: dict[str, list[Line]] = {
    "after a tool result": [*TURN, FOUND, OVERLOADED],
    "after a message that calls a tool": [*TURN, OVERLOADED],
    "before a message stops": [*TURN[:-1], OVERLOADED],
    "after an answer": [*ANSWER, OVERLOADED],
    "after an answer that was cut off": [*CUT, OVERLOADED],
}
every_failure = pytest.mark.parametrize("lines", FAILING.values(), ids=FAILING)


def written(lines: list[Line], protocol: str, profile: str | None = None) -> list[Line]:
    formatter = get_formatter(protocol, "msg_1", profile)
    log = log_of("claude", lines_of(*lines))
    documents = [document for entry in log for document in formatter.format(entry)]
    return [json.loads(document) for document in documents if document != b"[DONE]"]


@every_failure
@pytest.mark.parametrize(
    ("profile", "finish"),
    [
        ("v7", {"type": "finish", "finishReason": "error"}),
        ("v6", {"type": "finish", "finishReason": "error"}),
        ("v5", {"type": "finish"}),
    ],
)
def test_ai_sdk_gets_error_chunk_and_finish_reason(
    lines: list[Line], profile: str, finish: Line
) -> None:
    chunks = written(lines, "ai-sdk", profile)
    assert chunks[-2:] == [{"type": "error", "errorText": "boom"}, finish]


@every_failure
def test_ag_ui_gets_run_error(lines: list[Line]) -> None:
    events = written(lines, "ag-ui")
    assert (events[-1]["type"], events[-1]["message"]) == ("RUN_ERROR", "boom")
    assert "RUN_FINISHED" not in {event["type"] for event in events}


@every_failure
def test_agent_event_gets_error(lines: list[Line]) -> None:
    last = written(lines, "agent-event")[-1]
    assert (last["type"], last["error"]) == ("error", "boom")


@every_failure
def test_panes_finish_with_error(lines: list[Line]) -> None:
    messages = written(lines, "panes")
    assert messages[-1]["metadata"]["reason"] == "error"
    assert "boom" in [message["content"] for message in messages]


@every_failure
def test_stored_message_has_the_error(lines: list[Line]) -> None:
    message = build_message(log_of("claude", lines_of(*lines)), "msg_1")
    assert (message.reason, message.error) == ("error", "boom")


def test_error_before_a_retry_is_a_notice() -> None:
    chunks = written([*TURN, FOUND, OVERLOADED, *ANSWER], "ai-sdk")
    assert "error" not in {chunk["type"] for chunk in chunks}
    assert (chunks[-1]["type"], chunks[-1]["finishReason"]) == ("finish", "stop")


# What a framework says of its own error


@pytest.mark.parametrize(
    ("framework", "exception", "reason"),
    [
        ("langchain", {"_exception": "GraphRecursionError", "str": "limit"}, "max_turns"),
        (
            "langchain",
            {"__exception__": "langgraph.errors.GraphRecursionError", "message": "limit"},
            "max_turns",
        ),
        ("langchain", {"_exception": "CancelledError", "str": ""}, "interrupted"),
        ("openai-agents", {"__exception__": "MaxTurnsExceeded", "message": "2"}, "max_turns"),
        (
            "openai-agents",
            {"_exception": "agents.exceptions.ModelRefusalError", "str": "no"},
            "refusal",
        ),
    ],
)
def test_exception_that_is_no_failure_names_the_end(
    framework: str, exception: Line, reason: str
) -> None:
    begun: dict[str, Line] = {
        "langchain": {"event": "on_chain_start", "run_id": "r", "name": "graph"},
        "openai-agents": {"type": "agent_updated_stream_event", "new_agent": {"name": "a"}},
    }
    assert end_of(log_of(framework, lines_of(begun[framework], exception))) == reason


def test_failed_result_explains_the_error_before_it() -> None:
    synthetic = {**OWN["claude"][3], "error": "max_output_tokens"}
    result = {"type": "result", "subtype": "success", "is_error": True}
    assert end_of(log_of("claude", lines_of(synthetic, result))) == "length"
    assert end_of(log_of("claude", lines_of(synthetic, result, RAISED))) == "error"


def test_result_names_its_own_error_after_one_that_was_overcome() -> None:
    answer = {"type": "assistant", "message": {"id": "n", "content": [{"type": "text"}]}}
    result = {"type": "result", "is_error": True, "errors": ["out of credit"]}
    log = log_of("claude", lines_of(OWN["claude"][3], answer, result))
    assert [e.event.message for e in log if isinstance(e.event, Error)][-1] == "out of credit"


def test_adk_run_that_goes_on_after_an_error_ends_well() -> None:
    said = {**NO_EVENT, "content": {"parts": [{"text": "Yes."}]}, "finishReason": "STOP"}
    del said["errorCode"]
    assert end_of(log_of("adk", lines_of({**NO_EVENT, "actions": {}}, said))) == "stop"


def test_response_that_completes_after_an_error_ends_well() -> None:
    created = {"type": "response.created", "response": {"id": "r"}}
    completed = {"type": "response.completed", "response": {"id": "r", "status": "completed"}}
    log = log_of("openai", lines_of(created, {"error": "boom"}, completed, FOUND))
    assert end_of(log) == "stop"


def test_error_after_a_question_ends_the_run() -> None:
    ask = {"_interrupts": [{"id": "i", "value": "May I?"}]}
    assert end_of(log_of("langchain", lines_of(ask))) == "paused"
    assert end_of(log_of("langchain", lines_of(ask, RAISED))) == "error"


def test_result_that_is_made_up_for_a_call_is_no_work() -> None:
    begun = {"type": "tool_use", "data": {"id": "t", "name": "x", "input": {}}}
    broken = {"type": "tool_result", "data": {"id": "t", "status": "interrupted"}}
    assert end_of(log_of("emitted", lines_of(begun, EMITTED, broken))) == "error"


@pytest.mark.parametrize("name", ["message", "error", "content", "text", "detail"])
def test_emitted_error_may_name_its_message_otherwise(name: str) -> None:
    log = log_of("emitted", lines_of({"type": "error", "data": {name: "boom", "code": 7}}))
    assert [e.event for e in log if isinstance(e.event, Error)] == [Error(message="boom", code="7")]
    assert end_of(log) == "error"


@pytest.mark.parametrize("error", ["boom", {"_exception": "ValueError", "str": "boom"}])
def test_failed_node_of_a_graph_is_an_error_once(error: Any) -> None:
    task = {"id": "t", "name": "model", "error": error, "result": {}, "interrupts": []}
    lines = [
        {"type": "tasks", "ns": [], "data": task},
        {"type": "debug", "ns": [], "data": {"type": "task_result", "payload": task}},
    ]
    log = log_of("langchain", lines_of(*lines))
    assert [e.event.message for e in log if isinstance(e.event, Error)] == ["boom"]
    assert end_of(log) == "error"
