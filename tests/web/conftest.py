"""A watched browser, and servers for it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import write_agent
from web.browser_fixtures import (
    base_url,
    browser_type_launch_args,
    gate,
    port,
    pytest_collection_modifyitems,
    watched,
)
from web.browser_watch import Watched
from web.protocol_tabs import Speak, Speaking

__all__ = [
    "base_url",
    "browser_type_launch_args",
    "gate",
    "port",
    "pytest_collection_modifyitems",
    "watched",
]

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with the demo agent, without delays."""
    data = tmp_path_factory.mktemp("demo") / "data"
    agents = ROOT / "agents"
    with live_server(
        data, "--agents", agents, "--agent", "demo", patience=60 * LIMIT, MOBOX_DEMO_SPEED="0"
    ) as server:
        yield server


@pytest.fixture(scope="session")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the agent that plays the script in its prompt."""
    return write_agent(tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="session")
def server(agents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with that agent."""
    data = tmp_path_factory.mktemp("served") / "data"
    with live_server(data, "--agents", agents, patience=60 * LIMIT) as server:
        yield server


@pytest.fixture(scope="session")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with two agents, of which one has to be selected."""
    folder = tmp_path_factory.mktemp("crew")
    agents = write_agent(folder / "agents")
    shutil.copytree(ROOT / "agents/demo", agents / "demo")
    with live_server(folder / "data", "--agents", agents, patience=60 * LIMIT) as server:
        yield server


@pytest.fixture(scope="session")
def keyless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server without a provider's key; one of its two agents uses a provider."""
    folder = tmp_path_factory.mktemp("keyless")
    agents = write_agent(folder / "agents")
    shutil.copytree(agents / "scripted", agents / "author")
    about = "name: Author\ndescription: Writes.\nframework: emitted\nmodels: [anthropic]\n"
    (agents / "author/agent.yaml").write_text(about)
    data, env = folder / "data", {"ANTHROPIC_API_KEY": ""}
    with live_server(data, "--agents", agents, patience=60 * LIMIT, **env) as server:
        yield server


@pytest.fixture(scope="session")
def http() -> Iterator[httpx.Client]:
    """A client without a browser."""
    with httpx.Client(timeout=LIMIT, trust_env=False) as client:
        yield client


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility checker's source."""
    source = ROOT / "web/node_modules/axe-core/axe.min.js"
    if not source.exists():
        pytest.skip("NOT TESTED WHETHER EVERYBODY CAN USE THE PAGE: no node_modules in web")
    return source.read_text()


@pytest.fixture
def speak(server: LiveServer, watched: Watched) -> Iterator[Speak]:
    """Makes contexts that use a protocol; checks at the end that they did."""
    made: list[Speaking] = []

    def make(protocol: str) -> Speaking:
        made.append(Speaking(watched(server.url)[0], protocol))
        return made[-1]

    yield make
    for speaking in made:
        speaking.assert_spoken()
