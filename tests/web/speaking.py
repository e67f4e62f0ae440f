"""Tabs whose page speaks a protocol of the test's choice, and what they really spoke."""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, Request, WebSocket

from web.talking import Tab

__all__ = ["PROTOCOLS", "Speaking"]

PROTOCOLS: Final = ("ai-sdk", "ag-ui", "socket-io")
ADDRESSES: Final = {
    "ai-sdk": re.compile(r"/api/chat(/.*)?"),
    "ag-ui": re.compile(r"/api/agui/.*"),
    "socket-io": re.compile(r"/socket\.io/"),
}
"""Where a page talks to an agent; what else it asks for, it asks for in all of them."""
CHOOSE: Final = """
if (location.protocol === "http:") localStorage["mobox:protocol"] ??= %s;
"""


class Speaking:
    """The tabs of one context, which all speak one protocol."""

    def __init__(self, context: BrowserContext, protocol: str) -> None:
        self.context = context
        self._protocol = protocol
        self._asked: list[str] = []
        context.add_init_script(CHOOSE % json.dumps(json.dumps(protocol)))
        context.on("request", self._request)
        context.on("page", self._page)

    def tab(self, chat: str = "") -> Tab:
        return Tab(self.context, chat)

    def assert_spoken(self) -> None:
        """It was this protocol in which the agent was talked to, and no other."""
        ways = ADDRESSES.items()
        by = {name: [*filter(address.fullmatch, self._asked)] for name, address in ways}
        assert by.pop(self._protocol), f"nothing was said in {self._protocol}"
        assert not any(by.values()), by

    def _request(self, request: Request) -> None:
        self._asked.append(urlsplit(request.url).path)

    def _page(self, page: Page) -> None:
        page.on("websocket", self._websocket)

    def _websocket(self, opened: WebSocket) -> None:
        self._asked.append(urlsplit(opened.url).path)
