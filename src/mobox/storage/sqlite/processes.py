"""Which of the processes that opened a database file are still running.

Each holds a lock on a file of its own, in a folder beside the database. The kernel releases it when
the process ends, however that happens. So the runs of a killed process need not wait until their
leases expire: a database file is used by processes of one machine only.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from mobox.errors import StorageError


def processes_of(database: Path) -> list[int]:
    """The ids of the running processes that have opened this database file."""
    files = sorted(_folder(database).glob("*-*"))
    return [int(file.name.partition("-")[0]) for file in files if _is_locked(file)]


def _folder(database: Path) -> Path:
    return database.with_name(f"{database.name}-processes")


def _is_locked(file: Path) -> bool | None:
    """Whether a process has the lock of a file; `None` if there is no such file."""
    try:
        number = os.open(file, os.O_RDWR)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(number)
    return False


class ProcessFiles:
    """The lock of this process, and a look at those of others."""

    def __init__(self, database: Path, name: str) -> None:
        self._folder = _folder(database)
        self._file = self._folder / name
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._lock: int | None = os.open(self._file, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise StorageError(f"cannot lock {self._file}: {error.strerror}") from error

    def is_running(self, name: str) -> bool | None:
        """Whether the process of that name is running; `None` if it has no file."""
        return _is_locked(self._folder / name)

    def forget(self, name: str) -> None:
        """Delete the file of a process that has ended."""
        with suppress(OSError):
            (self._folder / name).unlink()

    def close(self) -> None:
        """Release the lock, and delete its file; the folder too, if it is empty."""
        if self._lock is None:
            return
        self.forget(self._file.name)
        os.close(self._lock)
        self._lock = None
        with suppress(OSError):
            self._folder.rmdir()
