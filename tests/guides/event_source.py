"""`EventSource`, in a page that shows a chat and sends nothing: docs/clients/event-source.md."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import httpx
from playwright.sync_api import expect

from guides.bundles import PageSource
from guides.cells import CELLS, Client, Scenario
from guides.client_tab import ClientTab
from guides.scenarios import FIRST, REFUSED, SECOND, SENTENCE
from guides.world import World, guide_server, new_key, revoke_keys
from server.live_server import LIMIT, reserved_port
from web.browser_watch import CUT_OFF

__all__ = ["EVENT_SOURCE"]


class ReadingTab(ClientTab):
    """A tab that only shows; what is sent, another program sends."""

    def wait_until_open(self) -> None:
        """Nothing: there is nothing to operate."""

    def send(self, text: str) -> None:
        """Send as another program, and do not read the answer."""
        given = dict(parse_qsl(urlsplit(self.page.url).query))
        message = {"id": uuid4().hex, "role": "user", "parts": [{"type": "text", "text": text}]}
        headers = {"authorization": f"Bearer {given['token']}"} if "token" in given else {}
        body = {"id": given["chat"], "message": message}
        with (
            httpx.Client(timeout=LIMIT, trust_env=False, headers=headers) as http,
            http.stream("POST", f"{given['server']}/api/chat", json=body) as response,
        ):
            response.raise_for_status()

    def finish(self) -> None:
        """Nothing: the page shows no more than the messages."""


def wrong_key(world: World) -> None:
    """A key that was never valid; a valid one opens the stream by a ticket, until it is revoked."""
    data = world.folder / "data"
    with guide_server(data, world.pages, "--auth", "keys") as server:
        world.expect_complaint(REFUSED)
        stranger = world.open(server.url, token="mbx_unknown", wait=False)
        expect(stranger.error).to_contain_text("key")
        expect(stranger.error).to_have_text(SENTENCE)
        tab = world.open(server.url, token=new_key(data, "ann"))
        tab.send(world.slow)
        expect(tab.answers).to_contain_text(FIRST)
        world.gate.open()
        expect(tab.answers).to_contain_text(SECOND)
        tab.send(world.slow)
        expect(tab.answers.last).to_have_text(f"{FIRST} ")
        world.expect_complaint(CUT_OFF)
        revoke_keys(data)
        expect(tab.error).to_contain_text("key")
        expect(tab.error).to_have_text(SENTENCE)


def server_killed(world: World) -> None:
    """The page shows the rest of the answer when the server is back, and the next one."""
    with reserved_port() as port:
        data = world.folder / "data"
        flags = ("--port", str(port))
        with guide_server(data, world.pages, *flags) as server:
            world.expect_complaint(CUT_OFF)
            tab = world.open(server.url)
            tab.send(world.slow)
            expect(tab.answers).to_contain_text(FIRST)
            world.gate.wait()
            server.kill()
        expect(tab.error).to_be_visible()
        with guide_server(data, world.pages, *flags):
            expect(tab.error).to_have_count(0)
            tab.send("say welcome back")
            expect(tab.answers.last).to_contain_text("welcome back")
            expect(tab.answers).to_have_count(2)
            assert tab.answers.first.inner_text().count(FIRST) == 1


OWN: Final[dict[str, Scenario]] = {"wrong key": wrong_key, "server killed": server_killed}
READS: Final = {*OWN, "reload", "two tabs"}
EVENT_SOURCE: Final = Client(
    name="EventSource",
    page=PageSource("docs/clients/event-source.md", "event-source.ts"),
    tab=ReadingTab,
    own=OWN,
    reasons={
        cell: "`EventSource` only reads: it cannot send a message, an answer or a file."
        for cell in CELLS
        if cell not in READS
    },
)
