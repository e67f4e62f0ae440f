"""A real server, and real clients to talk to it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.ag_ui_clients import NEWEST, OLDER, AGUIFrontend, AGUIPages
from server.chat_clients import ChatClients, Frontend
from server.live_server import LIMIT, WANTS_JSON, LiveServer, live_server
from server.scripted_agent import Gate, write_agent
from server.server_probe import ServerProbe
from server.serving import UVLOOP
from server.socket_clients import SocketClients


@pytest.fixture(scope="session")
def anyio_backend() -> object:
    """As the server runs."""
    return UVLOOP


@pytest.fixture(scope="session")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of agents: one that does what it is told."""
    return write_agent(tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="session")
def server(agents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server that many tests use, each with chats of its own."""
    data = tmp_path_factory.mktemp("served") / "data"
    with live_server(data, "--agents", agents, patience=60 * LIMIT) as server:
        yield server


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, agents: Path) -> Iterator[LiveServer]:
    """A server that has said nothing of anything in the end."""
    with live_server(tmp_path_factory.mktemp("strict") / "data", "--agents", agents) as server:
        yield server
        assert server.warnings == ""


@pytest.fixture(scope="session")
def clients(node: str) -> Iterator[ChatClients]:
    """The real clients."""
    with ChatClients(node) as clients:
        yield clients


@pytest.fixture(scope="session")
def agui_pages(node: str) -> Iterator[AGUIPages]:
    """The real clients of AG-UI."""
    with AGUIPages(node) as clients:
        yield clients


@pytest.fixture(scope="session")
def sockets(node: str) -> Iterator[SocketClients]:
    """The real client of Socket.IO."""
    with SocketClients(node) as clients:
        yield clients


@pytest.fixture(params=[NEWEST, OLDER])
def agui(
    request: pytest.FixtureRequest,
    agui_pages: AGUIPages,
    http: httpx.Client,
    server: LiveServer,
) -> AGUIFrontend:
    """The newest client and one from before 1.0; a test may name others."""
    return AGUIFrontend(agui_pages, http, server, request.param)


@pytest.fixture(scope="session")
def http() -> Iterator[httpx.Client]:
    """What is neither a page nor a server."""
    with httpx.Client(timeout=LIMIT, trust_env=False, headers=WANTS_JSON) as client:
        yield client


@pytest.fixture
def server_probe(http: httpx.Client, server: LiveServer) -> ServerProbe:
    """The server that many tests use."""
    return ServerProbe(http, server)


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A place where agents wait."""
    with Gate() as gate:
        yield gate


@pytest.fixture(params=["ai-v6 v6", "ai v6", "ai v7"])
def frontend(
    request: pytest.FixtureRequest, clients: ChatClients, http: httpx.Client, server: LiveServer
) -> Frontend:
    """The newest 6 and 7 with each profile that they read; a test may name others."""
    client, profile = request.param.split()
    return Frontend(clients, http, server, client, profile)


@pytest.fixture
def chat_id(request: pytest.FixtureRequest) -> str:
    """The id of a chat that no other test has, in whichever file it is."""
    return f"{request.path.stem}-{request.node.name}"
