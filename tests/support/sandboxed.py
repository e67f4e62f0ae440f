"""Whether bubblewrap works on this machine, for tests that run agents in it."""

from __future__ import annotations

from functools import cache

import pytest

from mobox.sandbox.bubblewrap import BubblewrapSandbox


@cache
def problem_of_bubblewrap() -> str | None:
    """Why it does not work; `None` if it does."""
    return BubblewrapSandbox().probe().problem


def usual_sandbox() -> str:
    """The sandbox for agents that work in each."""
    return "process" if problem_of_bubblewrap() else "bubblewrap"


def need_bubblewrap() -> None:
    """Skip a test that is about bubblewrap, where it does not work."""
    if problem := problem_of_bubblewrap():
        pytest.skip(problem)
