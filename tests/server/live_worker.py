"""A worker in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.live_server import AGENTS, LIMIT, MOBOX, clean_environment


class Worker:
    """A process that runs `mobox worker`."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.process = process
        self._errors = errors
        assert process.stdout is not None
        self.health = ""
        while (line := process.stdout.readline()) != "Mobox worker is running (Ctrl+C to stop)\n":
            assert line, errors.read_text()
            self.health = re.findall(r"http://\S+", line)[0]

    @property
    def log(self) -> str:
        """All that it has written to stderr."""
        return self._errors.read_text()

    @property
    def warnings(self) -> list[str]:
        lines = self.log.splitlines()
        return [line for line in lines if " INFO [" not in line]

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(LIMIT)


@contextmanager
def live_worker(
    data: Path, *arguments: str | Path, patience: float = 3 * LIMIT, **env: str
) -> Iterator[Worker]:
    """A worker, which ends with the block at the latest; only a hang takes longer."""
    errors = data.with_name(f"{data.name}-worker-{os.urandom(4).hex()}")
    given = {"--agents": str(AGENTS), "--data": str(data)}
    flags = [word for pair in given.items() if pair[0] not in arguments for word in pair]
    command = [*MOBOX, "worker", *flags, *arguments]
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=clean_environment(**env)
        ) as process,
    ):
        timer = threading.Timer(patience, process.kill)
        timer.start()
        try:
            yield Worker(process, errors)
        finally:
            timer.cancel()
            process.kill()
