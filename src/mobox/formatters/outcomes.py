"""What is said of a call or a run that failed, in whatever protocol."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from mobox.events import JSON, DoneReason, Error, Outcome, ToolResult

__all__ = ["FAILED", "error_of", "error_text", "failure_of", "text_of"]

FAILED: Final[Collection[Outcome]] = ("error", "denied", "interrupted")
"""The outcomes of a call that are told as its error."""
_ERRORS = {"denied": "The call was denied.", "interrupted": "The call was interrupted."}
_END_TEXTS: dict[DoneReason, str] = {
    "error": "The run failed.",
    "lost": "The server stopped while the agent was at work. What it had said is kept.",
}
"""What is said of a failure that nobody put into words."""


def failure_of(reason: DoneReason, fatal: Error | None) -> tuple[str, str] | None:
    """What a run failed of, in words and by its code; `fatal` is what `HeldErrors` tells."""
    words = error_of(reason, fatal.message if fatal is not None else None)
    code = (fatal.code if fatal is not None else None) or reason
    return (words, code) if words is not None else None


def error_of(reason: DoneReason, message: str | None) -> str | None:
    """What a page says of a run that failed."""
    return (message or _END_TEXTS[reason]) if reason in _END_TEXTS else None


def error_text(result: ToolResult) -> str:
    """What went wrong with a call."""
    return text_of(result.output) or _ERRORS.get(result.status, "The call failed.")


def text_of(output: JSON) -> str:
    """The words of an error, from the forms in which tools give them."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(filter(None, map(text_of, output)))
    if isinstance(output, dict):
        for name in ("text", "message", "error", "error_code", "stderr"):
            if isinstance(words := output.get(name), str) and words:
                return words
    return msgspec.json.encode(output).decode() if output else ""
