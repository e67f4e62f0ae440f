"""What an agent sees of the machine's files in a sandbox, besides the system."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from mobox.sandbox import Job
from mobox.sandbox.kept_process import AGENT_PATH

INIT: Final = Path(__file__).with_name("box_init.py")
OWN_ETC: Final = Path(__file__).with_name("etc")
"""Files for /etc that name nobody of this machine."""

SYSTEM: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""The system, besides /usr. Most systems have links to /usr here."""
_LINKS: Final = 40
"""The longest chain of links that the kernel follows."""


class Mount(NamedTuple):
    """A file or folder of the machine, and where it is in the sandbox."""

    source: str
    target: str
    is_writable: bool = False


def mounts_of(job: Job, state: Path, tmp: Path) -> Iterator[Mount]:
    """What a job sees; a folder comes before what is in it. Raises `OSError`."""
    state, readable = state.absolute(), readable_paths(job)
    check_apart(state, readable)
    etc = ["passwd", "group", "nsswitch.conf", *(() if job.network.mode == "host" else ["hosts"])]
    found = [
        *(Mount(str(OWN_ETC / name), f"/etc/{name}") for name in etc),
        *(Mount(str(path.resolve()), str(path)) for path in readable),
        *(Mount(str(path), str(path), is_writable=True) for path in (state, *job.writable)),
        Mount(str(tmp / "tmp"), "/tmp", is_writable=True),
        Mount(str(tmp / "shm"), "/dev/shm", is_writable=True),
    ]
    yield from sorted(found, key=lambda mount: mount.target.count("/"))


def check_apart(state: Path, readable: list[Path]) -> None:
    """Raise `OSError` if a job could read the states of others."""
    real = state.resolve()
    if any(real.is_relative_to(path.resolve()) for path in readable):
        raise OSError(
            22, "the agent's folder or packages contain the server's data: move one of them"
        )


def readable_paths(job: Job) -> list[Path]:
    """What a job reads, without what is in another folder of it or in the system."""
    program = Path(job.argv[0])
    wanted = [
        job.folder.absolute(),
        AGENT_PATH,
        INIT,
        *interpreter_of(Path(sys.executable)),
        *(interpreter_of(program) if program.is_absolute() else ()),
        *(path.absolute() for path in job.readable),
    ]
    found: list[Path] = []
    for path in sorted(dict.fromkeys(wanted), key=lambda path: len(path.parts)):
        if not is_system(path) and not any(path.is_relative_to(other) for other in found):
            found.append(path)
    return found


def interpreter_of(program: Path) -> Iterator[Path]:
    """The folders that a program needs: of Python its prefix, and that of its venv."""
    for path in dict.fromkeys((program, *_links(program), program.resolve())):
        if is_system(path.parent.resolve()) or not path.exists():
            continue
        prefix = path.parent.parent
        yield prefix if is_python(prefix) else path


def _links(path: Path) -> Iterator[Path]:
    """The files that a chain of links names."""
    for _ in range(_LINKS):
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))
        yield path


def is_python(prefix: Path) -> bool:
    """Whether a folder is the prefix of a Python or a venv: not a home with a `bin` in it."""
    if (prefix / "pyvenv.cfg").is_file():
        return True
    with suppress(OSError):
        return any(prefix.glob("lib/python3*/os.py"))
    return False


def is_system(path: Path) -> bool:
    """Whether every sandbox has it."""
    return any(path.is_relative_to(other) for other in ("/usr", *SYSTEM))
