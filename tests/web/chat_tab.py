"""A tab with the page, as a user operates it: by accessible names."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
from playwright.sync_api import BrowserContext, Locator, Page, expect

from server.live_server import LIMIT, LiveServer
from web.transcript_check import missing, shown

__all__ = ["Tab", "assert_shows_what_is_stored", "read_chat"]

HAS_CHAT = re.compile(r"/chat/.")
SETTLED = """
async () => {
  const isOpen = ({ playState, effect }) =>
    playState === "running" && effect.getTiming().iterations !== Infinity;
  // The end of a transition may start those of the elements inside, which inherit its colour.
  for (let open; (open = document.getAnimations().filter(isOpen)).length > 0; )
    await Promise.all(open.map((animation) => animation.finished.catch(() => {})));
}
"""


class Tab:
    """One tab of a context; `chat` is the id of an earlier one."""

    def __init__(self, context: BrowserContext, chat: str = "") -> None:
        self.page: Page = context.new_page()
        self.page.goto(f"/chat/{chat}" if chat else "/")
        self.log = self.page.get_by_role("log")
        self.composer = self.page.get_by_role("textbox", name="Your message")
        self.stop = self.page.get_by_role("button", name="Stop", exact=True)
        self.send = self.page.get_by_role("button", name="Send", exact=True)
        self.retry = self.page.get_by_role("button", name="Retry")
        expect(self.composer).to_be_visible()

    @property
    def chat(self) -> str:
        return unquote(urlsplit(self.page.url).path.removeprefix("/chat/"))

    @property
    def answers(self) -> Locator:
        return self.page.get_by_role("article", name="Agent")

    @property
    def messages(self) -> Locator:
        return self.page.get_by_role("article")

    def say(self, text: str) -> None:
        """Send a message, and wait until it is shown."""
        asked = self.page.get_by_role("article", name="You")
        before = asked.count()
        self.composer.fill(text)
        self.composer.press("Enter")
        expect(asked).to_have_count(before + 1)
        expect(self.page).to_have_url(HAS_CHAT)  # once the server has accepted it

    def finish(self, answers: int = 1) -> None:
        """Wait until this many answers are there, and no run is active."""
        expect(self.answers).to_have_count(answers)
        expect(self.answers.last).to_have_attribute("aria-busy", "false")
        expect(self.send).to_be_visible()

    def settle(self) -> None:
        """Wait until all animations have ended, except endless ones."""
        self.page.evaluate(SETTLED)

    def sees(self, text: str) -> None:
        """Wait until an answer contains this."""
        expect(self.answers.last).to_contain_text(text)


def read_chat(server: LiveServer, chat: str) -> dict[str, Any]:
    """A chat as the server returns it: the transcript of its logs."""
    query = {"profile": "page"}
    with httpx.Client(base_url=server.url, timeout=LIMIT, trust_env=False) as client:
        found: dict[str, Any] = client.get(f"/api/chats/{chat}", params=query).json()
        return found


def assert_shows_what_is_stored(tab: Tab, server: LiveServer) -> None:
    """The page shows the words of the log, each once; and again after a reload."""
    chat = read_chat(server, tab.chat)
    assert chat["activeRun"] is None
    messages = chat["messages"]
    expect(tab.messages).to_have_count(len(messages))
    there = shown(tab.messages)
    problems = [p for pair in zip(messages, there, strict=True) for p in missing(*pair)]
    assert not problems, "\n".join(problems)
    fresh = Tab(tab.page.context, tab.chat)
    expect(fresh.messages).to_have_count(len(messages))
    anew = shown(fresh.messages)
    assert anew == there, f"anew: {anew}\nlive: {there}"
    fresh.page.close()
