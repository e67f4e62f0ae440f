"""A worker: a process that executes runs and serves no HTTP but, optionally, its own health.

Rule 1: it takes queued runs from the database while it has capacity.
Rule 2: it shuts down as a server does: SIGTERM lets runs finish for `Settings.drain` seconds,
        Ctrl+C stops them, and a second signal ends everything at once.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import uvicorn
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from mobox.server import health
from mobox.server.app import open_process
from mobox.server.errors import exception_handlers
from mobox.server.guard import Allowed, Guard
from mobox.server.ops.run_server import (
    address_of,
    listen,
    print_draining,
    print_line,
    print_stopping,
    run_loop,
    set_up_logging,
)
from mobox.server.services import Process
from mobox.settings import Settings, is_loopback
from mobox.supervisor import Supervisor

log = logging.getLogger("mobox.server")

HOLD = 2
"""Seconds that a waiting agent's process is kept alive, for its last output. The answer arrives at
a server, and starts a new attempt."""


def work(settings: Settings) -> int:
    """Execute runs until a signal comes; the exit code."""
    settings.check_shared("database_url")
    set_up_logging(settings.log_level.upper())
    run_loop(_work(replace(settings, execute="here", hold=min(settings.hold, HOLD))))
    return 0


async def _work(settings: Settings) -> None:
    async with (
        open_process(settings) as process,
        served_health(process),
    ):
        supervisor = process.supervisor
        ending, drains = _shutdown_event(supervisor)
        print_line("Mobox worker is running (Ctrl+C to stop)")
        print_line(supervisor.sandboxes.default.summary())
        await ending.wait()
        if drains and settings.drain:
            print_draining(supervisor.running, settings.drain)
            await supervisor.drain()
        print_stopping(supervisor.running)
        await supervisor.close()


def _shutdown_event(supervisor: Supervisor) -> tuple[asyncio.Event, list[signal.Signals]]:
    """Set by the first signal, which is listed if runs may finish before."""
    loop, ending = asyncio.get_running_loop(), asyncio.Event()
    drains: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        if ending.is_set():
            supervisor.hurry()
        elif number == signal.SIGTERM:
            drains.append(number)
        ending.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    return ending, drains


# The health endpoint


class _Health(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals are handled by the worker."""
        yield


@asynccontextmanager
async def served_health(process: Process) -> AsyncIterator[None]:
    """Serve health and metrics at a port of its own, until the worker ends."""
    settings = process.settings
    if settings.health_port is None:
        yield
        return
    app = _health_app(process)
    config = uvicorn.Config(app, lifespan="off", access_log=False, log_config=None, ws="none")
    with listen(settings.health_host, settings.health_port, "health_port") as listener:
        server = _Health(config)
        serving = asyncio.create_task(_serve(server, listener))
        print_line(f"Health endpoint: {address_of(listener)}")
        try:
            yield
        finally:
            server.should_exit = True
            await serving


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    try:
        await server.serve(sockets=[listener])
    except Exception:  # running agents matter more than their metrics
        log.exception("the worker's health endpoint failed; its runs continue")


def _health_app(process: Process) -> ASGIApp:
    settings = process.settings
    handlers = {"/healthz": health.alive, "/readyz": health.ready, "/metrics": health.metrics}
    routes = [Route(path, partial(handler, process=process)) for path, handler in handlers.items()]
    app = Starlette(routes=routes, exception_handlers=exception_handlers)
    # Probes from other machines, such as a kubelet's, use any address of this one.
    is_ours_alone = is_loopback(settings.health_host)
    hosts = (*settings.hosts, settings.health_host) if is_ours_alone else None
    return Guard(app, Allowed(hosts=hosts, origins=(), max_body=settings.max_body))
