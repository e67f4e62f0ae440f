"""A chat's state folder as a tar archive: sent to a sandbox before a run, and taken back after it.

What comes back was written by an agent. It must not put files anywhere else, by names or by links,
and must not be larger than allowed.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import IO


class TooLarge(Exception):
    """The files are larger than the limit."""


def pack(folder: Path, target: IO[bytes]) -> None:
    """Write the folder's files to an archive; links stay links."""
    with tarfile.open(fileobj=target, mode="w|") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)


def unpack(source: IO[bytes], folder: Path, most: int) -> None:
    """Replace the folder's files by those of an archive, of `most` bytes; all of them or none.

    Raises `TooLarge`, and `tarfile.TarError` for an archive that is incomplete or has a file that
    would be outside of the folder.
    """
    # Beside the folder, so that files can be renamed into it.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".modal-") as name:
        new, old = Path(name, "new"), Path(name, "old")
        new.mkdir()
        old.mkdir()
        with tarfile.open(fileobj=source, mode="r|") as archive:
            archive.extractall(new, filter=_Checked(most))
        # The folder itself stays: whoever has locked it has locked this one.
        _move_all(folder, old)
        _move_all(new, folder)


class _Checked:
    """Accepts files and folders, and links to each other."""

    def __init__(self, most: int) -> None:
        self._left = most

    def __call__(self, member: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
        self._left -= member.size  # of a sparse file, this is its full size
        if self._left < 0:
            raise TooLarge
        return tarfile.data_filter(member, path)


def _move_all(source: Path, target: Path) -> None:
    for path in list(source.iterdir()):
        shutil.move(path, target / path.name)
