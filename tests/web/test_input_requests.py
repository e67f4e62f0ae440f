"""Input requests in any protocol, answered in the same or another: the agent continues."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LiveServer
from server.scripted_agent import Step, emit, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab, assert_shows_what_is_stored
from web.pausing_agent import FIRST
from web.protocol_tabs import Speak, Speaking, by_each, speak_from_now_on


@by_each
@pytest.mark.parametrize(("decision", "said"), [("Approve", "was done"), ("Deny", "was not done")])
@pytest.mark.parametrize("when", ["at once", "after a refresh"])
def test_an_approval(
    server: LiveServer, speak: Speak, protocol: str, decision: str, said: str, when: str
) -> None:
    tab = speak(protocol).tab()
    call = emit("tool_use", id="call", name="delete_all", input={"path": "/everything"})
    done = emit("tool_result", tool_use_id="call", content="gone")
    approve = ["approve", "call", [done, text("It was done.")], [text("It was not done.")]]
    tab.say(prompt(*FIRST, call, approve))
    answer = tab.page.get_by_role("button", name=decision, exact=True)
    expect(answer).to_be_visible()
    if when == "after a refresh":
        tab.page.reload()
        expect(answer).to_be_visible()
    answer.click()  # once
    tab.sees(f"It {said}.")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


@by_each
def test_a_question(server: LiveServer, speak: Speak, protocol: str) -> None:
    tab = speak(protocol).tab()
    tab.say(prompt(*FIRST, ["ask", "colour", "Which colour?"]))
    expect(tab.page.get_by_text("Which colour?", exact=True)).to_be_visible()
    tab.page.get_by_role("button", name="blue").click()
    tab.sees("answered: blue")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


@pytest.mark.parametrize(
    ("first", "then"),
    [("ai-sdk", "ag-ui"), ("ag-ui", "socket-io"), ("socket-io", "ag-ui"), ("ag-ui", "ai-sdk")],
)
def test_request_in_one_protocol_is_answered_in_another(
    server: LiveServer, watched: Watched, first: str, then: str
) -> None:
    tab = Speaking(watched(server.url)[0], first).tab()
    call = emit("tool_use", id="call", name="delete_all", input={"path": "/everything"})
    done = emit("tool_result", tool_use_id="call", content="gone")
    tab.say(prompt(*FIRST, call, ["approve", "call", [done, text("It was done.")], []]))
    answer = tab.page.get_by_role("button", name="Approve", exact=True)
    expect(answer).to_be_visible()
    speak_from_now_on(tab, then)
    answer.click()
    tab.sees("It was done.")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


def asked(call: str, *then: Step) -> list[Step]:
    """A tool call that needs approval; if approved it is executed, and the agent continues."""
    done = emit("tool_result", tool_use_id=call, content=f"{call} is gone")
    return [
        emit("tool_use", id=call, name="delete", input={}),
        ["approve", call, [done, *then], []],
    ]


def test_two_questions_are_answered_in_two_protocols(server: LiveServer, watched: Watched) -> None:
    tab = Speaking(watched(server.url)[0], "ag-ui").tab()
    both = asked("two", text("Both were done."))
    tab.say(prompt(*asked("one", text("One was done."), *both)))
    answer = tab.page.get_by_role("button", name="Approve", exact=True)
    expect(answer).to_be_visible()
    speak_from_now_on(tab, "ai-sdk")
    answer.click()
    tab.sees("One was done.")
    expect(answer).to_be_visible()
    speak_from_now_on(tab, "ag-ui")
    answer.click()
    tab.sees("Both were done.")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


# Two browsers, of which neither knows what the other does


@by_each
def test_late_approval_shows_the_decision_that_counted(
    server: LiveServer, watched: Watched, protocol: str
) -> None:
    first = Speaking(watched(server.url)[0], protocol).tab()
    first.say(prompt(*FIRST, *asked("one", text("It was done."))))
    expect(first.page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    second = Speaking(watched(server.url)[0], protocol).tab(first.chat)
    deny = second.page.get_by_role("button", name="Deny", exact=True)
    expect(deny).to_be_visible()
    first.page.get_by_role("button", name="Approve", exact=True).click()
    first.finish()
    deny.click()
    for tab in (first, second):
        tab.sees("It was done.")
        tab.finish()
        expect(tab.page.get_by_role("alert")).to_have_count(0)
        assert_shows_what_is_stored(tab, server)


@by_each
def test_late_answer_shows_the_one_that_counted(
    server: LiveServer, watched: Watched, protocol: str
) -> None:
    first = Speaking(watched(server.url)[0], protocol).tab()
    first.say(prompt(*FIRST, ["ask", "colour", "Which colour?"]))
    expect(first.page.get_by_role("button", name="red")).to_be_visible()
    second = Speaking(watched(server.url)[0], protocol).tab(first.chat)
    blue = second.page.get_by_role("button", name="blue")
    expect(blue).to_be_visible()
    first.page.get_by_role("button", name="red").click()
    first.finish()
    blue.click()
    for tab in (first, second):
        tab.sees("answered: red")
        tab.finish()
        expect(tab.page.get_by_role("alert")).to_have_count(0)
        assert_shows_what_is_stored(tab, server)


# What an agent allows

ALL = ("approve", "edit", "reject", "respond")
CALL = emit("tool_use", id="call", name="delete_file", input={"path": "a.txt", "force": False})


def ask(tab: Tab, *allowed: str) -> Locator:
    """Let the agent request approval of a call, and wait for its card."""
    tab.say(prompt(*FIRST, CALL, ["decide", "call", list(allowed) or None]))
    card = tab.page.get_by_role("group", name="May I?")
    expect(card).to_be_visible()
    return card


CHAT = "Allow for this chat"


def offered(card: Locator) -> list[str]:
    """The decisions on a card; icon buttons are none."""
    return [text for text in card.get_by_role("button").all_inner_texts() if text]


def decided(tab: Tab, server: LiveServer, agent: str, page: str) -> None:
    """The agent got this answer, and the page shows it: now, and after a reload."""
    tab.sees(agent)
    tab.sees(page)
    tab.finish()
    assert_shows_what_is_stored(tab, server)
    tab.page.reload()
    tab.sees(page)
    expect(tab.page.get_by_role("group", name="May I?")).to_have_count(0)


@by_each
@pytest.mark.parametrize(
    ("allowed", "buttons"),
    [
        ((), ["Approve", CHAT, "Deny", "Deny with a reason…"]),
        (ALL, ["Approve", CHAT, "Edit…", "Respond…", "Deny", "Deny with a reason…"]),
        (("edit", "reject"), ["Edit…", "Deny", "Deny with a reason…"]),
        (("approve", "respond"), ["Approve", CHAT, "Respond…"]),
    ],
    ids=["nothing said", "all", "no yes", "no no"],
)
def test_only_what_the_agent_allows_is_offered(
    speak: Speak, protocol: str, allowed: tuple[str, ...], buttons: list[str]
) -> None:
    tab = speak(protocol).tab()
    card = ask(tab, *allowed)
    expect(card.get_by_role("button", name=buttons[-1], exact=True)).to_be_visible()
    assert offered(card) == buttons
    expect(tab.composer).to_be_focused()  # and not a button that Enter would press
    tab.page.reload()
    expect(card.get_by_role("button", name=buttons[-1], exact=True)).to_be_visible()
    assert offered(card) == buttons
    tab.stop.click()
    tab.finish()


@by_each
@pytest.mark.parametrize("allowed", [(), ALL], ids=["nothing said", "all"])
def test_one_click_denies(
    server: LiveServer, speak: Speak, protocol: str, allowed: tuple[str, ...]
) -> None:
    tab = speak(protocol).tab()
    ask(tab, *allowed).get_by_role("button", name="Deny", exact=True).click()
    decided(tab, server, 'denied with "the input"', "You denied this.")


@by_each
def test_a_denial_with_a_reason(server: LiveServer, speak: Speak, protocol: str) -> None:
    tab = speak(protocol).tab()
    card = ask(tab, *ALL)
    card.get_by_role("button", name="Deny with a reason…").press("Enter")
    tab.page.keyboard.type("It is in use")
    card.get_by_role("button", name="Deny with this reason").click()
    decided(tab, server, 'denied with "the input"', "You denied this: It is in use")


@by_each
@pytest.mark.parametrize("when", ["at once", "after a refresh"])
def test_a_changed_input_is_approved(
    server: LiveServer, speak: Speak, protocol: str, when: str
) -> None:
    tab = speak(protocol).tab()
    card = ask(tab, *ALL)
    if when == "after a refresh":
        tab.page.reload()
    card.get_by_role("button", name="Edit…").click()
    field = card.get_by_label("Tool input as JSON")
    expect(field).to_be_focused()
    field.fill('{"path": "b.txt",}')
    send = card.get_by_role("button", name="Approve with changes")
    send.click()
    expect(card.get_by_role("alert")).to_contain_text("Invalid JSON")
    field.fill('{"path": "b.txt"}')
    send.click()
    expect(tab.answers.last.get_by_role("group", name="Changed input")).to_contain_text("b.txt")
    changed = "You approved this with changes:"
    decided(tab, server, 'edited with {"path": "b.txt"}', changed)
    expect(tab.answers.last.get_by_role("group", name="Changed input")).to_contain_text("b.txt")


@by_each
def test_a_person_responds_in_place_of_the_tool(
    server: LiveServer, speak: Speak, protocol: str
) -> None:
    tab = speak(protocol).tab()
    card = ask(tab, *ALL)
    card.get_by_role("button", name="Respond…").click()
    tab.page.keyboard.type("There is no such file.")
    card.get_by_role("button", name="Send response").click()
    decided(tab, server, 'answered with "the input"', "You answered: There is no such file.")


@by_each
def test_one_of_two_approvals_is_answered_at_once(
    server: LiveServer, speak: Speak, protocol: str
) -> None:
    """It is sent before the other one is answered: a reload would lose it."""
    tab = speak(protocol).tab()
    calls = [emit("tool_use", id=name, name=f"delete_{name}", input={}) for name in ("a", "b")]
    requests = [
        emit("input_request", id=name, kind="approval", tool_call_id=name, prompt=f"May {name}?")
        for name in ("a", "b")
    ]
    paused = emit("paused", request_ids=["a", "b"], resume=[text("Both are answered.")])
    tab.say(prompt(*calls, *requests, paused, ["exit", 0]))
    first, second = (tab.page.get_by_role("group", name=f"May {name}?") for name in ("a", "b"))
    first.get_by_role("button", name="Deny", exact=True).click()
    expect(first).to_have_count(0)
    expect(second).to_be_visible()
    tab.page.reload()
    tab.sees("You denied this.")
    expect(first).to_have_count(0)
    second.get_by_role("button", name="Approve", exact=True).click()
    tab.sees("Both are answered.")
    tab.finish()
    assert_shows_what_is_stored(tab, server)
