"""Runs agents in namespaces of their own, made by bubblewrap: they see and reach nothing of others.

Rule 1: an agent sees the system (/usr and what programs need of /etc), its interpreter, packages
        and own folder, all read-only and at their own paths. It writes to its state folder and to
        a private /tmp only; both are measured.
Rule 2: it has its own user, PID, IPC, UTS, cgroup and network namespace, no capabilities, and a
        filter of system calls (seccomp.py). Without `network: host` nothing but its own loopback
        is there; the server answers on the job's ports (box_init.py).
Rule 3: the keeper stays outside, where the agent cannot see it. If either dies, all processes die.
Rule 4: nothing runs as root, also if the server does (staging.py).
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from mobox.sandbox import Job, Network, Probe
from mobox.sandbox.cgroups import Cgroups
from mobox.sandbox.deleting import delete
from mobox.sandbox.kept_process import (
    Keeping,
    KeptProcess,
    environment,
    make_state,
    start_keeper,
    start_kept,
)
from mobox.sandbox.lending import has_locked
from mobox.sandbox.limits import with_defaults
from mobox.sandbox.mounts import INIT, SYSTEM, Mount, mounts_of
from mobox.sandbox.process import cgroups, common_options, enforcement
from mobox.sandbox.seccomp import NoFilter, filter_program
from mobox.sandbox.staging import place_of

PROGRAM: Final = "bwrap"
INIT_SOCKET: Final = 100
"""The number of the descriptor that connects box_init.py with the keeper."""
USER: Final = 1000
"""The user id in the sandbox."""
OUTER_USER: Final = 64_999
"""The user id outside, of a server that is root: nobody else has it, and containers may use it."""

ETC: Final = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "fonts", "gai.conf", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "pki", "protocols", "services", "ssl",
    "timezone",
)  # fmt: skip
"""What programs need of /etc: no names of users, hosts or networks."""
HOST_ETC: Final = ("hosts", "resolv.conf")
"""And what they need for `network: host`."""
TMP: Final = ".tmp"
"""The folder of private /tmp folders, beside the state folders of chats."""
NEW: Final = 60
"""Seconds in which a keeper has long locked its folder in TMP."""
TRY: Final = 30.0
"""Seconds that a probe may take: a server that starts on a busy machine must not do without it."""
OF_THE_LOADER: Final = re.compile(
    r"(LD_|GLIBC_|GCONV_|MALLOC_)|(LOCPATH|NLSPATH|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS)$"
)
"""Variables by which an agent's configuration could run code in every program that is started with
them: they are set in the sandbox only, not for its keeper and for bubblewrap."""


class BubblewrapSandbox:
    """Runs jobs in namespaces."""

    isolates = True
    own_network = True

    def probe(self) -> Probe:
        """Run a program in a sandbox."""
        program = shutil.which(PROGRAM)
        if program is None:
            return Probe(problem="bubblewrap is not installed: install the package `bubblewrap`")
        with tempfile.TemporaryDirectory(prefix="mobox-probe-") as folder:
            agent, state = Path(folder, "agent"), Path(folder, "states", "state")
            agent.mkdir()
            job = Job(argv=("/bin/true",), folder=agent, state=state, network=Network("none"))
            try:
                return _outcome(*_try(job))
            except subprocess.TimeoutExpired:
                return Probe(problem=f"bubblewrap has not answered within {TRY:g} seconds")
            except (OSError, NoFilter) as error:
                return Probe(problem=f"bubblewrap does not work here: {error}")

    def start(self, job: Job) -> KeptProcess:
        """Start a keeper, which starts bubblewrap, which starts the job."""
        return self._start(job)

    def start_spare(self, job: Job, lock: int) -> KeptProcess:
        """Start a job that gets its chat later: into the folder of `job.state`, by a rename."""
        return self._start(job, lock)

    def _start(self, job: Job, spare: int | None = None) -> KeptProcess:
        with keeping_of(job, is_spare=spare is not None) as keeping:
            return start_kept(job, keeping, spare)


def _try(job: Job) -> tuple[int, str]:
    """Run a job to its end; its exit code and its stderr."""
    ours, theirs = socket.socketpair()
    with ours, keeping_of(job) as keeping:
        with theirs:
            keeper = start_keeper(keeping, theirs.fileno(), job.folder)
        try:
            _, errors = keeper.communicate(b"", TRY)
        except subprocess.TimeoutExpired:
            ours.close()  # which ends it
            keeper.communicate()
            raise
        ours.settimeout(TRY)
        lines = ours.recv(4096).decode().splitlines()
    ended = [line.partition(" ")[2] for line in lines if line.startswith(("exit ", "signal "))]
    return int(ended[0]) if ended else -1, errors.decode("utf-8", "replace").strip()


def _outcome(code: int, errors: str) -> Probe:
    if code == 0:
        limits = enforcement()
        if not isinstance(cgroups(), Cgroups):
            limits["processes"] = "RLIMIT_NPROC in its user namespace, and measured"
        return Probe(limits=limits)
    last = errors.splitlines()[-1] if errors else f"it exited with code {code}"
    return Probe(problem=f"bubblewrap does not work here: {last}{_advice(errors)}")


def _advice(errors: str) -> str:
    """What to do about the usual causes."""
    if not any(word in errors for word in ("namespace", "setting up uid map", "Operation not")):
        return ""
    apparmor = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    with suppress(OSError):
        if apparmor.read_text().strip() == "1":
            return (
                " (AppArmor forbids user namespaces: install a profile for bwrap, or set the sysctl"
                " kernel.apparmor_restrict_unprivileged_userns to 0)"
            )
    return (
        " (this kernel or container forbids user namespaces: allow them, or use --sandbox docker)"
    )


@contextmanager
def keeping_of(job: Job, *, is_spare: bool = False) -> Iterator[Keeping]:
    """What the keeper is given; the descriptors are open in the context."""
    make_state(job)
    states = job.state.parents[3] if is_spare else job.state.parent
    filter_end = _readable(filter_program())
    tmp = make_tmp(states, is_root=os.geteuid() == 0)
    try:
        # Of a spare the folder around its state, where it gets another one.
        yield _keeping(job, job.state.parent if is_spare else job.state, tmp, filter_end)
    except BaseException:
        delete(str(tmp))
        raise
    finally:
        os.close(filter_end)


def _keeping(job: Job, state: Path, tmp: Path, filter_end: int) -> Keeping:
    limits, is_root = with_defaults(job.limits), os.geteuid() == 0
    mounts, options = list(mounts_of(job, state, tmp)), list[tuple[str, str | int]]()
    if is_root:
        for folder in job.writable:
            os.chown(folder, OUTER_USER, OUTER_USER)
        options += [("uid", OUTER_USER), *(("stage", mount.source) for mount in mounts)]
        mounts = [mount._replace(source=place_of(n)) for n, mount in enumerate(mounts)]
    env = _env(job)
    inside = {name: value for name, value in env.items() if OF_THE_LOADER.match(name)}
    command = (
        *bubblewrap(mounts, job.network, job.folder, filter_end),
        *_set_inside(inside),
        "--",
        *_init(job, limits["processes"]),
        *job.argv,
    )
    outside = {name: value for name, value in env.items() if name not in inside}
    written = (state.absolute(), *job.writable, tmp)
    options += [("measure", str(folder)) for folder in written]
    options += [("remove", str(tmp)), ("init", INIT_SOCKET)]
    if job.network.mode != "host":
        options.append(("own_network", 1))
    options += common_options(limits)  # last: it makes a cgroup, which would be left
    return Keeping(command=command, options=tuple(options), env=outside, descriptors=(filter_end,))


def _set_inside(variables: Mapping[str, str]) -> Iterator[str]:
    for name, value in variables.items():
        yield from ("--setenv", name, value)


def make_tmp(states: Path, *, is_root: bool) -> Path:
    """Make a private /tmp, which has a folder for shared memory. The keeper deletes it."""
    parent = states.absolute() / TMP
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    tmp = Path(tempfile.mkdtemp(dir=parent))
    for name in ("tmp", "shm"):
        path = tmp / name
        path.mkdir(mode=0o700)
        if is_root:
            os.chown(path, OUTER_USER, OUTER_USER)
    return tmp


def sweep(states: Path) -> None:
    """Delete the private /tmp folders of keepers that were killed."""
    for path in (states / TMP).glob("*"):
        with suppress(OSError), _opened(path) as folder:
            if time.time() - path.stat().st_mtime > NEW and has_locked(folder):
                delete(str(path))


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield number
    finally:
        os.close(number)


def _init(job: Job, processes: int) -> Iterator[str]:
    """The command of box_init.py, without the job's own."""
    yield from (os.path.realpath(sys.executable), "-I", "-S", str(INIT), f"fd:{INIT_SOCKET}")
    if counts_by_namespace():
        yield f"processes={processes}"
    yield from (f"port={port}" for port in job.ports)
    yield "--"


def counts_by_namespace() -> bool:
    """Whether the kernel counts the processes of a user in each user namespace: since 5.14.

    Before, the server and all its agents together would have the limit of one agent.
    """
    version = tuple(int(number) for number in re.findall(r"\d+", platform.release())[:2])
    return version >= (5, 14)


def _env(job: Job) -> dict[str, str]:
    env = environment(job)
    env.pop("TMPDIR", None)  # a folder of the machine
    return env


def _readable(data: bytes) -> int:
    """A descriptor from which the data can be read, once."""
    readable, writable = os.pipe()
    with os.fdopen(writable, "wb") as file:
        file.write(data)
    try:  # a number that is not that of the other descriptor
        return fcntl.fcntl(readable, fcntl.F_DUPFD_CLOEXEC, INIT_SOCKET + 1)
    finally:
        os.close(readable)


def bubblewrap(
    mounts: Iterable[Mount], network: Network, folder: Path, filter_end: int
) -> Iterator[str]:
    """The command of bubblewrap, without what it runs."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise FileNotFoundError(2, "bubblewrap is not installed", PROGRAM)
    yield from (program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts")
    yield "--unshare-cgroup-try"
    if network.mode != "host":
        yield "--unshare-net"
    yield from ("--die-with-parent", "--cap-drop", "ALL", "--hostname", "agent")
    yield from ("--uid", str(USER), "--gid", str(USER))
    yield from ("--ro-bind", "/usr", "/usr")
    for path in SYSTEM:
        if Path(path).is_symlink():
            yield from ("--symlink", str(Path(path).readlink()), path)
        elif Path(path).is_dir():
            yield from ("--ro-bind", path, path)
    for name in (*ETC, *(HOST_ETC if network.mode == "host" else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev")
    for mount in mounts:
        yield from ("--bind" if mount.is_writable else "--ro-bind", mount.source, mount.target)
    # All else that could be written is memory, which no limit of an unprivileged server counts.
    yield from ("--remount-ro", "/dev", "--remount-ro", "/")
    yield from ("--chdir", str(folder.absolute()), "--seccomp", str(filter_end))
