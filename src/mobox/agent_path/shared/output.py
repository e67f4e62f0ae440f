"""Writes an agent's lines: one JSON object each, complete, flushed, on a stream of their own.

Rule 1: a value that JSON cannot hold is converted. Writing never raises for a value, since that
        must not end an agent.
Rule 2: if the runner sets `MOBOX_EMIT=1`, stdout is reserved for events: all other output, also of
        a subprocess or of C code, goes to stderr. Without it, importing this module changes
        nothing, not even in the subprocesses of such an agent.
Rule 3: lines of several threads never mix, nor does that of a signal handler with the one that it
        interrupts; a line that Ctrl-C interrupts does not corrupt the next.
Rule 4: the exception that ends an agent run by Mobox is written as its last line: uncaught.py.
Rule 5: if an agent is a function of a larger program, its lines go to that program: `told_to`
        takes them instead of stdout, in one context and the tasks that it starts.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import TracebackType
from typing import Any

__all__ = [
    "MAX_DEPTH",
    "encode",
    "is_run_by_mobox",
    "plain",
    "told_to",
    "where_lines_go",
    "write_exit",
    "write_line",
]

ASKED = "MOBOX_EMIT"
MAX_DEPTH = 100


def _take_stdout() -> int | None:
    """The descriptor for events, if the runner set the variable; printed output goes to stderr.

    The variable then names this process and the descriptor: a second copy of this module (mobox's
    own, beside the one on the path) writes there too, and a subprocess knows not to use it.
    """
    setting, mine = os.environ.get(ASKED, ""), f"{os.getpid()}:"
    if setting.startswith(mine):
        return int(setting[len(mine) :])
    if setting != "1":
        return None
    with suppress(OSError):  # no stdout or no stderr: then there is nothing to keep apart
        taken = os.dup(1)
        os.dup2(2, 1)
        os.environ[ASKED] = f"{mine}{taken}"
        return taken
    return None


class _Stream:
    """The lines that wait to be written, and the thread that writes them."""

    def __init__(self) -> None:
        self.taken = _take_stdout()
        self.forget()

    def forget(self) -> None:
        """Reset in a forked process: the thread that held the lock may not exist there."""
        self._lock = threading.RLock()
        self._waiting: deque[bytes] = deque()
        self._writing = False
        self._cut = False  # a line was interrupted

    def write(self, line: bytes) -> None:
        with self._lock:
            self._waiting.append(line)
            # A signal handler that finds `_writing` true leaves its line to the interrupted writer,
            # which checks the queue again at its end.
            while self._waiting and not self._writing:
                self._writing = True
                try:
                    self._write_all()
                finally:
                    self._writing = False

    def _write_all(self) -> None:
        while self._waiting:
            line = b"\n" * self._cut + self._waiting.popleft()
            self._cut = True  # after Ctrl-C here, the next line starts on a new line
            self._write(line)
            self._cut = False

    def _write(self, line: bytes) -> None:
        if self.taken is None:
            sys.stdout.write(line.decode("ascii"))
            sys.stdout.flush()
            return
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self.taken, rest) :]


_stream = _Stream()
os.register_at_fork(after_in_child=_stream.forget)


def _report_uncaught() -> None:
    """Write the exception that ends this process, not one that it forks."""
    before, process = sys.excepthook, os.getpid()

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        if isinstance(error, Exception) and os.getpid() == process:  # Ctrl-C is how it is stopped
            with suppress(Exception):
                from .uncaught import report  # only now: an agent should start fast

                report(error, crashed=True)

    sys.excepthook = hook


if _stream.taken is not None:
    _report_uncaught()


def is_run_by_mobox() -> bool:
    """Whether a runner reads the output and writes to stdin."""
    return _stream.taken is not None


_sink: ContextVar[Callable[[Any], None] | None] = ContextVar("told_to", default=None)


@contextmanager
def told_to(take: Callable[[Any], None]) -> Iterator[None]:
    """Pass the values of all lines written in this context to `take`."""
    token = _sink.set(take)
    try:
        yield
    finally:
        _sink.reset(token)


def write_line(value: Any) -> None:
    """Write one line; raises only if the reader is gone (`BrokenPipeError`)."""
    where_lines_go()(value)


def where_lines_go() -> Callable[[Any], None]:
    """What takes the lines of this context: what `told_to` names, else stdout."""
    return _sink.get() or _write_out


def _write_out(value: Any) -> None:
    _stream.write(encode(value))


def write_exit() -> None:
    """Say that no line follows, so that the run ends now and not when the interpreter has exited.

    How it ended follows from the lines before; a run that waits for an answer still waits.
    """
    if is_run_by_mobox():
        write_line({"type": "exit", "data": {}})


def encode(value: Any) -> bytes:
    """The line of `value`, in ASCII, so that no encoding can corrupt it."""
    text = None
    with suppress(Exception):  # an agent's __repr__ or model_dump may raise anything
        text = json.dumps(value, allow_nan=False, default=_plain_or_raise)
    if text is None:
        text = json.dumps(plain(value))
    return text.encode("ascii") + b"\n"


def _plain_or_raise(value: Any) -> Any:
    made = _made_plain(value)
    return _as_text(value) if made is None else made


def plain(value: Any, above: tuple[int, ...] = ()) -> Any:
    """A JSON value for `value`; nesting that is too deep or circular is cut."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**64 else hex(value)  # more digits than `str` may make
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if len(above) > MAX_DEPTH or id(value) in above:
        return "…"
    return _plain_inside(value, (*above, id(value)))


def _plain_inside(value: Any, above: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return {_as_text(key): plain(inner, above) for key, inner in list(value.items())}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner, above) for inner in list(value)]
    made = None
    with suppress(Exception):
        made = _made_plain(value)
    return _as_text(value) if made is None else plain(made, above)


def _made_plain(value: Any) -> Any:
    """The fields of an object; `None` if only its `repr` is left."""
    if isinstance(value, BaseException):
        return {"type": type(value).__name__, "message": str(value)}
    if isinstance(value, type):
        return None
    if hasattr(value, "__dataclass_fields__"):  # without importing dataclasses, which is slow
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, (set, frozenset)):
        return list(value)
    if hasattr(value, "model_dump"):  # pydantic's
        return value.model_dump(mode="json")
    if hasattr(value, "isoformat"):  # a date or a time
        return value.isoformat()
    return dict(value) if isinstance(value, Mapping) else None


def _as_text(value: Any) -> str:
    """`value` as text: `str` for a path and an enum, `repr` for most others."""
    if isinstance(value, str):
        return value
    with suppress(Exception):
        return str(value) if isinstance(value, (int, float, os.PathLike)) else repr(value)
    return f"<{type(value).__name__}>"
