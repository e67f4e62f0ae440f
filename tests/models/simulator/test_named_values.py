"""Values that a prompt names: dates, quantities and quoted titles become the inputs of tools."""

from __future__ import annotations

import pytest

from mobox.models.simulator.named_values import dates_in, named_values

DATES = ("start_date", "end_date")
UNITS = ("value", "from_unit", "to_unit")


@pytest.mark.parametrize(
    ("prompt", "dates"),
    [
        ("From 2026-12-24 to 2027-01-03", ["2026-12-24", "2027-01-03"]),
        ("from 24 December 2026 until 3. may 2027", ["2026-12-24", "2027-05-03"]),
        ("in May, on the 3rd, in 2027", []),
    ],
)
def test_dates(prompt: str, dates: list[str]) -> None:
    assert dates_in(prompt) == dates


def test_properties_get_dates_in_their_order() -> None:
    given = named_values("Between 2026-12-24 and 2027-05-03?", ("text", *DATES))
    assert given == {"start_date": "2026-12-24", "end_date": "2027-05-03"}
    assert named_values("On 2026-12-24?", DATES) == {"start_date": "2026-12-24"}


@pytest.mark.parametrize(
    ("prompt", "values"),
    [
        ("Convert 26.2 miles to kilometres.", ("26.2", "miles", "kilometres")),
        ("What is 20 °C in °F?", ("20", "°C", "°F")),
    ],
)
def test_quantities(prompt: str, values: tuple[str, ...]) -> None:
    given = named_values(prompt, UNITS)
    assert tuple(given[name] for name in UNITS) == values


def test_quoted_words_are_titles() -> None:
    assert named_values("Delete “Old keys”.", ("title", "text")) == {"title": "Old keys"}
    assert named_values('Rename "Old keys"', ("note_name",)) == {"note_name": "Old keys"}
    assert named_values("It's Anna's list", ("title",)) == {}
