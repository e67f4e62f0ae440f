"""Using up memory, processes, disk and descriptors: bounded, and with small limits of the agent.

The agents have `limits: {disk: 20M, memory: 200M, processes: 40, output: 4M}`. Where memory is
counted by cgroups, the kernel stops an attack at once; where it is measured, within a second.
"""

from __future__ import annotations

import mmap
import os
import resource
import threading
import time
from contextlib import suppress

from hostile.attacks import MACHINE, POSSIBLE, STOPPED, Section, Targets
from hostile.attacks.tools import MEGABYTE, call, reached, state

MEMORY = Section("Memory")
TASKS = Section("Processes and descriptors")
DISK = Section("Disk")
WAIT = 6.0
"""Seconds in which whoever measures has to notice."""
MOST_FORKS = 3000
MUCH = 600
"""Megabytes: three times the limit."""


def hold(achieved: str) -> str:
    time.sleep(WAIT)
    return achieved


@MEMORY.attack("one large allocation", agent="small", ends="memory_limit")
def large_allocation(at: Targets) -> str:
    block = bytearray(MUCH * MEGABYTE)
    block[:: mmap.PAGESIZE] = b"x" * len(block[:: mmap.PAGESIZE])
    return hold(f"{MUCH} MB")


@MEMORY.attack("many processes with a little each", agent="small", ends="memory_limit")
def little_each(at: Targets) -> str:
    for _ in range(20):
        if os.fork() == 0:
            with suppress(MemoryError):
                block = os.urandom(1 << 16) * (MUCH * 16 // 20)
                time.sleep(WAIT + len(block) * 0)
            os._exit(0)
    return hold(f"{MUCH} MB in 20 processes")


@MEMORY.attack("shared memory of processes (mmap)", agent="small", ends="memory_limit")
def shared_mapping(at: Targets) -> str:
    block = mmap.mmap(-1, MUCH * MEGABYTE)
    for place in range(0, len(block), mmap.PAGESIZE):
        block[place] = 1
    return hold(f"{MUCH} MB")


@MEMORY.attack(
    "a file in memory (memfd)",
    MACHINE,
    POSSIBLE,
    agent="small",
    ends="stop, memory_limit",
    why="without a cgroup nothing counts it",
)
def memory_file(at: Targets) -> str:
    try:
        number = call("memfd_create", b"hostile", 0)
    except OSError:
        return ""
    for _ in range(MUCH):
        os.write(number, b"x" * MEGABYTE)
    return hold(f"{MUCH} MB")


@MEMORY.attack(
    "files in /dev/shm",
    MACHINE,
    POSSIBLE,
    agent="small",
    ends="disk_limit",
    process_ends="stop, memory_limit",
    why="without a cgroup nothing counts it",
)
def shm_file(at: Targets) -> str:
    path = f"/dev/shm/hostile-{os.getpid()}"
    number = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    if "bwrap" not in open("/proc/1/comm").read():
        os.unlink(path)  # else it would stay
    for _ in range(MUCH // 2):
        os.write(number, b"x" * MEGABYTE)
    return hold(f"{MUCH // 2} MB")


@MEMORY.attack("memory of System V IPC", MACHINE, why="without a cgroup nothing counts it")
def system_v(at: Targets) -> str:
    number = call("shmget", 0, MEGABYTE, 0o600 | 0o1000)  # IPC_PRIVATE, IPC_CREAT
    from hostile.attacks.tools import LIBRARY

    LIBRARY.shmctl(number, 0, None)  # IPC_RMID
    return "made a segment"


@MEMORY.attack("locked memory beyond its limit", MACHINE, STOPPED, why="root may")
def locked_memory(at: Targets) -> str:
    _, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    if hard != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard + 4096, hard + 4096))
    return "may lock more memory"


@TASKS.attack("a fork bomb", agent="small", ends="process_limit")
def fork_bomb(at: Targets) -> str:
    counter = mmap.mmap(-1, 8)
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        forks = int.from_bytes(counter[:8], "little")
        if forks >= MOST_FORKS:
            break
        with suppress(OSError):
            counter[:8] = (forks + 1).to_bytes(8, "little")
            if os.fork() == 0:
                continue
        time.sleep(0.005)
    time.sleep(max(0.0, end - time.monotonic()))
    return f"{int.from_bytes(counter[:8], 'little')} forks"


@TASKS.attack("a bomb of threads", agent="small", ends="process_limit")
def thread_bomb(at: Targets) -> str:
    started = 0
    threading.stack_size(64 * 1024)
    with suppress(RuntimeError):
        for _ in range(MOST_FORKS):
            threading.Thread(target=time.sleep, args=(WAIT,), daemon=True).start()
            started += 1
    return hold(f"{started} threads")


@TASKS.attack("more open files than its limit")
def open_files(at: Targets) -> str:
    found = [os.open("/dev/null", os.O_RDONLY) for _ in range(5000)]
    return f"{len(found)} files"


@TASKS.attack("very large files by a sparse one")
def sparse_file(at: Targets) -> str:
    path = os.path.join(state(), "sparse")
    with open(path, "wb") as file:
        try:
            file.truncate(4 << 30)
        finally:
            os.unlink(path)
    return "4 GB"


@TASKS.attack("a core dump", STOPPED)
def core_dump(at: Targets) -> str:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    return f"{soft}, {hard}" if soft or hard else ""


def fill(path: str, megabytes: int = 100) -> None:
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(b"x" * MEGABYTE)


@DISK.attack("one large file", agent="small", ends="disk_limit")
def large_file(at: Targets) -> str:
    fill(os.path.join(state(), "large"))
    return hold("100 MB")


@DISK.attack("many files", agent="small", ends="disk_limit")
def many_files(at: Targets) -> str:
    for number in range(400):
        with open(os.path.join(state(), f"file-{number}"), "wb") as file:
            file.write(b"x" * (MEGABYTE // 4))
    return hold("100 MB in 400 files")


@DISK.attack("a deleted file that stays open", agent="small", ends="disk_limit")
def deleted_file(at: Targets) -> str:
    path = os.path.join(state(), "deleted")
    number = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    os.unlink(path)
    for _ in range(100):
        os.write(number, b"x" * MEGABYTE)
    return hold("100 MB")


@DISK.attack("a deleted file that stays mapped", agent="small", ends="disk_limit")
def mapped_file(at: Targets) -> str:
    path = os.path.join(state(), "mapped")
    fill(path)
    with open(path, "r+b") as file:
        block = mmap.mmap(file.fileno(), 0)
    os.unlink(path)
    return hold(f"{len(block) // MEGABYTE} MB")


@DISK.attack("a folder with mode 000", agent="small", ends="disk_limit")
def closed_folder(at: Targets) -> str:
    folder = os.path.join(state(), "closed")
    os.mkdir(folder)
    fill(os.path.join(folder, "large"))
    os.chmod(folder, 0)
    return hold("100 MB in a folder with mode 000")


@DISK.attack("folders nested beyond the longest path", agent="small", ends="disk_limit")
def deep_folders(at: Targets) -> str:
    os.chdir(state())
    for _ in range(2500):
        os.mkdir("d")
        os.chdir("d")
    fill("large", 50)
    return hold("50 MB in 2,500 nested folders")


@DISK.attack(
    "deeply nested folders in /tmp",
    POSSIBLE,
    agent="small",
    ends="disk_limit",
    process_ends="stop",
    why="/tmp is the machine's",
)
def deep_tmp(at: Targets) -> str:
    if "bwrap" not in open("/proc/1/comm").read():
        return "writes there"  # and would leave it there
    os.chdir("/tmp")
    for _ in range(2500):
        os.mkdir("d", 0o500 if os.getpid() < 0 else 0o700)
        os.chdir("d")
    return hold("2,500 nested folders")


@DISK.attack(
    "a large file in /tmp",
    POSSIBLE,
    agent="small",
    ends="disk_limit",
    process_ends="stop",
    why="/tmp is the machine's",
)
def tmp_file(at: Targets) -> str:
    path = f"/tmp/hostile-{os.getpid()}"
    try:
        fill(path)
        return hold("100 MB")
    finally:
        os.unlink(path)


@DISK.attack("more files than there may be", agent="small", ends="disk_limit")
def inodes(at: Targets) -> str:
    folder = os.path.join(state(), "many")
    os.mkdir(folder)
    first = os.path.join(folder, "0")
    os.close(os.open(first, os.O_CREAT | os.O_WRONLY))
    for number in range(1, 100_100):
        with suppress(OSError):  # a file system allows 65,000 links to a file
            os.link(first, os.path.join(folder, str(number)))
            continue
        first = os.path.join(folder, str(number))
        os.close(os.open(first, os.O_CREAT | os.O_WRONLY))
    return hold("100,100 files")


@DISK.attack("change quotas, or add swap", MACHINE, STOPPED, why="root may")
def swap(at: Targets) -> str:
    return reached("swapon", b"/nonexistent", 0)
