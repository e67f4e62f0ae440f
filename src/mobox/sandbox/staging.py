"""What a keeper does as root before an agent starts without root's rights.

Programs in a sandbox never have root's user id, not even outside of it: the limit of processes does
not hold for root, and a mistake of the kernel would matter more. But the folders that they need may
be readable for root only. So root binds each of them to a place that everybody can read, in a mount
namespace of its own, before it becomes another user; the sandbox is made from these places.

Used by the keeper, which imports as little as possible.
"""

from __future__ import annotations

import ctypes
import os
import stat

STAGE = "/tmp"
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
NO_SETUID, NO_DEVICES = 2, 4
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
DEEPEST = 256
"""Levels of folders that are given to a user."""


def place_of(number: int) -> str:
    """Where the source number `number` is staged."""
    return f"{STAGE}/{number}"


def stage(sources: list[str]) -> None:
    """Bind the sources to their places; raises `OSError`."""
    library = ctypes.CDLL(None, use_errno=True)

    def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
        words = (os.fsencode(source), os.fsencode(target), kind.encode())
        if library.mount(*words, ctypes.c_ulong(flags), options.encode()):
            raise OSError(ctypes.get_errno(), "cannot prepare the sandbox", target)

    if library.unshare(NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "cannot make a mount namespace", STAGE)
    mount("none", "/", "", RECURSIVE | PRIVATE)
    # Opened before the stage covers what is below it: a source may be there.
    opened = [os.open(source, os.O_PATH | os.O_CLOEXEC) for source in sources]
    mount("mobox", STAGE, "tmpfs", NO_SETUID | NO_DEVICES, "mode=755,size=1m")
    for number, descriptor in enumerate(opened):
        place = place_of(number)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.mkdir(place, 0o755)
        else:
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
        mount(f"/proc/self/fd/{descriptor}", place, "", BIND | RECURSIVE)
        os.close(descriptor)


def become(uid: int) -> None:
    """Become a user without rights: from here on, modules of Python may be out of reach."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def give_to(folder: str, uid: int) -> None:
    """Make a user the owner of a folder and all in it; links are not followed.

    What is nested too deeply was made by an agent, and is the user's already.
    """
    opened = [os.open(folder, FOLDER)]
    waiting = [_given(opened[0], uid)]
    try:
        while waiting:
            if waiting[-1] and len(opened) < DEEPEST:
                opened.append(os.open(waiting[-1].pop(), FOLDER, dir_fd=opened[-1]))
                waiting.append(_given(opened[-1], uid))
            else:
                waiting.pop()
                os.close(opened.pop())
    finally:
        for number in opened:
            os.close(number)


def _given(folder: int, uid: int) -> list[str]:
    """Give a folder and what is in it; returns the names of its folders."""
    folders = []
    for name in os.listdir(folder):
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if about.st_uid != uid:
            os.chown(name, uid, uid, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(about.st_mode):
            folders.append(name)
    if os.fstat(folder).st_uid != uid:
        os.fchown(folder, uid, uid)
    return folders
