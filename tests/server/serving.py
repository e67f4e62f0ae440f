"""A real server on the loopback, in the loop of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from starlette.types import ASGIApp

UVLOOP = ("asyncio", {"use_uvloop": True})
"""The event loop of the server, as the backend of a test."""


class Server(uvicorn.Server):
    """uvicorn that says when it has begun, and ends when it is told to, not a while after."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = asyncio.Event()
        self.ending = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.begun.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.ending.wait()


@asynccontextmanager
async def serve(app: ASGIApp) -> AsyncIterator[int]:
    """The port at which `app` is served."""
    config = uvicorn.Config(app, http="httptools", loop="none", ws="none", lifespan="off",
                            log_config=None, timeout_graceful_shutdown=5)  # fmt: skip
    server = Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve([listening]))
        await server.begun.wait()
        try:
            yield listening.getsockname()[1]
        finally:
            server.ending.set()
            await serving


@asynccontextmanager
async def client_of(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    """A client of `app`, which is served meanwhile."""
    async with (
        serve(app) as port,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"accept": "application/json"},
            trust_env=False,
            verify=False,
        ) as client,
    ):
        yield client
