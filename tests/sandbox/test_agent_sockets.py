"""The processes below a keeper, and their sockets."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from mobox.sandbox.agent_sockets import AgentProcesses, is_held_by_others
from mobox.sandbox.kept_process import KEEPER

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is that of Linux")

HOLDER = """
    import os, socket, sys, threading

    held = socket.socket()
    more = [os.dup(0) for _ in range(100)]
    if os.fork():  # the child keeps it
        held.close()
        os.wait()
        sys.exit()
    print(os.getpid(), os.fstat(held.fileno()).st_ino, flush=True)
    sys.stdin.read()
"""


class Holder(NamedTuple):
    """A process that has a child with a socket."""

    pid: int
    child: int
    inode: int


@contextmanager
def holding(*words: object) -> Iterator[Holder]:
    command = [sys.executable, "-I", "-c", textwrap.dedent(HOLDER), *map(str, words)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        child, inode = map(int, process.stdout.readline().split())
        yield Holder(process.pid, child, inode)
        process.stdin.close()


def test_sockets_below_a_keeper_are_those_of_agents() -> None:
    agents = AgentProcesses()
    with holding(KEEPER, "7") as kept, holding("7", "--", "a", "b", KEEPER) as other:
        found = agents.sockets(10)
        assert {kept.pid, kept.child} <= found.processes
        assert kept.inode in found.inodes
        assert other.inode not in found.inodes
        assert not {other.pid, other.child, os.getpid()} & found.processes
        assert found.is_complete
        assert is_held_by_others(other.inode, found.processes)
        assert not is_held_by_others(kept.inode, found.processes)
    assert kept.inode not in agents.sockets(10).inodes


def test_agents_with_a_network_of_their_own_are_left_out() -> None:
    with (
        holding(KEEPER, "7", "own_network=1", "--", "bwrap") as boxed,
        holding(KEEPER, "7", "--", "python", "own_network=1") as pretending,
    ):
        found = AgentProcesses().sockets(10)
        assert not {boxed.pid, boxed.child} & found.processes
        assert boxed.inode not in found.inodes
        assert pretending.inode in found.inodes


def test_a_keeper_that_starts_later_is_found() -> None:
    agents = AgentProcesses()
    agents.sockets(10)
    with holding(KEEPER) as kept:
        assert kept.inode in agents.sockets(10).inodes
        assert kept.inode in agents.sockets(10).inodes


def test_a_search_without_time_is_not_complete() -> None:
    with holding(KEEPER):
        assert not AgentProcesses().sockets(-1).is_complete


def test_one_process_with_many_descriptors_does_not_take_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = count()
    clock = SimpleNamespace(monotonic=lambda: float(next(ticks)))
    monkeypatch.setattr("mobox.sandbox.agent_sockets.time", clock)
    with holding(KEEPER):
        assert not AgentProcesses().sockets(50).is_complete
