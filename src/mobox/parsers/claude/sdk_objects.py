"""Converts the Agent SDK's objects, `{"_class": name, ...fields}`, back into their lines.

Second choice: the objects have lost citations, redacted thinking and server tools' results.
"""

from __future__ import annotations

from collections.abc import Callable

from mobox.events import JSON

__all__ = ["as_line"]

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
