"""Keyboard focus is not lost: a button that disappears passes it to the text field."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.pausing_agent import held


def test_after_send(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    tab.composer.fill(held(gate))
    tab.send.press("Enter")
    expect(tab.stop).to_be_visible()
    expect(tab.composer).to_be_focused()
    gate.open()
    tab.finish()


def test_when_the_agent_is_done_and_stop_goes_away(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(held(gate))
    tab.stop.focus()
    gate.open()
    tab.finish()
    expect(tab.composer).to_be_focused()


@pytest.mark.parametrize("key", ["Enter", "Escape"])
def test_after_stop(server: LiveServer, watched: Watched, gate: Gate, key: str) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(held(gate))
    tab.stop.press(key)
    tab.finish()
    expect(tab.composer).to_be_focused()


def test_after_a_prompt_of_the_empty_page(demo: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(demo.url)[0])
    tab.page.get_by_role("button", name="Tool call with its result").press("Enter")
    tab.finish()
    expect(tab.composer).to_be_focused()


def test_a_key_that_is_held_down_on_stop_sends_nothing(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(held(gate))
    tab.composer.fill(prompt(text("This is not said.")))
    tab.stop.focus()
    tab.page.keyboard.down("Enter")
    tab.finish()
    expect(tab.composer).to_be_focused()
    tab.page.keyboard.down("Enter")  # as a keyboard repeats it
    tab.page.keyboard.up("Enter")
    expect(tab.send).to_be_enabled()
    expect(tab.messages).to_have_count(2)
