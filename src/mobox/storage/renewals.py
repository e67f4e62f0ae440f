"""Renewed leases: until when the agents of this process may act.

Rule 1: the validity of a lease counts from the moment at which the transaction that renewed it was
        begun here, by a clock that nobody sets and that goes on while the machine sleeps. The lease
        as stored is never shorter.
Rule 2: an agent stops `MARGIN` of a lease earlier: stopping takes a moment, and the lease of a run
        that was just begun is counted by the last reading of the database's clock.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from mobox.storage.log import RunId

_BOOT: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
"""It advances while the machine sleeps, as other machines' clocks do; only Linux has it."""
MARGIN: Final = 0.2


class Renewal(NamedTuple):
    """One renewal of all leases of this process."""

    until: float
    """When the agents of these runs must stop, unless there is a later renewal; `since_boot`."""
    epochs: Mapping[RunId, int]
    """The runs whose leases were renewed."""


def since_boot() -> float:
    """Seconds of a clock with an arbitrary start, the same for all processes of this machine."""
    return time.monotonic() if _BOOT is None else time.clock_gettime(_BOOT)


def acts_until(began: float, lease: float) -> float:
    """When the agent of a run must stop whose lease was given, or renewed, from `began` on."""
    return began + lease * (1 - MARGIN)


def acts_for(left: float, lease: float) -> float:
    """The same for a lease as stored, which expires in `left` seconds."""
    return since_boot() + min(left, lease) - lease * MARGIN
