"""The page of what each event becomes says what the formatters do, and leaves nothing out."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from mobox.events import Done, EventType
from mobox.formatters import protocols
from mobox.lifecycle import Lifecycle
from support.event_cases import CASES, HALF, WAITS, Case

SCRIPT = Path(__file__).parents[2] / "scripts" / "protocol-table"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = SourceFileLoader("protocol_table", str(SCRIPT))
    spec = spec_from_loader("protocol_table", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(script: ModuleType) -> None:
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run `make golden`"


def test_every_event_has_a_row_and_every_protocol_its_place(script: ModuleType) -> None:
    assert {case.event.type for case in CASES} == set(EventType)
    assert len({case.name for case in CASES}) == len(CASES)
    assert {*script.SHOWN, "canonical"} == set(protocols())


def test_results_of_the_recordings_are_in_the_table(script: ModuleType) -> None:
    assert script.unexplained() == {}


def test_no_reason_is_given_for_a_cell_that_is_not_empty(script: ModuleType) -> None:
    for protocol, reasons in script.WHY.items():
        empty = [case for case in CASES if script.cell(case, protocol).startswith(script.NOTHING)]
        names = {case.name for case in empty} | {f"`{case.event.type}`" for case in empty}
        assert reasons.keys() <= names


@pytest.mark.parametrize(
    "case", [*CASES, Case(HALF[-1], HALF[:-1]), Case(WAITS[-1], WAITS[:-1])], ids=lambda c: c.name
)
def test_the_log_of_a_row_is_a_legal_beginning(case: Case) -> None:
    events = [entry.event for entry in case.log]
    lifecycle = Lifecycle()
    told = [event for given in events for event in lifecycle.feed(given)]
    if isinstance(events[-1], Done):
        told += lifecycle.close()
    assert told == events
