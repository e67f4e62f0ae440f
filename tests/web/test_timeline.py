"""The timeline: the steps of a run in time, live and afterwards, linked with the chat."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, emit, pieces, prompt
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.inspector_tab import Inspector
from web.test_accessible import SIZES, findings

AGENTS = ("Reader", "Checker")


def call(name: str, id_: str, **more: object) -> Step:
    return emit("tool_use", id=id_, name=name, input={"q": id_}, **more)


def result(id_: str, **more: object) -> Step:
    return emit("tool_result", tool_use_id=id_, content=f"result of {id_}", **more)


def spawn(agent: str) -> list[Step]:
    return [
        call("task", agent, kind="agent"),
        emit("subagent_start", agent=agent, task="Look", id=agent),
    ]


def work(agent: str) -> list[Step]:
    id_ = f"{agent}-search"
    return [call("search", id_, scope=[agent]), result(id_, scope=[agent])]


def report(agent: str) -> list[Step]:
    return [emit("subagent_complete", agent=agent, summary="ok", id=agent), result(agent)]


SCRIPT: list[Step] = [
    emit("step_start", kind="turn", id="t1", number=1),
    *pieces("thinking", "thought", ["let", "me", "see"]),
    call("read_file", "read"),
    result("read", status="error"),
    emit("usage", id="t1", input_tokens=1200, output_tokens=34, cost_usd=0.0125),
    emit("step_end", id="t1"),
    *spawn("Reader"),
    *spawn("Checker"),
    ["count", "x", 0, 2, 0.15],
    *work("Reader"),
    *work("Checker"),
    *report("Reader"),
    *report("Checker"),
    *pieces("text", "answer", ["All", "is", "well"]),
]


@pytest.fixture
def finished(server: LiveServer, watched: Watched) -> Tab:
    """A tab with a finished answer."""
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*SCRIPT))
    tab.finish()
    return tab


def level(step: Locator) -> int:
    return int(step.get_attribute("aria-level") or 0)


def test_steps_are_a_tree_with_durations_tokens_and_cost(finished: Tab) -> None:
    inspector = Inspector(finished, view="Timeline")
    inspector.shows("Finished")
    turn, read = inspector.step("Turn 1"), inspector.step("read_file")
    expect(turn).to_contain_text("1,234")
    expect(turn).to_contain_text("$0.0125")
    expect(read).to_contain_text("failed")
    assert level(read) == level(turn) + 1
    searches = inspector.step("search")
    expect(searches).to_have_count(2)
    assert level(searches.first) == level(inspector.step("Reader")) + 1
    expect(inspector.page.get_by_text("2 subagents · 1 failed · up to 2 at once")).to_be_visible()


def test_the_slowest_tool_is_named_and_found(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    slow = call("search", "inner", scope=["Reader"])
    script = [*spawn("Reader"), slow, ["count", "x", 0, 2, 0.2], result("inner", scope=["Reader"])]
    tab.say(prompt(*script, *report("Reader"), call("read_file", "r"), result("r")))
    tab.finish()
    inspector = Inspector(tab, view="Timeline")
    inspector.shows("Finished")
    inspector.page.get_by_role("button", name="Collapse all").click()
    expect(inspector.step("search")).to_have_count(0)
    inspector.page.get_by_role("button", name="slowest tool: search").press("Enter")
    expect(inspector.step("search")).to_have_attribute("aria-selected", "true")
    expect(inspector.page.get_by_role("heading", name="search")).to_be_visible()


def test_parallel_work_is_side_by_side(finished: Tab) -> None:
    inspector = Inspector(finished, view="Timeline")
    inspector.shows("Finished")
    boxes = [
        inspector.step(agent).locator("[style*='inset-inline-start']").bounding_box()
        for agent in AGENTS
    ]
    (first, second) = [(box["x"], box["x"] + box["width"]) for box in boxes if box is not None]
    assert max(first[0], second[0]) < min(first[1], second[1]), "the bars overlap in time"


def test_a_step_grows_while_it_goes_on(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(call("slow_tool", "slow"), gate.step, result("slow")))
    gate.wait()
    inspector = Inspector(tab, view="Timeline")
    inspector.shows("Live")
    expect(inspector.step("slow_tool")).to_contain_text("running")
    gate.open()
    inspector.shows("Finished")
    expect(inspector.step("slow_tool")).not_to_contain_text("running")
    tab.finish()


def test_the_wait_for_a_person_is_a_step_of_its_call(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(call("delete_all", "call"), ["approve", "call", [], []]))
    approve = tab.page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_visible()
    inspector = Inspector(tab, view="Timeline")
    inspector.shows("Waiting for you")
    wait = inspector.tree.get_by_role("treeitem", name="Waiting for a person")
    expect(wait).to_contain_text("running")
    assert level(wait) == level(inspector.step("delete_all")) + 1
    approve.click()
    inspector.shows("Finished")
    expect(wait).not_to_contain_text("running")


def test_a_selected_step_shows_its_details_and_leads_to_its_events(finished: Tab) -> None:
    inspector = Inspector(finished, view="Timeline")
    page = inspector.page
    inspector.step("read_file").click()
    details = page.get_by_role("region", name="Details of read_file")
    expect(details).to_contain_text("result of read")
    expect(details).to_contain_text("failed")
    page.get_by_role("button", name="Show events").click()
    expect(inspector.row("tool_use_start").first).to_be_focused()
    inspector.view("Timeline")
    expect(inspector.step("read_file")).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Close details").click()
    expect(details).to_have_count(0)


def test_a_card_leads_to_its_step_and_its_events_and_back(finished: Tab) -> None:
    inspector = Inspector(finished, view="Timeline")
    page = inspector.page
    finished.answers.last.get_by_role("button", name="Worked for").click()
    finished.answers.last.get_by_text("Read file").click()
    expect(inspector.step("read_file")).to_have_attribute("aria-selected", "true")
    pointed = page.locator("[data-pointed]")
    inspector.filter.wait_for(state="detached")
    inspector.step("read_file").hover()
    page.get_by_role("button", name="Show in chat").click()
    expect(pointed).to_contain_text("Read file")
    inspector.view("Events")
    finished.log.evaluate("log => { log.scrollTop = 0; }")
    inspector.row("tool_result").last.click()
    expect(finished.answers.last.get_by_text("Checker")).to_be_in_viewport()


def test_steps_are_reached_and_folded_by_the_keyboard(finished: Tab) -> None:
    inspector = Inspector(finished, view="Timeline")
    keyboard = inspector.page.keyboard
    steps = inspector.tree.get_by_role("treeitem")
    steps.first.focus()
    keyboard.press("ArrowDown")
    turn = inspector.step("Turn 1")
    expect(turn).to_be_focused()
    expect(turn).to_have_attribute("aria-selected", "true")
    before = steps.count()
    keyboard.press("ArrowLeft")
    expect(turn).to_have_attribute("aria-expanded", "false")
    expect(steps).to_have_count(before - 2)
    keyboard.press("ArrowRight")
    expect(steps).to_have_count(before)
    keyboard.press("ArrowRight")
    expect(inspector.step("Thinking")).to_be_focused()
    keyboard.press("ArrowLeft")
    expect(turn).to_be_focused()
    keyboard.press("End")
    expect(steps.last).to_be_focused()
    expect(inspector.tree.locator("[tabindex='0']")).to_have_count(1)
    inspector.page.get_by_role("button", name="Collapse all").click()
    expect(inspector.step("search")).to_have_count(0)


def test_thousands_of_steps_stay_few_elements(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(["tools", 3000], *pieces("text", "t", ["end"])))
    tab.finish()
    inspector = Inspector(tab, view="Timeline")
    inspector.shows("Finished")
    expect(inspector.page.locator("#side-panel").get_by_text("3,000 tool calls")).to_be_visible()
    steps = inspector.tree.get_by_role("treeitem")
    assert steps.count() < 80
    steps.first.press("End")
    expect(inspector.step("Text")).to_be_focused()
    assert steps.count() < 80


def test_stdout_folds_deltas_as_the_events_do(finished: Tab) -> None:
    inspector = Inspector(finished)
    inspector.view("stdout")
    stdout = inspector.page.get_by_role("region", name="stdout")
    # The line of the first one is shown where it opened the block.
    folded = stdout.get_by_role("button", name="2 lines All is well")
    expect(folded).to_have_attribute("aria-expanded", "false")
    lines = stdout.locator("[data-index]")
    before = lines.count()
    folded.click()
    expect(lines).to_have_count(before + 2)


@pytest.mark.parametrize("size", SIZES)
def test_the_timeline_is_accessible(
    server: LiveServer, watched: Watched, axe: str, size: str
) -> None:
    touch = {"has_touch": True, "is_mobile": True} if size == "mobile" else {}
    context = watched(server.url, viewport=SIZES[size], **touch)[0]
    tab = Tab(context)
    tab.say(prompt(*SCRIPT))
    tab.finish()
    inspector = Inspector(tab, view="Timeline")
    inspector.shows("Finished")
    inspector.step("read_file").click()
    expect(inspector.page.get_by_role("region", name="Details of read_file")).to_be_visible()
    assert findings(tab, axe) == []
    scrolls = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not inspector.page.evaluate(scrolls)
