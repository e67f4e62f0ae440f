"""The mapping page says what the code does."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from mobox.parsers import frameworks
from mobox.parsers.formats import Format, has_keys, kind_in

SCRIPT = Path(__file__).parents[2] / "scripts" / "event-mapping"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = SourceFileLoader("event_mapping", str(SCRIPT))
    spec = spec_from_loader("event_mapping", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_mapping_page_is_up_to_date(script: ModuleType) -> None:
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run `make golden`"


def test_kinds_of_lines_come_from_the_formats_of_a_parser(script: ModuleType) -> None:
    words = Format("words", (kind_in("kind", ("word", "act")), has_keys("squawk", "at")))
    nested = Format("nested", (has_keys("parrot"),), kind=("parrot.0.kind", "parrot.0.act.name"))
    counted = Format("counts", (has_keys("count"),), kind=lambda line: f"{line['count']} words")
    unnamed = Format("a parrot's feathers", (lambda line: float("feathers" in line),))
    formats = [words, nested, counted, unnamed]
    rows = [
        ({"kind": "word", "text": "Polly"}, "word"),
        ({"squawk": {}, "at": 1}, "squawk"),
        ({"parrot": [{"kind": "act", "act": {"name": "open"}}]}, "act / open"),
        ({"count": 2}, "2 words"),
        ({"feathers": 3}, "a parrot's feathers"),
        ({"type": "text", "data": {"content": "a line of the emitter"}}, "text"),
        ({"kind": "unknown to all"}, "unknown to all"),
        ({"other": 1}, "other"),
    ]
    for line, kind in rows:
        assert script.kind_of(line, formats) == kind
    assert script.known_to([words, Format("more", (), known=("end",))]) == {"word", "act", "end"}


def test_the_script_knows_no_framework() -> None:
    others = [name for name in frameworks() if name != "emitted"]
    assert [name for name in others if name in SCRIPT.read_text("utf-8").lower()] == []
