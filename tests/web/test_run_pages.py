"""The pages about runs: all runs of an owner, one of them, and two side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mobox.settings import MODELS
from server.live_server import LIMIT, LiveServer, live_server
from server.recorded_call import record_call
from server.scripted_agent import emit, pieces, prompt, tool, write_agent
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.inspector_tab import Inspector
from web.test_accessible import SIZES, findings

GOOD = pieces("text", "t", ["good"])
DEAR = [emit("usage", id="u", input_tokens=9000, output_tokens=1, cost_usd=2.5), *GOOD]
TOOLS = [*tool("c", "read_file", {}), emit("tool_result", tool_use_id="c", content="x"), *GOOD]
ROW = "li:has(input[type=checkbox])"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, Path]]:
    """A server of its own, that records model calls; and its data."""
    folder = tmp_path_factory.mktemp("recording")
    agents, data = write_agent(folder / "agents"), folder / "data"
    with live_server(data, "--agents", agents, "--record-models", patience=60 * LIMIT) as server:
        yield server, data


@pytest.fixture
def runs(recording: tuple[LiveServer, Path], watched: Watched) -> Tab:
    """A tab with the list of runs, of which one has failed and one was expensive."""
    tab = Tab(watched(recording[0].url)[0])
    for script in ([["exit", 3]], DEAR, TOOLS):
        tab.page.goto("/")
        tab.say(prompt(*script))
        tab.finish()
    tab.page.get_by_role("link", name="Runs").click()
    expect(tab.page.locator(ROW).first).to_be_visible()
    return tab


def rows(page: Page) -> list[str]:
    return page.locator(ROW).all_inner_texts()


def test_runs_are_sorted_and_filtered(runs: Tab) -> None:
    page = runs.page
    expect(page).to_have_title("Runs · Mobox")
    expect(page.locator(ROW).first).to_contain_text("tool_use_start")
    page.get_by_text("Most expensive", exact=True).click()
    expect(page.locator(ROW).first).to_contain_text("$2.50")
    page.get_by_text("Slowest", exact=True).click()
    expect(page.locator(ROW).first).to_be_visible()
    page.get_by_label("Status").select_option("Failed")
    expect(page.locator(ROW).filter(has_text="Finished")).to_have_count(0)
    expect(page.locator(ROW).first).to_contain_text("Failed")
    page.get_by_label("Status").select_option("Waiting")
    expect(page.get_by_text("No runs match.")).to_be_visible()
    page.get_by_role("button", name="Show all runs").click()
    expect(page.locator(ROW).filter(has_text="Finished").first).to_be_visible()


def test_a_run_is_opened_alone_and_in_its_chat(runs: Tab) -> None:
    page = runs.page
    first = page.locator(ROW).first
    first.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(r"/runs/run_"))
    tree = page.get_by_role("tree", name="Steps")
    expect(tree.get_by_role("treeitem", name="read_file")).to_be_visible()
    page.get_by_role("button", name="Play", exact=True).click()
    page.reload()
    expect(tree.get_by_role("treeitem", name="read_file")).to_be_visible()
    page.get_by_role("link", name="All runs").click()
    first.get_by_role("link", name="Open chat").click()
    expect(page).to_have_url(re.compile(r"/chat/"))
    expect(runs.answers.last).to_contain_text("good")
    expect(tree.get_by_role("treeitem", name="read_file")).to_be_visible()


def test_two_runs_are_compared_by_the_keyboard(runs: Tab) -> None:
    page = runs.page
    compare = page.get_by_role("button", name="Compare", exact=True)
    expect(compare).to_be_disabled()
    boxes = page.get_by_role("checkbox")
    boxes.nth(0).press("Space")
    expect(page.get_by_text("Select one more run.")).to_be_visible()
    boxes.nth(1).press("Space")
    compare.press("Enter")
    expect(page).to_have_title("Compare runs · Mobox")
    figures = page.get_by_role("region", name="Figures")
    cost = figures.get_by_role("row", name=re.compile("Cost"))
    expect(cost).to_have_text("Cost\N{EN DASH}$2.50\N{EN DASH}")
    steps = page.get_by_role("region", name="Steps side by side")
    read = steps.get_by_role("row", name=re.compile("read_file"))
    expect(read).to_contain_text("not in this run")
    expect(steps.get_by_role("row", name=re.compile("Text"))).not_to_contain_text("not in this run")
    page.get_by_role("button", name="Swap").click()
    expect(cost).to_have_text("Cost$2.50\N{EN DASH}\N{EN DASH}")


def test_recorded_model_calls_are_shown(
    recording: tuple[LiveServer, Path], watched: Watched
) -> None:
    server, data = recording
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*GOOD))
    tab.finish()
    inspector = Inspector(tab)
    inspector.view("Model calls")
    page = inspector.page
    expect(page.get_by_text("No model calls were recorded for this run")).to_be_visible()
    run = tab.answers.last.locator("[data-run]").first.get_attribute("data-run")
    assert run
    record_call(data / MODELS, run, "what is said with mbm_0123456789", started_at=1)
    page.reload()
    page.get_by_role("button", name="Call 1").click()
    request = page.get_by_role("region", name="Request")
    expect(request).to_contain_text("what is said with [model token]")
    expect(page.get_by_role("region", name="Response")).to_contain_text("data: hello")


def test_it_is_said_that_calls_are_not_recorded(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*GOOD))
    tab.finish()
    inspector = Inspector(tab)
    inspector.view("Model calls")
    expect(inspector.page.get_by_text("--record-models")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
def test_the_pages_are_accessible(
    recording: tuple[LiveServer, Path], watched: Watched, axe: str, size: str
) -> None:
    touch = {"has_touch": True, "is_mobile": True} if size == "mobile" else {}
    server, _ = recording
    tab = Tab(watched(server.url, viewport=SIZES[size], **touch)[0])
    for script in (GOOD, TOOLS):
        tab.page.goto("/")
        tab.say(prompt(*script))
        tab.finish()
    page = tab.page
    wide = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
    page.goto("/runs")
    boxes = page.get_by_role("checkbox")
    boxes.nth(0).check()
    boxes.nth(1).check()
    assert findings(tab, axe) == []
    assert not page.evaluate(wide)
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("region", name="Figures")).to_be_visible()
    assert findings(tab, axe) == []
    assert not page.evaluate(wide)
    page.get_by_role("link", name="First run").click()
    expect(page.get_by_role("tree", name="Steps")).to_be_visible()
    assert findings(tab, axe) == []
    assert not page.evaluate(wide)
