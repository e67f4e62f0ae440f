"""How a message ends, live and at rest."""

from __future__ import annotations

from mobox.events import JSON, DoneReason
from mobox.formatters.ai_sdk.chunks import known
from mobox.formatters.ai_sdk.data_parts import usage_data
from mobox.usage import Totals

__all__ = ["error_of", "message_metadata"]

_END_TEXTS: dict[DoneReason, str] = {"error": "The run failed.", "lost": "The run was lost."}
"""What is said of a failure that nobody put into words."""


def error_of(reason: DoneReason, told: str | None) -> str | None:
    """What a page says of a run that failed; a client forgets an `error` chunk when it reloads."""
    return (told or _END_TEXTS[reason]) if reason in _END_TEXTS else None


def message_metadata(
    reason: DoneReason, error: str | None, totals: Totals | None, duration_ms: int | None
) -> dict[str, JSON]:
    """What the last chunk says about the whole message."""
    usage = usage_data(totals) if totals is not None else None
    about = {"reason": reason, "error": error, "usage": usage, "durationMs": duration_ms}
    return known(about)
