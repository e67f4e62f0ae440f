"""The database's clock: hosts' clocks may be wrong, and all owners of leases must agree."""

from __future__ import annotations

import time
from typing import Final

from mobox.storage.runs import Lease
from mobox.storage.settings import Settings, now_ms

__all__ = ["DatabaseClock"]

_BOOT: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
"""It advances while the machine sleeps, as the database's clock does; only Linux has it."""
_A_MOMENT: Final = 1.0
"""Seconds that may pass between reading two clocks."""


class DatabaseClock:
    """The database's time as last read, plus the time elapsed since."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._last: tuple[int, float] | None = None
        self._slept = _slept()

    @property
    def given(self) -> int | None:
        """The time of a clock that replaces the database's; `None` if there is none."""
        return None if self._settings.clock is now_ms else self._settings.clock()

    def seconds(self) -> float:
        """A time with an arbitrary start, for measuring differences."""
        given = self.given
        return _since_boot() if given is None else given / 1000

    def has_slept(self) -> bool:
        """Whether this machine slept since the last call: perhaps all writers did."""
        before, self._slept = self._slept, _slept()
        return self._slept - before > _A_MOMENT

    def hear(self, now: int) -> None:
        """Set the database's time, which was just read."""
        self._last = (now, self.seconds())

    def now(self) -> int:
        """In milliseconds."""
        if self.given is not None or self._last is None:
            return self._settings.clock()
        read, at = self._last
        return read + round((self.seconds() - at) * 1000)

    @property
    def lease_ms(self) -> int:
        """How long a lease is."""
        return round(self._settings.lease_seconds * 1000)

    def lease(self, holder: str) -> Lease:
        """A lease given now."""
        return Lease(holder, self.now() + self.lease_ms)

    def queued_until(self) -> int:
        """When a run queued now can no longer be claimed."""
        return self.now() + round(self._settings.queue_seconds * 1000)


def _since_boot() -> float:
    return time.monotonic() if _BOOT is None else time.clock_gettime(_BOOT)


def _slept() -> float:
    return _since_boot() - time.monotonic()
