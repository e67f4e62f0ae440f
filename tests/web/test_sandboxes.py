"""The page shows where agents run, and which agent has no sandbox to run in."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import write_agent
from web.browser_watch import Watched
from web.chat_tab import Tab

MISSING = "Bubblewrap is not installed: install the package `bubblewrap`."


@pytest.fixture(scope="module")
def without_bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server that finds no bubblewrap; one of its agents asks for it."""
    folder = tmp_path_factory.mktemp("without")
    agents = write_agent(folder / "agents")
    shutil.copytree(agents / "scripted", agents / "boxed")
    (agents / "boxed/agent.yaml").write_text("name: Boxed\nsandbox: bubblewrap\n")
    env = {"PATH": str(folder), "SANDBOX_BACKEND": "auto"}
    with live_server(folder / "data", "--agents", agents, patience=60 * LIMIT, **env) as server:
        yield server


def settings(tab: Tab) -> Locator:
    tab.page.get_by_role("button", name="Settings").press("Enter")
    return tab.page.get_by_role("menu")


def test_the_settings_say_that_agents_are_not_isolated_and_why(
    without_bubblewrap: LiveServer, watched: Watched
) -> None:
    menu = settings(Tab(watched(without_bubblewrap.url)[0]))
    expect(menu).to_contain_text("Agents run as processes of the server's user, not isolated.")
    expect(menu).to_contain_text(MISSING)


def test_a_chosen_process_needs_no_reason(server: LiveServer, watched: Watched) -> None:
    menu = settings(Tab(watched(server.url)[0]))
    expect(menu).to_contain_text("Agents run as processes of the server's user, not isolated.")
    expect(menu).not_to_contain_text("installed")


def test_an_agent_without_a_sandbox_cannot_be_selected(
    without_bubblewrap: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(without_bubblewrap.url)[0])
    tab.page.get_by_role("button", name=re.compile("^Agent: ")).press("Enter")
    boxed = tab.page.get_by_role("menuitemradio", name=re.compile("^Boxed"))
    expect(boxed).to_contain_text(MISSING)
    expect(boxed).to_be_disabled()
