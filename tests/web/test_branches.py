"""Versions of messages: nothing is lost by an edit or a regeneration, in any protocol."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab, assert_shows_what_is_stored
from web.protocol_tabs import Speak, by_each
from web.test_accessible import RULES, RUN, THEMES, Theme

HISTORY = ["history"]
"""The agent says the roles of the messages that it was given."""


def asked(tab: Tab) -> Locator:
    return tab.page.get_by_role("article", name="You")


def edit(tab: Tab, message: int, script: str) -> None:
    bubble = asked(tab).nth(message)
    bubble.hover()
    bubble.get_by_role("button", name="Edit").click()
    field = tab.page.get_by_role("textbox", name="Edit your message")
    field.fill(script)
    field.press("Enter")


def versions(message: Locator) -> Locator:
    return message.get_by_role("group", name="Versions of this message")


def previous(message: Locator) -> Locator:
    return message.get_by_role("button", name="Previous version")


def next_one(message: Locator) -> Locator:
    return message.get_by_role("button", name="Next version")


def two_turns(tab: Tab) -> None:
    tab.say(prompt(text("First answer.")))
    tab.finish()
    tab.say(prompt(text("Second answer.")))
    tab.finish(2)


@by_each
def test_an_edit_keeps_the_old_branch(server: LiveServer, speak: Speak, protocol: str) -> None:
    tab = speak(protocol).tab()
    two_turns(tab)
    expect(versions(tab.page.locator("body"))).to_have_count(0)
    edit(tab, 0, prompt(text("Another first answer.")))
    tab.finish(1)
    expect(versions(asked(tab).first)).to_contain_text("2/2")
    previous(asked(tab).first).click()
    expect(tab.answers).to_have_count(2)  # the whole branch, to its newest answer
    expect(tab.answers.last).to_contain_text("Second answer.")
    expect(versions(asked(tab).first)).to_contain_text("1/2")
    assert_shows_what_is_stored(tab, server)
    next_one(asked(tab).first).click()
    expect(tab.answers).to_have_count(1)
    expect(tab.answers.last).to_contain_text("Another first answer.")
    assert_shows_what_is_stored(tab, server)


@by_each
def test_a_new_message_continues_the_chosen_branch(
    server: LiveServer, speak: Speak, protocol: str
) -> None:
    tab = speak(protocol).tab()
    two_turns(tab)
    edit(tab, 0, prompt(text("Another first answer.")))
    tab.finish(1)
    previous(asked(tab).first).click()
    expect(tab.answers).to_have_count(2)
    tab.say(prompt(HISTORY))
    tab.finish(3)
    expect(tab.answers.last.get_by_text("user assistant user assistant")).to_be_visible()
    assert_shows_what_is_stored(tab, server)
    next_one(asked(tab).first).click()
    expect(tab.answers).to_have_count(1)
    tab.say(prompt(HISTORY))
    tab.finish(2)
    expect(tab.answers.last.get_by_text("user assistant", exact=True)).to_be_visible()
    assert_shows_what_is_stored(tab, server)


@by_each
def test_regenerated_answers_are_versions(server: LiveServer, speak: Speak, protocol: str) -> None:
    tab = speak(protocol).tab()
    tab.say(prompt(text("The same again.")))
    tab.finish()
    runs = [_last_run(server, tab)]
    for count in (2, 3):
        tab.page.get_by_role("button", name="Regenerate").click()
        expect(versions(tab.answers.last)).to_contain_text(f"{count}/{count}")
        tab.finish()
        runs.append(_last_run(server, tab))
    previous(tab.answers.last).click()
    expect(versions(tab.answers.last)).to_contain_text("2/3")
    assert _last_run(server, tab) == runs[1]
    tab.page.reload()
    expect(versions(tab.answers.last)).to_contain_text("2/3")
    assert_shows_what_is_stored(tab, server)


def _last_run(server: LiveServer, tab: Tab) -> str:
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        found = client.get(f"/api/chats/{tab.chat}/branches").json()
    return str(found["runId"])


def test_versions_by_keyboard_keep_the_focus_and_are_read_out(
    server: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(text("The same again.")))
    tab.finish()
    tab.page.get_by_role("button", name="Regenerate").click()
    expect(versions(tab.answers.last)).to_contain_text("2/2")
    tab.finish()
    previous(tab.answers.last).focus()
    tab.page.keyboard.press("Enter")
    expect(versions(tab.answers.last)).to_contain_text("1/2")
    expect(previous(tab.answers.last)).to_be_focused()
    expect(previous(tab.answers.last)).to_have_attribute("aria-disabled", "true")
    status = tab.page.get_by_role("status").filter(has_text="Showing version 1 of 2.")
    expect(status).to_have_count(1)
    tab.page.keyboard.press("ArrowRight")
    expect(versions(tab.answers.last)).to_contain_text("2/2")
    expect(next_one(tab.answers.last)).to_be_focused()


def test_another_tab_learns_of_the_switch(server: LiveServer, watched: Watched) -> None:
    context, _ = watched(server.url)
    first = Tab(context)
    two_turns(first)
    edit(first, 1, prompt(text("Another second answer.")))
    expect(first.answers.last).to_contain_text("Another second answer.")
    first.finish(2)
    second = Tab(context, first.chat)
    second.sees("Another second answer.")
    previous(asked(first).last).click()
    for tab in (first, second):
        expect(tab.answers.last).to_contain_text(re.compile("^(?!Another).*Second answer", re.S))
        expect(versions(asked(tab).last)).to_contain_text("1/2")
        assert_shows_what_is_stored(tab, server)


def test_an_active_run_keeps_its_branch_and_the_page_says_why(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(text("First answer.")))
    tab.finish()
    edit(tab, 0, prompt(text("Another first answer."), gate.step))
    gate.wait()
    tab.sees("Another first answer.")
    expect(versions(asked(tab).first)).to_contain_text("2/2")
    expect(previous(asked(tab).first)).to_have_attribute("aria-disabled", "true")
    previous(asked(tab).first).press("Enter")
    expect(tab.page.get_by_role("alert")).to_contain_text("Stop it or let it finish")
    expect(tab.answers.last).to_contain_text("Another first answer.")
    gate.open()
    tab.finish()
    previous(asked(tab).first).click()
    expect(tab.answers.last).to_contain_text("First answer.")
    expect(tab.page.get_by_role("alert")).to_have_count(0)
    assert_shows_what_is_stored(tab, server)


def test_the_place_in_the_list_is_kept(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    long = "\n\n".join(f"Paragraph {n}." for n in range(60))
    tab.say(prompt(text("First answer.")))
    tab.finish()
    tab.say(prompt(text(long)))
    tab.finish(2)
    edit(tab, 1, prompt(text(f"Anew. {long}")))
    expect(tab.answers.last).to_contain_text("Anew.")
    tab.finish(2)
    switch = versions(asked(tab).last)
    switch.scroll_into_view_if_needed()
    before = switch.bounding_box()
    previous(asked(tab).last).click()
    expect(tab.answers.last).not_to_contain_text("Anew.")
    expect(switch).to_contain_text("1/2")
    after = switch.bounding_box()
    assert before is not None and after is not None
    assert abs(before["y"] - after["y"]) < 2


def test_the_edit_field_says_that_nothing_is_lost(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    two_turns(tab)
    asked(tab).first.hover()
    asked(tab).first.get_by_role("button", name="Edit").click()
    expect(tab.page.get_by_text("What follows stays with the old one.")).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [1440, 390, 320])
def test_versions_are_accessible(
    server: LiveServer, watched: Watched, axe: str, theme: Theme, width: int
) -> None:
    size = {"width": width, "height": 844}
    tab = Tab(watched(server.url, viewport=size, color_scheme=theme)[0])
    tab.say(prompt(text("The same again.")))
    tab.finish()
    tab.page.get_by_role("button", name="Regenerate").click()
    expect(versions(tab.answers.last)).to_contain_text("2/2")
    tab.finish()
    tab.settle()
    tab.page.evaluate(axe)
    assert tab.page.evaluate(RUN, RULES) == []
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    least = 44 if width < 768 else 36
    for button in versions(tab.answers.last).get_by_role("button").all():
        box = button.bounding_box()
        assert box is not None and min(box["width"], box["height"]) >= least
