"""The page shows where an agent's model is, and which answers came from a simulated one."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab, assert_shows_what_is_stored
from web.protocol_tabs import Speaking, by_each

NOTE = "simulated model"


def test_an_agent_without_a_key_has_a_simulated_model(
    keyless: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(keyless.url)[0])
    picker = tab.page.get_by_role("button", name=f"Agent: Author, {NOTE}", exact=True)
    expect(picker).to_contain_text(NOTE)
    picker.press("Enter")
    options = tab.page.get_by_role("menuitemradio")
    expect(options.filter(has_text=NOTE)).to_have_accessible_name(re.compile(f"^Author {NOTE}\\b"))
    other = options.filter(has_text="Scripted")
    expect(other).not_to_contain_text("model")
    other.press("Enter")
    expect(tab.page.get_by_role("button", name="Agent: Scripted", exact=True)).to_be_visible()
    tab.say(prompt(text("From no model.")))
    tab.finish()
    expect(tab.answers.last).not_to_contain_text(NOTE)


@by_each
def test_an_answer_of_a_simulated_model(
    keyless: LiveServer, watched: Watched, protocol: str
) -> None:
    speaking = Speaking(watched(keyless.url)[0], protocol)
    tab = speaking.tab()
    tab.say(prompt(text("What a simulated model wrote.")))
    tab.finish()
    expect(tab.answers.last.get_by_text(NOTE, exact=True)).to_be_visible()
    assert_shows_what_is_stored(tab, keyless)
    tab.page.reload()
    expect(tab.answers.last.get_by_text(NOTE, exact=True)).to_be_visible()
    speaking.assert_spoken()
