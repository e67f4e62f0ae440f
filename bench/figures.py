"""What a bench is: the figures it promises, and a way to measure them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["Bench", "Figure", "Samples", "Value", "merge"]

Samples = dict[str, list[float]]
"""What one whole run found: by the key of a figure, one value a round."""


@dataclass(frozen=True)
class Figure:
    """A number that a bench finds, and what it should be."""

    key: str
    label: str
    unit: Literal["", "x", "µs", "ms", "%", "KB", "MB", "/s"] = "x"
    at_least: float | None = None
    at_most: float | None = None
    panel: str | None = None
    """The title of the part of the plot that shows it, if any does."""

    @property
    def target(self) -> float | None:
        return self.at_most if self.at_least is None else self.at_least

    @property
    def goal(self) -> str:
        """The target in words, such as ≥ 5x; nothing where there is none."""
        if self.target is None:
            return ""
        return f"{'≤' if self.at_least is None else '≥'} {self.target:g}{self.suffix}"

    @property
    def suffix(self) -> str:
        """The unit as it follows a number."""
        return self.unit if self.unit in ("", "x") else f" {self.unit}"

    def is_met(self, value: float) -> bool:
        """Whether `value` reaches the target; without one, it does."""
        above = self.at_least is None or value >= self.at_least
        return above and (self.at_most is None or value <= self.at_most)


class Bench(Protocol):
    """A module of this package that `bench.__main__` lists."""

    TITLE: str
    FIGURES: Sequence[Figure]
    """In the order of the table. One that was not measured (no such peer here) is left out."""

    def measure(self, rounds: int) -> Samples:
        """One whole run, in a process of its own."""
        ...

    def versions(self) -> Mapping[str, str]:
        """What was compared."""
        ...

    def explain(self, missed: Sequence[str]) -> str:
        """Where the time goes, as Markdown, when the figures of these keys miss their targets."""
        ...


@dataclass(frozen=True)
class Value:
    """A figure over all runs."""

    median: float
    """Of the runs' medians."""
    low: float
    high: float
    """p10 and p90 of all rounds of all runs."""
    runs: tuple[float, ...]
    """The runs' medians."""


def merge(runs: Sequence[Samples]) -> dict[str, Value]:
    """The figures of several whole runs."""
    return {key: _value([run[key] for run in runs]) for key in runs[0]}


def _value(runs: Sequence[Sequence[float]]) -> Value:
    medians = tuple(statistics.median(run) for run in runs)
    everything = [sample for run in runs for sample in run]
    tenths = statistics.quantiles(2 * everything, n=10, method="inclusive")  # of one, too
    return Value(statistics.median(medians), tenths[0], tenths[-1], medians)
