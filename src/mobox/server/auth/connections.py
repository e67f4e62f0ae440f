"""The open connections of this process: streams and sockets, and the principals they belong to.

Rule 1: one task re-checks the API keys of all open connections, and runs only while there are any.
        It reads the keys from the store, so any process may revoke one.
Rule 2: a connection whose key was revoked or has expired is cut without an end: it is incomplete.
Rule 3: a write over an open socket looks its key up first, so a revoked one writes nothing.
Rule 4: the limit is per owner. With a store, the connections of all processes count, and else, or
        where the store does not answer, those of this process. A refused connection is removed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from mobox.errors import StorageError, TooManyStreams, Unauthenticated
from mobox.server.auth.keys import is_live
from mobox.server.auth.principal import Principal
from mobox.server.auth.shared_counts import SharedCounts
from mobox.settings import now_ms
from mobox.storage.keys import Keys
from mobox.storage.owner_limits import OwnerLimits

End = Callable[[], Coroutine[Any, Any, None]]

logger = logging.getLogger(__name__)

CHECK_SECONDS: Final = 2.0
"""Seconds between two checks of the keys of open connections; 5 are documented."""


class OpenConnection:
    """One open connection: a stream or a socket."""

    def __init__(self, principal: Principal) -> None:
        self.principal = principal
        self.end: End | None = None
        """Closes the connection; set once there is one."""
        self.is_ending = False

    def may_stay(self, live_keys: set[str], now: int) -> bool:
        key_id = self.principal.key_id
        return (key_id is None or key_id in live_keys) and not self.principal.is_over(now)

    @property
    def may_end(self) -> bool:
        """Whether revocation or expiry could end it."""
        return self.principal.key_id is not None or self.principal.expires_at is not None


class ConnectionRegistry:
    """All open connections; with `most_per_owner`, each owner has at most so many."""

    def __init__(
        self, keys: Keys, most_per_owner: int | None, store: OwnerLimits | None = None
    ) -> None:
        self._keys = keys
        self._shared = None if store is None else SharedCounts(store, self._of_this_process)
        self._most_per_owner = most_per_owner
        self._connections: dict[OpenConnection, None] = {}
        self._of_owner: Counter[str] = Counter()
        self._watched = 0
        self._watcher: asyncio.Task[None] | None = None
        self._endings: set[asyncio.Task[None]] = set()

    def add(self, principal: Principal) -> OpenConnection:
        """Register an open connection until `remove`; raises `TooManyStreams`."""
        most = self._most_per_owner
        if most is not None and self._of_owner[principal.owner] >= most:
            raise TooManyStreams(most)
        connection = OpenConnection(principal)
        self._connections[connection] = None
        self._of_owner[principal.owner] += 1
        self._watch_more(1 if connection.may_end else 0)
        return connection

    async def check_all_processes(self, connection: OpenConnection) -> None:
        """Remove a connection that is one too many in all processes; raises `TooManyStreams`."""
        most, owner = self._most_per_owner, connection.principal.owner
        if most is None or self._shared is None:
            return
        with ExitStack() as on_failure:
            on_failure.callback(self.remove, connection)  # also if the client leaves meanwhile
            if await self._shared.count(owner) > most:
                raise TooManyStreams(most)
            on_failure.pop_all()

    def _of_this_process(self) -> Mapping[str, int]:
        return self._of_owner

    def remove(self, connection: OpenConnection) -> None:
        """Remove a closed connection; idempotent."""
        if connection not in self._connections:
            return
        del self._connections[connection]
        owner = connection.principal.owner
        self._of_owner[owner] -= 1
        if not self._of_owner[owner]:
            del self._of_owner[owner]
        if self._shared is not None:
            self._shared.note_change(owner)
        self._watch_more(-1 if connection.may_end else 0)

    @contextmanager
    def added(self, principal: Principal) -> Iterator[OpenConnection]:
        """Register a connection for the duration of a `with` block."""
        connection = self.add(principal)
        try:
            yield connection
        finally:
            self.remove(connection)

    async def check(self, principal: Principal) -> None:
        """Raise `Unauthenticated` if its key was revoked or has expired since it connected."""
        used = [principal.key_id] if principal.key_id is not None else []
        live = await self.live(used) if used else set()
        if not OpenConnection(principal).may_stay(live, now_ms()):
            raise Unauthenticated

    async def live(self, ids: Collection[str]) -> set[str]:
        """Those of the keys that are neither revoked nor expired."""
        now = now_ms()
        return {key.id for key in await self._keys.keys_of(ids) if is_live(key, now)}

    def _watch_more(self, connections: int) -> None:
        self._watched += connections
        if self._watched and self._watcher is None:
            self._watcher = asyncio.get_running_loop().create_task(self._watch())
        elif not self._watched and self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                await self._check_keys()
            except StorageError:  # streams cannot read either while the database is away
                pass
            except Exception:
                logger.exception(
                    "failed to re-check API keys of %d open connections (retry in %.0f s)",
                    len(self._connections),
                    CHECK_SECONDS,
                )

    async def _check_keys(self) -> None:
        here = list(self._connections)  # one opened during the query may have a newer key
        used = {key_id for each in here if (key_id := each.principal.key_id) is not None}
        live, now = await self.live(used) if used else set(), now_ms()
        for connection in here:
            end = connection.end
            if end is not None and not connection.is_ending and not connection.may_stay(live, now):
                connection.is_ending = True
                # In a separate task: a connection that does not close must not delay others.
                ending = asyncio.get_running_loop().create_task(end())
                self._endings.add(ending)
                ending.add_done_callback(self._endings.discard)
