"""A server in a process of its own, on a core of its own, and what it has used so far."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Self

__all__ = ["Hosted", "server_core", "use_client_core"]

_NS, _KB = 1e-9, 1024


class Hosted:
    """One of `bench.hosted.APPS`, listening; a context manager that ends it."""

    def __init__(self, app: str, data: Path, profile: Path | None = None) -> None:
        """Where its event loop spends its time is told to `profile` when it ends."""
        command = [sys.executable, "-m", "bench.hosted", app, str(data), str(server_core())]
        if profile is not None:
            command.append(str(profile))
        _allow_many_files()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        if not told:
            self._process.communicate()
            raise RuntimeError(f"the server {app} did not start: {self._process.returncode}")
        self.port = int(told)

    def cpu(self) -> float:
        """Seconds of CPU time, of all its threads."""
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) * _NS

    def loop_cpu(self) -> float:
        """Those of its first thread, which has the event loop."""
        task = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/schedstat")
        return int(task.read_text().split()[0]) * _NS

    def memory(self) -> int:
        """Bytes that it has in memory (RSS)."""
        status = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmRSS"].split()[0]) * _KB

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def use_client_core() -> None:
    """Keep this process, which is the client, off the core of the servers."""
    os.sched_setaffinity(0, {_cores()[0]})


def server_core() -> int:
    """The core for whatever serves."""
    return _cores()[1]


def _cores() -> tuple[int, int]:
    """The client's and the server's; where there is but one, they share it."""
    there = range(os.cpu_count() or 1)
    return there[0], there[-1]


def _allow_many_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
