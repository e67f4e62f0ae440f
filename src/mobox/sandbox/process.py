"""Runs agents as local processes, with limits, their own environment, and a keeper.

They run as the server's user and can read its files: this protects against accidents, not against
malicious agents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from mobox.sandbox import Job, LimitName, Probe
from mobox.sandbox.cgroups import Cgroups, NoCgroups, find_cgroups
from mobox.sandbox.kept_process import Keeping, KeptProcess, environment, make_state, start_kept
from mobox.sandbox.limits import nice_of, with_defaults

OTHERS: Final = 512
"""Threads that the user's other programs may start while an agent runs: the kernel counts them all
together."""


class ProcessSandbox:
    """Runs jobs as processes."""

    isolates = False
    own_network = False

    def probe(self) -> Probe:
        """Processes can always be started."""
        return Probe(limits=enforcement(), notes=NOTES)

    def start(self, job: Job) -> KeptProcess:
        """Start a keeper, which starts the job; see `start_kept`."""
        return self._start(job)

    def start_spare(self, job: Job, lock: int) -> KeptProcess:
        """Start a job that gets its chat later; its keeper keeps the `lock` of its folder."""
        return self._start(job, lock)

    def _start(self, job: Job, spare: int | None = None) -> KeptProcess:
        make_state(job)
        limits = with_defaults(job.limits)
        options = (*common_options(limits), *_nproc(limits), ("measure", str(job.state.absolute())))
        keeping = Keeping(command=job.argv, options=options, env=environment(job))
        return start_kept(job, keeping, spare)


NOTES: Final = ("agents run as the server's user: they can read its files and reach its network",)


@cache  # the same for the whole life of the server
def cgroups() -> Cgroups | NoCgroups:
    """The cgroups that limit agents, or why there are none."""
    try:
        found = find_cgroups()
    except NoCgroups as why:
        return why
    found.sweep()
    return found


def enforcement() -> dict[LimitName, str]:
    """How each limit is enforced here."""
    found = cgroups()
    if isinstance(found, Cgroups):
        by_kernel = f"cgroup v{found.version}"
        return {"memory": by_kernel, "processes": by_kernel, "disk": "measured"}
    return {
        "memory": "RLIMIT_DATA for each process, their sum is measured",
        "processes": "measured" if os.geteuid() == 0 else "RLIMIT_NPROC, and measured",
        "disk": "measured",
    }


def common_options(limits: Mapping[str, int]) -> Iterator[tuple[str, str | int]]:
    """The options of a keeper for these limits: by cgroups where there are some."""
    yield from (("open_files", limits["open_files"]), ("file_size", limits["file_size"]))
    yield from (("disk", limits["disk"]), ("files", limits["files"]), ("core", 0))
    found = cgroups()
    if isinstance(found, Cgroups):
        try:
            paths = found.make(limits)
        except OSError as error:
            raise OSError(error.errno, f"its cgroup cannot be made: {error.strerror}") from None
        yield from (("cgroup", str(path)) for path in paths)
        return
    # RLIMIT_AS would break V8, which reserves terabytes.
    yield from (("data", limits["memory"]), ("memory", limits["memory"]))
    yield from (("processes", limits["processes"]), ("nice", nice_of(limits["cpu"])))


def _nproc(limits: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """A limit of the kernel for all processes of the user; none for root."""
    if os.geteuid() != 0 and isinstance(cgroups(), NoCgroups):
        yield "nproc", threads_of(os.geteuid()) + limits["processes"] + OTHERS


def threads_of(uid: int) -> int:
    """How many threads a user has."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):  # it has just ended
            if process.stat().st_uid == uid:
                found += int((process / "stat").read_text().rpartition(")")[2].split()[17])
    return found
