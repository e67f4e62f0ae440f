"""The side panel: opening, closing, resizing, and the answer that it shows."""

from __future__ import annotations

from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import emit, prompt
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.panel import Panel

SMALL = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def code(source: str) -> str:
    return prompt(emit("tool_use", id="c", name="python", input={"code": source}, kind="code"))


def width(panel: Panel) -> float:
    """Measured by the page itself, which forces the pending layout."""
    found: float = panel.box.evaluate("box => box.getBoundingClientRect().width")
    return found


def test_a_key_opens_it_and_closes_it(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    panel = Panel(tab)
    expect(panel.button).to_have_attribute("aria-expanded", "false")
    tab.composer.press("ControlOrMeta+j")
    expect(panel.box.get_by_role("tab", name="Inspector")).to_be_focused()
    tab.page.keyboard.press("ArrowLeft")
    expect(panel.box.get_by_role("tab", name="Files")).to_be_focused()
    expect(panel.box.get_by_role("tabpanel", name="Files")).to_be_visible()
    tab.page.keyboard.press("Home")
    expect(panel.box.get_by_role("tab", name="Code")).to_have_attribute("aria-selected", "true")
    tab.page.keyboard.press("ControlOrMeta+j")
    expect(panel.box).to_have_count(0)
    expect(panel.button).to_be_focused()


def test_it_is_as_it_was_when_the_page_is_loaded_again(
    server: LiveServer, watched: Watched
) -> None:
    context, _ = watched(server.url)
    tab = Tab(context)
    panel = Panel(tab).open("Terminal")
    tab.page.reload()
    expect(panel.box.get_by_role("tab", name="Terminal")).to_have_attribute("aria-selected", "true")
    other = Tab(context)
    expect(Panel(other).button).to_have_attribute("aria-expanded", "false")
    expect(Panel(other).box).to_have_count(0)


def test_its_edge_is_moved_by_keys_and_by_hand(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    panel = Panel(tab).open("Code")
    expect(panel.edge).to_have_attribute("aria-valuenow", "720")
    panel.edge.press("ArrowLeft")
    expect(panel.edge).to_have_attribute("aria-valuenow", "744")
    panel.edge.press("Home")
    expect(panel.edge).to_have_attribute("aria-valuenow", "320")
    assert width(panel) == 320
    panel.edge.press("End")
    expect(panel.edge).to_have_attribute("aria-valuenow", str(1440 - 256 - 380))
    panel.edge.hover()
    tab.page.mouse.down()
    tab.page.mouse.move(900, 300)
    tab.page.mouse.up()
    expect(panel.edge).to_have_attribute("aria-valuenow", "540")
    tab.page.mouse.move(1000, 300)
    assert width(panel) == 540
    tab.page.reload()
    expect(panel.edge).to_have_attribute("aria-valuenow", "540")
    tab.page.set_viewport_size({"width": 1110, "height": 800})
    expect(panel.edge).to_have_attribute("aria-valuenow", str(1110 - 256 - 380))


def test_on_a_small_screen_it_covers_the_chat_and_gives_it_back(
    server: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(server.url, **SMALL)[0])
    panel = Panel(tab)
    panel.button.click()
    expect(tab.page.get_by_role("dialog", name="Side panel")).to_be_visible()
    tab.settle()
    assert panel.box.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    expect(panel.edge).to_have_count(0)
    tab.page.keyboard.press("Escape")
    expect(panel.box).to_have_count(0)
    expect(panel.button).to_be_focused()


def test_it_shows_the_newest_answer_unless_an_older_one_is_chosen(
    server: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(server.url)[0])
    panel = Panel(tab).open("Code")
    for number in (1, 2):
        tab.say(code(f"answer = {number}"))
        tab.finish(number)
        panel.shows_code(f"answer = {number}")
    expect(panel.box).not_to_contain_text("Earlier answer")
    tab.answers.first.get_by_role("button", name="Show in panel").click()
    panel.shows_code("answer = 1")
    expect(panel.box).to_contain_text("Earlier answer")
    tab.page.reload()
    panel.shows_code("answer = 1")
    tab.say(code("answer = 3"))
    tab.finish(3)
    panel.shows_code("answer = 1")
    panel.box.get_by_role("button", name="Show latest").click()
    panel.shows_code("answer = 3")
    expect(panel.box).not_to_contain_text("Earlier answer")


def test_a_message_opens_it(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(code("answer = 1"))
    tab.finish()
    tab.answers.get_by_role("button", name="Show in panel").click()
    panel = Panel(tab)
    inspector = panel.box.get_by_role("tab", name="Inspector")
    expect(inspector).to_have_attribute("aria-selected", "true")
    panel.open("Code").shows_code("answer = 1")
    tab.say(code("answer = 2"))
    tab.finish(2)
    panel.shows_code("answer = 2")


def test_it_opens_with_the_pane_shown_last_unless_that_is_empty(
    server: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(code("answer = 1"))
    tab.finish()
    panel = Panel(tab).open("Code")
    panel.shows_code("answer = 1")
    for _ in range(2):
        panel.button.click()
    panel.shows_code("answer = 1")
    panel.button.click()
    tab.say(prompt(emit("text_delta", id="t", delta="no code")))
    tab.finish(2)
    panel.button.click()
    inspector = panel.box.get_by_role("tab", name="Inspector")
    expect(inspector).to_have_attribute("aria-selected", "true")
    expect(panel.box.get_by_role("tree", name="Steps")).to_be_visible()
