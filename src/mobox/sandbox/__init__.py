"""Sandboxes: how an agent's process is started, and what it can reach.

Rule 1: an agent gets the environment that is written down for it, never the server's own.
Rule 2: when it ends, or the server does, all that it started ends too; unless it works against
        that on purpose, which a sandbox may not be able to prevent.
Rule 3: nothing but the folder `$MOBOX_STATE` is kept for it between two legs of a chat.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from mobox.errors import UnknownSandbox
from mobox.registry import find, names

__all__ = ["GROUP", "Child", "Job", "Sandbox", "Status", "get_sandbox", "known"]

GROUP = "mobox.sandboxes"


class Job(Struct, frozen=True, kw_only=True):
    """What is to run."""

    argv: tuple[str, ...]
    folder: Path
    """Where it runs: the agent's own folder."""
    state: Path
    """What it may write, kept for its chat; made if it is not there."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Names with their values; `None` stands for the server's own value, if it has one."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """memory, open_files, processes, file_size; a sandbox leaves out what it cannot hold."""


class Status(Struct, frozen=True):
    """How a process ended; neither is known where its keeper was killed, or is not done yet."""

    exit_code: int | None = None
    signal: int | None = None


class Child(Protocol):
    """A process that was started. The descriptors do not block; whoever started it closes them."""

    pid: int
    stdin: int
    stdout: int
    stderr: int
    created: str | None
    """What the sandbox had to create for it, in words for people, such as "Created a container for
    Research"; nothing where a process was only started."""

    async def wait(self) -> Status:
        """Wait for the end of it, and of all that it started."""
        ...

    def terminate(self) -> None:
        """Ask it to end (TERM to its process group)."""
        ...

    def kill(self) -> None:
        """End it, and all that it started; the second time without waiting for it any longer.

        Both may be called at any time, any number of times.
        """
        ...


class Sandbox(Protocol):
    """A way to run agents."""

    def start(self, job: Job) -> Child:
        """Start it. What cannot be run is told by its exit code, 126 or 127, and its stderr."""
        ...


def get_sandbox(name: str) -> Sandbox:
    """The sandbox of that name; `subprocess` is the documents' name for `process`."""
    sandbox: Sandbox = find(GROUP, name, UnknownSandbox)()
    return sandbox


def known() -> list[str]:
    """The names `get_sandbox` knows."""
    return names(GROUP)
