"""Whatever happens to a page during a run, in the end it shows the transcript of the log.

Here in the protocol that it speaks by itself; what each has to do is in test_transports.py.
"""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, a_day_of_work, prompt, text
from web.browser_watch import CUT_OFF, Watched
from web.chat_tab import Tab, assert_shows_what_is_stored
from web.pausing_agent import held


@pytest.mark.parametrize("command", ["all", "hello"])
def test_a_run(demo: LiveServer, watched: Watched, command: str) -> None:
    tab = Tab(watched(demo.url)[0])
    tab.say(command)
    tab.finish()
    assert_shows_what_is_stored(tab, demo)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_refresh_at_ten_moments(
    server: LiveServer, watched: Watched, gate: Gate, seed: int
) -> None:
    script = a_day_of_work()
    moments = random.Random(seed)
    places = sorted(moments.sample(range(len(script)), 10), reverse=True)
    for place in places:
        script.insert(place, gate.step)
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*script))
    for _ in places:
        gate.wait()
        if moments.random() < 0.5:  # in the middle of its output, or while it is silent
            gate.open()
        tab.page.reload()
        expect(tab.page.get_by_role("article").first).to_be_visible()
        if gate.is_occupied:
            gate.open()
    tab.finish()
    assert_shows_what_is_stored(tab, server)


def test_two_tabs(server: LiveServer, watched: Watched, gate: Gate) -> None:
    context, _ = watched(server.url)
    first = Tab(context)
    first.say(held(gate))
    first.sees("before the agent is held up")
    second = Tab(context, first.chat)
    second.sees("before the agent is held up")
    expect(second.stop).to_be_visible()
    gate.open()
    for tab in (first, second):
        tab.finish()
        assert_shows_what_is_stored(tab, server)


def test_request_in_one_tab_is_shown_in_the_other(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    context, _ = watched(server.url)
    first = Tab(context)
    first.say(prompt(text("An answer from before.")))
    first.finish()
    second = Tab(context, first.chat)
    second.finish()
    first.say(held(gate))
    second.sees("before the agent is held up")
    second.stop.click()
    for tab in (first, second):
        tab.finish(2)
        assert_shows_what_is_stored(tab, server)


def test_messages_sent_offline_are_there_after_a_reconnect(
    server: LiveServer, watched: Watched
) -> None:
    context, watch = watched(server.url)
    watch.expect(CUT_OFF)
    tab = Tab(context)
    tab.say(prompt(text("An answer from before.")))
    tab.finish()
    context.set_offline(True)
    unsent = prompt(text("An answer from after."))
    tab.say(unsent)
    tab.page.get_by_role("button", name="New chat").click()
    expect(tab.composer).to_have_value("")
    tab.page.go_back()
    expect(tab.composer).to_have_value(unsent)
    context.set_offline(False)
    expect(tab.send).to_be_enabled()
    tab.composer.press("Enter")
    tab.finish(2)
    expect(tab.composer).to_have_value("")
    assert_shows_what_is_stored(tab, server)
