"""Two servers and a worker on one PostgreSQL and one Valkey, each of which can be broken."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from mobox.storage.postgres.database import connector, open_database
from server.audit import install, named
from server.live_server import LIMIT, LiveServer, live_server, reserved_port
from server.live_worker import Worker, live_worker
from server.scripted_agent import write_agent
from support.postgres_server import PostgresServer, running_postgres
from support.valkey_server import Valkey, running_valkey

LEASE = 3
"""Seconds: as few as a busy machine does not take for a death."""
PATIENCE = 30 * LIMIT

Start = Callable[[str], AbstractContextManager[LiveServer | Worker]]


class Member:
    """A process, and those that take its place when it is killed."""

    def __init__(self, name: str, start: Start) -> None:
        self.name = name
        self.victims: list[str] = []
        """Those that were killed, or asleep for longer than their leases."""
        self._start = start
        self._lives = 0
        self._life = ExitStack()
        self.live: LiveServer | Worker

    @property
    def incarnation(self) -> str:
        """What the process of the moment is called."""
        return f"{self.name}-{self._lives}"

    @property
    def log(self) -> str:
        """All that the process of the moment has written to stderr."""
        return self.live.log if isinstance(self.live, Worker) else self.live.warnings

    async def start(self) -> None:
        self._lives += 1
        life = self._start(self.incarnation)
        self.live = await asyncio.to_thread(self._life.enter_context, life)

    async def kill(self) -> None:
        self.victims.append(self.incarnation)
        self.live.signal(signal.SIGKILL)
        await asyncio.to_thread(self.live.wait)
        self._life.close()

    def freeze(self) -> None:
        self.victims.append(self.incarnation)
        self.live.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.live.signal(signal.SIGCONT)

    def close(self) -> None:
        self._life.close()


class Cluster:
    """All of it."""

    def __init__(self, data: Path, url: str, valkey: Valkey, ports: tuple[int, int]) -> None:
        self.url = url
        self.valkey = valkey
        agents = write_agent(data.with_name("agents"))
        shared = ("--agents", agents, "--lease", str(LEASE), "--redis-url", valkey.url)

        @contextmanager
        def server(port: int, name: str) -> Iterator[LiveServer]:
            own = ("--port", str(port), "--execute", "workers", "--database-url", named(url, name))
            with live_server(data, *shared, *own, patience=PATIENCE) as live:
                yield live

        @contextmanager
        def worker(name: str) -> Iterator[Worker]:
            own = ("--database-url", named(url, name))
            with live_worker(data, *shared, *own, patience=PATIENCE) as live:
                yield live

        self.one = Member("one", lambda name: server(ports[0], name))
        self.two = Member("two", lambda name: server(ports[1], name))
        self.worker = Member("worker", worker)
        self.addresses = tuple(f"http://127.0.0.1:{port}" for port in ports)

    @property
    def members(self) -> tuple[Member, ...]:
        return self.one, self.two, self.worker

    @property
    def victims(self) -> set[str]:
        return {name for member in self.members for name in member.victims}


@asynccontextmanager
async def running_cluster(
    data: Path, postgres: PostgresServer, valkey: Valkey, ports: tuple[int, int]
) -> AsyncIterator[Cluster]:
    await open_database(connector(postgres.url, LIMIT))
    await install(postgres.url)
    cluster = Cluster(data, postgres.url, valkey, ports)
    try:
        await asyncio.gather(*(member.start() for member in cluster.members))
        yield cluster
    finally:
        for member in cluster.members:
            member.close()


@contextmanager
def machinery() -> Iterator[tuple[PostgresServer, Valkey, tuple[int, int]]]:
    """What a cluster needs, of its own, because it is broken."""
    with (
        running_postgres() as postgres,
        running_valkey() as valkey,
        reserved_port() as one,
        reserved_port() as two,
    ):
        yield postgres, valkey, (one, two)
