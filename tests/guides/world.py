"""What a scenario has: a client, the servers, and a gate at which the agent waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import httpx

from guides.cells import Client
from guides.client_tab import ClientTab
from guides.page_server import PageServer
from server.live_server import LIMIT, LiveServer, live_server, mobox
from server.scripted_agent import Gate
from support.ai_sdk_client import CLIENTS
from web.browser_watch import Watched

__all__ = ["MakeWorld", "World", "guide_server", "new_key"]

AGENTS = CLIENTS / "agents"
NEW_CHAT = r"status of 404 .*/api/chats/chat-"
"""The browser's console message when a page loads a chat that has no messages yet."""


@contextmanager
def guide_server(
    data: Path, pages: PageServer, *flags: str | Path, patience: float = 20 * LIMIT
) -> Iterator[LiveServer]:
    """`mobox serve` with the agent of these tests, for pages of that origin."""
    usual = ("--agents", AGENTS, "--agent", "guide", "--allowed-origins", pages.origin)
    with live_server(data, *usual, *flags, patience=patience) as server:
        yield server


def new_key(data: Path, owner: str) -> str:
    """A key for a server with this data folder."""
    code, printed, errors = mobox("keys", "add", "--owner", owner, "--data", data)
    assert code == 0, errors
    return next(word for word in printed.split() if word.startswith("mbx_"))


class World:
    """One test's view of everything. `chat` is a new chat's id."""

    def __init__(
        self,
        client: Client,
        pages: PageServer,
        server: LiveServer,
        watched: Watched,
        gate: Gate,
        folder: Path,
    ) -> None:
        self.client = client
        self.pages = pages
        self.server = server
        self.gate = gate
        self.folder = folder
        """An empty folder for the test's own servers."""
        self.chat = f"chat-{uuid4().hex[:12]}"
        self.http = httpx.Client(timeout=LIMIT, trust_env=False)
        self._context, self._watch = watched(pages.origin, timezone_id="Europe/Lisbon")
        self._watch.expect(NEW_CHAT)

    @property
    def slow(self) -> str:
        """A message whose answer stops at the gate, half way."""
        return f"slow {self.gate.step[1]}"

    def open(self, server: str = "", **settings: str) -> ClientTab:
        """A tab of this test's browser context, with its chat."""
        server = server or self.server.url
        self._watch.allow(server)
        settings = {"server": server, "chat": self.chat, **settings}
        page = self._context.new_page()
        page.goto(self.pages.address(self.client.id, self.client.page, **settings))
        tab = self.client.tab(page)
        tab.wait_until_open()
        return tab

    def expect_complaint(self, pattern: str) -> None:
        """Allow what the browser's console reports about a failure that the test provokes."""
        self._watch.expect(pattern)

    def stored(self) -> list[dict[str, object]]:
        """The messages of the chat, as the server has stored them."""
        response = self.http.get(f"{self.server.url}/api/chats/{self.chat}")
        messages: list[dict[str, object]] = response.raise_for_status().json()["messages"]
        return messages


MakeWorld: TypeAlias = Callable[[Client], World]
"""Makes the world of a test with a client."""
