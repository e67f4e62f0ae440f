"""Asked in any protocol, answered in the same or in another: the agent goes on with it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import Step, emit, prompt, text
from web.held_up import FIRST
from web.speaking import Speak, Speaking, by_each, speak_from_now_on
from web.talking import assert_shows_what_is_stored
from web.watching import Watched


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
    answer.click()
    if decision == "Deny":  # and why not: that is asked before it is sent
        answer.click()
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
def test_what_is_asked_in_one_protocol_is_answered_in_another(
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
    """A call that a person is asked about; if it may be done it is, and the agent goes on."""
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
