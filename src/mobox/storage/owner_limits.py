"""What owners use in all processes together: starts of runs, and open streams.

Rule 1: starts are a budget that is refilled continuously (GCRA). One statement takes from it, so
        two processes never take the same part.
Rule 2: a process stores how many streams of an owner it has open before it asks how many there are
        in all: of two processes that open one at the same time, at least one sees both.
Rule 3: a process renews its numbers while it has any. Those of a process that died count for
        `STREAM_SECONDS` more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

STREAM_SECONDS: Final = 30.0
RENEW_SECONDS: Final = STREAM_SECONDS / 3
MINUTE_MS: Final = 60_000


class OwnerLimits(Protocol):
    """The part of a store that counts for all processes."""

    async def take_start(self, owner: str, per_minute: int) -> float:
        """Count a start of a run; else the seconds until one is possible again."""

    async def give_back_start(self, owner: str, per_minute: int) -> None:
        """Undo `take_start`: no run was started."""

    async def count_streams(self, owner: str, here: int) -> int:
        """Store how many streams of an owner this process has; return those of all processes."""

    async def renew_streams(self, counts: Mapping[str, int]) -> None:
        """Store all numbers of this process again, by owner, and forget those of dead processes."""


def step_of(per_minute: int) -> float:
    """Milliseconds of the budget that one start takes."""
    return MINUTE_MS / per_minute


def wait_of(full_at: float, now: int, per_minute: int) -> float:
    """Seconds until a budget that is full again at `full_at` has room for one start."""
    return max(0.001, (max(full_at, now) + step_of(per_minute) - now - MINUTE_MS) / 1000)
