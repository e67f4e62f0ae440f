"""What a scenario has: a client, the servers, and a gate at which the agent waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

import httpx

from guides.cells import Client
from guides.client_tab import ClientTab
from guides.page_server import PageServer
from server.live_server import LIMIT, LiveServer, live_server, mobox
from server.scripted_agent import Gate
from support.ai_sdk_client import CLIENTS
from support.waiting import wait_until
from web.browser_watch import Watched

__all__ = ["MakeWorld", "Places", "World", "guide_server", "new_key", "revoke_keys"]

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


def revoke_keys(data: Path) -> None:
    """Revoke every key of a server with this data folder."""
    _, printed, _ = mobox("keys", "list", "--data", data)
    for key in re.findall(r"\bkey_\w+", printed):
        assert mobox("keys", "revoke", key, "--data", data)[0] == 0


class Places(NamedTuple):
    """What the clients of a test have in common."""

    pages: PageServer
    server: LiveServer
    gate: Gate
    http: httpx.Client
    folder: Path
    """An empty folder, for the test's own servers."""


class World:
    """One test's view of everything. `chat` is a new chat's id."""

    def __init__(self, client: Client, places: Places, watched: Watched) -> None:
        self.client = client
        self.pages, self.server, self.gate, self.http, self.folder = places
        self.chat = f"chat-{uuid4().hex[:12]}"
        self._context, self._watch = watched(self.pages.origin, timezone_id="Europe/Lisbon")
        self._watch.expect(NEW_CHAT)

    @property
    def slow(self) -> str:
        """A message whose answer stops at the gate, half way."""
        return f"slow {self.gate.step[1]}"

    def open(self, server: str = "", *, wait: bool = True, **settings: str) -> ClientTab:
        """A tab of this test's browser context, with its chat."""
        server = server or self.server.url
        self._watch.allow(server)
        settings = {"server": server, "chat": self.chat, **settings}
        page = self._context.new_page()
        page.goto(self.pages.address(self.client.id, self.client.page, **settings))
        tab = self.client.tab(page)
        if wait:
            tab.wait_until_open()
        return tab

    def expect_complaint(self, pattern: str) -> None:
        """Allow what the browser's console reports about a failure that the test provokes."""
        self._watch.expect(pattern)

    def stored(self) -> list[dict[str, Any]]:
        """The messages of the chat, as the server has stored them."""
        messages: list[dict[str, Any]] = self._read()["messages"]
        return messages

    def stored_text(self, index: int) -> str:
        """The text of one of these messages."""
        text: str = self.stored()[index]["content"]
        return text

    def stored_runs(self) -> int:
        """How many runs the chat has; each has answered a message of its own."""
        return len([message for message in self.stored() if message["role"] == "assistant"])

    def wait_until_idle(self) -> None:
        """Wait until the chat has no active run."""
        wait_until(lambda: self._read()["activeRun"] is None)

    def _read(self) -> dict[str, Any]:
        response = self.http.get(f"{self.server.url}/api/chats/{self.chat}")
        chat: dict[str, Any] = response.raise_for_status().json()
        return chat


MakeWorld: TypeAlias = Callable[[Client], World]
"""Makes the world of a test with a client."""
