"""Lends a chat's state folder to a spare: a process that was started before its chat was known.

    state/<chat>              the folder of a chat
    state/.spares/<name>/     a spare's own folder; who holds its lock is its keeper
        box/state             $MOBOX_STATE of the spare: an empty folder until it gets a chat
        chat                  the name of the chat whose folder is lent, or was
        inode                 the number of that folder in the file system

The environment of a process cannot change, so the folder comes to the process: the two folders are
exchanged, and exchanged back when the process has ended. A sandbox shows `box` to the process: one
that showed `state` would not see another folder in its place.

Rule 1: the exchange is one atomic operation, and both folders say where they belong: `chat`, and
        `.mobox-lent` in the empty folder that has the chat's place meanwhile. So whoever comes
        after a crash, at any moment, can put the chat's folder back.
Rule 2: only who holds the lock of a spare's folder puts back what it was lent.
Rule 3: a process can rename what is in `box`. Its folder is found by its number, and nothing else
        is put into the place of a chat.
Rule 4: `state/<chat>` always exists while its folder is lent. What is put there meanwhile, such as
        the files of the next turn, is moved into the chat's folder when it comes back.

Used by the keeper, which imports as little as possible, and by the server.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

SPARES = ".spares"
BOX = "box"
STATE = os.path.join(BOX, "state")
CHAT = "chat"
INODE = "inode"
LENT = ".mobox-lent"
FILES = "files"
CACHE = ".cache"
"""What a process may write to its home before it has a chat: caches, which can be lost."""
HERE, EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE in <linux/fs.h>
TAKEN = "taken"
ATTEMPTS = 5


class Refused(Exception):
    """The folder cannot be lent: it is taken, or for the reason given."""


def make_spare(states: str) -> tuple[str, int]:
    """Make the folder of a new spare; returns its path, and the descriptor that locks it."""
    spares = os.path.join(states, SPARES)
    os.makedirs(spares, 0o700, exist_ok=True)
    path = os.path.join(spares, f"{os.getpid()}-{os.urandom(6).hex()}")
    with locked(spares):
        os.mkdir(path, 0o700)
        os.mkdir(os.path.join(path, BOX), 0o755)
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
    if not is_real(place):
        raise Refused("its state folder is not a folder any more")
    written = [name for name in os.listdir(place) if name != CACHE]
    if written:
        raise Refused(f"it wrote {written[0]!r} to its state folder before it read its turn")
    os.symlink(os.path.basename(spare), os.path.join(place, LENT))
    os.symlink(str(os.fstat(folder).st_ino), os.path.join(spare, INODE))
    os.symlink(os.path.basename(chat), os.path.join(spare, CHAT))
    exchange(place, chat)
    if not is_real(chat):  # replaced since it was looked at
        exchange(place, chat)
        raise Refused("its state folder is not a folder any more")


def give_back(spare: str) -> bool:
    """Put a lent folder back; true if it was lent. The caller holds the lock of the spare."""
    chat = chat_of(spare)
    if chat is None or target_of(os.path.join(chat, LENT)) != os.path.basename(spare):
        return False  # it is back, or the chat was deleted
    try:
        place = found_again(spare)
    except Refused:  # its process has deleted it: the empty folder stays
        os.unlink(os.path.join(chat, LENT))
        os.unlink(os.path.join(spare, CHAT))
        return True
    exchange(place, chat)
    if os.path.islink(os.path.join(chat, LENT)):
        os.unlink(os.path.join(chat, LENT))  # an agent may write anything to its folder
    merge(place, chat)
    return True


def found_again(spare: str) -> str:
    """Where the lent folder is: in its place, unless the process has moved it."""
    place, inode = os.path.join(spare, STATE), target_of(os.path.join(spare, INODE))
    waiting = [os.path.join(spare, BOX)]
    if is_folder(place, inode):
        return place
    while waiting:
        for entry in os.scandir(waiting.pop()):
            if is_folder(entry.path, inode):
                return entry.path
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)  # all its processes have ended
                waiting.append(entry.path)
    raise Refused("its process has deleted it")


def is_folder(path: str, inode: str | None) -> bool:
    """Whether it is the folder with this number, not a link to it."""
    try:
        about = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and str(about.st_ino) == inode


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


def opened(chat: str) -> int:
    """Open the folder of a chat to read it, wherever it is at this moment; raises `OSError`.

    It may be lent or given back while it is looked for. A link in its place is not followed.
    """
    for _ in range(ATTEMPTS):
        spare = lent_to(chat)
        place = chat if spare is None else os.path.join(spare, STATE)
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        if _is_of(folder, chat, spare):
            return folder
        os.close(folder)
    raise FileNotFoundError(chat)


def _is_of(folder: int, chat: str, spare: str | None) -> bool:
    if spare is None:
        return lent_to(chat) is None
    return str(os.fstat(folder).st_ino) == target_of(os.path.join(spare, INODE))


def merge(source: str, chat: str) -> None:
    """Move to a chat's folder what was put in its place while it was lent.

    The process may have the empty folder open, and put links there: they are not followed.
    """
    if not is_real(source):
        return
    for name in os.listdir(source):
        old, new = os.path.join(source, name), os.path.join(chat, name)
        if name in (LENT, CACHE):
            continue
        if not os.path.lexists(new):
            os.rename(old, new)
        elif name == FILES and is_real(old) and is_real(new):
            for file in os.listdir(old):
                if not os.path.lexists(os.path.join(new, file)):
                    os.rename(os.path.join(old, file), os.path.join(new, file))


def is_real(path: str) -> bool:
    """Whether it is a folder, not a link to one."""
    return os.path.isdir(path) and not os.path.islink(path)


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
