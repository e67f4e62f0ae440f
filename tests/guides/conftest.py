"""Pages of real clients in a browser, and a server of another origin for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from guides.page_server import PageServer, page_server
from guides.world import MakeWorld, Places, World, guide_server
from server.live_server import LIMIT, LiveServer
from server.scripted_agent import Gate
from web.browser_fixtures import (
    base_url,
    browser_type_launch_args,
    gate,
    port,
    pytest_collection_modifyitems,
    watched,
)
from web.browser_watch import Watched

__all__ = [
    "base_url",
    "browser_type_launch_args",
    "gate",
    "port",
    "pytest_collection_modifyitems",
    "watched",
]


@pytest.fixture(scope="session")
def pages(node: str) -> Iterator[PageServer]:
    """The origin of the pages."""
    with page_server(node) as server:
        yield server


@pytest.fixture(scope="session")
def guide(pages: PageServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server that the tests share; each has its own chat."""
    with guide_server(tmp_path_factory.mktemp("guide") / "data", pages) as server:
        yield server


@pytest.fixture
def world(
    pages: PageServer, guide: LiveServer, watched: Watched, gate: Gate, tmp_path: Path
) -> Iterator[MakeWorld]:
    """Makes the world of a test with a client."""
    with httpx.Client(timeout=LIMIT, trust_env=False) as http:
        places = Places(pages, guide, gate, http, tmp_path)
        yield lambda client: World(client, places, watched)
