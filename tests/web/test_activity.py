"""The answer first: work is one quiet line, which opens to its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, emit, prompt, text, tool
from web.browser_watch import Watched
from web.chat_tab import Tab, assert_shows_what_is_stored
from web.protocol_tabs import Speak
from web.test_accessible import SIZES, findings

PLAN = [
    {"content": "Look around", "status": "completed"},
    {"content": "Write the report", "status": "in_progress"},
    {"content": "Check it", "status": "pending"},
]
FOUND = [{"title": "On pumps", "url": "https://example.org/pumps", "content": "They pump."}]


def search(name: str, query: str) -> list[Step]:
    return [
        emit("tool_use", id=name, name="internet_search", input={"query": query}, kind="search"),
        emit("tool_result", tool_use_id=name, content=FOUND),
    ]


RESEARCH: list[Step] = [
    emit("status", message="Reading the question"),
    emit("thinking_delta", id="h", delta="I should search twice."),
    emit("thinking_end", id="h"),
    *search("s1", "heat pumps"),
    *search("s2", "cold winters"),
    emit("tool_use", id="b", name="bash", input={"command": "ls /nowhere"}, kind="shell"),
    emit("tool_result", tool_use_id="b", content="No such folder", is_error=True),
    emit("tool_use", id="e", name="Edit", input={"file_path": "a.md", "old_string": "cold",
                                                   "new_string": "warm"}),
    emit("tool_result", tool_use_id="e", content="Edited"),
]  # fmt: skip
DONE = "2 searches · 1 command · 1 edit · 1 failed"


def line(tab: Tab) -> Locator:
    return tab.answers.last.get_by_role("button", name="Work")


def show_every_step(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Settings").click()
    tab.page.get_by_role("menuitemcheckbox", name="Show every step").click()
    tab.page.keyboard.press("Escape")


def test_work_before_an_answer_is_one_line_that_opens(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*RESEARCH, text("The answer.")))
    tab.finish()
    expect(line(tab)).to_have_count(1)
    expect(line(tab)).to_contain_text(DONE)
    expect(line(tab)).to_contain_text("Worked for ")
    expect(tab.answers.last).not_to_contain_text("I should search twice.")
    line(tab).press("Enter")
    for step in ("Processed in", "Thought for", "Internet search", "Bash", "Edit"):
        expect(tab.answers.last.get_by_role("button", name=step).first).to_be_visible()
    tab.answers.last.get_by_role("button", name="heat pumps").click()
    link = tab.answers.last.get_by_role("link", name="On pumps")
    expect(link).to_have_attribute("href", "https://example.org/pumps")
    assert_shows_what_is_stored(tab, server)


def test_first_word_of_the_answer_is_above_the_fold(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    more = [step for n in range(9) for step in search(f"m{n}", f"query {n}")]
    tab.say(prompt(*RESEARCH, *more, text("First words of the answer.")))
    tab.finish()
    above = line(tab).bounding_box()
    words = tab.page.get_by_text("First words of the answer.", exact=True).bounding_box()
    assert above is not None
    assert words is not None
    assert words["y"] - above["y"] < 60


@pytest.mark.parametrize("protocol", ["ai-sdk", "ag-ui", "socket-io"])
def test_line_is_the_same_in_every_protocol(
    speak: Speak, server: LiveServer, protocol: str
) -> None:
    speaking = speak(protocol)
    tab = Tab(speaking.context)
    tab.say(prompt(*RESEARCH, text("The answer.")))
    tab.finish()
    label = line(tab).inner_text()
    assert DONE in label
    tab.page.reload()
    expect(line(tab)).to_have_text(label)


def test_live_line_says_what_goes_on(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    asked = emit("tool_use", id="s3", name="internet_search", input={"query": "snow"})
    thought = emit("thinking_delta", id="z", delta="Almost there.")
    tab.say(prompt(*RESEARCH, asked, gate.step, emit("tool_result", tool_use_id="s3", content="-"),
                   thought, gate.step, text("The answer.")))  # fmt: skip
    gate.wait()
    running = tab.answers.last.get_by_role("button", name="Searching: snow")
    expect(running).to_have_attribute("aria-expanded", "false")
    gate.open()
    gate.wait()
    expect(tab.answers.last.get_by_role("button", name="Thinking…")).to_be_visible()
    tab.sees("Almost there.")
    gate.open()
    tab.finish()
    expect(line(tab)).to_contain_text("3 searches")
    expect(tab.answers.last).not_to_contain_text("Almost there.")


def test_few_blocks_are_not_grouped(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*RESEARCH[:3], text("The answer.")))
    tab.finish()
    expect(line(tab)).to_have_count(0)
    expect(tab.answers.last.get_by_role("button", name="Processed in")).to_be_visible()
    expect(tab.answers.last.get_by_role("button", name="Thought for")).to_be_visible()


def test_an_approval_is_never_behind_the_line(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    call = emit("tool_use", id="call", name="delete_all", input={"path": "/everything"})
    tab.say(prompt(*RESEARCH, call, ["approve", "call", [], []], text("Gone.")))
    approve = tab.page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_visible()
    expect(line(tab)).to_contain_text(DONE)
    approve.click()
    tab.finish()
    assert_shows_what_is_stored(tab, server)


@pytest.mark.parametrize("ending", ["failed", "stopped"])
def test_no_tick_above_an_error_or_a_stop(
    server: LiveServer, watched: Watched, gate: Gate, ending: str
) -> None:
    tab = Tab(watched(server.url)[0])
    last = emit("error", message="No more milk.") if ending == "failed" else gate.step
    tab.say(prompt(*RESEARCH, emit("status", message="One more thing"), last))
    if ending == "stopped":
        gate.wait()
        tab.stop.click()
        tab.sees("You stopped this answer.")
    else:
        tab.sees("No more milk.")
    tab.finish()
    expect(line(tab)).to_contain_text(DONE)
    line(tab).click()
    expect(tab.answers.last.locator("svg.lucide-check")).to_have_count(0)
    show_every_step(tab)
    expect(tab.answers.last.get_by_role("button", name="Processed").first).to_be_visible()
    ticks = tab.answers.last.get_by_role("button", name="Processed").locator("svg.lucide-check")
    expect(ticks).to_have_count(0)


def test_plan_stays_in_sight_while_it_is_worked_off(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url, viewport={"width": 390, "height": 844})[0])
    long = text("\n\n".join(f"Paragraph {n} of many." for n in range(40)))
    tab.say(prompt(emit("todo_create", items=PLAN), *RESEARCH, long, gate.step, text("Done.")))
    gate.wait()
    plan = tab.answers.last.get_by_role("button", name="Plan")
    expect(plan).to_contain_text("Write the report")
    expect(plan).to_contain_text("1 of 3 done")
    expect(plan).to_be_in_viewport()
    box = plan.bounding_box()
    assert box is not None
    assert box["height"] <= 60
    gate.open()
    tab.finish()
    expect(line(tab)).to_be_visible()
    expect(tab.answers.last).not_to_contain_text("steps done: Write the report")
    assert_shows_what_is_stored(tab, server)


def test_words_of_a_subagent_are_its_report(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    within = {"id": "r", "scope": ["sub"]}
    tab.say(prompt(
        emit("subagent_start", agent="researcher", task="Look", id="sub"),
        emit("text_delta", **within, delta="It pumps **heat**."),
        emit("text_end", **within),
        emit("subagent_complete", agent="researcher", summary="Found it", id="sub"),
        text("The answer."),
    ))  # fmt: skip
    tab.finish()
    tab.answers.last.get_by_role("button", name="researcher").click()
    expect(tab.answers.last.locator("strong", has_text="heat")).to_be_visible()
    expect(tab.answers.last.get_by_role("button", name="Thought")).to_have_count(0)


def test_hand_off_names_who_took_over(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*tool("h", "transfer_to_specialist", {}), text("Hello from the specialist.")))
    tab.finish()
    row = tab.answers.last.get_by_role("button", name="Specialist took over")
    row.click()
    expect(tab.answers.last.get_by_text("transfer_to_specialist", exact=True)).to_be_visible()


def test_every_step_is_a_setting(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(emit("todo_create", items=PLAN), *RESEARCH, text("The answer.")))
    tab.finish()
    expect(line(tab)).to_have_count(1)
    show_every_step(tab)
    expect(line(tab)).to_have_count(0)
    expect(tab.answers.last.get_by_role("progressbar", name="3 steps")).to_be_visible()
    expect(tab.answers.last.get_by_role("button", name="Used 4 tools")).to_be_visible()
    tab.page.reload()
    expect(tab.answers.last.get_by_role("button", name="Used 4 tools")).to_be_visible()
    assert_shows_what_is_stored(tab, server)


def test_a_click_wins_for_ever(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*RESEARCH, gate.step, *search("s3", "snow"), text("The answer.")))
    gate.wait()
    line(tab).click()
    expect(line(tab)).to_have_attribute("aria-expanded", "true")
    gate.open()
    tab.finish()
    expect(line(tab)).to_have_attribute("aria-expanded", "true")
    tab.page.reload()
    expect(line(tab)).to_have_attribute("aria-expanded", "true")


def test_crash_card_leads_to_stderr(demo: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(demo.url)[0])
    tab.say("crash")
    tab.finish()
    card = tab.answers.last.get_by_role("alert")
    expect(card).to_contain_text("The agent crashed")
    expect(card).to_contain_text("RuntimeError: the demo crashed on purpose")
    expect(card).to_contain_text("Code: crashed")
    expect(card.get_by_role("button", name="Retry")).to_be_visible()
    card.get_by_role("button", name="Show stderr").click()
    panel = tab.page.get_by_role("complementary", name="Side panel")
    expect(panel.get_by_role("tab", name="stderr")).to_have_attribute("aria-selected", "true")
    expect(panel).to_contain_text("Traceback (most recent call last)")


def work(tab: Tab) -> None:
    line(tab).click()


def all_open(tab: Tab) -> None:
    line(tab).click()
    for name in ("heat pumps", "ls /nowhere", "a.md", "Thought for"):
        tab.answers.last.get_by_role("button", name=name).click()


STATES: dict[str, Callable[[Tab], Any]] = {
    "closed": lambda tab: None,
    "open": work,
    "all open": all_open,
}


@pytest.mark.parametrize("size", [*SIZES, "narrow"])
@pytest.mark.parametrize("state", STATES)
def test_is_accessible(
    server: LiveServer, watched: Watched, axe: str, size: str, state: str
) -> None:
    viewport = {**SIZES, "narrow": {"width": 320, "height": 640}}[size]
    tab = Tab(watched(server.url, viewport=viewport)[0])
    tab.say(prompt(emit("todo_create", items=PLAN), *RESEARCH, text("The answer.")))
    tab.finish()
    STATES[state](tab)
    assert findings(tab, axe) == []


@pytest.mark.parametrize("size", SIZES)
def test_is_accessible_while_it_works(
    server: LiveServer, watched: Watched, axe: str, gate: Gate, size: str
) -> None:
    tab = Tab(watched(server.url, viewport=SIZES[size])[0])
    asked = emit("tool_use", id="s3", name="internet_search", input={"query": "snow"})
    tab.say(prompt(emit("todo_create", items=PLAN), *RESEARCH, asked, gate.step))
    gate.wait()
    expect(tab.answers.last.get_by_role("button", name="Searching: snow")).to_be_visible()
    assert findings(tab, axe) == []
    gate.open()
    tab.finish()
