"""The proxy of a process that executes agents: opened and closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

from mobox.capture.egress_access import EgressAccess, NoEgress
from mobox.egress import Egress
from mobox.egress.access import ProxyAccess
from mobox.settings import Settings

_PORTS: Final = {"postgresql": 5432, "postgres": 5432, "redis": 6379, "rediss": 6379}


@asynccontextmanager
async def served_egress(settings: Settings) -> AsyncIterator[EgressAccess]:
    """Serve the proxy while agents are executed here."""
    if not settings.executes:
        yield NoEgress()
        return
    own = await asyncio.to_thread(resolved, list(own_ports(settings)))
    egress = Egress(forbidden=lambda: own)
    await egress.open()
    try:
        yield ProxyAccess(egress)
    finally:
        await egress.close()


def resolved(ports: list[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """These, and the addresses of the hosts that they name."""
    found = list(ports)
    for host, port in ports:
        with suppress(OSError):
            for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                found.append((str(address[0]), port))
    return tuple(dict.fromkeys(found))


def own_ports(settings: Settings) -> Iterator[tuple[str, int]]:
    """Where the server and its database listen: no list of hosts opens these."""
    if settings.port:
        yield settings.host, settings.port
    for url in filter(None, (settings.database_url, settings.redis_url)):
        with suppress(ValueError):
            parts = urlsplit(url)
            port = parts.port or _PORTS.get(parts.scheme.partition("+")[0])
            if parts.hostname and port:
                yield parts.hostname, port
