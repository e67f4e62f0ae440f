"""Files in the side panel: those of messages, and those that an agent made."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, emit, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.panel import Panel
from web.test_accessible import SIZES, findings

PAGE = """<h1>A page</h1><p id=p>as it was</p>
<script>document.getElementById("p").textContent = "a script ran"</script>
<img src="https://evil.example/p.png"><link rel=stylesheet href="https://evil.example/x.css">
<a href="https://evil.example/" target=_top>out</a>"""
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]"
    b"/Count 1>>endobj 3 0 obj<</Type/Page/MediaBox[0 0 300 144]/Parent 2 0 R>>endobj\n"
    b"trailer<</Root 1 0 R>>"
)
MADE: list[Step] = [
    ["write", "report.md", "# The report\n\nIt has **words** and $x^2$."],
    ["write", "page.html", PAGE],
    ["write", "data/table.csv", 'name,p95\n"gate, way",312\n'],
    ["write", "run.py", "import os\nprint(os.getcwd())\n"],
    ["write", "odd.bin", "\0\1"],
    ["write", ".secret", "hidden"],
    text("I made some files."),
]
TABLE = base64.b64encode(b"a,b\n1,two").decode()
GIVEN: list[Step] = [
    emit("file", media_type="text/csv", base64=TABLE, name="a.csv"),
    emit("file", media_type="application/pdf", base64=base64.b64encode(PDF).decode(), name="a.pdf"),
]


def show(server: LiveServer, watched: Watched, size: str, *steps: Step) -> tuple[Tab, Panel]:
    touch: dict[str, Any] = {"has_touch": True, "is_mobile": True} if size == "mobile" else {}
    tab = Tab(watched(server.url, viewport=SIZES[size], **touch)[0])
    tab.say(prompt(*steps))
    tab.finish()
    return tab, Panel(tab)


def rows(panel: Panel) -> list[str]:
    return panel.box.locator("li bdi").all_inner_texts()


@pytest.mark.parametrize("size", SIZES)
def test_files_of_an_agent_are_listed_and_shown(
    server: LiveServer, watched: Watched, axe: str, size: str
) -> None:
    tab, panel = show(server, watched, size, *MADE)
    tab.answers.last.get_by_role("button", name="and 2 more").press("Enter")
    expect(panel.box.get_by_text("5 files")).to_be_visible()
    assert {*rows(panel)} == {"report.md", "page.html", "data/table.csv", "run.py", "odd.bin"}
    assert findings(tab, axe) == []

    def look(name: str) -> None:
        panel.box.get_by_role("button", name=name).first.click()
        expect(panel.box.get_by_role("heading", name=name)).to_be_focused()

    def leave() -> None:
        assert findings(tab, axe) == []
        panel.box.get_by_role("button", name="All files").click()

    look("report.md")
    expect(panel.box.get_by_role("heading", name="The report")).to_be_visible()
    expect(panel.box.locator(".katex")).to_have_count(1)
    leave()
    look("data/table.csv")
    expect(panel.box.get_by_role("cell", name="gate, way")).to_be_visible()
    leave()
    look("run.py")
    expect(panel.box.locator(".code-line")).to_have_count(2)
    leave()
    look("odd.bin")
    expect(panel.box.get_by_text("No preview for this kind of file.")).to_be_visible()
    leave()
    expect(panel.box.get_by_text("5 files")).to_be_visible()


def test_a_page_of_an_agent_runs_nothing_and_loads_nothing(
    server: LiveServer, watched: Watched
) -> None:
    context, watch = watched(server.url)
    watch.expect("Blocked script execution in 'about:srcdoc'")
    watch.expect("evil.example/(?:p.png|x.css)' violates")
    watch.expect("policy: ")
    tab = Tab(context)
    tab.say(prompt(*MADE))
    tab.finish()
    panel = Panel(tab).open("Files")
    panel.box.get_by_role("button", name="page.html").first.click()
    frame = panel.box.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="A page")).to_be_visible()
    expect(frame.locator("#p")).to_have_text("as it was")
    assert panel.box.locator("iframe").get_attribute("sandbox") == ""
    origin = tab.page.frames[-1].evaluate("self.origin")
    assert origin == "null"


@pytest.mark.parametrize("size", SIZES)
def test_files_of_a_message_are_shown(
    server: LiveServer, watched: Watched, axe: str, size: str
) -> None:
    tab, panel = show(server, watched, size, *GIVEN)
    assert findings(tab, axe) == []
    tab.log.get_by_role("button", name="Preview a.csv").click()
    expect(panel.box.get_by_role("cell", name="two")).to_be_visible()
    assert findings(tab, axe) == []


def test_a_pdf_is_shown_by_the_browser(server: LiveServer, watched: Watched) -> None:
    context, watch = watched(server.url)
    watch.expect("request: GET chrome")  # the browser's own viewer
    tab = Tab(context)
    panel = Panel(tab)
    tab.say(prompt(*GIVEN))
    tab.finish()
    tab.log.get_by_role("button", name="Preview a.pdf").click()
    frame = panel.box.get_by_title("Content of a.pdf")
    expect(frame.or_(panel.box.get_by_text("No preview"))).to_be_visible()
    if tab.page.evaluate("navigator.pdfViewerEnabled"):
        assert (frame.get_attribute("src") or "").startswith("blob:")


def test_a_file_is_saved(server: LiveServer, watched: Watched) -> None:
    tab, panel = show(server, watched, "desktop", *MADE)
    panel.open("Files")
    with tab.page.expect_download() as saving:
        panel.box.get_by_role("button", name="Download data/table.csv").click()
    assert saving.value.suggested_filename == "table.csv"
    assert saving.value.path().read_text() == 'name,p95\n"gate, way",312\n'


def test_files_appear_while_the_agent_works(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    tab = Tab(watched(server.url)[0])
    more: Step = ["write", "second.txt", "2"]
    tab.say(prompt(text("One."), ["write", "first.txt", "1"], gate.step, more, gate.step))
    tab.sees("One.")
    gate.wait()
    panel = Panel(tab).open("Files")
    expect(panel.box.get_by_text("1 file")).to_be_visible()
    gate.open()
    gate.wait()
    expect(panel.box.get_by_text("2 files")).to_be_visible()
    gate.open()
    tab.finish()


def test_another_chat_has_its_own_files(server: LiveServer, watched: Watched) -> None:
    tab, panel = show(server, watched, "desktop", *MADE)
    panel.open("Files")
    panel.box.get_by_role("button", name="report.md").first.click()
    expect(panel.box.get_by_role("heading", name="The report")).to_be_visible()
    tab.page.get_by_role("button", name="New chat").first.click()
    expect(panel.box.get_by_text("No messages yet")).to_be_visible()
    tab.say(prompt(text("Nothing.")))
    tab.finish()
    expect(panel.box.get_by_text("No files yet")).to_be_visible()
