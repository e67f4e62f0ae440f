"""The page on stability lists the public names, and the documentation uses no others."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/stability.md").read_text("utf-8")
PAGES = [ROOT / "README.md", ROOT / "examples/README.md", *sorted(ROOT.glob("docs/*.md"))]
GUIDES = {"add-a-framework", "add-a-protocol"}
PLUGINS_IMPORT = {"mobox", "mobox.errors", "mobox.events", "mobox.formatting", "mobox.parsing"}
CODE = re.compile(r"`(\w+)`")
MODULE = re.compile(r"^### `([\w.]+)`\n\n(.+?)\n\n", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(mobox[\w.]*)` \| (.+) \|$", re.MULTILINE)
BLOCK = re.compile(r"^ *```(?:python|py)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)

MODULES = {module: CODE.findall(names) for module, names in MODULE.findall(PAGE)}
OTHERS = {module: CODE.findall(names) for module, names in ROW.findall(PAGE)}
PUBLIC = {module: set(names) for module, names in (MODULES | OTHERS).items()}


def names_of(module: str) -> list[str]:
    """The names that a module declares; else the functions and classes that it defines."""
    found = import_module(module)
    defined = [
        name
        for name, value in vars(found).items()
        if callable(value) and value.__module__ == module and not name.startswith("_")
    ]
    return sorted(getattr(found, "__all__", defined))


def imports_of(page: Path) -> Iterator[tuple[str, str]]:
    """The module and the name of each import of Mobox in the code of a page."""
    for block in BLOCK.finditer(page.read_text("utf-8")):
        for node in ast.walk(ast.parse(textwrap.dedent(block[1]))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mobox"):
                yield from ((str(node.module), alias.name) for alias in node.names)
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names if alias.name.startswith("mobox")]
                yield from ((module, "") for module in modules)


@pytest.mark.parametrize("module", MODULES)
def test_page_lists_the_names_of_a_public_module(module: str) -> None:
    assert sorted(MODULES[module]) == names_of(module)


@pytest.mark.parametrize("module", OTHERS)
def test_public_name_of_another_module_exists(module: str) -> None:
    assert [name for name in OTHERS[module] if not hasattr(import_module(module), name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_documentation_imports_public_names_only(page: Path) -> None:
    imported = list(imports_of(page))
    assert [
        (module, name)
        for module, name in imported
        if module not in PUBLIC or (name and name not in PUBLIC[module])
    ] == []
    if page.stem in GUIDES:
        assert {module for module, _ in imported} <= PLUGINS_IMPORT


def test_there_is_something_to_check() -> None:
    assert {"mobox", "mobox.parsing", "mobox.formatting", "mobox.events"} <= MODULES.keys()
    assert "mobox.storage" in OTHERS
    assert sum(len(list(imports_of(page))) for page in PAGES) > 50
