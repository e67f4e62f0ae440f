"""The format that a client reads a run in: what the settings make of the one that it requests."""

from __future__ import annotations

from typing import Final

from mobox.formatters.ai_sdk import profile_for
from mobox.server.session_index import Format
from mobox.settings import Settings

AI_SDK: Final = "ai-sdk"


def served_format(settings: Settings, protocol: str, profile: str | None) -> Format:
    """The format of a response; `profile` is the client's, if it names one."""
    if protocol == AI_SDK:
        profile = profile_for(profile, settings.static_tools)
    return Format(protocol, profile)
