"""The threads that read, each with a connection of its own."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mobox.errors import StorageError
from mobox.settings import Settings
from mobox.storage.sqlite.database import connect
from mobox.storage.sqlite.reads import says

P = ParamSpec("P")
T = TypeVar("T")


class Readers:
    """Runs functions of a connection, each in one snapshot."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path = path
        self._settings = settings
        self._threads = ThreadPoolExecutor(settings.readers, thread_name_prefix="mobox-reader")
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []

    async def read(
        self,
        function: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The function's result."""
        return await self._run(lambda: self._snapshot(lambda c: function(c, *args, **kwargs)))

    async def ask(
        self,
        function: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The result of a function of one statement, or of several that need no common snapshot."""
        return await self._run(lambda: function(self._connection(), *args, **kwargs))

    async def close(self) -> None:
        """Wait for the running reads, then close the connections."""
        await asyncio.to_thread(self._threads.shutdown)
        for connection in self._connections:
            connection.close()

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except sqlite3.Error as error:
            raise StorageError(f"cannot read the database: {error}") from error

    def _snapshot(self, function: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            return function(connection)
        finally:
            connection.execute("ROLLBACK")

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self._path, self._settings)
            connection.execute("PRAGMA query_only = ON")
            connection.create_function("says", 2, says, deterministic=True)
            self._local.connection = connection
            self._connections.append(connection)
        return connection
