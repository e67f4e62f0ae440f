"""The composer as a whole: the list that `/` opens, and all of its states for everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import Gate, prompt, text, write_agent
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.composing import PICTURE, Composing, note
from web.pausing_agent import held
from web.test_accessible import SIZES, findings

STARTERS = ["Compare two databases", "Write a poem about rain"]


@pytest.fixture(scope="session")
def suggesting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with three agents, of which one suggests messages."""
    folder = tmp_path_factory.mktemp("suggesting")
    agents = write_agent(folder / "agents")
    for name in ("writer", "analyst"):
        (agents / name).mkdir()
        script = (agents / "scripted/run_agent.py").read_text()
        (agents / name / "run_agent.py").write_text(script)
        about = f"name: {name.title()}\ndescription: The {name}.\nframework: emitted\n"
        starters = "starters:\n" + "".join(f"  - {each}\n" for each in STARTERS)
        (agents / name / "agent.yaml").write_text(about + starters * (name == "writer"))
    data = Path(folder / "data")
    flags = ("--agents", agents, "--agent", "scripted")
    with live_server(data, *flags, patience=60 * LIMIT) as server:
        yield server


def test_slash_selects_agents_and_starters_by_keys(
    suggesting: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(suggesting.url)[0])
    composing, keys = Composing(tab), tab.page.keyboard
    keys.type("/")
    expect(composing.options.filter(has_text="Analyst")).to_be_visible()
    keys.type("wri")
    expect(composing.options).to_have_count(1)
    keys.press("Enter")
    expect(tab.page.get_by_role("heading", name="Writer")).to_be_visible()
    expect(tab.composer).to_have_value("")
    keys.type("/")
    expect(composing.options).to_have_count(3 + len(STARTERS))
    selected = composing.options.and_(tab.page.locator("[aria-selected=true]"))
    keys.press("ArrowUp")
    expect(selected).to_have_text(STARTERS[-1])
    keys.press("ArrowUp")
    expect(selected).to_have_text(STARTERS[0])
    keys.press("Enter")
    expect(tab.composer).to_have_value(STARTERS[0])
    expect(composing.options).to_have_count(0)


def test_escape_closes_the_list_and_stops_nothing(
    suggesting: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(suggesting.url)[0])
    tab.say(held(gate))
    gate.wait()
    tab.composer.press("/")
    expect(Composing(tab).options.first).to_be_visible()
    tab.composer.press("Escape")
    expect(Composing(tab).options).to_have_count(0)
    expect(tab.composer).to_have_value("/")
    gate.open()
    tab.finish()
    tab.sees("after it was let go")


def attached(tab: Tab, _gate: Gate) -> None:
    """A picture, a text, and a file of a name that is too long for a phone."""
    composing = Composing(tab)
    composing.attach(PICTURE, note(), note("x", f"{'a-very-long-name-' * 6}.txt"))
    expect(composing.files).to_have_count(3)
    expect(composing.uploading).to_have_count(0)


def refused(tab: Tab, _gate: Gate) -> None:
    """A file that is no picture, and one that could not be uploaded."""
    tab.page.route("**/api/files?name=lost.txt", lambda route: route.fulfill(status=502))
    composing = Composing(tab)
    composing.attach({**PICTURE, "buffer": b"no picture"}, note("x", "lost.txt"))
    expect(composing.files.first).to_contain_text("Not a valid image/png file")
    expect(composing.files.last).to_contain_text("The server can't be reached.")


def queued(tab: Tab, gate: Gate) -> None:
    """Two queued messages, of which one is edited."""
    composing = Composing(tab)
    tab.say(held(gate))
    gate.wait()
    composing.enqueue("And then compare it with last year's numbers, please. " * 4)
    composing.enqueue("Thanks")
    composing.button("Edit queued message: Thanks").click()
    expect(tab.page.get_by_role("textbox", name="Edit the queued message")).to_be_focused()


def suggested(tab: Tab, _gate: Gate) -> None:
    """The list that `/` opens."""
    tab.composer.fill("/")
    expect(Composing(tab).options.first).to_be_visible()


def dropping(tab: Tab, _gate: Gate) -> None:
    """A file above the conversation."""
    tab.say(prompt(text("An answer.")))
    tab.finish()
    Composing(tab).drag(note(), "dragenter", "dragover")
    expect(tab.page.get_by_text("Drop files to attach them")).to_be_visible()


STATES: dict[str, Callable[[Tab, Gate], None]] = {
    state.__name__: state for state in (attached, refused, queued, suggested, dropping)
}
WIDTHS = {**SIZES, "narrow": {"width": 320, "height": 640}}


@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("state", STATES)
def test_state_of_the_composer_is_accessible(
    suggesting: LiveServer, watched: Watched, axe: str, gate: Gate, state: str, size: str
) -> None:
    is_phone = size != "desktop"
    touch = {"has_touch": True, "is_mobile": True} if is_phone else {}
    context, watch = watched(suggesting.url, viewport=WIDTHS[size], **touch)
    watch.expect("502")
    tab = Tab(context)
    STATES[state](tab, gate)
    assert findings(tab, axe) == []
    for target in tab.page.locator("form button:visible, section li button:visible").all():
        box = target.bounding_box()
        assert box is not None
        least = 44 if is_phone else 36
        assert min(box["width"], box["height"]) >= least, target.get_attribute("aria-label")
