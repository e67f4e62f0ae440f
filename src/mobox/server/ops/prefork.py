"""Prefork: several server processes that share one listening socket, and a parent.

Rule 1: the parent serves nothing and has neither threads nor a loop, so that it may fork at any
        time. A process that dies is replaced, with a growing delay if it dies early.
Rule 2: signals reach the parent only, which forwards them: processes have their own groups, so
        Ctrl+C in a terminal does not reach them directly.
Rule 3: none outlives the parent: each holds one end of a pipe that only the parent keeps open.
Rule 4: the first process starts alone. What keeps it from serving would also stop the others, and
        is reported once.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from mobox.errors import MoboxError

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
        how = f"signal {-code}" if code < 0 else f"code {code}"
        lived = time.monotonic() - since
        before = self._delays.get(number, 0.0) if lived < SOON else 0.0
        self._delays[number] = delay = min(max(FIRST_DELAY, before * 2), LAST_DELAY)
        message = "process %d of %d (pid %d) ended with %s; restarting it in %.1f s"
        log.warning(message, number + 1, self._count, pid, how, delay)
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

            self._work(WorkerProcess(number, self._folder, self._alive_end, ready))
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


def _wake_by_signals() -> int:
    """The read end of a pipe that receives the numbers of signals."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    for number in (*ENDINGS, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable
