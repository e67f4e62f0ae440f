"""Serves the application with uvicorn, which stops runs before it closes connections.

Rule 1: SIGTERM drains: running agents have `Settings.drain` seconds to finish, new runs are queued
        for other processes, and everything is served as before. After that, or at Ctrl+C, the runs
        are stopped. Their last events end the responses; connections that are still open after that
        are aborted.
Rule 2: while runs are stopped, new ones are refused with an error response, not a closed port.
Rule 3: a second signal ends everything immediately; the stored logs are still complete.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import secrets
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from mobox.delivery.worker_forwarding import PeerForwarder
from mobox.errors import InvalidSetting, MoboxError
from mobox.server.agent_clients import PEER
from mobox.server.app import create_app, open_services
from mobox.server.auth.keys import is_live
from mobox.server.ops.connections import ConnectionLimits
from mobox.server.services import Services
from mobox.settings import MEMORY, Settings, is_loopback, now_ms
from mobox.storage import Storage

# Prefork: several server processes that share one listening socket, and a parent.
#
# Rule 1: the parent serves nothing and has neither threads nor a loop, so that it may fork at any
#         time. A process that dies is replaced, with a growing delay if it dies early.
# Rule 2: signals reach the parent only, which forwards them: processes have their own groups, so
#         Ctrl+C in a terminal does not reach them directly.
# Rule 3: none outlives the parent: each holds one end of a pipe that only the parent keeps open.
# Rule 4: the first process starts alone. What keeps it from serving would also stop the others, and
#         is reported once.

log = logging.getLogger("mobox.server")

ENDINGS: Final = (signal.SIGTERM, signal.SIGINT)
SOON: Final = 10.0
"""A process that lives shorter than these seconds died early."""
FIRST_DELAY: Final = 0.1
LAST_DELAY: Final = 10.0


class WorkerProcess(NamedTuple):
    """What one of the processes knows of the others."""

    number: int
    folder: Path
    """Where their Unix sockets are; private to the user (mode 0700)."""
    secret: bytes
    """By which they recognize each other; see PeerForwarder."""
    parent: int
    """A descriptor that becomes readable when the parent is gone."""
    ready: Callable[[], None]
    """To be called once the process serves."""


class PreforkParent:
    """Keeps `count` processes alive, each of which runs `work` until it is signalled."""

    def __init__(
        self, count: int, work: Callable[[WorkerProcess], None], announce: Callable[[], None]
    ) -> None:
        self._count = count
        self._work = work
        self._announce = announce
        self._secret = secrets.token_bytes()
        self._alive: dict[int, tuple[int, float]] = {}  # by pid: its number, and since when
        self._due: dict[int, float] = {}
        self._delays: dict[int, float] = {}
        self._ready: set[int] = set()
        self._ending = False
        self._code = 0

    def run(self) -> int:
        """Return when all have ended: 0, or the exit code of the first if it could not start."""
        with tempfile.TemporaryDirectory(prefix="mobox-") as folder:
            self._folder = Path(folder)
            self._alive_end, self._kept_end = os.pipe()
            self._ready_read, self._ready_write = os.pipe()
            self._woken = _wake_by_signals()
            self._start(0)
            while self._alive or self._due:
                self._wait()
        return self._code

    # One turn of the loop

    def _wait(self) -> None:
        ready, _, _ = select.select([self._woken, self._ready_read], [], [], self._next_due())
        if self._ready_read in ready:
            self._on_ready(os.read(self._ready_read, 64))
        if self._woken in ready:
            for number in set(os.read(self._woken, 64)) & set(ENDINGS):
                self._end(number)
        self._reap()
        for number in [number for number, at in self._due.items() if at <= time.monotonic()]:
            del self._due[number]
            self._start(number)

    def _next_due(self) -> float | None:
        if not self._due:
            return None
        return max(0.0, min(self._due.values()) - time.monotonic())

    def _on_ready(self, numbers: Iterable[int]) -> None:
        if not self._ready and not self._ending:
            self._due |= dict.fromkeys(range(1, self._count), 0.0)
        before = len(self._ready)
        self._ready |= set(numbers)
        if before < len(self._ready) == self._count:
            self._announce()

    def _end(self, number: int) -> None:
        self._ending = True
        self._due.clear()
        for pid in self._alive:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (dead := os.waitpid(-1, os.WNOHANG))[0]:
                self._on_exit(dead[0], os.waitstatus_to_exitcode(dead[1]))

    def _on_exit(self, pid: int, code: int) -> None:
        if pid not in self._alive:  # an orphan, inherited as the first process of a container
            return
        number, since = self._alive.pop(pid)
        if self._ending:
            return
        if not self._ready:  # Rule 4
            self._code = code if code > 0 else 1
            return
        lived = time.monotonic() - since
        before = self._delays.get(number, 0.0) if lived < SOON else 0.0
        self._delays[number] = delay = min(max(FIRST_DELAY, before * 2), LAST_DELAY)
        log.warning(
            "process %d of %d (pid %d) ended with %s; restarting it in %.1f s",
            number + 1,
            self._count,
            pid,
            _cause(code),
            delay,
        )
        self._due[number] = time.monotonic() + delay

    # A process

    def _start(self, number: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        # Signals are blocked until the fork is done: the child handles those sent to it itself.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
        pid = os.fork()
        if pid == 0:
            self._be(number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
        self._alive[pid] = (number, time.monotonic())

    def _be(self, number: int) -> None:
        """The child's side of the fork. Never returns: the stack above is the parent's."""
        code = 1
        try:
            self._part_from_parent()

            def ready() -> None:
                os.write(self._ready_write, bytes([number]))

            process = WorkerProcess(number, self._folder, self._secret, self._alive_end, ready)
            self._work(process)
            code = 0
        except MoboxError as error:
            sys.stderr.write(f"mobox: {error}\n")
            code = 2
        except Exception:
            log.exception("process %d of %d failed", number + 1, self._count)
        finally:
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _part_from_parent(self) -> None:
        signal.set_wakeup_fd(-1)
        for number in (*ENDINGS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
        os.setpgid(0, 0)  # Rule 2
        for descriptor in (self._kept_end, self._ready_read, self._woken):
            os.close(descriptor)


def _cause(code: int) -> str:
    """The name of the signal that ended a process, or its exit code."""
    if code >= 0:
        return f"code {code}"
    has_name = -code in set(signal.Signals)  # most real-time signals have none
    return signal.Signals(-code).name if has_name else f"signal {-code}"


def _wake_by_signals() -> int:
    """The read end of a pipe that receives the numbers of signals."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    for number in (*ENDINGS, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable


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


LOG_FORMAT: Final = "%(asctime)s %(levelname)s [%(process)d] %(name)s: %(message)s"


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
    logging.basicConfig(level=level, format=LOG_FORMAT)
    if level == "INFO":
        logging.getLogger().setLevel(logging.WARNING)
        logging.getLogger("mobox").setLevel(level)


async def _serve(
    settings: Settings,
    listener: socket.socket,
    announce: Callable[[], None],
    process: WorkerProcess | None = None,
) -> None:
    peers = None
    if process is not None:
        peers = PeerForwarder(process.folder, process.number, process.secret)
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
        config.load()
        config.loaded_app = _with_peer(config.loaded_app)
        limits = ConnectionLimits(settings.request_timeout, services.metrics)
        limits.apply_to(config)
        server = _Server(config, services, announce, limits)
        if process is not None:  # its parent announces all; the log has the sandbox
            server.end_with(process.parent)
        elif services.supervisor.executes:
            server.summary = services.supervisor.sandboxes.default.summary()
        await server.serve(sockets=[listener])


def _with_peer(app: ASGIApp) -> ASGIApp:
    """Around uvicorn's middleware, which replaces a local client by the one that a header names."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        scope[PEER] = scope.get("client")
        await app(scope, receive, send)

    return call


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
            "listening on %s without TLS: make sure that only a TLS proxy can reach it",
            settings.host,
        )


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        services: Services,
        announce: Callable[[], None],
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(config)
        self._limits = limits
        self._supervisor = services.supervisor
        self._sockets = services.sockets
        self._announce = announce
        self.summary = ""
        """Where the agents run, to be printed after the address."""
        self._loop = asyncio.get_running_loop()
        self._drains = False
        self._settings = services.settings

    def end_with(self, parent: int) -> None:
        """Shut down when this descriptor becomes readable."""

        def end() -> None:
            self._loop.remove_reader(parent)
            self.handle_exit(signal.SIGTERM, None)

        self._loop.add_reader(parent, end)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()
        if self.summary:
            print_line(self.summary)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # a tick is a tenth of a second
            self._limits.check(self.server_state, self._loop.time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Of a database in memory no other process executes anything.
        if self._drains and self._settings.drain and self._settings.database != MEMORY:
            await self._drain()
        print_stopping(self._supervisor.running)
        await self._supervisor.close()
        await self._sockets.finish(0 if self.force_exit else GOODBYE)
        await self._sockets.aclose()
        await self._sockets.leave(0 if self.force_exit else PEERS)
        self._loop.call_later(0 if self.force_exit else GOODBYE, self._hang_up)
        await super().shutdown(sockets)

    async def _drain(self) -> None:
        print_draining(self._supervisor.running, self._settings.drain)
        draining = asyncio.create_task(self._supervisor.drain())
        while not (await asyncio.wait([draining], timeout=1))[0]:
            self._limits.check(self.server_state, self._loop.time())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn would raise the signal again when done, before the store is closed.
        if self.should_exit:
            self.force_exit = True
            self._loop.call_soon_threadsafe(self._supervisor.hurry)
        elif sig == signal.SIGTERM:
            self._drains = True
        self.should_exit = True

    def _hang_up(self) -> None:
        """Abort open connections, also those whose client has stalled."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def print_draining(running: int, seconds: float) -> None:
    """Print how many runs may finish, as that may take a while."""
    if running:
        runs = "1 run" if running == 1 else f"{running} runs"
        print_line(f"Waiting up to {seconds:g} s for {runs} (a second signal stops at once)")


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
