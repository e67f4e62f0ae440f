"""Deletes what agents leave: folders of any depth, also those that they have made read-only.

Nothing here is recursive or has long paths: a folder in a folder is first moved up. Links are not
followed. Call it when all processes that can write there have ended.

Used by the keeper, which imports as little as possible, and by the server.
"""

from __future__ import annotations

import os
from contextlib import suppress

FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def delete(folder: str) -> None:
    """Delete a folder, as far as possible; it may be missing."""
    if os.path.islink(folder):
        return
    with suppress(OSError):
        os.chmod(folder, 0o700)
    with suppress(OSError):
        top = os.open(folder, FOLDER)
        try:
            _empty(top)
        finally:
            os.close(top)
    with suppress(OSError):
        os.rmdir(folder)


def _empty(top: int) -> None:
    """Delete all that is in a folder, in rounds: each moves the next level up."""
    number = 0
    while folders := _delete_files(top):
        for name in folders:
            number = _flatten(name, top, number)


def _delete_files(folder: int) -> list[str]:
    """Delete the files in a folder; the names of its folders. Raises `OSError` if one stays."""
    folders = []
    with os.scandir(folder) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_folder in entries:
        if is_folder:
            folders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return folders


def _opened(name: str, parent: int) -> int:
    """Open a folder, also one that an agent has closed; never a link that has taken its place."""
    if hasattr(os, "O_PATH"):
        place = os.open(name, FOLDER | os.O_PATH, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{place}", 0o700)
        finally:
            os.close(place)
    return os.open(name, FOLDER, dir_fd=parent)


def _flatten(name: str, top: int, number: int) -> int:
    """Delete a folder; those in it are moved to `top`, under numbers that no other one has."""
    folder = _opened(name, top)
    try:
        for inner in _delete_files(folder):
            os.close(_opened(inner, folder))  # moving one changes it
            number += 1
            while _exists(f".{number}", top):
                number += 1
            os.rename(inner, f".{number}", src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)
    return number


def _exists(name: str, folder: int) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except OSError:
        return False
    return True
