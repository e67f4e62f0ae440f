"""The table of log lines in docs/deployment.md has every warning and error that Mobox logs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mobox

SRC = Path(mobox.__file__).parent
PAGE = SRC.parents[1] / "docs" / "deployment.md"
LEVELS = {"warning", "error", "exception", "critical"}
LOGGERS = {"log", "logger"}
ONLY_VALUES = {"%s", "run %s: %s"}
"""Lines whose words are in the values: these are in the table by an example."""


def logged() -> Iterator[str]:
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr=level),
                    args=[ast.Constant(value=str() as line), *_],
                ) if name in LOGGERS and level in LEVELS:
                    yield line


LINES = sorted({line for line in logged() if line not in ONLY_VALUES})


def test_there_are_lines() -> None:
    assert len(LINES) > 15


@pytest.mark.parametrize("line", LINES)
def test_the_table_has_the_line(line: str) -> None:
    section = PAGE.read_text("utf-8").partition("## Log lines")[2].partition("\n## ")[0]
    rows = re.findall(r"`([^`]+)`", section)
    words = [part for part in re.split(r"%[.\d]*[sdrf]", line) if part.strip(" :%(),")]
    assert any(all(part.strip() in row for part in words) for row in rows), line
