"""What a change needs to know besides its connection."""

from __future__ import annotations

from typing import NamedTuple

from mobox.storage.postgres.database import Connection
from mobox.storage.runs import Lease

__all__ = ["Transaction"]


class Transaction(NamedTuple):
    """One transaction, and the moment it is of."""

    connection: Connection
    now: int
    lease: Lease
    queued_until: int
