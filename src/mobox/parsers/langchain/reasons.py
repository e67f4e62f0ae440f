"""Maps stop reasons to our names: LangChain passes on those of every provider."""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, Done, DoneReason

__all__ = ["done_of", "handed_over", "raised_end", "stop_reason"]

_REASONS: Final[dict[str, DoneReason]] = {
    "tool_use": "tool",
    "tool_calls": "tool",
    "function_call": "tool",
    "max_tokens": "length",
    "length": "length",
    "model_context_window_exceeded": "length",
    "incomplete": "length",
    "refusal": "refusal",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
}
"""By the reason in lower case; an unknown one counts as a normal stop."""

_RAISED: Final[dict[str, DoneReason]] = {
    "CancelledError": "interrupted",
    "KeyboardInterrupt": "interrupted",
    "GraphRecursionError": "max_turns",
}
"""Exceptions that are no failure; the others are."""

_NAMES: Final = ("stop_reason", "finish_reason", "done_reason", "stopReason", "finishReason")


def stop_reason(metadata: JSON) -> str | None:
    """The provider's stop reason in a message's metadata."""
    if not isinstance(metadata, dict):
        return None
    words = (metadata.get(name) for name in _NAMES)
    return next((word for word in words if isinstance(word, str)), None)


def raised_end(name: str | None) -> Done | None:
    """The end of a run that raised an exception of that class, if the class has its own reason."""
    reason = _RAISED.get(name or "")
    return None if reason is None else Done(reason=reason, native=name)


def done_of(native: str | None) -> Done:
    """The end of a run whose last message stopped for that reason."""
    return Done(reason=_REASONS.get((native or "").lower(), "stop"), native=native)


def handed_over(native: str | None, calls: bool) -> Done:
    """The end of a run that is one message: its calls are for the caller to run."""
    done = done_of(native)
    return Done(reason="tool", native=native) if calls and done.reason == "stop" else done
