"""What can be set on a store."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from mobox import defaults

__all__ = ["Settings", "now_ms"]


def now_ms() -> int:
    """The time on the wall, in milliseconds."""
    return time.time_ns() // 1_000_000


class Settings(Struct, frozen=True, kw_only=True):
    """The same for every store; each takes what it needs."""

    lease_seconds: float = defaults.LEASE_SECONDS
    """For how long a run is safe from the reaper after its process died."""
    queue_seconds: float = defaults.QUEUE_SECONDS
    """For how long a run waits for somebody to execute it, before the reaper ends it."""
    poll_seconds: float = 1.0
    """How often readers look for what other processes wrote, where nobody tells them."""
    channel_prefix: str = "mobox"
    """How the channel's name begins on which processes tell each other news."""
    raw_bytes: int = 4 * 1024 * 1024
    """How much of a run's raw lines is kept."""
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
    """NORMAL is safe when the process dies, FULL also when the machine does."""
    busy_seconds: float = 10.0
    """How long to wait for another process that writes."""
    opening_seconds: float = 30.0
    """How long to wait for a database server that is not there yet, when a store is opened."""
    readers: int = 4
    """How many threads read."""
    clock: Callable[[], int] = now_ms

    def lease_until(self) -> int:
        """When a lease that is given now runs out."""
        return self.clock() + round(self.lease_seconds * 1000)

    def queued_until(self) -> int:
        """When a run that is queued now is given up."""
        return self.clock() + round(self.queue_seconds * 1000)
