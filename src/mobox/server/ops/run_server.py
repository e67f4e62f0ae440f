"""Serves the application with uvicorn, which stops runs before it closes connections.

Rule 1: a signal stops the runs. Their last events end the responses; connections that are still
        open after that are aborted.
Rule 2: during shutdown new runs are refused with an error response, not a closed port.
Rule 3: a second Ctrl+C ends everything immediately; the stored logs are still complete.
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

from mobox.delivery.worker_forwarding import PeerForwarder
from mobox.errors import InvalidSetting
from mobox.server.app import create_app, open_services
from mobox.server.auth.keys import is_live
from mobox.server.ops.prefork import PreforkParent, WorkerProcess
from mobox.server.services import Services
from mobox.settings import Settings, is_loopback, now_ms
from mobox.storage import Storage

log = logging.getLogger("mobox.server")

KEEP_ALIVE: Final = 130
"""Keep-alive timeout in seconds: longer than that of clients and proxies (Node 4, nginx 60,
Caddy 120), so that they do not send a request on a connection that is just being closed."""

GOODBYE: Final = 1
"""Seconds that clients have to read the rest, once all runs have ended."""

PEERS: Final = 6
"""Seconds that peer processes have to end their runs for sockets connected through this one."""

GONE: Final = 60
"""Seconds without a TCP acknowledgement after which a connection is dropped."""

NEW_OBJECTS: Final = 20_000
"""Threshold of the cyclic garbage collector. With the default of 700 a busy server collects every
millisecond, finds hardly a cycle, and spends a tenth of its time on it."""


def serve(settings: Settings) -> int:
    """Serve until a signal comes; the exit code."""
    if settings.workers > 1:
        settings.check_shared("workers")
    set_up_logging(settings.log_level.upper())
    with listen(settings.host, settings.port) as listener:
        address = address_of(listener)

        def announce() -> None:
            print_line(f"Mobox is at {address} (Ctrl+C to stop)")

        if settings.workers > 1:
            work = partial(_serve_together, settings, listener)
            return PreforkParent(settings.workers, work, announce).run()
        run_loop(_serve(settings, listener, announce))
    return 0


def _serve_together(settings: Settings, listener: socket.socket, process: WorkerProcess) -> None:
    run_loop(_serve(settings, listener, process.ready, process))


def run_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` in the fastest available event loop, in a process that has no other work."""
    gc.collect()
    gc.freeze()  # loaded modules stay for good
    gc.set_threshold(NEW_OBJECTS, 10, 2)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(work)


def set_up_logging(level: str) -> None:
    """Log at the given level; at `INFO`, only warnings of other libraries."""
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s")
    if level == "INFO":
        logging.getLogger().setLevel(logging.WARNING)
        logging.getLogger("mobox").setLevel(level)


async def _serve(
    settings: Settings,
    listener: socket.socket,
    announce: Callable[[], None],
    process: WorkerProcess | None = None,
) -> None:
    peers = PeerForwarder(process.folder, process.number) if process is not None else None
    async with open_services(settings, peers=peers) as services:
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
        if process is not None:
            server.end_with(process.parent)
        await server.serve(sockets=[listener])


async def _warn_about_keys(settings: Settings, storage: Storage) -> None:
    """Warn about authentication settings that are probably a mistake."""
    now = now_ms()
    has_keys = any(is_live(key, now) for key in await storage.keys())
    if settings.auth == "none" and has_keys:
        log.warning("API keys exist, but authentication is off: use --auth keys to require them")
    if settings.auth == "keys" and not has_keys:
        log.warning("there are no API keys yet: create one with mobox keys add --owner NAME")
    if not is_loopback(settings.host):
        log.warning(
            "API keys are sent unencrypted to %s: put a TLS proxy in front of it", settings.host
        )


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
        """Shut down when this descriptor becomes readable."""

        def end() -> None:
            self._loop.remove_reader(parent)
            self.handle_exit(signal.SIGTERM, None)

        self._loop.add_reader(parent, end)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        print_stopping(self._supervisor.running)
        await self._supervisor.close()
        await self._sockets.finish(0 if self.force_exit else GOODBYE)
        await self._sockets.aclose()
        await self._sockets.leave(0 if self.force_exit else PEERS)
        self._loop.call_later(0 if self.force_exit else GOODBYE, self._hang_up)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn would raise the signal again when done, before the store is closed.
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
            self._loop.call_soon_threadsafe(self._supervisor.hurry)
        self.should_exit = True

    def _hang_up(self) -> None:
        """Abort open connections, also those whose client has stalled."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def print_stopping(running: int) -> None:
    """Print how many runs are being stopped, as that may take a while."""
    if running:
        runs = "1 run" if running == 1 else f"{running} runs"
        print_line(f"Stopping {runs} (Ctrl+C again to stop at once)")


def print_line(line: str) -> None:
    """Print a line to stdout, which may be closed by now."""
    with suppress(OSError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def listen(host: str, port: int, setting: str = "port") -> socket.socket:
    """Open a listening socket; raises `InvalidSetting` with the setting's name."""
    host = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return _with_timeout(socket.create_server((host, port), family=family, backlog=2048))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            flag = "--" + setting.replace("_", "-")
            variable = "PORT" if setting == "port" else f"MOBOX_{setting.upper()}"
            choose = f"choose another with {flag} or {variable}, or 0 for any free port"
            problem = f"port already in use on {host}; {choose}"
        else:
            problem = f"cannot listen on {host}: {error.strerror}"
        raise InvalidSetting(setting, str(port), problem) from None


def _with_timeout(listener: socket.socket) -> socket.socket:
    """Set a TCP user timeout: a client that is gone does not acknowledge heartbeats."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux only
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, GONE * 1000)
    return listener


def address_of(listener: socket.socket) -> str:
    """The URL of what is served there."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not available on Windows
        return None
    return uvloop.Loop
