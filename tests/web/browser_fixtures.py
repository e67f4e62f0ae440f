"""Fixtures of all tests with a browser: the browser itself, watched contexts, and gates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect
from pytest_playwright.pytest_playwright import CreateContextCallback

from bench.chromium import ARGUMENTS, find_chromium
from server.live_server import LIMIT, reserved_port
from server.scripted_agent import Gate
from web.browser import LEFT_OUT
from web.browser_watch import Watch, Watched

__all__ = [
    "base_url",
    "browser_type_launch_args",
    "gate",
    "port",
    "pytest_collection_modifyitems",
    "watched",
]

expect.set_options(timeout=LIMIT / 2 * 1000)


@pytest.hookimpl(trylast=True)  # pytest itself groups tests that share a parameter
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with a browser come last: while it runs, no other event loop can."""
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Debian's browser; never one that is downloaded."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("NOT TESTED IN A BROWSER: no chromium; `apt-get install chromium`")
    return {"executable_path": chromium, "args": [*ARGUMENTS, LEFT_OUT]}


@pytest.fixture(scope="session")
def base_url() -> None:
    """No common base URL: each test has its own server."""


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate at which agents wait."""
    with Gate() as gate:
        yield gate


@pytest.fixture
def port() -> Iterator[int]:
    """A free port, for a server that starts later."""
    with reserved_port() as port:
        yield port


@pytest.fixture
def watched(new_context: CreateContextCallback) -> Iterator[Watched]:
    """Makes watched contexts; an unexpected complaint fails the test."""
    made: list[tuple[BrowserContext, Watch]] = []

    def make(url: str, **options: Any) -> tuple[BrowserContext, Watch]:
        size = {"width": 1440, "height": 900}
        usual = {"viewport": size, "reduced_motion": "reduce", "locale": "en-US"}
        context = new_context(base_url=url, **{**usual, **options})
        made.append((context, Watch(context, url)))
        return made[-1]

    yield make
    complaints = [complaint for _, watch in made for complaint in watch.complaints]
    assert not complaints, "\n".join(complaints)
