"""`HttpAgent` 1.0 in a browser: each cell of the table in docs/clients/README.md."""

from __future__ import annotations

import pytest

from guides.http_agent import HTTP_AGENT as CLIENT
from guides.scenarios import run_cell
from guides.world import MakeWorld


@pytest.mark.parametrize("cell", CLIENT.cells)
def test_cell(cell: str, world: MakeWorld) -> None:
    run_cell(cell, world(CLIENT))
