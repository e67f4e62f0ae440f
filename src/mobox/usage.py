"""What a run has used so far: the sum over its calls, or its own total, of each execution."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from msgspec import Struct

from mobox.events import MOST, Result, Usage

__all__ = ["Totals", "UsageTotal", "sum_of"]


class Totals(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that is known; `None` for what is not."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total: int | None = None
    cost_usd: float | None = None
    is_total: bool = False
    """The run named these itself."""
    duration_ms: int | float | None = None
    num_turns: int | None = None


_NO_TOTALS = Totals()
_NO_RESULT = Result()
_COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning", "total", "cost_usd")
_values = attrgetter(*_COUNTS)


def sum_of(*counts: int | None) -> int:
    """Counts together, without those that nobody told, and no more than a log can hold."""
    return min(sum(count or 0 for count in counts), MOST)


class _Execution:
    """What one execution of the agent has used."""

    def __init__(self) -> None:
        self.calls: dict[str | None, dict[str, Any]] = {}
        self.sums: dict[str, Any] = {}
        self.run: Usage | None = None
        self._in_run: dict[str, Any] = {}  # what calls had used by then
        self.goes_on = False
        """Whether the total has in it what earlier executions used."""
        self.result = _NO_RESULT

    def add_call(self, event: Usage) -> None:
        """Usage is absolute per id: it replaces what was said under that id."""
        counts = _counts(event)
        self._replace(self.calls.get(event.id, {}), counts)
        self.calls[event.id] = counts

    def _replace(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        """Keep the sums; a run may have thousands of calls, and tells its use after each."""
        for name, count in now.items():
            if before.get(name) != count:  # most stay as they are
                self.sums[name] = self.sums.get(name, 0) + count - before.get(name, 0)
        for name in before:
            if name not in now:
                self.sums[name] -= before[name]

    def add_total(self, event: Usage, earlier: dict[str, Any]) -> None:
        """The total so far, of this execution or, where it goes on from an earlier one, of both.

        That of a session which was resumed goes on. It is at least what was used before, and what
        the calls have used since.
        """
        since = self.sums.get("input", 0)
        self.run, self._in_run = event, dict(self.sums)
        self.goes_on = since > 0 and event.input >= earlier.get("input", 0) + since

    @property
    def counts(self) -> dict[str, Any]:
        """What it says that it has used."""
        counts = dict(self.sums) if self.run is None else _counts(self.run)
        if self.result.cost_usd is not None:
            counts["cost_usd"] = self.result.cost_usd
        return counts

    def added_to(self, earlier: dict[str, Any]) -> dict[str, Any]:
        """What the run has used, if it had used `earlier` before."""
        return {**earlier, **self.counts} if self.goes_on else _sum(earlier, self.counts)

    def ended_after(self, earlier: dict[str, Any]) -> dict[str, Any]:
        """The same once it has ended: what was called after its last total counts too."""
        so_far = self.added_to(earlier)
        if self.run is None:
            return so_far
        since = {name: count - self._in_run.get(name, 0) for name, count in self.sums.items()}
        return _sum(so_far, {name: count for name, count in since.items() if count > 0})


class UsageTotal:
    """Adds up USAGE and RESULT.

    Rule 1: calls add up, by their ids; a total of the run takes their place, and the next total
            replaces it.
    Rule 2: executions of the agent add up. One that broke off before it named its total has used
            what its calls did.
    """

    def __init__(self) -> None:
        self._earlier: dict[str, Any] = {}
        self._counted: set[str | None] = set()  # calls of earlier executions
        self._is_total = False
        self._statistics: dict[str, Any] = {}
        self._execution: str | None = None
        self._now = _Execution()

    def add(self, event: Usage | Result) -> None:
        """Take what was told of the use."""
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
        """The sum; `None` when there is nothing to tell."""
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
