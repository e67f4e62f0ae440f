"""What is allowed for a chat is not asked again, is listed, and can be revoked."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LiveServer
from server.scripted_agent import emit, prompt, text
from web.chat_tab import Tab, assert_shows_what_is_stored
from web.protocol_tabs import Speak, by_each


def asks(path: str, said: str) -> str:
    call = emit("tool_use", id="call", name="delete_file", input={"path": path})
    done = emit("tool_result", tool_use_id="call", content="gone")
    return prompt(call, ["approve", "call", [done, text(said)], []])


def approve(tab: Tab) -> Locator:
    return tab.page.get_by_role("button", name="Approve", exact=True)


def allow(tab: Tab, what: str) -> None:
    expect(approve(tab)).to_be_visible()
    tab.page.get_by_role("button", name="Allow for this chat").press("Enter")
    tab.page.get_by_role("menuitem", name=what).press("Enter")


def permissions(tab: Tab) -> Locator:
    tab.page.get_by_role("button", name="Chat options").click()
    tab.page.get_by_role("menuitem", name="Permissions").click()
    return tab.page.get_by_role("dialog", name="Allowed in this chat")


@by_each
def test_a_tool_is_allowed_for_the_chat_until_that_is_revoked(
    server: LiveServer, speak: Speak, protocol: str
) -> None:
    tab = speak(protocol).tab()
    tab.say(asks("/a", "The first."))
    allow(tab, "This tool, with any input")
    tab.sees("The first.")
    tab.finish()
    tab.say(asks("/b", "The second."))
    tab.sees("The second.")
    tab.finish(2)
    expect(tab.page.get_by_text("Allowed for this chat.")).to_have_count(1)
    assert_shows_what_is_stored(tab, server)
    tab.page.reload()
    expect(tab.page.get_by_text("Allowed for this chat.")).to_have_count(1)
    listed = permissions(tab)
    expect(listed).to_contain_text("delete_file")
    listed.get_by_role("button", name="Revoke delete_file").click()
    expect(listed).to_contain_text("Nothing.")
    listed.get_by_role("button", name="Close").click()
    tab.say(asks("/c", "The third."))
    expect(approve(tab)).to_be_visible()


@by_each
@pytest.mark.parametrize("path", ["/a", "/b"])
def test_an_input_is_allowed_for_the_chat(
    server: LiveServer, speak: Speak, protocol: str, path: str
) -> None:
    tab = speak(protocol).tab()
    tab.say(asks("/a", "The first."))
    allow(tab, "This tool, with this input only")
    tab.sees("The first.")
    tab.finish()
    tab.say(asks(path, "The second."))
    if path == "/b":
        expect(approve(tab)).to_be_visible()
    else:
        tab.sees("The second.")
        tab.finish(2)
        assert_shows_what_is_stored(tab, server)
