"""The new states of the page by keyboard alone: what is used is found with Tab first."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.composing import PICTURE, Composing, note
from web.test_activity import RESEARCH, line

MOST = 500
"""Stops of a page until one has seen them all."""
MADE: list[Step] = [["write", "one.md", "# One"], ["write", "two.md", "# Two"]]
RECORDING = Path(__file__).parent.parent / "recordings" / "claude" / "agent_sub_async_all.jsonl"


def reach(page: Page, target: Locator, key: str = "Tab") -> None:
    """Press Tab until the target has the focus."""
    expect(target).to_be_visible()
    for _ in range(MOST):
        if target.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{target} cannot be reached")


def use(page: Page, target: Locator, key: str = "Enter") -> None:
    reach(page, target)
    page.keyboard.press(key)


def choose(page: Page, item: Locator) -> None:
    """Choose from an open menu with the arrow keys."""
    reach(page, item, "ArrowDown")
    page.keyboard.press("Enter")


def test_the_work_its_tools_and_their_files(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    page, answer = tab.page, tab.answers.last
    tab.say(prompt(*RESEARCH, *MADE, text("The answer.")))
    tab.finish()
    use(page, line(tab))
    use(page, answer.get_by_role("button", name="heat pumps"))
    reach(page, answer.get_by_role("link", name="On pumps"))
    use(page, answer.get_by_role("button", name="Made "))
    panel = page.locator("#side-panel")
    use(page, panel.get_by_role("button", name="one.md").first)
    expect(panel.get_by_role("heading", name="one.md")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(panel.get_by_role("button", name="one.md").first).to_be_focused()


def test_the_queue_and_attached_files(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    page, composing = tab.page, Composing(tab)
    tab.say(prompt(text("Before the agent is held up."), gate.step))
    tab.sees("Before the agent is held up.")
    composing.enqueue("Wait for it")
    composing.attach(PICTURE, note())
    composing.is_attached(PICTURE["name"], "note.txt")
    use(page, page.get_by_role("button", name=f"Remove {PICTURE['name']}"))
    expect(tab.composer).to_be_focused()
    composing.is_attached("note.txt")
    use(page, composing.button("Edit queued message: "))
    field = page.get_by_role("textbox", name="Edit the queued message")
    expect(field).to_be_focused()
    page.keyboard.type(", please")
    page.keyboard.press("Enter")
    expect(tab.composer).to_be_focused()
    use(page, composing.button("Take back into the message box: "))
    expect(tab.composer).to_have_value("Wait for it, please")
    gate.open()


def test_versions_and_a_comment(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    page, answer = tab.page, tab.answers.last
    tab.say(prompt(text("An answer.")))
    tab.finish()
    use(page, page.get_by_role("button", name="Regenerate"))
    expect(answer.get_by_text("2/2")).to_be_visible()
    tab.finish()
    use(page, answer.get_by_role("button", name="Previous version"))
    expect(answer.get_by_text("1/2")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(answer.get_by_text("2/2")).to_be_visible()
    use(page, answer.get_by_role("button", name="Bad answer"))
    expect(page.get_by_role("textbox", name="Comment on this answer")).to_be_focused()
    page.keyboard.type("Too short")
    page.keyboard.press("Enter")
    expect(answer.get_by_role("button", name="Edit your comment")).to_be_focused()


def test_the_timeline_and_the_player(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    page = tab.page
    tab.say(prompt(*RESEARCH, text("The answer.")))
    tab.finish()
    use(page, page.get_by_role("button", name="Inspect", exact=True))
    tree = page.get_by_role("tree", name="Steps")
    reach(page, tree.get_by_role("treeitem").first)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(tree.locator("[aria-selected=true]")).to_be_focused()
    use(page, page.get_by_role("button", name="Show events"))
    reach(page, page.get_by_role("button", name="Protocol AI SDK"))
    page.keyboard.press("Enter")
    choose(page, page.get_by_role("menuitemradio", name="AG-UI"))
    expect(page.get_by_role("treegrid", name="Events")).to_contain_text("RUN_STARTED")
    reach(page, page.get_by_role("slider", name="Replay"))
    page.keyboard.press("Home")
    expect(tab.answers.last).to_contain_text("the chat at event 1")
    use(page, page.locator("#side-panel").get_by_role("button", name="Back to now"))
    expect(tab.answers.last).to_contain_text("The answer.")


def test_runs_and_their_comparison(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    page = tab.page
    for words in ("One.", "Two."):
        page.goto("/")
        tab.say(prompt(text(words)))
        tab.finish()
    use(page, page.get_by_role("link", name="Runs"))
    boxes = page.get_by_role("checkbox")
    for number in (0, 1):
        use(page, boxes.nth(number), "Space")
    use(page, page.get_by_role("button", name="Compare", exact=True))
    expect(page.get_by_role("region", name="Steps side by side")).to_be_visible()
    use(page, page.get_by_role("link", name="All runs"))
    expect(boxes.first).to_be_visible()


def test_a_link_and_a_recording(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    page = tab.page
    tab.say(prompt(text("An answer.")))
    tab.finish()
    use(page, page.get_by_role("button", name="Chat options"))
    choose(page, page.get_by_role("menuitem", name="Share"))
    dialog = page.get_by_role("dialog", name="Share this chat")
    use(page, dialog.get_by_role("button", name="Create link"))
    expect(dialog.get_by_label("Link", exact=True)).to_be_visible()
    use(page, dialog.get_by_role("button", name="Revoke"))
    expect(dialog.get_by_role("button", name="Revoke")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Chat options")).to_be_focused()
    page.goto("/view")
    with page.expect_file_chooser() as chooser:
        use(page, page.get_by_role("button", name="Choose a file"))
    chooser.value.set_files(RECORDING)
    tab.sees("A and B agree.")
    use(page, page.get_by_role("button", name="Keep as a chat"))
    expect(page.get_by_role("textbox", name="Your message")).to_be_visible()
