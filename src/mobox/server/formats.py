"""The format that a client reads a run in: what the settings make of the one that it requests."""

from __future__ import annotations

from typing import Final

from mobox.formatters import protocols
from mobox.formatters.ai_sdk import profile_for
from mobox.server.session_index import Format
from mobox.settings import Settings

AI_SDK: Final = "ai-sdk"


def served_format(settings: Settings, protocol: str, profile: str | None) -> Format:
    """The format of a response; `profile` is the client's, if it names one."""
    if protocol == AI_SDK:
        profile = profile_for(profile, settings.static_tools)
    return Format(protocol, profile)


def served_formats(settings: Settings, listed: str | None) -> dict[str, Format]:
    """The formats of a list such as `ag-ui,ai-sdk:v6`, by their names there; all by default."""
    names = dict.fromkeys(listed.split(",") if listed else protocols())
    parts = {name: name.partition(":") for name in names}
    return {
        name: served_format(settings, protocol, profile or None)
        for name, (protocol, _, profile) in parts.items()
    }
