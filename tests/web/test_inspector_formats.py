"""The inspector shows a run in any format: its rows have exactly the frames that were sent."""

from __future__ import annotations

import json
import re
from typing import Final

import httpx
from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import emit, pieces, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.inspector_tab import Inspector, log_of, run_of

FORMAT = re.compile(r"^Protocol ")
TIMES = "\N{MULTIPLICATION SIGN}"
NAMES: Final = {
    "ai-sdk": "AI SDK",
    "ag-ui": "AG-UI",
    "agent-event": "agent:event",
    "panes": "Panes",
    "canonical": "Raw log",
}
NOTE_LIES = """() => {
  window.lies = [];
  const look = () => {
    const row = document.querySelector("[aria-label$=': text_delta']");
    if (row?.textContent.includes("nothing is sent")) window.lies.push(row.textContent);
  };
  new MutationObserver(look).observe(document.body, {
    subtree: true, childList: true, characterData: true,
  });
}"""
"""Each format has frames for a delta: notes any row that ever shows none, however briefly."""


def answered(server: LiveServer, watched: Watched) -> Tab:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*pieces("text", "answer", [*"abcdefgh"])))
    tab.finish()
    return tab


def test_every_format_and_profile_can_be_chosen(
    server: LiveServer, http: httpx.Client, watched: Watched
) -> None:
    tab = answered(server, watched)
    inspector = Inspector(tab, wide=True)
    row = inspector.row("text_delta")
    expect(row).to_contain_text(f"text-delta {TIMES} 8")
    tab.page.evaluate(NOTE_LIES)
    run = run_of(http, server, tab)
    formats = http.get(f"{server.url}/api/formats").json()["formats"]
    for format_ in formats:
        inspector.choose(FORMAT, NAMES[format_["name"]])
        for profile in format_["profiles"]:
            if len(format_["profiles"]) > 1:
                inspector.choose(FORMAT, profile)
            head = inspector.grid.get_by_role("columnheader", name="Frames")
            expect(head).to_contain_text(f"sent as {NAMES[format_['name']]} {profile}")
            asked = f"{format_['name']}:{profile}"
            log = log_of(http, server, run, asked)
            deltas = [entry for entry in log if entry["event"]["type"] == "text_delta"]
            [frame] = deltas[0]["frames"][asked]
            about = frame.get("type") or frame.get("metadata", {}).get("component") or "seq"
            expect(row).to_contain_text(f"{about} {TIMES} 8")
    assert tab.page.evaluate("window.lies") == []


def test_run_unreadable_in_another_format_is_shown_as_read(
    server: LiveServer, watched: Watched
) -> None:
    context, watch = watched(server.url)
    watch.expect("400")
    tab = Tab(context)
    tab.say(prompt(*pieces("text", "answer", [*"abcdefgh"])))
    tab.finish()
    inspector = Inspector(tab, wide=True)
    row = inspector.row("text_delta")
    expect(row).to_contain_text(f"text-delta {TIMES} 8")
    tab.page.evaluate(NOTE_LIES)
    refusal = json.dumps({"error": {"code": "unknown_profile", "message": "no such profile"}})
    in_ag_ui = re.compile(r"/inspect\?.*ag-ui")
    tab.page.route(in_ag_ui, lambda route: route.fulfill(status=400, body=refusal))
    inspector.choose(FORMAT, NAMES["ag-ui"])
    problem = tab.page.get_by_role("alert").filter(has_text="no such profile")
    expect(problem).to_be_visible()
    head = inspector.grid.get_by_role("columnheader", name="Frames")
    expect(head).to_contain_text("sent as AI SDK page")
    expect(row).to_contain_text(f"text-delta {TIMES} 8")
    tab.page.unroute(in_ag_ui)
    problem.get_by_role("button", name="Retry").click()
    expect(head).to_contain_text("sent as AG-UI 1.0")
    expect(problem).to_have_count(0)
    assert tab.page.evaluate("window.lies") == []


def test_a_pause_has_what_ended_the_response_and_is_replayed_with_its_question(
    server: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(server.url)[0])
    call = emit("tool_use", id="call", name="delete_all", input={"path": "/everything"})
    tab.say(prompt(text("Shall I?"), call, ["approve", "call", [text("Gone.")], []]))
    approve = tab.page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_visible()
    inspector = Inspector(tab, wide=True)
    inspector.shows("Waiting for you")
    paused = inspector.row("paused")
    expect(paused).to_contain_text("ends here")
    expect(paused).to_contain_text("tool-approval-request")
    approve.click()
    inspector.shows("Finished")
    tab.finish()
    tab.sees("Gone.")
    expect(paused).to_contain_text("tool-approval-request")
    place = int(str(paused.get_attribute("aria-label")).split()[1].rstrip(":"))
    inspector.slider.fill(str(place))
    answer = tab.answers.last
    expect(answer).to_contain_text("Replay")
    expect(answer).not_to_contain_text("Gone.")
    expect(answer).to_contain_text("May I?")
