"""News between processes by Valkey or Redis: one channel, and two connections of each process.

Rule 1: nothing waits for it. What cannot be told is kept until it can, merged, and in bounded room.
Rule 2: whoever has not heard for a while has missed something, and looks at everything.
Rule 3: a server that does not answer is one that is not there: a ping tells, not the next news.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from redis.asyncio.connection import ConnectionPool
from redis.exceptions import RedisError

from mobox.errors import InvalidSetting
from mobox.storage.telling import Letter, Outbox, read_letter, write_letter
from mobox.storage.wake_ups import News

__all__ = ["RedisWakeUps"]

log = logging.getLogger("mobox.storage")

_ANSWER_SECONDS: Final = 1.0
_PING_SECONDS: Final = 0.25
_PINGS: Final = 2
"""How many may go unanswered."""
_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 2.0
_TROUBLE: Final = (RedisError, OSError, TimeoutError)

_OURS: Final[dict[str, Any]] = {"protocol": 2, "decode_responses": False}
"""How we speak, whatever the address says."""


class Connection(Protocol):
    """What we use of the client's connections, which it gives no types."""

    async def connect(self) -> None: ...

    async def disconnect(self, nowait: bool) -> None: ...

    async def send_command(self, *words: str | bytes) -> None: ...

    @property
    def read_response(self) -> Callable[..., Coroutine[Any, Any, Any]]: ...


class RedisWakeUps:
    """`WakeUps` on the channel of one database; to be made where an event loop runs."""

    def __init__(self, url: str, channel: str) -> None:
        self._pool = _connections(url)
        self._channel = channel
        self._name = secrets.token_hex(8)
        self._outbox = Outbox()
        self._there_is_news = asyncio.Event()
        self._is_subscribed = False
        self._is_closing = False
        self._troubles: set[str] = set()
        self._on_news: Callable[[News], None] = lambda news: None
        self._ears: asyncio.Task[None] | None = None
        self._mouth: asyncio.Task[None] | None = None

    @property
    def is_healthy(self) -> bool:
        return self._is_subscribed and not self._troubles

    def listen(self, on_news: Callable[[News], None]) -> None:
        self._on_news = on_news
        self._ears = asyncio.create_task(self._keep_doing("receive", self._receive))
        self._mouth = asyncio.create_task(self._keep_doing("send", self._send))

    def tell(self, news: News) -> None:
        self._outbox.add(news)
        self._there_is_news.set()

    async def close(self) -> None:
        """Say what is left to say, if anybody listens."""
        self._is_closing = True
        self._there_is_news.set()
        if self._mouth is not None and self.is_healthy:
            await asyncio.wait([self._mouth], timeout=_ANSWER_SECONDS)
        tasks = {task for task in (self._ears, self._mouth) if task is not None}
        while tasks:  # the client swallows a cancellation that comes while it connects
            for task in tasks:
                task.cancel()
            _, tasks = await asyncio.wait(tasks, timeout=_FIRST_WAIT)

    async def _keep_doing(
        self, what: str, work: Callable[[Connection], Coroutine[Any, Any, None]]
    ) -> None:
        """Work on a connection until the work is done: on another one when that is lost."""
        loop = asyncio.get_running_loop()
        wait = _FIRST_WAIT
        while not self._is_closing:
            began_at = loop.time()
            connection: Connection = self._pool.connection_class(**self._pool.connection_kwargs)
            try:
                await connection.connect()
                await work(connection)
            except _TROUBLE as error:
                self._note_trouble(what, error)
                has_worked = loop.time() - began_at > 2 * _LONGEST_WAIT
                wait = _FIRST_WAIT if has_worked else min(_LONGEST_WAIT, 2 * wait)
                await asyncio.sleep(wait * random.uniform(0.5, 1))  # not all processes at once
            finally:
                await connection.disconnect(nowait=True)

    # Hearing

    async def _receive(self, connection: Connection) -> None:
        unanswered = 0
        await connection.send_command("SUBSCRIBE", self._channel)
        try:
            while unanswered < _PINGS:
                said = await connection.read_response(timeout=_PING_SECONDS)
                if said is not None:
                    unanswered = 0
                    self._take(said)
                else:
                    unanswered += 1
                    await connection.send_command("PING")
        finally:
            self._is_subscribed = False
        raise TimeoutError("no reply to PING")

    def _take(self, said: list[Any]) -> None:
        match said:
            case [b"message", _, bytes(data)]:
                letter = read_letter(data)
                if letter is not None and letter.sender != self._name:
                    self._on_news(letter.news)
            case [b"subscribe", *_]:
                self._is_subscribed = True
                self._note_success("receive")
                self._on_news(News(everything=True, work=True))  # who knows what was said before
            case _:
                pass  # the answer to a ping

    # Telling

    async def _send(self, connection: Connection) -> None:
        await self._publish(connection, self._outbox.take())  # be it nothing: to know that we can
        while self._outbox or not self._is_closing:
            await self._there_is_news.wait()
            self._there_is_news.clear()
            if self._outbox:
                await self._publish(connection, self._outbox.take())

    async def _publish(self, connection: Connection, news: News) -> None:
        letter = write_letter(Letter(self._name, news))
        try:
            await connection.send_command("PUBLISH", self._channel, letter)
            await connection.read_response()
        except BaseException:
            self.tell(news)  # maybe for the second time, which does no harm
            raise
        self._note_success("send")

    # What those learn who run the server

    def _note_trouble(self, what: str, error: Exception) -> None:
        if what not in self._troubles:
            self._troubles.add(what)
            log.warning("cannot %s notifications over Redis, polling the database: %s", what, error)

    def _note_success(self, what: str) -> None:
        if what in self._troubles:
            self._troubles.remove(what)
            log.info("can %s notifications over Redis again", what)


def _connections(url: str) -> ConnectionPool:
    """What makes connections: ours do not try again by themselves, which would take time."""
    try:
        pool = ConnectionPool.from_url(url, socket_timeout=_ANSWER_SECONDS, **_OURS)
    except ValueError:  # which may quote a part of the password
        raise InvalidSetting("redis_url", "***", "not a Redis URL") from None
    pool.connection_kwargs.update(_OURS)
    return pool
