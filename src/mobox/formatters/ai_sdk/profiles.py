"""What differs between versions of the `ai` client. Facts: docs/ai-sdk.md."""

from __future__ import annotations

from typing import Final, NamedTuple

from mobox.events import DoneReason

__all__ = ["PROFILES", "Profile"]


class Profile(NamedTuple):
    """The flags of one client generation."""

    finish_reasons: dict[DoneReason, str] | None
    """What `finish` may say; `None` where the client refuses the key."""
    abort_reason: bool
    """`abort` may carry a reason."""
    approvals: bool
    """There are tool-approval-request chunks."""


_REASONS: dict[DoneReason, str] = {
    "stop": "stop",
    "tool": "tool-calls",
    "length": "length",
    "content_filter": "content-filter",
    "refusal": "content-filter",
    "max_turns": "other",
    "cancelled": "other",
    "truncated": "other",
    "interrupted": "other",
    "lost": "error",
    "error": "error",
}

PROFILES: Final[dict[str, Profile]] = {
    "v6": Profile(finish_reasons=_REASONS, abort_reason=True, approvals=True),
}
"""The default first."""
