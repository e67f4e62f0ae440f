"""The walk through the code names what is there, and its picture shows the imports that are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WALK = (ROOT / "docs/how-it-works.md").read_text("utf-8")
STEP = re.compile(r"`([\w/]+\.(?:py|tsx?))`\s+`(\w+)`")
PLACE = re.compile(r"`([\w/]+\.(?:py|tsx?|md))`")


def source_of(path: str) -> Path:
    return ROOT / path if path.startswith("web/") else ROOT / "src/mobox" / path


@pytest.mark.parametrize(("path", "name"), STEP.findall(WALK))
def test_a_step_names_what_is_there(path: str, name: str) -> None:
    python = rf"^ *(?:async )?(?:def|class) {name}\b|^{name}\b.* = "
    typescript = rf"\b(?:function|const|class) {name}\b|^ *(?:async )?{name}(?:\(| = )"
    defined = python if path.endswith(".py") else typescript
    assert re.search(defined, source_of(path).read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(PLACE.findall(WALK))))
def test_a_file_of_the_walk_exists(path: str) -> None:
    assert source_of(path).is_file()


def test_the_walk_has_steps() -> None:
    assert len(STEP.findall(WALK)) > 25


def test_the_picture_shows_the_imports_that_are_there(tmp_path: Path) -> None:
    drawn = tmp_path / "imports.svg"
    subprocess.run([sys.executable, ROOT / "scripts/import-map", drawn], check=True, cwd=ROOT)
    told = "run `scripts/import-map`"
    assert drawn.read_text("utf-8") == (ROOT / "docs/pictures/imports.svg").read_text("utf-8"), told
