"""Tabs whose page uses a protocol of the test's choice, with a check that it did."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, Request, Route, WebSocket, WebSocketRoute

from server.live_server import LIMIT
from web.chat_tab import Tab

__all__ = ["PROTOCOLS", "HeldBack", "Speak", "Speaking", "by_each", "speak_from_now_on"]

PROTOCOLS: Final = ("ai-sdk", "ag-ui", "socket-io")
by_each = pytest.mark.parametrize("protocol", PROTOCOLS)
ADDRESSES: Final = {
    "ai-sdk": re.compile(r"/api/chat(/.*)?"),
    "ag-ui": re.compile(r"/api/agui/.*"),
    "socket-io": re.compile(r"/socket\.io/"),
}
"""The routes of each protocol; other routes are used with all of them."""
SAYING: Final = re.compile(r"/api/(agui/)?chat(\?.*)?$")
"""The routes to which a page posts messages, unless it uses a socket."""
CHOOSE: Final = """
if (location.protocol === "http:") localStorage["mobox:protocol"] ??= %s;
"""


class Speaking:
    """The tabs of one context, which all use one protocol."""

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
        """Assert that this protocol was used, and no other."""
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


Speak: TypeAlias = Callable[[str], Speaking]
"""Makes a context that uses a protocol."""


class HeldBack:
    """Holds back the pages' messages to an agent until they are released.

    Make it before the pages. What was held back is never sent.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.said: list[str] = []
        """All messages to the agent, held back or not."""
        self._held: list[Route] = []
        self._is_held = True
        context.route(SAYING, self._request)
        context.route_web_socket(ADDRESSES["socket-io"], self._websocket)

    def wait(self, page: Page) -> None:
        """Wait until a message is held back."""
        for _ in range(int(LIMIT / 0.02)):
            if self.said:
                return
            page.wait_for_timeout(20)
        raise AssertionError("nothing was said")

    def let_go(self) -> None:
        self._is_held = False
        for route in self._held:
            route.abort()

    def _request(self, route: Route) -> None:
        self.said.append(route.request.post_data or "")
        if self._is_held:
            self._held.append(route)
        else:
            route.continue_()

    def _websocket(self, opened: WebSocketRoute) -> None:
        server = opened.connect_to_server()

        def hear(message: str | bytes) -> None:
            told = message if isinstance(message, str) else message.decode()
            is_said = '"chat:message"' in told
            if is_said:
                self.said.append(told)
            if not (is_said and self._is_held):
                server.send(message)

        opened.on_message(hear)


def speak_from_now_on(tab: Tab, protocol: str) -> None:
    """As if the user selected it in the settings."""
    tab.page.evaluate("(name) => (localStorage['mobox:protocol'] = JSON.stringify(name))", protocol)
