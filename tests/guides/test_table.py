"""docs/clients/README.md has the table of what each client does, and every cell of it is a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from guides.bundles import ROOT, documented_files
from guides.cells import CELLS, Client, table
from guides.clients import CLIENTS
from guides.scenarios import SCENARIOS

DOCUMENT = ROOT / "docs/clients/README.md"
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end of the table -->)", re.DOTALL)
HERE = Path(__file__).parent

each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)


def test_the_document_has_the_table(regold: bool) -> None:
    text = DOCUMENT.read_text()
    assert TABLE.search(text), "the marks of the table are missing"
    expected = TABLE.sub(lambda _: f"\n{table(CLIENTS)}\n", text)
    if regold:
        DOCUMENT.write_text(expected)
        return
    assert text == expected, "pytest --regold tests/guides/test_table.py"


@each_client
def test_every_cell_has_a_scenario_or_a_reason(client: Client) -> None:
    assert set(client.reasons) <= set(CELLS)
    assert set(client.own) <= set(client.cells)
    assert [cell for cell in client.cells if cell not in {**SCENARIOS, **client.own}] == []


@each_client
def test_every_client_has_a_module_that_runs_its_cells(client: Client) -> None:
    runs = [path.name for path in HERE.glob("test_*.py") if _runs(path, client)]
    assert len(runs) == 1, runs


def _runs(path: Path, client: Client) -> bool:
    modules = vars(__import__(f"guides.{path.stem}", fromlist=["CLIENT"]))
    return modules.get("CLIENT") is client


@each_client
def test_the_document_of_a_client_has_its_code(client: Client) -> None:
    assert documented_files(client.page.document)
