"""Limits by cgroups, where the server may make some: version 2 where it is delegated, or 1.

Rule 1: each job has its own cgroup, below that of the server. It is removed when the job has ended,
        or by the next server if that one was killed.
Rule 2: version 2 allows no processes beside sub-groups that are limited. So the server moves itself
        into a sub-group of its own, if nothing but its own processes are in its group.
Rule 3: whatever is missing or forbidden means that there are no cgroups here, and says why.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

PREFIX: Final = "mobox-"
_OWN: Final = f"{PREFIX}server"
MOST_PIDS: Final = 4 << 20
"""The most that the kernel accepts as a limit of processes."""
_CONTROLLERS: Final = ("memory", "pids", "cpu")


class Cgroups(NamedTuple):
    """Where groups are made: one folder for version 2, one for each controller in version 1."""

    version: int
    bases: Mapping[str, Path]
    """By controller."""

    def make(self, limits: Mapping[str, int]) -> list[Path]:
        """Make the group of a job; raises `OSError`."""
        name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        paths = [base / name for base in dict.fromkeys(self.bases.values())]
        settings = _SETTINGS[self.version]
        try:
            for path in paths:
                path.mkdir()
            for controller, base in self.bases.items():
                for file, value in settings[controller](limits).items():
                    if value is not None and (base / name / file).exists():
                        (base / name / file).write_text(str(value))
        except OSError:
            remove(paths)
            raise
        return paths

    def sweep(self) -> None:
        """Remove the empty groups that killed servers have left."""
        for base in set(self.bases.values()):
            with suppress(OSError):
                remove([path for path in base.glob(f"{PREFIX}*-*") if _is_left(path)])


def _is_left(group: Path) -> bool:
    """Whether the server that made it is gone: that of a living one may get its job right now."""
    server = group.name.split("-")[1]
    return server.isdecimal() and not Path("/proc", server).exists()


def remove(paths: Iterator[Path] | list[Path]) -> None:
    """Remove groups that have no processes."""
    for path in paths:
        with suppress(OSError):
            path.rmdir()


def _memory_2(limits: Mapping[str, int]) -> dict[str, object]:
    return {"memory.max": limits["memory"], "memory.swap.max": 0, "memory.oom.group": 1}


def _memory_1(limits: Mapping[str, int]) -> dict[str, object]:
    most = limits["memory"]
    return {"memory.limit_in_bytes": most, "memory.memsw.limit_in_bytes": most}


def _pids(limits: Mapping[str, int]) -> dict[str, object]:
    return {"pids.max": min(MOST_PIDS, limits["processes"])}


def _cpu_2(limits: Mapping[str, int]) -> dict[str, object]:
    return {"cpu.weight": min(10_000, limits["cpu"])}


def _cpu_1(limits: Mapping[str, int]) -> dict[str, object]:
    return {"cpu.shares": max(2, limits["cpu"] * 1024 // 100)}


_SETTINGS: Final = {
    1: {"memory": _memory_1, "pids": _pids, "cpu": _cpu_1},
    2: {"memory": _memory_2, "pids": _pids, "cpu": _cpu_2},
}


class NoCgroups(Exception):
    """The server can make no cgroups, for the reason given."""


def find_cgroups() -> Cgroups:
    """The cgroups that this process may make; raises `NoCgroups`. Tries it."""
    own: dict[str, str] = {}
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            own |= dict.fromkeys(names.split(","), path)
    mounts = dict(_mounts())
    if all(name in mounts and name in own for name in _CONTROLLERS):
        found = Cgroups(1, {name: _below(mounts[name], own[name]) for name in _CONTROLLERS})
    elif "" in mounts and "" in own:
        found = Cgroups(2, dict.fromkeys(_CONTROLLERS, _below(mounts[""], own[""])))
    else:
        raise NoCgroups("this machine has no cgroups")
    try:
        if found.version == 2:
            _delegate(found.bases["memory"])
        remove(found.make({"memory": 1 << 30, "processes": 64, "cpu": 100}))
    except OSError as error:
        raise NoCgroups(f"cgroups cannot be made ({error.strerror}: {error.filename})") from None
    return found


def _mounts() -> Iterator[tuple[str, Path]]:
    """The controllers of version 1 with their mounts, and "" with that of version 2."""
    with suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, where, kind, options, *_ = line.split(" ")
            if kind == "cgroup2":
                yield "", Path(where)
            elif kind == "cgroup":
                yield from ((name, Path(where)) for name in options.split(","))


def _below(mount: Path, path: str) -> Path:
    return mount / path.lstrip("/")


def _delegate(base: Path) -> None:
    """Let groups be made below the group of the server; raises `OSError`."""
    wanted = " ".join(f"+{name}" for name in _CONTROLLERS)
    control = base / "cgroup.subtree_control"
    if set(_CONTROLLERS) <= set(control.read_text().split()):
        return
    if (base / "cgroup.type").exists():  # the root group has none, and needs no sub-group
        pids = [int(pid) for pid in (base / "cgroup.procs").read_text().split()]
        if not all(_is_ours(pid) for pid in pids):
            raise PermissionError(1, "other programs are in the server's group", str(base))
        (base / _OWN).mkdir(exist_ok=True)
        for pid in pids:
            (base / _OWN / "cgroup.procs").write_text(str(pid))
    control.write_text(wanted)


def _is_ours(pid: int) -> bool:
    """Whether it is this process, or one that descends from it."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            return False
    return False
