"""The page under another name: what a person sees of it, and whether it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from server.live_server import LIMIT, LiveServer, live_server
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.test_accessible import SIZES, OpenTab, findings, open_tab

__all__ = ["open_tab"]

LOGO = """
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8" onload="document.title = 'hacked'">
  <script>document.title = "hacked"</script><circle cx="4" cy="4" r="4" fill="#b00"/>
</svg>
"""


@pytest.fixture(scope="module", params=["#d97706", "#ffee88", "#101010"])
def branded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, agents: Path
) -> Iterator[LiveServer]:
    """A server whose page is somebody else's, in a colour that is hard to read."""
    folder = tmp_path_factory.mktemp("branded")
    logo = folder / "logo.svg"
    logo.write_text(LOGO)
    flags = {
        "--agents": agents,
        "--brand-name": "Acme Help",
        "--brand-logo": logo,
        "--brand-accent": request.param,
        "--brand-welcome": "How can we help?",
        "--brand-starters": "Where is my order?|Send it back",
        "--hidden": "protocol,export,panel",
    }
    given = [each for pair in flags.items() for each in pair]
    with live_server(folder / "data", *given, patience=60 * LIMIT) as server:
        yield server


@pytest.mark.parametrize("size", SIZES)
def test_the_page_is_readable_in_any_accent(
    branded: LiveServer, open_tab: OpenTab, axe: str, size: str
) -> None:
    tab = open_tab(branded, size)
    tab.composer.fill("not sent")
    assert findings(tab, axe) == []


def test_the_page_shows_its_brand(branded: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(branded.url)[0])
    page = tab.page
    expect(page).to_have_title("Acme Help")
    expect(page.get_by_role("heading", name="How can we help?")).to_be_visible()
    expect(page.get_by_role("button", name="Where is my order?")).to_be_visible()
    nav = page.get_by_role("navigation")
    expect(nav).to_contain_text("Acme Help")
    assert nav.locator("img").evaluate("each => each.naturalWidth") > 0
    expect(page.get_by_role("button", name="Inspect")).to_have_count(0)
    page.keyboard.press("Control+j")
    expect(page.get_by_role("complementary")).to_have_count(0)
    page.get_by_role("button", name="Settings").click()
    menu = page.get_by_role("menu")
    expect(menu).to_contain_text("Theme")
    expect(menu).not_to_contain_text("Protocol")
    page.keyboard.press("Escape")
    tab.say("[]")
    page.get_by_role("button", name="Chat options").click()
    expect(page.get_by_role("menuitem", name="Rename")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Export")).to_have_count(0)
    expect(page).to_have_title("[] · Acme Help")
    for path, title in (("runs", "Runs · Acme Help"), ("view", "Recording · Acme Help")):
        page.goto(path)
        expect(page).to_have_title(title)


def test_a_logo_that_is_opened_runs_no_script(branded: LiveServer, watched: Watched) -> None:
    context, watch = watched(branded.url)
    watch.expect("script|sandbox|policy")
    page = context.new_page()
    page.goto("/logo.svg")
    assert page.evaluate("document.title") != "hacked"
