"""The tests of one sandbox: each attack against a server of root, and one of another user."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from hostile.attacks import MACHINE, Attack, every
from hostile.columns import Column, column
from mobox.sandbox import get_sandbox

ATTACKS = list(every().values())
GROWTH = 100 << 20
"""Bytes by which a server may have grown after all attacks."""
USERS = ["root", "unprivileged"]


def served(sandbox: str, user: str) -> Iterator[Column]:
    """The server of a column, for all its tests."""
    if user == "root" and os.geteuid() != 0:
        pytest.skip("NOT TESTED AS ROOT: the tests do not run as root")
    if sandbox == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("NOT TESTED IN BUBBLEWRAP: it is not installed")
    problem = get_sandbox(sandbox).probe().problem
    if problem is not None:
        pytest.skip(f"NOT TESTED IN {sandbox.upper()}: {problem}")
    with column(sandbox, is_root=user == "root") as running:
        yield running


def check_attack(running: Column, attack: Attack) -> None:
    """It is stopped or possible as the table says, and its run ends as it should."""
    outcome = running.outcome(attack)
    assert outcome.problems == (), (outcome.problems, outcome.detail)
    expected = attack.expected(running.sandbox, is_root=running.is_root)
    if expected != MACHINE:
        assert outcome.result == expected, outcome.detail


def check_server(running: Column) -> None:
    """After all attacks, the server works, has not grown much, and leaves nothing."""
    assert running.play("last", "small", []).ending == "stop"
    assert running.memory - running.memory_before < GROWTH
    assert list(running.victim_problems()) == []
    assert running.left_at_the_end() == set()
