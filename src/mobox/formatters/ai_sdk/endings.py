"""How a message ends, live and stored."""

from __future__ import annotations

from mobox.events import JSON, DoneReason
from mobox.formatters.ai_sdk.data_parts import usage_data
from mobox.formatters.fields import known
from mobox.usage import Totals

__all__ = ["message_metadata"]


def message_metadata(
    reason: DoneReason, error: str | None, totals: Totals | None, duration_ms: int | None
) -> dict[str, JSON]:
    """The metadata of the whole message, in the last chunk."""
    usage = usage_data(totals) if totals is not None else None
    about = {"reason": reason, "error": error, "usage": usage, "durationMs": duration_ms}
    return known(about)
