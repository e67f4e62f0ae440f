"""Sandboxes: how an agent's process is started, and what it can access.

Rule 1: an agent gets the environment of its configuration, never the server's own.
Rule 2: when the agent or the server ends, all processes it started end too, unless the agent evades
        that deliberately, which a sandbox may not be able to prevent.
Rule 3: only the folder `$MOBOX_STATE` is kept between two attempts of a chat.
Rule 4: a sandbox that cannot enforce what a job asks for says so in its `probe`; it does not start
        the job with less, unless its docs say so.

docs/sandboxes.md describes them, docs/add-a-sandbox.md how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from socket import socket
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct, field

from mobox.errors import UnknownSandbox
from mobox.registry import find, names

GROUP = "mobox.sandboxes"

NetworkMode = Literal["none", "model", "hosts", "full", "host"]
LimitName = Literal["memory", "processes", "disk"]


class Network(Struct, frozen=True):
    """What a process can connect to."""

    mode: NetworkMode = "host"
    """`none`; the server's gateway to `model`s; listed `hosts` by the server's proxy, and models;
    `full`: all public hosts by that proxy, and models; `host`: the machine's own network."""
    hosts: tuple[str, ...] = ()


class Job(Struct, frozen=True, kw_only=True):
    """A process to run."""

    argv: tuple[str, ...]
    folder: Path
    """Where it runs: the agent's own folder, which it may read."""
    state: Path
    """The chat's state folder, which it may write; created if missing."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Variables with their values; `None` takes the server's own value, if it has one."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """memory, processes, cpu, disk, open_files, file_size; those it lacks have the sandbox's
    defaults (limits.py)."""
    readable: tuple[Path, ...] = ()
    """Files and folders that it may read besides `folder`: its interpreter and packages."""
    writable: tuple[Path, ...] = ()
    """Folders that it may write besides `state`; they are measured like it."""
    network: Network = Network()
    image: str | None = None
    """The image of its container, in sandboxes that have some; `None` is their default."""
    ports: tuple[int, ...] = ()
    """Ports of 127.0.0.1 in the sandbox on which the server answers; see `Child.when_listening`."""


class Status(Struct, frozen=True):
    """How a process ended; all are `None` if its keeper was killed, or has not finished."""

    exit_code: int | None = None
    signal: int | None = None
    exceeded: LimitName | None = None
    """The limit for which it was ended."""
    limit: int | None = None
    """Its value: bytes, or processes."""


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

    def when_listening(self, serve: Callable[[int, socket], object]) -> None:
        """Call this with each of the job's `ports` and the socket that listens on it.

        The caller accepts connections from the socket, and closes it.
        """
        ...


@runtime_checkable
class LeasedChild(Child, Protocol):
    """A process that stops when the lease of its run is over, also if the server hangs."""

    def run_until(self, deadline: float) -> None:
        """Freeze the job at this time, unless a later one is sent before; then it continues.

        The time is that of `mobox.storage.renewals.since_boot`. May be called at any time.
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


class Probe(Struct, frozen=True, kw_only=True):
    """Whether a sandbox works on this machine: the result of trying it."""

    problem: str | None = None
    """Why it does not work, and what to do, as a sentence; `None` if it works."""
    limits: Mapping[LimitName, str] = field(default_factory=dict)
    """How each limit is enforced, such as "cgroup" or "measured"."""
    notes: tuple[str, ...] = ()
    """What an operator should know about it, each a sentence."""


class Sandbox(Protocol):
    """A way to run agents."""

    isolates: bool
    """Whether an agent can reach neither the server nor other agents' files and processes."""
    own_network: bool
    """Whether it enforces the `network` of a job. Then 127.0.0.1 is its own, and `ports` count;
    else jobs have no ports."""

    def probe(self) -> Probe:
        """Try it. Blocks for up to some seconds; called in a thread."""
        ...

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
    sandbox: Sandbox = find(GROUP, name, UnknownSandbox, "start", "probe")()
    return sandbox


def known() -> list[str]:
    """The names of the registered sandboxes."""
    return names(GROUP)
