"""The page on adding a protocol, done as a stranger would: its files, and what commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from server.live_server import LIMIT, clean_environment, live_server

PAGE = Path(__file__).parents[2] / "docs" / "add-a-protocol.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w./-]+)`:\n\n\Z")
RUN = re.compile(r"run_[0-9a-f]{32}")
SERVED = "http://127.0.0.1:8000"


class Stranger:
    """Somebody with a folder, and a Mobox that was installed elsewhere."""

    def __init__(self, folder: Path, servers: ExitStack) -> None:
        self.folder = folder / "package"
        self._data = folder / "data"
        self._servers = servers
        self._url = SERVED
        installed = folder / "installed"
        self._environment = clean_environment(
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            PYTHONPATH=str(installed),
            # As a machine without a network installs: what it needs is there.
            PIP_TARGET=str(installed),
            PIP_NO_INDEX="1",
            PIP_NO_DEPS="1",
            PIP_NO_BUILD_ISOLATION="0",  # which is how pip spells that there is none
            PIP_NO_CACHE_DIR="1",
            PIP_QUIET="1",
            PIP_DISABLE_PIP_VERSION_CHECK="1",
            PIP_ROOT_USER_ACTION="ignore",
            NO_PROXY="127.0.0.1",
            PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        )

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def run(self, command: str) -> str:
        """What a command prints."""
        if command.startswith("mobox serve "):
            arguments = command.removeprefix("mobox serve ").removesuffix(" &").split()
            self._serve(*arguments)
            return ""
        done = subprocess.run(
            ["bash", "-c", command.replace(SERVED, self._url)],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=3 * LIMIT,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert done.stderr == "", command
        return RUN.sub("run_…", done.stdout)

    def _serve(self, *arguments: str) -> None:
        words = [str(self.folder / each) if each == "agents" else each for each in arguments]
        installed = self._environment["PYTHONPATH"]
        server = live_server(self._data, *words, PYTHONPATH=installed)
        self._url = self._servers.enter_context(server).url


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Stranger]:
    with ExitStack() as servers:
        yield Stranger(tmp_path, servers)


def sessions(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with what it prints."""
    _, *said = re.split(r"^\$ ", block, flags=re.MULTILINE)
    return [(command, printed) for command, _, printed in (each.partition("\n") for each in said)]


def test_the_page_is_done_as_it_is_written(stranger: Stranger) -> None:
    text = PAGE.read_text("utf-8")
    blocks = list(FENCE.finditer(text))
    files = {
        named[1]: block[2] for block in blocks if (named := FILE.search(text[: block.start()]))
    }
    for name, content in files.items():
        stranger.write(name, content)
    tree, *rest = [block[2] for block in blocks if block[1] == "text"]
    assert rest == []
    assert [line.split()[0] for line in tree.splitlines()] == sorted(files)
    consoles = [block[2] for block in blocks if block[1] == "console"]
    assert len(files) + len(consoles) + 1 == len(blocks), "a block that nobody runs"
    for command, printed in (each for block in consoles for each in sessions(block)):
        assert stranger.run(command) == printed, command
