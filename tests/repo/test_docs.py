"""What the pages say in Python is true: it runs, and the names exist."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))) if page.exists()]
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"^\| .* \| `(mobox[\w.]*)` \|", re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_of_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text()
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        above = text.count("\n", 0, block.start(1))  # so that a failure names the page's line
        source = "\n" * above + textwrap.dedent(block[1])
        exec(compile(source, name_of(page), "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("name", NAME.findall((ROOT / "docs/names.md").read_text()))
def test_a_name_of_the_table_exists(name: str) -> None:
    assert resolve_name(name) is not None


def test_the_tests_of_this_file_have_something_to_test() -> None:
    assert any(BLOCK.search(page.read_text()) for page in PAGES)
