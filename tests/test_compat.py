"""The event-mapping document's own Python runs: made whole where it says `...`, else as it is."""

from __future__ import annotations

import json
import pickle
import textwrap
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mobox
from mobox import compat, errors, events
from mobox.capture.jsonlines import JsonLines
from mobox.compat import (
    NO_EVENT,
    EventParser,
    EventType,
    NormalizedToAISDK,
    SSEFormatter,
    get_parser,
)
from mobox.delivery import sse
from mobox.events import json_text
from mobox.events.transcript import build_message
from support.grammar_ai_sdk import check_ai_sdk
from support.recordings import FOLDER, each_recording, recorded_log

NAMES = {"Any": Any, **{name: getattr(compat, name) for name in compat.__all__}}


def run(source: str, **given: Any) -> dict[str, Any]:
    namespace = {**NAMES, **given}
    exec(compile(source, "the document", "exec"), namespace)
    return namespace


def documents(frames: list[str]) -> list[bytes]:
    assert all(frame.startswith("data: ") and frame.endswith("\n\n") for frame in frames)
    return [frame.removeprefix("data: ").removesuffix("\n\n").encode() for frame in frames]


def chunk_of(frame: str) -> dict[str, Any]:
    (document,) = documents([frame])
    chunk: dict[str, Any] = json.loads(document)
    return chunk


# The snippets

REFLECT = """
# In shared/events.py, in both _parse_claude and _parse_deepagents:
if event_type == "reflect":
    content = data.get("content", "")
    self._accumulated_thinking.append(content)
    return StreamEvent(type=EventType.THINKING, data={"content": content, "source": "reflect"})
"""

YOUR_FRAMEWORK = """
# In EventParser.parse(), add framework branch:
def parse(self, raw_event: dict[str, Any]) -> StreamEvent:
    if self.framework == "your_framework":
        return self._parse_your_framework(raw_event)
    # ...

def _parse_your_framework(self, raw_event: dict[str, Any]) -> StreamEvent:
    event_type = raw_event.get("type", "unknown")
    data = raw_event.get("data", {})
    if event_type == "your_text_event":
        self._accumulated_text.append(data.get("content", ""))
        return StreamEvent(type=EventType.TEXT_DELTA, data={"delta": data.get("content", "")})
    # ... handle other events, map to EventType
"""

STORAGE = """
# Get accumulated content from parser (accumulated during parse)
content = parser.get_text()              # Joined _accumulated_text
thinking = parser.get_thinking()         # Joined _accumulated_thinking

# Build message metadata
message_metadata = {}
if accumulated_status:
    message_metadata["processing"] = accumulated_status  # List[str]
if thinking:
    message_metadata["thinking"] = thinking              # str

# Save to database
assistant_message = ChatMessage(
    id=uuid,
    chat_id=session_id,
    role="assistant",
    content=content,                      # Final text response
    message_metadata=message_metadata,    # {"processing": [...], "thinking": "..."}
)
"""


def test_the_reflect_example() -> None:
    whole = "def parse(self, event_type, data):\n" + textwrap.indent(REFLECT, "    ")
    parser = SimpleNamespace(_accumulated_thinking=[])
    event = run(whole)["parse"](parser, "reflect", {"content": "So far, so good"})
    assert event == events.Thinking(content="So far, so good", source="reflect")
    assert parser._accumulated_thinking == ["So far, so good"]


def your_parser() -> Any:
    first, second = "    # ...\n\n", "    # ... handle other events, map to EventType\n"
    body = YOUR_FRAMEWORK.replace(first, "    return super().parse(raw_event)\n\n")
    body = body.replace(second, "    return EventParser.parse(self, raw_event)\n")
    head = 'class YourParser(EventParser):\n    framework = "your_framework"\n'
    parser = run(head + textwrap.indent(body, "    "))["YourParser"]()
    parser._accumulated_text = []
    return parser


def test_the_your_framework_example() -> None:
    parser = your_parser()
    event = parser.parse({"type": "your_text_event", "data": {"content": "Hello"}})
    assert event == events.TextDelta(delta="Hello")
    assert parser._accumulated_text == ["Hello"]
    assert parser.parse({"type": "your_other_event"}) == events.Raw(
        raw={"type": "your_other_event"}
    )


def test_a_new_framework_needs_no_change_in_the_formatter() -> None:
    parser, formatter = your_parser(), NormalizedToAISDK("msg_abc123")
    raw_events = [
        {"type": "status", "data": {"message": "Starting"}},
        {"type": "your_text_event", "data": {"content": "Hello"}},
        {"type": "done", "data": {}},
    ]
    frames = [frame for raw in raw_events for frame in formatter.format(parser.parse(raw))]
    check_ai_sdk(documents(frames))
    assert chunk_of(frames[0])["messageId"] == "msg_abc123"
    assert any(chunk_of(frame).get("delta") == "Hello" for frame in frames[:-1])


@pytest.mark.parametrize("variant", ["processing", "thinking"])
def test_the_reasoning_start_example(variant: str) -> None:
    frame = run(
        f'frame = SSEFormatter.format_reasoning_start({variant}_id, variant="{variant}")',
        **{f"{variant}_id": f"{variant}_xxx"},
    )["frame"]
    assert chunk_of(frame) == {
        "type": "reasoning-start",
        "id": f"{variant}_xxx",
        "providerMetadata": {"mobox": {"variant": variant}},
    }


LINES = [
    {"type": "status", "data": {"message": "Starting agent..."}},
    {"type": "subagent_start", "data": {"agent": "researcher", "task": "task"}},
    {"type": "think", "data": {"thought": "Key findings so far..."}},
    {"type": "subagent_complete", "data": {"agent": "researcher", "summary": "done"}},
    {"type": "text", "data": {"content": "Here is "}},
    {"type": "text", "data": {"content": "the report..."}},
]


def test_the_storage_example() -> None:
    parser = get_parser("claude")
    parsed = [parser.parse(line) for line in LINES]
    status = [event.data["message"] for event in parsed if event.type is EventType.STATUS]
    message = run(
        STORAGE,
        parser=parser,
        accumulated_status=status,
        ChatMessage=SimpleNamespace,
        uuid="msg_1",
        session_id="chat_1",
    )["assistant_message"]
    assert message.content == "Here is the report..."
    assert message.message_metadata == {
        "processing": ["Starting agent..."],
        "thinking": "researcher started: task\n\nKey findings so far...\n\n"
        "researcher finished: done",
    }


# The loop of the document, on the lines that it shows

SAMPLES: dict[str, tuple[str, str]] = {
    "the API of Claude": (
        "claude",
        """
{"type": "message_start", "message": {"id": "...", "model": "..."}}
{"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}
{"type": "content_block_stop", "index": 0}
{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {...}}
{"type": "message_stop"}
""",
    ),
    "the Agent SDK, simplified": (
        "claude",
        """
{"type": "start", "data": {"prompt_preview": "..."}}
{"type": "status", "data": {"message": "Analyzing..."}}
{"type": "text", "data": {"content": "Hello world"}}
{"type": "thinking", "data": {"content": "Let me think..."}}
{"type": "think", "data": {"thought": "Key insight from reflection..."}}
{"type": "tool_use", "data": {"id": "...", "name": "web_search", "input": {...}}}
{"type": "tool_result", "data": {"tool_use_id": "...", "content": "..."}}
{"type": "result", "data": {"session_id": "...", "duration_ms": 1234}}
{"type": "done", "data": {}}
""",
    ),
    "DeepAgents": (
        "deepagents",
        """
{"type": "start", "data": {"prompt_preview": "...", "architecture": "orchestrator_subagent"}}
{"type": "status", "data": {"message": "DeepAgents Research Agent starting..."}}
{"type": "todo_create", "data": {"items": [{"content": "Research topic A", "status": "pending"}]}}
{"type": "subagent_start", "data": {"agent": "research-agent", "task": "Research AI safety"}}
{"type": "search", "data": {"id": "...", "query": "AI safety 2024", "topic": "general"}}
{"type": "search_result", "data": {"count": 5, "results": [{"title": "...", "url": "..."}]}}
{"type": "think", "data": {"id": "...", "thought": "Found 3 relevant sources..."}}
{"type": "subagent_complete", "data": {"agent": "research-agent", "summary": "..."}}
{"type": "text", "data": {"content": "# Research Report\\n\\n..."}}
{"type": "usage", "data": {"input_tokens": 1000, "output_tokens": 500}}
{"type": "usage_total", "data": {"input_tokens": 5000, "output_tokens": 2500}}
{"type": "result", "data": {"duration_ms": 45000, "num_turns": 12}}
{"type": "done", "data": {}}
""",
    ),
    "OpenAI": (
        "openai",
        """
{"type": "start", "data": {"model": "gpt-4"}}
{"type": "delta", "data": {"content": "Hello"}}
{"type": "tool_call", "data": {"id": "...", "name": "...", "arguments": "..."}}
{"type": "tool_result", "data": {"id": "...", "content": "..."}}
{"type": "done", "data": {"usage": {...}}}
""",
    ),
    "Gemini": (
        "gemini",
        """
{"type": "start", "data": {"model": "gemini-pro"}}
{"type": "content", "data": {"text": "Hello"}}
{"type": "function_call", "data": {"name": "...", "args": {...}}}
{"type": "function_response", "data": {"name": "...", "response": {...}}}
{"type": "done", "data": {"usage": {...}}}
""",
    ),
}
"""The framework, and lines as the document prints them, where `{...}` stands for an object."""

COLUMNS = {
    "the API of Claude": ("Hello", ""),
    "the Agent SDK, simplified": (
        "Hello world",
        "Let me think...\n\nKey insight from reflection...",
    ),
    "DeepAgents": (
        "# Research Report\n\n...",
        "research-agent started: Research AI safety\n\nFound 3 relevant sources..."
        "\n\nresearch-agent finished: ...",
    ),
    "OpenAI": ("Hello", ""),
    "Gemini": ("Hello", ""),
}
"""`get_text` and `get_thinking` after the last line."""

every_sample = pytest.mark.parametrize("name", SAMPLES)


def sample(name: str) -> tuple[str, list[dict[str, Any]]]:
    framework, lines = SAMPLES[name]
    filled = lines.replace("{...}", '{"input_tokens": 1, "output_tokens": 2}')
    return framework, [json.loads(line) for line in filled.strip().splitlines()]


@every_sample
def test_the_documents_loop_runs_on_its_sample_lines(name: str) -> None:
    framework, lines = sample(name)
    parser, formatter = get_parser(framework), NormalizedToAISDK("msg_1")
    frames = []
    for raw in lines:
        event = parser.parse(raw)
        frames += formatter.format(event)
    assert (parser.get_text(), parser.get_thinking()) == COLUMNS[name]
    for event in parser.close():  # a message of the API says nothing of the end of its run
        frames += formatter.format(event)
    check_ai_sdk(documents(frames))
    assert frames == frames_of(framework, lines), "nothing is lost that `feed` would have told"
    assert frames[-1] == SSEFormatter.format_done()


def frames_of(framework: str, lines: list[dict[str, Any]]) -> list[str]:
    """What the pipeline itself makes of the lines."""
    recorder = mobox.Recorder(framework)
    log = recorder.feed(lines) + recorder.close()
    told = mobox.get_formatter("ai-sdk", "msg_1")
    return [sse.encode([each]).decode() for entry in log for each in told.format(entry)]


@each_recording
def test_parse_gives_every_event_that_feed_gives(recording: Path) -> None:
    lines, framework = JsonLines(), recording.parent.name
    one, many = get_parser(framework), get_parser(framework)
    for line in lines.feed(recording.read_bytes()) + lines.close():
        raw = json_text.decode_json(line) if isinstance(line, bytes) else line
        event, expected = one.parse(raw), many.feed(raw)
        assert [event, *event.more] == (expected or [events.Raw(raw=raw, source=NO_EVENT)])


@each_recording
def test_the_log_of_parsed_events_is_the_log_of_the_lines(recording: Path) -> None:
    lines, framework = JsonLines(), recording.parent.name
    parser, many = get_parser(framework), get_parser(framework)
    one, other = mobox.Recorder("emitted"), mobox.Recorder("emitted")
    for line in lines.feed(recording.read_bytes()) + lines.close():
        raw = json_text.decode_json(line) if isinstance(line, bytes) else line
        silent = [events.Raw(raw=raw, source=NO_EVENT)]
        assert one.feed([parser.parse(raw)]) == other.feed(many.feed(raw) or silent)


def test_the_first_event_of_a_line_has_the_others_in_more() -> None:
    parser = get_parser("emitted")
    call: dict[str, Any] = {"id": "c1", "name": "web_search", "input": {"q": "x"}}
    line = {"type": "tool_use", "data": call}
    event = parser.parse(line)
    first, second = get_parser("emitted").feed(line)
    assert event.type is EventType.TOOL_USE_START
    assert isinstance(event, events.ToolUseStart)
    assert (event.id, event.name, event.data) == ("c1", "web_search", {"name": "web_search"})
    assert event.more == (second,)
    assert event == first
    assert first == event
    assert hash(event) == hash(first)
    assert event == parser.parse(line)
    assert event != events.ToolUseStart(id="c2", name="web_search")
    assert event != object()
    other = {"type": "tool_use", "data": {**call, "input": {}}}
    assert event != parser.parse(other), "the others differ"
    assert repr(event) == repr(first)
    assert event.as_json() == first.as_json()


def test_a_line_with_one_event_has_no_more() -> None:
    event = get_parser("emitted").parse({"type": "text", "data": {"content": "Hi"}})
    assert event.more == ()
    assert type(event) is events.TextDelta


def test_a_line_without_an_event_is_raw_and_writes_nothing() -> None:
    parser, formatter = get_parser("claude"), NormalizedToAISDK()
    _, lines = sample("the API of Claude")
    for raw in lines[:4]:
        formatter.format(parser.parse(raw))
    silent = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    event = parser.parse(silent)
    assert event == events.Raw(raw=silent, source=NO_EVENT)
    assert formatter.format(event) == []


def test_an_event_with_more_may_be_fed_again_and_copied() -> None:
    line = {"type": "tool_use", "data": {"id": "c1", "name": "web_search", "input": {}}}
    event = get_parser("emitted").parse(line)
    assert get_parser("emitted").feed(event) == get_parser("emitted").feed(line)
    assert deepcopy(event).more == pickle.loads(pickle.dumps(event)).more == event.more


# get_text and get_thinking


def test_text_and_thoughts_of_what_was_parsed_are_remembered() -> None:
    parser = get_parser("emitted")
    parser.parse(events.Text(content="a"))
    parser.parse(events.TextDelta(delta="b"))
    parser.parse(events.TextDelta(delta="nested", scope=("c",)))
    parser.parse(events.Thinking(content="hm"))
    assert (parser.get_text(), parser.get_thinking()) == ("ab", "hm")


def test_thoughts_are_joined_as_they_are_in_the_stored_message() -> None:
    lines = (FOLDER / "emitted" / "tokens.jsonl").read_bytes().splitlines()
    parser = get_parser("emitted")
    for line in lines:
        parser.parse(json.loads(line))
    stored = build_message(recorded_log(FOLDER / "emitted" / "tokens.jsonl"), "msg_1")
    assert parser.get_thinking() == stored.metadata["thinking"]
    assert parser.get_thinking().split("\n\n") == [
        *("Let me look.", "Two sources agree.", "A third does not.", "So be it."),
        *("checker started: Check it", "Wait for it.", "checker finished: It holds"),
    ]


def test_thoughts_with_ids_are_paragraphs() -> None:
    parser = get_parser("emitted")
    parser.parse(events.Thinking(id="a", content="One."))
    parser.parse(events.Thinking(id="b", content="Two."))
    assert parser.get_thinking() == "One.\n\nTwo."


# NormalizedToAISDK


def test_start_is_supplied_and_done_ends_the_stream() -> None:
    formatter = NormalizedToAISDK(message_id="msg_1")
    first = formatter.format(compat.StreamEvent(type=EventType.TEXT_DELTA, data={"delta": "Hi"}))
    last = formatter.format(compat.StreamEvent(type=EventType.DONE, data={"reason": "stop"}))
    assert chunk_of(first[0]) == {"type": "start", "messageId": "msg_1"}
    assert last[-1] == "data: [DONE]\n\n"
    check_ai_sdk(documents(first + last))


def test_the_documents_lines_make_a_whole_stream() -> None:
    parser, formatter = get_parser("emitted"), NormalizedToAISDK()
    frames = [
        frame
        for line in [*LINES, {"type": "done", "data": {}}]
        for event in parser.feed(line)
        for frame in formatter.format(event)
    ]
    check_ai_sdk(documents(frames))
    text = "".join(
        chunk["delta"] for chunk in map(chunk_of, frames[:-1]) if chunk["type"] == "text-delta"
    )
    assert text == "Here is the report..."


def test_a_stream_without_done_can_be_closed_once() -> None:
    formatter = NormalizedToAISDK()
    frames = formatter.format(events.Status(message="Working")) + formatter.close()
    check_ai_sdk(documents(frames))
    assert formatter.close() == []
    with pytest.raises(errors.ProtocolError, match="after DONE"):
        formatter.format(events.Status(message="More"))


def test_the_profile_is_checked() -> None:
    with pytest.raises(errors.UnknownProfile):
        NormalizedToAISDK("msg_1", profile="v1")


# SSEFormatter

FRAMES: list[tuple[str, dict[str, Any]]] = [
    (SSEFormatter.format_start("msg_abc123"), {"type": "start", "messageId": "msg_abc123"}),
    (SSEFormatter.format_text_start("text_1"), {"type": "text-start", "id": "text_1"}),
    (
        SSEFormatter.format_text_delta("text_1", "Hello "),
        {"type": "text-delta", "id": "text_1", "delta": "Hello "},
    ),
    (SSEFormatter.format_text_end("text_1"), {"type": "text-end", "id": "text_1"}),
    (
        SSEFormatter.format_reasoning_start("thinking_1"),
        {"type": "reasoning-start", "id": "thinking_1"},
    ),
    (
        SSEFormatter.format_reasoning_delta("thinking_1", "Let me analyze..."),
        {"type": "reasoning-delta", "id": "thinking_1", "delta": "Let me analyze..."},
    ),
    (
        SSEFormatter.format_reasoning_end("thinking_1"),
        {"type": "reasoning-end", "id": "thinking_1"},
    ),
    (
        SSEFormatter.format_tool_input_start("call_1", "web_search"),
        {"type": "tool-input-start", "toolCallId": "call_1", "toolName": "web_search"},
    ),
    (
        SSEFormatter.format_tool_input_available("call_1", "web_search", {"query": "AI news"}),
        {
            "type": "tool-input-available",
            "toolCallId": "call_1",
            "toolName": "web_search",
            "input": {"query": "AI news"},
        },
    ),
    (
        SSEFormatter.format_tool_output_available("call_1", {"results": []}),
        {"type": "tool-output-available", "toolCallId": "call_1", "output": {"results": []}},
    ),
    (
        SSEFormatter.format_data_usage({"inputTokens": 100, "outputTokens": 50}),
        {
            "type": "data-usage",
            "id": "usage",
            "data": {"inputTokens": 100, "outputTokens": 50},
        },
    ),
    (SSEFormatter.format_finish(), {"type": "finish"}),
]


@pytest.mark.parametrize(("frame", "chunk"), FRAMES, ids=[chunk["type"] for _, chunk in FRAMES])
def test_a_frame_is_the_documents_with_the_keys_that_clients_read(
    frame: str, chunk: dict[str, Any]
) -> None:
    assert chunk_of(frame) == chunk


def test_the_documents_frames_are_one_legal_stream() -> None:
    frames = [*(frame for frame, _ in FRAMES), SSEFormatter.format_done()]
    check_ai_sdk(documents(frames), any_ids=True)


def test_an_error_frame() -> None:
    frame = SSEFormatter.format_error("Something went wrong")
    assert chunk_of(frame) == {"type": "error", "errorText": "Something went wrong"}


# Where the names are


def test_the_documents_names_are_found_in_mobox_itself() -> None:
    assert mobox.NormalizedToAISDK is NormalizedToAISDK
    assert mobox.SSEFormatter is SSEFormatter
    with pytest.raises(AttributeError, match="nope"):
        _ = mobox.nope


def test_stream_event_is_checked_as_any_other() -> None:
    with pytest.raises(errors.InvalidEvent, match="has no field"):
        compat.StreamEvent(type=EventType.STATUS, data={"text": "?"})


def test_the_documents_parser_is_a_parser() -> None:
    assert compat.EventType is mobox.EventType
    assert issubclass(EventParser, mobox.EventParser)
    parser = get_parser("claude", "a:")
    assert (parser.framework, parser.prefix) == ("claude", "a:")


def test_a_parser_of_the_pipeline_has_none_of_the_documents_methods() -> None:
    own = {"parse", "get_text", "get_thinking"}
    assert own <= set(dir(get_parser("emitted")))
    assert own.isdisjoint(dir(mobox.get_parser("emitted")))
