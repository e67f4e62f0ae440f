"""`HttpAgent` of `@ag-ui/client` 1.0, in a page without a framework: docs/clients/http-agent.md."""

from __future__ import annotations

from typing import Final

from guides.bundles import PageSource
from guides.cells import Client
from guides.client_tab import ClientTab

__all__ = ["HTTP_AGENT", "ReconnectingTab"]


class ReconnectingTab(ClientTab):
    """A tab of a page that reconnects by itself."""

    def retry(self) -> None:
        """Nothing: the page does it."""


HTTP_AGENT: Final = Client(
    name="HttpAgent 1.0",
    page=PageSource("docs/clients/http-agent.md", "http-agent.ts"),
    tab=ReconnectingTab,
)
