"""The process between the server and an agent: no process that the agent starts outlives either.

    python -I -S keeper.py SOCKET LIMITS SPARE COMMAND...

A script, not a module: it is single-threaded, so that it may fork. It imports as little as
possible: with `typing`, `socket` and `pathlib` an agent would start 25 ms later.

Rule 1: orphans of the agent, in any session, become children of the keeper (Linux's subreaper).
        When the agent ends they are killed, and only then does the keeper exit.
Rule 2: the server sends commands over a socket: `T` sends TERM to the agent's group; `K` or the end
        of the socket, which is also the death of the server, kills everything.
Rule 3: two agents never share a state folder, even on different servers: the keeper locks it before
        the agent starts, and the lock is released when the keeper exits, last.
Rule 4: the keeper writes lines to the socket: `pid N`, then `exit N` or `signal N`, last.
Rule 5: a spare has no chat yet: SPARE is the descriptor that locks its folder, else empty. `H` and
        a path give it the folder of a chat, locked: lending.py. The answer is `bound`, or `refused`
        and why. The folder is put back when everything has ended.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import sys
from contextlib import suppress
from types import ModuleType

LIMITS = {
    "memory": resource.RLIMIT_AS,
    "open_files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "file_size": resource.RLIMIT_FSIZE,
    "core": resource.RLIMIT_CORE,
}
SET_DEATH_SIGNAL, SET_SUBREAPER = 1, 36  # <linux/prctl.h>
NOT_FOUND, NOT_RUNNABLE = 127, 126  # the exit codes of shells
TERMINATE, KILL, HAND_OVER = b"T", b"K", b"H"
LENT = ".mobox-lent"  # as in lending.py
TAKEN = b"mobox: waiting until an earlier process of this chat has ended\n"
AGAIN = 0.02
"""Seconds between two attempts to lock a state folder: there is no notification."""


def main(arguments: list[str]) -> None:
    """Start the agent, and stay until all its processes have ended."""
    server = own(int(arguments[0]))
    limits = dict(pair.split("=") for pair in arguments[1].split(",") if pair)
    spare = own(int(arguments[2])) if arguments[2] else None
    woken = ignore_signals()
    prctl(SET_SUBREAPER, 1)
    if not has_folder(os.environ["MOBOX_STATE"], server):
        say(server, f"signal {signal.SIGTERM:d}")
        os._exit(0)
    # The fork ignores TERM until it executes the agent, so TERM is blocked and stays pending.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    agent = os.fork()
    if agent == 0:
        become_agent(limits, arguments[3:])
    say(server, f"pid {agent}")
    let_go_of_the_pipes()
    status = watch(agent, server, woken)
    kill_children()
    if spare is not None:
        with suppress(Exception):  # the server tries it again, when this process has ended
            lending().give_back(own_folder())
    code = os.waitstatus_to_exitcode(status)
    say(server, f"exit {code}" if code >= 0 else f"signal {-code}")
    os._exit(0)


def own(number: int) -> int:
    """Duplicate a descriptor to a small number that the agent does not inherit.

    A server with many clients passes numbers that `select` does not accept.
    """
    small = os.dup(number)
    os.close(number)
    return small


def ignore_signals() -> int:
    """Ignore signals; returns the end of a pipe that becomes readable when a child ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable


def has_folder(state: str, server: int) -> bool:
    """Lock a folder for this process's lifetime; false if the server sends a command before.

    It may be lent to a spare meanwhile, and another folder have its place: then that is locked.
    """
    is_reported = False
    while True:
        try:
            folder = os.open(state, os.O_RDONLY)
        except FileNotFoundError:  # its chat was deleted
            return False
        if locks(folder) and is_own(folder, state):
            return True
        os.close(folder)
        if not is_reported:
            os.write(2, TAKEN)
            is_reported = True
        if select.select([server], [], [], AGAIN)[0]:
            return False


def is_own(folder: int, state: str) -> bool:
    """Whether a locked folder is that of the chat: not one that only has its place."""
    try:
        if not os.path.samestat(os.fstat(folder), os.stat(state)):
            return False
    except FileNotFoundError:  # deleted meanwhile
        return False
    if not os.path.lexists(os.path.join(state, LENT)):
        return True
    spare = lending().lent_to(state)
    if spare is None:  # a file of the agent has this name
        return True
    with suppress(Exception):  # the server of the process that ended may put it back, too
        lending().put_back(spare)
    return False


def lending() -> ModuleType:
    """The module lending.py, which is rarely needed."""
    folder = os.path.dirname(os.path.abspath(__file__))
    if folder not in sys.path:
        sys.path.append(folder)
    module = __import__("lending")
    assert isinstance(module, ModuleType)
    return module


def own_folder() -> str:
    """The folder of this spare."""
    return os.path.dirname(os.environ["MOBOX_STATE"])


def locks(folder: int) -> bool:
    """Whether the lock was acquired; true on file systems without locks."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def prctl(option: int, value: int) -> None:
    """Linux only; on other systems processes that leave their group are not killed."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become_agent(limits: dict[str, str], command: list[str]) -> None:
    """Never returns."""
    code = NOT_RUNNABLE
    try:
        os.setsid()
        prctl(SET_DEATH_SIGNAL, signal.SIGKILL)  # in case the keeper is killed
        for name, value in limits.items():
            limit(LIMITS[name], int(value))
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.execvp(command[0], command)
    except (OSError, ValueError) as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
        os.write(2, f"{command[0]}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(code)


def limit(which: int, value: int) -> None:
    """Set a hard limit, not above the keeper's own."""
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def let_go_of_the_pipes() -> None:
    """Close the agent's pipes here, or they would not end with the agent."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


def watch(agent: int, server: int, woken: int) -> int:
    """Execute the server's commands until the agent has ended; returns its wait status."""
    while True:
        status = reap(agent)
        if status is not None:
            return status
        ready, _, _ = select.select([server, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        if server in ready:
            obey(agent, server, hear(server))


def reap(agent: int) -> int | None:
    """Reap every child that has ended; returns the agent's status if it is one."""
    found = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            found = status if pid == agent else found
    return found


def hear(server: int) -> bytes:
    """Read commands; the end of the socket, or an error, counts as `K`."""
    with suppress(OSError):
        return os.read(server, 8192) or KILL
    return KILL


def obey(agent: int, server: int, orders: bytes) -> None:
    """Bind the agent to a chat, or signal it. It is not reaped yet, so its pid is not reused."""
    if orders.startswith(HAND_OVER):
        chat, _, orders = orders[1:].partition(b"\0")
        say(server, hand_over(os.fsdecode(chat)))
    if not orders:
        return
    number = signal.SIGKILL if KILL in orders else signal.SIGTERM
    try:
        os.killpg(agent, number)
    except OSError:  # so new that it has no group yet
        os.kill(agent, number)


def hand_over(chat: str) -> str:
    """Give the folder of a chat to this spare; returns the answer for the server."""
    try:
        lending().lend(chat, own_folder())  # its descriptor stays open, for the lock
    except Exception as error:  # noqa: BLE001 - whatever it is, the server has to know
        return "refused " + " ".join(str(error).split())
    return "bound"


def kill_children() -> None:
    """Kill all children; their own children then become ours, until there are none."""
    with suppress(ChildProcessError):
        while True:
            for child in children():
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            os.waitpid(-1, 0)


def children() -> list[int]:
    """The pids of our child processes."""
    me = os.getpid()
    with suppress(OSError):
        return [int(pid) for pid in text_of(f"/proc/{me}/task/{me}/children").split()]
    # A kernel without that file: the ppid is the second field after the name in parentheses.
    found: list[int] = []
    processes: list[str] = []
    with suppress(OSError):  # no /proc, as on macOS, where orphans are not ours anyway
        processes = [entry.name for entry in os.scandir("/proc") if entry.name.isdigit()]
    for name in processes:
        with suppress(OSError):
            if int(text_of(f"/proc/{name}/stat").rpartition(")")[2].split()[1]) == me:
                found.append(int(name))
    return found


def text_of(path: str) -> str:
    """The content of a file in /proc, as far as one read returns it."""
    number = os.open(path, os.O_RDONLY)
    try:
        return os.read(number, 65536).decode("utf-8", "replace")
    finally:
        os.close(number)


def say(server: int, line: str) -> None:
    """Write a line to the server; ignored if it is gone."""
    with suppress(OSError):
        os.write(server, line.encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
