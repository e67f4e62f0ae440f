"""The thread that checkpoints the write-ahead log into the database file.

SQLite would do it in the middle of a commit, which then takes 20 ms and more, and delays its
readers. Nothing depends on this thread: the writer checkpoints what it leaves.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from mobox.storage.settings import Settings
from mobox.storage.sqlite.database import connect

__all__ = ["Checkpoints"]

_SECONDS = 0.25
_RESTART_PAGES = 8000  # 32 MB: from here on the write-ahead log is restarted when possible


class Checkpoints:
    """Keeps the write-ahead log short while it is written."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._connection = connect(path, settings)
        self._connection.execute("PRAGMA busy_timeout = 0")  # it never blocks, and retries
        self._written = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="mobox-checkpoints", daemon=True)
        self._thread.start()

    def note_commit(self) -> None:
        """There is something to checkpoint."""
        self._written.set()

    def close(self) -> None:
        self._closing.set()
        self._written.set()
        self._thread.join()

    def _serve(self) -> None:
        while not self._closing.wait(_SECONDS):
            self._written.wait()
            self._written.clear()
            self._checkpoint()
        self._connection.close()

    def _checkpoint(self) -> None:
        try:
            pages = self._copy("PASSIVE")
            if pages > _RESTART_PAGES:
                self._copy("RESTART")
        except sqlite3.OperationalError:
            return  # another process does it

    def _copy(self, mode: str) -> int:
        """Checkpoint what is possible; return the length of the write-ahead log in pages."""
        row = self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        return int(row[1])
