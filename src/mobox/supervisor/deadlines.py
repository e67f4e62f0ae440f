"""How long an agent may take, and the alarm that rings when it took longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mobox.catalog import Timeouts
from mobox.events import Error

__all__ = ["Alarm", "Deadlines"]


class Deadlines:
    """When an agent that works, or waits for a person, has had its time: in seconds, as it is told.

    The time that it waits is not its own: it counts for neither of the agent's timeouts, and what
    it says while it waits does not make it wait longer.
    """

    def __init__(self, timeouts: Timeouts, hold: float, now: float) -> None:
        self._timeouts = timeouts
        self._hold = hold
        self._heard_at = now
        self._ends_at = now + timeouts.total
        self._waits_since: float | None = None

    def note(self, now: float, waits: bool) -> None:
        """Something was said, by the agent or to it."""
        if waits and self._waits_since is None:
            self._waits_since = now
        elif not waits and self._waits_since is not None:
            self._ends_at += now - self._waits_since
            self._waits_since = None
        self._heard_at = now

    @property
    def next(self) -> float:
        """When it has had its time if nothing is said until then."""
        if self._waits_since is not None:
            return self._waits_since + self._hold
        return min(self._heard_at + self._timeouts.idle, self._ends_at)

    def problem(self) -> Error:
        """What to say of an agent that works when the time is over."""
        idle, total = self._timeouts.idle, self._timeouts.total
        if self.next == self._ends_at:
            message = f"The agent took longer than {total:g} seconds."
            return Error(message=message, code="timeout")
        message = f"The agent produced no output for {idle:g} seconds."
        return Error(message=message, code="idle_timeout")


class Alarm:
    """Rings when an agent has had its time.

    Every word puts the deadline off, so the timer is left alone and looks again when it is due.
    """

    def __init__(self, deadlines: Deadlines, ring: Callable[[], None]) -> None:
        self._deadlines = deadlines
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._waits = False
        self._timer: asyncio.TimerHandle | None = None
        self._set()

    def note(self, waits: bool) -> None:
        """Something was said, by the agent or to it."""
        self._deadlines.note(self._loop.time(), waits)
        if waits is not self._waits:  # only then the deadline may come nearer
            self._waits = waits
            self._set()

    def silence(self) -> None:
        """It need not ring any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _set(self) -> None:
        self.silence()
        self._timer = self._loop.call_at(self._deadlines.next, self._due)

    def _due(self) -> None:
        if self._loop.time() < self._deadlines.next:
            self._set()
        else:
            self._ring()
