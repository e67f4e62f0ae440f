"""What differs between generations of the `ai` client. Facts: docs/ai-sdk.md."""

from __future__ import annotations

from typing import Final, NamedTuple

from mobox.events import DoneReason

__all__ = ["DEFAULT", "PROFILES", "Profile"]


class Profile(NamedTuple):
    """The flags of one generation."""

    finish_reasons: dict[DoneReason, str] | None
    """The reasons that `finish` may have; `None` where the client refuses the key."""
    abort_reason: bool = True
    """`abort` may carry a reason."""
    approvals: bool = True
    """There are tool-approval-request chunks."""
    answers: bool = False
    """There are tool-approval-response chunks, so a denied call can be sent as denied; and a
    request may have a reason."""
    file_metadata: bool = True
    """The client keeps the metadata of files."""
    error_metadata: bool = True
    """The client keeps the metadata of a broken input, under the call's result."""
    resets: bool = False
    """There are reset-step chunks, which retract everything since start-step."""
    early_tool_metadata: bool = False
    """tool-input-start may carry metadata."""


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

DEFAULT: Final = "v6"

PROFILES: Final[dict[str, Profile]] = {
    "v6": Profile(_REASONS),
    "v5": Profile(
        None, abort_reason=False, approvals=False, file_metadata=False, error_metadata=False
    ),
    "v7": Profile(
        {**_REASONS, "interrupted": "interrupted"},
        answers=True,
        resets=True,
        early_tool_metadata=True,
    ),
}
"""By name, the default first. v5 is read by 5.0.60 and later, v6 by 6.0.37 and later and by 7."""
