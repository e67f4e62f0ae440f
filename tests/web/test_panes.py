"""The code pane and the terminal of a run: live, finished, and with hostile output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LIMIT, LiveServer, live_server
from server.many_processes import LEASE, looking_often
from server.scripted_agent import Gate, Step, emit, prompt, text
from web.browser_watch import CUT_OFF, Watched
from web.chat_tab import Tab
from web.panel import Panel
from web.recorded_agents import FRAMEWORKS, write_agents

ESC = "\x1b"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with agents that play recordings."""
    folder = tmp_path_factory.mktemp("recorded")
    agents = write_agents(folder / "agents")
    with live_server(folder / "data", "--agents", agents, patience=60 * LIMIT) as server:
        yield server


def ask(tab: Tab, framework: str, recording: str) -> None:
    """Let the agent of that framework play a recording."""
    tab.page.get_by_role("button", name="Agent: ").click()
    tab.page.get_by_role("menuitemradio", name=framework).click()
    tab.say(recording)
    tab.finish()


class Recording(NamedTuple):
    """The panes' content of a recording."""

    name: str
    code: dict[str, str]
    """By its first line: its return value, or the file that it made."""
    printed: list[str]


RECORDINGS = {
    "smolagents": Recording(
        "code_planning",
        {"x = get_weather(city='Lisbon')": "", "final_answer('21C')": "21C"},
        ["» python_interpreter", "21C in Lisbon", "Finished: stop"],
    ),
    "claude": Recording(
        "codeexec", {"print(6*7)": "file_01X"}, ["» code_execution", "42", "Finished: stop"]
    ),
    "openai": Recording(
        "responses_hosted",
        {"print(1+1)": ""},
        ["» code_interpreter", "2", '» mcp.ask {"q":"x"}', "$ ls", "a.txt", "Finished: tool"],
    ),
}


def test_every_framework_has_a_recording() -> None:
    assert RECORDINGS.keys() == set(FRAMEWORKS)


@pytest.mark.parametrize("framework", RECORDINGS)
def test_a_recording(recordings: LiveServer, watched: Watched, framework: str) -> None:
    recording = RECORDINGS[framework]
    tab = Tab(watched(recordings.url)[0])
    ask(tab, framework, recording.name)
    assert_shows(Panel(tab), recording)
    tab.page.reload()
    assert_shows(Panel(tab), recording)


def assert_shows(panel: Panel, recording: Recording) -> None:
    panel.open("Code")
    expect(panel.files.get_by_role("button")).to_have_count(len(recording.code))
    for first, outcome in recording.code.items():
        panel.choose(first)
        expect(panel.code.locator(".cm-line").first).to_have_text(first)
        expect(panel.box).to_contain_text(outcome)
    panel.open("Terminal")
    expect(panel.screen.filter(has_text=recording.printed[-1])).to_be_visible()
    rows = iter(panel.rows())
    assert [line for line in recording.printed if line not in rows] == []  # in this order
    panel.as_text.check()
    expect(panel.printed).to_contain_text(recording.printed[-1])
    lines = iter(panel.printed.inner_text().splitlines())
    assert [line for line in recording.printed if line not in lines] == []
    panel.as_text.uncheck()


def shell(call: str, command: str, *printed: str) -> list[Step]:
    """A command, and its growing output, emitted repeatedly."""
    told = emit("tool_use", id=call, name="bash", input={"command": command}, kind="shell")
    sofar = ["".join(printed[: at + 1]) for at in range(len(printed))]
    partial = [emit("tool_result", tool_use_id=call, content=each, partial=True) for each in sofar]
    return [told, *partial, emit("tool_result", tool_use_id=call, content="".join(printed))]


def code(call: str, source: str) -> list[Step]:
    given = {"code": source}
    start = emit("tool_use", id=call, name="python", input=given, kind="code")
    return [start, emit("tool_result", tool_use_id=call, content="printed")]


def test_closed_panel_requests_nothing(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.say(prompt(*code("c", "print(1)"), text("Done.")))
    tab.finish()
    assert asked
    assert [url for url in asked if "/api/runs/" in url or "Panes" in url] == []
    panel = Panel(tab)
    with tab.page.expect_response(lambda response: response.status == 204):  # all was read
        panel.open("Code")
    panel.shows_code("print(1)")
    assert [url for url in asked if "/api/runs/" in url]
    panel.button.click()
    expect(panel.box).to_have_count(0)
    asked.clear()
    tab.say(prompt(text("Again.")))
    tab.finish(2)
    assert [url for url in asked if "/api/runs/" in url] == []


def test_code_is_shown_while_it_is_written(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    panel = Panel(tab).open("Code")
    expect(panel.box).to_contain_text("No messages yet")
    tab.say(
        prompt(
            emit("tool_use_start", id="c", name="python", kind="code"),
            emit("tool_use_delta", id="c", delta='{"code":"one = 1\\ntwo'),
            gate.step,
            emit("tool_use_delta", id="c", delta=' = 2\\n"}'),
            emit("tool_use_end", id="c", input={"code": "one = 1\ntwo = 2\n"}),
        )
    )
    panel.shows_code("one = 1", "two")
    expect(panel.files).to_contain_text("writing…")
    gate.open()
    panel.shows_code("one = 1", "two = 2")
    tab.finish()
    expect(panel.files).not_to_contain_text("writing…")


def test_the_newest_code_is_followed_until_one_is_chosen(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    panel = Panel(tab).open("Code")
    third, fourth = code("c", "third = 3"), code("d", "fourth = 4")
    first, second = code("a", "first = 1"), code("b", "second = 2")
    tab.say(prompt(*first, gate.step, *second, gate.step, *third, gate.step, *fourth))
    panel.shows_code("first = 1")
    gate.open()
    panel.shows_code("second = 2")
    panel.choose("first")
    gate.open()
    expect(panel.files.get_by_role("button")).to_have_count(3)
    panel.shows_code("first = 1")
    panel.box.get_by_role("button", name="Follow latest").click()
    panel.shows_code("third = 3")
    gate.open()
    tab.finish()
    panel.shows_code("fourth = 4")


def test_code_in_a_text_is_marked_as_a_copy(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(text("So:\n\n```python\nprint('hello')\n```\n")))
    tab.finish()
    panel = Panel(tab).open("Code")
    panel.shows_code("print('hello')")
    expect(panel.files).to_contain_text("quoted, not run")


def test_a_number_stands_beside_its_line(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(*code("c", "one = 1\ntwo = 2")))
    tab.finish()
    panel = Panel(tab).open("Code")
    panel.shows_code("one = 1", "two = 2")
    line = panel.code.locator(".cm-line").last
    number = panel.box.locator(".cm-gutterElement").filter(has_text="2")
    height = line.evaluate("(line) => getComputedStyle(line).height")
    expect(number).to_have_css("height", height)
    assert top(number) == top(line)


def top(element: Locator) -> float:
    box = element.bounding_box()
    assert box is not None
    return box["y"]


def test_printed_output_arrives_live(server: LiveServer, watched: Watched, gate: Gate) -> None:
    tab = Tab(watched(server.url)[0])
    panel = Panel(tab).open("Terminal")
    *begun, last, end = shell("s", "make", "one\n", "two\n", "three\n")
    tab.say(prompt(*begun, gate.step, last, end))
    panel.shows("$ make", "one", "two")
    gate.open()
    panel.shows("$ make", "one", "two", "three", "Finished: stop")
    tab.finish()


def test_an_error_can_be_seen(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    failed = emit("tool_result", tool_use_id="s", content="No such file", is_error=True)
    tab.say(prompt(shell("s", "cat x")[0], failed, emit("error", message="I give up.")))
    tab.finish()
    Panel(tab).open("Terminal").shows(
        "$ cat x", "✗ Error: No such file", "✗ Error: I give up.", "Finished: error"
    )


def test_a_bar_that_is_wider_than_the_screen_leaves_nothing_behind(
    server: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(server.url)[0])
    bars = [f"\rLoading {'#' * done}{'.' * (120 - done)} {done}/120" for done in range(0, 121, 5)]
    wide = "".join(f"{number:010}" for number in range(40))
    tab.say(prompt(*shell("s", "load", *bars, "\nend\n"), *shell("t", "wide", wide)))
    tab.finish()
    panel = Panel(tab).open("Terminal")
    expect(panel.screen.filter(has_text="Finished: stop")).to_be_visible()
    told = "".join(panel.rows())
    assert told.endswith(f"$ loadLoading {'#' * 120} 120/120end$ wide{wide}Finished: stop")


HARMFUL = (
    f"before {ESC}]8;;https://evil.example/{ESC}\\click me{ESC}]8;;{ESC}\\ "
    f"{ESC}]52;c;b3duZWQ={ESC}\\{ESC}]0;owned\x07{ESC}]2;owned\x07"
    f"{ESC}[?2004h{ESC}[200~paste{ESC}[201~ "
    f"{ESC}[6n{ESC}[c{ESC}[>c{ESC}Z{ESC}[21t{ESC}]10;?\x07{ESC}P$qm{ESC}\\"
    f"{ESC}[?1000h{ESC}[?1003h{ESC}[?1004h{ESC}[?1049h{ESC}[2J{ESC}[3J{ESC}[H{ESC}c"
    f"{ESC}[8mhidden{ESC}[0m{ESC}[9A after\x07\n"
)
STATE = """
async () => [document.title, location.href, await navigator.clipboard.readText(),
  document.querySelectorAll("#side-panel a, #side-panel :enabled:is(textarea, [type=text])").length]
"""


def test_printed_output_is_read_only(server: LiveServer, watched: Watched) -> None:
    context, _ = watched(server.url, permissions=["clipboard-read", "clipboard-write"])
    tab = Tab(context)
    opened: list[object] = []
    tab.say(prompt(*shell("s", "evil", HARMFUL), *shell("t", "echo ok", "ok\n")))
    tab.finish()
    tab.page.evaluate("navigator.clipboard.writeText('mine')")
    title = tab.page.title()
    panel = Panel(tab).open("Terminal")
    context.on("page", lambda page: opened.append(page))
    sent: list[str] = []
    tab.page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    panel.shows("$ evil", "before click me paste hidden after", "$ echo ok", "ok", "Finished: stop")
    assert panel.rows()[0] == "$ evil"  # nothing was cleared
    row = panel.screen.filter(has_text="click me")
    row.click(position={"x": 80, "y": 5}, force=True)
    row.click(position={"x": 80, "y": 5}, force=True, modifiers=["ControlOrMeta"])
    tab.page.keyboard.type("typed")
    assert tab.page.evaluate(STATE) == [title, tab.page.url, "mine", 0]
    assert "owned" not in title
    expect(tab.composer).to_have_value("")
    assert panel.rows()[-1] == "Finished: stop"
    assert opened == []
    assert [each for each in sent if not each.startswith("GET ")] == []
    panel.as_text.check()
    expect(panel.printed).to_contain_text("before click me paste hidden after")


COPIED = """
async () => {
  for (let tries = 0; tries < 600; tries++) {
    const copied = await navigator.clipboard.readText();
    if (copied) return copied;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return "nothing";
}
"""


def test_all_output_can_be_copied(server: LiveServer, watched: Watched) -> None:
    context, _ = watched(server.url, permissions=["clipboard-read", "clipboard-write"])
    tab = Tab(context)
    tab.say(prompt(*shell("s", "ls", f"{ESC}[32ma{ESC}[0m\nb\n")))
    tab.finish()
    panel = Panel(tab).open("Terminal")
    panel.shows("$ ls", "a", "b", "Finished: stop")
    panel.box.get_by_role("button", name="Copy all output").click()
    copied: str = tab.page.evaluate(COPIED)
    assert copied.endswith("$ ls\na\nb\nFinished: stop")


def test_a_run_goes_on_where_the_connection_was_lost(
    agents: Path, watched: Watched, gate: Gate, port: int, tmp_path: Path
) -> None:
    flags = ("--agents", agents, "--port", str(port), *LEASE)
    often = looking_often(tmp_path)
    printed = ("$ make", "one", "two")
    with live_server(tmp_path / "data", *flags, PYTHONPATH=often) as server:
        context, watch = watched(server.url)
        watch.expect(CUT_OFF)
        tab = Tab(context)
        panel = Panel(tab).open("Terminal")
        tab.say(prompt(*shell("s", "make", "one\n", "two\n"), gate.step))
        panel.shows(*printed)
        gate.wait()
        server.kill()
        expect(panel.box.get_by_text("Reconnecting")).to_be_visible()
        panel.shows(*printed)
    with live_server(tmp_path / "data", *flags, PYTHONPATH=often):
        expect(panel.screen.filter(has_text="Finished: ")).to_be_visible()
        expect(panel.box.get_by_text("Reconnecting")).to_have_count(0)
        at = panel.rows().index("$ make")
        assert panel.rows()[at : at + 3] == list(printed)
        assert panel.rows().count("one") == 1


def test_a_run_that_is_not_there_any_more(
    server: LiveServer, watched: Watched, http: httpx.Client
) -> None:
    context, watch = watched(server.url)
    watch.expect(r"4(04|10)")
    tab = Tab(context)
    tab.say(prompt(text("Here I am.")))
    tab.finish()
    panel = Panel(tab).open("Code")
    expect(panel.box).to_contain_text("Quoted code is in the answer.")
    panel.button.click()
    assert http.delete(f"{server.url}/api/chats/{tab.chat}").is_success
    panel.open("Terminal")
    expect(panel.box).to_contain_text("Run not found")


def test_answer_without_tools_has_empty_panes(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(text("Nothing to do.")))
    tab.finish()
    panel = Panel(tab).open("Code")
    expect(panel.box).to_contain_text("Quoted code is in the answer.")
    panel.open("Terminal").shows("Finished: stop")
