"""The state folders of agents: one for each chat."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

log = logging.getLogger("mobox.supervisor")


class StateFolders:
    """Names and deletes the folders; a sandbox creates them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, owner: str, chat_id: str) -> Path:
        """The folder of a chat. Its name is a hash: ids come from clients and are no file names."""
        name = hashlib.sha256(f"{len(owner)}:{owner}{chat_id}".encode()).hexdigest()
        return self._path / name[:32]

    def delete(self, owner: str, chat_id: str) -> None:
        """Delete a chat's state, also where agents have made it read-only."""
        folder = self.of(owner, chat_id)
        _remove(folder)
        if os.path.lexists(folder):
            _make_writable(folder)
            _remove(folder)
        if os.path.lexists(folder):
            log.warning("cannot delete the state folder of a deleted chat: %s", folder)


def _remove(folder: Path) -> None:
    with suppress(RecursionError):  # folders nested too deeply for Python 3.11
        shutil.rmtree(folder, ignore_errors=True)


def _make_writable(folder: Path) -> None:
    """Make each folder writable before listing it; links are not followed."""
    pending = [folder]
    while pending:
        path = pending.pop()
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
                pending += path.iterdir()
