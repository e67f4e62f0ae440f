"""The servers that are compared, each in a process: `python -m bench.hosted APP DATA CORE`.

All of them are uvicorn with uvloop and httptools and the settings of `mobox serve`. A server tells
its port on stdout once it listens, and serves until it is terminated. With a file as its last
argument it writes there at the end where its event loop has spent its time.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from bench import workload
from bench.hotspots import sample
from bench.ticking import CATALOG, launch
from mobox.server.actions import ChatActions
from mobox.server.app import create_app, open_services
from mobox.server.ops.run_server import run_loop
from mobox.settings import Settings
from mobox.supervisor import Supervisor

__all__ = ["APPS"]

MANY = 10_000

OpenApp = Callable[[Path], AbstractAsyncContextManager[ASGIApp]]


@asynccontextmanager
async def mobox(data: Path) -> AsyncIterator[ASGIApp]:
    """Our own server; only its agents are functions of this process."""
    async with open_services(Settings(data=data)) as services:
        limits = Settings(max_runs=MANY, max_runs_per_owner=MANY)
        supervisor = Supervisor(services.storage, CATALOG, data, settings=limits, launch=launch)
        async with supervisor:
            actions = ChatActions(services.storage, supervisor)
            changed = msgspec.structs.replace(services, supervisor=supervisor, actions=actions)
            yield create_app(changed)


@asynccontextmanager
async def pydantic_ai(_data: Path) -> AsyncIterator[ASGIApp]:
    """The peer, as its documentation serves it, with events that are made already."""
    from bench.pydantic_ai_peer import PydanticAI  # not in the venv of the tests

    peer = PydanticAI(workload.lines())

    async def stream(_request: Request) -> Response:
        return peer.response()

    yield Starlette(routes=[Route("/", stream)])


@asynccontextmanager
async def bare(_data: Path) -> AsyncIterator[ASGIApp]:
    """The least that Starlette can do: a response that has begun and says nothing."""

    async def nothing() -> AsyncIterator[bytes]:
        yield b":\n\n"
        await asyncio.get_running_loop().create_future()

    async def stream(_request: Request) -> Response:
        return StreamingResponse(nothing(), media_type="text/event-stream")

    yield Starlette(routes=[Route("/", stream)])


APPS: dict[str, OpenApp] = {"mobox": mobox, "pydantic-ai": pydantic_ai, "bare": bare}


async def _serve(app: OpenApp, data: Path, profile: Path | None) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        async with app(data) as opened:
            config = uvicorn.Config(
                opened,
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=1,
            )
            await _Server(config, profile).serve(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, profile: Path | None) -> None:
        super().__init__(config)
        self._profile = profile

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._profile is not None:
            self._stop_sampling = sample()
        assert sockets is not None
        sys.stdout.write(f"{sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._profile is not None:
            self._profile.write_text(self._stop_sampling(), "utf-8")
        await super().shutdown(sockets)


def main() -> None:
    """Serve until a signal comes."""
    name, data, core, *profile = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    run_loop(_serve(APPS[name], Path(data), Path(profile[0]) if profile else None))


if __name__ == "__main__":
    main()
