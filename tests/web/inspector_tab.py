"""The inspector beside a chat, as a user operates it, and the server's data that it should show."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
from playwright.sync_api import Locator, expect

from server.live_server import LiveServer
from server.stored_runs import told_in
from web.chat_tab import Tab

__all__ = ["Inspector", "log_of", "run_of"]

Row = dict[str, Any]


class Inspector:
    """Opens the inspector of a tab with its events, or another view; `wide` as wide as it gets."""

    def __init__(self, tab: Tab, *, wide: bool = False, view: str = "Events") -> None:
        page = tab.page
        self.tab = tab
        self.page = page
        page.get_by_role("button", name="Inspect", exact=True).click()
        page.get_by_role("tab", name="Inspector").click()
        self.view(view)
        self.tree = page.get_by_role("tree", name="Steps")
        self.player = page.get_by_role("region", name="Player")
        self.grid = page.get_by_role("treegrid", name="Events")
        self.pinned = page.get_by_role("treegrid", name="Pinned rows")
        self.slider = page.get_by_role("slider", name="Replay")
        self.filter = page.get_by_role("searchbox", name="Filter events")
        expect(self.grid if view == "Events" else self.tree).to_be_visible()
        if wide:
            page.get_by_role("separator", name="Resize the side panel").press("End")

    def row(self, event: str, grid: Locator | None = None) -> Locator:
        """The rows of events of this type; `seq: type` is one of them."""
        name = f"Event {event}" if ":" in event else re.compile(rf"^Event \d+: {event}$")
        return (grid or self.grid).get_by_role("row", name=name, exact=True)

    def step(self, name: str) -> Locator:
        """The steps of the timeline whose sentence begins with this."""
        return self.tree.get_by_role("treeitem", name=re.compile(rf"^{re.escape(name)},"))

    def shows(self, state: str) -> None:
        """Wait until the run has this state."""
        panel = self.page.locator("#side-panel")  # the chat and the chat list show it too
        expect(panel.get_by_text(state, exact=True)).to_be_visible()

    def view(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()

    def choose(self, button: str | re.Pattern[str], *choices: str) -> None:
        """Choose from a menu, opening it for each choice."""
        for choice in choices:
            self.page.get_by_role("button", name=button).click()
            self.page.get_by_role("menu").get_by_text(choice, exact=True).click()
            expect(self.page.get_by_role("menu")).to_have_count(0)


def run_of(http: httpx.Client, server: LiveServer, tab: Tab) -> str:
    """The last run."""
    chat = http.get(f"{server.url}/api/chats/{tab.chat}").json()
    active = chat["activeRun"]
    return str(active["id"] if active else chat["messages"][-1]["id"])


def log_of(http: httpx.Client, server: LiveServer, run: str, format_: str) -> list[Row]:
    """A run as the server returns it now."""
    path = f"{server.url}/api/runs/{run}/inspect"
    response = http.get(path, params={"live": "off", "format": format_})
    return [json.loads(told.data) for told in told_in(response.text)]
