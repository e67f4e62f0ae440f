"""`HttpAgent` of `@ag-ui/client` 1.0, in a page without a framework: docs/clients/http-agent.md."""

from __future__ import annotations

from typing import Final

from guides.bundles import PageSource
from guides.cells import Client, Scenario
from guides.client_tab import ClientTab
from guides.scenarios import SCENARIOS
from guides.world import World

__all__ = ["BROKEN_BODY", "FAILED", "HTTP_AGENT", "ReconnectingTab", "reported"]


class ReconnectingTab(ClientTab):
    """A tab of a page that reconnects by itself."""

    def retry(self) -> None:
        """Nothing: the page does it."""


def reported(cell: str, *patterns: str) -> dict[str, Scenario]:
    """The scenario of a cell, for a client that reports the failure in the console as well."""

    def scenario(world: World) -> None:
        for pattern in patterns:
            world.expect_complaint(pattern)
        SCENARIOS[cell](world)

    return {cell: scenario}


FAILED: Final = "Agent execution failed"
BROKEN_BODY: Final = "error: network error"
"""The client reports a body that breaks off twice: to its caller, and as an unhandled rejection."""
HTTP_AGENT: Final = Client(
    name="HttpAgent 1.0",
    page=PageSource("docs/clients/http-agent.md", "http-agent.ts"),
    tab=ReconnectingTab,
    own=reported("wrong key", FAILED) | reported("server killed", FAILED, BROKEN_BODY),
)
