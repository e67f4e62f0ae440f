"""How time is taken: each case between two timings of a reference, in one process, many rounds.

A core of a shared machine changes its speed by up to 1.8 within minutes, for everything that runs
on it. A case divided by the reference timed right before and right after it does not.

Rule 1: what counts is CPU time, of all threads of the process that does the work.
Rule 2: the collector stays on, as in production. What exists before the first round is frozen out
        of it, so that no case pays for another's inputs.
Rule 3: costs are per event of the raw input, whatever a case makes of an event.
"""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

__all__ = ["Case", "Costs", "in_process", "pair", "use_one_core"]

SAMPLE = 0.04
"""Seconds that one timing takes at least: long against the clock, short against the noise."""
WARM_UP_PASSES, WARM_UP_SECONDS = 10, 2.0
"""Whichever is less; Node's compiler has settled after about eight passes."""


@dataclass(frozen=True)
class Case:
    """Something that goes over a whole input of `events` events."""

    name: str
    events: int
    spend: Callable[[int], float]
    """Go over the input so many times; return the CPU seconds that took."""


@dataclass
class Costs:
    """What each round found, by the name of the case."""

    relative: dict[str, list[float]] = field(default_factory=dict)
    """Cost of an event ÷ that of the reference."""
    microseconds: dict[str, list[float]] = field(default_factory=dict)
    """CPU time of an event. Only for orientation: it moves with the machine."""

    def ratio(self, above: str, below: str) -> list[float]:
        """Cost of one case ÷ that of another, both as multiples of the reference beside them."""
        pairs = zip(self.relative[above], self.relative[below], strict=True)
        return [one / other for one, other in pairs]


def in_process(work: Callable[[], object]) -> Callable[[int], float]:
    """`spend` for a function of this process."""

    def spend(passes: int) -> float:
        gc.collect()
        start = time.process_time()
        for _ in range(passes):
            work()
        return time.process_time() - start

    return spend


def use_one_core() -> None:
    """Keep this process and its children on one core, so that a pair meets the same one."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def pair(reference: Case, cases: Sequence[Case], rounds: int) -> Costs:
    """Time every case `rounds` times, in turn, each between two timings of the reference."""
    passes = {case.name: _warm_up(case) for case in (reference, *cases)}
    gc.collect()
    gc.freeze()
    costs = Costs()
    for _ in range(rounds):
        before = _per_event(reference, passes)
        for case in cases:
            cost = _per_event(case, passes)
            after = _per_event(reference, passes)
            costs.relative.setdefault(case.name, []).append(2 * cost / (before + after))
            costs.microseconds.setdefault(case.name, []).append(cost * 1e6)
            costs.microseconds.setdefault(reference.name, []).append(after * 1e6)
            before = after
    costs.relative[reference.name] = [1.0] * rounds
    gc.unfreeze()
    return costs


def _warm_up(case: Case) -> int:
    """Run until caches and compilers have settled; return how many passes fill a sample."""
    first = case.spend(1)
    passes = min(WARM_UP_PASSES, math.ceil(WARM_UP_SECONDS / first))
    return math.ceil(SAMPLE * passes / case.spend(passes))


def _per_event(case: Case, passes: dict[str, int]) -> float:
    return case.spend(passes[case.name]) / passes[case.name] / case.events
