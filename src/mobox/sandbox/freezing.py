"""Stops the processes of an agent past its lease, and ends that when its folder is needed.

Used by the keepers, which import as little as possible.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mobox.sandbox import measuring
else:  # beside a script that is run without the packages of the server
    import measuring

WANTED = ".wanted"
"""The folder of files, beside the chats' folders, that keepers lock which wait for one of these."""


# Stopping


def stop_all(leader: int) -> set[int]:
    """Stop the processes of the agent that run; returns them. Call it until it finds no others.

    One that the agent itself has stopped is not among them, and stays stopped.
    """
    if sys.platform != "linux":  # without /proc only the group of the agent is known
        with suppress(OSError):
            os.killpg(leader, signal.SIGSTOP)
        return set()
    found = measuring.descendants(os.getpid())[0]
    running = {pid for pid in found if not is_stopped(pid)}
    for pid in running:
        with suppress(OSError):
            os.kill(pid, signal.SIGSTOP)
    return running


def continue_all(leader: int, stopped: set[int]) -> None:
    """Let those continue that `stop_all` has stopped."""
    if sys.platform != "linux":
        with suppress(OSError):
            os.killpg(leader, signal.SIGCONT)
        return
    for pid in stopped.intersection(measuring.descendants(os.getpid())[0]):
        with suppress(OSError):
            os.kill(pid, signal.SIGCONT)


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped, or has ended."""
    with suppress(OSError, IndexError):
        return measuring.text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] in "Tt"
    return True


# Folders that others need


def want(state: str) -> int:
    """Let a keeper know, whose agent is frozen, that its folder is needed; returns the lock.

    Where that is not possible (-1), the frozen agent has its folder until its server ends it.
    """
    path, number = wanted_file(state), -1
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        fcntl.flock(number, fcntl.LOCK_SH)
    return number


def want_no_more(state: str, lock: int) -> None:
    """Take back what `want` has made."""
    with suppress(OSError):
        os.unlink(wanted_file(state))
    with suppress(OSError):
        os.close(lock)


def is_wanted(state: str) -> bool:
    """Whether another keeper waits for a folder."""
    number = -1
    try:
        number = os.open(wanted_file(state), os.O_RDWR | os.O_NOFOLLOW)
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # nobody has made the file, or there are no locks
        return False
    finally:
        if number >= 0:
            os.close(number)
    return False


def wanted_file(state: str) -> str:
    """The file that is locked by a keeper that waits for a folder."""
    states, name = os.path.split(state)
    return os.path.join(states, WANTED, name)
