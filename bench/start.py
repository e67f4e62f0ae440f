"""From a message to the agent's first event: with a new process, and with a spare that waits.

A real server, and two agents twice: once without spares and once with one. `imports` imports
DeepAgents before it reads its turn, as an agent on it does; the demo imports only `shared`. The
demo also runs in bubblewrap, where that works: its start, and a run with thousands of events.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx

from bench.figures import Figure, Samples
from mobox.sandbox.bubblewrap import BubblewrapSandbox
from mobox.settings import REPOSITORY_AGENTS
from server.live_server import agent_processes, live_server

__all__ = ["FIGURES", "TITLE", "explain", "measure", "versions"]

TITLE = "Start: a message → the agent's first event"

PYTHON = Path(".venv-frameworks/bin/python")
"""The interpreter that has DeepAgents."""
IMPORTS = """
import deepagents
from shared.emitter import emit_done, emit_text, read_turn

emit_text(read_turn().prompt)
emit_done()
"""
KINDS = {"cold": "warm: 0", "warm": "warm: 1", "boxed": "sandbox: bubblewrap"}
"""The settings of the agents that are compared."""
BOTH = ("cold", "boxed")
STILL = 0.5
"""Seconds without any use of CPU, after which a spare waits for its turn."""
LIMIT = 120.0

_LOWER = "New process ÷ spare (more is better)"

FIGURES = (
    Figure("ratio/imports", "DeepAgents: new process ÷ spare", at_least=5, panel=_LOWER),
    Figure("ratio/demo", "demo: new process ÷ spare", panel=_LOWER),
    Figure("ms/imports-cold", "DeepAgents: new process", unit="ms"),
    Figure("ms/imports-warm", "DeepAgents: spare", unit="ms"),
    Figure("ms/demo-cold", "demo: new process", unit="ms"),
    Figure("ms/demo-warm", "demo: spare", unit="ms"),
    Figure("ms/demo-boxed", "demo: new process in bubblewrap", unit="ms"),
    Figure("ms/bubblewrap", "demo: bubblewrap, above a process", unit="ms", at_most=100),
    Figure("ratio/boxed-events", "demo, a flood of lines: bubblewrap ÷ process", at_most=1.1),
    Figure("mb/imports", "DeepAgents: memory of a spare and its keeper (PSS)", unit="MB"),
    Figure("mb/demo", "demo: memory of a spare and its keeper (PSS)", unit="MB"),
)


def measure(rounds: int) -> Samples:
    """One whole run; agents that are not installed here are left out."""
    agents = ["demo", *(["imports"] if PYTHON.exists() else [])]
    found: Samples = {}
    for name in agents:
        with _served(name) as (client, data):
            pairs = [_round(client, data, name) for _ in range(max(1, rounds // 3))]
            found[f"mb/{name}"] = [_memory(_until_still(data)) / 2**20]
        found[f"ms/{name}-cold"] = [cold * 1000 for cold, _ in pairs]
        found[f"ms/{name}-warm"] = [warm * 1000 for _, warm in pairs]
        found[f"ratio/{name}"] = [cold / warm for cold, warm in pairs]
        if name == "demo" and is_boxed():
            found |= _boxed(rounds)
    return found


def is_boxed() -> bool:
    """Whether bubblewrap works here."""
    return BubblewrapSandbox().probe().problem is None


def _boxed(rounds: int) -> Samples:
    """The demo as a process and in bubblewrap, in turn."""
    found: Samples = {name: [] for name in ("ms/demo-boxed", "ms/bubblewrap", "ratio/boxed-events")}
    with _served("demo", ("cold", "boxed")) as (client, _):
        for _ in range(max(1, rounds // 3)):
            cold, boxed = (_seconds(client, f"demo-{kind}") for kind in ("cold", "boxed"))
            found["ms/demo-boxed"].append(boxed * 1000)
            found["ms/bubblewrap"].append((boxed - cold) * 1000)
            times = [_seconds(client, f"demo-{kind}", "flood", last=True) for kind in BOTH]
            found["ratio/boxed-events"].append(times[1] / times[0])
    return found


def _round(client: httpx.Client, data: Path, name: str) -> tuple[float, float]:
    """The seconds of a new process, and of a spare, which waits meanwhile."""
    if not agent_processes(data):
        _seconds(client, f"{name}-warm")  # its first use
    _until_still(data)
    cold = _seconds(client, f"{name}-cold")
    _until_still(data)
    return cold, _seconds(client, f"{name}-warm")


@contextmanager
def _served(
    name: str, kinds: Sequence[str] = ("cold", "warm")
) -> Iterator[tuple[httpx.Client, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        data, agents = Path(folder, "data"), Path(folder, "agents")
        for kind in kinds:
            _write_agent(agents / f"{name}-{kind}", name, KINDS[kind])
        with (
            live_server(data, "--agents", agents, patience=10 * LIMIT) as server,
            httpx.Client(base_url=server.url, timeout=LIMIT, trust_env=False) as client,
        ):
            yield client, data


def _write_agent(folder: Path, name: str, setting: str) -> None:
    if name == "demo":
        shutil.copytree(REPOSITORY_AGENTS / "demo", folder)
        entry = "env: {MOBOX_DEMO_SPEED: 0}\n"
    else:
        folder.mkdir(parents=True)
        (folder / "run_agent.py").write_text(IMPORTS)
        entry = f"entry: [{PYTHON.absolute()}, run_agent.py]\n"
    (folder / "agent.yaml").write_text(f"{entry}{setting}\n")


_numbers = count()


def _seconds(client: httpx.Client, agent: str, text: str = "hi", *, last: bool = False) -> float:
    """From the request to the first text of the answer, in a new chat; reads all of it.

    With `last`: from the first text to the end.
    """
    number = next(_numbers)
    message = {"id": f"m{number}", "role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": f"chat-{number}", "messages": [message], "agent": agent}
    begun, first = time.perf_counter(), 0.0
    with client.stream("POST", "/api/chat", json=body) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if not first and _is_text(line):
                first = time.perf_counter() - begun
    assert first, f"agent {agent} said nothing"
    return time.perf_counter() - begun - first if last else first


def _is_text(line: str) -> bool:
    if not line.startswith("data: {"):
        return False
    chunk = json.loads(line.removeprefix("data: "))
    return bool(chunk["type"] == "text-delta")


def _until_still(data: Path) -> list[int]:
    """The processes of spares, once there are some and they have used no CPU for a while."""
    deadline = time.monotonic() + LIMIT
    before, since = -1, time.monotonic()
    while time.monotonic() < deadline:
        pids = agent_processes(data)
        used = sum(map(_ticks, pids))
        if used != before or len(pids) < 2:
            before, since = used, time.monotonic()
        elif time.monotonic() - since > STILL:
            return pids
        time.sleep(0.05)
    raise RuntimeError("there is no spare, or it does not come to rest")


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0
    return int(fields[11]) + int(fields[12])


def _memory(pids: Sequence[int]) -> float:
    """The bytes of these processes; what they share with others counts in part."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def versions() -> Mapping[str, str]:
    """What was compared, and how busy the machine was."""
    found = {"Python": platform.python_version(), "load": f"{os.getloadavg()[0]:.1f}"}
    if PYTHON.exists():
        ask = "from importlib.metadata import version as v; print(v('deepagents'))"
        done = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True, check=False)
        found["deepagents"] = done.stdout.strip()
    return found


def explain(missed: Sequence[str]) -> str:
    """Nothing: what is left of a warm start is the server's own work."""
    return ""
