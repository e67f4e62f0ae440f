"""How long an agent may take. No clock of its own: whoever asks tells the time, in seconds."""

from __future__ import annotations

from mobox.catalog import Timeouts
from mobox.events import Error

__all__ = ["Deadlines"]


class Deadlines:
    """When an agent that works, or waits for a person, has had its time.

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
        message = f"The agent said nothing for {idle:g} seconds."
        return Error(message=message, code="idle_timeout")
