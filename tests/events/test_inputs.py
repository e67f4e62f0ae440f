"""How a call's input ends that came as JSON text, whoever told it."""

import json
from typing import Any

import pytest

from mobox import get_parser
from mobox.events import JSON, ToolUseDelta, ToolUseEnd, ToolUseStart
from mobox.events.names import tool_use_end
from mobox.lifecycle import Lifecycle

ENDS: list[tuple[JSON, dict[str, Any]]] = [
    ("", {"input": {}}),
    (" \n", {"input": {}}),
    (None, {"input": {}}),
    ({"a": 1}, {"input": {"a": 1}}),
    ('{"a": 1}', {"input": {"a": 1}}),
    ("null", {"input": None}),
    ("7", {"input": 7}),
    ('{"a"', {"invalid": '{"a"'}),
]


@pytest.mark.parametrize(("told", "end"), ENDS, ids=repr)
def test_input_ends_as_it_was_streamed(told: JSON, end: dict[str, Any]) -> None:
    assert tool_use_end("t", told, ("s",)) == ToolUseEnd(id="t", scope=("s",), **end)


def claude(text: str) -> list[JSON]:
    block = {"type": "tool_use", "id": "t", "name": "ls"}
    delta = {"type": "input_json_delta", "partial_json": text}
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
    ]


def langchain(text: str) -> list[JSON]:
    chunk = {"name": "ls", "id": "t", "index": 0, "args": text}
    said = {"type": "AIMessageChunk", "id": "m", "content": "", "tool_call_chunks": [chunk]}
    return [said, {"type": "AIMessageChunk", "id": "m", "content": "", "chunk_position": "last"}]


def openai(text: str) -> list[JSON]:
    call = {"index": 0, "id": "t", "function": {"name": "ls", "arguments": text}}
    choices = ({"delta": {"tool_calls": [call]}}, {"delta": {}, "finish_reason": "tool_calls"})
    return [{"choices": [choice]} for choice in choices]


def gemini(text: str) -> list[JSON]:
    step = {"type": "function_call", "id": "t", "name": "ls"}
    delta = {"type": "arguments_delta", "arguments": text}
    return [
        {"event_type": "step.start", "index": 0, "step": step},
        {"event_type": "step.delta", "index": 0, "delta": delta},
        {"event_type": "step.stop", "index": 0},
    ]


@pytest.mark.parametrize("lines", [claude, langchain, openai, gemini], ids=lambda f: f.__name__)
@pytest.mark.parametrize("text", [told for told, _ in ENDS if isinstance(told, str)], ids=repr)
def test_every_framework_ends_an_input_so(lines: Any, text: str) -> None:
    parser = get_parser(lines.__name__)
    told = [event for line in lines(text) for event in parser.feed_line(json.dumps(line).encode())]
    ends = [event for event in [*told, *parser.close()] if isinstance(event, ToolUseEnd)]
    assert ends == [tool_use_end("t", text)]


def test_run_waits_too_for_an_unfinished_input() -> None:
    run = Lifecycle()
    run.feed_all([ToolUseStart(id="t", name="ls"), ToolUseDelta(id="t", delta=" ")])
    assert tool_use_end("t", " ") in run.close()
