"""The database's clock: hosts may be wrong about the time, and all who have leases must agree."""

from __future__ import annotations

import time
from typing import Final

from mobox.storage.runs import Lease
from mobox.storage.settings import Settings, now_ms

__all__ = ["DatabaseClock"]

_BOOT: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
"""It goes on while the machine sleeps, as the database's does; Linux alone has it."""
_A_MOMENT: Final = 1.0
"""Seconds that may pass between the looks at two clocks."""


class DatabaseClock:
    """What the time is there, as it was told last, and what has passed since."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._told: tuple[int, float] | None = None
        self._slept = _slept()

    @property
    def given(self) -> int | None:
        """The time of a clock that was set in place of the database's; `None` if none was."""
        return None if self._settings.clock is now_ms else self._settings.clock()

    def seconds(self) -> float:
        """Since whenever: what passes between two times that this is asked."""
        given = self.given
        return _since_boot() if given is None else given / 1000

    def has_slept(self) -> bool:
        """Whether this machine did since this was asked last: so perhaps all have who write."""
        before, self._slept = self._slept, _slept()
        return self._slept - before > _A_MOMENT

    def hear(self, now: int) -> None:
        """The database has just said what the time is."""
        self._told = (now, self.seconds())

    def now(self) -> int:
        """In milliseconds."""
        if self.given is not None or self._told is None:
            return self._settings.clock()
        told, at = self._told
        return told + round((self.seconds() - at) * 1000)

    @property
    def lease_ms(self) -> int:
        """How long a lease is."""
        return round(self._settings.lease_seconds * 1000)

    def lease(self, holder: str) -> Lease:
        """A lease that is given now."""
        return Lease(holder, self.now() + self.lease_ms)

    def queued_until(self) -> int:
        """When a run that is queued now is given up."""
        return self.now() + round(self._settings.queue_seconds * 1000)


def _since_boot() -> float:
    return time.monotonic() if _BOOT is None else time.clock_gettime(_BOOT)


def _slept() -> float:
    return _since_boot() - time.monotonic()
