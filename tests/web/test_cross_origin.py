"""A page of another origin in a real browser, which decides what it may read."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from server.live_server import LIMIT, LiveServer, live_server, message
from server.scripted_agent import prompt, text

Json = dict[str, Any]

ASK = """
async ([url, init]) => {
  try {
    const response = await fetch(url, init);
    const body = await response.text();
    return { status: response.status, body, headers: Object.fromEntries(response.headers) };
  } catch (error) {
    return { failed: String(error) };
  }
}
"""
SHOW = """
(url) => new Promise((resolve) => {
  const image = new Image();
  image.onload = () => resolve("shown");
  image.onerror = () => resolve("not shown");
  image.src = url;
})
"""


class EmptyPage(BaseHTTPRequestHandler):
    """Answers with a page on which a test does something."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>Hello")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def their_origin() -> Iterator[str]:
    """The origin of a server with such a page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), EmptyPage) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def theirs() -> Iterator[str]:
    """A listed origin."""
    with their_origin() as origin:
        yield origin


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, agents: Path, theirs: str
) -> Iterator[LiveServer]:
    """A server that lists the page, and what the AI SDK's guide sends with a request."""
    flags = {
        "--agents": str(agents),
        "--allowed-origins": theirs,
        "--allowed-headers": "x-custom-header",
        "--allow-credentials": "true",
        "--max-body": "5000",
    }
    words = [word for pair in flags.items() for word in pair]
    data = tmp_path_factory.mktemp("listed") / "data"
    with live_server(data, *words, patience=10 * LIMIT) as server:
        yield server


@pytest.fixture
def page(browser: Browser, theirs: str) -> Iterator[Page]:
    """An empty page of the listed origin."""
    page = browser.new_page()
    page.goto(theirs)
    yield page
    page.close()


def ask(page: Page, url: str, **init: object) -> Json:
    answer: Json = page.evaluate(ASK, [url, init])
    return answer


def posting(body: str, **more: object) -> Json:
    headers = {"content-type": "application/json", "x-custom-header": "a"}
    return {"method": "POST", "body": body, "headers": headers, "credentials": "include", **more}


def test_listed_page_sends_cookies_and_headers_and_reads_the_stream(
    page: Page, served: LiveServer
) -> None:
    said = message("c1", prompt(text("Hello there")))
    sent = ask(page, f"{served.url}/api/chat", **posting(json.dumps(said)))
    assert sent["status"] == 200
    assert "Hello there" in sent["body"]
    assert sent["headers"]["x-mobox-run"].startswith("run_")
    assert sent["headers"]["x-vercel-ai-ui-message-stream"] == "v1"
    custom = {"authorization": "Bearer token", "x-custom-header": "a"}
    resumed = ask(
        page, f"{served.url}/api/chat/c1/stream?strict=1", headers=custom, credentials="include"
    )
    assert resumed["status"] == 204


def test_listed_page_reads_why_it_was_refused(page: Page, served: LiveServer) -> None:
    large = ask(page, f"{served.url}/api/chat", **posting('"' + "x" * 6000 + '"'))
    assert large["status"] == 413
    assert large["body"].startswith("The message is too large")
    assert large["headers"]["x-mobox-error"] == "body_too_large"


def test_listed_page_shows_pictures_of_the_server(page: Page, served: LiveServer) -> None:
    assert page.evaluate(SHOW, f"{served.url}/favicon.ico") == "shown"


def test_page_that_is_not_listed_reads_nothing(browser: Browser, served: LiveServer) -> None:
    page = browser.new_page()
    with their_origin() as origin:
        page.goto(origin)
        refused = ask(page, f"{served.url}/api/chats")
        picture = page.evaluate(SHOW, f"{served.url}/favicon.ico")
    page.close()
    assert "Failed to fetch" in refused["failed"]
    assert picture == "not shown"
    assert f"to allow its origin: --allowed-origins {origin}" in served.warnings
