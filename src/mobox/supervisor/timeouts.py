"""The timeouts of an agent, and the timer that fires when one expires."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mobox.capture.catalog import Timeouts
from mobox.events import Error


class Deadlines:
    """When the next timeout of a running or waiting agent expires, on the clock of `now`.

    The time that it waits counts for neither of the agent's timeouts, and output while it waits
    does not extend the hold.
    """

    def __init__(self, timeouts: Timeouts, hold: float, now: float) -> None:
        self._timeouts = timeouts
        self._hold = hold
        self._active_at = now
        self._ends_at = now + timeouts.total
        self._waits_since: float | None = None

    def note(self, now: float, waits: bool) -> None:
        """The agent emitted or received something."""
        if waits and self._waits_since is None:
            self._waits_since = now
        elif not waits and self._waits_since is not None:
            self._ends_at += now - self._waits_since
            self._waits_since = None
        self._active_at = now

    @property
    def next(self) -> float:
        """When it times out if nothing happens until then."""
        if self._waits_since is not None:
            return self._waits_since + self._hold
        return min(self._active_at + self._timeouts.idle, self._ends_at)

    def problem(self) -> Error:
        """The error of an agent that timed out while running."""
        idle, total = self._timeouts.idle, self._timeouts.total
        if self.next == self._ends_at:
            message = f"The agent took longer than {total:g} seconds."
            return Error(message=message, code="timeout")
        message = f"The agent produced no output for {idle:g} seconds."
        return Error(message=message, code="idle_timeout")


class TimeoutAlarm:
    """Calls `ring` when an agent's timeout expires.

    All output moves the deadline, so the timer is not restarted each time: it checks when it fires.
    """

    def __init__(self, deadlines: Deadlines, ring: Callable[[], None]) -> None:
        self._deadlines = deadlines
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._waits = False
        self._timer: asyncio.TimerHandle | None = None
        self._set()

    def note(self, waits: bool) -> None:
        """The agent emitted or received something."""
        self._deadlines.note(self._loop.time(), waits)
        if waits is not self._waits:  # only then the deadline may become earlier
            self._waits = waits
            self._set()

    def silence(self) -> None:
        """Cancel the timer."""
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
