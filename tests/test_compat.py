"""The event-mapping document's own Python runs: made whole where it says `...`, else as it is."""

from __future__ import annotations

import json
import textwrap
from types import SimpleNamespace
from typing import Any

import pytest

import mobox
from grammar import check_ai_sdk
from mobox import compat, errors, events
from mobox.compat import EventParser, EventType, NormalizedToAISDK, SSEFormatter, get_parser

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
    check_ai_sdk(documents([*(frame for frame, _ in FRAMES), SSEFormatter.format_done()]))


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


def test_the_real_names_are_the_documents() -> None:
    assert (compat.EventType, compat.EventParser) == (mobox.EventType, EventParser)
    assert compat.get_parser is mobox.get_parser
