"""The sockets that the processes of agents have open on this machine (Linux).

Rule 1: an agent's process descends from a keeper, and a keeper is recognized by its command line,
        which names keeper.py of this installation. So the agents of all servers and workers of this
        machine are found, without a list that they would have to share.
Rule 2: only descriptors of those processes are read. Each thread is looked at, as a thread may have
        descriptors of its own.
Rule 3: agents that have a network of their own are left out: they cannot connect to the server, and
        their descriptors may not be readable.
Rule 4: it is best effort. A process that left the tree (its keeper was killed, a service manager
        started it) is not found, nor is a socket that is being passed from one process to another.
Rule 5: where /proc does not show the children of a process there are no agents: on other systems,
        and in kernels without CONFIG_PROC_CHILDREN.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from msgspec import Struct

from mobox.sandbox.kept_process import KEEPER

_PROC: Final = "/proc"
_KEEPER: Final = os.fsencode(KEEPER)
_KEEPER_AT: Final = 6
"""How many words of a command line may come before the keeper's path: the options of Python."""
_OWN_NETWORK: Final = b"own_network=1"
"""The option of a keeper. What comes after `--` is the agent's command, which may say anything."""
_SETTLED: Final = 2.0
"""Seconds after which a process does not become a keeper any more: it is forked before it is."""
_FORGOTTEN: Final = 10.0
"""Seconds without a search after which a pid may belong to another process."""
_ROUNDS: Final = 3
"""How often processes are searched that were started during the search."""
_PIECE: Final = 4096
_DEAD: Final = {"Z", "X"}


class AgentSockets(Struct, frozen=True):
    """What was found."""

    inodes: frozenset[int] = frozenset()
    processes: frozenset[int] = frozenset()
    """The keepers, and the processes that descend from them."""
    hidden_users: frozenset[int] = frozenset()
    """The users of those whose descriptors may not be read, although they are the server's own: a
    process can forbid it."""
    is_complete: bool = True
    """Whether there was time enough."""


class AgentProcesses:
    """Searches the processes of agents. Not thread-safe."""

    def __init__(self) -> None:
        self._seen: dict[int, float] = {}  # all processes, and since when they are known
        self._keepers: set[int] = set()
        self._searched = 0.0

    def sockets(self, seconds: float) -> AgentSockets:
        """The sockets that they have open; those found until then, if it takes longer."""
        until = time.monotonic() + seconds
        inodes: set[int] = set()
        users: set[int] = set()
        keepers = self._find_keepers()
        seen: set[int] = set()  # not the keepers: an agent can give itself their command line
        for _ in range(_ROUNDS):
            new = _descendants(keepers) - seen
            if not new:
                break
            for pid in new:
                try:
                    _add_sockets(pid, inodes, users, until)
                except _TookTooLong:
                    return _found(inodes, seen, users, is_complete=False)
                seen.add(pid)
        return _found(inodes, seen, users)

    def _find_keepers(self) -> set[int]:
        """A process is not looked at again once it is known to be none."""
        now = time.monotonic()
        if now - self._searched > _FORGOTTEN:
            self._seen = {}
        self._searched = now
        self._seen = {pid: self._seen.get(pid, now) for pid in _pids()}
        self._keepers = {
            pid
            for pid, since in self._seen.items()
            if (now - since < _SETTLED or pid in self._keepers) and _is_keeper(pid)
        }
        return self._keepers


def _found(
    inodes: set[int], processes: set[int], users: set[int], *, is_complete: bool = True
) -> AgentSockets:
    return AgentSockets(frozenset(inodes), frozenset(processes), frozenset(users), is_complete)


def is_held_by_others(inode: int, agents: frozenset[int]) -> bool:
    """Whether a process that is no agent's has the socket open, as far as it may be read."""
    name = _name_of(inode)
    others = (pid for pid in _pids() if pid not in agents)
    return any(name in _links(f"{_PROC}/{pid}/fd") for pid in others)


def _pids() -> list[int]:
    return [int(name) for name in _listed(_PROC) if name.isdecimal()]


def _is_keeper(pid: int) -> bool:
    words = _read(f"{_PROC}/{pid}/cmdline").split(b"\0")
    options = words[: words.index(b"--")] if b"--" in words else words
    return _KEEPER in words[:_KEEPER_AT] and _OWN_NETWORK not in options


def _descendants(roots: Iterable[int]) -> set[int]:
    """These processes and all below them."""
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += _children(pid)
    return found


def _children(pid: int) -> Iterator[int]:
    for thread in _threads(pid):
        yield from map(int, _read(f"{thread}/children").split())


def _threads(pid: int) -> list[str]:
    folder = f"{_PROC}/{pid}/task"
    return [f"{folder}/{name}" for name in _listed(folder)]


class _TookTooLong(Exception):
    pass


def _add_sockets(pid: int, inodes: set[int], users: set[int], until: float) -> None:
    for thread in _threads(pid):
        try:
            links = _links(f"{thread}/fd", hidden=True, until=until)
        except PermissionError:
            if not _is_dead(thread):
                # Another user's agents, of another server, are that server's affair.
                users |= _users(thread) & {os.geteuid()}
            continue
        inodes |= {inode for link in links if (inode := _inode_of(link))}


def _links(folder: str, *, hidden: bool = False, until: float = math.inf) -> set[str]:
    """What the descriptors refer to; raises `PermissionError` if `hidden`."""
    links = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if time.monotonic() > until:  # one process may have a million descriptors
                    raise _TookTooLong
                with suppress(FileNotFoundError, ProcessLookupError):  # closed meanwhile
                    links.add(os.readlink(entry.path))  # noqa: PTH115 - `Path` takes longer
    except PermissionError:
        if hidden:
            raise
    except OSError:  # it has ended
        pass
    return links


def _name_of(inode: int) -> str:
    return f"socket:[{inode}]"


def _inode_of(link: str) -> int:
    return int(link[8:-1]) if link.startswith("socket:[") else 0


def _is_dead(thread: str) -> bool:
    """Whether it has ended and was not reaped yet: then it has no descriptors to read."""
    state = _read(f"{thread}/stat").rpartition(b") ")[2][:1].decode()
    return not state or state in _DEAD


def _users(thread: str) -> set[int]:
    """Real, effective, saved and file system user."""
    for line in _read(f"{thread}/status").splitlines():
        if line.startswith(b"Uid:"):
            return set(map(int, line.split()[1:]))
    return set()


def _listed(folder: str) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry.name for entry in entries]
    return []


def _read(path: str) -> bytes:
    """The content of a file in /proc; nothing if its process has ended."""
    with suppress(OSError):
        number = os.open(path, os.O_RDONLY)
        try:
            return _read_all(number)
        finally:
            os.close(number)
    return b""


def _read_all(number: int) -> bytes:
    content = b""
    while piece := os.read(number, _PIECE):
        content += piece
    return content
