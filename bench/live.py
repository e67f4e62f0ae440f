"""Many runs that speak at the same time, each with a client that reads along."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from bench.hosting import Hosted
from bench.readers import Readers, post
from bench.ticking import TICKING, stamps

__all__ = ["Live", "ask", "read_along"]

SETTLE = 1.0
"""Seconds until the first second counts."""
STAGGER = 0.0051
"""Seconds between two starts; no multiple of the time between two lines, so they come evenly."""


@dataclass(frozen=True)
class Live:
    """What was found while all runs spoke."""

    events: int
    p50: float
    p99: float
    """Seconds from when a line was due to when a client had it."""
    busy: float
    """Of one core, by the server."""
    loop: float
    """The same of its event loop alone; nearly all of the rest is the thread that writes."""
    cpu: float
    """Seconds of the server's, for an event."""


def ask(agent: str, number: int) -> bytes:
    """A request that begins a run of `agent` in a chat of its own, and reads it."""
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "Go on."}]}
    chat = {"id": f"{agent}-{number}", "agent": agent, "trigger": "submit-message"}
    return post("/api/chat", {**chat, "messages": [message]})


def read_along(server: Hosted, runs: int, seconds: float, settle: float = SETTLE) -> Live:
    """Begin runs, one after the other, and then listen to all of them."""
    waited: list[float] = []

    def take(_number: int, data: memoryview) -> None:
        now = time.monotonic()
        waited.extend(now - stamp for stamp in stamps(data))

    with Readers(server.port) as readers:
        start = time.monotonic()
        for number in range(runs):
            readers.ask(ask(TICKING, number))
            readers.listen_until(start + STAGGER * (number + 1), take)
        readers.listen_until(time.monotonic() + settle, take)
        waited.clear()
        cpu, loop, start = server.cpu(), server.loop_cpu(), time.monotonic()
        readers.listen_until(start + seconds, take)
        took, cpu = time.monotonic() - start, server.cpu() - cpu
        loop = server.loop_cpu() - loop
    percents = statistics.quantiles(waited, n=100)
    p50, p99 = percents[49], percents[98]
    return Live(len(waited), p50, p99, cpu / took, loop / took, cpu / len(waited))
