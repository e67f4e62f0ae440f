"""The page is accessible: WCAG 2.2 AA as far as axe checks it, on any screen, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, emit, pieces, prompt, text, tool
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.panel import Panel
from web.transcript_check import shown

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = """
async (rules) => {
  const { violations } = await axe.run(document, { runOnly: { type: "tag", values: rules } });
  return violations.map(({ id, help, nodes }) =>
    `${id}: ${help}: ${nodes.map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`);
}
"""
SIZES = {"desktop": {"width": 1440, "height": 900}, "mobile": {"width": 390, "height": 844}}

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

State = Callable[[Tab, Gate], None]
OpenTab = Callable[..., Tab]


def empty(tab: Tab, gate: Gate) -> None:
    """An empty chat."""


def streaming(tab: Tab, gate: Gate) -> None:
    plan = [
        {"content": "Look", "status": "completed"},
        {"content": "Tell", "status": "in_progress"},
    ]
    script: list[Step] = [
        emit("status", message="Setting up"),
        *tool("call", "read_file", {"path": "/tmp/x"}),
        emit("todo_create", items=plan),
        *pieces("text", "t", ["So", "far", "there", "is", "**this**"]),
        emit("thinking_delta", id="thought", delta="And now I think about the rest of it."),
        gate.step,
    ]
    tab.say(prompt(*script))
    tab.sees("think about the rest")
    gate.wait()


def asking(tab: Tab, gate: Gate) -> None:
    call = emit("tool_use", id="call", name="delete_all", input={"path": "/everything"})
    tab.say(prompt(text("Shall I?"), call, ["approve", "call", [], []]))
    expect(tab.page.get_by_role("button", name="Approve", exact=True)).to_be_visible()


def allowing(tab: Tab, gate: Gate) -> None:
    asking(tab, gate)
    tab.page.get_by_role("button", name="Allow for this chat").click()
    expect(tab.page.get_by_role("menu")).to_be_visible()


def permissions(tab: Tab, gate: Gate) -> None:
    for number, scope in enumerate(("any input", "this input only"), 1):
        asked = emit("tool_use", id="call", name=f"tool_{number}", input={"path": "/everything"})
        tab.say(prompt(asked, ["approve", "call", [], []]))
        tab.page.get_by_role("button", name="Allow for this chat").click()
        tab.page.get_by_role("menuitem", name=scope).click()
        tab.finish(number)
    tab.page.get_by_role("button", name="Chat options").click()
    tab.page.get_by_role("menuitem", name="Permissions").click()
    expect(tab.page.get_by_role("button", name="Revoke tool_2")).to_be_visible()


def deciding(tab: Tab, gate: Gate) -> None:
    call = emit("tool_use", id="call", name="delete_all", input={"path": "/everything"})
    allowed = ["approve", "edit", "reject", "respond"]
    tab.say(prompt(text("Shall I?"), call, ["decide", "call", allowed]))
    expect(tab.page.get_by_role("button", name="Respond…")).to_be_visible()


def _opening(control: str, field: str) -> State:
    def opening(tab: Tab, gate: Gate) -> None:
        deciding(tab, gate)
        tab.page.get_by_role("button", name=control).click()
        expect(tab.page.get_by_label(field)).to_be_focused()

    return opening


def mistaken(tab: Tab, gate: Gate) -> None:
    _opening("Edit…", "Tool input as JSON")(tab, gate)
    tab.page.get_by_label("Tool input as JSON").fill("{")
    tab.page.get_by_role("button", name="Approve with changes").click()
    expect(tab.page.get_by_role("alert")).to_contain_text("Invalid JSON: ")


def failed(tab: Tab, gate: Gate) -> None:
    tab.say(prompt(text("This goes wrong."), emit("error", message="No more milk.")))
    expect(tab.page.get_by_role("alert")).to_be_visible()
    tab.finish()


def about(tab: Tab, gate: Gate) -> None:
    failed(tab, gate)
    tab.page.get_by_role("button", name="Chat options").click()
    expect(tab.page.get_by_role("menu")).to_be_visible()


STATES: dict[str, State] = {
    **{
        state.__name__: state
        for state in (
            empty,
            streaming,
            asking,
            allowing,
            permissions,
            deciding,
            mistaken,
            failed,
            about,
        )
    },
    "responding": _opening("Respond…", "Your response"),
    "giving a reason": _opening("Deny with a reason…", "Reason for denying"),
}


def findings(tab: Tab, axe: str) -> list[str]:
    """The violations of the page in each theme, once all animations have ended."""
    tab.page.evaluate(axe)
    return [f"{theme}: {each}" for theme in THEMES for each in findings_in(tab, theme)]


def findings_in(tab: Tab, theme: Theme) -> list[str]:
    page = tab.page
    page.emulate_media(color_scheme=theme)
    expect(page.locator("html.dark")).to_have_count(int(theme == "dark"))
    tab.settle()
    found: list[str] = page.evaluate(RUN, RULES)
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("the page scrolls sideways")
    return found


@pytest.fixture
def open_tab(watched: Watched) -> OpenTab:
    """Opens a tab with these settings."""

    def open_tab(server: LiveServer, size: str, chat: str = "") -> Tab:
        touch: dict[str, Any] = {"has_touch": True, "is_mobile": True} if size == "mobile" else {}
        context, _ = watched(server.url, viewport=SIZES[size], **touch)
        return Tab(context, chat)

    return open_tab


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("state", STATES)
def test_a_state_of_the_chat(
    server: LiveServer, open_tab: OpenTab, axe: str, gate: Gate, state: str, size: str
) -> None:
    tab = open_tab(server, size)
    STATES[state](tab, gate)
    assert findings(tab, axe) == []


@pytest.mark.parametrize("size", SIZES)
def test_all_that_an_answer_can_be_made_of(
    demo: LiveServer, open_tab: OpenTab, axe: str, size: str
) -> None:
    tab = open_tab(demo, size)
    tab.say("all")
    tab.finish()
    assert findings(tab, axe) == []
    shown(tab.messages)
    assert findings(tab, axe) == []


WORKED: list[Step] = [
    emit("tool_use", id="c", name="python", input={"code": "# π\nprint('3.14')"}, kind="code"),
    emit("tool_result", tool_use_id="c", content="3.14\n", structured={"value": 3.14}),
    emit("tool_use", id="s", name="bash", input={"command": "ls"}, kind="shell"),
    emit("tool_result", tool_use_id="s", content="\x1b[32mgreen\x1b[0m \x1b[90mgrey\x1b[0m\n"),
    emit("tool_use", id="t", name="search", input={"q": "milk"}),
    emit("tool_result", tool_use_id="t", content="No milk", is_error=True),
    text("So:\n\n```python\nprint('done')\n```\n"),
]


def code_pane(panel: Panel) -> None:
    panel.open("Code").choose("# π")
    panel.shows_code("# π", "print('3.14')")


def terminal_pane(panel: Panel) -> None:
    panel.open("Terminal").shows("✗ Error: No milk", "Finished: stop")


def printed_pane(panel: Panel) -> None:
    panel.open("Terminal").as_text.check()
    expect(panel.printed).to_contain_text("Finished: stop")


def inspector_pane(panel: Panel) -> None:
    panel.open("Inspector").box.get_by_role("tab", name="Events").click()
    grid = panel.box.get_by_role("treegrid", name="Events")
    expect(grid.get_by_role("row", name="tool_result").first).to_be_visible()


PANES = {pane.__name__: pane for pane in (code_pane, terminal_pane, printed_pane, inspector_pane)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pane", PANES)
def test_a_pane_that_is_open(
    server: LiveServer, open_tab: OpenTab, axe: str, pane: str, size: str
) -> None:
    tab = open_tab(server, size)
    tab.say(prompt(*WORKED))
    tab.finish()
    PANES[pane](Panel(tab))
    assert findings(tab, axe) == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pane", ["Code", "Terminal", "Files", "Inspector"])
def test_a_pane_with_nothing_in_it(
    server: LiveServer, open_tab: OpenTab, axe: str, pane: str, size: str
) -> None:
    tab = open_tab(server, size)
    panel = Panel(tab).open(pane)
    expect(panel.box).to_contain_text("No messages yet")
    assert findings(tab, axe) == []


def chats(tab: Tab) -> None:
    """The chat list, which a small screen shows only in a drawer."""
    opener = tab.page.get_by_role("button", name="Open chat list")
    if opener.is_visible():
        opener.click()
    expect(tab.page.get_by_role("navigation", name="Chats")).to_be_visible()


def settings(tab: Tab) -> None:
    chats(tab)
    tab.page.get_by_role("button", name="Settings").click()
    expect(tab.page.get_by_role("menu")).to_be_visible()


def shortcuts(tab: Tab) -> None:
    settings(tab)
    tab.page.get_by_role("menuitem", name="Keyboard shortcuts").click()
    expect(tab.page.get_by_role("dialog").last).to_be_visible()


def agents(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Agent: ").click()
    expect(tab.page.get_by_role("menu")).to_be_visible()


MENUS = {menu.__name__: menu for menu in (chats, settings, shortcuts, agents)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("menu", MENUS)
def test_a_menu_that_is_open(
    crew: LiveServer, open_tab: OpenTab, axe: str, menu: str, size: str
) -> None:
    tab = open_tab(crew, size)
    MENUS[menu](tab)
    assert findings(tab, axe) == []


@pytest.mark.parametrize("size", SIZES)
def test_where_a_model_is(keyless: LiveServer, open_tab: OpenTab, axe: str, size: str) -> None:
    tab = open_tab(keyless, size)
    tab.say(prompt(text("What a simulated model wrote.")))
    tab.finish()
    assert findings(tab, axe) == []
    agents(tab)
    assert findings(tab, axe) == []
