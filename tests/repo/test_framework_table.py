"""docs/frameworks.md says what the matrix of frameworks and scenarios tests."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "framework-table"


def test_the_page_of_frameworks_is_up_to_date() -> None:
    loader = SourceFileLoader("framework_table", str(SCRIPT))
    spec = spec_from_loader("framework_table", loader)
    assert spec is not None
    script = module_from_spec(spec)
    loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run `make golden`"
