"""Messages that are written while the agent works wait in the page until it is done."""

from __future__ import annotations

from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, emit, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab, assert_shows_what_is_stored, read_chat
from web.composing import Composing
from web.pausing_agent import FIRST, held
from web.protocol_tabs import Speak, by_each

NEXT = prompt(text("The second answer."))
LATER = prompt(text("The third answer."))


@by_each
def test_queued_messages_are_sent_in_order(
    server: LiveServer, speak: Speak, gate: Gate, protocol: str
) -> None:
    tab = speak(protocol).tab()
    composing = Composing(tab)
    tab.say(held(gate))
    tab.sees("before the agent is held up")
    composing.enqueue(NEXT)
    composing.enqueue(LATER)
    expect(composing.queue).to_contain_text("Sent when the agent is done.")
    gate.open()
    tab.finish(3)
    tab.sees("The third answer.")
    expect(composing.queue).to_have_count(0)
    said = [message["role"] for message in read_chat(server, tab.chat)["messages"]]
    assert said == ["user", "assistant"] * 3
    assert_shows_what_is_stored(tab, server)


@by_each
def test_sent_now_it_interrupts_the_run(
    server: LiveServer, speak: Speak, gate: Gate, protocol: str
) -> None:
    tab = speak(protocol).tab()
    composing = Composing(tab)
    tab.say(held(gate))
    tab.sees("before the agent is held up")
    gate.wait()
    composing.enqueue(NEXT)
    composing.button("Send now: ").click()
    tab.finish(2)
    tab.sees("The second answer.")
    expect(composing.queue).to_have_count(0)
    expect(tab.answers.first).to_contain_text("You stopped this answer.")
    assert_shows_what_is_stored(tab, server)


def test_queue_survives_a_reload(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    tab.say(held(gate))
    gate.wait()
    composing.enqueue(NEXT)
    tab.page.reload()
    expect(composing.queued).to_have_count(1)
    gate.open()
    tab.finish(2)
    tab.sees("The second answer.")


def test_queue_of_a_run_that_ends_while_the_page_is_away_is_sent_later(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(held(gate))
    gate.wait()
    Composing(tab).enqueue(NEXT)
    chat = tab.page.url
    tab.page.goto("about:blank")
    gate.open()
    tab.page.goto(chat)
    tab.finish(2)
    tab.sees("The second answer.")
    assert_shows_what_is_stored(tab, server)


def test_queued_message_is_edited_and_taken_back(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    tab.say(held(gate))
    gate.wait()
    composing.enqueue("not what I mean")
    composing.enqueue("never mind")
    composing.button("Edit queued message: not what").click()
    field = tab.page.get_by_role("textbox", name="Edit the queued message")
    expect(field).to_be_focused()
    field.fill(NEXT)
    field.press("Enter")
    expect(composing.queued.first).to_contain_text("The second answer.")
    expect(tab.composer).to_be_focused()
    tab.composer.fill("and this")
    composing.button("Take back into the message box: never mind").click()
    expect(tab.composer).to_have_value("never mind\n\nand this")
    expect(composing.queued).to_have_count(1)
    gate.open()
    tab.finish(2)
    expect(tab.composer).to_have_value("never mind\n\nand this")
    expect(tab.page.get_by_role("article", name="You").last).to_contain_text("The second answer.")


def test_queue_waits_where_the_run_failed(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    tab.say(prompt(*FIRST, gate.step, emit("error", message="No more milk.")))
    gate.wait()
    composing.enqueue(NEXT)
    gate.open()
    expect(composing.queue).to_contain_text("Not sent, because the last answer failed.")
    tab.finish(1)
    tab.page.reload()
    expect(composing.queue).to_contain_text("Not sent, because the last answer failed.")
    composing.button("Send now: ").click()
    tab.finish(2)
    tab.sees("The second answer.")


def test_queue_waits_where_the_person_has_stopped_the_run(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    tab.say(held(gate))
    gate.wait()
    composing.enqueue(NEXT)
    tab.stop.click()
    expect(composing.queue).to_contain_text("Not sent, because you stopped the agent.")


def test_queue_waits_for_a_persons_answer(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    call = emit("tool_use", id="call", name="delete_all", input={})
    tab.say(prompt(gate.step, call, ["approve", "call", [text("Deleted.")], []]))
    gate.wait()
    composing.enqueue(NEXT)
    gate.open()
    approve = tab.page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_visible()
    expect(composing.queue).to_contain_text("Sent after you've answered the question above.")
    approve.click()
    tab.finish(2)
    tab.sees("The second answer.")
    assert_shows_what_is_stored(tab, server)


def test_keyboard_alone_edits_and_sends_the_queue(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    tab.say(held(gate))
    gate.wait()
    composing.enqueue("something else")
    tab.composer.press("ArrowUp")
    field = tab.page.get_by_role("textbox", name="Edit the queued message")
    expect(field).to_be_focused()
    field.fill(NEXT)
    tab.page.keyboard.press("Enter")
    expect(tab.composer).to_be_focused()
    tab.page.keyboard.press("Shift+Tab")
    expect(composing.button("Send now: ")).to_be_focused()
    tab.page.keyboard.press("Enter")
    tab.finish(2)
    tab.sees("The second answer.")
