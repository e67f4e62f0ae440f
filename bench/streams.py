"""What a server spends on clients that read whole runs, all at the same time."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench import workload
from bench.hosting import Hosted
from bench.readers import Readers, body_of, get
from mobox.storage.log import Run

__all__ = ["Spent", "alternate", "bodies", "path_of", "read_all"]


@dataclass(frozen=True)
class Spent:
    """Seconds for an event."""

    cpu: float
    """Of the server, all threads."""
    wall: float

    def __truediv__(self, other: Spent) -> Spent:
        return Spent(self.cpu / other.cpu, self.wall / other.wall)


def path_of(run: Run) -> str:
    """Where a run is read from."""
    return f"/api/chat/{run.chat_id}/stream?run={run.id}"


def read_all(server: Hosted, paths: Sequence[str]) -> Spent:
    """Read each path to its end, with a client of its own."""
    cpu, start = server.cpu(), time.monotonic()
    with Readers(server.port) as readers:
        readers.ask_all([get(path) for path in paths])
        readers.drain()
    wall = time.monotonic() - start
    events = len(paths) * workload.EVENTS
    return Spent((server.cpu() - cpu) / events, wall / events)


def bodies(server: Hosted, paths: Sequence[str]) -> list[bytes]:
    """What the clients are told."""
    responses: defaultdict[int, bytearray] = defaultdict(bytearray)
    with Readers(server.port) as readers:
        readers.ask_all([get(path) for path in paths])
        readers.drain(lambda number, data: responses[number].extend(data))
    return [body_of(bytes(responses[number])) for number in range(len(paths))]


def alternate(
    ours: tuple[Hosted, Sequence[str]], theirs: tuple[Hosted, Sequence[str]], rounds: int
) -> list[tuple[Spent, Spent]]:
    """What the peer spends and what we spend: the mean of right before and right after it."""
    before = read_all(*ours)
    found = []
    for _ in range(rounds):
        peer = read_all(*theirs)
        after = read_all(*ours)
        mean = Spent((before.cpu + after.cpu) / 2, (before.wall + after.wall) / 2)
        found.append((peer, mean))
        before = after
    return found
