"""The environments of agents: a venv for each agent whose folder lists packages.

Rule 1: the name of an environment has a hash of the files that list the packages, and of the Python
        that runs them. A changed file makes another environment; an existing one never changes.
Rule 2: an environment counts from the moment when it has the file `complete`, which is written
        last. A folder without it is deleted and built again, whatever it contains.
Rule 3: one process at a time builds environments of an agent, under the lock `ID.lock`.
Rule 4: an environment that a process uses is not removed: the process holds a shared lock of its
        file `complete`, until it ends.
Rule 5: an agent whose folder has a `.venv`, or whose `entry` is a command, has no environment: it
        brings its own Python.

docs/agents.md describes them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shlex
import sys
import sysconfig
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from mobox.capture.catalog import Agent

COMPLETE: Final = "complete"
FAILED: Final = "failed"

REQUIREMENTS: Final = "requirements.txt"
PROJECT: Final = "pyproject.toml"
LOCK: Final = "uv.lock"

Source = Literal["uv.lock", "requirements.txt", "pyproject.toml"]
"""The file that the packages are installed from: the most exact one that there is."""
State = Literal["installed", "installing", "failed", "missing"]

_INCLUDED: Final = re.compile(rb"^\s*(?:-r|-c|--requirement|--constraint)[\s=]+(\S+)", re.MULTILINE)
_DIGITS: Final = 12
"""Hexadecimal digits of the hash in the name of an environment."""


class Environment(Struct, frozen=True, kw_only=True):
    """The environment that an agent needs, whether or not it is installed."""

    agent: str
    """The agent's id."""
    name: str
    """The agent's name."""
    folder: Path
    """The agent's folder."""
    source: Source
    path: Path

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.path / "bin" / "python"

    def is_installed(self) -> bool:
        """Whether it can be used."""
        return (self.path / COMPLETE).exists() and self.python.exists()

    @property
    def lock(self) -> Path:
        """The lock of those who build or remove environments of this agent."""
        return self.path.parent / f"{self.agent}.lock"

    def state(self) -> State:
        """What it is now."""
        if self.is_installed():
            return "installed"
        if is_locked(self.lock):
            return "installing"
        return "failed" if (self.path / FAILED).exists() else "missing"

    def problem(self) -> str:
        """Why the last attempt to install it failed; "" if it did not."""
        return str(read_note(self.path / FAILED).get("problem", ""))

    def failed_within(self, seconds: float) -> bool:
        """Whether an attempt to install it has failed so short a time ago."""
        with suppress(OSError):
            return time.time() - (self.path / FAILED).stat().st_mtime < seconds
        return False


def environment_of(agent: Agent, root: Path) -> Environment | None:
    """The environment of an agent, in the folder `root`; `None` if it needs none."""
    source = _source(agent.folder) if agent.is_script else None
    if source is None:
        return None
    name = f"{agent.id}-{_key(agent.folder, source)}"
    return Environment(
        agent=agent.id,
        name=agent.name,
        folder=agent.folder,
        source=source,
        path=root.absolute() / name,
    )


def in_environment(agent: Agent, environment: Environment) -> Agent:
    """The agent, run by the Python of its environment."""
    return replace(agent, argv=(str(environment.python), *agent.argv[1:]))


def install_command(environment: Environment) -> str:
    """The command that installs it, for a shell in the server's current folder."""
    words = ["mobox", "agents", "install", environment.agent]
    if (agents := environment.folder.parent) != Path("agents").absolute():
        words += ["--agents", str(agents)]
    if (root := environment.path.parent) != Path(".mobox", "environments").absolute():
        words += ["--environments", str(root)]
    return shlex.join(words)


# The name of an environment


def _source(folder: Path) -> Source | None:
    has_project = _is_project(folder / PROJECT)
    if has_project and (folder / LOCK).is_file():
        return LOCK
    if (folder / REQUIREMENTS).is_file():
        return REQUIREMENTS
    return PROJECT if has_project else None


def _is_project(file: Path) -> bool:
    """Whether it lists packages: one with the settings of tools only does not."""
    try:
        return "project" in tomllib.loads(file.read_text("utf-8"))
    except OSError:
        return False
    except ValueError:  # not TOML: uv explains what is wrong
        return True


def _key(folder: Path, source: Source) -> str:
    found = hashlib.sha256()
    for part in (*_python(), *_contents(folder, source)):
        found.update(f"{len(part)}:".encode() + part)
    return found.hexdigest()[:_DIGITS]


def _python() -> Iterator[bytes]:
    """What a venv depends on besides its packages."""
    kind = (sysconfig.get_platform(), sysconfig.get_config_var("SOABI"))
    for part in (*kind, platform.python_version(), os.path.realpath(sys.executable)):
        yield str(part).encode()


def _contents(folder: Path, source: Source) -> Iterator[bytes]:
    """The names and contents of the files, with those that requirements.txt includes."""
    names = (PROJECT, LOCK) if source == LOCK else (source,)
    waiting, seen = [folder / name for name in names], set()
    while waiting:
        file = waiting.pop(0)
        if file in seen:
            continue
        seen.add(file)
        yield os.path.relpath(file, folder).encode()
        content = b""
        with suppress(OSError):  # uv explains that it is missing
            content = file.read_bytes()
        yield content
        if source == REQUIREMENTS:
            waiting += [file.parent / os.fsdecode(name) for name in _INCLUDED.findall(content)]


# Notes and locks


def read_note(file: Path) -> dict[str, Any]:
    """What `complete` or `failed` says; nothing, if there is none."""
    with suppress(OSError, ValueError):
        note = json.loads(file.read_text("utf-8"))
        return note if isinstance(note, dict) else {}
    return {}


def try_lock(number: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file, unless another process has it."""
    try:
        fcntl.flock(number, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(file: Path) -> bool:
    """Whether a process has this lock."""
    try:
        number = os.open(file, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not try_lock(number, fcntl.LOCK_SH)
    finally:
        os.close(number)


def hold(environment: Environment) -> int | None:
    """Keep it from being removed until the descriptor is closed; `None` if it is not installed."""
    try:
        number = os.open(environment.path / COMPLETE, os.O_RDONLY)
    except OSError:
        return None
    is_held = try_lock(number, fcntl.LOCK_SH) and environment.is_installed()  # else just removed
    if not is_held:
        os.close(number)
    return number if is_held else None
