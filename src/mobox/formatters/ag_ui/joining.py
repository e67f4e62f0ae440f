"""The response for a client that joins a thread without an active run."""

from __future__ import annotations

from collections.abc import Sequence

from mobox.formatters.ag_ui.documents import Documents, event
from mobox.formatters.ag_ui.profiles import DEFAULT, PROFILES
from mobox.formatters.ag_ui.snapshot import AGUIMessage
from mobox.formatters.profiles import profile_named

__all__ = ["connect"]


def connect(
    messages: Sequence[AGUIMessage], *, thread_id: str, run_id: str, profile: str = DEFAULT
) -> Documents:
    """The whole response: a run that sends all messages of the thread as one snapshot."""
    run = {"threadId": thread_id, "runId": run_id}
    return [
        event("RUN_STARTED", **run, protocolVersion=profile_named(profile, PROFILES).version),
        event("MESSAGES_SNAPSHOT", messages=list(messages)),
        event("RUN_FINISHED", **run, outcome={"type": "success"}),
    ]
