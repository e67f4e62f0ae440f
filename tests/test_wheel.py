"""What `pip install` brings: all that a server needs, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

from server.live_server import LIMIT, clean_environment

ROOT = Path(__file__).parent.parent
BUILD = """
import sys
from hatchling.build import build_wheel
print(build_wheel(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network by the backend that is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-c", BUILD, str(folder)]
    built = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    return folder / built.stdout.split()[-1]


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


def test_the_wheel_holds_the_package_and_the_demo_and_nothing_else(wheel: Path) -> None:
    names = {name for name in names_in(wheel) if ".dist-info/" not in name}
    package = {f"mobox/{name}" for name in files_of(ROOT / "src/mobox")}
    demo = {f"mobox/agents/demo/{name}" for name in files_of(ROOT / "agents/demo")}
    assert names == package | demo


def test_the_wheel_holds_what_is_no_python(wheel: Path) -> None:
    names = names_in(wheel)
    for needed in (
        "mobox/agents/demo/agent.yaml",
        "mobox/cli/demo.jsonl",
        "mobox/py.typed",
        "mobox/sandbox/keeper.py",
        "mobox/server/static/docs.css",
        "mobox/server/web/index.html",
    ):
        assert needed in names
    assert any(n.startswith("mobox/storage/migrations/") and n.endswith(".sql") for n in names)


def test_an_installed_server_has_an_agent_wherever_it_is_started(
    installed: Path, tmp_path: Path
) -> None:
    code = (
        "from mobox.catalog import Catalog; from mobox.server import Settings;"
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
    argv = [sys.executable, "-c", start, "serve", "--port", "0", "--data", str(tmp_path / "data")]
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
