"""Measures what an agent's processes use, for limits that the kernel does not enforce here.

Used by the keeper, which imports as little as possible.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OFTEN, SELDOM, SELDOMEST = 0.5, 1.0, 4.0
"""Seconds between two measurements of processes, and of folders."""
SHARE = 30
"""A folder whose measurement takes long is measured less often: for 1/30 of the time, but not less
often than `SELDOMEST`, or many small files would hide a large one."""
DEEPEST = 256
"""Levels of folders that are measured."""


class Meter:
    """Compares what is used with the limits. Those that it lacks are not measured."""

    def __init__(self, limits: dict[str, int], folders: list[str], cgroups: list[str]) -> None:
        self._limits = limits
        self._folders = folders
        self._cgroups = cgroups
        self._next_walk = 0.0

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self._limits or self._cgroups)

    def exceeded(self) -> str | None:
        """The name of a limit that is exceeded."""
        return self._by_kernel() or self._by_processes() or self._by_folders()

    def measure_all(self) -> None:
        """Let the next measurement be one of folders, too."""
        self._next_walk = 0.0

    def _by_kernel(self) -> str | None:
        """What the cgroups of the job have refused."""
        for path in self._cgroups:
            for file, field, name in REFUSALS:
                if count_in(os.path.join(path, file), field):
                    return name
        return None

    def _by_processes(self) -> str | None:
        memory, most = self._limits.get("memory"), self._limits.get("processes")
        if memory is None and most is None:
            return None
        pids, tasks = descendants(os.getpid())
        if most is not None and tasks > most:
            return "processes"
        # Forks share pages: to count each page once takes longer.
        if memory is not None and exceeds(pids, memory, (resident, proportional)):
            return "memory"
        return None

    def _by_folders(self) -> str | None:
        disk, now = self._limits.get("disk"), time.monotonic()
        if disk is None or now < self._next_walk:
            return None
        size, files = usage(self._folders, disk, self._limits["files"])
        size += deleted(descendants(os.getpid())[0], self._folders)
        took = time.monotonic() - now
        self._next_walk = now + took + min(max(SELDOM, took * SHARE), SELDOMEST)
        return "disk" if size > disk or files > self._limits["files"] else None


REFUSALS = (
    ("memory.events", "oom_kill", "memory"),  # version 2
    ("memory.oom_control", "oom_kill", "memory"),  # version 1
    ("pids.events", "max", "processes"),
)
"""A file of a cgroup, the counter in it, and the limit that it is about."""


def count_in(file: str, field: str) -> int:
    """A counter in a file of the kernel; 0 if it is not there."""
    with suppress(OSError, ValueError):
        for line in text_of(file).splitlines():
            name, _, value = line.partition(" ")
            if name == field:
                return int(value)
    return 0


def descendants(root: int) -> tuple[list[int], int]:
    """The processes below a process, and the number of their threads."""
    found: list[int] = []
    tasks, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        with suppress(OSError):
            threads = os.listdir(f"/proc/{pid}/task")
            if pid != root:
                found.append(pid)
                tasks += len(threads)
            for thread in threads:
                with suppress(OSError):
                    children = text_of(f"/proc/{pid}/task/{thread}/children").split()
                    waiting += [int(child) for child in children]
    return found, tasks


def exceeds(pids: list[int], most: int, measures: tuple[Callable[[int], int], ...]) -> bool:
    """Whether processes use more, by each of these measures."""
    return all(sum(map(measure, pids)) > most for measure in measures)


def resident(pid: int) -> int:
    """The memory of a process that is no file's, in bytes."""
    with suppress(OSError, ValueError):
        return kilobytes_in(f"/proc/{pid}/status", ("RssAnon", "RssShmem"))
    return 0


def proportional(pid: int) -> int:
    """As `resident`, but a page that n processes share counts as 1/n."""
    with suppress(OSError, ValueError):
        return kilobytes_in(f"/proc/{pid}/smaps_rollup", ("Pss_Anon", "Pss_Shmem"))
    return resident(pid)  # the process does not let others read it


def kilobytes_in(file: str, names: tuple[str, ...]) -> int:
    """The sum of some fields of a file of the kernel, in bytes."""
    fields = (line.partition(":") for line in text_of(file).splitlines())
    return sum(int(value.split()[0]) << 10 for name, _, value in fields if name in names)


def usage(folders: list[str], most_bytes: int, most_files: int) -> tuple[int, int]:
    """The bytes on disk and the number of files in folders; stops counting above the limits.

    A folder that cannot be read, or is nested too deeply, counts as more than allowed: else an
    agent could hide its files in it.
    """
    size = files = 0
    for folder in folders:
        try:
            for about in entries_in(folder):
                files += 1
                size += about.st_blocks * 512
                if size > most_bytes or files > most_files:
                    return size, files
        except FileNotFoundError:  # deleted meanwhile
            continue
        except OSError:
            return most_bytes + 1, files
    return size, files


def entries_in(folder: str) -> Iterator[os.stat_result]:
    """What is in a folder and below; raises `OSError`. Links are not followed.

    The agent is running: what was a folder may be a link a moment later. So each folder is opened
    from the one above it.
    """
    opened = [open_folder(folder)]
    found = [os.scandir(opened[0])]
    try:
        while found:
            entry = next(found[-1], None)
            if entry is None:
                found.pop().close()
                os.close(opened.pop())
                continue
            with suppress(FileNotFoundError, NotADirectoryError):  # deleted or replaced meanwhile
                yield (about := entry.stat(follow_symlinks=False))
                if stat.S_ISDIR(about.st_mode):
                    if len(opened) == DEEPEST:
                        raise OSError(errno.ELOOP, "nested too deeply", folder)
                    opened.append(open_folder(entry.name, opened[-1]))
                    found.append(os.scandir(opened[-1]))
    finally:
        for each in found:
            each.close()
        for number in opened:
            os.close(number)


def open_folder(name: str, parent: int | None = None) -> int:
    """Open a folder, also one that the agent has made unreadable."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        number = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{number}", 0o700)
        finally:
            os.close(number)
        return os.open(name, flags, dir_fd=parent)


def deleted(pids: list[int], folders: list[str]) -> int:
    """The bytes of deleted files that processes have open or mapped, on the folders' disks.

    They are in no folder any more, and use the disk until the last process has closed them.
    """
    devices = set()
    for folder in folders:
        with suppress(OSError):
            devices.add(os.stat(folder).st_dev)
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError):  # it has ended
            for file, size in (*open_files(pid), *mapped_files(pid)):
                if file[0] in devices:
                    sizes[file] = max(size, sizes.get(file, 0))
    return sum(sizes.values())


def open_files(pid: int) -> Iterator[tuple[tuple[int, int], int]]:
    """The deleted files that a process has open: device and number of each, and its bytes."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            about = os.stat(f"/proc/{pid}/fd/{name}")
            if about.st_nlink == 0 and stat.S_ISREG(about.st_mode):
                yield (about.st_dev, about.st_ino), about.st_blocks * 512


def mapped_files(pid: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Those that it has mapped; their bytes are as many as the mapping has at most."""
    with open(f"/proc/{pid}/maps", "rb") as maps:
        for line in maps:
            if line.endswith(b" (deleted)\n"):
                place, _, offset, device, number, _ = line.split(maxsplit=5)
                start, end = (int(word, 16) for word in place.split(b"-"))
                major, minor = (int(word, 16) for word in device.split(b":"))
                file = (os.makedev(major, minor), int(number))
                yield file, int(offset, 16) + end - start


def text_of(path: str) -> str:
    """The content of a file in /proc or of a cgroup."""
    number, content = os.open(path, os.O_RDONLY), b""
    try:
        while piece := os.read(number, 65536):
            content += piece
    finally:
        os.close(number)
    return content.decode("utf-8", "replace")
