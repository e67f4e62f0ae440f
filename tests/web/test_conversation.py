"""Whatever happens to a page while an agent talks, in the end it shows the fold of the log."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from playwright.sync_api import expect

from server.live_server import LiveServer, live_server
from server.scripted_agent import Gate, Step, a_day_of_work, emit, pieces, prompt, text
from web.talking import Tab, assert_shows_what_is_stored, read_chat
from web.watching import Watched

FIRST = pieces("text", "first", ["This", "comes", "before", "the", "agent", "is", "held", "up"])
LAST = pieces("text", "last", ["and", "this", "comes", "after", "it", "was", "let", "go"])
CUT_OFF = r"ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED|INTERNET_DISC|EMPTY_RESP)"
"""What a browser itself says of a server that is not there."""


def held(gate: Gate) -> str:
    """An agent that says something, waits at the gate, and says some more."""
    return prompt(*FIRST, gate.step, *LAST)


@pytest.mark.parametrize("command", ["all", "hello"])
def test_a_run(demo: LiveServer, watched: Watched, command: str) -> None:
    tab = Tab(watched(demo.url)[0])
    tab.say(command)
    tab.finish()
    assert_shows_what_is_stored(tab, demo)


def test_a_day_of_work(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*a_day_of_work()))
    tab.finish()
    assert_shows_what_is_stored(tab, server)


def test_two_questions_one_after_the_other(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    for number, words in enumerate(("The first answer is this.", "The second is that."), 1):
        tab.say(prompt(text(words)))
        tab.finish(number)
    assert_shows_what_is_stored(tab, server)


def test_a_stop(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(held(gate))
    tab.sees("before the agent is held up")
    gate.wait()
    tab.stop.click()
    tab.finish()
    expect(tab.answers).not_to_contain_text("let go")
    assert_shows_what_is_stored(tab, server)
    assert read_chat(server, tab.chat)["messages"][-1]["metadata"]["reason"] == "cancelled"


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
        if moments.random() < 0.5:  # in the middle of what it says, or while it says nothing
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


def test_what_one_tab_asks_the_other_shows(
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


def test_an_error_and_another_try(server: LiveServer, watched: Watched, port: int) -> None:
    tab = Tab(watched(server.url)[0])
    script: list[Step] = [*FIRST, ["gate", port], *LAST]  # where nobody is, it fails
    tab.say(prompt(*script))
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


def test_an_error_that_an_agent_tells(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*FIRST, emit("error", message="No more milk.")))
    expect(tab.page.get_by_role("alert")).to_contain_text("No more milk.")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


def test_a_server_that_is_killed_and_started_again(
    agents: Path, watched: Watched, gate: Gate, port: int, tmp_path: Path
) -> None:
    flags = ("--agents", agents, "--port", str(port), "--lease", "1")
    with live_server(tmp_path / "data", *flags) as server:
        context, watch = watched(server.url)
        watch.expect(CUT_OFF)
        tab = Tab(context)
        tab.say(held(gate))
        tab.sees("before the agent is held up")
        gate.wait()
        server.kill()
        expect(tab.page.get_by_role("status").filter(has_text="Reconnecting")).to_be_visible()
    with live_server(tmp_path / "data", *flags) as server:
        tab.finish()
        expect(tab.page.get_by_text("Reconnecting")).to_have_count(0)
        assert_shows_what_is_stored(tab, server)
        tab.say(prompt(text("It goes on as if nothing had been.")))
        tab.finish(2)
        assert_shows_what_is_stored(tab, server)


def test_offline_and_back(server: LiveServer, watched: Watched, gate: Gate) -> None:
    context, watch = watched(server.url)
    watch.expect(CUT_OFF)
    tab = Tab(context)
    tab.say(held(gate))
    tab.sees("before the agent is held up")
    context.set_offline(True)
    expect(tab.page.get_by_role("status").filter(has_text="offline")).to_be_visible()
    gate.open()
    context.set_offline(False)
    tab.sees("let go")
    tab.finish()
    expect(tab.page.get_by_text("You are offline")).to_have_count(0)
    assert_shows_what_is_stored(tab, server)


def test_what_was_sent_offline_is_there_for_who_comes_back(
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


@pytest.mark.parametrize(("decision", "said"), [("Approve", "was done"), ("Deny", "was not done")])
@pytest.mark.parametrize("when", ["at once", "after a refresh"])
def test_an_approval(
    server: LiveServer, watched: Watched, decision: str, said: str, when: str
) -> None:
    tab = Tab(watched(server.url)[0])
    call = emit("tool_use", id="call", name="delete_all", input={"path": "/everything"})
    done = emit("tool_result", tool_use_id="call", content="gone")
    approve = ["approve", "call", [done, text("It was done.")], [text("It was not done.")]]
    tab.say(prompt(*FIRST, call, approve))
    answer = tab.page.get_by_role("button", name=decision, exact=True)
    expect(answer).to_be_visible()
    if when == "after a refresh":
        tab.page.reload()
        expect(answer).to_be_visible()
    answer.click()
    if decision == "Deny":  # and why not: that is asked before it is sent
        answer.click()
    tab.sees(f"It {said}.")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


def test_a_question(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*FIRST, ["ask", "colour", "Which colour?"]))
    expect(tab.page.get_by_text("Which colour?", exact=True)).to_be_visible()
    tab.page.get_by_role("button", name="blue").click()
    tab.sees("answered: blue")
    tab.finish()
    assert_shows_what_is_stored(tab, server)
