"""Settings of a store."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from mobox import defaults


def now_ms() -> int:
    """The wall clock time, in milliseconds."""
    return time.time_ns() // 1_000_000


class Settings(Struct, frozen=True, kw_only=True):
    """The same for every store; each uses those it needs."""

    lease_seconds: float = defaults.LEASE_SECONDS
    """How long after a process died its runs can be taken over."""
    queue_seconds: float = defaults.QUEUE_SECONDS
    """How long a queued run waits for a worker, before the reaper ends it."""
    poll_seconds: float = 1.0
    """How often readers poll for other processes' writes, where there are no notifications."""
    channel_prefix: str = "mobox"
    """The prefix of the channel's name on which processes notify each other."""
    raw_bytes: int = 4 * 1024 * 1024
    """How much of a run's raw lines is stored."""
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
    """NORMAL is safe when the process dies, FULL also when the machine does."""
    busy_seconds: float = 10.0
    """How long to wait for another process's write lock."""
    opening_seconds: float = 30.0
    """How long to wait for an unreachable database server when a store is opened."""
    readers: int = 4
    """How many threads or connections read."""
    clock: Callable[[], int] = now_ms

    def lease_until(self) -> int:
        """When a lease given now expires."""
        return self.clock() + round(self.lease_seconds * 1000)

    def queued_until(self) -> int:
        """When a run queued now can no longer be claimed."""
        return self.clock() + round(self.queue_seconds * 1000)
