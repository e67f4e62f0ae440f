"""The page shows the agents: which one answers, what it offers to begin with, what it lacks."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LIMIT, LiveServer, live_server
from support.wheels import make_wheel, only_index
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.protocol_tabs import Speaking, by_each

ROOT = Path(__file__).parents[2]
CODE = "from shared.emitter import *; read_turn(); import tiny; emit_text('Done.'); emit_done()"
FIRST = "Will be installed at the first message."


def make(folder: Path, name: str, requirements: str) -> None:
    agent = folder / "agents" / name
    agent.mkdir(parents=True)
    about = f"name: {name.capitalize()}\ndescription: Works.\nicon: 🧪\nstarters: [Go on]\n"
    (agent / "agent.yaml").write_text(about)
    (agent / "run_agent.py").write_text(CODE)
    (agent / "requirements.txt").write_text(requirements)


@pytest.fixture(scope="module")
def installing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server whose agents have packages: of one of them they are not found."""
    folder = tmp_path_factory.mktemp("installing")
    shutil.copytree(ROOT / "agents/demo", folder / "agents/demo")
    make(folder, "chemist", "tiny\n")
    make(folder, "physicist", "unheard\n")
    env = only_index(folder / "index")
    make_wheel(folder / "index", "tiny")
    flags = ("--agents", folder / "agents", "--agent", "chemist")
    with live_server(folder / "data", *flags, patience=60 * LIMIT, **env) as server:
        yield server


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[LiveServer]:
    """A server that waits for ever for the packages of its agent."""
    make(tmp_path, "chemist", "tiny\n")
    with socket.create_server(("127.0.0.1", 0)) as index:
        address = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
        env = {"UV_DEFAULT_INDEX": address, "UV_CACHE_DIR": str(tmp_path / "cache")}
        flags = ("--agents", tmp_path / "agents")
        with live_server(tmp_path / "data", *flags, patience=3 * LIMIT, **env) as server:
            yield server


def picker(tab: Tab, name: str) -> Locator:
    return tab.page.get_by_role("button", name=f"Agent: {name}", exact=True)


def option(tab: Tab, name: str) -> Locator:
    return tab.page.get_by_role("menuitemradio", name=re.compile(f"^{name}"))


def heading(tab: Tab, name: str) -> Locator:
    return tab.page.get_by_role("heading", name=name, exact=True)


def test_the_agent_of_the_settings_is_selected_and_offers_its_starters(
    installing: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(installing.url)[0])
    expect(heading(tab, "Chemist")).to_be_visible()
    expect(tab.page.get_by_role("main")).to_contain_text("Works.")
    expect(tab.page.get_by_text("🧪", exact=True)).to_have_count(1)
    tab.page.get_by_role("button", name="Go on", exact=True).click()
    tab.finish()
    tab.sees("Done.")


def test_a_selected_agent_is_remembered(installing: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(installing.url)[0])
    picker(tab, "Chemist").click()
    expect(option(tab, "Demo"), "the header has a switch for it").to_have_count(0)
    option(tab, "Physicist").click()
    expect(heading(tab, "Physicist")).to_be_visible()
    tab.page.reload()
    expect(heading(tab, "Physicist")).to_be_visible()
    tab.page.get_by_role("switch", name="Demo").click()
    expect(heading(tab, "Demo")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Tool call with its result")).to_be_visible()
    tab.page.reload()
    expect(heading(tab, "Demo")).to_be_visible()


def test_a_failed_install_is_shown_in_the_answer_and_in_the_picker(
    installing: LiveServer, watched: Watched
) -> None:
    tab = Tab(watched(installing.url)[0])
    picker(tab, "Chemist").click()
    expect(option(tab, "Physicist")).to_contain_text(re.compile(f"{FIRST}|could not be installed"))
    option(tab, "Physicist").click()
    tab.say("hello")
    tab.finish()
    tab.sees("The packages of Physicist could not be installed:")
    tab.sees("unheard")
    picker(tab, "Physicist").click()
    expect(option(tab, "Physicist")).to_contain_text("Its packages could not be installed:")


@by_each
def test_an_install_is_shown_and_can_be_stopped(
    waiting: LiveServer, watched: Watched, protocol: str
) -> None:
    speaking = Speaking(watched(waiting.url)[0], protocol)
    tab = speaking.tab()
    expect(tab.page.get_by_text(FIRST)).to_be_visible()
    tab.say("hello")
    progress = tab.page.get_by_role("progressbar", name="Installing the packages of Chemist…")
    expect(progress).to_be_visible()
    tab.page.reload()
    expect(progress).to_be_visible()
    tab.stop.click()
    tab.finish()
    expect(progress).not_to_be_visible()
    speaking.assert_spoken()
