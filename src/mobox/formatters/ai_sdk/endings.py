"""How a message ends, live and at rest."""

from __future__ import annotations

from mobox.events import JSON, DoneReason
from mobox.formatters.ai_sdk.chunks import known
from mobox.formatters.ai_sdk.data_parts import usage_data
from mobox.usage import Totals

__all__ = ["END_TEXTS", "message_metadata"]

END_TEXTS: dict[DoneReason, str] = {"error": "The run failed.", "lost": "The run was lost."}
"""What is said of a failure that nobody put into words."""


def message_metadata(
    reason: DoneReason, totals: Totals | None, duration_ms: int | None
) -> dict[str, JSON]:
    """What the last chunk says about the whole message."""
    usage = usage_data(totals) if totals is not None else None
    return known({"reason": reason, "usage": usage, "durationMs": duration_ms})
