"""What differs between generations of the `@ag-ui/client`. Facts: docs/ag-ui.md."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["DEFAULT", "PROFILES", "Profile", "profile_for"]


class Profile(NamedTuple):
    """The flags of one generation."""

    version: str | None
    """The version in RUN_STARTED; `None` for clients without versions."""
    cancelled: bool
    """A run may end with the outcome `cancelled`."""
    pending_calls: bool
    """The outcome may name the calls that are the client's to run."""
    media_results: bool
    """A tool's result may be a list of parts, not only a string."""
    subagents: bool
    """There are SUBAGENT_* events, and pages show the agent of each message; otherwise text of a
    subagent is reasoning, so that it does not flood the chat."""


DEFAULT: Final = "1.0"

PROFILES: Final[dict[str, Profile]] = {
    "1.0": Profile("1.0", cancelled=True, pending_calls=True, media_results=True, subagents=True),
    "pre-1.0": Profile(
        None, cancelled=False, pending_calls=False, media_results=False, subagents=False
    ),
}
"""By name, the default first. 1.0 is read by 1.0.0 and later, pre-1.0 by 0.0.47 and later."""


def profile_for(protocol_version: str | None) -> str:
    """The profile for a request: clients older than 1.0 send no `protocolVersion`."""
    return "pre-1.0" if protocol_version is None else "1.0"
