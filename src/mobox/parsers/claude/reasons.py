"""Maps the stop reasons of Claude to our names."""

from __future__ import annotations

from mobox.events import Done, DoneReason
from mobox.parsers.claude import session_wire as lines

__all__ = ["done_of_message", "done_of_result"]

_STOPS: dict[str, DoneReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "compaction": "stop",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
"""The API's stop reasons; an unknown one counts as a normal stop."""

_FAILURES: dict[str, DoneReason] = {
    "error_max_turns": "max_turns",
    "max_turns": "max_turns",
    "max_output_tokens": "length",
    "aborted_streaming": "interrupted",
    "aborted_tools": "interrupted",
    "refusal": "refusal",
}
"""Values in the fields of a result with `is_error`; otherwise it is an error."""


def done_of_message(stop_reason: str) -> Done:
    """The end of a run that is a stream of the Messages API."""
    return Done(reason=_STOPS.get(stop_reason, "stop"), native=stop_reason)


def done_of_result(result: lines.Result, error: str | None) -> Done:
    """The end of a session; `error` is the code of its last error.

    A result may have the subtype success and be an error: only `is_error` is reliable.
    """
    if not result.is_error:
        done = done_of_message(result.stop_reason or "end_turn")
        # The session has run its tools: it never ends by handing one over.
        return Done(reason="stop", native=done.native) if done.reason == "tool" else done
    for word in (result.subtype, result.terminal_reason, result.stop_reason, error):
        if word in _FAILURES:
            return Done(reason=_FAILURES[word], native=word)
    return Done(reason="error", native=result.terminal_reason or result.subtype or None)
