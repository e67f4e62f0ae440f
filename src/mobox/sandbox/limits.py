"""The limits of an agent's process and of all processes it starts, and their defaults.

The defaults keep a fork bomb, an endless allocation and a full disk from hurting others, and are
large enough for real frameworks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

LIMITS: Final[Mapping[str, int]] = {
    "memory": 2 << 30,  # of all its processes together
    "processes": 256,  # and threads
    "cpu": 100,  # weight: 100 is a normal process, 50 gets half of its share
    "disk": 1 << 30,  # of the state folder and /tmp together
    "files": 100_000,  # in these two
    "open_files": 1024,
    "file_size": 1 << 30,
}
"""By name; sizes in bytes."""


def with_defaults(given: Mapping[str, int]) -> dict[str, int]:
    """These limits, and the defaults of all others."""
    return {**LIMITS, **{name: value for name, value in given.items() if name in LIMITS}}


def nice_of(weight: int) -> int:
    """The nice value that gives a process so much of the CPU: each step is a fifth less."""
    return max(-20, min(19, round(-math.log(max(1, weight) / 100, 1.25))))
