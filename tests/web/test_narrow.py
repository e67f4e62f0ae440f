"""A page 320 pixels wide, which is also one of 1280 at 400 %: every state fits and can be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, emit, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.composing import PICTURE, Composing, note
from web.inspector_tab import Inspector
from web.panel import Panel
from web.test_accessible import findings
from web.test_activity import RESEARCH, line

NARROW: dict[str, Any] = {
    "viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True,
}  # fmt: skip
RECORDING = Path(__file__).parent.parent / "recordings" / "claude" / "agent_sub_async_all.jsonl"
LONG = "a_rather_long_name_without_any_place_to_break_it" * 2

OUTSIDE = """
() => {
  const scrolls = (element) => {
    for (let at = element.parentElement; at; at = at.parentElement)
      if (/auto|scroll/.test(getComputedStyle(at).overflowX) && at.scrollWidth > at.clientWidth)
        return true;
    return false;
  };
  const controls = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  return [...document.querySelectorAll(controls)]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }))
    .map((each) => [each, each.getBoundingClientRect()])
    .filter(([, { width, height }]) => width > 1 && height > 1)
    .filter(([, { left, right }]) => left < -0.5 || right > innerWidth + 0.5)
    .filter(([each]) => !scrolls(each) && !each.closest(".sr-only"))
    .map(([each]) => each.ariaLabel || each.textContent || each.outerHTML.slice(0, 80));
}
"""
"""The controls that nobody can reach: outside of the page, and of all that scrolls."""

KINDS: list[Step] = [
    *RESEARCH,
    emit("tool_use", id="p", name="python", input={"code": f"{LONG} = 1"}, kind="code"),
    emit("tool_result", tool_use_id="p", content="1"),
    emit("tool_use", id="r", name="read_file", input={"path": f"/tmp/{LONG}.md"}),
    emit("tool_result", tool_use_id="r", content="one\ntwo"),
    emit("tool_use", id="f", name="fetch", input={"url": f"https://example.org/{LONG}"}),
    emit("tool_result", tool_use_id="f", content="<html>"),
    emit("tool_use", id="q", name="sql", input={"query": "select 1"}),
    emit("tool_result", tool_use_id="q", content=[{"one": 1, LONG: 2}, {"one": 3, LONG: 4}]),
    emit("tool_use", id="o", name=LONG, input={"deep": {"er": [{"x": LONG}, {"y": "z" * 700}]}}),
    emit("tool_result", tool_use_id="o", content="ok"),
    text("The answer."),
]


State = Callable[[Tab, Gate], None]


def activity(tab: Tab, _gate: Gate) -> None:
    tab.say(prompt(*RESEARCH, text("The answer.")))
    tab.finish()
    line(tab).click()


def tools(tab: Tab, _gate: Gate) -> None:
    tab.say(prompt(*KINDS))
    tab.finish()
    line(tab).click()
    closed = tab.answers.last.locator("button[data-state=closed]")
    while closed.count() > 0:
        closed.first.click()
    tab.answers.last.get_by_text("Raw call").last.click()


def composing(tab: Tab, gate: Gate) -> None:
    tab.say(prompt(text("Before the agent is held up."), gate.step))
    tab.sees("Before the agent is held up.")
    composer = Composing(tab)
    composer.enqueue(f"First {LONG}")
    composer.enqueue("Second, which is edited")
    composer.button("Edit queued message: Second").click()
    composer.attach(PICTURE, note(name=f"{LONG}.txt"))
    composer.is_attached(PICTURE["name"], f"{LONG}.txt")
    tab.composer.fill("words")


def branches(tab: Tab, _gate: Gate) -> None:
    tab.say(prompt(text("An answer.")))
    tab.finish()
    tab.page.get_by_role("button", name="Regenerate").click()
    expect(tab.answers.last.get_by_text("2/2")).to_be_visible()
    tab.finish()
    tab.answers.last.get_by_role("button", name="Bad answer").click()
    expect(tab.page.get_by_role("textbox", name="Comment on this answer")).to_be_visible()


def made_files(tab: Tab, _gate: Gate) -> None:
    files: list[Step] = [["write", f"{name}.md", f"# {LONG}"] for name in ("one", LONG)]
    tab.say(prompt(*files, text("I made some.")))
    tab.finish()
    tab.answers.last.get_by_role("button", name="Made ").click()
    expect(Panel(tab).box.get_by_text("2 files")).to_be_visible()


def preview(tab: Tab, gate: Gate) -> None:
    made_files(tab, gate)
    panel = Panel(tab)
    panel.box.get_by_role("button", name=f"{LONG}.md").first.click()
    expect(panel.box.get_by_role("button", name="Show source")).to_be_visible()


def timeline(tab: Tab, _gate: Gate) -> None:
    tab.say(prompt(*KINDS))
    tab.finish()
    inspector = Inspector(tab, view="Timeline")
    inspector.shows("Finished")
    inspector.tree.get_by_role("treeitem").nth(3).click()
    expect(tab.page.get_by_role("button", name="Show events")).to_be_visible()


def playing(tab: Tab, _gate: Gate) -> None:
    tab.say(prompt(["count", "n", 0, 12, 0.01]))
    tab.finish()
    inspector = Inspector(tab, view="Timeline")
    inspector.slider.press("Home")
    inspector.slider.press("ArrowRight")
    expect(Panel(tab).box.get_by_role("button", name="Back to now")).to_be_visible()


def model_calls(tab: Tab, gate: Gate) -> None:
    timeline(tab, gate)
    tab.page.get_by_role("tab", name="Model calls").click()
    expect(tab.page.get_by_text("Model calls are not recorded")).to_be_visible()


def runs(tab: Tab, _gate: Gate) -> None:
    for _ in range(2):
        tab.page.goto("/")
        tab.say(prompt(*KINDS))
        tab.finish()
    tab.page.goto("/runs")
    boxes = tab.page.get_by_role("checkbox")
    boxes.nth(0).check()
    boxes.nth(1).check()


def compared(tab: Tab, gate: Gate) -> None:
    runs(tab, gate)
    tab.page.get_by_role("button", name="Compare").click()
    expect(tab.page.get_by_role("region", name="Steps side by side")).to_be_visible()


def sharing(tab: Tab, gate: Gate) -> None:
    activity(tab, gate)
    tab.page.get_by_role("button", name="Chat options").click()
    tab.page.get_by_role("menuitem", name="Share").click()
    dialog = tab.page.get_by_role("dialog", name="Share this chat")
    dialog.get_by_role("radio", name="Everything").check()
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_label("Link", exact=True)).to_be_visible()
    expect(dialog.get_by_role("button", name="Revoke")).to_be_visible()


def shared(tab: Tab, gate: Gate) -> None:
    sharing(tab, gate)
    tab.page.goto(tab.page.get_by_label("Link", exact=True).input_value())
    expect(tab.page.get_by_text("Shared chat, read-only")).to_be_visible()
    tab.sees("The answer.")


def welcome(tab: Tab, _gate: Gate) -> None:
    tab.page.goto("/view")
    expect(tab.page.get_by_role("heading", name="Look into")).to_be_visible()


def viewing(tab: Tab, gate: Gate) -> None:
    welcome(tab, gate)
    tab.page.locator("input[type=file]").set_input_files(RECORDING)
    tab.sees("A and B agree.")
    expect(tab.page.get_by_role("button", name="Keep as a chat")).to_be_visible()


def crashed(tab: Tab, _gate: Gate) -> None:
    tab.say(prompt(["exit", 3]))
    expect(tab.page.get_by_role("button", name="Show stderr")).to_be_visible()


def slash(tab: Tab, _gate: Gate) -> None:
    tab.composer.fill("/")
    expect(Composing(tab).options.first).to_be_visible()


STATES: dict[str, State] = {
    state.__name__: state
    for state in (
        activity, tools, composing, branches, made_files, preview, timeline, playing, model_calls,
        runs, compared, sharing, shared, welcome, viewing, crashed, slash,
    )
}  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_a_state_fits_and_all_of_it_can_be_reached(
    server: LiveServer, watched: Watched, axe: str, gate: Gate, state: str
) -> None:
    tab = Tab(watched(server.url, **NARROW)[0])
    STATES[state](tab, gate)
    assert findings(tab, axe) == []
    assert tab.page.evaluate(OUTSIDE) == []
