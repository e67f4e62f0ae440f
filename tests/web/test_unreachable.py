"""The server cannot be reached: the page says so, keeps trying, and loses nothing typed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Error, Locator, expect

from server.live_server import LiveServer, live_server
from server.many_processes import LEASE, looking_often
from server.scripted_agent import Gate, emit, prompt, text
from web.browser_watch import Watched, cut_off
from web.chat_tab import Tab, assert_shows_what_is_stored, read_chat
from web.pausing_agent import held
from web.protocol_tabs import Speaking, by_each
from web.test_accessible import SIZES, findings

ANSWER = prompt(text("An answer."))
APPROVAL = prompt(
    emit("tool_use", id="call", name="delete_all", input={"path": "/everything"}),
    ["approve", "call", [text("It is deleted.")], []],
)


class Killable:
    """A server that is killed and started again, on the same port and data."""

    def __init__(self, port: int, agents: Path, folder: Path, watched: Watched) -> None:
        self._flags = ("--agents", agents, "--port", str(port), *LEASE)
        self._data = folder / "data"
        self._often = looking_often(folder)
        self._stack = ExitStack()
        self._watched = watched
        self.live = self.start()

    def start(self) -> LiveServer:
        opened = live_server(self._data, *self._flags, PYTHONPATH=self._often)
        self.live = self._stack.enter_context(opened)
        return self.live

    def kill(self) -> None:
        self.live.kill()
        self._stack.close()

    def context(self, protocol: str = "ai-sdk", **options: Any) -> BrowserContext:
        """A browser context in which requests may fail."""
        context, watch = self._watched(self.live.url, **options)
        watch.expect(cut_off(protocol))
        return context


@pytest.fixture
def server(port: int, agents: Path, tmp_path: Path, watched: Watched) -> Iterator[Killable]:
    server = Killable(port, agents, tmp_path, watched)
    yield server
    server.kill()


def status(tab: Tab, words: str) -> Locator:
    return tab.page.get_by_role("status").filter(has_text=words)


def retry(tab: Tab) -> None:
    """Click Retry, unless the page has just retried by itself."""
    tab.retry.evaluate_all("(buttons) => buttons.forEach((button) => button.click())")


def send(tab: Tab, text: str) -> None:
    tab.composer.fill(text)
    tab.composer.press("Enter")


@by_each
def test_message_sent_while_the_server_is_down_is_answered_once(
    server: Killable, protocol: str
) -> None:
    tab = Speaking(server.context(protocol), protocol).tab()
    tab.say(ANSWER)
    tab.finish()
    server.kill()
    send(tab, ANSWER)
    expect(status(tab, "Request Failed")).to_contain_text("Your message is not sent yet.")
    tab.composer.fill("typed meanwhile")
    server.start()
    retry(tab)
    tab.finish(2)
    expect(status(tab, "Request Failed")).to_have_count(0)
    expect(tab.composer).to_have_value("typed meanwhile")
    assert_shows_what_is_stored(tab, server.live)


@by_each
def test_approval_given_while_the_server_is_down_is_delivered(
    server: Killable, protocol: str
) -> None:
    tab = Speaking(server.context(protocol), protocol).tab()
    tab.say(APPROVAL)
    approve = tab.page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_visible()
    server.kill()
    approve.click()
    expect(status(tab, "Request Failed")).to_contain_text("Your answer is not sent yet.")
    server.start()
    retry(tab)
    tab.sees("It is deleted.")
    tab.finish()
    assert_shows_what_is_stored(tab, server.live)


def test_run_that_was_to_be_stopped_is_over_when_the_server_is_back(
    server: Killable, gate: Gate
) -> None:
    tab = Tab(server.context())
    tab.say(held(gate))
    tab.sees("before the agent is held up")
    gate.wait()
    server.kill()
    tab.stop.click()
    expect(status(tab, "Request Failed")).to_contain_text("The agent will be stopped")
    server.start()
    tab.finish()
    expect(status(tab, "Request Failed")).to_have_count(0)
    assert_shows_what_is_stored(tab, server.live)


def test_stop_gives_an_unsent_message_back(server: Killable) -> None:
    tab = Tab(server.context())
    tab.say(ANSWER)
    tab.finish()
    server.kill()
    send(tab, ANSWER)
    expect(status(tab, "Request Failed")).to_be_visible()
    tab.stop.click()
    expect(status(tab, "Not sent. Your text is back in this box.")).to_be_visible()
    expect(tab.composer).to_have_value(ANSWER)
    server.start()
    tab.composer.press("Enter")
    tab.finish(2)
    assert_shows_what_is_stored(tab, server.live)


def test_unsent_message_of_a_new_chat_survives_a_reload(server: Killable, watched: Watched) -> None:
    context, watch = watched(server.live.url)
    watch.expect(cut_off("ai-sdk"))
    watch.expect(r"404 .*/api/chats/")  # the page asks whether the message arrived
    tab = Tab(context)
    server.kill()
    send(tab, ANSWER)
    expect(status(tab, "Request Failed")).to_be_visible()
    with pytest.raises(Error, match="ERR_CONNECTION_REFUSED"):
        tab.page.reload()
    server.start()
    tab.page.goto("/")
    expect(tab.composer).to_have_value(ANSWER)
    tab.composer.press("Enter")
    tab.finish()
    assert_shows_what_is_stored(tab, server.live)
    assert len(read_chat(server.live, tab.chat)["messages"]) == 2


@pytest.mark.parametrize("size", SIZES)
def test_notice_is_accessible(server: Killable, axe: str, size: str) -> None:
    touch: dict[str, Any] = {"has_touch": True, "is_mobile": True} if size == "mobile" else {}
    context = server.context(viewport=SIZES[size], **touch)
    sending, loading = Tab(context), Tab(context)
    for tab in (sending, loading):
        tab.say(ANSWER)
        tab.finish()
    server.kill()
    send(sending, ANSWER)
    if size == "mobile":
        loading.page.get_by_role("button", name="Open chat list").click()
    loading.page.get_by_role("link").nth(1).click()
    expect(status(sending, "Request Failed")).to_be_visible()
    expect(loading.page.get_by_role("alert")).to_contain_text("Request Failed")
    assert findings(sending, axe) == []
    assert findings(loading, axe) == []
    server.start()
    retry(loading)
    loading.finish()
    expect(loading.page.get_by_role("alert")).to_have_count(0)


def test_server_that_does_not_answer_is_waited_for(server: Killable) -> None:
    tab = Tab(server.context())
    server.live.signal(signal.SIGSTOP)
    send(tab, ANSWER)
    expect(status(tab, "Waiting for the server")).to_be_visible()
    server.live.signal(signal.SIGCONT)
    tab.finish()
    expect(status(tab, "Waiting for the server")).to_have_count(0)
    assert_shows_what_is_stored(tab, server.live)
