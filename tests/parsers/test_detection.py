"""Which format a stream is of, by the shapes of its lines alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mobox import registry
from mobox.capture.jsonlines import JsonLines
from mobox.parsers import frameworks
from mobox.parsers.detection import LOOK_AT, UNSUPPORTED, detect
from mobox.parsers.formats import has_keys, kind_in, kind_starts_with
from support.recordings import RECORDINGS, each_recording

TEXT = {"type": "text", "data": {"content": "Hello"}}
CHUNK: Any = {"choices": []}
DONE = {"type": "done", "data": {}}
RAISED = {"_exception": "ValueError", "str": "no"}


def values_of(recording: Path) -> list[Any]:
    lines = JsonLines()
    return lines.feed(recording.read_bytes()) + lines.close()


def found(*lines: Any) -> tuple[str | None, str | None]:
    """The name and the framework of what these lines look like."""
    guess = detect(lines)
    return (None, None) if guess is None else (guess.name, guess.framework)


# Formats that have a parser


@each_recording
def test_every_recording_is_detected_as_its_framework(recording: Path) -> None:
    guess = detect(values_of(recording))
    assert guess is not None
    assert guess.framework == recording.parent.name
    assert 0.8 <= guess.confidence <= 1


@each_recording
def test_the_beginning_of_a_recording_is_detected_as_nothing_else(recording: Path) -> None:
    family = {recording.parent.name, "emitted"}  # most that are written by hand begin with START
    if recording.parent.name == "deepagents":
        family.add("langchain")
    for count in range(1, LOOK_AT):
        guess = detect(values_of(recording)[:count])
        assert guess is None or guess.framework in family


def test_there_are_recordings_of_every_framework() -> None:
    assert {path.parent.name for path in RECORDINGS} == set(frameworks())


OBJECTS: list[tuple[str, Any]] = [
    ("langchain", ["values", {"messages": []}]),
    ("langchain", [["tools:1"], "updates", {}]),
    ("langchain", [[], {"messages": [{"type": "human", "content": "hi"}]}]),
    ("langchain", [{"type": "AIMessageChunk", "content": "hi"}, {"langgraph_node": "model"}]),
    ("langchain", {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {}}),
    ("langchain", {"_class": "AIMessageChunk", "content": "hi", "type": "AIMessageChunk"}),
    ("langchain", {"messages": [{"type": "ai", "content": "hi"}]}),
    ("langchain", {"model": {"messages": [{"type": "ai", "content": "hi"}]}}),
    ("langchain", {"__interrupt__": []}),
    ("deepagents", ["updates", {"PatchToolCallsMiddleware.before_agent": None}]),
    ("claude", {"_class": "SystemMessage", "subtype": "init", "data": {}}),
    ("openai", {"choices": [{"text": "hi"}], "object": "text_completion"}),
    ("openai", {"error": {"message": "no"}}),
    ("gemini", {"error": {"code": 400, "status": "INVALID_ARGUMENT"}}),
    ("gemini", {"usage_metadata": {}, "model_version": "gemini-3"}),
    ("adk", {"author": "root", "invocation_id": "e-1", "usage_metadata": {}}),
]


@pytest.mark.parametrize(("framework", "line"), OBJECTS, ids=str)
def test_one_line_can_be_enough(framework: str, line: Any) -> None:
    assert found(line)[1] == framework


# Formats that have none

WITHOUT_PARSER: list[tuple[str, list[Any]]] = [
    (
        "pydantic-ai's events",
        [
            {"index": 0, "part": {"part_kind": "text"}, "event_kind": "part_start"},
            {"index": 0, "delta": {"part_delta_kind": "text"}, "event_kind": "part_delta"},
            {"_class": "FinalResultEvent", "tool_name": None, "tool_call_id": None},
        ],
    ),
    (
        "AG-UI's events",
        [
            {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hi"},
            {"type": "CUSTOM", "name": "x", "value": 1},
        ],
    ),
    (
        "the AI SDK's UI message chunks",
        [
            {"type": "start"},
            {"type": "start-step"},
            {"type": "text-delta", "id": "1", "delta": "hi"},
            {"type": "tool-input-available", "toolCallId": "t", "toolName": "x", "input": {}},
            {"type": "finish"},
        ],
    ),
    (
        "Agno's events",
        [
            {"created_at": 1, "event": "RunStarted", "agent_id": "a", "run_id": "r"},
            {"created_at": 1, "event": "TeamRunContent", "team_id": "a", "run_id": "r"},
        ],
    ),
    (
        "Strands' events",
        [
            {"init_event_loop": True},
            {"start": True},
            {"event": {"messageStart": {"role": "assistant"}}},
            {"data": "hi", "delta": {"text": "hi"}, "event_loop_cycle_id": "1"},
        ],
    ),
    ("Amazon Bedrock's Converse events", [{"contentBlockDelta": {"delta": {"text": "hi"}}}]),
    (
        "LlamaIndex's workflow events",
        [
            {"type": "AgentStream", "data": {"delta": "hi"}},
            {"type": "ToolCall", "data": {"tool_name": "x", "tool_kwargs": {}}},
        ],
    ),
    (
        "Microsoft Agent Framework's updates",
        [{"type": "AgentResponseUpdate", "role": "assistant", "contents": []}],
    ),
    ("AutoGen's messages", [{"type": "TextMessage", "source": "writer", "content": "hi"}]),
    (
        "CrewAI's stream frames",
        [{"id": "1", "seq": 1, "type": "x", "channel": "llm", "namespace": [], "data": {}}],
    ),
    (
        "Codex's events",
        [{"type": "thread.started"}, {"type": "item.completed", "item": {"type": "x"}}],
    ),
    ("ACP's messages", [{"jsonrpc": "2.0", "method": "session/update", "params": {}}]),
    ("A2A's events", [{"jsonrpc": "2.0", "id": 1, "result": {"kind": "status-update"}}]),
    ("Mastra's chunks", [{"type": "text-delta", "runId": "r", "from": "AGENT", "payload": {}}]),
    ("Ollama's responses", [{"model": "x", "created_at": "1", "message": {}, "done": False}]),
    ("Cohere's events", [{"type": "message-start", "id": "1"}, {"type": "content-delta"}]),
    ("the OpenAI Assistants API's events", [{"event": "thread.run.created", "data": {}}]),
    (
        "the events of OpenAI's stream helper",
        [{"type": "chunk"}, {"type": "content.delta", "delta": "hi"}],
    ),
    (
        "Gradio's chat messages",
        [{"role": "assistant", "content": "hi", "metadata": {}, "options": []}],
    ),
]


@pytest.mark.parametrize(
    ("name", "lines"), WITHOUT_PARSER, ids=[name for name, _ in WITHOUT_PARSER]
)
def test_a_format_without_a_parser_is_known_by_its_name(name: str, lines: list[Any]) -> None:
    assert found(*lines) == (name, None)


def test_every_format_without_a_parser_has_lines_here() -> None:
    assert [name for name, _ in WITHOUT_PARSER] == [each.name for each in UNSUPPORTED]


# What counts


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["hello", 7, None, True],
        [{}],
        [[]],
        [{"a": 1}, {"level": "info", "msg": "x"}],
        [{"type": "no such thing"}, {"type": []}, {"event": {}}, {"method": 7}],
        [RAISED],
    ],
    ids=str,
)
def test_unrecognizable_lines_match_no_format(lines: list[Any]) -> None:
    assert detect(lines) is None


def test_simplified_lines_are_their_own_format_unless_a_framework_writes_beside_them() -> None:
    claude = {"type": "content_block_delta", "index": 0, "delta": {}}
    assert found(TEXT, DONE)[1] == "emitted"
    assert found(*[TEXT] * 20, claude, DONE) == ("Claude's Messages API events", "claude")
    assert found(TEXT, *WITHOUT_PARSER[0][1]) == ("pydantic-ai's events", None)


def test_the_confidence_is_the_share_of_the_lines() -> None:
    other = {"level": "info"}
    for strangers, confidence in ((0, 1.0), (1, 0.75), (3, 0.5)):
        guess = detect([CHUNK] * 3 + [other] * strangers)
        assert guess is not None
        assert (guess.framework, guess.confidence) == ("openai", confidence)
    assert detect([CHUNK] + [other] * 9) is None


def test_neither_text_nor_an_exception_makes_it_less_sure() -> None:
    guess = detect(["Booting", CHUNK, "Warning", RAISED])
    assert guess is not None
    assert (guess.framework, guess.confidence) == ("openai", 1.0)


def test_only_the_first_lines_are_compared() -> None:
    first = [CHUNK] * LOOK_AT
    assert found(*first, *[{"type": "RUN_STARTED"}] * 1000)[1] == "openai"


def test_one_line_identifies_a_graph_as_a_deep_agent() -> None:
    line: dict[str, Any] = {"event": "on_chain_start", "run_id": "r", "name": "x", "metadata": {}}
    deep = {**line, "metadata": {"lc_versions": {"deepagents": "0.7.32"}}}
    assert found(line, line)[1] == "langchain"
    assert found(line, deep, line) == ("DeepAgents' events", "deepagents")
    assert found(deep["metadata"])[1] is None


@pytest.mark.parametrize("shape", [kind_in("a", ["b"]), kind_starts_with("a", "b"), has_keys("a")])
def test_a_shape_takes_any_value(shape: Callable[[Any], float]) -> None:
    lines: list[Any] = [None, 7, "a", [], ["a"], {}, {"a": []}, {"a": None}, {"a": {}}]
    assert {*map(shape, lines)} <= {0.0, 1.0}


# Parsers of other packages

MORSE = """
from mobox.parsers import EventParser
from mobox.parsing import Format, has_keys

class MorseParser(EventParser):
    framework = "morse"
    formats = (Format("Morse code", (has_keys("beep"),)),)

class Silent(EventParser):
    framework = "silent"

class Raising(EventParser):
    framework = "raising"
    formats = (Format("a mistake", (lambda line: 1 / 0,)),)

class Odd(EventParser):
    framework = "odd"
    formats = 7

def factory(prefix=""):
    return MorseParser(prefix)
"""


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[None]:
    names = {"morse": "MorseParser", "silent": "Silent", "raising": "Raising", "odd": "Odd"}
    names["made"] = "factory"
    entries = [f"{name} = morse_lines:{found}" for name, found in names.items()]
    (tmp_path / "morse_lines.py").write_text(MORSE)
    info = tmp_path / "morse_lines-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: morse-lines\nVersion: 1.0\n")
    text = "\n".join(["[mobox.parsers]", *entries, "missing = morse_lines:Missing"])
    (info / "entry_points.txt").write_text(text)
    sys.path.append(str(tmp_path))
    registry._registered.cache_clear()
    yield
    sys.path.remove(str(tmp_path))
    registry._registered.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_parser_of_another_package_is_detected_by_the_formats_that_it_names() -> None:
    assert found({"beep": "..."}) == ("Morse code", "morse")
    assert found(CHUNK)[1] == "openai"
    assert found({"boop": 1}) == (None, None)
