"""The page in German, and from right to left."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from server.live_server import LiveServer
from web.browser_watch import Watched
from web.test_accessible import RULES, RUN, SIZES

TEXTS = """
() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const home = node.parentElement;
    if (home.closest("script, noscript, kbd") || !home.checkVisibility()) continue;
    if (/\\p{L}{2}/u.test(node.data)) found.push(node.data.trim());
  }
  for (const name of ["aria-label", "title", "placeholder"]) {
    for (const home of document.querySelectorAll(`[${name}]`)) {
      found.push(home.getAttribute(name).trim());
    }
  }
  return found.filter(Boolean);
}
"""
"""All texts that a person reads or hears."""


def problems(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    found: list[str] = page.evaluate(RUN, RULES)
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("the page scrolls sideways")
    return found


def say(page: Page, field: str, text: str) -> None:
    page.get_by_role("textbox", name=field).fill(text)
    page.get_by_role("textbox", name=field).press("Enter")


def box(locator: Locator) -> Any:
    found = locator.bounding_box()
    assert found is not None
    return found


def test_a_german_browser_gets_a_german_page(demo: LiveServer, watched: Watched, axe: str) -> None:
    page = watched(demo.url, locale="de-AT")[0].new_page()
    page.goto("/")
    html = page.locator("html")
    expect(html).to_have_attribute("lang", "de-AT")
    expect(html).to_have_attribute("dir", "ltr")
    say(page, "Ihre Nachricht", "all")
    expect(page.get_by_role("article", name="Agent")).to_have_attribute("aria-busy", "false")
    expect(page.get_by_role("button", name="Neu erzeugen")).to_be_visible()
    expect(page.get_by_role("navigation", name="Chats")).to_contain_text("Heute")
    page.get_by_role("button", name="Untersuchen", exact=True).click()
    expect(page.get_by_role("tab", name="Inspektor")).to_be_visible()
    assert problems(page, axe) == []


def test_a_person_chooses_another_language(demo: LiveServer, watched: Watched) -> None:
    context, _ = watched(demo.url, locale="fr-FR")
    page = context.new_page()
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("menuitemradio", name="Deutsch").click()
    expect(page.get_by_role("button", name="Einstellungen")).to_be_visible()
    other = context.new_page()
    other.goto("/chat")
    other.get_by_role("button", name="Einstellungen").click()
    other.get_by_role("menuitemradio", name="Wie der Browser").click()
    expect(other.get_by_role("button", name="Settings")).to_be_visible()


def test_an_address_names_a_language_for_its_tab(demo: LiveServer, watched: Watched) -> None:
    page = watched(demo.url)[0].new_page()
    page.goto("/?lang=de")
    expect(page.get_by_role("button", name="Neuer Chat")).to_be_visible()
    page.goto("/chat")
    expect(page.get_by_role("button", name="Neuer Chat")).to_be_visible()
    page.goto("/?lang=tlh")
    expect(page.get_by_role("button", name="Neuer Chat")).to_be_visible()
    page.get_by_role("button", name="Einstellungen").click()
    page.get_by_role("menuitemradio", name="English").click()
    expect(page.get_by_role("button", name="New chat")).to_be_visible()


def test_the_english_page_does_not_load_other_catalogues(
    demo: LiveServer, watched: Watched
) -> None:
    page = watched(demo.url)[0].new_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto("/")
    expect(page.get_by_role("textbox", name="Your message")).to_be_visible()
    assert not [url for url in loaded if re.search(r"/assets/(de|pseudo)-", url)]


@pytest.mark.parametrize("size", SIZES)
def test_the_page_from_right_to_left(
    demo: LiveServer, watched: Watched, axe: str, size: str
) -> None:
    page = watched(demo.url, viewport=SIZES[size])[0].new_page()
    page.goto("/?lang=ar-XB")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    assert problems(page, axe) == []
    say(page, "[Your message]", "all")
    answer = page.get_by_role("article", name="[Agent]")
    expect(answer).to_have_attribute("aria-busy", "false")
    assert problems(page, axe) == []
    asked = box(page.get_by_role("article", name="[You]").get_by_text("all"))
    assert asked["x"] < SIZES[size]["width"] / 4, "one's own words are at the end of the line"
    code = answer.locator("pre").first
    assert code.evaluate("each => getComputedStyle(each).direction") == "ltr"
    if size == "desktop":
        nav = page.get_by_role("navigation")
        assert box(nav)["x"] > SIZES[size]["width"] / 2
        page.get_by_role("button", name="[Inspect]").click()
        panel = page.get_by_role("complementary")
        expect(panel).to_be_visible()
        assert box(panel)["x"] < 10
        edge = page.get_by_role("separator")
        width = box(panel)["width"]
        edge.press("ArrowRight")
        expect(edge).to_have_attribute("aria-valuenow", str(round(width) + 24))
    else:
        page.get_by_role("button", name="[Open chat list]").click()
        nav = page.get_by_role("navigation")
        expect(nav).to_be_visible()
        nav.evaluate("each => Promise.all(document.getAnimations().map((a) => a.finished))")
        assert box(nav)["x"] + box(nav)["width"] > SIZES[size]["width"] - 2
        assert problems(page, axe) == []


def test_every_text_of_the_page_is_in_a_catalogue(demo: LiveServer, watched: Watched) -> None:
    """What comes from the server is not: names of agents, and what they say."""
    page = watched(demo.url)[0].new_page()
    page.goto("/?lang=ar-XB")
    expect(page.get_by_role("button", name="[Settings]")).to_be_visible()
    agents = page.request.get("/api/agents").json()["agents"]
    theirs = {
        text
        for agent in agents
        for text in (agent["name"], agent["description"], *agent.get("starters", ()))
    }
    theirs |= {chat["title"] for chat in page.request.get("/api/chats").json()["chats"]}
    page.get_by_role("button", name="[Settings]").click()
    expect(page.get_by_role("menu")).to_be_visible()
    known = {*theirs, "Mobox", "English", "Deutsch"}
    left = [text for text in page.evaluate(TEXTS) if not re.search(r"\[.*\]", text, re.DOTALL)]
    assert [text for text in left if text not in known] == []
