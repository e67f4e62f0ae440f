"""The inspector shows the lines, events and frames of a run: live, and afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from mobox.events import decode
from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, emit, pieces, prompt, tool
from web.browser_watch import Watched
from web.chat_tab import Tab, assert_shows_what_is_stored
from web.inspector_tab import Inspector, log_of, run_of
from web.test_accessible import SIZES, findings

WORDS = ["This", "comes", "in", "eight", "pieces", "one", "by", "one"]
THOUGHT = pieces("thinking", "thought", ["let", "me", "see"])
ANSWER = pieces("text", "answer", WORDS)
SCRIPT: list[Step] = [
    emit("status", message="Setting up"),
    *THOUGHT,
    *tool("call", "read_file", {"path": "/tmp/x"}),
    emit("tool_result", tool_use_id="call", content="forty-two"),
    *ANSWER,
]
TIMES = "\N{MULTIPLICATION SIGN}"


@pytest.fixture
def finished(server: LiveServer, watched: Watched) -> Tab:
    """A tab with a finished answer."""
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*SCRIPT))
    tab.finish()
    return tab


def test_a_row_has_the_line_the_event_and_the_frames(
    server: LiveServer, http: httpx.Client, finished: Tab
) -> None:
    inspector = Inspector(finished, wide=True)
    inspector.shows("Finished")
    log = log_of(http, server, run_of(http, server, finished), "ai-sdk:page")
    [result] = [entry for entry in log if entry["event"]["type"] == "tool_result"]
    row = inspector.row("tool_result")
    expect(row).to_contain_text("forty-two")
    row.press("Enter")
    expect(row).to_have_attribute("aria-expanded", "true")
    [line] = result["lines"]
    expect(row.get_by_role("group", name=f"Line {line['n']}")).to_have_text(line["line"])
    event = row.get_by_role("group", name=f"Event {result['seq']}: tool_result")
    assert json.loads(event.inner_text()) == result["event"]
    frame = row.get_by_role("group", name="Frame")
    assert [json.loads(frame.inner_text())] == result["frames"]["ai-sdk:page"]
    row.press("Enter")
    expect(row).to_have_attribute("aria-expanded", "false")


def test_pieces_of_one_block_are_one_row_that_opens(finished: Tab) -> None:
    inspector = Inspector(finished)
    head = inspector.row("text_delta").first
    expect(head).to_contain_text(f"{TIMES} {len(WORDS)}")
    expect(head).to_contain_text(" ".join(WORDS))
    folded = inspector.row("text_delta").and_(inspector.page.locator("[aria-level='2']"))
    expect(folded).to_have_count(0)
    head.press("ArrowRight")
    expect(folded).to_have_count(len(WORDS))
    expect(folded.nth(3)).to_contain_text("eight")
    head.press("ArrowLeft")
    expect(folded).to_have_count(0)


def test_the_rows_of_a_run_come_while_it_goes_on(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*THOUGHT, gate.step, *ANSWER))
    gate.wait()
    inspector = Inspector(tab)
    inspector.shows("Live")
    expect(inspector.row("thinking_end")).to_be_visible()
    expect(inspector.row("text_delta")).to_have_count(0)
    gate.open()
    expect(inspector.row("text_delta")).to_contain_text(" ".join(WORDS))
    expect(inspector.row("done")).to_be_visible()
    inspector.shows("Finished")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


def test_a_pause_holds_the_rows_and_not_the_run(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*THOUGHT, gate.step, *ANSWER))
    gate.wait()
    inspector = Inspector(tab)
    expect(inspector.row("thinking_end")).to_be_visible()
    inspector.page.get_by_role("button", name="Pause").click()
    on = inspector.page.get_by_role("button", name="Resume")
    expect(on).to_be_visible()
    gate.open()
    tab.finish()
    expect(on).to_have_text(re.compile(r"Resume· [1-9]\d* new"))
    inspector.shows("Finished")
    expect(inspector.row("text_delta")).to_have_count(0)
    on.click()
    expect(inspector.row("text_delta")).to_be_visible()
    expect(inspector.row("done")).to_be_visible()
    expect(on).to_have_count(0)


def test_a_row_that_is_pinned_stays_whatever_is_filtered(finished: Tab) -> None:
    inspector = Inspector(finished)
    inspector.row("thinking_end").get_by_role("button").click()
    pinned = inspector.row("thinking_end", inspector.pinned)
    expect(pinned).to_be_visible()
    inspector.filter.fill("forty-two")
    expect(inspector.row("tool_result")).to_be_visible()
    expect(inspector.row("thinking_end", inspector.grid)).to_have_count(0)
    expect(pinned).to_be_visible()
    pinned.press("p")
    expect(inspector.pinned).to_have_count(0)


def test_rows_are_found_by_words_and_by_types(finished: Tab) -> None:
    inspector = Inspector(finished)
    inspector.filter.fill("PIECES ONE BY")
    expect(inspector.row("text_delta")).to_be_visible()
    expect(inspector.row("tool_result")).to_have_count(0)
    inspector.filter.fill("nobody said this")
    page = inspector.page
    expect(page.get_by_text("No events match.")).to_be_visible()
    page.get_by_role("button", name="Show all events").click()
    expect(inspector.row("tool_result")).to_be_visible()
    page.get_by_role("button", name="Event types").click()
    page.get_by_role("menuitemcheckbox", name="tool_result").click()
    page.get_by_role("menuitemcheckbox", name="done").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    shown = inspector.grid.locator("[data-row]")
    expect(shown).to_have_count(2)
    expect(page.get_by_role("button", name="Event types: 2 types")).to_be_visible()


def test_a_group_that_is_opened_is_one_row(finished: Tab) -> None:
    inspector = Inspector(finished)
    counts = inspector.page.get_by_text(re.compile(r"^\d+ events in \d+ rows$"))
    before = counts.inner_text()
    group = inspector.row("text_delta").first
    group.press("Enter")
    expect(group).to_have_attribute("aria-expanded", "true")
    expect(counts).to_have_text(before)


def test_stdout_shows_the_events_unchanged(finished: Tab) -> None:
    inspector = Inspector(finished)
    inspector.row("thinking_end").press("p")
    inspector.row("tool_result").press("Enter")
    inspector.filter.fill("forty-two")
    inspector.slider.fill("2")
    expect(finished.answers.last).to_contain_text("Replay")
    inspector.view("stdout")
    expect(inspector.page.get_by_role("region", name="stdout")).to_be_visible()
    expect(finished.answers.last).to_contain_text("Replay")
    inspector.view("Events")
    expect(inspector.filter).to_have_value("forty-two")
    expect(inspector.row("tool_result")).to_have_attribute("aria-expanded", "true")
    expect(inspector.row("thinking_end", inspector.pinned)).to_be_visible()
    expect(inspector.slider).to_have_value("2")


def test_the_slider_shows_the_chat_as_it_was_at_any_event(
    server: LiveServer, http: httpx.Client, finished: Tab
) -> None:
    inspector = Inspector(finished)
    log = log_of(http, server, run_of(http, server, finished), "ai-sdk:page")
    deltas = [entry["seq"] for entry in log if entry["event"]["type"] == "text_delta"]
    answer = finished.answers.last
    for place in (3, 6, 1):
        inspector.slider.fill(str(deltas[place - 1]))
        said = f"Replay: the chat at event {deltas[place - 1]}"
        expect(answer.get_by_text(said, exact=True)).to_be_visible()
        block = answer.locator("[data-made='[\"answer\"]']")
        expect(block).to_have_text(" ".join(WORDS[:place]))
    inspector.slider.fill("2")
    expect(answer.locator("[data-made='[\"answer\"]']")).to_have_count(0)
    expect(answer).not_to_contain_text("read_file")
    answer.get_by_role("button", name="Back to now").click()
    expect(answer).not_to_contain_text("Replay")
    expect(answer).to_contain_text(" ".join(WORDS))
    expect(inspector.slider).to_have_value(str(len(log)))
    assert_shows_what_is_stored(finished, server)


def test_a_replay_in_the_middle_of_a_run_does_not_hold_it_up(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*ANSWER, gate.step, *pieces("text", "rest", ["and", "that", "is", "all"])))
    gate.wait()
    inspector = Inspector(tab)
    expect(inspector.row("text_delta")).to_be_visible()
    inspector.slider.fill("6")
    expect(tab.answers.last).to_contain_text("Replay: the chat at event 6")
    gate.open()
    inspector.shows("Finished")
    expect(tab.answers.last).to_contain_text("Replay: the chat at event 6")
    inspector.page.get_by_role("button", name="Close the side panel").click()
    expect(tab.answers.last).to_contain_text("and that is all")
    tab.finish()
    assert_shows_what_is_stored(tab, server)


def test_a_row_and_the_block_it_made_show_each_other(finished: Tab) -> None:
    inspector = Inspector(finished)
    pointed = finished.answers.last.locator("[data-pointed]")
    expect(pointed).to_have_count(0)
    inspector.row("text_delta").hover()
    expect(pointed).to_have_text(" ".join(WORDS))
    inspector.row("tool_result").hover()
    expect(pointed).to_contain_text("1 file read")
    finished.answers.last.get_by_role("button", name="Worked for").click()
    inspector.filter.hover()
    inspector.row("tool_result").hover()
    expect(pointed).to_contain_text("Read file")
    inspector.row("thinking_delta").focus()
    inspector.filter.hover()  # keyboard users have the pointer somewhere else
    inspector.row("thinking_end").focus()
    expect(pointed).to_contain_text("Thought")
    linked = inspector.grid.locator("[data-linked]")
    finished.answers.last.get_by_text("Read file").hover()
    expect(linked).not_to_have_count(0)
    types = linked.evaluate_all("rows => rows.map((row) => row.getAttribute('aria-label'))")
    assert {re.sub(r"Event \d+: ", "", each) for each in types} == {
        "tool_use_start",
        "tool_use_delta",
        "tool_use_end",
        "tool_result",
    }


@pytest.mark.parametrize("what", ["events", "lines"])
def test_a_run_can_be_taken_along(
    server: LiveServer, http: httpx.Client, finished: Tab, tmp_path: Path, what: str
) -> None:
    inspector = Inspector(finished)
    run = run_of(http, server, finished)
    log = log_of(http, server, run, "canonical")
    choices = {
        "events": ("Events (JSON Lines)", f"{run}.events.jsonl"),
        "lines": ("Raw agent output", f"{run}.stdout.jsonl"),
    }
    choice, name = choices[what]
    with inspector.page.expect_download() as download:
        inspector.choose("Download", choice)
    assert download.value.suggested_filename == name
    download.value.save_as(tmp_path / name)
    lines = (tmp_path / name).read_text("utf-8").splitlines()
    if what == "events":
        assert [decode(line.encode()).event.as_json() for line in lines] == [
            entry["event"] for entry in log
        ]
    else:
        assert lines == [line["line"] for entry in log for line in entry["lines"]]
        assert len(lines) == len(SCRIPT) + 1  # and that it is done


def test_stdout_and_stderr_of_an_agent_are_separate(demo: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(demo.url)[0])
    tab.say("crash")
    tab.finish()
    inspector = Inspector(tab)
    inspector.view("stdout")
    stdout = inspector.page.get_by_role("region", name="stdout")
    expect(stdout).to_contain_text('{"type": "start"')
    inspector.view("stderr")
    stderr = inspector.page.get_by_role("region", name="stderr")
    expect(stderr).to_contain_text("RuntimeError: the demo crashed on purpose")


def test_all_of_it_can_be_done_by_the_keyboard(finished: Tab) -> None:
    inspector = Inspector(finished)
    keyboard = inspector.page.keyboard
    first, second = inspector.row("1: start"), inspector.row("status").first
    first.focus()
    keyboard.press("ArrowDown")
    expect(second).to_be_focused()
    keyboard.press("Enter")
    expect(second).to_have_attribute("aria-expanded", "true")
    keyboard.press("End")
    expect(inspector.row("done")).to_be_focused()
    keyboard.press("p")
    expect(inspector.row("done", inspector.pinned)).to_be_visible()
    keyboard.press("ArrowUp")
    expect(inspector.row("done", inspector.grid)).not_to_be_focused()
    keyboard.press("Home")
    expect(first).to_be_focused()
    expect(inspector.grid.locator("[data-row][tabindex='0']")).to_have_count(1)


HOSTILE = (
    "<img src=x onerror=alert(1)> \u202e \x1b]8;;https://example.org\x07 <script>alert(2)</script>"
)


def test_agent_output_is_text_and_limited(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(emit("custom", name="big", value=HOSTILE + "x" * 100_000)))
    tab.finish()
    inspector = Inspector(tab)
    row = inspector.row("custom").last
    row.press("Enter")
    expect(row.get_by_role("group", name="Line")).to_contain_text("<img src=x onerror=alert(1)>")
    shorter = row.inner_text()
    assert len(shorter) < 50_000
    whole = row.get_by_role("button", name="Show all")
    expect(whole).to_have_count(3)
    whole.first.click()
    expect(whole).to_have_count(2)
    expect(row.get_by_role("group", name="Line")).to_contain_text("x" * 50_000)
    inspector.view("stdout")
    stdout = inspector.page.get_by_role("region", name="stdout")
    expect(stdout).to_contain_text("<script>alert(2)</script>")
    expect(stdout.locator("img, script, a")).to_have_count(0)


def test_hidden_inspector_requests_nothing(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.say(prompt(*THOUGHT, gate.step, *ANSWER))
    tab.sees("Thought")
    assert [url for url in asked if "/api/runs/" in url or "/api/formats" in url] == []
    inspector = Inspector(tab)
    expect(inspector.row("thinking_end")).to_be_visible()
    assert [url for url in asked if "/inspect" in url]
    with tab.page.expect_event("requestfailed", lambda request: "/inspect" in request.url):
        tab.page.get_by_role("button", name="Close the side panel").click()
    asked.clear()
    gate.open()
    tab.finish()
    assert [url for url in asked if "/api/runs/" in url] == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("view", ["Events", "stdout", "stderr"])
def test_page_is_accessible(
    demo: LiveServer, watched: Watched, axe: str, size: str, view: str
) -> None:
    touch = {"has_touch": True, "is_mobile": True} if size == "mobile" else {}
    tab = Tab(watched(demo.url, viewport=SIZES[size], **touch)[0])
    tab.say("all" if view == "Events" else "crash")
    tab.finish()
    inspector = Inspector(tab, wide=size == "desktop")
    if view == "Events":
        inspector.row("1: start").press("Enter")
        inspector.row("custom").first.press("p")
        inspector.slider.fill("30")
        back = inspector.page.get_by_role("button", name="Back to now")
        expect(back.first).to_be_visible()
    else:
        inspector.view(view)
        expect(inspector.page.get_by_role("region", name=view)).to_contain_text(re.compile(r"\w"))
    assert findings(tab, axe) == []
