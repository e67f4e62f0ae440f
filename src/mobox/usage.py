"""What a run has used so far: the sum over its calls, until the run itself names its total."""

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


class UsageTotal:
    """Adds up USAGE and RESULT."""

    def __init__(self) -> None:
        self._calls: dict[str | None, dict[str, Any]] = {}
        self._sums: dict[str, Any] = {}
        self._run: Usage | None = None
        self._result: Result | None = None

    def add(self, event: Usage | Result) -> None:
        """Usage is absolute per id: it replaces what was said under that id."""
        if isinstance(event, Result):
            self._result = event
        elif event.per == "run":
            self._run = event
        else:
            counts = _counts(event)
            self._replace(self._calls.get(event.id, {}), counts)
            self._calls[event.id] = counts

    @property
    def totals(self) -> Totals | None:
        """The sum; `None` when there is nothing to tell."""
        sums = dict(self._sums) if self._run is None else _counts(self._run)
        result = self._result or _NO_RESULT
        if result.cost_usd is not None:
            sums["cost_usd"] = result.cost_usd
        totals = Totals(
            **{name: min(count, MOST) for name, count in sums.items()},
            is_total=self._run is not None,
            duration_ms=result.duration_ms,
            num_turns=result.num_turns,
        )
        return totals if totals != _NO_TOTALS else None

    def _replace(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        """Keep the sums; a run may have thousands of calls, and tells its use after each."""
        for name, count in now.items():
            if before.get(name) != count:  # most stay as they are
                self._sums[name] = self._sums.get(name, 0) + count - before.get(name, 0)
        for name in before:
            if name not in now:
                self._sums[name] -= before[name]


def _counts(usage: Usage) -> dict[str, Any]:
    counts = zip(_COUNTS, _values(usage), strict=True)
    return {name: count for name, count in counts if count is not None and math.isfinite(count)}
