"""What a connection costs a server in memory while nothing goes over it, and what runs leave."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from bench.hosting import Hosted
from bench.live import ask
from bench.readers import Readers, get
from bench.ticking import BRIEF, SILENT

__all__ = ["begin_silent_run", "growth", "idle", "stalled"]

FIRST = 100
"""Connections that are there before: what the first ones need is the server's, not theirs."""
SMALL = 16 * 1024
"""Bytes that the kernel takes for a client that reads nothing."""
AT_ONCE = 20
EVENT_END = b"\n\n"
_RUN = re.compile(rb"x-mobox-run: (\w+)")


def begin_silent_run(server: Hosted) -> str:
    """The path of a run that goes on and says nothing."""
    told = bytearray()
    with Readers(server.port) as readers:
        readers.ask(ask(SILENT, 0))
        while (found := _RUN.search(told)) is None:
            readers.turn(None, lambda _number, data: told.extend(data))
    return f"/api/chat/{SILENT}-0/stream?run={found[1].decode()}"


def idle(server: Hosted, path: str, connections: int) -> float:
    """Bytes that the server has in memory for each connection that waits."""
    with Readers(server.port) as readers:
        _connect(readers, path, FIRST)
        before = server.memory()
        _connect(readers, path, connections)
        return (server.memory() - before) / connections


def _connect(readers: Readers, path: str, count: int) -> None:
    """Connections that have got the first event of their response."""
    waiting = {readers.ask(get(path)) for _ in range(count)}

    def take(number: int, data: memoryview) -> None:
        if EVENT_END in bytes(data):
            waiting.discard(number)

    while waiting:
        readers.turn(None, take)


def stalled(server: Hosted, paths: Sequence[str], seconds: float) -> float:
    """Bytes by which the server grows for each client that asks and then reads nothing."""
    before = server.memory()
    with Readers(server.port) as readers:
        for path in paths:
            readers.ask(get(path), receive_buffer=SMALL)
        time.sleep(seconds)
        return (server.memory() - before) / len(paths)


def growth(server: Hosted, before: int, runs: int) -> float:
    """Bytes by which the server grows while it executes runs, each in a chat of its own.

    Some go before, until what grows to a size of its own has it: SQLite keeps up to 2 MB of pages
    for each connection, which small runs take long to fill.
    """
    _execute(server, range(before))
    had = server.memory()
    _execute(server, range(before, before + runs))
    return server.memory() - had


def _execute(server: Hosted, numbers: range) -> None:
    for first in range(numbers.start, numbers.stop, AT_ONCE):
        with Readers(server.port) as readers:
            few = range(first, min(first + AT_ONCE, numbers.stop))
            readers.ask_all([ask(BRIEF, number) for number in few])
            readers.drain()
