"""The code of a document's blocks, bundled into a page that a browser can open.

A block with a title is a file: ```` ```tsx title="Chat.tsx" ````. The page's own code, in
tests/clients/pages, imports it as `documented/Chat` and only mounts it: what runs is the document.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from support.ai_sdk_client import CLIENTS

__all__ = ["ROOT", "PageSource", "build", "documented_files"]

ROOT: Final = CLIENTS.parents[1]
PAGES: Final = CLIENTS / "pages"
BUILT: Final = CLIENTS / ".built"
BLOCK: Final = re.compile(
    r"^```\w+ title=\"(?P<name>[^\"]+)\"\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class PageSource:
    """A page: a document's code, what mounts it, and the packages that it imports."""

    document: str
    """The document, from the repository's root."""
    entry: str
    """A file in tests/clients/pages."""
    alias: Mapping[str, str] = field(default_factory=dict)
    """Packages by the names under which the code imports them."""
    others: tuple[str, ...] = ()
    """Further documents, whose files the page imports too."""

    @property
    def files(self) -> dict[str, str]:
        """The code of all its documents; the page's own document comes last."""
        documents = (*self.others, self.document)
        return {name: code for each in documents for name, code in documented_files(each).items()}


def documented_files(document: str) -> dict[str, str]:
    """The files of a document by their names; blocks of one name continue each other."""
    files: dict[str, str] = {}
    for block in BLOCK.finditer((ROOT / document).read_text()):
        files[block["name"]] = files.get(block["name"], "") + block["code"]
    assert files, f"{document} has no block with a title"
    return files


def build(node: str, page: PageSource) -> Path:
    """The folder with the bundle, `page.js`; a page that has not changed is not built again."""
    files = page.files
    folder = BUILT / _digest(page, files)
    if not folder.exists():
        BUILT.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILT) as unfinished:
            _bundle(node, page, files, Path(unfinished))
            _move(Path(unfinished), folder)
    return folder


def _digest(page: PageSource, files: Mapping[str, str]) -> str:
    """Changes with everything that the bundle depends on."""
    parts = [page.entry, json.dumps(dict(page.alias)), json.dumps(files)]
    own = [CLIENTS / "bundle.mjs", CLIENTS / "package-lock.json", *sorted(PAGES.iterdir())]
    parts += [path.read_text() for path in own]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _bundle(node: str, page: PageSource, files: Mapping[str, str], folder: Path) -> None:
    documented = folder / "documented"
    for name, code in files.items():
        path = documented / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    alias = {name: str(CLIENTS / "node_modules" / package) for name, package in page.alias.items()}
    wanted = {"entry": str(PAGES / page.entry), "output": str(folder / "page.js")}
    told = json.dumps({**wanted, "documented": str(documented), "alias": alias})
    done = subprocess.run(
        [node, "bundle.mjs", told], cwd=CLIENTS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _move(built: Path, folder: Path) -> None:
    """Another process may have built the same page meanwhile: then that one stays."""
    copy = built.with_name(f"{built.name}-complete")
    shutil.copytree(built, copy)
    try:
        copy.rename(folder)
    except OSError:
        shutil.rmtree(copy)
