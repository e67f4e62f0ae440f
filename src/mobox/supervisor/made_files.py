"""Lists and reads the files that agents made in the state folder of a chat.

Rule 1: an agent may do anything with its folder while it is read. Every folder and file is opened
        relative to the one that it is in, and no link is followed: no path leads outside.
Rule 2: only regular files are opened; a pipe or a device would block, or worse.
Rule 3: what is looked at is bounded: folders can be deep, and have a million files.
Rule 4: what frameworks and programs keep for themselves is not listed, unless it is asked for.
"""

from __future__ import annotations

import heapq
import mimetypes
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import BinaryIO, Final, NamedTuple

from mobox.agent_path.shared.frameworks.state_files import INTERNAL
from mobox.errors import FileNotFound
from mobox.events import LATEST
from mobox.storage.media_types import HEAD, UNKNOWN, checked_type
from mobox.supervisor.turn_files import FOLDER as GIVEN

MOST: Final = 500
"""Files in a list: the newest."""
SCANNED: Final = 20_000
"""Files and folders that are looked at for a list."""
DEEPEST: Final = 12
LONGEST: Final = 4096
"""Characters of a path."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_PROGRAMS: Final = frozenset({"__pycache__", "node_modules", "venv", "site-packages"})
_JOURNAL: Final = re.compile(r"-(?:wal|shm|journal)$")
_COPY: Final = re.compile(r"file_[0-9a-f]{40}(?:\.\w+)?")
"""Copies of files that a person sent (turn_files)."""

_TYPES: Final = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".py": "text/x-python",
    ".log": "text/plain",
}
"""Instead of the machine's table, for what agents make most."""


class MadeFile(NamedTuple):
    """A file in a state folder."""

    path: str
    """Relative to the folder, with `/`."""
    size: int
    modified_at: int
    media_type: str
    """By its name; when it is sent, its bytes are checked."""


class MadeFiles(NamedTuple):
    """The files of a chat, the newest first."""

    files: list[MadeFile]
    is_complete: bool = True
    """Whether these are all."""
    is_here: bool = True
    """False where agents run on other machines, which have the files."""


class OpenFile(NamedTuple):
    """A file that was opened, as it is now."""

    file: BinaryIO
    about: MadeFile
    tag: str
    """Changes with the file."""


def list_files(folder: int, *, hidden: bool = False) -> MadeFiles:
    """The files below an opened folder."""
    walk = _Walk(hidden)
    newest = heapq.nlargest(MOST + 1, walk.files(folder), key=lambda file: file.modified_at)
    is_complete = len(newest) <= MOST and walk.left >= 0 and not walk.has_deeper
    return MadeFiles(newest[:MOST], is_complete=is_complete)


class _Walk:
    def __init__(self, hidden: bool) -> None:
        self._hidden = hidden
        self.left = SCANNED
        self.has_deeper = False
        """Whether folders were left out."""

    def files(self, folder: int, above: tuple[str, ...] = ()) -> Iterator[MadeFile]:
        """The files of a folder and of those in it, which are opened one at a time."""
        folders = []
        for name in self._names(folder):
            path = (*above, name)
            if not self._hidden and is_internal(path):
                continue
            with suppress(OSError):  # deleted meanwhile
                about = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(about.st_mode):
                    folders.append(name)
                elif stat.S_ISREG(about.st_mode):
                    yield made_file("/".join(path), about)
        if len(above) == DEEPEST:
            self.has_deeper = self.has_deeper or bool(folders)
            return
        for name in folders:
            with suppress(OSError):
                inner = os.open(name, _FOLDER, dir_fd=folder)
                try:
                    yield from self.files(inner, (*above, name))
                finally:
                    os.close(inner)

    def _names(self, folder: int) -> Iterator[str]:
        with os.scandir(folder) as entries:
            for entry in entries:
                self.left -= 1
                if self.left < 0:
                    return
                if is_text(entry.name):
                    yield entry.name


def is_internal(path: tuple[str, ...]) -> bool:
    """Whether a path is hidden, or what a framework or a program keeps for itself."""
    name = path[-1]
    if name.startswith(".") or name in _PROGRAMS:
        return True
    if len(path) == 1 and _JOURNAL.sub("", name) in INTERNAL:
        return True
    return path[:-1] == (GIVEN,) and _COPY.fullmatch(name) is not None


def is_hidden(path: str) -> bool:
    """Whether a path leads into something internal."""
    names = tuple(path.split("/"))
    return any(is_internal(names[:end]) for end in range(1, len(names) + 1))


def is_text(name: str) -> bool:
    """Whether a name can be sent as JSON: agents may use any bytes."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def open_file(folder: int, path: str) -> OpenFile:
    """Open a file below an opened folder; raises `FileNotFound`."""
    names = path.split("/")
    if len(path) > LONGEST or "\0" in path or not is_text(path) or {"", ".", ".."} & {*names}:
        raise FileNotFound(path[:200])
    try:
        number = _opened(folder, names)
    except OSError:
        raise FileNotFound(path) from None
    about = os.fstat(number)
    if not stat.S_ISREG(about.st_mode):
        os.close(number)
        raise FileNotFound(path)
    file = os.fdopen(number, "rb", buffering=0)
    made = made_file(path, about)
    media_type = checked_type(made.media_type, os.pread(number, HEAD, 0)) or UNKNOWN
    tag = f"{about.st_ino:x}-{about.st_size:x}-{about.st_mtime_ns:x}"
    return OpenFile(file, made._replace(media_type=media_type), tag)


def _opened(folder: int, names: list[str]) -> int:
    """Open each folder of a path in the one before it, and then the file."""
    place = os.dup(folder)
    try:
        for name in names[:-1]:
            inner = os.open(name, _FOLDER, dir_fd=place)
            os.close(place)
            place = inner
        about = os.stat(names[-1], dir_fd=place, follow_symlinks=False)
        if not stat.S_ISREG(about.st_mode):  # not even opened: a device may do something then
            raise FileNotFoundError(names[-1])
        return os.open(names[-1], _FILE, dir_fd=place)
    finally:
        os.close(place)


def made_file(path: str, about: os.stat_result) -> MadeFile:
    """A file as it is listed. An agent can give it any time, also one that JSON cannot have."""
    modified_at = min(max(int(about.st_mtime * 1000), 0), LATEST)
    return MadeFile(path, about.st_size, modified_at, type_of(path))


def type_of(path: str) -> str:
    """The type of a file by its name."""
    suffix = PurePosixPath(path).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or UNKNOWN
