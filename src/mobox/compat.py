"""The names of the event-mapping document, each thin over the real thing.

Rule 1: it is at the top of the import order, so no other module can depend on it.
Rule 2: frames are those that real clients read, even where the document's differ; docs/names.md
        lists the differences.
Rule 3: the document's `parse` returns one event for each line. Where a line makes several, it is
        the first, with the others in its `more`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import msgspec

from mobox import events, parsers
from mobox.delivery import sse
from mobox.events import (
    JSON,
    Events,
    EventType,
    LogEntry,
    Raw,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
)
from mobox.events.blocks import line_of
from mobox.formatters import get_formatter
from mobox.formatters.ai_sdk.chunks import DONE, chunk, data
from mobox.lifecycle import Lifecycle
from mobox.lifecycle.thoughts import Thoughts

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

NO_EVENT = "no event of its own"
"""The `source` of a RAW for a line which was recognized and made no event."""


class EventParser(parsers.EventParser):
    """A parser with the document's methods, which accumulates what it parsed."""

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._parsed: Events = []

    def parse(self, raw: JSON) -> events.StreamEvent:
        """`feed` as one event: the first, with the others in `more`.

        A line that makes no event, since it only adds to what comes, is RAW.
        """
        parsed = self.feed(raw) or [Raw(raw=raw, source=NO_EVENT)]
        self._parsed += parsed
        return _join(parsed)

    def get_text(self) -> str:
        """The answer in the events that `parse` returned."""
        return "".join(_text_of(event) for event in self._parsed)

    def get_thinking(self) -> str:
        """The thoughts, and the notes on subagents, in the events that `parse` returned."""
        thinking, thoughts = "", Thoughts()
        for event in self._parsed:
            if words := _thought_of(event):
                between = thoughts.before(event, "")
                thinking += (between if thinking else "") + words
        return thinking


class _FrameworkParser(EventParser):
    """The registered parser of a framework, with the document's methods."""

    def __init__(self, parser: parsers.EventParser) -> None:
        super().__init__(parser.prefix)
        self._parser = parser

    def feed(self, raw: JSON) -> Events:
        return self._parser.feed(raw)

    def close(self) -> Events:
        return self._parser.close()


def get_parser(framework: str, prefix: str = "") -> EventParser:
    """`mobox.get_parser`, with the document's methods."""
    parser = parsers.get_parser(framework, prefix)
    made: EventParser = type(
        type(parser).__name__, (_FrameworkParser,), {"framework": parser.framework}
    )(parser)
    return made


def _text_of(event: events.StreamEvent) -> str:
    if event.scope:
        return ""
    if isinstance(event, Text):
        return event.content
    return event.delta if isinstance(event, TextDelta) else ""


def _thought_of(event: events.StreamEvent) -> str:
    if isinstance(event, Thinking):
        return event.content
    if isinstance(event, ThinkingDelta):
        return event.delta
    return line_of(event) if isinstance(event, SubagentStart | SubagentEnd) else ""


# The events of one line as one event.


def _join(parsed: Events) -> events.StreamEvent:
    """The first event; if there are others, as one that has them in `more`."""
    first, *others = parsed
    if not others:
        return first
    joined = _joined_class(type(first))(**msgspec.structs.asdict(first))
    vars(joined)["more"] = tuple(others)
    return joined


@cache
def _joined_class(event_class: type[events.StreamEvent]) -> type[events.StreamEvent]:
    """A subclass with room for `more`, which is no field: JSON, `data` and `repr` stay the same."""
    namespace = {"__eq__": _equals, "__hash__": _hash, "__reduce__": _reduce}
    name, module = event_class.__name__, event_class.__module__
    made = msgspec.defstruct(
        name, (), bases=(event_class,), namespace=namespace, module=module, dict=True, gc=True
    )
    return cast(type[events.StreamEvent], made)


def _equals(self: events.StreamEvent, other: Any) -> bool:
    """Equal to the same first event alone, and to another one with the same `more`."""
    if not isinstance(other, events.StreamEvent):
        return False
    mine, others = self.split(), other.split()
    return mine == others if other.more else mine[0] == others[0]


def _hash(self: events.StreamEvent) -> int:
    return hash(self.split()[0])


def _reduce(self: events.StreamEvent) -> tuple[Any, tuple[Events]]:
    """How it is copied and pickled."""
    return _join, (self.split(),)


class NormalizedToAISDK:
    """The AI SDK formatter fed with events: it numbers them itself, and returns SSE text."""

    def __init__(self, message_id: str = "msg_1", profile: str | None = None) -> None:
        self._formatter = get_formatter("ai-sdk", message_id, profile)
        self._lifecycle = Lifecycle()
        self._seq = 0

    def format(self, event: events.StreamEvent) -> list[str]:
        """The frames of `event` and its `more`; those of DONE end the stream."""
        return [frame for each in event.split() for frame in self._format(each)]

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
