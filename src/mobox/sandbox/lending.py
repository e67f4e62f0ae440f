"""Lends a chat's state folder to a spare: a process that was started before its chat was known.

    state/<chat>              the folder of a chat
    state/.spares/<name>/     a spare's own folder; who holds its lock is its keeper
        state                 $MOBOX_STATE of the spare: an empty folder until it gets a chat
        chat                  the name of the chat whose folder is lent, or was

The environment of a process cannot change, so the folder comes to the process: the two folders are
exchanged, and exchanged back when the process has ended.

Rule 1: the exchange is one atomic operation, and both folders say where they belong: `chat`, and
        `.mobox-lent` in the empty folder that has the chat's place meanwhile. So whoever comes
        after a crash, at any moment, can put the chat's folder back.
Rule 2: only who holds the lock of a spare's folder puts back what it was lent.
Rule 3: `state/<chat>` always exists while its folder is lent. What is put there meanwhile, such as
        the files of the next turn, is moved into the chat's folder when it comes back.

Used by the keeper, which imports as little as possible, and by the server.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

SPARES = ".spares"
STATE = "state"
CHAT = "chat"
LENT = ".mobox-lent"
FILES = "files"
CACHE = ".cache"
"""What a process may write to its home before it has a chat: caches, which can be lost."""
HERE, EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE in <linux/fs.h>
TAKEN = "taken"


class Refused(Exception):
    """The folder cannot be lent: it is taken, or for the reason given."""


def make_spare(states: str) -> tuple[str, int]:
    """Make the folder of a new spare; returns its path, and the descriptor that locks it."""
    spares = os.path.join(states, SPARES)
    os.makedirs(spares, 0o700, exist_ok=True)
    path = os.path.join(spares, f"{os.getpid()}-{os.urandom(6).hex()}")
    with locked(spares):
        os.mkdir(path, 0o700)
        os.mkdir(os.path.join(path, STATE), 0o700)
        lock = os.open(path, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return path, lock


@contextmanager
def locked(spares: str) -> Iterator[None]:
    """Let no other server take a spare that is being made for one that has ended."""
    folder = os.open(spares, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def lend(chat: str, spare: str) -> int:
    """Give the folder of a chat to a spare; returns the descriptor that locks it."""
    folder = os.open(chat, os.O_RDONLY)
    try:
        _lend(folder, chat, spare)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _lend(folder: int, chat: str, spare: str) -> None:
    if not has_locked(folder) or not is_at(folder, chat) or lent_to(chat) is not None:
        raise Refused(TAKEN)
    place = os.path.join(spare, STATE)
    written = [name for name in os.listdir(place) if name != CACHE]
    if written:
        raise Refused(f"it wrote {written[0]!r} to its state folder before it read its turn")
    os.symlink(os.path.basename(spare), os.path.join(place, LENT))
    os.symlink(os.path.basename(chat), os.path.join(spare, CHAT))
    exchange(place, chat)


def give_back(spare: str) -> bool:
    """Put a lent folder back; true if it was lent. The caller holds the lock of the spare."""
    place, chat = os.path.join(spare, STATE), chat_of(spare)
    if chat is None or target_of(os.path.join(chat, LENT)) != os.path.basename(spare):
        return False  # it is back, or the chat was deleted
    exchange(place, chat)
    if os.path.islink(os.path.join(chat, LENT)):
        os.unlink(os.path.join(chat, LENT))  # an agent may write anything to its folder
    merge(place, chat)
    return True


def is_empty(spare: str) -> bool:
    """Whether a spare's folder has nothing of a chat that still exists."""
    chat = chat_of(spare)
    if chat is None or not os.path.lexists(chat):
        return True
    is_back = target_of(os.path.join(spare, STATE, LENT)) == os.path.basename(spare)
    return is_back and target_of(os.path.join(chat, LENT)) != os.path.basename(spare)


def chat_of(spare: str) -> str | None:
    """The place of the folder that a spare has, or had."""
    name = target_of(os.path.join(spare, CHAT))
    return None if name is None else os.path.join(os.path.dirname(os.path.dirname(spare)), name)


def put_back(spare: str) -> bool | None:
    """Put back what a process that has ended was lent; `None` if it has not ended."""
    lock = os.open(spare, os.O_RDONLY)
    try:
        return give_back(spare) if has_locked(lock) else None
    finally:
        os.close(lock)


def lent_to(chat: str) -> str | None:
    """The spare that has the folder of this chat, which is then an empty one."""
    name = target_of(os.path.join(chat, LENT))
    if name is None or name.startswith(".") or "/" in name:
        return None
    spare = os.path.join(os.path.dirname(chat), SPARES, name)
    # An agent may write anything to its folder: the spare has to say the same.
    is_so = target_of(os.path.join(spare, CHAT)) == os.path.basename(chat)
    return spare if is_so else None


def merge(source: str, chat: str) -> None:
    """Move to a chat's folder what was put in its place while it was lent."""
    for name in os.listdir(source):
        old, new = os.path.join(source, name), os.path.join(chat, name)
        if name in (LENT, CACHE):
            continue
        if not os.path.lexists(new):
            os.rename(old, new)
        elif name == FILES and not os.path.islink(new):
            for file in os.listdir(old):
                if not os.path.lexists(os.path.join(new, file)):
                    os.rename(os.path.join(old, file), os.path.join(new, file))


def exchange(one: str, other: str) -> None:
    """Exchange two folders; raises `Refused` where the system cannot."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        raise Refused("this system cannot exchange two folders")
    if library.renameat2(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE):
        raise Refused(f"cannot exchange two folders: {os.strerror(ctypes.get_errno())}")


def has_locked(folder: int) -> bool:
    """Whether the lock was acquired; true on file systems without locks."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def is_at(folder: int, path: str) -> bool:
    """Whether this path is still that of the opened folder."""
    try:
        return os.path.samestat(os.fstat(folder), os.stat(path))
    except FileNotFoundError:
        return False


def target_of(link: str) -> str | None:
    """The text of a link; `None` if there is none."""
    try:
        return os.readlink(link)
    except OSError:
        return None
