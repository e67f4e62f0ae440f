"""A chat is shared by a link: made and revoked in the page, read by somebody without a key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import Gate, Step, emit, pieces, prompt, text, tool
from server.server_with_keys import give_key_at
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.test_accessible import RULES, RUN, SIZES, THEMES

NOT_FOUND = r"the server responded with a status of 404"
"""The browser's own console message for it."""
CUT = r"ERR_INCOMPLETE_CHUNKED"

WORK: list[Step] = [
    emit("thinking_delta", id="thought", delta="A secret thought."),
    *tool("call", "read_file", {"path": "/tmp/x"}),
    text("The whole answer."),
]


def share(page: Page, shows: str = "Answers only", part: str | None = None) -> str:
    """Create a link in the page; its address."""
    page.get_by_role("button", name="Chat options").click()
    page.get_by_role("menuitem", name="Share").click()
    dialog = page.get_by_role("dialog", name="Share this chat")
    dialog.get_by_role("radio", name=shows).check()
    if part is not None:
        dialog.get_by_label("Which part").select_option(label=part)
    dialog.get_by_role("button", name="Create link").click()
    address: str = dialog.get_by_label("Link", exact=True).input_value()
    expect(dialog.get_by_role("button", name="Create link")).to_be_enabled()
    dialog.get_by_role("button", name="Close").click()
    return address


def answer(page: Page) -> Locator:
    return page.get_by_role("article", name="Agent")


Guest = Callable[..., Page]


@pytest.fixture
def guest(watched: Watched) -> Guest:
    """Opens a link in a browser of its own."""

    def open_link(server: LiveServer, address: str, **options: Any) -> Page:
        context, watch = watched(server.url, **options)
        watch.expect(NOT_FOUND)
        watch.expect(CUT)
        watch.expect("401")
        page = context.new_page()
        page.goto(address)
        return page

    return open_link


@pytest.mark.parametrize(
    ("shows", "sees_tools", "sees_all"),
    [
        ("Answers only", False, False),
        ("Answers and tools", True, False),
        ("Everything", True, True),
    ],
)
def test_a_guest_sees_what_is_shared_and_can_do_nothing(
    shows: str, sees_tools: bool, sees_all: bool, server: LiveServer, watched: Watched, guest: Guest
) -> None:
    context, _ = watched(server.url)
    tab = Tab(context)
    tab.say(prompt(*WORK))
    tab.finish()
    page = guest(server, share(tab.page, shows))
    expect(answer(page)).to_contain_text("The whole answer.")
    expect(page.get_by_text("Shared chat, read-only")).to_be_visible()
    expect(page.get_by_role("button", name="Read file")).to_have_count(int(sees_tools))
    expect(page.get_by_role("button", name="Thought")).to_have_count(int(sees_all))
    expect(page.get_by_role("button", name="Inspect")).to_have_count(int(sees_all))
    if not sees_all:
        assert "A secret thought." not in answer(page).inner_html()
    for role, name in (
        ("textbox", "Your message"),
        ("navigation", "Chats"),
        ("button", "Regenerate"),
        ("button", "Edit"),
        ("button", "Chat options"),
    ):
        expect(page.get_by_role(role, name=name)).to_have_count(0)  # type: ignore[arg-type]


def test_a_guest_replays_what_is_shared_as_a_whole(
    server: LiveServer, watched: Watched, guest: Guest
) -> None:
    context, _ = watched(server.url)
    tab = Tab(context)
    tab.say(prompt(*WORK))
    tab.finish()
    page = guest(server, share(tab.page, "Everything", "Last answer"))
    expect(page.get_by_text("Shared answer, read-only")).to_be_visible()
    page.get_by_role("button", name="Inspect").click()
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_role("tab", name="stderr")).to_have_count(0)
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("Home")
    expect(page.get_by_role("button", name="Back to now").first).to_be_visible()
    expect(answer(page)).not_to_contain_text("The whole answer.")


def test_a_shared_chat_is_live_and_ends_with_its_link(
    server: LiveServer, watched: Watched, guest: Guest, gate: Gate
) -> None:
    context, _ = watched(server.url)
    tab = Tab(context)
    tab.say(prompt(text("First.")))
    tab.finish()
    address = share(tab.page)
    page = guest(server, address)
    expect(answer(page)).to_contain_text("First.")
    rest = pieces("text", "t2", ["And", "the", "rest."])
    tab.say(prompt(*pieces("text", "t", ["Now", "this"]), gate.step, *rest))
    gate.wait()
    expect(answer(page).last).to_contain_text("Now this")
    expect(page.get_by_text("The agent is working. This page updates by itself.")).to_be_visible()
    gate.open()
    expect(answer(page).last).to_contain_text("the rest.")
    tab.finish(2)
    tab.page.get_by_role("button", name="Chat options").click()
    tab.page.get_by_role("menuitem", name="Share").click()
    dialog = tab.page.get_by_role("dialog", name="Share this chat")
    dialog.get_by_role("button", name="Revoke the link").click()
    expect(dialog).to_contain_text("This chat isn't shared.")
    expect(page.get_by_role("heading", name="This link doesn't work")).to_be_visible()
    page.goto("about:blank")
    page.goto(address)
    expect(page.get_by_role("heading", name="This link doesn't work")).to_be_visible()


def test_a_question_is_shown_and_not_answered(
    server: LiveServer, watched: Watched, guest: Guest
) -> None:
    context, _ = watched(server.url)
    tab = Tab(context)
    call = emit("tool_use", id="call", name="delete_all", input={"path": "/everything"})
    tab.say(prompt(text("Shall I?"), call, ["approve", "call", [], []]))
    expect(tab.page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    page = guest(server, share(tab.page, "Answers and tools"))
    expect(answer(page)).to_contain_text("Shall I?")
    expect(page.get_by_text("waiting for an answer from the owner")).to_be_visible()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="Deny", exact=True)).to_be_disabled()


@pytest.fixture(scope="module")
def keyed_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared") / "data"


@pytest.fixture(scope="module")
def keyed(agents: Path, keyed_data: Path) -> Iterator[LiveServer]:
    flags = ("--agents", agents, "--auth", "keys")
    with live_server(keyed_data, *flags, patience=20 * LIMIT) as server:
        yield server


def test_a_guest_needs_no_key(
    keyed: LiveServer, keyed_data: Path, watched: Watched, guest: Guest
) -> None:
    with ThreadPoolExecutor(1) as other:  # the browser has a loop in this thread
        _, secret = other.submit(asyncio.run, give_key_at(keyed_data, "ann")).result(LIMIT)
    context, watch = watched(keyed.url)
    watch.expect("401")
    owner = context.new_page()
    owner.goto("/")
    owner.get_by_label("Key", exact=True).fill(secret)
    owner.get_by_role("button", name="Sign in").click()
    composer = owner.get_by_role("textbox", name="Your message")
    composer.fill(prompt(text("Hello, Ann.")))
    composer.press("Enter")
    expect(answer(owner)).to_contain_text("Hello, Ann.")
    page = guest(keyed, share(owner, "Everything"))
    expect(answer(page)).to_contain_text("Hello, Ann.")
    page.get_by_role("button", name="Inspect").click()
    expect(page.get_by_role("tab", name="Timeline")).to_be_visible()
    page.goto("/")
    expect(page.get_by_label("Key", exact=True)).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
def test_sharing_is_accessible(
    size: str, theme: str, server: LiveServer, watched: Watched, guest: Guest, axe: str
) -> None:
    look = {"viewport": SIZES[size], "color_scheme": theme}
    context, _ = watched(server.url, **look)
    tab = Tab(context)
    tab.say(prompt(*WORK))
    tab.finish()
    address = share(tab.page, "Everything")
    tab.page.get_by_role("button", name="Chat options").click()
    tab.page.get_by_role("menuitem", name="Share").click()
    tab.page.get_by_role("button", name="Create link").click()
    expect(tab.page.get_by_label("Link", exact=True)).to_be_visible()
    gone = guest(server, f"{server.url}/shared#none-such", **look)
    expect(gone.get_by_role("heading", name="This link doesn't work")).to_be_visible()
    page = guest(server, address, **look)
    expect(answer(page)).to_contain_text("The whole answer.")
    for each in (tab.page, gone, page):
        each.evaluate(axe)
        assert each.evaluate(RUN, RULES) == []
        assert each.evaluate("document.documentElement.scrollWidth <= innerWidth")
