"""How many runs an owner may start per minute.

With a store, the starts in all processes count; where it does not answer, those in this process.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from mobox.errors import RateLimited, StorageError
from mobox.events.turn import Action, Request
from mobox.storage.owner_limits import OwnerLimits
from mobox.supervisor import SubmittedRun

STORE_SECONDS: Final = 1.0
"""How long to wait for the number of all processes."""
_MANY: Final = 10_000
"""Owners that are remembered; above it, those with a full budget are dropped."""


class RateLimit:
    """A minute's budget of runs for each owner, refilled continuously (GCRA).

    Without `per_minute` there is no limit.
    """

    def __init__(
        self,
        per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
        store: OwnerLimits | None = None,
    ) -> None:
        self._per_minute = per_minute
        self._store = store
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
        is_shared = await self.count(owner)
        continued = await start()
        if not continued.created and is_shared:
            await self._give_back_shared(owner)
        elif not continued.created:
            self.give_back(owner)
        return continued

    async def count(self, owner: str) -> bool:
        """Count a run, in all processes if that is possible at present; raises `RateLimited`."""
        is_shared = await self._take_shared(owner)
        if not is_shared:
            self.take(owner)
        return is_shared

    async def _take_shared(self, owner: str) -> bool:
        """Count a run in all processes; false if that is not possible at present."""
        if self._store is None or self._per_minute is None:
            return False
        try:
            async with asyncio.timeout(STORE_SECONDS):
                wait = await self._store.take_start(owner, self._per_minute)
        except (StorageError, TimeoutError):
            return False
        if wait > 0:
            raise RateLimited(self._per_minute, math.ceil(wait))
        return True

    async def _give_back_shared(self, owner: str) -> None:
        if self._store is not None and self._per_minute is not None:
            with suppress(StorageError, TimeoutError):
                async with asyncio.timeout(STORE_SECONDS):
                    await self._store.give_back_start(owner, self._per_minute)

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
