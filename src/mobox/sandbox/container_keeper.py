"""The process between the server and a container: no container outlives either.

    python -I -S container_keeper.py SOCKET OPTION=VALUE... -- CREATE COMMAND...

It speaks with the server as keeper.py does (rules 2, 3, 4, 6 and 7 there). It differs because an
agent in a container is no child of ours: the engine has it, and only the engine can end it.

Rule 1: the container is created, started and removed by separate commands of the engine, so that
        what the engine has to say about an image or a folder comes before anything of the agent's,
        and how it ended can be read before it is removed.
Rule 2: its name is made from the state folder. Whoever has locked the folder may remove a container
        of that name: a keeper that was killed has left it.
Rule 3: the server's death ends the container, as with keeper.py; after the keeper's own death the
        server removes it, or the next server that starts (`docker.py`).
Rule 4: past its lease the container is paused by the engine. One that cannot be paused, as by
        rootless engines with cgroup v1, is removed instead. An engine lets a paused container
        continue to kill it: its processes get their signals before.

The options, those with a star any number of times:

    engine*        a word of the command of docker or podman
    remover*       a word of the command that kills and removes the container, without its name
    name           the container's name
    uid            who gets the state folder, of a server that is root
    init           the name of the Unix socket of box_init.py, in the folder `remove`
    port*          a port that box_init.py hands out
    disk, files    limits that are measured: measuring.py
    measure*       a folder that counts for `disk`
    remove*        a folder that is deleted at the end
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mobox.sandbox import freezing, keeper, measuring, staging
else:  # a script that is run without the packages of the server
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import freezing
    import keeper
    import measuring
    import staging

CONNECTED = 90.0
"""Seconds in which the engine answers a command."""
AGAIN = 0.1
"""Seconds between two attempts to signal a container that is just starting."""
TAKEN = "already in use"
GONE = ("No such container", "no such container", "no container with")
HOW = "{{.State.Running}} {{.State.ExitCode}} {{.State.OOMKilled}} {{.State.StartedAt}}"
UNKNOWN = ("true", "", "", "")
NEVER = "0001-"
"""How the time begins at which a container was started that never was."""


def main(arguments: list[str]) -> None:
    """Run a container, and stay until it is removed."""
    end = arguments.index("--")
    server, create = keeper.own(int(arguments[0])), arguments[end + 1 :]
    orders = keeper.Orders(server)
    options = keeper.read_options(arguments[1:end])
    woken = keeper.ignore_signals()
    state = os.environ["MOBOX_STATE"]
    if keeper.has_folder(state, orders) and keeper.has_lease(orders):
        if "uid" in options:
            staging.give_to(state, int(options["uid"][0]))
        ended = Container(orders, woken, options).run(create)
    else:
        ended = f"signal {signal.SIGTERM:d}"
    keeper.clean_up(options)
    keeper.say(server, ended)
    os._exit(0)


class Container:
    """A container from its creation to its removal."""

    def __init__(self, orders: keeper.Orders, woken: int, options: keeper.Options) -> None:
        self._orders = orders
        self._server = server = orders.server
        self._woken = woken
        self._engine = options["engine"]
        self._remover = options["remover"]
        self._name = options["name"][0]
        limits = {name: int(options[name][0]) for name in ("disk", "files")}
        self._meter = measuring.Meter(limits, options.get("measure", []), [])
        self._init = Init(server, options)
        self._has_to_stop = False  # asked for, and not done yet
        self._is_removed = False
        self._is_paused = False
        self._exceeded = False

    def run(self, create: list[str]) -> str:
        """Returns the line for the server."""
        problem = self._create(create)
        if problem:
            os.write(2, f"{problem}\n".encode("utf-8", "replace"))
            self._init.close()
            return f"exit {keeper.NOT_RUNNABLE}"
        if self._is_stopped() or not keeper.has_lease(self._orders):
            self._remove()
            self._init.close()
            return f"signal {signal.SIGKILL:d}"
        with self._start() as client:
            keeper.say(self._server, f"pid {client.pid}")
            keeper.let_go_of_the_pipes()
            while client.poll() is None:
                self._wait()
        self._init.close()
        return self._end(client.returncode)

    def _is_stopped(self) -> bool:
        """Whether the server has sent a command before the container was started."""
        return bool(select.select([self._server], [], [], 0)[0] and self._orders.read())

    def _create(self, create: list[str]) -> str:
        """Create it; returns why that failed, else nothing."""
        problem = command(create)[1]
        if TAKEN in problem:
            self._remove()
            self._is_removed = False
            problem = command(create)[1]
        return problem

    def _start(self) -> subprocess.Popen[bytes]:
        """Start it; the engine's client passes the bytes of the pipes on."""
        words = [*self._engine, "start", "--attach", "--interactive"]
        return subprocess.Popen(
            [*words, self._name],
            start_new_session=True,
            preexec_fn=lambda: keeper.prctl(keeper.SET_DEATH_SIGNAL, signal.SIGKILL),
        )

    def _wait(self) -> None:
        """Wait for whatever comes next, and handle it."""
        seconds = AGAIN if self._has_to_stop else measuring.OFTEN
        commands = [] if self._is_removed else [self._server]
        watched = [*commands, self._woken, *self._init.watched]
        left = None if self._is_paused else self._orders.left()
        seconds = seconds if left is None else max(0.0, min(seconds, left))
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._woken in ready:
            os.read(self._woken, 4096)
        self._init.read(ready)
        if self._server in ready:
            for order in self._orders.read():
                self._obey(order)
        if not self._is_removed:
            self._keep_to_the_lease()
        if self._has_to_stop:
            # It fails while the container is starting; the next attempt may not.
            signalled = command([*self._engine, "kill", "--signal", "TERM", self._name])
            self._has_to_stop = bool(signalled[1])
        if not self._is_removed:
            self._measure()

    def _obey(self, order: bytes) -> None:
        if order == keeper.KILL and not self._is_removed:
            self._remove()
            if not self._is_removed:
                time.sleep(AGAIN)  # the end of the server's socket stays readable: it tries again
        elif order == keeper.TERMINATE:
            self._has_to_stop = True

    def _keep_to_the_lease(self) -> None:
        """Pause the container when its lease is over; let it continue when it is renewed."""
        left = self._orders.left()
        if self._is_paused and freezing.is_wanted(os.environ["MOBOX_STATE"]):
            self._remove()
            return
        if left is None or (left <= 0) == self._is_paused:
            return
        word = "unpause" if self._is_paused else "pause"
        if command([*self._engine, word, self._name])[1]:
            self._remove()
        else:
            self._is_paused = not self._is_paused

    def _measure(self) -> None:
        if exceeded := self._meter.exceeded():
            self._report(exceeded)
            self._remove()

    def _report(self, exceeded: str) -> None:
        if not self._exceeded:
            self._exceeded = True
            keeper.say(self._server, f"exceeded {exceeded}")

    def _kill_paused(self) -> None:
        """Kill the processes, which die as soon as the engine lets them continue."""
        words = ["inspect", "--format", "{{.State.Pid}} {{.Id}}", self._name]
        pid, _, name = command([*self._engine, *words])[0].partition(" ")
        if pid.isdecimal() and is_of(int(pid), name.strip()):
            for each in (*measuring.descendants(int(pid))[0], int(pid)):
                with suppress(OSError):
                    os.kill(each, signal.SIGKILL)

    def _remove(self) -> None:
        if self._is_paused:
            self._kill_paused()
        problem = command([*self._remover, self._name])[1]
        self._is_removed = not problem or any(word in problem for word in GONE)
        self._has_to_stop = False

    def _end(self, client: int) -> str:
        """Read how it ended, and remove it; returns the line for the server."""
        if self._is_removed:
            return f"signal {signal.SIGKILL:d}"
        output, problem = command([*self._engine, "inspect", "--format", HOW, self._name])
        running, code, by_memory, started = output.split(maxsplit=3) if not problem else UNKNOWN
        if by_memory == "true":
            self._report("memory")
        else:
            self._measure()  # it may have ended because its disk was full
        self._remove()
        if running == "true":  # only the client has ended
            return f"signal {signal.SIGKILL:d}"
        if started.startswith(NEVER):  # the client has said why
            return f"exit {keeper.NOT_FOUND if client == keeper.NOT_FOUND else keeper.NOT_RUNNABLE}"
        return ended(int(code))


class Init:
    """The socket on which box_init.py hands out its ports, once, before the agent starts.

    A connection that comes later is the agent's own: by then the socket is closed.
    """

    def __init__(self, server: int, options: keeper.Options) -> None:
        self._server = server
        self._ports = {int(port) for port in options.get("port", ())}
        self._listener: socket.socket | None = None
        self._box: socket.socket | None = None
        if "init" in options:
            # The path of a socket must be short; a name in the current folder is.
            os.chdir(options["remove"][0])
            self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listener.bind(options["init"][0])
            os.chmod(options["init"][0], 0o666)  # its folder is open to the server's user only
            self._listener.listen(1)

    @property
    def watched(self) -> list[int]:
        """The descriptors to watch."""
        return [each.fileno() for each in (self._listener, self._box) if each is not None]

    def read(self, ready: list[int]) -> None:
        """Accept the connection, or pass a port on."""
        if self._listener is not None and self._listener.fileno() in ready:
            self._box, _ = self._listener.accept()
            self._listener.close()
            self._listener = None
        elif self._box is not None and self._box.fileno() in ready:
            self._receive(self._box)

    def _receive(self, box: socket.socket) -> None:
        data, numbers = b"", list[int]()
        with suppress(OSError):
            data, numbers, _, _ = socket.recv_fds(box, 4096, 8)
        for number in numbers:
            listening = socket.socket(fileno=number)
            port = port_of(listening)
            if port in self._ports:
                self._ports.discard(port)
                rights = listening.detach().to_bytes(4, sys.byteorder)
                keeper.pass_on(self._server, b"port %d\n" % port, rights)
            else:
                listening.close()
        if not data or b"ready\n" in data:
            self.close()

    def close(self) -> None:
        """Accept nothing more."""
        for each in (self._listener, self._box):
            if each is not None:
                each.close()
        self._listener = self._box = None


def port_of(listening: socket.socket) -> int | None:
    """The port of 127.0.0.1 that a socket listens on: a box could hand out anything."""
    with suppress(OSError):
        is_listening = listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if listening.family == socket.AF_INET and is_listening:
            host, port = listening.getsockname()
            return int(port) if host == "127.0.0.1" else None
    return None


def is_of(pid: int, container: str) -> bool:
    """Whether a process is the container's, by its cgroups: the engine may count others than we."""
    with suppress(OSError):
        return bool(container) and container in keeper.text_of(f"/proc/{pid}/cgroup")
    return False


def ended(code: int) -> str:
    """The line for an exit code; engines report signals as shells do, as 128 and their number."""
    by_signal = code - 128 in signal.valid_signals()
    return f"signal {code - 128}" if by_signal else f"exit {code}"


def command(words: list[str]) -> tuple[str, str]:
    """Run a command of the engine; returns its output, and the reason if it failed."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=CONNECTED, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"{words[0]} has not answered for {CONNECTED:.0f} seconds"
    except OSError as error:
        return "", f"{words[0]}: {error}"
    output, errors = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if done.returncode == 0:
        return output, ""
    return output, errors.strip() or f"{words[0]} exited with code {done.returncode}"


if __name__ == "__main__":
    main(sys.argv[1:])
