"""Servers that use up all connections of their PostgreSQL: runs finish, and the servers end."""

from __future__ import annotations

import asyncio
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from server.live_server import LIMIT, Reader, http_client, live_server
from support.postgres_server import OPTIONS, Databases, running_postgres

SECONDS = 3 * LIMIT
SERVERS = 4
FEW = OPTIONS | {
    "max_connections": str(2 * SERVERS + 1),
    "superuser_reserved_connections": "0",
    "reserved_connections": "0",
    "max_wal_senders": "0",
}
"""A writer and NOTIFY for each, and one connection more."""


@pytest.mark.time_limit(SECONDS)
async def test_runs_of_servers_without_free_connections_finish(tmp_path: Path) -> None:
    with running_postgres(FEW) as database, ExitStack() as stack:
        url = await Databases(database.url).blank()
        servers = [
            stack.enter_context(live_server(tmp_path / f"data{n}", "--database-url", url))
            for n in range(SERVERS)
        ]
        assert "raise max_connections" in servers[-1].log

        async def converse(n: int) -> None:
            async with http_client(servers[n]) as client:
                for k in range(3):
                    reader = Reader(f"chat {n} {k}")
                    while reader.status != 200:  # 503 says that it may be sent again
                        await reader.say(client, "hello")
                        assert reader.status in (200, 503)
                    assert reader.has_ended

        await asyncio.gather(*map(converse, range(SERVERS)))
        for server in servers:
            server.signal(signal.SIGTERM)
        for server in servers:
            assert await asyncio.to_thread(server.wait) == 0
