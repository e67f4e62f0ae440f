"""`mobox sim` in a process of its own, on a free port of this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.live_server import MOBOX, clean_environment


@contextmanager
def mobox_sim(*options: str | Path) -> Iterator[str]:
    """Its URL, as it prints it."""
    command = [*MOBOX, "sim", "--port", "0", "--pace", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=clean_environment()
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline().strip()
        try:
            assert first.startswith("Simulated model on "), first
            yield first.removeprefix("Simulated model on ")
        finally:
            process.terminate()
