"""The process between the server and an agent: no process that the agent starts outlives either.

    python -I -S keeper.py SOCKET OPTION=VALUE... -- COMMAND...

A script, not a module: it is single-threaded, so that it may fork. It imports as little as
possible: with `typing`, `socket` and `pathlib` an agent would start 25 ms later.

Rule 1: orphans of the agent, in any session, become children of the keeper (Linux's subreaper).
        When the agent ends they are killed, and only then does the keeper exit.
Rule 2: the server sends commands over a socket: `T` sends TERM to the agent's group; `K` or the end
        of the socket, which is also the death of the server, kills everything.
Rule 3: two agents never share a state folder, even on different servers: the keeper locks it before
        the agent starts, and the lock is released when the keeper exits, last.
Rule 4: the keeper writes lines to the socket: `pid N`; `exceeded LIMIT`, after which it kills
        everything; then `exit N` or `signal N`, last. It passes on `port N` of a sandbox, with its
        descriptor.
Rule 5: a spare has no chat yet. `H` and a path give it the folder of a chat, locked: lending.py.
        The answer is `bound`, or `refused` and why. The folder is put back at the end of all.
Rule 6: `L` and a time let the agent run until then, by a clock of this machine that nobody sets. If
        no later time has come by then, all its processes are stopped (SIGSTOP), whatever keeps the
        server from sending one: another server may own the run from then on. They continue when a
        later time comes, and are killed like any others. Without any `L` there is no such limit.
Rule 7: they are killed, too, if another keeper waits for their folder: then the chat has an attempt
        with a valid lease, and this one will never be continued.

The options, those with a star any number of times:

    open_files, file_size, core, data, nproc     limits that the kernel enforces (setrlimit)
    nice                                         how much less of the CPU it gets
    memory, processes, disk, files               limits that are measured: measuring.py
    measure*                                     a folder that counts for `disk`
    cgroup*                                      a group that the agent joins; removed at the end
    remove*                                      a folder that is deleted at the end
    spare                                        the descriptor that locks the folder of a spare
    uid, stage*                                  of a server that is root: staging.py
    init                                         the descriptor of box_init.py in a sandbox
    own_network                                  it cannot connect to the server: agent_sockets.py
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from types import ModuleType

LIMITS = {
    "data": resource.RLIMIT_DATA,
    "open_files": resource.RLIMIT_NOFILE,
    "nproc": resource.RLIMIT_NPROC,
    "file_size": resource.RLIMIT_FSIZE,
    "core": resource.RLIMIT_CORE,
}
MEASURED = ("memory", "processes", "disk", "files")
SET_DEATH_SIGNAL, SET_SUBREAPER = 1, 36  # <linux/prctl.h>
NOT_FOUND, NOT_RUNNABLE = 127, 126  # the exit codes of shells
TERMINATE, KILL, HAND_OVER, RUN_UNTIL = b"T", b"K", b"H", b"L"
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # as in storage/renewals.py
LENT = ".mobox-lent"  # as in lending.py
TAKEN = b"mobox: waiting until an earlier process of this chat has ended\n"
AGAIN = 0.02
"""Seconds between two attempts to lock a state folder: there is no notification."""
ROUNDS = 20
"""How often new processes are looked for before all are killed."""
FROZEN = 0.5
"""Seconds between two looks at processes that are stopped."""

Options = dict[str, list[str]]


def main(arguments: list[str]) -> None:
    """Start the agent, and stay until all its processes have ended."""
    end = arguments.index("--")
    server, command = own(int(arguments[0])), arguments[end + 1 :]
    orders = Orders(server)
    options = read_options(arguments[1:end])
    spare = [own(int(number)) for number in options.get("spare", ())]
    init = [int(number) for number in options.get("init", ())]
    for path in options.get("remove", ()):
        locks(os.open(path, os.O_RDONLY))  # until this process ends: nobody else deletes it
    woken = ignore_signals()
    prctl(SET_SUBREAPER, 1)
    state = os.environ["MOBOX_STATE"]
    if not (has_folder(state, orders) and has_lease(orders)):
        clean_up(options)
        say(server, f"signal {signal.SIGTERM:d}")
        os._exit(0)
    if "uid" in options:
        module("staging").give_to(state, int(options["uid"][0]))
    inside, outside = socket_pair() if init else (-1, -1)
    # The fork ignores TERM until it executes the agent, so TERM is blocked and stays pending.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    agent = os.fork()
    if agent == 0:
        if init:
            os.dup2(inside, init[0])  # a number that nothing else has: so it is inherited
        become_agent(options, command)
    say(server, f"pid {agent}")
    if init:
        os.close(inside)
    let_go_of_the_pipes()
    status = Watch(agent, orders, woken, outside, options).until_ended()
    kill_children()
    if spare:
        with suppress(Exception):  # the server tries it again, when this process has ended
            module("lending").give_back(own_folder())
    clean_up(options)
    code = os.waitstatus_to_exitcode(status)
    say(server, f"exit {code}" if code >= 0 else f"signal {-code}")
    os._exit(0)


def read_options(pairs: list[str]) -> Options:
    """The values of each option."""
    options: Options = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        options.setdefault(name, []).append(value)
    return options


def own(number: int) -> int:
    """Duplicate a descriptor to a small number that the agent does not inherit.

    A server with many clients passes numbers that `select` does not accept.
    """
    small = os.dup(number)
    os.close(number)
    return small


def socket_pair() -> tuple[int, int]:
    """The ends for a sandbox and for the keeper, who learns which process has sent a message."""
    import _socket

    inside, outside = _socket.socketpair()
    outside.setsockopt(_socket.SOL_SOCKET, _socket.SO_PASSCRED, 1)
    return inside.detach(), outside.detach()


def ignore_signals() -> int:
    """Ignore signals; returns the end of a pipe that becomes readable when a child ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable


class Orders:
    """What the server sends: commands, and the time until which the agent may run."""

    def __init__(self, server: int) -> None:
        self.server = server
        self._received = b""
        self._until: float | None = None

    def read(self) -> list[bytes]:
        """Read what was sent; returns the commands. The end of the socket counts as `K`."""
        data = hear(self.server)
        if not data:
            return [KILL]
        self._received += data
        found: list[bytes] = []
        while self._received:
            command, rest = self._received[:1], self._received[1:]
            if command in (HAND_OVER, RUN_UNTIL):
                argument, end, rest = rest.partition(b"\0")
                if not end:  # the rest of it comes later
                    break
                if command == RUN_UNTIL:
                    self._until = float(argument)
                else:
                    found.append(command + argument)
            else:
                found.append(command)
            self._received = rest
        return found

    def left(self) -> float | None:
        """For how many seconds the agent may run; `None` without a limit."""
        return None if self._until is None else self._until - time.clock_gettime(CLOCK)


def has_lease(orders: Orders) -> bool:
    """Wait until the agent may run; false if the server sends a command before."""
    while (left := orders.left()) is not None and left <= 0:
        if select.select([orders.server], [], [], FROZEN)[0]:
            if orders.read():
                return False
        elif module("freezing").is_wanted(os.environ["MOBOX_STATE"]):  # Rule 7
            return False
    return True


def has_folder(state: str, orders: Orders) -> bool:
    """Lock a folder for this process's lifetime; false if the server sends a command before.

    It may be lent to a spare meanwhile, and another folder have its place: then that is locked.
    """
    wish: int | None = None
    try:
        while True:
            try:
                folder = os.open(state, os.O_RDONLY)
            except FileNotFoundError:  # its chat was deleted
                return False
            if locks(folder) and is_own(folder, state):
                return True
            os.close(folder)
            if wish is None:
                os.write(2, TAKEN)
                wish = module("freezing").want(state)
            if select.select([orders.server], [], [], AGAIN)[0] and orders.read():
                return False
    finally:
        if wish is not None:
            module("freezing").want_no_more(state, wish)


def is_own(folder: int, state: str) -> bool:
    """Whether a locked folder is that of the chat: not one that only has its place."""
    try:
        if not os.path.samestat(os.fstat(folder), os.stat(state)):
            return False
    except FileNotFoundError:  # deleted meanwhile
        return False
    if not os.path.lexists(os.path.join(state, LENT)):
        return True
    spare = module("lending").lent_to(state)
    if spare is None:  # a file of the agent has this name
        return True
    with suppress(Exception):  # the server of the process that ended may put it back, too
        module("lending").put_back(spare)
    return False


def module(name: str) -> ModuleType:
    """A module beside this script, which not every agent needs."""
    folder = os.path.dirname(os.path.abspath(__file__))
    if folder not in sys.path:
        sys.path.append(folder)
    found = __import__(name)
    assert isinstance(found, ModuleType)
    return found


def own_folder() -> str:
    """The folder of this spare; its state is in a folder that a sandbox may show to the agent."""
    return os.path.dirname(os.path.dirname(os.environ["MOBOX_STATE"]))


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


def become_agent(options: Options, command: list[str]) -> None:
    """Never returns."""
    code = NOT_RUNNABLE
    try:
        os.setsid()
        confine(options)
        prctl(SET_DEATH_SIGNAL, signal.SIGKILL)  # in case the keeper is killed
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        if "uid" in options:
            module("staging").become(int(options["uid"][0]))
        os.execvp(command[0], command)
    except Exception as error:  # noqa: BLE001 - whatever it is, it has to be shown
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
        os.write(2, f"{command[0]}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(code)


def confine(options: Options) -> None:
    """Apply the limits, all but those that are measured."""
    for path in options.get("cgroup", ()):
        join(path)
    if "stage" in options:
        module("staging").stage(options["stage"])
    for name, values in options.items():
        if name in LIMITS:
            limit(LIMITS[name], int(values[0]))
    if "nice" in options:
        with suppress(OSError):  # only root may get more than others
            os.nice(int(options["nice"][0]))


def join(path: str) -> None:
    """Become a member of a cgroup; all processes that this one starts are, too."""
    number = os.open(os.path.join(path, "cgroup.procs"), os.O_WRONLY)
    try:
        os.write(number, b"0")
    finally:
        os.close(number)


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


class Watch:
    """Executes the server's commands, and enforces limits, until the agent has ended."""

    def __init__(self, agent: int, orders: Orders, woken: int, init: int, options: Options) -> None:
        self._agent = agent
        self._orders = orders
        self._server = orders.server
        self._woken = woken
        self._init = init
        self._options = options
        self._state = os.environ["MOBOX_STATE"]  # the chat's folder; of a spare its own, until then
        self._leader = agent  # who gets the signals: in a sandbox, the agent is not our child
        self._has_exceeded = False
        self._stopped: set[int] | None = None  # what is stopped, while the lease is over
        self._is_stopping = False  # whether there may be more to stop
        measuring = module("measuring")
        limits = {name: int(options[name][0]) for name in MEASURED if name in options}
        folders, cgroups = options.get("measure", []), options.get("cgroup", [])
        self._meter = measuring.Meter(limits, folders, cgroups)
        self._seconds = measuring.OFTEN if self._meter.is_needed else None
        self._next = 0.0

    def until_ended(self) -> int:
        """Returns the agent's wait status."""
        while True:
            status = reap(self._agent)
            if status is not None:
                self._meter.measure_all()
                self._measure()  # it may have ended because of a limit
                return status
            watched = [self._server, self._woken, *([self._init] if self._init >= 0 else ())]
            ready, _, _ = select.select(watched, [], [], self._pause())
            if self._woken in ready:
                os.read(self._woken, 4096)
            if self._init in ready:
                self._listen_to_init()
            if self._server in ready:
                for order in self._orders.read():
                    self._obey(order)
            self._keep_to_the_lease()
            if self._seconds is not None and time.monotonic() >= self._next:
                self._measure()

    def _pause(self) -> float | None:
        """For how many seconds nothing has to be done by itself."""
        if self._is_stopping:
            return 0.0
        left = self._orders.left() if self._stopped is None else FROZEN
        seconds = [each for each in (left, self._seconds) if each is not None]
        return max(0.0, min(seconds)) if seconds else None

    def _keep_to_the_lease(self) -> None:
        """Stop all processes when the lease is over; let them continue when it is renewed."""
        left = self._orders.left()
        if left is not None and left <= 0:
            before, found = self._stopped or set(), module("freezing").stop_all(self._leader)
            self._is_stopping = not found <= before  # each of them may have started others
            self._stopped = before | found
            if module("freezing").is_wanted(self._state):
                kill_all(self._agent)
        elif self._stopped is not None:
            module("freezing").continue_all(self._leader, self._stopped)
            self._stopped, self._is_stopping = None, False

    def _measure(self) -> None:
        if self._has_exceeded or self._seconds is None:
            return
        self._next = time.monotonic() + self._seconds
        exceeded = self._meter.exceeded()
        if exceeded is not None:
            self._has_exceeded = True
            say(self._server, f"exceeded {exceeded}")
            kill_all(self._agent)

    def _listen_to_init(self) -> None:
        """Pass the ports of a sandbox on, and learn which process the agent is."""
        import _socket

        outside = _socket.socket(fileno=os.dup(self._init))
        try:
            data, ancillary, _, _ = outside.recvmsg(4096, 4096)
        except OSError:
            data, ancillary = b"", []
        finally:
            outside.close()
        if not data:  # with it come credentials of nobody
            os.close(self._init)
            self._init = -1
            return
        for level, kind, value in ancillary:
            if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_CREDENTIALS):
                self._leader = int.from_bytes(value[:4], sys.byteorder)
            elif (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
                word = data[5:].strip()
                pass_on(self._server, b"port %d\n" % (int(word) if word.isdigit() else 0), value)

    def _obey(self, order: bytes) -> None:
        """Bind the agent to a chat, or signal it. It is not reaped yet: its pid is not reused."""
        if order.startswith(HAND_OVER):
            say(self._server, self._hand_over(os.fsdecode(order[1:])))
        elif order == KILL:
            kill_all(self._agent)
        elif order == TERMINATE:
            send_signal(self._leader, signal.SIGTERM)

    def _hand_over(self, chat: str) -> str:
        """Give the folder of a chat to this spare; returns the answer for the server."""
        try:
            module("lending").lend(chat, own_folder())  # its descriptor stays open, for the lock
            self._state = chat
            if "uid" in self._options:
                module("staging").give_to(os.environ["MOBOX_STATE"], int(self._options["uid"][0]))
        except Exception as error:  # noqa: BLE001 - whatever it is, the server has to know
            return "refused " + " ".join(str(error).split())
        return "bound"


def send_signal(agent: int, number: int) -> None:
    """Signal the group of a process; the process itself, if it is so new that it has none yet."""
    try:
        os.killpg(agent, number)
    except OSError:
        with suppress(OSError):
            os.kill(agent, number)


def kill_all(agent: int) -> None:
    """Kill the agent, and what it has started: all are stopped first, so that none forks on."""
    descendants = module("measuring").descendants
    stopped: set[int] = set()
    for _ in range(ROUNDS):
        found = set(descendants(os.getpid())[0]) - stopped
        if not found:
            break
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= found
    send_signal(agent, signal.SIGKILL)
    for pid in stopped:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


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
    """Read from the server; nothing at the end of the socket, or after an error."""
    with suppress(OSError):
        return os.read(server, 8192)
    return b""


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


def clean_up(options: Options) -> None:
    """Remove what was made for this agent, now that all its processes have ended."""
    for path in options.get("cgroup", ()):
        with suppress(OSError):
            os.rmdir(path)
    for path in options.get("remove", ()):
        module("deleting").delete(path)


def say(server: int, line: str) -> None:
    """Write a line to the server; ignored if it is gone."""
    with suppress(OSError):
        os.write(server, line.encode() + b"\n")


def pass_on(server: int, line: bytes, descriptors: bytes) -> None:
    """Send a line with descriptors to the server, and close them here."""
    import _socket

    numbers = [
        int.from_bytes(descriptors[place : place + 4], sys.byteorder)
        for place in range(0, len(descriptors) - 3, 4)
    ]
    outside = _socket.socket(fileno=os.dup(server))
    with suppress(OSError):
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)
        outside.sendmsg([line], [rights])
    outside.close()
    for number in numbers:
        os.close(number)


if __name__ == "__main__":
    main(sys.argv[1:])
