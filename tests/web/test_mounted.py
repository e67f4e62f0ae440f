"""The page embedded in another app: below a path, it finds its server and its chats."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from server.live_server import clean_environment
from web.browser_watch import Watched

APP = """
import asyncio, socket, sys
from pathlib import Path
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from mobox.server import Settings
from mobox.server.app import create_app, open_services

async def main():
    async with open_services(Settings(data=Path(sys.argv[1]))) as services:
        async def theirs(request):
            return PlainTextResponse("somebody else's page")
        mounted = Mount("/tools/mobox chats", create_app(services))
        app = Starlette(routes=[Route("/", theirs), mounted])
        with socket.create_server(("127.0.0.1", 0)) as listener:
            print(f"http://127.0.0.1:{listener.getsockname()[1]}/tools/mobox%20chats/", flush=True)
            config = uvicorn.Config(app, lifespan="off", log_level="error")
            await uvicorn.Server(config).serve(sockets=[listener])

asyncio.run(main())
"""

WITH_A_LOGIN = """
import asyncio, socket, sys
import uvicorn
from starlette.applications import Starlette
import mobox

@mobox.agent("echo")
def echo(turn):
    return f"You said {turn.prompt}"

async def main():
    app = Starlette()
    login = lambda request: request.cookies.get("user")
    mobox.mount(app, "/chats", principal=login, agents=[echo], data=sys.argv[1])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/chats/", flush=True)
        await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener])

asyncio.run(main())
"""


@pytest.fixture(params=[APP])
def mounted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of the page in an app with other pages."""
    argv = [sys.executable, "-c", request.param, str(tmp_path)]
    fast = clean_environment(MOBOX_DEMO_SPEED="0")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=fast) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def test_a_chat_below_a_path(mounted: str, watched: Watched) -> None:
    page = watched(mounted)[0].new_page()
    page.goto(mounted)
    composer = page.get_by_role("textbox", name="Your message")
    composer.fill("text It works down here.")
    composer.press("Enter")
    answer = page.get_by_role("article", name="Agent")
    expect(answer).to_contain_text("It works down here.")
    expect(page).to_have_url(re.compile(re.escape(f"{mounted}chat/")))
    page.reload()
    expect(answer).to_contain_text("It works down here.")
    page.get_by_role("link", name="New chat").or_(
        page.get_by_role("button", name="New chat")
    ).first.click()
    expect(page).to_have_url(mounted)
    page.go_back()
    expect(answer).to_contain_text("It works down here.")


@pytest.mark.parametrize("mounted", [WITH_A_LOGIN], indirect=True)
def test_unauthenticated_user_is_sent_to_the_apps_login(mounted: str, watched: Watched) -> None:
    context, watch = watched(mounted)
    watch.expect("the server responded with a status of 401")
    page = context.new_page()
    page.goto(mounted)
    expect(page.get_by_text("Sign in to this app and reload the page")).to_be_visible()
    expect(page.get_by_label("Token")).to_be_visible()
    context.add_cookies([{"name": "user", "value": "ann", "url": mounted}])
    page.reload()
    composer = page.get_by_role("textbox", name="Your message")
    composer.fill("hello")
    composer.press("Enter")
    expect(page.get_by_role("article", name="Agent")).to_contain_text("You said hello")
