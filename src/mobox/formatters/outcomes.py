"""Error texts of failed calls and runs, for all protocols."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from mobox.events import JSON, DoneReason, Error, Outcome, ToolResult

__all__ = ["FAILED", "error_of", "error_text", "failure_of", "text_of"]

FAILED: Final[Collection[Outcome]] = ("error", "denied", "interrupted")
"""The statuses of a call that are formatted as its error."""
_ERRORS = {"denied": "The call was denied.", "interrupted": "The call was interrupted."}
_END_TEXTS: dict[DoneReason, str] = {
    "error": "The run failed.",
    "lost": "The server stopped while the agent was working. Everything up to here is saved.",
}
"""The texts for failures without a message."""


def failure_of(reason: DoneReason, fatal: Error | None) -> tuple[str, str] | None:
    """The error message and code of a failed run; `fatal` comes from `HeldErrors`."""
    words = error_of(reason, fatal.message if fatal is not None else None)
    code = (fatal.code if fatal is not None else None) or reason
    return (words, code) if words is not None else None


def error_of(reason: DoneReason, message: str | None) -> str | None:
    """The error text of a failed run; `None` if it did not fail."""
    return (message or _END_TEXTS[reason]) if reason in _END_TEXTS else None


def error_text(result: ToolResult) -> str:
    """The error text of a failed call."""
    return text_of(result.output) or _ERRORS.get(result.status, "The call failed.")


def text_of(output: JSON) -> str:
    """The message of an error, from the forms in which tools return it."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(filter(None, map(text_of, output)))
    if isinstance(output, dict):
        for name in ("text", "message", "error", "error_code", "stderr"):
            if isinstance(words := output.get(name), str) and words:
                return words
    return msgspec.json.encode(output).decode() if output else ""
