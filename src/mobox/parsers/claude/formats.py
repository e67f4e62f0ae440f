"""The formats of Claude's lines."""

from __future__ import annotations

from mobox.parsers.formats import Format, kinds

__all__ = ["FORMATS"]

_API = (
    "message_start", "message_delta", "message_stop",
    "content_block_start", "content_block_delta", "content_block_stop",
)  # fmt: skip
_MESSAGES = ("AssistantMessage", "UserMessage", "ResultMessage", "RateLimitEvent")
_SYSTEM = (
    "SystemMessage", "TaskStartedMessage", "TaskProgressMessage", "TaskUpdatedMessage",
    "TaskNotificationMessage", "HookEventMessage", "MirrorErrorMessage",
)  # fmt: skip

FORMATS: tuple[Format, ...] = (
    Format(
        "Claude's Messages API events",
        (
            kinds("type", _API),
            kinds("type", ("ping",), confidence=0.5),
            kinds("type", ("error",), "error", confidence=0.5),
        ),
    ),
    Format(
        "Claude Code's stream-json lines",
        (
            kinds("type", ("assistant", "user"), "message"),
            kinds("type", ("system", "result"), "subtype", "session_id"),
            kinds("type", ("system", "result"), "subtype", confidence=0.8),
            kinds("type", ("stream_event",), "event"),
            kinds("type", ("control_request", "control_cancel_request"), "request_id"),
            kinds("type", ("control_response",), "response"),
            kinds("type", ("rate_limit_event", "conversation_reset")),
        ),
    ),
    Format(
        "the Claude Agent SDK's messages",
        (
            kinds("_class", _MESSAGES),
            kinds("_class", _SYSTEM, "subtype"),
            kinds("_class", ("StreamEvent",), "event"),
        ),
    ),
)
