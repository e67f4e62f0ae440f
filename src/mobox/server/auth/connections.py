"""Open connections and rate limits: streams and sockets per owner, and runs started per minute.

Rule 1: one task re-checks the API keys of all open connections, and runs only while there are any.
        It reads the keys from the store, so any process may revoke one.
Rule 2: limits are per owner and per process. Without authentication there are none.
Rule 3: a connection whose key was revoked or has expired is cut without an end: it is incomplete.
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

from mobox.errors import RateLimited, StorageError, TooManyStreams
from mobox.server.auth.keys import is_live
from mobox.settings import Settings, now_ms
from mobox.storage.keys import Keys

End = Callable[[], Coroutine[Any, Any, None]]

logger = logging.getLogger(__name__)

LOOK: Final = 2.0
"""Seconds between two checks of the keys of open connections; 5 are documented."""

_MANY: Final = 10_000
"""Owners kept for rate limiting; above it, those with a full budget are dropped."""


class ConnectedClient(Protocol):
    """The authenticated client of an open connection."""

    @property
    def owner(self) -> str: ...
    @property
    def key_id(self) -> str | None: ...
    @property
    def expires_at(self) -> int | None: ...
    def is_over(self, now: int) -> bool: ...


class OpenConnection:
    """One open connection: a stream or a socket."""

    def __init__(self, visitor: ConnectedClient) -> None:
        self.visitor = visitor
        self.end: End | None = None
        """Closes the connection; set once there is one."""
        self.is_ending = False

    def may_stay(self, live_keys: set[str], now: int) -> bool:
        visitor = self.visitor
        has_key = visitor.key_id is None or visitor.key_id in live_keys
        return has_key and not visitor.is_over(now)

    @property
    def may_end(self) -> bool:
        """Whether revocation or expiry could end it."""
        return self.visitor.key_id is not None or self.visitor.expires_at is not None


class ConnectionRegistry:
    """All open connections of this process."""

    def __init__(
        self,
        keys: Keys,
        limits: Settings | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._limits = limits
        self._here: dict[OpenConnection, None] = {}
        self._of_owner: Counter[str] = Counter()
        self._watched = 0
        self._rested_at: dict[str, float] = {}
        """By owner: when its rate limit budget is full again."""
        self._watcher: asyncio.Task[None] | None = None
        self._endings: set[asyncio.Task[None]] = set()

    def begin(self, owner: str) -> None:
        """Count a run that is about to start; raises `RateLimited` at the rate limit."""
        if self._limits is None:
            return
        per_minute, now = self._limits.max_runs_per_minute, self._clock()
        rested_at = max(self._rested_at.get(owner, now), now) + 60 / per_minute
        if (wait := rested_at - now - 60) > 0:
            raise RateLimited(per_minute, math.ceil(wait))
        if len(self._rested_at) >= _MANY:
            self._rested_at = {name: at for name, at in self._rested_at.items() if at > now}
        self._rested_at[owner] = rested_at

    def take_back(self, owner: str) -> None:
        """Refund `begin`: the request was a repeat, and no run was started."""
        if self._limits is not None and owner in self._rested_at:
            self._rested_at[owner] -= 60 / self._limits.max_runs_per_minute

    def enter(self, visitor: ConnectedClient) -> OpenConnection:
        """Register an open connection until `leave`; raises `TooManyStreams`."""
        if self._limits is not None and self._of_owner[visitor.owner] >= self._limits.max_streams:
            raise TooManyStreams(self._limits.max_streams)
        visit = OpenConnection(visitor)
        self._here[visit] = None
        self._of_owner[visitor.owner] += 1
        self._watch_more(1 if visit.may_end else 0)
        return visit

    def leave(self, visit: OpenConnection) -> None:
        """Remove a closed connection; idempotent."""
        if visit not in self._here:
            return
        del self._here[visit]
        owner = visit.visitor.owner
        self._of_owner[owner] -= 1
        if not self._of_owner[owner]:
            del self._of_owner[owner]
        self._watch_more(-1 if visit.may_end else 0)

    @contextmanager
    def entered(self, visitor: ConnectedClient) -> Iterator[OpenConnection]:
        """Register a connection for the duration of a `with` block."""
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
                await self._check_keys()
            except StorageError:  # streams cannot read either while the database is away
                pass
            except Exception:
                logger.exception(
                    "failed to re-check API keys of %d open connections (retry in %.0f s)",
                    len(self._here),
                    LOOK,
                )

    async def _check_keys(self) -> None:
        here = list(self._here)  # a connection opened during the query may have a newer key
        key_ids = {visit.visitor.key_id for visit in here}
        used = {key_id for key_id in key_ids if key_id is not None}
        keys, now = await self._keys.keys_of(used) if used else [], now_ms()
        live = {key.id for key in keys if is_live(key, now)}
        for visit in here:
            if visit.end is not None and not visit.is_ending and not visit.may_stay(live, now):
                visit.is_ending = True
                self._disconnect(visit.end)

    def _disconnect(self, end: End) -> None:
        """Close in a separate task: a connection that does not close must not delay others."""
        ending = asyncio.get_running_loop().create_task(end())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)
