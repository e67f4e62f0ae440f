"""The player: the chat as it was, in recorded time, at several speeds, by mouse and by keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import prompt
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.inspector_tab import Inspector

COUNTED = " ".join(f"n.{number}" for number in range(12))
REPLAYED = re.compile(r"Replay: the chat at event \d+")


@pytest.fixture
def finished(server: LiveServer, watched: Watched) -> Tab:
    """A tab with an answer that took a while."""
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(["count", "n", 0, 12, 0.15]))
    tab.finish()
    return tab


def test_a_run_is_played_to_its_end(finished: Tab) -> None:
    inspector = Inspector(finished, view="Timeline")
    page = inspector.page
    page.get_by_role("button", name="Speed: 1x").click()
    page.get_by_role("menuitemradio", name="4x").click()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_text(REPLAYED)).to_be_visible()
    expect(page.locator("[data-playhead]")).to_be_attached()
    expect(page.get_by_text(REPLAYED)).to_have_count(0)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    expect(finished.answers.last).to_contain_text(COUNTED)


def test_space_pauses_and_plays_and_arrows_step(finished: Tab) -> None:
    inspector = Inspector(finished, view="Timeline")
    page = inspector.page
    inspector.slider.focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause playback")).to_be_visible()
    expect(finished.answers.last).to_contain_text("n.2")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    at = int(inspector.slider.input_value())
    page.keyboard.press("ArrowRight")
    expect(inspector.slider).to_have_value(str(at + 1))
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(inspector.slider).to_have_value(str(at - 1))
    # A step of the tree uses the arrow keys itself, but not the space bar.
    inspector.tree.get_by_role("treeitem").first.focus()
    page.keyboard.press("ArrowDown")
    expect(inspector.slider).to_have_value(str(at - 1))
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause playback")).to_be_visible()


def test_it_plays_from_a_step_and_from_where_the_slider_was_moved_to(finished: Tab) -> None:
    inspector = Inspector(finished, view="Timeline")
    page = inspector.page
    inspector.step("Text").click()
    page.get_by_role("button", name="Play from here").click()
    expect(page.get_by_role("button", name="Pause playback")).to_be_visible()
    inspector.slider.fill("9")
    expect(finished.answers.last).to_contain_text("n.5")
    expect(inspector.slider).not_to_have_value("9")


def test_long_pauses_are_shortened_and_said_so(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(["count", "n", 0, 2, 2.5], ["count", "n", 2, 3, 0]))
    tab.finish()
    inspector = Inspector(tab)
    inspector.page.get_by_role("button", name="Play", exact=True).click()
    note = inspector.player.get_by_text(re.compile(r"2\.\d s without events, shortened"))
    expect(note.first).to_be_visible()
    expect(inspector.page.get_by_role("button", name="Back to now")).to_have_count(0)


def test_on_a_phone_the_player_shows_the_chat_itself(server: LiveServer, watched: Watched) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    tab = Tab(watched(server.url, **phone)[0])
    tab.say(prompt(["count", "n", 0, 12, 0.15]))
    tab.finish()
    inspector = Inspector(tab, view="Timeline")
    page = inspector.page
    page.get_by_role("button", name="Play", exact=True).click()
    preview = page.get_by_role("region", name=REPLAYED)
    expect(preview).to_contain_text("n.1")
    page.get_by_role("dialog").get_by_role("button", name="Back to now").click()
    expect(preview).to_have_count(0)
    play = page.get_by_role("button", name="Play", exact=True)
    box = play.bounding_box()
    assert box is not None
    assert box["height"] >= 44
