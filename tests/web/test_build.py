"""The built page in the package: matches its sources, is small, and needs only its server."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mobox.server.website import FOLDER
from support.ai_sdk_client import find_node

SOURCES = Path(__file__).parent.parent.parent / "web"
ENTRY_LIMIT = 350 * 1024
BUILD_LIMIT = 5_000_000
"""Of it, formulas and diagrams are 1.8 MB, which is loaded with the first of them."""

ADDRESS = re.compile(r"https?://[^\s\"'`<>\\)}]+")
LOADING = re.compile(
    r"fetch\(|import\(|XMLHttpRequest|sendBeacon|new (?:Worker|WebSocket|EventSource)"
)
"""Code that requests a URL; messages and namespaces only contain theirs."""


FONT = ".woff2"


def files(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def texts(folder: Path) -> dict[str, str]:
    """All files but the fonts."""
    found = files(folder).items()
    return {name: body.decode() for name, body in found if not name.endswith(FONT)}


def digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256(body).hexdigest() for name, body in files(folder).items()}


class Links(HTMLParser):
    """The files that a page loads by itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        address = {"link": told.get("href"), "script": told.get("src"), "img": told.get("src")}
        if found := address.get(tag):
            self.found.append(found.removeprefix("./"))


@pytest.fixture(scope="module")
def links() -> list[str]:
    return Links((FOLDER / "index.html").read_text()).found


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, built again from a copy of its sources in another folder."""
    node, modules = find_node(), SOURCES / "node_modules"
    if node is None or not modules.is_dir():
        missing = "node_modules in web" if node else "Node"
        pytest.skip(f"NOT TESTED THAT THE PAGE IS WHAT ITS SOURCES GIVE: no {missing}; `make test`")
    copy = tmp_path_factory.mktemp("anywhere else") / "web"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("node_modules"))
    (copy / "node_modules").symlink_to(modules)
    built = subprocess.run(
        [node, "node_modules/vite/bin/vite.js", "build"],
        cwd=copy,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return copy.parent / "src/mobox/server/web"


def test_a_build_from_any_folder_gives_the_page_that_is_in_the_package(rebuilt: Path) -> None:
    assert digests(rebuilt) == digests(FOLDER), "the page is not built from web/: `make web`"


def test_the_page_opens_with_little(links: list[str]) -> None:
    entry = [(FOLDER / "index.html").read_bytes()]
    entry += [(FOLDER / name).read_bytes() for name in links]
    assert len(entry) >= 4
    assert sum(len(gzip.compress(body)) for body in entry) <= ENTRY_LIMIT


def test_the_build_is_small() -> None:
    assert sum(map(len, files(FOLDER).values())) <= BUILD_LIMIT


def test_the_page_loads_only_what_is_in_the_build(links: list[str]) -> None:
    assert [link for link in links if not (FOLDER / link).is_file()] == []


def test_no_script_is_written_into_the_page() -> None:
    page = (FOLDER / "index.html").read_text()
    assert re.findall(r"<script(?![^>]* src=)", page) == []
    assert re.findall(r"\son\w+=", page) == []


def test_no_address_of_another_host_is_loaded() -> None:
    for name, text in texts(FOLDER).items():
        assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)]*", text) == [], name
        for address in ADDRESS.finditer(text):
            before = text[max(0, address.start() - 40) : address.start()]
            assert not LOADING.search(before), f"{name}: {before}{address[0]}"


def test_the_build_names_no_folder_of_the_machine_that_made_it() -> None:
    home = re.compile(r"/(?:home|Users|root|tmp|work|builds?)/[\w.-]+/|file:///[\w/]|node_modules/")
    for name, text in texts(FOLDER).items():
        assert home.findall(text) == [], name


def test_formulas_and_diagrams_are_loaded_when_they_are_needed(links: list[str]) -> None:
    for word in ("katex", "mermaid"):
        chunks = [name for name in files(FOLDER) if re.match(rf"assets/{word}-[\w-]+\.js", name)]
        assert chunks
        assert not {*chunks} & {*links}


def test_fonts_are_files_of_one_format() -> None:
    fonts = [name for name in files(FOLDER) if re.search(r"\.(?:woff2?|ttf|otf|eot)$", name)]
    assert len(fonts) >= 20
    assert {Path(name).suffix for name in fonts} == {FONT}
    for name, text in texts(FOLDER).items():
        assert "data:font" not in text, f"{name}: the page's policy refuses it"


def test_every_script_of_the_build_can_be_kept_for_ever() -> None:
    for name in files(FOLDER):
        if name.startswith("assets/"):
            assert re.fullmatch(r"assets/[\w.-]+-[\w-]{8}\.\w+", name), name
