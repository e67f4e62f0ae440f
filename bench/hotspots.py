"""Where the time goes: a sampled profile as a Markdown table."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

__all__ = ["hotspots", "sample"]

SECONDS = 2.0
INTERVAL = 0.0001
ROWS = 15
ROOT = Path(__file__).parent.parent
PACKAGES = "site-packages"


def hotspots(work: Callable[[], object]) -> str:
    """The functions in which `work` spends its time; C code counts for whoever calls it."""
    work()  # imports are not what is asked for
    end = time.monotonic() + SECONDS
    stop = sample()
    while time.monotonic() < end:
        work()
    return stop()


def sample() -> Callable[[], str]:
    """Look from now on what this thread does, until the returned function is called."""
    from pyinstrument import Profiler  # not in the venv of the tests

    profiler = Profiler(interval=INTERVAL, async_mode="disabled")
    profiler.start()
    return lambda: _table(profiler.stop().root_frame())


def _table(root: Any) -> str:
    alone: defaultdict[str, float] = defaultdict(float)
    altogether: defaultdict[str, float] = defaultdict(float)
    for name, own, whole, outermost in _frames(root, frozenset()):
        alone[name] += own
        altogether[name] += whole if outermost else 0
    rows = [
        f"| {own / root.time:.1%} | {altogether[name] / root.time:.1%} | {name} |"
        for name, own in sorted(alone.items(), key=itemgetter(1), reverse=True)[:ROWS]
    ]
    return "\n".join(["| alone | with what it calls | function |", "|--:|--:|---|", *rows])


def _frames(frame: Any, above: frozenset[str]) -> Iterator[tuple[str, float, float, bool]]:
    if frame.is_synthetic:  # the profiler's word for the time of its parent alone
        return
    name = _name(frame)
    children = [child for child in frame.children if not child.is_synthetic]
    own = frame.time - sum(child.time for child in children)
    yield name, own, frame.time, name not in above
    for child in children:
        yield from _frames(child, above | {name})


def _name(frame: Any) -> str:
    path = Path(frame.file_path or "?")
    return f"`{frame.function}` {_shown(path)}:{frame.line_no}"


def _shown(path: Path) -> Path:
    if PACKAGES in path.parts:
        return Path(*path.parts[path.parts.index(PACKAGES) + 1 :])
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path(path.name)
