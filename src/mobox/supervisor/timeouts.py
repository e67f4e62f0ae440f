"""The timers that apply the timeouts to an attempt.

Rule 1: the agent's timeouts apply while it is running; the time that it waits counts for neither.
        A process that waits is kept for `hold` seconds. While it is frozen no time passes.
Rule 2: what a sandbox really creates is reported at once, in a STATUS of the kind `preparation`.
Rule 3: that an agent is starting is reported once, if it takes longer than `notice` seconds, and
        never after the agent has read its turn or emitted something.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, Self

from mobox.capture.catalog import Timeouts
from mobox.errors import MoboxError
from mobox.events import Error, Status

log = logging.getLogger("mobox.supervisor")

Report = Callable[[Status], Awaitable[object]]


class Deadlines:
    """When the next timeout of a running or waiting agent expires, on the clock of `now`.

    Output while it waits does not extend the hold.
    """

    def __init__(self, timeouts: Timeouts, hold: float, now: float) -> None:
        self._timeouts = timeouts
        self._hold = hold
        self._active_at = now
        self._ends_at = now + timeouts.total
        self.waits_since: float | None = None

    def note(self, now: float, waits: bool) -> None:
        """The agent emitted or received something."""
        if waits and self.waits_since is None:
            self.waits_since = now
        elif not waits and self.waits_since is not None:
            self._ends_at += now - self.waits_since
            self.waits_since = None
        self._active_at = now

    def skip(self, seconds: float) -> None:
        """It was frozen for so long."""
        self._active_at += seconds
        self._ends_at += seconds
        if self.waits_since is not None:
            self.waits_since += seconds

    @property
    def next(self) -> float:
        """When it times out if nothing happens until then."""
        if self.waits_since is not None:
            return self.waits_since + self._hold
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
        self._timer = self._loop.call_at(deadlines.next, self._due)

    def note(self, waits: bool) -> None:
        """The agent emitted or received something."""
        changes = waits is (self._deadlines.waits_since is None)
        self._deadlines.note(self._loop.time(), waits)
        if changes:  # only then the deadline may become earlier
            self._restart()

    def skip(self, seconds: float) -> None:
        """The agent was frozen for so long."""
        self._deadlines.skip(seconds)

    def ring_later(self, seconds: float) -> None:
        """Check it again after so long: the agent is frozen now."""
        self._timer = self._loop.call_later(seconds, self._due)

    def silence(self) -> None:
        """Cancel the timer."""
        self._timer.cancel()

    def _restart(self) -> None:
        self._timer.cancel()
        self._timer = self._loop.call_at(self._deadlines.next, self._due)

    def _due(self) -> None:
        if self._loop.time() < self._deadlines.next:
            self._restart()
        else:
            self._ring()


class Starting(Protocol):
    """The progress of an execution's start."""

    @property
    def created(self) -> str | None: ...

    @property
    def has_started(self) -> bool: ...


class Preparation:
    """One starting agent: entered when it is launched, `over` at its first output."""

    def __init__(self, execution: Starting, report: Report, doing: str, after: float) -> None:
        """Reports the message `doing` if the agent has not started `after` so many seconds."""
        self._execution = execution
        self._report = report
        self._doing = doing
        self._after = after
        self.is_over = False
        """It reports nothing more."""
        self._reporting: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        if (created := self._execution.created) is not None:
            await self._report(_status(created))
        self._timer = asyncio.get_running_loop().call_later(self._after, self._due)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.over()
        if self._reporting is not None:
            await self._reporting

    def over(self) -> None:
        """The agent emitted something: report nothing more."""
        self.is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def _due(self) -> None:
        self._reporting = asyncio.create_task(self._report_if_starting())

    async def _report_if_starting(self) -> None:
        if self.is_over or self._execution.has_started:
            return
        try:
            await self._report(_status(self._doing))
        except MoboxError as error:  # the attempt gets the same error and handles it
            log.debug("cannot store a preparation status: %s", error)


def _status(message: str) -> Status:
    return Status(message=message, kind="preparation")
