"""Three protocols, one page: it behaves the same and shows the same with each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import WebSocket, expect

from server.live_server import LiveServer, live_server
from server.many_processes import LEASE, looking_often
from server.scripted_agent import Gate, a_day_of_work, emit, prompt, text
from web.browser_watch import Watched, cut_off
from web.chat_tab import Tab, assert_shows_what_is_stored, read_chat
from web.pausing_agent import FIRST, LAST, held
from web.protocol_tabs import PROTOCOLS, HeldBack, Speak, Speaking, by_each, speak_from_now_on
from web.transcript_check import shown

RETRYING = re.compile("Reconnecting|Request Failed")
"""What the page says at first, and after a few seconds."""


@by_each
def test_a_run(server: LiveServer, speak: Speak, protocol: str) -> None:
    tab = speak(protocol).tab()
    tab.say(prompt(*a_day_of_work()))
    tab.finish()
    assert_shows_what_is_stored(tab, server)


@by_each
def test_another_run(server: LiveServer, speak: Speak, protocol: str) -> None:
    tab = speak(protocol).tab()
    for number, words in enumerate(("The first answer is this.", "The second is that."), 1):
        tab.say(prompt(text(words)))
        tab.finish(number)
    assert_shows_what_is_stored(tab, server)


@by_each
def test_a_stop(server: LiveServer, speak: Speak, gate: Gate, protocol: str) -> None:
    tab = speak(protocol).tab()
    tab.say(held(gate))
    tab.sees("before the agent is held up")
    gate.wait()
    tab.stop.click()
    tab.finish()
    expect(tab.answers).not_to_contain_text("let go")
    assert_shows_what_is_stored(tab, server)
    assert read_chat(server, tab.chat)["messages"][-1]["metadata"]["reason"] == "cancelled"


@by_each
@pytest.mark.parametrize("by", ["a click", "Enter"])
def test_a_stop_of_what_the_server_has_not_taken(
    server: LiveServer, watched: Watched, protocol: str, by: str
) -> None:
    context, watch = watched(server.url)
    watch.expect(r"404 .*/stop:0")  # the chat does not exist yet
    held_back = HeldBack(context)
    tab = Speaking(context, protocol).tab()
    said = prompt(text("This is said once."))
    tab.composer.fill(said)
    tab.composer.press("Enter")
    held_back.wait(tab.page)
    if by == "Enter":
        tab.stop.press("Enter")
    else:
        tab.stop.click()
    expect(tab.send).to_be_enabled()
    expect(tab.composer).to_have_value(said)
    expect(tab.messages).to_have_count(0)
    held_back.let_go()
    tab.send.click()
    tab.finish()
    assert_shows_what_is_stored(tab, server)
    assert len(held_back.said) == 2, held_back.said


@by_each
def test_a_refresh_in_the_middle(
    server: LiveServer, speak: Speak, gate: Gate, protocol: str
) -> None:
    script = a_day_of_work()
    places = [len(script) // 3, 2 * len(script) // 3]
    for place in reversed(places):
        script.insert(place, gate.step)
    tab = speak(protocol).tab()
    tab.say(prompt(*script))
    for _ in places:
        gate.wait()
        tab.page.reload()
        expect(tab.answers.last).to_have_attribute("aria-busy", "true")
        gate.open()
    tab.finish()
    assert_shows_what_is_stored(tab, server)


@by_each
def test_an_error_and_another_try(
    server: LiveServer, speak: Speak, port: int, protocol: str
) -> None:
    tab = speak(protocol).tab()
    tab.say(prompt(*FIRST, ["gate", port], *LAST))  # no server on that port: it fails
    expect(tab.page.get_by_role("alert")).to_be_visible()
    tab.finish()
    assert_shows_what_is_stored(tab, server)
    with Gate(port) as gate:
        tab.retry.click()
        gate.open()
        tab.sees("let go")
    tab.finish()
    expect(tab.page.get_by_role("alert")).to_have_count(0)
    assert_shows_what_is_stored(tab, server)


@by_each
def test_error_emitted_by_an_agent(server: LiveServer, speak: Speak, protocol: str) -> None:
    tab = speak(protocol).tab()
    tab.say(prompt(*FIRST, emit("error", message="No more milk.")))
    expect(tab.page.get_by_role("alert")).to_contain_text("No more milk.")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


@by_each
def test_an_edit(server: LiveServer, speak: Speak, protocol: str) -> None:
    tab = speak(protocol).tab()
    tab.say(prompt(text("This will not stay.")))
    tab.finish()
    tab.page.get_by_role("button", name="Edit").first.click()
    field = tab.page.get_by_role("textbox", name="Edit your message")
    field.fill(prompt(text("This is said instead.")))
    field.press("Enter")
    tab.sees("This is said instead.")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


def test_one_run_in_three_protocols_at_once(server: LiveServer, speak: Speak, gate: Gate) -> None:
    script = a_day_of_work()
    script.insert(len(script) // 2, gate.step)
    first, *others = [speak(protocol) for protocol in PROTOCOLS]
    begun = first.tab()
    begun.say(prompt(*script))
    gate.wait()
    tabs = [begun, *(other.tab(begun.chat) for other in others)]
    for tab in tabs:
        expect(tab.answers.last).to_have_attribute("aria-busy", "true")
    gate.open()
    for tab in tabs:
        tab.finish()
    assert_shows_what_is_stored(begun, server)
    told = [(shown(tab.messages), heads(tab)) for tab in tabs]
    assert told[1] == told[0]
    assert told[2] == told[0]


def heads(tab: Tab) -> list[str]:
    """A collapsible block shows its name, its state and its duration."""
    found = tab.answers.last.locator("button[aria-expanded]:not([aria-haspopup])").all_inner_texts()
    assert any(re.search(r"\d s|\ds", head) for head in found), found
    return found


@by_each
def test_offline_and_back(server: LiveServer, watched: Watched, gate: Gate, protocol: str) -> None:
    context, watch = watched(server.url)
    watch.expect(cut_off(protocol))
    tab = Speaking(context, protocol).tab()
    tab.say(held(gate))
    tab.sees("before the agent is held up")
    context.set_offline(True)
    expect(tab.page.get_by_role("status").filter(has_text="offline")).to_be_visible()
    gate.open()
    context.set_offline(False)
    tab.sees("let go")
    tab.finish()
    expect(tab.page.get_by_text("You're offline")).to_have_count(0)
    assert_shows_what_is_stored(tab, server)


@by_each
def test_a_server_that_is_killed_and_started_again(
    agents: Path, watched: Watched, gate: Gate, port: int, tmp_path: Path, protocol: str
) -> None:
    flags = ("--agents", agents, "--port", str(port), *LEASE)
    often = looking_often(tmp_path)
    with live_server(tmp_path / "data", *flags, PYTHONPATH=often) as server:
        context, watch = watched(server.url)
        watch.expect(cut_off(protocol))
        tab = Speaking(context, protocol).tab()
        tab.say(held(gate))
        tab.sees("before the agent is held up")
        gate.wait()
        server.kill()
        expect(tab.page.get_by_role("status").filter(has_text=RETRYING)).to_be_visible()
    with live_server(tmp_path / "data", *flags, PYTHONPATH=often) as server:
        tab.finish()
        expect(tab.page.get_by_role("status").filter(has_text=RETRYING)).to_have_count(0)
        assert_shows_what_is_stored(tab, server)
        tab.say(prompt(text("It goes on as if nothing had been.")))
        tab.finish(2)
        assert_shows_what_is_stored(tab, server)


def test_a_protocol_is_chosen_in_the_settings(server: LiveServer, watched: Watched) -> None:
    context, _ = watched(server.url)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    tab = Tab(context)
    tab.page.get_by_role("button", name="Settings").click()
    choice = tab.page.get_by_role("menuitemradio", name="AG-UI")
    expect(tab.page.get_by_role("menuitemradio", name="AI SDK")).to_be_checked()
    choice.click()
    tab.say(prompt(text("Said in the other way.")))
    tab.finish()
    assert any("/api/agui/chat" in url for url in asked)
    assert_shows_what_is_stored(tab, server)
    tab.page.get_by_role("button", name="Settings").click()
    expect(choice).to_be_checked()


def test_message_in_another_protocol_is_not_sent_by_a_socket(
    server: LiveServer, watched: Watched
) -> None:
    context, _ = watched(server.url)
    told: list[str] = []

    def hear(opened: WebSocket) -> None:
        opened.on("framereceived", lambda message: told.append(str(message)))

    context.on("page", lambda page: page.on("websocket", hear))
    tab = Speaking(context, "socket-io").tab()
    for number, protocol in enumerate(("socket-io", "ai-sdk", "socket-io"), 1):
        speak_from_now_on(tab, protocol)
        tab.say(prompt(text(f"This is number {number}.")))
        tab.finish(number)
    assert [any(f"number {number}." in each for each in told) for number in (1, 2, 3)] == [
        *(True, False, True)
    ]
