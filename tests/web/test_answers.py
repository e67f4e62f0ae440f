"""Who answered, with which model, when and for how much; and what a person thinks of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import Gate, emit, prompt, text, write_agent
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.protocol_tabs import Speaking, by_each
from web.test_accessible import RULES, RUN, THEMES, Theme

USED = emit(
    "usage", id="1", input=42_000, output=812, cache_read=30_000, reasoning=300, cost_usd=0.0312,
    model="gpt-4o-2024-11-20",
)  # fmt: skip


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server whose agent has an icon."""
    folder = tmp_path_factory.mktemp("filmed")
    agents = write_agent(folder / "agents")
    about = "name: Director\nframework: emitted\nicon: 🎬\n"
    (agents / "scripted/agent.yaml").write_text(about)
    with live_server(folder / "data", "--agents", agents, patience=60 * LIMIT) as server:
        yield server


def head(tab: Tab) -> Locator:
    return tab.answers.last.locator(".answer-head")


@by_each
def test_an_answer_says_who_which_model_and_when(
    filmed: LiveServer, watched: Watched, gate: Gate, protocol: str
) -> None:
    speaking = Speaking(watched(filmed.url)[0], protocol)
    tab = speaking.tab()
    tab.say(prompt(text("An answer."), gate.step, USED))
    gate.wait()
    expect(head(tab)).to_contain_text("🎬Director")  # while it works
    gate.open()
    tab.finish()
    expect(head(tab)).to_contain_text("🎬Director·gpt-4o-2024-11-20")
    time = head(tab).locator("time")
    expect(time).to_have_text(re.compile(r"^\d?\d:\d\d"))
    expect(time).to_have_css("opacity", "1" if tab.page.evaluate(TOUCHED) else "0")
    tab.answers.last.hover()
    expect(time).to_have_css("opacity", "1")
    told = head(tab).inner_text()
    tab.page.reload()
    expect(head(tab)).to_have_text(re.compile(re.escape("gpt-4o-2024-11-20")))
    assert head(tab).inner_text() == told
    speaking.assert_spoken()


TOUCHED = "matchMedia('(pointer: coarse)').matches"


def test_tokens_of_an_answer_and_of_the_whole_chat(filmed: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(filmed.url)[0])
    tab.say(prompt(text("An answer."), USED))
    tab.finish()
    tab.page.get_by_role("button", name="Regenerate").click()
    expect(tab.answers.last).to_contain_text("2/2")
    tab.finish()
    tab.answers.last.get_by_role("button", name="42,000 tokens in · 812 out").click()
    details = tab.page.get_by_role("dialog", name="Tokens of this answer")
    for words in ("read from cache30,000", "for reasoning300", "33% full"):
        expect(details).to_contain_text(words)
    expect(details.get_by_role("meter", name="Context")).to_have_count(1)
    tab.page.keyboard.press("Escape")
    expect(details).to_have_count(0)
    name = "Usage of this chat: 85,624 tokens · $0.0624"
    tab.page.get_by_role("button", name=name).click()
    whole = tab.page.get_by_role("dialog", name="Usage of this chat")
    for words in ("Answers2", "Input tokens84,000", "read from cache60,000", "$0.0624", "33% full"):
        expect(whole).to_contain_text(words)


def test_the_chat_menu_of_a_phone_has_the_usage(filmed: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(filmed.url, viewport={"width": 390, "height": 844})[0])
    tab.say(prompt(text("An answer."), USED))
    tab.finish()
    expect(tab.page.get_by_role("button", name="Usage of this chat")).to_have_count(0)
    tab.page.get_by_role("button", name="Chat options").click()
    tab.page.get_by_role("menuitem", name="Usage").click()
    expect(tab.page.get_by_role("dialog")).to_contain_text("Output tokens812")


def test_a_window_that_is_not_known_has_no_meter(filmed: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(filmed.url)[0])
    used = emit("usage", id="1", input=10, output=1, model="nobody-knows-it")
    tab.say(prompt(text("An answer."), used))
    tab.finish()
    expect(head(tab)).to_contain_text("nobody-knows-it")
    tab.answers.last.get_by_role("button", name="10 tokens in").click()
    details = tab.page.get_by_role("dialog")
    expect(details).to_contain_text("Input tokens10")
    expect(details.get_by_role("meter")).to_have_count(0)


@by_each
def test_feedback_outlives_a_reload_and_can_be_taken_back(
    filmed: LiveServer, watched: Watched, protocol: str
) -> None:
    tab = Speaking(watched(filmed.url)[0], protocol).tab()
    tab.say(prompt(text("An answer.")))
    tab.finish()
    good = tab.answers.last.get_by_role("button", name="Good answer")
    bad = tab.answers.last.get_by_role("button", name="Bad answer")
    good.click()
    expect(good).to_have_attribute("aria-pressed", "true")
    bad.click()
    expect(good).to_have_attribute("aria-pressed", "false")
    field = tab.page.get_by_role("textbox", name="Comment on this answer")
    expect(field).to_be_focused()
    field.fill("Too short.")
    field.press("Enter")
    tab.page.reload()
    expect(bad).to_have_attribute("aria-pressed", "true")
    tab.answers.last.get_by_role("button", name="Edit your comment").click()
    expect(field).to_have_value("Too short.")
    field.press("Escape")
    bad.click()
    expect(bad).to_have_attribute("aria-pressed", "false")
    tab.page.reload()
    tab.finish()
    expect(bad).to_have_attribute("aria-pressed", "false")


def test_exports_have_the_feedback(filmed: LiveServer, watched: Watched, tmp_path: Path) -> None:
    tab = Tab(watched(filmed.url)[0])
    tab.say(prompt(text("An answer.")))
    tab.finish()
    tab.answers.last.get_by_role("button", name="Bad answer").click()
    field = tab.page.get_by_role("textbox", name="Comment on this answer")
    field.fill("Too short.")
    field.press("Enter")
    expect(field).to_have_count(0)
    markdown = _exported(tab, "Export as Markdown", tmp_path)
    assert "An answer.\n" in markdown and "*👎 Bad answer:* Too short.\n" in markdown
    stored = json.loads(_exported(tab, "Export as JSON", tmp_path))
    (given,) = stored["feedback"]
    assert (given["value"], given["comment"]) == ("down", "Too short.")
    assert given["runId"] == stored["messages"][-1]["id"]


def _exported(tab: Tab, item: str, folder: Path) -> str:
    tab.page.get_by_role("button", name="Chat options").click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("menuitem", name=item).click()
    file = folder / item
    download.value.save_as(file)
    return file.read_text("utf-8")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [1440, 390, 320])
def test_all_of_it_is_accessible(
    filmed: LiveServer, watched: Watched, axe: str, theme: Theme, width: int
) -> None:
    size = {"width": width, "height": 844}
    tab = Tab(watched(filmed.url, viewport=size, color_scheme=theme)[0])
    tab.say(prompt(text("An answer."), USED))
    tab.finish()
    tab.answers.last.get_by_role("button", name="Bad answer").click()
    expect(tab.page.get_by_role("textbox", name="Comment on this answer")).to_be_focused()
    expect(head(tab)).to_contain_text("gpt-4o")
    _check(tab, axe, width)
    tab.answers.last.get_by_role("button", name="42,000 tokens in").click()
    expect(tab.page.get_by_role("dialog")).to_be_visible()
    _check(tab, axe, width)
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("button", name="Chat options").click()
    tab.page.get_by_role("menuitem", name="Usage").click()
    expect(tab.page.get_by_role("dialog")).to_be_visible()
    _check(tab, axe, width)


def _check(tab: Tab, axe: str, width: int) -> None:
    tab.settle()
    tab.page.evaluate(axe)
    assert tab.page.evaluate(RUN, RULES) == []
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
