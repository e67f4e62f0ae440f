"""The real AG-UI clients, as one Node process that answers line by line.

The versions are in clients/package.json: `@ag-ui/client` (1.0) and `@ag-ui/client-pre-1` (0.0.59,
which CopilotKit has).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from support.ai_sdk_client import NodeProcess

CLIENTS = {"1.0": "@ag-ui/client", "pre-1.0": "@ag-ui/client-pre-1"}
"""Which client each profile is written for."""

AGUIMessages = list[dict[str, Any]]


@dataclass(frozen=True)
class AGUIReading:
    """What a client made of a stream."""

    error: str | None  # why it refused the stream
    warnings: list[str]  # what it took otherwise than it came
    after: list[AGUIMessages | None] = field(default_factory=list)  # by group, where they changed
    messages: AGUIMessages = field(default_factory=list)
    state: Any = None
    outcome: str | None = None
    interrupts: list[dict[str, Any]] = field(default_factory=list)
    pending: list[str] | None = None
    usage: list[dict[str, Any]] | None = None
    run_error: str | None = None


class AGUIClients(NodeProcess):
    """Feeds streams to the clients."""

    SCRIPT = "ag_ui.mjs"

    def read(
        self, profile: str, documents: Sequence[bytes], messages: Sequence[Any] = ()
    ) -> AGUIReading:
        """Read a whole response; `messages` are what the client has before it."""
        return self.read_groups(profile, [documents], messages)

    def read_groups(
        self, profile: str, groups: Sequence[Sequence[bytes]], messages: Sequence[Any] = ()
    ) -> AGUIReading:
        """Read a response, and tell what there is after each group of its events."""
        told = [[document.decode() for document in group] for group in groups]
        answer = self.ask(client=CLIENTS[profile], groups=told, messages=list(messages))
        del answer["id"]
        return AGUIReading(run_error=answer.pop("runError", None), **answer)
