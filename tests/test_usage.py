"""What a run has used: the sum over its calls, until the run itself names its total."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.events import Result, Usage
from mobox.usage import Totals, UsageTotal
from strategies import EVENTS


def totals_of(*events: Usage | Result) -> Totals | None:
    total = UsageTotal()
    for event in events:
        total.add(event)
    return total.totals


CASES: list[tuple[str, list[Usage | Result], Totals | None]] = [
    ("nothing", [], None),
    ("one call", [Usage(id="a", input=1, output=2)], Totals(input=1, output=2)),
    (
        "the calls are added up",
        [Usage(id="a", input=1, output=2), Usage(id="b", input=10, output=20)],
        Totals(input=11, output=22),
    ),
    (
        "up to what can be counted",
        [Usage(id="a", input=2**53), Usage(id="b", input=1)],
        Totals(input=2**53, output=0),
    ),
    (
        "what is said again of a call replaces what was said",
        [Usage(id="a", input=1, output=2), Usage(id="a", input=1, output=9)],
        Totals(input=1, output=9),
    ),
    (
        "calls without an id are one call",
        [Usage(input=1, output=2), Usage(input=3, output=4)],
        Totals(input=3, output=4),
    ),
    (
        "what only one call tells is told",
        [Usage(id="a", cache_read=5, reasoning=1), Usage(id="b", cache_write=7, cost_usd=0.5)],
        Totals(input=0, output=0, cache_read=5, cache_write=7, reasoning=1, cost_usd=0.5),
    ),
    (
        "what a call no longer tells is gone",
        [Usage(id="a", cache_read=5), Usage(id="b", cache_read=2), Usage(id="a")],
        Totals(input=0, output=0, cache_read=2),
    ),
    (
        "the total of the run takes the place of the sum",
        [Usage(id="a", input=1, output=2), Usage(per="run", input=7, output=8, total=15)],
        Totals(input=7, output=8, total=15, is_total=True),
    ),
    (
        "and stays it, whatever is called later",
        [Usage(per="run", input=7, output=8), Usage(id="a", input=1, output=2)],
        Totals(input=7, output=8, is_total=True),
    ),
    (
        "until the run names another",
        [Usage(per="run", input=7), Usage(per="run", input=9)],
        Totals(input=9, output=0, is_total=True),
    ),
    (
        "the statistics of the run",
        [Usage(id="a", input=1, output=2), Result(duration_ms=5, num_turns=3)],
        Totals(input=1, output=2, duration_ms=5, num_turns=3),
    ),
    (
        "the cost that a result tells counts for more",
        [Usage(per="run", cost_usd=0.25), Result(cost_usd=0.5)],
        Totals(input=0, output=0, cost_usd=0.5, is_total=True),
    ),
    (
        "the last result counts",
        [Result(num_turns=1, duration_ms=2), Result(num_turns=2)],
        Totals(num_turns=2),
    ),
    ("a result without statistics says nothing", [Result(text="Hi")], None),
]


@pytest.mark.parametrize(
    ("events", "totals"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_totals(events: list[Usage | Result], totals: Totals | None) -> None:
    assert totals_of(*events) == totals


usages: Any = st.lists(EVENTS["usage"], max_size=8)


@given(usages)
def test_saying_everything_twice_changes_nothing(said: list[Usage]) -> None:
    once, twice = totals_of(*said), totals_of(*said, *said)
    assert close(once) == close(twice)


@given(usages)
def test_the_sum_is_that_of_the_last_word_on_each_call(said: list[Usage]) -> None:
    if any(usage.per == "run" for usage in said):
        return
    last = {usage.id: usage for usage in said}
    totals = totals_of(*said)
    can_be_counted = min(2**53, sum(usage.input for usage in last.values()))
    assert (totals.input if totals else None) == (can_be_counted if last else None)


def close(totals: Totals | None) -> Any:
    """Costs are floats, whose sum depends on the order by a rounding error."""
    if totals is None:
        return None
    cost = None if totals.cost_usd is None else round(totals.cost_usd, 3)
    return [totals.input, totals.output, totals.reasoning, totals.total, totals.is_total, cost]
