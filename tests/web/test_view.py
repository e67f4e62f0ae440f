"""A recording in the page: dropped or chosen, as chat, timeline and frames; nothing is stored."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from cli.test_view import mobox_view
from server.live_server import LiveServer
from server.test_recordings import cassette
from web.browser_watch import Watched
from web.test_accessible import RULES, RUN, SIZES, THEMES

CLAUDE = Path(__file__).parent.parent / "recordings" / "claude" / "agent_sub_async_all.jsonl"

DROP = """
([name, text]) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], name));
  const nav = document.querySelector("nav") ?? document.body;
  for (const type of ["dragover", "drop"])
    nav.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
}
"""


def drop(page: Page, name: str, data: bytes) -> None:
    """Drop a file beside the chat."""
    page.evaluate(DROP, [name, base64.b64encode(data).decode()])


def chats_of(server: LiveServer) -> list[str]:
    got = httpx.get(f"{server.url}/api/chats?limit=200", trust_env=False).json()
    return [chat["id"] for chat in got["chats"]]


def test_a_dropped_recording_is_chat_timeline_and_frames(
    server: LiveServer, watched: Watched
) -> None:
    context, _ = watched(server.url)
    page = context.new_page()
    page.goto("/")
    before = chats_of(server)
    expect(page.get_by_role("navigation", name="Chats")).to_be_visible()
    drop(page, "run.jsonl", CLAUDE.read_bytes())
    expect(page.get_by_role("heading", name="run.jsonl")).to_be_visible()
    expect(page.get_by_label("Framework")).to_have_value("claude")
    expect(page.get_by_text("Looks like Claude Code's stream-json lines.")).to_be_visible()
    answer = page.get_by_role("article", name="Agent")
    expect(answer).to_contain_text("Synthesis: A and B agree.")
    expect(page.get_by_role("tab", name="Timeline")).to_be_visible()
    page.get_by_role("tab", name="Events").click()
    page.get_by_role("button", name="AI SDK").click()
    page.get_by_role("menuitemradio", name="AG-UI").first.click()
    expect(page.get_by_text("TEXT_MESSAGE_").first).to_be_visible()
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("Home")
    expect(answer).not_to_contain_text("Synthesis")
    expect(answer).to_contain_text("the chat at event 1")
    assert chats_of(server) == before, "nothing is stored"


def test_a_recording_is_kept_as_a_chat_on_request(server: LiveServer, watched: Watched) -> None:
    context, _ = watched(server.url)
    page = context.new_page()
    page.goto("/view")
    page.locator("input[type=file]").set_input_files(CLAUDE)
    page.get_by_role("button", name="Keep as a chat").press("Enter")
    expect(page).to_have_url(re.compile("/chat/chat_"))
    page.reload()
    answer = page.get_by_role("article", name="Agent")
    expect(answer).to_contain_text("Synthesis: A and B agree.")
    expect(page.get_by_role("article", name="You")).to_contain_text(CLAUDE.name)
    page.get_by_role("tab", name="stdout").click()
    expect(page.get_by_text("session_id").first).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()
    expect(page.get_by_role("treeitem").first).to_be_visible()
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("Home")
    expect(answer).to_contain_text("the chat at event 1")


def test_the_framework_can_be_changed(server: LiveServer, watched: Watched) -> None:
    context, _ = watched(server.url)
    page = context.new_page()
    page.goto("/view")
    page.locator("input[type=file]").set_input_files(CLAUDE)
    answer = page.get_by_role("article", name="Agent")
    expect(answer).to_contain_text("Synthesis: A and B agree.")
    page.get_by_label("Framework").select_option("langchain")
    expect(answer).to_contain_text("could be read as langchain")
    page.get_by_label("Framework").select_option("claude")
    expect(answer).to_contain_text("Synthesis: A and B agree.")
    page.get_by_role("button", name="Back to the chats").click()
    expect(page.get_by_role("textbox", name="Your message")).to_be_visible()


def test_a_cassette_has_its_prompt_and_results(server: LiveServer, watched: Watched) -> None:
    context, _ = watched(server.url)
    page = context.new_page()
    page.goto("/view")
    file = {"name": "calls.jsonl", "mimeType": "", "buffer": cassette()}
    page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]
    expect(page.get_by_role("article", name="You")).to_have_text("How warm is it?")
    answer = page.get_by_role("article", name="Agent")
    expect(answer).to_contain_text("Warm.")
    answer.get_by_role("button", name="weather").click()
    expect(answer).to_contain_text("21 degrees")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the file is empty"),
        (b"\0\0\0", "expected text"),
        (b"just words\n", "The first line is text, not JSON."),
    ],
)
def test_bad_input_is_explained(
    data: bytes, sentence: str, server: LiveServer, watched: Watched
) -> None:
    context, watch = watched(server.url)
    watch.expect("the server responded with a status of 400")
    page = context.new_page()
    page.goto("/view")
    file = {"name": "x.bin", "mimeType": "", "buffer": data}
    page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]
    expect(page.get_by_role("log")).to_contain_text(sentence)


def test_mobox_view_shows_its_file(watched: Watched, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_bytes(CLAUDE.read_bytes())
    with mobox_view(file, cwd=tmp_path) as url:
        context, watch = watched(url)
        watch.expect("the server responded with a status of 404")
        page = context.new_page()
        page.goto(url)
        expect(page.get_by_role("heading", name="run.jsonl")).to_be_visible()
        expect(page.get_by_role("article", name="Agent")).to_contain_text("A and B agree.")
        expect(page.get_by_role("button", name="Back to the chats")).to_have_count(0)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
def test_the_page_of_recordings_is_accessible(
    size: str, theme: str, server: LiveServer, watched: Watched, axe: str
) -> None:
    context, _ = watched(server.url, viewport=SIZES[size], color_scheme=theme)
    page = context.new_page()
    page.add_init_script("sessionStorage.setItem('mobox:inspector-view', '\"events\"')")

    def check() -> None:
        page.evaluate(axe)
        assert page.evaluate(RUN, RULES) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.goto("/view")
    expect(page.get_by_role("heading", name="Look into any agent's output")).to_be_visible()
    check()
    page.locator("input[type=file]").set_input_files(CLAUDE)
    expect(page.get_by_role("article", name="Agent")).to_contain_text("A and B agree.")
    check()
    if size == "mobile":
        page.get_by_role("button", name="Inspect").click()
    expect(page.get_by_role("tab", name="Events")).to_be_visible()
    check()
