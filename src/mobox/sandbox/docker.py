"""Runs agents in containers of docker or podman.

Rule 1: an agent sees an image, its interpreter, its packages and its own folder, all read-only and
        at their own paths. It writes to its state folder and to a private /tmp only; both are
        measured.
Rule 2: it has no capabilities and, without `network: host`, no network but its own loopback; the
        server answers on the job's ports (box_init.py).
Rule 3: images are never pulled for a run, which would wait for minutes: an operator pulls them.
Rule 4: values of variables are no arguments of a command: every user of a machine can read these.
Rule 5: a container ends with its keeper or its server (container_keeper.py). What both have left
        behind is removed by the next probe.

docs/sandbox-docker.md says what an image needs.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from mobox.sandbox import Job, Network, Probe, Status
from mobox.sandbox.bubblewrap import OUTER_USER, make_tmp
from mobox.sandbox.deleting import delete
from mobox.sandbox.kept_process import AGENT_PATH, KeptProcess, environment, make_state
from mobox.sandbox.limits import with_defaults
from mobox.sandbox.mounts import INIT, Mount, check_apart, interpreter_of, is_system

KEEPER: Final = Path(__file__).with_name("container_keeper.py")
ENGINE: Final = "MOBOX_CONTAINER_ENGINE"
IMAGE: Final = "MOBOX_CONTAINER_IMAGE"
ENGINES: Final = ("docker", "podman")
LABEL: Final = "mobox"
INIT_SOCKET: Final = "/run/mobox/init"
"""Where box_init.py finds the socket that it hands its ports to."""
CLOSED: Final = "/root"
"""A folder that only root can open in images; the Python of a server may be below it."""
SHARES: Final = 1024
"""The CPU weight of a normal container."""
NPROC: Final = 32_768
"""podman sets this limit to more than a server without privileges may; `--pids-limit` counts."""
TRY, ANSWER = 30.0, 10.0
"""Seconds that a container may take in a probe, and a command that only asks for something."""

OF_THE_CLIENT: Final = re.compile(
    r"(LD_|DYLD_|GO|GLIBC_|GCONV_|MALLOC_|DOCKER_|CONTAINER|PODMAN_|BUILDAH_|REGISTRY_|STORAGE_"
    r"|XDG_|DBUS_|SSH_|LISTEN_|NOTIFY_|PYTHON)|(PATH|HOME|USER|TMPDIR|LOCPATH|NLSPATH|HOSTALIASES)$"
)
"""Variables that docker and podman, or the libraries they use, read for themselves. An agent's own
values would change what they do outside of the container: these are arguments."""
OF_THE_IMAGE: Final = ("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "TMPDIR")
"""Variables of the server that name its own folders: an image has others."""


class Engine(Struct, frozen=True, kw_only=True):
    """A program that runs containers."""

    command: tuple[str, ...]
    is_podman: bool = False
    is_rootless: bool = False
    """Whether it runs as a user, whose id is 0 in a container unless it is told otherwise."""
    lacks: tuple[str, ...] = ()
    """The limits that it cannot enforce here."""

    @property
    def remover(self) -> tuple[str, ...]:
        """The command that kills and removes a container, without its name."""
        # podman would send TERM first, and wait.
        at_once = ("--time", "0") if self.is_podman else ()
        return (*self.command, "rm", "--force", "--volumes", *at_once)


class DockerSandbox:
    """Runs jobs in containers."""

    isolates = True
    own_network = True

    def probe(self) -> Probe:
        """Run a program in a container of the default image; remove what was left behind."""
        try:
            engine = find_engine()
        except OSError as error:
            return Probe(problem=str(error))
        if engine.lacks:
            lacking = " and ".join(engine.lacks)
            return Probe(
                problem=f"{engine.command[0]} cannot limit {lacking} here: it needs cgroups with"
                " these controllers (rootless engines need cgroup v2)"
            )
        image = default_image()
        if _ask([*engine.command, "image", "inspect", image])[1]:
            pull = shlex.join([*engine.command, "pull", image])
            return Probe(
                problem=f"the image {image} is not on this machine: run `{pull}`, or set {IMAGE} to"
                " another image"
            )
        sweep(engine)
        problem = _try(engine)
        if problem:
            return Probe(problem=f"containers of {engine.command[0]} do not work here: {problem}")
        return Probe(
            limits={"memory": "cgroup", "processes": "cgroup", "disk": "measured"},
            notes=(f"containers are made by {shlex.join(engine.command)}",),
        )

    def start(self, job: Job) -> DockerProcess:
        """Start a keeper, which starts the container; see `start_kept` in kept_process.py."""
        engine = find_engine()
        ours, theirs = socket.socketpair()
        try:
            keeper = start_keeper(job, engine, theirs.fileno())
            return DockerProcess(keeper, ours, with_defaults(job.limits), engine, name_of(job))
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()


class DockerProcess(KeptProcess):
    """An agent in a container."""

    def __init__(
        self,
        keeper: subprocess.Popen[bytes],
        server: socket.socket,
        limits: Mapping[str, int],
        engine: Engine,
        name: str,
    ) -> None:
        super().__init__(keeper, server, limits)
        self._remover = [*engine.remover, name]

    async def wait(self) -> Status:
        """As above; removes the container if its keeper was killed, or does not answer."""
        status = await super().wait()
        if status == Status():
            await asyncio.to_thread(_ask, self._remover)
        return status


# The engine


@cache  # the same for the whole life of the server; that there is none is not remembered
def find_engine() -> Engine:
    """The first engine that works; raises `OSError` with the reasons and what to do."""
    chosen = os.environ.get(ENGINE)
    problems = []
    for command in [shlex.split(chosen)] if chosen else [[name] for name in ENGINES]:
        if not command or shutil.which(command[0]) is None:
            continue
        answer, problem = _ask([*command, "info", "--format", "{{json .}}"])
        if not problem:
            return _engine_of(tuple(command), json.loads(answer))
        problems.append(f"{shlex.join(command)}: {problem.splitlines()[-1]}")
    if not problems:
        missing = f"{chosen} ({ENGINE})" if chosen else "neither docker nor podman"
        verb = "is not" if chosen else "is"
        raise OSError(f"{missing} {verb} installed")
    advice = "start its daemon, and let the server's user use it (group `docker`)"
    raise OSError(f"no container engine answers ({'; '.join(problems)}): {advice}")


def _engine_of(command: tuple[str, ...], info: dict[str, Any]) -> Engine:
    """What an engine tells about itself: docker and podman have different words."""
    host = info.get("host")
    if isinstance(host, dict):
        controllers = host.get("cgroupControllers") or ()
        needed = {"memory": "memory", "processes": "pids"}
        return Engine(
            command=command,
            is_podman=True,
            is_rootless=bool(host.get("security", {}).get("rootless")),
            lacks=tuple(name for name, word in needed.items() if word not in controllers),
        )
    known = {"memory": info.get("MemoryLimit"), "processes": info.get("PidsLimit")}
    return Engine(
        command=command,
        is_rootless="name=rootless" in (info.get("SecurityOptions") or ()),
        lacks=tuple(name for name, works in known.items() if not works),
    )


def _ask(words: Iterable[str]) -> tuple[str, str]:
    """Run a command of an engine; returns its output, and the reason if it failed."""
    words = list(words)
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER,
            text=True,
            errors="replace",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    if done.returncode == 0:
        return done.stdout, ""
    return done.stdout, done.stderr.strip() or f"it exited with code {done.returncode}"


def default_image() -> str:
    """The image of agents that name none: that of the server's own Python, without packages."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return os.environ.get(IMAGE) or f"python:{version}-slim"


def name_of(job: Job) -> str:
    """The name of a job's container: there is one for each state folder."""
    path = os.fsencode(job.state.absolute())
    return f"mobox-{hashlib.sha256(path).hexdigest()[:16]}"


# Starting


def start_keeper(job: Job, engine: Engine, server: int) -> subprocess.Popen[bytes]:
    """Start a keeper with pipes; `server` is its end of the socket."""
    make_state(job)
    tmp = make_tmp(job.state.parent, is_root=os.geteuid() == 0)
    try:
        return _start_keeper(job, engine, server, tmp)
    except BaseException:  # there is no keeper that would delete it
        delete(str(tmp))
        raise


def _start_keeper(job: Job, engine: Engine, server: int, tmp: Path) -> subprocess.Popen[bytes]:
    is_root, limits = os.geteuid() == 0, with_defaults(job.limits)
    options = [
        *(("engine", word) for word in engine.command),
        *(("remover", word) for word in engine.remover),
        ("name", name_of(job)),
        *([("uid", OUTER_USER)] if is_root and not engine.is_rootless else ()),
        *([("init", "init")] if has_init(job) else ()),
        *(("port", port) for port in job.ports),
        *(("disk", limits["disk"]), ("files", limits["files"])),
        *(("measure", job.state.absolute()), ("measure", tmp / "tmp"), ("remove", tmp)),
    ]
    prepare(mounts_of(job, tmp), tmp)
    env = environment_of(job)
    words = [f"{name}={value}" for name, value in options]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", KEEPER, str(server), *words, "--", *create(job, engine, tmp)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=job.folder,
        env=client_environment(env),
        pass_fds=[server],
        start_new_session=True,
    )


def environment_of(job: Job) -> dict[str, str]:
    """The variables of a job in a container."""
    dropped = {name for name in OF_THE_IMAGE if name not in job.env}
    return {name: value for name, value in environment(job).items() if name not in dropped}


def client_environment(
    env: Mapping[str, str], ours: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The environment of an engine's client: what it needs itself, and what it passes on."""
    own = {name: value for name, value in ours.items() if OF_THE_CLIENT.match(name)}
    given = {name: value for name, value in env.items() if not OF_THE_CLIENT.match(name)}
    return {**own, **given, "MOBOX_STATE": env["MOBOX_STATE"]}


def create(job: Job, engine: Engine, tmp: Path) -> Iterator[str]:
    """The command that creates the container of a job."""
    limits = with_defaults(job.limits)
    yield from (*engine.command, "create", "--pull", "never", "--name", name_of(job))
    labels = {"": socket.gethostname(), ".state": job.state.absolute(), ".tmp": tmp}
    for label, value in labels.items():
        yield from ("--label", f"{LABEL}{label}={value}")
    yield from ("--interactive", "--init", "--log-driver", "none", "--hostname", "agent")
    yield from ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
    if Path("/sys/fs/selinux/enforce").exists():  # else it could not read what is mounted
        yield from ("--security-opt", "label=disable")
    yield from ("--network", "host" if job.network.mode == "host" else "none")
    yield from _user(engine)
    yield from _limits(limits, engine)
    for mount in mounts_of(job, tmp):
        yield from ("--mount", _csv(mount))
    for name, value in sorted(environment_of(job).items()):
        yield from ("--env", f"{name}={value}" if OF_THE_CLIENT.match(name) else name)
    program, *arguments = _command(job)
    yield from ("--workdir", str(job.folder.absolute()), "--entrypoint", program)
    yield from (job.image or default_image(), *arguments)


def _user(engine: Engine) -> Iterator[str]:
    """The user in the container: the server's own, or one without rights if that is root."""
    uid, gid = os.geteuid(), os.getegid()
    if engine.is_rootless and engine.is_podman:
        yield from ("--userns", "keep-id", "--user", f"{uid}:{gid}")
    elif engine.is_rootless:
        yield from ("--user", "0:0")  # in its user namespace this is the server's user
    else:
        yield from ("--user", f"{uid}:{gid}" if uid != 0 else f"{OUTER_USER}:{OUTER_USER}")


def _limits(limits: Mapping[str, int], engine: Engine) -> Iterator[str]:
    memory = str(limits["memory"])
    yield from ("--memory", memory, "--memory-swap", memory)
    yield from ("--pids-limit", str(limits["processes"]))
    yield from ("--cpu-shares", str(max(2, limits["cpu"] * SHARES // 100)))
    ulimits = {
        "nofile": _at_most(resource.RLIMIT_NOFILE, limits["open_files"]),
        "fsize": _at_most(resource.RLIMIT_FSIZE, limits["file_size"]),
        "core": 0,
    }
    if engine.is_podman:
        yield from ("--read-only-tmpfs=false", "--image-volume", "ignore")
        ulimits["nproc"] = _at_most(resource.RLIMIT_NPROC, NPROC)
    for name, value in ulimits.items():
        yield from ("--ulimit", f"{name}={value}:{value}")


def _at_most(which: int, value: int) -> int:
    """A limit, not above the server's own: podman could not set it."""
    _, hard = resource.getrlimit(which)
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def has_init(job: Job) -> bool:
    """Whether box_init.py runs first. An image that is named may have no Python for it."""
    return bool(job.ports) or not job.image


def _command(job: Job) -> Iterator[str]:
    """What runs in the container."""
    python = "python3" if job.image else os.path.realpath(sys.executable)
    if has_init(job):
        yield from (python, "-I", "-S", str(INIT), INIT_SOCKET)
        yield from (f"port={port}" for port in job.ports)
        yield "--"
    program, *arguments = job.argv
    # The server's own Python is for agents without packages; an image that is named has its own.
    yield from ("python3" if job.image and program == sys.executable else program, *arguments)


def mounts_of(job: Job, tmp: Path) -> Iterator[Mount]:
    """What a job sees besides the image; a folder comes before what is in it. Raises `OSError`."""
    state, readable = job.state.absolute(), readable_paths(job)
    check_apart(state, readable)
    found = [
        *(Mount(str(path.resolve()), str(path)) for path in readable),
        Mount(str(state), str(state), is_writable=True),
        Mount(str(tmp / "tmp"), "/tmp", is_writable=True),
        *([Mount(str(tmp / "init"), INIT_SOCKET)] if has_init(job) else ()),
    ]
    if any(Path(mount.target).is_relative_to(CLOSED) for mount in found):
        found.append(Mount(str(tmp / "root"), CLOSED))
    yield from sorted(found, key=lambda mount: mount.target.count("/"))


def readable_paths(job: Job) -> list[Path]:
    """What a job reads, without what is in another folder of it.

    An image that the agent names has its own system and its own Python: nothing of these is
    mounted over them. The default image gets the server's, if the server's Python is a part of it.
    """
    python, program, ours = Path(sys.executable), Path(job.argv[0]), [AGENT_PATH, INIT]
    wanted = [job.folder.absolute(), *(path.absolute() for path in job.readable), *ours]
    if program.is_absolute() and not (job.image and program == python):
        wanted += interpreter_of(program)
    if not job.image:
        wanted += interpreter_of(python)
        wanted += [Path("/usr")] if is_system(python.resolve()) else []
    found: list[Path] = []
    for path in sorted(dict.fromkeys(wanted), key=lambda path: len(path.parts)):
        is_there = any(path.is_relative_to(other) for other in found)
        is_of_the_image = bool(job.image) and is_system(path) and path not in ours
        if not is_there and not is_of_the_image and path.exists():
            found.append(path)
    return found


def prepare(mounts: Iterable[Mount], tmp: Path) -> None:
    """Make the places of mounts that are in a folder of our own, which the engine makes as root.

    `CLOSED` is such a folder, and no tmpfs: runc 1.1.5 gives that the mode of the folder
    which it covers.
    """
    for mount in mounts:
        for target in ("/tmp", CLOSED):
            if Path(mount.target).is_relative_to(target):
                _make_place(tmp / target[1:], mount)


def _make_place(folder: Path, mount: Mount) -> None:
    """Make an empty file or folder for a mount."""
    is_file = Path(mount.source).is_file()
    place = folder.joinpath(*Path(mount.target).parts[2:])
    for each in reversed([place, *place.parents]):
        if each.is_relative_to(folder) and not each.exists():
            if is_file and each == place:
                each.touch()
            else:
                each.mkdir()
                each.chmod(0o755)


def _csv(mount: Mount) -> str:
    """A mount as an argument: fields with commas or quotes are quoted, as in CSV."""
    fields = ["type=bind", f"source={mount.source}", f"target={mount.target}"]
    fields += [] if mount.is_writable else ["readonly"]
    quoted = ('"' + each.replace('"', '""') + '"' for each in fields)
    return ",".join(
        quote if re.search(r'[",\n]', each) else each
        for each, quote in zip(fields, quoted, strict=True)
    )


# Probing


def _try(engine: Engine) -> str:
    """Run a container with a port to its end; returns why that failed, else nothing."""
    with _trial() as job:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                keeper = start_keeper(job, engine, theirs.fileno())
            try:
                _, errors = keeper.communicate(b"", TRY)
            except subprocess.TimeoutExpired:
                ours.close()  # which ends the container, too
                keeper.communicate()
                return f"a container has not ended within {TRY:.0f} seconds"
            lines, is_handed_out = _read_all(ours)
    if "exit 0" not in lines:
        last = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
        return last[0] if last else ", ".join(lines)
    if not is_handed_out:
        return "a socket could not be handed out of a container: does the engine run in a VM?"
    return ""


def _read_all(server: socket.socket) -> tuple[list[str], bool]:
    """The lines of a keeper that has ended, and whether a socket came with them."""
    data, has_socket = b"", False
    while True:
        more, descriptors, _, _ = socket.recv_fds(server, 4096, 8)
        for number in descriptors:
            has_socket = True
            os.close(number)
        if not more:
            return data.decode().splitlines(), has_socket
        data += more


@contextmanager
def _trial() -> Iterator[Job]:
    """A job that does nothing."""
    with tempfile.TemporaryDirectory(prefix="mobox-probe-") as folder:
        agent, state = Path(folder, "agent"), Path(folder, "states", "state")
        agent.mkdir()
        yield Job(
            argv=(os.path.realpath(sys.executable), "-I", "-S", "-c", ""),
            folder=agent,
            state=state,
            network=Network("model"),
            ports=(1234,),
        )


def sweep(engine: Engine) -> None:
    """Remove containers of this machine whose keepers have ended."""
    mine = f"label={LABEL}={socket.gethostname()}"
    found = _ask([*engine.command, "ps", "--all", "--quiet", "--filter", mine])[0].split()
    for container in found:
        words = [*engine.command, "inspect", "--format", "{{json .Config.Labels}}", container]
        with suppress(ValueError, KeyError, TypeError):  # just removed, or not one of ours
            labels = json.loads(_ask(words)[0])
            with _unused(labels[f"{LABEL}.state"]) as is_unused:
                if is_unused:
                    _ask([*engine.remover, container])
                    delete(labels[f"{LABEL}.tmp"])


@contextmanager
def _unused(state: str) -> Iterator[bool]:
    """Whether no keeper has locked a state folder; none can, in the context."""
    try:
        folder = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # its chat was deleted
        yield True
        return
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(folder)
