"""One transaction of the writer: many jobs, each of which can fail alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from mobox.storage.runs import Lease
from mobox.storage.settings import Settings

__all__ = ["LAST_ID", "Transaction"]

LAST_ID = "SELECT value FROM counter WHERE name = 'entry'"


class Transaction:
    """The context of a job: its connection, time, lease and new ids."""

    def __init__(self, connection: sqlite3.Connection, settings: Settings, holder: str) -> None:
        self.connection = connection
        self.settings = settings
        self.now = settings.clock()
        self.lease = Lease(holder, settings.lease_until())
        self._last_id: int | None = None

    def take_ids(self, count: int) -> int:
        """The first of `count` new ids of entries."""
        if self._last_id is None:
            ((self._last_id,),) = self.connection.execute(LAST_ID).fetchall()
        first = self._last_id + 1
        self._last_id += count
        return first

    def know_last_id(self, last_id: int) -> None:
        """Set the last id, where it was read along with something else: saves a query."""
        if self._last_id is None:
            self._last_id = last_id

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Roll back only what was done inside, if it fails."""
        self.connection.execute("SAVEPOINT job")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:  # a full disk ends the whole transaction
                self.connection.execute("ROLLBACK TO job")
                self.connection.execute("RELEASE job")
            raise
        self.connection.execute("RELEASE job")

    def begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        if self._last_id is not None:
            taken = (self._last_id,)
            self.connection.execute("UPDATE counter SET value = ? WHERE name = 'entry'", taken)
        self.connection.execute("COMMIT")

    def roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
