"""Notifications between processes over Valkey or Redis: one channel, two connections per process.

Rule 1: nothing waits for it. Unsent notifications are merged and kept in bounded memory.
Rule 2: after a lost connection, notifications may be missing: the process polls everything.
Rule 3: a server that does not reply is treated as unreachable: a PING detects it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from redis.asyncio.connection import ConnectionPool
from redis.exceptions import RedisError

from mobox.errors import InvalidSetting, StorageError
from mobox.storage.notifications import Channel, Notification, RunNotice, write_notification
from mobox.storage.retry import Backoff

log = logging.getLogger("mobox.storage")

_ANSWER_SECONDS: Final = 1.0
_PING_SECONDS: Final = 0.25
_PINGS: Final = 2
"""How many may stay without a reply."""
_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 2.0
_TROUBLE: Final = (RedisError, OSError, TimeoutError)

_OURS: Final[dict[str, Any]] = {"protocol": 2, "decode_responses": False}
"""Our options, which override those of the URL."""


class Connection(Protocol):
    """The part of the client's connections that is used here: the client has no types."""

    async def connect(self) -> None: ...

    async def disconnect(self, nowait: bool) -> None: ...

    async def send_command(self, *words: str | bytes) -> None: ...

    @property
    def read_response(self) -> Callable[..., Coroutine[Any, Any, Any]]: ...


class RedisNotifier(Channel):
    """`Notifier` on the channel of one database; must be created in a running event loop."""

    def __init__(self, url: str, channel: str) -> None:
        super().__init__()
        self._pool = _connections(url)
        self._channel = channel
        self._is_subscribed = False
        self._troubles: set[str] = set()
        self._receiver: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None

    @property
    def is_healthy(self) -> bool:
        return self._is_subscribed and not self._troubles

    def listen(self, on_notification: Callable[[RunNotice], None]) -> None:
        self._on_notification = on_notification
        self._receiver = asyncio.create_task(self._keep_doing("receive", self._receive_all))
        self._sender = asyncio.create_task(self._keep_doing("send", self._send))

    async def close(self) -> None:
        """Send pending notifications, if the server is reachable, and disconnect."""
        self._is_closing = True
        self._has_pending.set()
        if self._sender is not None and self.is_healthy:
            await asyncio.wait([self._sender], timeout=_ANSWER_SECONDS)
        tasks = {task for task in (self._receiver, self._sender) if task is not None}
        while tasks:  # the client swallows a cancellation while it connects
            for task in tasks:
                task.cancel()
            _, tasks = await asyncio.wait(tasks, timeout=_FIRST_WAIT)

    async def _keep_doing(
        self, what: str, work: Callable[[Connection], Coroutine[Any, Any, None]]
    ) -> None:
        """Work on a connection until the work is done; reconnect when it is lost."""
        loop = asyncio.get_running_loop()
        backoff = Backoff(_FIRST_WAIT, _LONGEST_WAIT)
        while not self._is_closing:
            began_at = loop.time()
            connection: Connection = self._pool.connection_class(**self._pool.connection_kwargs)
            try:
                await connection.connect()
                await work(connection)
            except _TROUBLE as error:
                self._note_trouble(what, error)
                if loop.time() - began_at > 2 * _LONGEST_WAIT:  # it has worked
                    backoff.reset()
                await backoff.wait()
            finally:
                await connection.disconnect(nowait=True)

    # Receiving

    async def _receive_all(self, connection: Connection) -> None:
        unanswered = 0
        await connection.send_command("SUBSCRIBE", self._channel)
        try:
            while unanswered < _PINGS:
                response = await connection.read_response(timeout=_PING_SECONDS)
                if response is not None:
                    unanswered = 0
                    self._take(response)
                else:
                    unanswered += 1
                    await connection.send_command("PING")
        finally:
            self._is_subscribed = False
        raise TimeoutError("no reply to PING")

    def _take(self, response: list[Any]) -> None:
        match response:
            case [b"message", _, bytes(data)]:
                self._receive(data)
            case [b"subscribe", *_]:
                self._is_subscribed = True
                self._note_success("receive")
                self._catch_up()
            case _:
                pass  # the reply to a PING

    # Sending

    async def _send(self, connection: Connection) -> None:
        await self._publish(connection, self._outbox.take())  # even if empty: a check
        while self._outbox or not self._is_closing:
            await self._has_pending.wait()
            self._has_pending.clear()
            if self._outbox:
                await self._publish(connection, self._outbox.take())

    async def _publish(self, connection: Connection, notification: RunNotice) -> None:
        envelope = write_notification(Notification(self._name, notification))
        try:
            await connection.send_command("PUBLISH", self._channel, envelope)
            await connection.read_response()
        except BaseException:
            self.notify(notification)  # may be sent twice, which does no harm
            raise
        self._note_success("send")

    # Logging

    def _note_trouble(self, what: str, error: Exception) -> None:
        if what not in self._troubles:
            self._troubles.add(what)
            log.warning("cannot %s notifications over Redis, polling the database: %s", what, error)

    def _note_success(self, what: str) -> None:
        if what in self._troubles:
            self._troubles.remove(what)
            log.info("can %s notifications over Redis again", what)


async def ping(url: str) -> None:
    """Check that a server answers; raises `StorageError`, and `InvalidSetting` for a wrong URL."""
    pool = _connections(url)
    connection: Connection = pool.connection_class(**pool.connection_kwargs)
    try:
        await connection.connect()
        await connection.send_command("PING")
        await connection.read_response()
    except _TROUBLE as error:
        raise StorageError(str(error) or type(error).__name__) from error
    finally:
        await connection.disconnect(nowait=True)


def _connections(url: str) -> ConnectionPool:
    """A pool whose connections do not retry by themselves, which would take time."""
    try:
        pool = ConnectionPool.from_url(url, socket_timeout=_ANSWER_SECONDS, **_OURS)
    except ValueError:  # whose message may contain a part of the password
        raise InvalidSetting("redis_url", "***", "not a Redis URL") from None
    pool.connection_kwargs.update(_OURS)
    return pool
