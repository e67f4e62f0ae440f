"""`python -m bench.relays KIND UPSTREAM CORE`: a relay to a provider; prints its port and a token.

`gateway` is Mobox's, with its checks and counts. `bare` is the least that passes a stream on with
the same HTTP client and server: no checks, no counts, no watch for clients that leave.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
import uvloop

from mobox.capture.catalog import Agent
from mobox.capture.model_access import Caller
from mobox.models.access import GatewayAccess
from mobox.models.config import ModelsConfig
from mobox.models.gateway import Gateway
from mobox.models.ledger import Ledger
from mobox.models.listener import Listener
from mobox.models.providers import PROVIDERS

__all__ = ["BARE", "GATEWAY", "PATH"]

GATEWAY, BARE = "gateway", "bare"
PATH = "/anthropic/v1/messages"

App = Callable[[Any, Any, Any], Awaitable[None]]


def _bare(upstream: str) -> App:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
    client = httpx2.AsyncClient(timeout=None, limits=limits, trust_env=False)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def body() -> Any:
            more = True
            while more:
                message = await receive()
                yield message.get("body", b"")
                more = message.get("more_body", False)

        url = upstream + scope["path"].removeprefix("/anthropic")
        given = {"content-length": dict(scope["headers"])[b"content-length"].decode()}
        request = httpx2.Request(scope["method"], url, headers=given, content=body())
        response = await client.send(request, stream=True)
        try:
            headers = [(b"content-type", response.headers["content-type"].encode())]
            start = {"type": "http.response.start", "status": response.status_code}
            await send({**start, "headers": headers})
            async for data in response.aiter_raw():
                await send({"type": "http.response.body", "body": data, "more_body": True})
        finally:
            await response.aclose()
        await send({"type": "http.response.body", "body": b""})

    return app


async def _serve_bare(upstream: str) -> None:
    config = uvicorn.Config(
        _bare(upstream), lifespan="off", access_log=False, log_config=None, ws="none"
    )
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        _tell(f"{listening.getsockname()[1]} -")
        await uvicorn.Server(config).serve(sockets=[listening])


async def _serve_gateway(upstream: str) -> None:
    environment = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": upstream}
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(ModelsConfig(PROVIDERS, environment), Ledger(Path(folder)))
        address = await Listener(gateway).open()
        agent = Agent(id="bench", name="Bench", models=("anthropic",))
        grant = GatewayAccess(gateway, address).grant(agent)
        grant.bind(Caller(run_id="r", attempt=1, owner="local", agent="bench"))
        _tell(f"{address.rpartition(':')[2]} {grant.env['ANTHROPIC_API_KEY']}")
        await asyncio.Event().wait()


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until ended."""
    kind, upstream, core = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    serve = {GATEWAY: _serve_gateway, BARE: _serve_bare}[kind]
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        runner.run(serve(upstream))


if __name__ == "__main__":
    main()
