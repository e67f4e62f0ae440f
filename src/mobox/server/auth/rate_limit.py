"""How many runs an owner may start per minute, in this process."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from typing import Final

from mobox.errors import RateLimited
from mobox.events.turn import Action, Request
from mobox.supervisor import SubmittedRun

_MANY: Final = 10_000
"""Owners that are remembered; above it, those with a full budget are dropped."""


class RateLimit:
    """A minute's budget of runs for each owner, refilled continuously (GCRA).

    Without `per_minute` there is no limit.
    """

    def __init__(self, per_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._full_at: dict[str, float] = {}
        """By owner: when its budget is full again."""

    async def submit(
        self, owner: str, request: Request, start: Callable[[], Awaitable[SubmittedRun]]
    ) -> SubmittedRun:
        """Call `start` under the owner's limit; raises `RateLimited`.

        Answers and repeated requests start no run, and do not count; rejected requests do.
        """
        if request.action is Action.CONTINUE:
            return await start()
        self.take(owner)
        continued = await start()
        if not continued.created:
            self.give_back(owner)
        return continued

    def take(self, owner: str) -> None:
        """Count a run that is about to start; raises `RateLimited`."""
        if self._per_minute is None:
            return
        now = self._clock()
        full_at = max(self._full_at.get(owner, now), now) + 60 / self._per_minute
        if (wait := full_at - now - 60) > 0:
            raise RateLimited(self._per_minute, math.ceil(wait))
        if len(self._full_at) >= _MANY:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
        self._full_at[owner] = full_at

    def give_back(self, owner: str) -> None:
        """Refund `take`: no run was started."""
        if self._per_minute is not None and owner in self._full_at:
            self._full_at[owner] -= 60 / self._per_minute
