"""A run is noticed from elsewhere: by the tab, by a notification, and in the chat list."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, emit, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.pausing_agent import held
from web.test_accessible import findings

BROWSER = """
// What headless browsers lack: tabs in the background, and notifications.
globalThis.isAway = false;
Object.defineProperty(Document.prototype, "visibilityState", {
  get: () => (globalThis.isAway ? "hidden" : "visible"),
});
globalThis.notices = [];
globalThis.Notification = class {
  static permission = "default";
  static async requestPermission() {
    this.permission = "granted";
    return this.permission;
  }
  constructor(title, { body, tag }) {
    notices.push({ title, body, tag, click: () => this.onclick() });
  }
  close() {}
};
"""
AWAY = """(isAway) => {
  globalThis.isAway = isAway;
  document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
}"""


class Watcher:
    """A person who looks at a tab, or elsewhere."""

    def __init__(self, context: BrowserContext) -> None:
        context.add_init_script(BROWSER)
        self.tab = Tab(context)
        self.page = self.tab.page
        self.offer = self.page.get_by_role("region", name="Notify me in the background")

    def leaves(self) -> None:
        self.page.evaluate(AWAY, True)

    def returns(self) -> None:
        self.page.evaluate(AWAY, False)

    def accepts(self, gate: Gate) -> None:
        """Accept the offer of notifications, in a chat of its own."""
        self.tab.say(prompt(gate.step, text("Done.")))
        gate.wait()
        self.leaves()
        self.returns()
        self.page.get_by_role("button", name="Notify me", exact=True).click()
        expect(self.offer).to_have_count(0)
        gate.open()
        self.tab.finish()

    def notices(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.page.evaluate(
            "notices.map(({ title, body, tag }) => ({ title, body, tag }))"
        )
        return found

    def badge(self, name: str | None) -> None:
        """Wait until the icon has this badge, which is drawn on the usual icon."""
        icon = self.page.locator("link[rel=icon]")
        if name is None:
            self.page.wait_for_function(
                "() => document.querySelector('link[rel=icon]').href.endsWith('/icon.svg')"
            )
        else:
            expect(icon).to_have_attribute("data-badge", name)
            assert (icon.get_attribute("href") or "").startswith("data:image/png;base64,")

    def title(self, begins: str) -> None:
        expect(self.page).to_have_title(re.compile(f"^{re.escape(begins)}"))


@pytest.fixture
def person(server: LiveServer, watched: Watched) -> Watcher:
    return Watcher(watched(server.url)[0])


ENDS: dict[str, tuple[Step, str]] = {
    "done": (text("It is done."), "Done · "),
    "failed": (emit("error", message="No more milk."), "Failed · "),
}


@pytest.mark.parametrize("end", ENDS)
def test_tab_shows_what_the_agent_does_and_how_it_ended(
    person: Watcher, gate: Gate, end: str
) -> None:
    step, title = ENDS[end]
    tab = person.tab
    tab.say(prompt(gate.step, step))
    gate.wait()
    person.title("Working · ")
    person.badge("working")
    person.leaves()
    gate.open()
    person.title(title)
    person.badge(end)
    assert person.page.title().endswith(" · Mobox")
    person.returns()
    person.title("[[")
    person.badge(None)


def test_tab_says_that_the_agent_waits_for_the_person(person: Watcher) -> None:
    call = emit("tool_use", id="call", name="delete_all", input={})
    person.tab.say(prompt(call, ["approve", "call", [text("Deleted.")], []]))
    person.title("Waiting for you · ")
    person.badge("waiting")
    person.page.get_by_role("button", name="Approve", exact=True).click()
    person.tab.finish()
    person.title("[[")


def test_end_in_sight_is_not_announced(person: Watcher, gate: Gate) -> None:
    person.accepts(gate)
    person.tab.say(prompt(text("Done again.")))
    person.tab.finish(2)
    person.title("[[")
    assert person.notices() == []


def test_notifications_are_offered_once_to_who_leaves_a_running_chat(
    person: Watcher, gate: Gate, axe: str
) -> None:
    tab = person.tab
    tab.say(held(gate))
    gate.wait()
    expect(person.offer).to_have_count(0)
    person.leaves()
    person.returns()
    expect(person.offer).to_be_visible()
    assert findings(tab, axe) == []
    person.page.get_by_role("button", name="No thanks").click()
    expect(person.offer).to_have_count(0)
    expect(tab.composer).to_be_focused()
    tab.page.reload()
    expect(tab.stop).to_be_visible()
    person.leaves()
    person.returns()
    expect(person.offer).to_have_count(0)
    gate.open()
    tab.finish()
    assert person.notices() == []


NEWS: dict[str, tuple[list[Step], str]] = {
    "done": ([text("It is done.")], "The agent finished."),
    "failed": ([emit("error", message="No more milk.")], "The agent failed."),
    "waiting": (
        [emit("tool_use", id="call", name="delete_all", input={}), ["approve", "call", [], []]],
        "The agent needs your answer.",
    ),
}


@pytest.mark.parametrize("news", NEWS)
def test_background_tab_notifies(person: Watcher, gate: Gate, news: str) -> None:
    steps, words = NEWS[news]
    person.accepts(gate)
    person.tab.say(prompt(gate.step, *steps))
    gate.wait()
    person.leaves()
    gate.open()
    person.page.wait_for_function("() => notices.length === 1")
    (told,) = person.notices()
    assert (told["body"], told["tag"]) == (words, person.tab.chat)


def test_chat_that_is_not_open_notifies_and_opens_by_a_click(person: Watcher, gate: Gate) -> None:
    person.accepts(gate)
    person.page.get_by_role("button", name="New chat", exact=True).click()
    person.tab.say(held(gate))
    gate.wait()
    chat = person.tab.chat
    person.page.get_by_role("button", name="New chat", exact=True).click()
    expect(person.page.get_by_role("img", name="The agent is working").first).to_be_visible()
    person.leaves()
    gate.open()
    person.page.wait_for_function("() => notices.length === 1")
    assert person.notices()[0]["tag"] == chat
    person.page.evaluate("notices[0].click()")
    expect(person.page).to_have_url(f"/chat/{chat}")


def test_setting_turns_notifications_on_and_off(person: Watcher) -> None:
    page = person.page
    page.get_by_role("button", name="Settings").click()
    setting = page.get_by_role("menuitemcheckbox", name="Notify me in the background")
    expect(setting).not_to_be_checked()
    setting.click()
    expect(setting).to_be_checked()
    setting.click()
    expect(setting).not_to_be_checked()


def test_failed_and_waiting_chats_are_marked_in_the_list(person: Watcher, axe: str) -> None:
    tab, rows = person.tab, person.page.get_by_role("navigation", name="Chats")
    tab.say(prompt(emit("error", message="No more milk.")))
    tab.finish()
    failed = rows.locator(f'a[href="/chat/{tab.chat}"]').get_by_role("img")
    expect(failed).to_have_accessible_name("The last answer failed")
    tab.page.reload()
    expect(failed).to_have_accessible_name("The last answer failed")
    assert findings(tab, axe) == []
    tab.say(prompt(text("All is well.")))
    tab.finish(2)
    expect(failed).to_have_count(0)
    call = emit("tool_use", id="call", name="delete_all", input={})
    tab.say(prompt(call, ["approve", "call", [], []]))
    expect(failed).to_have_accessible_name("Waiting for you")
