"""What `pip install` brings: all that a server needs, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import httpx
import msgspec
import pytest

import mobox.frameworks
from server.live_server import LIMIT, clean_environment

ROOT = Path(__file__).parents[2]
BUILD = """
import sys
from hatchling import build
print(getattr(build, f"build_{sys.argv[1]}")(sys.argv[2]))
"""


def build(kind: str, folder: Path) -> Path:
    """A wheel, built without a network by the backend that is installed."""
    argv = [sys.executable, "-c", BUILD, kind, str(folder)]
    built = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    return folder / built.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has the wheel's content, and nothing of the repository near it."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def files_of(folder: Path) -> set[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if "__pycache__" not in path.parts}


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_the_package_and_the_demo_and_a_path_and_nothing_else(wheel: Path) -> None:
    names = {name for name in names_in(wheel) if ".dist-info/" not in name}
    package = {f"mobox/{name}" for name in files_of(ROOT / "src/mobox")}
    demo = {f"mobox/agents/demo/{name}" for name in files_of(ROOT / "agents/demo")}
    assert names == package | demo | {"mobox_shared.pth"}


def test_the_wheel_holds_what_is_no_python(wheel: Path) -> None:
    names = names_in(wheel)
    for needed in (
        "mobox/agents/demo/agent.yaml",
        "mobox/cli/demo.jsonl",
        "mobox/py.typed",
        "mobox/sandbox/keeper.py",
        "mobox/server/web/index.html",
    ):
        assert needed in names
    assert any(n.startswith("mobox/storage/migrations/") and n.endswith(".sql") for n in names)


def test_an_installed_server_has_an_agent_wherever_it_is_started(
    installed: Path, tmp_path: Path
) -> None:
    code = (
        "from mobox.capture.catalog import Catalog; from mobox.server import Settings;"
        "print([agent.id for agent in Catalog.load(Settings().agents_folder)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(installed)!r}); {code}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("['demo']\n", "")


def test_an_installed_server_serves_the_whole_page(installed: Path, tmp_path: Path) -> None:
    main = "from mobox.cli import main; sys.exit(main())"
    start = f"import sys; sys.path.insert(0, {str(installed)!r}); {main}"
    options = ["--port", "0", "--data", str(tmp_path / "data")]
    embedded = ["--embed-origins", "https://shop.example"]  # else embed.js is not served
    argv = [sys.executable, "-c", start, "serve", *options, *embedded]
    with subprocess.Popen(
        argv, cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = re.findall(r"http://\S+", server.stdout.readline())[0]
            with httpx.Client(base_url=url, timeout=LIMIT, trust_env=False) as client:
                page = client.get("/").raise_for_status().text
                links = re.findall(r'(?:href|src)="\./([^"]+)"', page)
                assert len(links) >= 4
                for name in {*links, *files_of(installed / "mobox/server/web")} - {"index.html"}:
                    client.get(f"/{name}").raise_for_status()
        finally:
            server.terminate()


# Agents that are run by hand


class Environment:
    """A venv with Mobox in it, which is active."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, symlinks=True)
        [site] = folder.glob("lib/python*/site-packages")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        shutil.copytree(Path(msgspec.__file__).parent, site / "msgspec")
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self._environment = clean_environment(VIRTUAL_ENV=str(folder), PATH=path)
        self._environment.pop("PYTHONPATH", None)

    def run(self, folder: Path, *arguments: str) -> str:
        """What `python` prints in a folder."""
        done = subprocess.run(
            ["python", *arguments],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture(scope="module", params=["wheel", "editable"])
def active(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    built = build(request.param, tmp_path_factory.mktemp("built"))
    return Environment(tmp_path_factory.mktemp("venv"), built)


AGENT = """
from shared.emitter import emit_done, emit_text, read_turn

print("a print")
emit_text(f"You said: {read_turn().prompt}")
emit_done()
"""


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    folder = tmp_path / "echo"
    folder.mkdir()
    (folder / "run_agent.py").write_text(AGENT)
    return folder


def test_an_agent_that_is_run_by_hand_finds_shared(active: Environment, agent: Path) -> None:
    assert active.run(agent, "run_agent.py", "some", "words").splitlines() == [
        "a print",
        '{"type": "text", "data": {"content": "You said: some words"}}',
        '{"type": "done", "data": {}}',
    ]


def test_the_demo_runs_by_hand(active: Environment) -> None:
    first, *_, last = active.run(ROOT / "agents/demo", "run_agent.py", "text", "Hi").splitlines()
    assert '"type": "start"' in first
    assert last == '{"type": "done", "data": {}}'


def test_shared_by_hand_has_every_name_of_the_emitter(active: Environment, agent: Path) -> None:
    code = (
        "from mobox import emitter; import shared.emitter as s; print(s.__all__, emitter.__all__)"
    )
    here, there = active.run(agent, "-c", code).strip()[1:-1].split("] [")
    assert here == there
    assert "'call_frontend'" in here


@pytest.mark.parametrize("name", mobox.frameworks.__all__)
def test_helper_of_a_framework_can_be_imported_by_hand(
    active: Environment, agent: Path, name: str
) -> None:
    imports = (
        f"import shared.frameworks.{name} as s, mobox.agent_path.shared.frameworks.{name} as m"
    )
    code = f"{imports}; print(s.__all__ == m.__all__, all(hasattr(s, each) for each in m.__all__))"
    assert active.run(agent, "-c", code) == "True True\n"


def test_another_package_called_shared_is_not_hidden(active: Environment, agent: Path) -> None:
    (agent / "shared").mkdir()
    (agent / "shared/__init__.py").write_text("mine = True")
    code = "import shared, importlib.util as u; print(shared.mine, u.find_spec('shared.emitter'))"
    assert active.run(agent, "-c", code) == "True None\n"


def test_a_folder_called_shared_is_joined_with_ours(active: Environment, agent: Path) -> None:
    (agent / "shared").mkdir()
    (agent / "shared/prompts.py").write_text("HELLO = 'Hello'")
    code = (
        "from shared.prompts import HELLO; from shared.emitter import emit_text; emit_text(HELLO)"
    )
    assert "Hello" in active.run(agent, "-c", code)


def test_programs_that_import_no_shared_load_nothing_of_mobox(
    active: Environment, agent: Path
) -> None:
    code = (
        "import sys; print([name for name in sys.modules if name.startswith(('mobox', 'shared'))])"
    )
    assert active.run(agent, "-c", code) == "[]\n"
