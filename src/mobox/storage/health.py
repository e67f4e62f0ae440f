"""Whether a store can be written, and how busy it is.

Rule 1: a check writes something and waits for the commit: a database that can be read may have a
        full disk. Usually it writes one small row.
Rule 2: a full disk may still have room for one row. So after a write has failed for a full disk,
        the next check writes `LARGE` bytes, until that succeeds.
"""

from __future__ import annotations

import secrets
from typing import Final

from msgspec import Struct

LARGE: Final = 256 << 10
"""More than a message and the beginning of an answer usually need."""


class Load(Struct, frozen=True):
    """The runs that wait for a process, and those of this one."""

    queued: int
    oldest_ms: int
    """How long the oldest of them has been queued; 0 if there is none."""
    leases: int
    """How many running runs this process owns."""


def load_of(queued: int, first_until: int | None, leases: int, now: int, queue_ms: int) -> Load:
    """Of what a database counts: a run is queued for `queue_ms`, and the first until then."""
    age = 0 if first_until is None else max(0, now - (first_until - queue_ms))
    return Load(queued, age, leases)


def any_value() -> int:
    """A number to write: a database may skip a write that changes nothing."""
    return secrets.randbits(62)
