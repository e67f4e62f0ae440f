"""The application on a socket: uvicorn, made to end runs before it ends connections."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from types import FrameType
from typing import Final

import uvicorn

from mobox.errors import InvalidSetting
from mobox.server.app import create_app, open_services
from mobox.server.services import Services
from mobox.server.settings import Settings

__all__ = ["serve"]

GOODBYE: Final = 1
"""Seconds that readers have to take what is left for them, once all runs have ended."""


def serve(settings: Settings) -> None:
    """Serve until a signal comes."""
    logging.basicConfig(level=settings.log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    with _listen(settings) as listener, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, listener))


async def _serve(settings: Settings, listener: socket.socket) -> None:
    async with open_services(settings) as services:
        config = uvicorn.Config(
            create_app(services),
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=GOODBYE,
        )
        await _Server(config, services, _address(listener)).serve(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, services: Services, address: str) -> None:
        super().__init__(config)
        self._services = services
        self._address = address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"Mobox is at {self._address} (Ctrl+C to stop)", flush=True)  # noqa: T201

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Runs first: their last words end the responses that are open.
        await self._services.supervisor.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn would raise the signal again once it is done; the store is to be closed then.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def _listen(settings: Settings) -> socket.socket:
    host = "127.0.0.1" if settings.host == "localhost" else settings.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, settings.port), family=family, backlog=2048)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        raise InvalidSetting("PORT", where, f"cannot listen there: {error.strerror}") from None


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return None
    return uvloop.Loop
