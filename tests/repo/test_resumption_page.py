"""Every guarantee in docs/stream-resumption.md names an existing test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "stream-resumption.md"
_, TABLE = PAGE.read_text().split("| fault | what is promised | shown by |\n| --- | --- | --- |\n")
ROWS = [row.strip("| ").split(" | ") for row in TABLE.partition("\n\n")[0].splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_promise_is_shown_by_tests_that_are_there(row: list[str]) -> None:
    _fault, _promise, shown = row
    file = ""
    named = re.findall(r"`([^`]+)`", shown)
    for name in named:
        if name.endswith(".py"):
            file = (TESTS / name).read_text()
        else:
            assert re.search(rf"^(async )?def {name}\(", file, re.MULTILINE), name
    assert sum(not name.endswith(".py") for name in named) >= 1


def test_there_are_promises() -> None:
    assert len(ROWS) > 10
