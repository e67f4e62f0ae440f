"""The chat in a page of another origin: by a script, in a frame, only where a setting allows it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import prompt, text
from server.server_with_keys import give_key_at
from web.browser_watch import Watched
from web.test_accessible import RULES, RUN

POLICY = "default-src 'none'; script-src {server}; frame-src {server}; connect-src 'none'"


class Site(ThreadingHTTPServer):
    """A site with one page, which a test writes."""

    body = ""
    policy = ""

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.server_port}"

    def embeds(self, server: str, attributes: str = "", rest: str = "") -> None:
        """The page loads the server's script; it allows nothing else."""
        self.policy = POLICY.format(server=server)
        script = f'<script src="{server}/embed.js" {attributes}></script>'
        self.body = f"<!doctype html><html lang=en><title>Shop</title><h1>Shop</h1>{rest}{script}"


class _Answer(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        is_page = self.path == "/"
        self.send_response(200 if is_page else 404)
        self.send_header("content-type", "text/html")
        if is_page:
            self.send_header("content-security-policy", self.server.policy)
        self.end_headers()
        self.wfile.write(self.server.body.encode() if is_page else b"")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def a_site() -> Iterator[Site]:
    with Site(("127.0.0.1", 0), _Answer) as site:
        threading.Thread(target=site.serve_forever).start()
        yield site
        site.shutdown()


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    """A site whose origin is listed."""
    with a_site() as site:
        yield site


@pytest.fixture(scope="module")
def embeddable(
    tmp_path_factory: pytest.TempPathFactory, agents: Path, shop: Site
) -> Iterator[LiveServer]:
    data = tmp_path_factory.mktemp("embeddable") / "data"
    flags = ("--agents", agents, "--embed-origins", shop.origin)
    with live_server(data, *flags, patience=60 * LIMIT) as server:
        yield server


def visit(watched: Watched, site: Site, server: LiveServer, **options: object) -> Page:
    context, watch = watched(site.origin, **options)
    watch.allow(server.url)
    watch.expect("favicon|404|401")
    page = context.new_page()
    page.goto("/")
    return page


def ask(frame: FrameLocator) -> None:
    field = frame.get_by_role("textbox", name="Your message")
    field.fill(prompt(text("Three of them.")))
    field.press("Enter")
    expect(frame.get_by_role("article", name="Agent")).to_contain_text("Three of them.")


def test_a_button_opens_the_chat(
    embeddable: LiveServer, shop: Site, watched: Watched, axe: str
) -> None:
    shop.embeds(embeddable.url, 'data-agent="scripted" data-label="Ask us"')
    page = visit(watched, shop, embeddable)
    button = page.get_by_role("button", name="Ask us")
    expect(page.locator("iframe")).to_have_count(0)
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    frame = page.frame_locator("iframe")
    ask(frame)
    expect(frame.get_by_role("button", name="Agent: ")).to_have_count(0)
    inside = next(each for each in page.frames if "/embed" in each.url)
    assert "/embed/chat/" in inside.url
    inside.evaluate(axe)
    assert inside.evaluate(RUN, RULES) == []
    inside.evaluate("location.reload()")
    expect(frame.get_by_role("article", name="Agent")).to_contain_text("Three of them.")
    frame.get_by_role("button", name="Close chat").click()
    expect(page.locator("iframe")).to_be_hidden()
    expect(button).to_be_focused()
    button.press("Enter")
    expect(frame.get_by_role("article", name="Agent")).to_contain_text("Three of them.")


def test_the_chat_fills_an_element_of_the_page(
    embeddable: LiveServer, shop: Site, watched: Watched
) -> None:
    place = '<div id="help"></div>'
    shop.embeds(embeddable.url, 'data-target="#help" data-lang="de"', place)
    page = visit(watched, shop, embeddable)
    expect(page.get_by_role("button")).to_have_count(0)
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("textbox", name="Ihre Nachricht")).to_be_visible()
    expect(frame.get_by_role("button", name="Chat schließen")).to_have_count(0)
    frame.get_by_role("button", name="Chat-Liste öffnen").click()
    expect(frame.get_by_role("navigation", name="Chats")).to_be_visible()


def test_on_a_phone_it_fills_the_screen(
    embeddable: LiveServer, shop: Site, watched: Watched
) -> None:
    shop.embeds(embeddable.url, "data-open")
    page = visit(watched, shop, embeddable, viewport={"width": 390, "height": 844})
    frame = page.locator("iframe")
    expect(frame).to_be_visible()
    assert frame.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    page.frame_locator("iframe").get_by_role("button", name="Close chat").click()
    expect(frame).to_be_hidden()


def test_a_site_that_is_not_listed_cannot_frame_it(
    embeddable: LiveServer, watched: Watched
) -> None:
    with a_site() as stranger:
        stranger.embeds(embeddable.url, "data-open")
        context, watch = watched(stranger.origin)
        watch.allow(embeddable.url)
        watch.expect("frame-ancestors|favicon|404|Refused|violates|chrome-error|Framing")
        page = context.new_page()
        page.goto("/")
        expect(page.locator("iframe")).to_be_visible()
        frame = page.frame_locator("iframe")
        expect(frame.get_by_role("textbox")).to_have_count(0)
        inside = page.frames[-1]
        assert inside.url.startswith("chrome-error://") or "/embed" not in inside.url


def test_the_site_signs_its_visitor_in(
    agents: Path, tmp_path: Path, shop: Site, watched: Watched
) -> None:
    data = tmp_path / "data"
    flags = ("--agents", agents, "--auth", "keys", "--embed-origins", shop.origin)
    with live_server(data, *flags) as server:
        with ThreadPoolExecutor() as thread:  # the browser has this thread's event loop
            _, key = thread.submit(asyncio.run, give_key_at(data, "ann")).result()
        shop.embeds(server.url, f'data-open data-token="{key}"')
        page = visit(watched, shop, server)
        ask(page.frame_locator("iframe"))
        shop.embeds(server.url, "data-open")
        other = visit(watched, shop, server)
        expect(other.frame_locator("iframe").get_by_label("Key")).to_be_visible()
