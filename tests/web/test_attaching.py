"""Files in the composer: chosen, pasted or dropped, they reach the agent, and none is lost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import Gate, prompt
from web.browser_watch import CUT_OFF, Watched
from web.chat_tab import Tab, assert_shows_what_is_stored, read_chat
from web.composing import PICTURE, Composing, note
from web.pausing_agent import held
from web.protocol_tabs import Speak, by_each

READ = prompt(["files"])
"""Makes the agent answer with the hashes of the files that it gets."""


@pytest.fixture(scope="session")
def small(agents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server that stores little."""
    data = tmp_path_factory.mktemp("small") / "data"
    limits = ("--max-file", "2000", "--max-files-per-owner", "3000")
    with live_server(data, "--agents", agents, *limits, patience=60 * LIMIT) as server:
        yield server


@by_each
def test_files_reach_the_agent_in_every_protocol(
    server: LiveServer, speak: Speak, protocol: str
) -> None:
    tab = speak(protocol).tab()
    composing = Composing(tab)
    composing.attach(PICTURE, note())
    composing.is_attached("square.png", "note.txt")
    expect(composing.files.first.locator("img")).to_be_visible()
    tab.say(READ)
    for file in (PICTURE, note()):
        tab.sees(hashlib.sha256(file["buffer"]).hexdigest())
    tab.finish()
    expect(composing.files).to_have_count(0)
    message = read_chat(server, tab.chat)["messages"][0]
    sent = [(part["mediaType"], part["filename"]) for part in message["parts"][:2]]
    assert sent == [("image/png", "square.png"), ("text/plain", "note.txt")]
    expect(tab.log.get_by_role("link", name="note.txt")).to_be_visible()
    assert_shows_what_is_stored(tab, server)


def test_picture_is_pasted(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    composing.paste(PICTURE)
    composing.is_attached("square.png")
    tab.say(READ)
    tab.sees(hashlib.sha256(PICTURE["buffer"]).hexdigest())


def test_file_is_dropped_on_a_visible_target(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    target = tab.page.get_by_text("Drop files to attach them")
    composing.drag(note(), "dragenter", "dragover")
    expect(target).to_be_visible()
    composing.drag(note(), "dragleave")
    expect(target).to_have_count(0)
    composing.drag(note(), "dragenter", "dragover", "drop")
    expect(target).to_have_count(0)
    composing.is_attached("note.txt")


def test_file_alone_is_a_message(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    Composing(tab).attach(note())
    Composing(tab).is_attached("note.txt")
    tab.composer.press("Enter")
    expect(tab.log.get_by_role("link", name="note.txt")).to_be_visible()
    expect(tab.page).to_have_title("note.txt · Mobox")


def test_too_large_a_file_says_so_and_loses_nothing(small: LiveServer, watched: Watched) -> None:
    context, watch = watched(small.url)
    watch.expect("413")
    tab = Tab(context)
    composing = Composing(tab)
    tab.composer.fill(READ)
    composing.attach(note("x" * 2001, "large.txt"), note("x" * 1900, "first.txt"))
    expect(composing.files.first).to_contain_text("Too large. A file may have 2 KiB.")
    expect(tab.composer).to_have_value(READ)
    composing.attach(note("y" * 1900, "second.txt"))
    expect(composing.files.last).to_contain_text("Your files fill the 2.9 KiB you may store.")
    tab.composer.press("Enter")
    expect(tab.page.get_by_text("A file wasn't uploaded.")).to_be_visible()
    for name in ("large.txt", "second.txt"):
        tab.page.get_by_role("button", name=f"Remove {name}").click()
    composing.is_attached("first.txt")
    tab.say(READ)
    tab.sees(hashlib.sha256(b"x" * 1900).hexdigest())


def test_upload_that_fails_offline_is_made_again(server: LiveServer, watched: Watched) -> None:
    context, watch = watched(server.url)
    watch.expect(CUT_OFF)
    tab = Tab(context)
    composing = Composing(tab)
    composing.attach(note("the first, so that the limits are known"))
    composing.is_attached("note.txt")
    context.set_offline(True)
    composing.attach(note("unsent", "later.txt"))
    expect(composing.files.last).to_contain_text("You're offline. Upload again when you're back.")
    context.set_offline(False)
    tab.page.get_by_role("button", name="Upload later.txt again").click()
    composing.is_attached("note.txt", "later.txt")


def test_draft_keeps_its_files(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    tab.say(prompt(["emit", "text", {"content": "An answer from before."}]))
    tab.finish()
    composing.attach(PICTURE)
    composing.is_attached("square.png")
    tab.composer.fill(READ)
    tab.page.get_by_role("button", name="New chat").click()
    expect(composing.files).to_have_count(0)
    tab.page.go_back()
    composing.is_attached("square.png")
    tab.page.reload()
    composing.is_attached("square.png")
    expect(composing.files.first.locator("img")).to_have_js_property("naturalWidth", 48)
    tab.say(READ)
    tab.sees(hashlib.sha256(PICTURE["buffer"]).hexdigest())


def test_files_are_queued_with_their_message(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    tab.say(held(gate))
    gate.wait()
    composing.attach(note())
    composing.is_attached("note.txt")
    composing.enqueue(READ)
    expect(composing.queued).to_contain_text("1 file")
    expect(composing.files).to_have_count(0)
    gate.open()
    tab.sees(hashlib.sha256(note()["buffer"]).hexdigest())
    tab.finish(2)


def test_keyboard_attaches_and_removes(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    composing = Composing(tab)
    tab.composer.focus()
    tab.page.keyboard.press("Tab")
    expect(tab.page.get_by_role("button", name="Attach files")).to_be_focused()
    with tab.page.expect_file_chooser() as chooser:
        tab.page.keyboard.press("Enter")
    chooser.value.set_files([note()])
    composing.is_attached("note.txt")
    expect(tab.composer).to_be_focused()
    tab.page.keyboard.press("Shift+Tab")
    expect(tab.page.get_by_role("button", name="Remove note.txt")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(composing.files).to_have_count(0)
    expect(tab.composer).to_be_focused()
