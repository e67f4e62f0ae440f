"""Who is here at the moment, and for how long they may: streams, sockets, and runs that are begun.

Rule 1: one watcher for all who are here, and none while nobody is: it asks the store which keys
        still open doors, so it does not matter which process revoked one.
Rule 2: a limit is an owner's in this process. Where owners are not known there is none.
Rule 3: who is cut off is cut off without an end: it was not the whole that they read.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from msgspec import Struct

from mobox.errors import StorageError, TooManyStreams, TooOften
from mobox.server.keys import is_live
from mobox.storage.keys import Keys
from mobox.storage.settings import now_ms

__all__ = ["OwnerLimits", "Visit", "Visits"]

End = Callable[[], Coroutine[Any, Any, None]]

logger = logging.getLogger(__name__)

LOOK: Final = 2.0
"""Seconds between two looks at who may still be here: 5 are promised."""

_MANY: Final = 10_000
"""Owners whose beginnings are remembered; where there are more, those who have rested are not."""


class OwnerLimits(Struct, frozen=True, kw_only=True):
    """What each owner may."""

    streams: int
    runs_per_minute: int


class Visitor(Protocol):
    """What must be known of somebody who stays."""

    @property
    def owner(self) -> str: ...
    @property
    def key_id(self) -> str | None: ...
    @property
    def expires_at(self) -> int | None: ...
    def is_over(self, now: int) -> bool: ...


class Visit:
    """Somebody who stays for a while."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.end: End | None = None
        """How they are sent away, as soon as there is a way."""
        self.is_ending = False

    def may_stay(self, live_keys: set[str], now: int) -> bool:
        visitor = self.visitor
        has_key = visitor.key_id is None or visitor.key_id in live_keys
        return has_key and not visitor.is_over(now)

    @property
    def may_end(self) -> bool:
        """Whether a key or a date could end it."""
        return self.visitor.key_id is not None or self.visitor.expires_at is not None


class Visits:
    """All who are here."""

    def __init__(
        self,
        keys: Keys,
        limits: OwnerLimits | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._limits = limits
        self._here: dict[Visit, None] = {}
        self._of_owner: Counter[str] = Counter()
        self._watched = 0
        self._rested_at: dict[str, float] = {}
        """When an owner may again begin as many runs at once as anybody may."""
        self._watcher: asyncio.Task[None] | None = None
        self._endings: set[asyncio.Task[None]] = set()

    def begin(self, owner: str) -> None:
        """Somebody is about to begin a run; raises `TooOften`."""
        if self._limits is None:
            return
        per_minute, now = self._limits.runs_per_minute, self._clock()
        rested_at = max(self._rested_at.get(owner, now), now) + 60 / per_minute
        if (wait := rested_at - now - 60) > 0:
            raise TooOften(per_minute, math.ceil(wait))
        if len(self._rested_at) >= _MANY:
            self._rested_at = {name: at for name, at in self._rested_at.items() if at > now}
        self._rested_at[owner] = rested_at

    def take_back(self, owner: str) -> None:
        """What they were about to begin had been begun before."""
        if self._limits is not None and owner in self._rested_at:
            self._rested_at[owner] -= 60 / self._limits.runs_per_minute

    def enter(self, visitor: Visitor) -> Visit:
        """Somebody is here until they `leave`; raises `TooManyStreams`."""
        if self._limits is not None and self._of_owner[visitor.owner] >= self._limits.streams:
            raise TooManyStreams(self._limits.streams)
        visit = Visit(visitor)
        self._here[visit] = None
        self._of_owner[visitor.owner] += 1
        self._watch_more(1 if visit.may_end else 0)
        return visit

    def leave(self, visit: Visit) -> None:
        """They are gone; nothing happens if they were before."""
        if visit not in self._here:
            return
        del self._here[visit]
        owner = visit.visitor.owner
        self._of_owner[owner] -= 1
        if not self._of_owner[owner]:
            del self._of_owner[owner]
        self._watch_more(-1 if visit.may_end else 0)

    @contextmanager
    def entered(self, visitor: Visitor) -> Iterator[Visit]:
        """Somebody is here."""
        visit = self.enter(visitor)
        try:
            yield visit
        finally:
            self.leave(visit)

    def _watch_more(self, visits: int) -> None:
        self._watched += visits
        if self._watched and self._watcher is None:
            self._watcher = asyncio.get_running_loop().create_task(self._watch())
        elif not self._watched and self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            try:
                await self._look()
            except StorageError:  # who reads from it is stuck as well
                pass
            except Exception:
                logger.exception("who may stay could not be found out")

    async def _look(self) -> None:
        here = list(self._here)  # who comes while the store is asked may have a newer key
        told = (visit.visitor.key_id for visit in here)
        shown = {key_id for key_id in told if key_id is not None}
        keys, now = await self._keys.keys_of(shown) if shown else [], now_ms()
        live = {key.id for key in keys if is_live(key, now)}
        for visit in here:
            if visit.end is not None and not visit.is_ending and not visit.may_stay(live, now):
                visit.is_ending = True
                self._send_away(visit.end)

    def _send_away(self, end: End) -> None:
        """In a task of its own: who cannot be sent away holds nobody up."""
        ending = asyncio.get_running_loop().create_task(end())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)
