"""Views of an app's own tools, in modules that its mounted page loads."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from server.live_server import clean_environment
from web.browser_watch import Watched
from web.test_accessible import RULES, RUN, THEMES

GUIDE = Path(__file__).parent.parent.parent / "docs/page-modules.md"
"""Its example is the module of these tests."""

APP = """
import asyncio, socket, sys
import uvicorn
from starlette.applications import Starlette
import mobox

@mobox.agent("travel")
def travel(turn):
    call = mobox.emit.tool_use("book_flight", {"from": "Bern", "to": "<b>Oslo</b>"})
    yield call
    yield mobox.emit.tool_result(call.id, {"seat": "12A"})
    other = mobox.emit.tool_use("weigh_bag", {"bag": 1})
    yield other
    yield mobox.emit.tool_result(other.id, "23 kg")
    yield "Booked."

async def main():
    app = Starlette()
    mobox.mount(
        app, "/help", principal=lambda request: "ann", agents=[travel], data=sys.argv[1],
        page_modules=sys.argv[2:],
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/help/", flush=True)
        await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener])

asyncio.run(main())
"""
BROKEN = "export default (mobox) => mobox.registerToolView('weigh_bag', { render() { throw 1; } });"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The page of an app that has a view of one of its tools, and a broken one of another."""
    example = re.search("```js\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "flights.js").write_text(example[1])
    (tmp_path / "broken.js").write_text(BROKEN)
    modules = [str(tmp_path / name) for name in ("broken.js", "flights.js")]
    argv = [sys.executable, "-c", APP, str(tmp_path / "data"), *modules]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, text=True, env=clean_environment()
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def call(page: Page, name: str) -> Locator:
    """The answer with this call opened; the page remembers what was opened."""
    answer = page.get_by_role("article", name="Agent")
    button = answer.get_by_role("button", name=name)
    expect(button).to_be_visible()
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    return answer


def test_apps_module_draws_its_tool(url: str, watched: Watched, axe: str) -> None:
    context, watch = watched(url)
    watch.expect("a tool's view failed")
    page = context.new_page()
    page.goto(url)
    composer = page.get_by_role("textbox", name="Your message")
    composer.fill("to Oslo")
    composer.press("Enter")
    expect(page.get_by_text("Booked.")).to_be_visible()
    for _ in ("live", "reloaded"):
        answer = call(page, "Book flight")
        flight = answer.get_by_role("group", name="Flight")
        expect(flight).to_have_text("Bern → <b>Oslo</b>, seat 12A")
        expect(answer.get_by_text("Raw call")).to_be_visible()
        expect(call(page, "Weigh bag")).to_contain_text("23 kg")
        page.reload()
    call(page, "Book flight")
    page.evaluate(axe)
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        assert page.evaluate(RUN, RULES) == []
