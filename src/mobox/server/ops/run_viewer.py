"""Serves `mobox view` until a signal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import uvicorn

from mobox.server.eventstream import Heartbeats
from mobox.server.ops.run_server import listen
from mobox.server.viewer import PAGE, ViewedFile, viewer_app
from mobox.settings import Settings

HOST = "127.0.0.1"


def view(file: ViewedFile, port: int, announce: Callable[[str], None]) -> int:
    """Serve a recording; `announce` gets the page's address once it can be opened."""
    asyncio.run(_view(file, port, announce))
    return 0


async def _view(file: ViewedFile, port: int, announce: Callable[[str], None]) -> None:
    listener = listen(HOST, port)
    heartbeats = Heartbeats()
    heartbeats.start()
    app = viewer_app(file, heartbeats, Settings())
    config = uvicorn.Config(app, lifespan="off", access_log=False, log_config=None, ws="none")
    announce(f"http://{HOST}:{listener.getsockname()[1]}/{PAGE}")  # it listens already
    try:
        await uvicorn.Server(config).serve(sockets=[listener])
    finally:
        heartbeats.stop()
