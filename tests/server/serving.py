"""A real server on the loopback, in the loop of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ParamSpec

import httpx
import uvicorn
import uvloop
from starlette.types import ASGIApp

P = ParamSpec("P")
SECONDS = 30


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
            base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=False
        ) as client,
    ):
        yield client


def on_uvloop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test as the server runs, and not for ever."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def limited() -> None:
            async with asyncio.timeout(SECONDS):
                await test(*args, **kwargs)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(limited())

    return run
