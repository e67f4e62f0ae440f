"""The mapping page says what the code does."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "event-mapping"


def test_the_mapping_page_is_up_to_date() -> None:
    loader = SourceFileLoader("event_mapping", str(SCRIPT))
    spec = spec_from_loader("event_mapping", loader)
    assert spec is not None
    script = module_from_spec(spec)
    loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run `make golden`"
