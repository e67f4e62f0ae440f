"""A transaction and its context."""

from __future__ import annotations

from typing import NamedTuple

from mobox.storage.postgres.database import Connection
from mobox.storage.runs import Lease

__all__ = ["Transaction"]


class Transaction(NamedTuple):
    """One transaction: its connection, time, and lease."""

    connection: Connection
    now: int
    lease: Lease
    queued_until: int
