"""The application on a socket: uvicorn, made to end runs before it ends connections.

Rule 1: a signal ends the runs. What they say last ends the responses, and only then are those who
        still read cut off.
Rule 2: while that goes on new runs are refused in words, not by a closed door.
Rule 3: Ctrl+C once more gives nobody any more time; what is stored is whole all the same.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any, Final

import uvicorn

from mobox.delivery.neighbours import Neighbours
from mobox.errors import InvalidSetting
from mobox.server.app import create_app, open_services
from mobox.server.keys import is_live
from mobox.server.processes import Mate, Parent
from mobox.server.services import Services
from mobox.server.settings import Settings, is_loopback
from mobox.storage import Storage
from mobox.storage.settings import now_ms

__all__ = ["address_of", "listen", "run_loop", "say", "say_what_ends", "serve", "set_up_logging"]

log = logging.getLogger("mobox.server")

KEEP_ALIVE: Final = 130
"""Seconds that a connection may be silent between two requests: longer than clients and proxies
keep theirs (Node 4, nginx 60, Caddy 120), lest they ask on one that closes at that moment."""

GOODBYE: Final = 1
"""Seconds that readers have to take what is left for them, once all runs have ended."""

NEIGHBOURS: Final = 6
"""Seconds that other processes have whose sockets are connected here, to end their runs."""

GONE: Final = 60
"""Seconds after which a reader that confirms nothing is taken for gone."""

NEW_OBJECTS: Final = 20_000
"""So many let Python look for cycles among them. Of its usual 700 a busy server makes as many in a
millisecond, hardly a cycle among them, and spends a tenth of its time looking."""


def serve(settings: Settings) -> int:
    """Serve until a signal comes; the exit code."""
    if settings.workers > 1:
        settings.check_shared("workers")
    set_up_logging(settings.log_level.upper())
    with listen(settings.host, settings.port) as listener:
        address = address_of(listener)

        def announce() -> None:
            say(f"Mobox is at {address} (Ctrl+C to stop)")

        if settings.workers > 1:
            work = partial(_serve_together, settings, listener)
            return Parent(settings.workers, work, announce).run()
        run_loop(_serve(settings, listener, announce))
    return 0


def _serve_together(settings: Settings, listener: socket.socket, mate: Mate) -> None:
    run_loop(_serve(settings, listener, mate.ready, mate))


def run_loop(work: Coroutine[Any, Any, None]) -> None:
    """Do this in the fastest loop that there is, in a process that has nothing else to do."""
    gc.collect()
    gc.freeze()  # what is loaded by now stays
    gc.set_threshold(NEW_OBJECTS, 10, 2)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(work)


def set_up_logging(level: str) -> None:
    """Our own words at the level that was asked for, those of others only where they warn."""
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s")
    if level == "INFO":
        logging.getLogger().setLevel(logging.WARNING)
        logging.getLogger("mobox").setLevel(level)


async def _serve(
    settings: Settings,
    listener: socket.socket,
    announce: Callable[[], None],
    mate: Mate | None = None,
) -> None:
    neighbours = Neighbours(mate.folder, mate.number) if mate is not None else None
    async with open_services(settings, neighbours=neighbours) as services:
        services.website.prepare()
        await _warn_about_keys(settings, services.storage)
        config = uvicorn.Config(
            create_app(services),
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=GOODBYE + 1,
            timeout_keep_alive=KEEP_ALIVE,
            ws="wsproto",
            ws_max_size=settings.max_body,
            ws_per_message_deflate=False,
        )
        server = _Server(config, services, announce)
        if mate is not None:
            server.end_with(mate.parent)
        await server.serve(sockets=[listener])


async def _warn_about_keys(settings: Settings, storage: Storage) -> None:
    """Say what somebody may not have meant."""
    now = now_ms()
    has_keys = any(is_live(key, now) for key in await storage.keys())
    if settings.auth == "none" and has_keys:
        log.warning("there are keys, but everybody may ask without one: --auth keys asks for them")
    if settings.auth == "keys" and not has_keys:
        log.warning("nobody has a key yet: mobox keys add --owner NAME")
    if not is_loopback(settings.host):
        log.warning("keys can be read on the way here unless a proxy speaks TLS to those who ask")


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, services: Services, announce: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._supervisor = services.supervisor
        self._sockets = services.sockets
        self._announce = announce
        self._loop = asyncio.get_running_loop()

    def end_with(self, parent: int) -> None:
        """End when this descriptor becomes readable."""

        def end() -> None:
            self._loop.remove_reader(parent)
            self.handle_exit(signal.SIGTERM, None)

        self._loop.add_reader(parent, end)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        say_what_ends(self._supervisor.running)
        await self._supervisor.close()
        await self._sockets.finish(0 if self.force_exit else GOODBYE)
        await self._sockets.aclose()
        await self._sockets.leave(0 if self.force_exit else NEIGHBOURS)
        self._loop.call_later(0 if self.force_exit else GOODBYE, self._hang_up)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn would raise the signal again once it is done; the store is to be closed then.
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
            self._loop.call_soon_threadsafe(self._supervisor.hurry)
        self.should_exit = True

    def _hang_up(self) -> None:
        """Close what is open, also where a reader has stalled and nothing can be said any more."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def say_what_ends(running: int) -> None:
    """Tell the person who ended it why that takes a while, where it does."""
    if running:
        runs = "1 run" if running == 1 else f"{running} runs"
        say(f"Ending {runs} (Ctrl+C again to end at once)")


def say(line: str) -> None:
    """For the person who started it, who may have closed the window by now."""
    with suppress(OSError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def listen(host: str, port: int, setting: str = "port") -> socket.socket:
    """A socket there; if there can be none, an error that names the setting."""
    host = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return _forgetful(socket.create_server((host, port), family=family, backlog=2048))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            flag = "--" + setting.replace("_", "-")
            variable = "PORT" if setting == "port" else f"MOBOX_{setting.upper()}"
            choose = f"choose another with {flag} or {variable}, or 0 for any that is free"
            problem = f"in use already on {host}; {choose}"
        else:
            problem = f"cannot listen there on {host}: {error.strerror}"
        raise InvalidSetting(setting, str(port), problem) from None


def _forgetful(listener: socket.socket) -> socket.socket:
    """A socket whose connections forget a reader that is gone without a word.

    Heartbeats are sent to it, and nobody confirms them.
    """
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # not everywhere
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, GONE * 1000)
    return listener


def address_of(listener: socket.socket) -> str:
    """The URL of what is served there."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return None
    return uvloop.Loop
