"""Sandboxes: how an agent's process is started, and what it can access.

Rule 1: an agent gets the environment of its configuration, never the server's own.
Rule 2: when the agent or the server ends, all processes it started end too, unless the agent evades
        that deliberately, which a sandbox may not be able to prevent.
Rule 3: only the folder `$MOBOX_STATE` is kept between two attempts of a chat.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct, field

from mobox.errors import UnknownSandbox
from mobox.registry import find, names

GROUP = "mobox.sandboxes"


class Job(Struct, frozen=True, kw_only=True):
    """A process to run."""

    argv: tuple[str, ...]
    folder: Path
    """Where it runs: the agent's own folder."""
    state: Path
    """The chat's state folder, which it may write; created if missing."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Variables with their values; `None` takes the server's own value, if it has one."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """memory, open_files, processes, file_size; a sandbox ignores what it cannot enforce."""


class Status(Struct, frozen=True):
    """How a process ended; both are `None` if its keeper was killed, or has not finished."""

    exit_code: int | None = None
    signal: int | None = None


class Child(Protocol):
    """A started process. The descriptors are non-blocking; the caller closes them."""

    pid: int
    stdin: int
    stdout: int
    stderr: int
    created: str | None
    """What the sandbox had to create, as a message for users, such as "Created a container for
    Research"; `None` where a process was only started."""

    async def wait(self) -> Status:
        """Wait until it and all processes it started have ended."""
        ...

    def terminate(self) -> None:
        """Send TERM to its process group."""
        ...

    def kill(self) -> None:
        """Kill it and all processes it started; the second call also stops `wait`.

        Both may be called at any time, any number of times.
        """
        ...


class NotBound(Exception):
    """A spare cannot have the state folder of a chat, for the reason given."""


class SpareChild(Child, Protocol):
    """A process that was started without a chat."""

    async def bind(self, state: Path) -> None:
        """Put the state folder of a chat in the place of `job.state`, locked; raises `NotBound`.

        It goes back to its own place when the process has ended.
        """
        ...


class Sandbox(Protocol):
    """A way to run agents."""

    def start(self, job: Job) -> Child:
        """Start it. A command that cannot run exits with 126 or 127, with a message on stderr."""
        ...


@runtime_checkable
class SpareSandbox(Sandbox, Protocol):
    """A sandbox that can start processes before their chats are known."""

    def start_spare(self, job: Job, lock: int) -> SpareChild:
        """Start it with an empty folder; the descriptor `lock` stays open as long as it runs."""
        ...


def get_sandbox(name: str) -> Sandbox:
    """The sandbox of that name; `subprocess` is an alias of `process`."""
    sandbox: Sandbox = find(GROUP, name, UnknownSandbox)()
    return sandbox


def known() -> list[str]:
    """The names of the registered sandboxes."""
    return names(GROUP)
