"""The chat list: hidden and shown, pins, the filter by agent, and search results that lead on."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LiveServer
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.test_accessible import SIZES, OpenTab, findings, open_tab

__all__ = ["open_tab"]


def chats(tab: Tab) -> Locator:
    return tab.page.get_by_role("navigation", name="Chats")


def begin(tab: Tab, words: str) -> None:
    """A new chat with one answer."""
    tab.page.get_by_role("button", name="New chat").click()
    tab.say(words)
    tab.finish()


def pin(tab: Tab, title: str, item: str = "Pin") -> None:
    row = chats(tab).get_by_role("listitem").filter(has_text=title).first
    row.hover()
    row.get_by_role("button", name=f"Options for “{title}”").click()
    tab.page.get_by_role("menuitem", name=item, exact=True).click()


def test_the_list_is_hidden_and_shown_by_button_and_key(
    server: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(server.url)[0])
    page = tab.page
    page.get_by_role("button", name="Hide chat list").click()
    expect(chats(tab)).to_have_count(0)
    show = page.get_by_role("button", name="Show chat list")
    expect(show).to_be_focused()
    page.reload()
    expect(show).to_be_visible()
    expect(chats(tab)).to_have_count(0)
    show.press("Enter")
    expect(page.get_by_role("button", name="Hide chat list")).to_be_focused()
    page.keyboard.press("Control+b")
    expect(chats(tab)).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("textbox", name="Search chats")).to_be_focused()


def test_pinned_chats_come_first_in_every_tab(demo: LiveServer, watched: Watched) -> None:
    context, _ = watched(demo.url)
    tab = Tab(context)
    for words in ("The pinned one", "The other one"):
        begin(tab, f"text {words}")
    other = Tab(context)
    title = "The pinned one"
    pin(tab, f"text {title}")
    for each in (tab, other):
        section = chats(each).get_by_role("region", name="Pinned")
        expect(section.get_by_role("link").filter(has_text=title)).to_have_count(1)
        expect(chats(each).get_by_role("link").filter(has_text=title)).to_have_count(1)
    tab.page.reload()
    expect(chats(tab).get_by_role("region").first).to_have_accessible_name("Pinned")
    pin(tab, f"text {title}", "Unpin")
    expect(chats(tab).get_by_role("region", name="Today")).to_contain_text(title)
    expect(chats(tab).get_by_role("link").filter(has_text=title)).to_have_count(1)


def test_chats_are_filtered_by_their_agent(crew: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(crew.url)[0])
    page = tab.page
    page.get_by_role("switch", name="Demo").check()
    begin(tab, "text A chat with the demo")
    page.get_by_role("button", name="Filter by agent").click()
    page.get_by_role("menuitemradio", name="Demo").click()
    expect(chats(tab)).to_contain_text("Only chats with Demo")
    expect(chats(tab).get_by_role("link", name="A chat with the demo")).to_have_count(1)
    page.get_by_role("button", name="Filter by agent").click()
    page.get_by_role("menuitemradio").nth(2).click()
    expect(chats(tab).get_by_role("link", name="A chat with the demo")).to_have_count(0)
    page.get_by_role("button", name="All agents").click()
    expect(chats(tab).get_by_role("link", name="A chat with the demo")).to_have_count(1)


@pytest.fixture
def long_chat(demo: LiveServer, watched: Watched) -> Tab:
    """A chat that begins with a word which no other message has, and has more than a page."""
    tab = Tab(watched(demo.url)[0])
    begin(tab, "text A zebrafish <b>is</b> a fish.")
    for number in range(2, 24):
        tab.composer.fill(f"text Message {number}, which is about something else.")
        tab.composer.press("Enter")
        expect(tab.answers.last).to_contain_text(f"Message {number},")
        expect(tab.send).to_be_visible()
    return tab


def test_a_search_result_leads_to_its_message(long_chat: Tab) -> None:
    page = long_chat.page
    page.goto("/")
    page.get_by_role("textbox", name="Search chats").fill("ZEBRAFISH")
    hits = chats(long_chat).get_by_role("list", name="Found in “").get_by_role("link")
    expect(hits).to_have_count(2)
    expect(hits.first).to_have_text("You: text A zebrafish <b>is</b> a fish.")
    expect(hits.first.locator("mark")).to_have_text("zebrafish")
    hits.nth(1).click()
    found = long_chat.log.get_by_role("article").filter(has_text="A zebrafish").nth(1)
    expect(found).to_be_in_viewport()
    expect(found).to_be_focused()
    expect(page).to_have_url(re.compile("message=run_"))
    expect(page.get_by_text("This is the message that the search found.")).to_have_count(1)
    page.reload()
    expect(long_chat.log.get_by_text("Message 23, which").last).to_be_attached()
    expect(found).to_be_in_viewport()


def test_a_message_that_is_not_there_is_reported(demo: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(demo.url)[0])
    begin(tab, "text Nothing to find here")
    tab.page.goto(f"/chat/{tab.chat}?message=gone")
    expect(tab.page.get_by_text("The message is no longer in this chat.")).to_be_visible()
    expect(tab.answers).to_have_count(1)


@pytest.mark.parametrize("size", SIZES)
def test_the_list_is_accessible(demo: LiveServer, open_tab: OpenTab, axe: str, size: str) -> None:
    tab = open_tab(demo, size)
    tab.say(f"text Something on a {size} page, to pin and to find")
    tab.finish()
    page = tab.page
    if size == "mobile":
        page.get_by_role("button", name="Open chat list").click()
    pin(tab, f"text Something on a {size} page, to pin and to find")
    expect(chats(tab).get_by_role("region", name="Pinned")).to_contain_text(size)
    assert findings(tab, axe) == []
    page.get_by_role("textbox", name="Search chats").fill("to find")
    expect(chats(tab).locator("mark").first).to_be_visible()
    assert findings(tab, axe) == []
    if size == "desktop":
        page.get_by_role("button", name="Hide chat list").click()
        assert findings(tab, axe) == []
