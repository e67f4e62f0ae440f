"""What a run has used: the sum over its calls, until the run itself names its total."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mobox.events import Result, Usage
from mobox.events.usage import Totals, UsageTotal
from support.strategies import EVENTS

Told = Usage | Result
AGAIN = Result(text="again")
"""Another execution begins."""


def totals_of(*events: Told) -> Totals | None:
    total, execution = UsageTotal(), None
    for event in events:
        if event is AGAIN:
            execution = f"{execution}."
        else:
            total.add(replace(event, execution=execution))
    return total.totals


CASES: list[tuple[str, list[Told], Totals | None]] = [
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
    (
        "the totals of executions are added up",
        [Usage(per="run", input=7, cost_usd=0.5), AGAIN, Usage(per="run", input=9, cost_usd=0.25)],
        Totals(input=16, output=0, cost_usd=0.75, is_total=True),
    ),
    (
        "an execution that named no total used what its calls did",
        [Usage(id="a", input=100, output=7), AGAIN, Usage(per="run", input=100, output=7)],
        Totals(input=200, output=14, is_total=True),
    ),
    (
        "calls after the total of an execution that broke off count too",
        [
            *(Usage(id="a", input=5, output=1), Usage(per="run", input=7, output=1)),
            *(Usage(id="b", input=3, output=1), AGAIN, Usage(id="c", input=1, output=1)),
        ],
        Totals(input=11, output=3, is_total=True),
    ),
    (
        "a total within an execution still replaces the one before",
        [Usage(per="run", input=7), AGAIN, Usage(per="run", input=1), Usage(per="run", input=2)],
        Totals(input=9, output=0, is_total=True),
    ),
    (
        "a total that goes on from an earlier execution has that in it",
        [
            *(Usage(id="a", input=10, output=5), Usage(per="run", input=10, output=5), AGAIN),
            *(Usage(id="b", input=10, output=5), Usage(per="run", input=20, output=10)),
            Usage(id="c", input=10, output=5),
        ],
        Totals(input=20, output=10, is_total=True),
    ),
    (
        "a total that begins anew has not",
        [
            *(Usage(id="a", input=10, output=5), Usage(per="run", input=10, output=5), AGAIN),
            *(Usage(id="b", input=10, output=5), Usage(per="run", input=12, output=6)),
        ],
        Totals(input=22, output=11, is_total=True),
    ),
    (
        "calls without an id are one call in each execution",
        [Usage(input=1), Usage(input=2), AGAIN, Usage(input=4)],
        Totals(input=6, output=0),
    ),
    (
        "a call that is told again by a later execution is not another",
        [Usage(id="a", input=1), AGAIN, Usage(id="a", input=1), Usage(id="b", input=2)],
        Totals(input=3, output=0),
    ),
    (
        "statistics are added up",
        [Result(num_turns=1, duration_ms=5), AGAIN, AGAIN, Result(num_turns=2, cost_usd=0.5)],
        Totals(num_turns=3, duration_ms=5, cost_usd=0.5),
    ),
]


@pytest.mark.parametrize(
    ("events", "totals"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_totals(events: list[Told], totals: Totals | None) -> None:
    assert totals_of(*events) == totals


usages: Any = st.lists(EVENTS["usage"], max_size=8)


@given(usages)
def test_repeating_every_event_changes_nothing(said: list[Usage]) -> None:
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
