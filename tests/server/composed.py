"""compose.yaml as Docker reads it, and its services as processes of this machine."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import yaml

from server.live_server import LIMIT, MOBOX, clean_environment

ROOT: Final = Path(__file__).parents[2]
SECRETS: Final = {"POSTGRES_PASSWORD": "of-postgres", "VALKEY_PASSWORD": "of-valkey"}
NEEDED: Final = re.compile(r"\$\{(\w+):\?[^}]+\}")
"""A variable without which nothing begins: the only way in which one is used."""
OURS: Final = ("web1", "web2", "worker")

Service = dict[str, Any]


def composed() -> dict[str, Any]:
    """The file, with these secrets in it."""
    text = (ROOT / "compose.yaml").read_text()
    told: dict[str, Any] = yaml.safe_load(NEEDED.sub(lambda found: SECRETS[found[1]], text))
    return told


def services() -> dict[str, Service]:
    told: dict[str, Service] = composed()["services"]
    return told


class Process:
    """One of our services, at work."""

    def __init__(self, process: subprocess.Popen[str], service: Service) -> None:
        self.process = process
        self._service = service

    @cached_property
    def url(self) -> str:
        """Where it is served, or only its health; a worker says that before it is ready."""
        assert self.process.stdout is not None
        address = ""
        for line in self.process.stdout:
            address = "".join(re.findall(r"http://\S+", line)) or address
            if line.endswith("(Ctrl+C to stop)\n"):
                return address
        raise AssertionError("it ended before it began")

    def is_healthy(self) -> bool:
        """What the service's own check says, with the port that the process has."""
        kind, *command = self._service["healthcheck"]["test"]
        assert (kind, command[0]) == ("CMD", "python")
        asked = re.sub(r"http://127\.0\.0\.1:\d+", self.url, command[2])
        assert self.url in asked
        done = subprocess.run([sys.executable, "-c", asked], capture_output=True, timeout=LIMIT)
        return done.returncode == 0


@contextmanager
def running(service: Service, places: Mapping[str, str]) -> Iterator[Process]:
    """A service with its own command and environment, but for where things are on this machine."""
    environment = {**service["environment"], **places}
    command = [re.sub(r"^8100$", "0", word) for word in service["command"]]
    with subprocess.Popen(
        [*MOBOX, *command],
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(**environment),
    ) as process:
        timer = threading.Timer(3 * LIMIT, process.kill)
        timer.start()
        try:
            yield Process(process, service)
        finally:
            timer.cancel()
            process.kill()
