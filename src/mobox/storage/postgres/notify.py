"""Notifications between processes by the database's NOTIFY, where there is no Redis.

Rule 1: a connection of its own, apart from the writer's. Commits with NOTIFY wait for each other;
        nothing waits for this one, and it does not wait for the disk.
Rule 2: what is added during a send is merged into the next one.
Rule 3: where the server has no free connection, this one is closed for a while: readers need it
        more, as the database can be polled instead of being notified by it.
Rule 4: after a lost connection, notifications may be missing: the process polls everything.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import asyncpg

from mobox.storage.notifications import Channel, Notification, RunNotice, write_notification
from mobox.storage.postgres.database import TROUBLE, Connect, Connection, Retries

log = logging.getLogger("mobox.storage")

_CHANNEL: Final = "mobox_news"
_MOST_BYTES: Final = 7999
_NAMES: Final = 80
"""How many ids of runs and chats usually fit into that."""
_ANSWER_SECONDS: Final = 5.0
_PING_SECONDS: Final = 5.0
_GIVE_WAY_SECONDS: Final = 30.0
_NOTIFY: Final = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload"


class PostgresNotifier(Channel):
    """`Notifier` on a channel of the database; must be created in a running event loop."""

    def __init__(self, connect: Connect) -> None:
        super().__init__()
        self._connect = connect
        self._is_healthy = False
        self._is_troubled = False
        self._task: asyncio.Task[None] | None = None
        self._connection: Connection | None = None
        self._connect_at = 0.0

    @property
    def is_healthy(self) -> bool:
        return self._is_healthy

    def listen(self, on_notification: Callable[[RunNotice], None]) -> None:
        self._on_notification = on_notification
        self._task = asyncio.create_task(self._keep_connected())

    def give_way(self) -> None:
        """Close the connection for a while: the server has none for readers."""
        self._connect_at = time.monotonic() + _GIVE_WAY_SECONDS
        if self._connection is not None:
            self._connection.terminate()

    async def close(self) -> None:
        """Send pending notifications, if the database is reachable, and disconnect."""
        self._is_closing = True
        self._has_pending.set()
        if self._task is not None:
            timeout = _ANSWER_SECONDS if self._is_healthy else 0
            await asyncio.wait([self._task], timeout=timeout)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # The task

    async def _keep_connected(self) -> None:
        retries = Retries()
        while not self._is_closing:
            await asyncio.sleep(max(0.0, self._connect_at - time.monotonic()))
            try:
                self._connection = await self._connect()
            except TROUBLE as error:
                self._note_trouble(error)
                if isinstance(error, asyncpg.TooManyConnectionsError):
                    self.give_way()
            else:
                retries.reset()
                await self._exchange(self._connection)
            if not self._is_closing:
                await retries.wait()

    async def _exchange(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await connection.execute("SET synchronous_commit = off")
                await connection.add_listener(_CHANNEL, self._on_payload)
                connection.add_termination_listener(self._note_end)
            self._is_healthy = True
            if self._is_troubled:
                self._is_troubled = False
                log.info("LISTEN/NOTIFY connection restored")
            self._catch_up()
            await self._send_all(connection)
        except TROUBLE as error:
            self._note_trouble(error)
        finally:
            self._is_healthy = False
            connection.remove_termination_listener(self._note_end)
            connection.terminate()

    async def _send_all(self, connection: Connection) -> None:
        """Send pending notifications; at intervals an empty one, to check the connection."""
        while self._outbox or not self._is_closing:
            if not self._outbox and not connection.is_closed():
                await self._wait_for_pending()
            notification = self._outbox.take()
            sent = [part.decode() for part in parts(self._name, notification)]
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await connection.execute(_NOTIFY, _CHANNEL, sent)
            except BaseException:
                self._outbox.add(notification)  # may be sent twice, which does no harm
                raise

    async def _wait_for_pending(self) -> None:
        self._has_pending.clear()
        if self._is_closing:
            return
        try:
            async with asyncio.timeout(_PING_SECONDS):
                await self._has_pending.wait()
        except TimeoutError:
            return

    def _on_payload(self, connection: Connection, pid: int, channel: str, payload: str) -> None:
        self._receive(payload.encode())

    def _note_trouble(self, error: BaseException) -> None:
        if not self._is_troubled:
            self._is_troubled = True
            why = str(error) or type(error).__name__
            log.warning("LISTEN/NOTIFY connection lost, polling the database: %s", why)

    def _note_end(self, connection: Any) -> None:
        self._is_healthy = False
        self._has_pending.set()


def parts(sender: str, notification: RunNotice) -> Iterator[bytes]:
    """The notification in parts that fit into NOTIFY; one that is too long becomes `everything`."""
    positions, chats = iter(notification.positions.items()), iter(notification.chats)
    work, everything = notification.work, notification.everything
    while True:
        some = dict(islice(positions, _NAMES))
        names = tuple(islice(chats, _NAMES - len(some)))
        if not (some or names or work or everything):
            return
        part = RunNotice(positions=some, chats=names, work=work, everything=everything)
        yield write_notification(Notification(sender, part), _MOST_BYTES)
        work = everything = False
