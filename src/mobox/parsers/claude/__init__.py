"""Claude: the Messages API's stream, Claude Code's stream-json lines, the Agent SDK's objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mobox.errors import NotShown, UnrecognizedLine
from mobox.events import JSON, Events, Raw, Start, StreamEvent, json_text
from mobox.events.names import IdAllocator
from mobox.parsers import EventParser, decode_as
from mobox.parsers.claude import session_wire, wire
from mobox.parsers.claude.messages import Messages
from mobox.parsers.claude.session import Session
from mobox.parsers.claude.session_wire import done_of_message
from mobox.parsers.claude.tasks import InputPlan
from mobox.parsers.formats import Format, kind_in

_API = (
    "message_start", "message_delta", "message_stop",
    "content_block_start", "content_block_delta", "content_block_stop",
)  # fmt: skip
_MESSAGES = ("AssistantMessage", "UserMessage", "ResultMessage", "RateLimitEvent")
_SYSTEM = (
    "SystemMessage", "TaskStartedMessage", "TaskProgressMessage", "TaskUpdatedMessage",
    "TaskNotificationMessage", "HookEventMessage", "MirrorErrorMessage",
)  # fmt: skip

_EVENT = ("event.type", "event.content_block.type", "event.delta.type")

FORMATS: tuple[Format, ...] = (
    Format(
        "Claude's Messages API events",
        (
            kind_in("type", _API),
            kind_in("type", ("ping",), confidence=0.5),
            kind_in("type", ("error",), "error", confidence=0.5),
        ),
        kind=("type", "content_block.type", "delta.type"),
    ),
    Format(
        "Claude Code's stream-json lines",
        (
            kind_in("type", ("assistant", "user"), "message"),
            kind_in("type", ("system", "result"), "subtype", "session_id"),
            kind_in("type", ("system", "result"), "subtype", confidence=0.8),
            kind_in("type", ("stream_event",), "event"),
            kind_in("type", ("control_request", "control_cancel_request"), "request_id"),
            kind_in("type", ("control_response",), "response"),
            kind_in("type", ("rate_limit_event", "conversation_reset")),
        ),
        kind=("type", "subtype", *_EVENT),
    ),
    Format(
        "the Claude Agent SDK's messages",
        (
            kind_in("_class", _MESSAGES),
            kind_in("_class", _SYSTEM, "subtype"),
            kind_in("_class", ("StreamEvent",), "event"),
        ),
        kind=("_class", "subtype", *_EVENT),
    ),
)


# The Agent SDK's objects, `{"_class": name, ...fields}`, are converted back into their lines.
# Prefer the lines: the objects have no citations, redacted thinking and results of server tools.

Object = dict[str, JSON]

_BLOCKS = {
    "TextBlock": "text",
    "ThinkingBlock": "thinking",
    "ToolUseBlock": "tool_use",
    "ToolResultBlock": "tool_result",
    "ServerToolUseBlock": "server_tool_use",
    "ServerToolResultBlock": "server_tool_result",
}


def as_line(raw: Object) -> Object:
    """The stream-json line that the SDK made this object of; the object itself if it is none."""
    made = _LINES.get(str(raw.get("_class")))
    return raw if made is None else made(raw)


def _system(raw: Object) -> Object:
    data = raw.get("data")
    return {"type": "system", **(data if isinstance(data, dict) else raw)}


def _stream_event(raw: Object) -> Object:
    return {**raw, "type": "stream_event"}


def _assistant(raw: Object) -> Object:
    message = {
        "id": raw.get("message_id"),
        "model": raw.get("model"),
        "content": _content(raw.get("content")),
        "usage": raw.get("usage"),
    }
    return {**raw, "type": "assistant", "message": message}


def _user(raw: Object) -> Object:
    return {**raw, "type": "user", "message": {"content": _content(raw.get("content"))}}


def _result(raw: Object) -> Object:
    return {**raw, "type": "result", "modelUsage": raw.get("model_usage")}


def _content(content: JSON) -> JSON:
    if not isinstance(content, list):
        return content
    return [_block(block) if isinstance(block, dict) else block for block in content]


def _block(block: Object) -> Object:
    kind = _BLOCKS.get(str(block.get("_class")))
    return block if kind is None else {**block, "type": kind}


_LINES: dict[str, Callable[[Object], Object]] = {
    "SystemMessage": _system,
    "TaskStartedMessage": _system,
    "TaskProgressMessage": _system,
    "TaskUpdatedMessage": _system,
    "TaskNotificationMessage": _system,
    "HookEventMessage": _system,
    "MirrorErrorMessage": _system,
    "StreamEvent": _stream_event,
    "AssistantMessage": _assistant,
    "UserMessage": _user,
    "ResultMessage": _result,
    "RateLimitEvent": lambda raw: {**raw, "type": "rate_limit_event"},
    "ConversationResetMessage": lambda raw: {**raw, "type": "conversation_reset"},
}


class _Api(Struct):
    """Holds the union: msgspec analyzes a class once, but a bare union on every call."""

    line: wire.AnyLine


_decode = msgspec.json.Decoder(wire.AnyLine | session_wire.StreamEvent).decode
_CONTROL = "control_response"
"""Lines from the program to the SDK, which are not for the user."""
_API_LINES = {line.__struct_config__.tag for line in wire.Line.__subclasses__()}


def _with_original(event: StreamEvent, line: JSON, raw: JSON) -> StreamEvent:
    """Let RAW hold the SDK's object, not the line that was made from it."""
    return replace(event, raw=raw) if isinstance(event, Raw) and event.raw is line else event


class ClaudeParser(EventParser):
    """One run of an agent that emits Claude's formats."""

    framework = "claude"
    formats = FORMATS

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._messages = Messages(IdAllocator(prefix))
        self._session = Session(prefix)
        self._plan = InputPlan()
        self._started = False

    def feed_line(self, line: bytes) -> Events:
        """Parse one line. A streaming line is decoded directly into its type, which is faster."""
        typed = decode_as(_decode, line)
        if typed is None:
            return super().feed_line(line)
        read: Callable[[Any], Events] = self._read_api
        if type(typed) is wire.ContentBlockDelta:  # nine of ten lines; none concerns the plan
            read = self._messages.content.delta
        elif type(typed) is session_wire.StreamEvent:
            read = self._session.read_stream_event
        return self._or_raw(read, typed, lambda: json_text.decode_json(line))

    def read(self, raw: JSON) -> Events:
        if not isinstance(raw, dict):
            raise UnrecognizedLine
        line = as_line(raw) if "_class" in raw else raw
        kind = line.get("type")
        if isinstance(kind, str) and self._session.knows(kind):
            return [_with_original(event, line, raw) for event in self._session.read(kind, line)]
        if isinstance(kind, str) and kind in _API_LINES:
            return self._read_api(msgspec.convert({"line": raw}, _Api).line)
        raise NotShown if kind == _CONTROL else UnrecognizedLine

    def close(self) -> Events:
        if self._session.started:
            return self._session.close()
        events = self._messages.close()
        if self._messages.stop_reason is not None:
            events.append(done_of_message(self._messages.stop_reason))
        return events

    def _read_api(self, line: wire.Line) -> Events:
        if self._started or not isinstance(line, wire.MessageStart):
            return self._plan.follow(self._messages.read(line))
        self._started = True
        start = Start(framework=self.framework, model=line.message.model)
        return [start, *self._plan.follow(self._messages.read(line))]
