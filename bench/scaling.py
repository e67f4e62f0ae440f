"""The same work done by one process and by two: what is stored in a second, and what is read."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import msgspec

from bench import workload
from bench.readers import Readers, get
from bench.streams import Spent
from bench.writing import Written

__all__ = ["Serving", "Writing", "read_along", "several_writing", "write_along"]

_NS = 1e-9


class Writing:
    """A process that stores what agents say; a context manager that ends it."""

    def __init__(self, database: str, redis_url: str, runs: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.writing", database, redis_url, str(runs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if self._read() != b"ready\n":
            self._process.communicate()
            raise RuntimeError(f"nobody writes: {self._process.returncode}")

    def begin(self, seconds: float) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n".encode())
        self._process.stdin.flush()

    def written(self) -> Written:
        return msgspec.json.decode(self._read(), type=Written)

    def _read(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def write_along(processes: Sequence[Writing], seconds: float) -> Spent:
    """Let all of them write at the same time; what an append takes."""
    for process in processes:
        process.begin(seconds)
    found = [process.written() for process in processes]
    appends = sum(written.appends for written in found)
    per_second = sum(written.appends / written.seconds for written in found)
    return Spent(cpu=sum(written.cpu for written in found) / appends, wall=1 / per_second)


class Serving:
    """`mobox serve --workers N`; a context manager that ends it."""

    def __init__(self, data: Path, database: str, workers: int) -> None:
        command = [sys.executable, "-c", "import sys; from mobox.cli import main; sys.exit(main())"]
        where = ["--port", "0", "--data", str(data), "--database-url", database]
        self._process = subprocess.Popen(
            [*command, "serve", *where, "--workers", str(workers), "--log-level", "error"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        told = re.search(r"http://[^:]+:(\d+)", self._process.stdout.readline())
        if told is None:
            self._process.communicate()
            raise RuntimeError(f"nobody serves: {self._process.returncode}")
        self.port = int(told[1])

    def cpu(self) -> float:
        """Seconds of CPU time, of all its processes and their threads."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        tasks = (task for each in (pid, *children) for task in Path(f"/proc/{each}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) * _NS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()


def read_along(server: Serving, paths: Sequence[str], events: int = workload.EVENTS) -> Spent:
    """Read each path to its end, with a client of its own; what an event of these takes."""
    cpu, start = server.cpu(), time.monotonic()
    with Readers(server.port) as readers:
        readers.ask_all([get(path) for path in paths])
        readers.drain()
    told = len(paths) * events
    return Spent((server.cpu() - cpu) / told, (time.monotonic() - start) / told)


@contextmanager
def several_writing(
    database: str, redis_url: str, runs: int, processes: int
) -> Iterator[list[Writing]]:
    """So many processes, with so many runs each."""
    with ExitStack() as stack:
        started = (Writing(database, redis_url, runs) for _ in range(processes))
        yield [stack.enter_context(process) for process in started]
