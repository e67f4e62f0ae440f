"""Token usage of a run: the sum over its calls, or its own total, of each execution."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from msgspec import Struct

from mobox.events import MOST, Result, Usage


class Totals(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The known counts; `None` for unknown ones."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total: int | None = None
    cost_usd: float | None = None
    is_total: bool = False
    """The run reported these itself."""
    duration_ms: int | float | None = None
    num_turns: int | None = None


_NO_TOTALS = Totals()
_NO_RESULT = Result()
_COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning", "total", "cost_usd")
_values = attrgetter(*_COUNTS)


def sum_counts(*counts: int | None) -> int:
    """The sum of the known counts, capped at what a log can hold."""
    return min(sum(count or 0 for count in counts), MOST)


class _Execution:
    """The usage of one execution of the agent."""

    def __init__(self) -> None:
        self.calls: dict[str | None, dict[str, Any]] = {}
        self.sums: dict[str, Any] = {}
        self.run: Usage | None = None
        self._in_run: dict[str, Any] = {}  # usage of calls at that time
        self.goes_on = False
        """Whether the total includes the usage of earlier executions."""
        self.result = _NO_RESULT

    def add_call(self, event: Usage) -> None:
        """Usage is absolute per id: it replaces the earlier value of that id."""
        counts = _counts(event)
        self._replace(self.calls.get(event.id, {}), counts)
        self.calls[event.id] = counts

    def _replace(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        """Update the sums; a run may have thousands of calls, and reports usage after each."""
        for name, count in now.items():
            if before.get(name) != count:  # most do not change
                self.sums[name] = self.sums.get(name, 0) + count - before.get(name, 0)
        for name in before:
            if name not in now:
                self.sums[name] -= before[name]

    def add_total(self, event: Usage, earlier: dict[str, Any]) -> None:
        """The total so far, of this execution or, where it continues an earlier one, of both.

        The total of a resumed session continues. It is at least the usage before plus that of the
        calls since.
        """
        since = self.sums.get("input", 0)
        self.run, self._in_run = event, dict(self.sums)
        self.goes_on = since > 0 and event.input >= earlier.get("input", 0) + since

    @property
    def counts(self) -> dict[str, Any]:
        """The total that it reported."""
        counts = dict(self.sums) if self.run is None else _counts(self.run)
        if self.result.cost_usd is not None:
            counts["cost_usd"] = self.result.cost_usd
        return counts

    def added_to(self, earlier: dict[str, Any]) -> dict[str, Any]:
        """The usage of the run, given `earlier` usage."""
        return {**earlier, **self.counts} if self.goes_on else _sum(earlier, self.counts)

    def ended_after(self, earlier: dict[str, Any]) -> dict[str, Any]:
        """The same after its end: calls after its last total are added."""
        so_far = self.added_to(earlier)
        if self.run is None:
            return so_far
        since = {name: count - self._in_run.get(name, 0) for name, count in self.sums.items()}
        return _sum(so_far, {name: count for name, count in since.items() if count > 0})


class UsageTotal:
    """Adds up USAGE and RESULT.

    Rule 1: calls add up, by their ids; a total of the run replaces their sum, and the next total
            replaces it.
    Rule 2: executions of the agent add up. For one that was interrupted before it reported its
            total, the sum of its calls counts.
    """

    def __init__(self) -> None:
        self._earlier: dict[str, Any] = {}
        self._counted: set[str | None] = set()  # calls of earlier executions
        self._is_total = False
        self._statistics: dict[str, Any] = {}
        self._execution: str | None = None
        self._now = _Execution()

    def add(self, event: Usage | Result) -> None:
        """Take an event about usage."""
        if event.execution != self._execution:
            self._begin(event.execution)
        if isinstance(event, Result):
            self._now.result = event
        elif event.per == "run":
            self._now.add_total(event, self._earlier)
        elif event.id not in self._counted:
            self._now.add_call(event)

    def _begin(self, execution: str | None) -> None:
        self._execution = execution
        self._earlier = self._now.ended_after(self._earlier)
        self._counted |= self._now.calls.keys() - {None}
        self._is_total = self._is_total or self._now.run is not None
        self._statistics = self._all_statistics
        self._now = _Execution()

    @property
    def totals(self) -> Totals | None:
        """The sum; `None` if no usage is known."""
        sums = self._now.added_to(self._earlier)
        totals = Totals(
            **{name: min(count, MOST) for name, count in sums.items()},
            is_total=self._is_total or self._now.run is not None,
            **self._all_statistics,
        )
        return totals if totals != _NO_TOTALS else None

    @property
    def _all_statistics(self) -> dict[str, Any]:
        result = self._now.result
        counts = {"duration_ms": result.duration_ms, "num_turns": result.num_turns}
        return _sum(self._statistics, {n: c for n, c in counts.items() if c is not None})


def _sum(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {**one, **{name: one.get(name, 0) + count for name, count in other.items()}}


def _counts(usage: Usage) -> dict[str, Any]:
    counts = zip(_COUNTS, _values(usage), strict=True)
    return {name: count for name, count in counts if count is not None and math.isfinite(count)}
