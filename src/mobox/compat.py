"""The names of the event-mapping document, each thin over the real thing.

Rule 1: it is at the top of the import order, so no other module can depend on it.
Rule 2: frames are those that real clients read, even where the document's differ; docs/names.md
        lists the differences.
"""

from __future__ import annotations

from mobox import events
from mobox.delivery import sse
from mobox.events import JSON, EventType, LogEntry
from mobox.formatters import get_formatter
from mobox.formatters.ai_sdk.chunks import DONE, chunk, data
from mobox.lifecycle import Lifecycle
from mobox.parsers import EventParser, get_parser
from mobox.parsers.joined import split

__all__ = [
    "EventParser",
    "EventType",
    "NormalizedToAISDK",
    "SSEFormatter",
    "StreamEvent",
    "get_parser",
]

StreamEvent = events.StreamEvent.of
"""`StreamEvent(type=EventType.STATUS, data={"message": "Hello"})`."""


class NormalizedToAISDK:
    """The AI SDK formatter fed with events: it numbers them itself, and returns SSE text."""

    def __init__(self, message_id: str = "msg_1", profile: str | None = None) -> None:
        self._formatter = get_formatter("ai-sdk", message_id, profile)
        self._lifecycle = Lifecycle()
        self._seq = 0

    def format(self, event: events.StreamEvent) -> list[str]:
        """The frames of `event` and its `more`; those of DONE end the stream."""
        return [frame for each in split(event) for frame in self._format(each)]

    def _format(self, event: events.StreamEvent) -> list[str]:
        logged = self._lifecycle.feed(event)
        if event.type is EventType.DONE:
            logged += self._lifecycle.close()
        return self._frames(logged)

    def close(self) -> list[str]:
        """The frames that end a stream without a DONE; none if it had one."""
        return self._frames(self._lifecycle.close())

    def _frames(self, logged: list[events.StreamEvent]) -> list[str]:
        frames: list[str] = []
        for event in logged:
            self._seq += 1
            entry = LogEntry(self._seq, self._seq, None, event)
            frames += [_frame(document) for document in self._formatter.format(entry)]
        return frames


class SSEFormatter:
    """One frame of the AI SDK's stream: `format_` and the name of the chunk."""

    @staticmethod
    def format_start(message_id: str) -> str:
        return _frame(chunk("start", messageId=message_id))

    @staticmethod
    def format_text_start(text_id: str) -> str:
        return _frame(chunk("text-start", id=text_id))

    @staticmethod
    def format_text_delta(text_id: str, delta: str) -> str:
        return _frame(chunk("text-delta", id=text_id, delta=delta))

    @staticmethod
    def format_text_end(text_id: str) -> str:
        return _frame(chunk("text-end", id=text_id))

    @staticmethod
    def format_reasoning_start(reasoning_id: str, variant: str | None = None) -> str:
        metadata = None if variant is None else {"mobox": {"variant": variant}}
        return _frame(chunk("reasoning-start", id=reasoning_id, providerMetadata=metadata))

    @staticmethod
    def format_reasoning_delta(reasoning_id: str, delta: str) -> str:
        return _frame(chunk("reasoning-delta", id=reasoning_id, delta=delta))

    @staticmethod
    def format_reasoning_end(reasoning_id: str) -> str:
        return _frame(chunk("reasoning-end", id=reasoning_id))

    @staticmethod
    def format_tool_input_start(tool_call_id: str, tool_name: str) -> str:
        return _frame(chunk("tool-input-start", toolCallId=tool_call_id, toolName=tool_name))

    @staticmethod
    def format_tool_input_available(tool_call_id: str, tool_name: str, tool_input: JSON) -> str:
        about = {"toolCallId": tool_call_id, "toolName": tool_name}
        return _frame(chunk("tool-input-available", {**about, "input": tool_input}))

    @staticmethod
    def format_tool_output_available(tool_call_id: str, output: JSON) -> str:
        payload = {"toolCallId": tool_call_id, "output": output}
        return _frame(chunk("tool-output-available", payload))

    @staticmethod
    def format_data_usage(usage: dict[str, JSON]) -> str:
        return _frame(data("usage", usage, "usage"))

    @staticmethod
    def format_finish() -> str:
        return _frame(chunk("finish"))

    @staticmethod
    def format_done() -> str:
        return _frame(DONE)

    @staticmethod
    def format_error(message: str) -> str:
        return _frame(chunk("error", errorText=message))


def _frame(document: bytes) -> str:
    return sse.encode([document]).decode()
