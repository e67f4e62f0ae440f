"""The attacks: what hostile agents try, and what each sandbox is expected to do about it.

The same files are in the folder of the hostile agent, which runs them: they import nothing but
Python's own modules. Each attack is a function that returns what it has achieved, as a few words;
it returns nothing, or raises, if it was stopped. It knows all that there is to know: paths, ports
and process ids of the server. A sandbox must not depend on secrets of that kind.

Rule 1: an attack harms nobody where it succeeds. It opens a file for writing and writes nothing,
        sends signal 0, or makes a system call with arguments that do nothing.
Rule 2: all that it uses is bounded, and all that it starts ends by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

MODULES = (
    "reading", "network", "processes", "resources", "state", "spares", "output", "kernel",
)  # fmt: skip

POSSIBLE, STOPPED, MACHINE = "possible", "stopped", "machine"
"""`MACHINE`: up to the kernel and its settings; not asserted."""
PROBES = "probes"
"""The agent that runs many attacks in one run."""


class Targets(NamedTuple):
    """What an attack is directed at: all of it is known to the agent."""

    canary: str
    """A text that is in all that an agent must not read."""
    data: str
    """The data folder of the server."""
    agents: str
    """The folder of all agents."""
    private_state: str
    """The state folder of another chat."""
    url: str
    """The server's API, on 127.0.0.1."""
    server: int
    """The process id of the server."""
    keeper: int
    """Of the process between the server and the agent of the other chat."""
    sibling: int
    """Of the agent of the other chat."""
    port: int
    """Where a program of the machine listens on 127.0.0.1."""
    port_6: int
    """The same on ::1; 0 if the machine has no IPv6."""
    udp_port: int
    abstract: str
    """The name of an abstract Unix socket of the machine."""
    socket: str
    """The path of a Unix socket of the machine."""
    request: str
    """The id of the open approval in the other chat."""
    token: str
    """A token for models, of another run that is still going."""


Run = Callable[[Targets], str]


class Attack(NamedTuple):
    """One attempt, and what is expected of it."""

    name: str
    title: str
    section: str
    run: Run
    process: str = STOPPED
    """What `process` does about it, if the server is root."""
    unprivileged: str = STOPPED
    """The same, if the server is not."""
    why: str = ""
    """Why `process` allows it, or on what it depends."""
    agent: str = PROBES
    """Who runs it: `probes` runs many in one run, all others one only."""
    ends: str = "stop"
    """The reason, or the code of the error, with which a run of its own ends."""
    process_ends: str = ""
    """The same in `process`, if that is another."""

    def expected(self, sandbox: str, *, is_root: bool) -> str:
        """What is expected of a sandbox."""
        if sandbox != "process":
            return STOPPED
        return self.process if is_root else self.unprivileged

    def ending(self, sandbox: str) -> str:
        """With what its run ends."""
        return self.process_ends if sandbox == "process" and self.process_ends else self.ends


ATTACKS: list[Attack] = []


class Section:
    """Attacks of one kind: a heading of the table."""

    def __init__(self, title: str) -> None:
        self._title = title

    def attack(
        self,
        title: str,
        process: str = STOPPED,
        unprivileged: str | None = None,
        *,
        why: str = "",
        agent: str = PROBES,
        ends: str = "stop",
        process_ends: str = "",
    ) -> Callable[[Run], Run]:
        """Add the function to the table."""

        def add(run: Run) -> Run:
            name = getattr(run, "__name__", "").replace("_", "-")
            also = process if unprivileged is None else unprivileged
            row = (name, title, self._title, run, process, also, why, agent, ends, process_ends)
            ATTACKS.append(Attack(*row))
            return run

        return add


def every() -> dict[str, Attack]:
    """All attacks, by name, in the order of the table."""
    for module in MODULES:
        import_module(f"{__name__}.{module}")
    return {attack.name: attack for attack in ATTACKS}
