"""Fixtures and options that many tests share."""

import asyncio
import inspect
import os
import shutil
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.vendor.pretty import RepresentationPrinter

from bench.chromium import find_chromium
from server.live_server import LIMIT, MOBOX, clean_environment
from support.ag_ui_client import AGUIClients
from support.ai_sdk_client import CLIENTS, AiSdkClients, find_node
from support.postgres_server import Databases, running_postgres
from support.valkey_server import Valkey, running_valkey
from support.waiting import limited

# The tests draw the same examples on every machine, at every run. `make fuzz` draws new ones.
# No deadline, because the machine may be busy.
settings.register_profile("fixed", deadline=None, derandomize=True, database=None)
settings.register_profile("fuzz", deadline=None, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


# The longest ones begin first: else the end would be waiting for one of them.
LONG_FILES = (
    "tests/server/test_chaos.py",
    "tests/hostile/test_process.py",
    "tests/hostile/test_bubblewrap.py",
    "tests/server/test_real_chat_cuts.py",
    "tests/server/test_crash.py",
    "tests/pipeline/test_fuzz.py",
    "tests/repo/test_bench.py",
    "tests/web/test_transports.py",
    "tests/web/test_inspector.py",
    "tests/web/test_panes.py",
)


def _begins_first(item: pytest.Item) -> int:
    path, _, _ = item.nodeid.partition("::")
    return LONG_FILES.index(path) if path in LONG_FILES else len(LONG_FILES)


@pytest.hookimpl(tryfirst=True)  # of the files that a folder puts last, too, the longest begin
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The order in which files are given to whoever has nothing to do."""
    items.sort(key=_begins_first)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of async tests."""
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """An async test that hangs fails, after LIMIT seconds or those of its mark `time_limit`."""
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        mark = pyfuncitem.get_closest_marker("time_limit")
        pyfuncitem.obj = limited(pyfuncitem.obj, mark.args[0] if mark else LIMIT)
    return (yield)


def pytest_report_header() -> list[str]:
    """The versions of what comes from the machine and not from a lock."""
    tools = {"node": find_node(), "chromium": find_chromium(), "nginx": shutil.which("nginx")}
    return [f"{name}: {_version(path)}" for name, path in tools.items()]


def _version(path: str | None) -> str:
    if path is None:
        return "not installed"
    argument = "-v" if path.endswith("nginx") else "--version"
    shown = subprocess.run([path, argument], capture_output=True, text=True, check=False)
    return (shown.stdout or shown.stderr).strip()


def pytest_collection_finish() -> None:
    """Schemathesis replaces hypothesis' printer by one that prints no values: put it back."""
    pytest.MonkeyPatch().setattr("hypothesis.core.RepresentationPrinter", RepresentationPrinter)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regold", action="store_true", help="rewrite the golden files")


@pytest.fixture
def regold(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--regold"))


@pytest.fixture(scope="session")
def node() -> str:
    """Node, where the real clients are installed."""
    node = find_node()
    if node is None or not (CLIENTS / "node_modules").is_dir():
        missing = "node_modules in tests/clients" if node else "Node"
        pytest.skip(f"NOT TESTED WITH THE REAL CLIENTS: no {missing}; `make test` installs it")
    return node


@pytest.fixture(scope="session")
def frameworks() -> Path:
    """The Python where the real frameworks are installed; `make compat` has another one."""
    venv = os.environ.get("FRAMEWORKS_VENV", ".venv-frameworks")
    python = Path(__file__).parent.parent / venv / "bin" / "python"
    if not python.exists():
        pytest.skip("NOT TESTED WITH THE REAL FRAMEWORKS: `make test` installs them")
    return python


@pytest.fixture(scope="session")
def environments() -> Path:
    """The folder with the packages of the agents in `agents/`, for `--environments FOLDER`.

    `make test` installs them; else this does, which takes a minute.
    """
    root = Path(__file__).parent.parent
    folder = root / ".environments"
    command = [*MOBOX, "agents", "install", "--agents", "agents", "--environments", str(folder)]
    subprocess.run(command, cwd=root, env=clean_environment(), check=True)
    return folder


@pytest.fixture(scope="session")
def ai_sdk(node: str) -> Iterator[AiSdkClients]:
    """The real AI SDK clients."""
    with AiSdkClients(node) as clients:
        yield clients


@pytest.fixture(scope="session")
def ag_ui(node: str) -> Iterator[AGUIClients]:
    """The real AG-UI clients."""
    with AGUIClients(node) as clients:
        yield clients


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """A real PostgreSQL, with a database for each test that asks for one."""
    if url := os.environ.get("DATABASE_URL"):
        databases = Databases(url)
        yield databases
        asyncio.run(databases.drop())
        return
    with running_postgres() as server:
        yield Databases(server.url)


def _shared_url(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{folder}/mobox.db"
    databases: Databases = request.getfixturevalue("postgres")
    return asyncio.run(databases.blank())


BOTH = ["sqlite", "postgres"]


@pytest.fixture(params=BOTH)
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database that several processes can open: in a file, and of a real PostgreSQL."""
    return _shared_url(request, tmp_path)


@pytest.fixture(scope="module", params=BOTH)
def lasting_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same for several tests."""
    return _shared_url(request, tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="session")
def valkey() -> Iterator[Valkey]:
    """A Valkey that many tests use, each with a database of its own, and leave as it is."""
    with running_valkey() as valkey:
        yield valkey


@pytest.fixture
def own_valkey() -> Iterator[Valkey]:
    """A Valkey that a test may kill."""
    with running_valkey() as valkey:
        yield valkey
