"""What attacks share: system calls by number, connections, and reading files for the canary."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
import time
import urllib.error
import urllib.request

LIBRARY = ctypes.CDLL(None, use_errno=True)
SECONDS = 3
MEGABYTE = 1 << 20

_NEW = {
    "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430, "clone3": 435,
    "pidfd_open": 434, "pidfd_getfd": 438, "mount_setattr": 442, "memfd_secret": 447,
}  # fmt: skip
CALLS = {
    "x86_64": {
        "ioctl": 16, "shmget": 29, "socketpair": 53, "clone": 56, "semget": 64, "msgget": 68,
        "ptrace": 101, "syslog": 103, "pivot_root": 155, "chroot": 161, "settimeofday": 164,
        "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169, "init_module": 175,
        "kexec_load": 246, "add_key": 248, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
        "kcmp": 312, "memfd_create": 319, "bpf": 321, "userfaultfd": 323, **_NEW,
    },
    "aarch64": {
        "ioctl": 29, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97,
        "kexec_load": 104, "init_module": 105, "syslog": 116, "ptrace": 117, "reboot": 142,
        "settimeofday": 170, "msgget": 186, "semget": 190, "shmget": 194, "socketpair": 199,
        "add_key": 217, "keyctl": 219, "clone": 220, "swapon": 224, "perf_event_open": 241,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270,
        "kcmp": 272, "memfd_create": 279, "bpf": 280, "userfaultfd": 282, **_NEW,
    },
}[platform.machine()]  # fmt: skip
"""The numbers of system calls."""
REFUSED = (errno.EPERM, errno.ENOSYS, errno.EACCES, errno.EAFNOSUPPORT)
"""How the kernel or a filter refuses a call."""


def call(name: str, *arguments: int | bytes | None) -> int:
    """Make a system call; raises `OSError`."""
    return numbered(CALLS[name], *arguments)


def numbered(number: int, *arguments: int | bytes | None) -> int:
    """Make the system call of this number; raises `OSError`."""
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result: int = LIBRARY.syscall(ctypes.c_long(number), *words)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def reached(name: str, *arguments: int | bytes | None) -> str:
    """Make a call that is wrong: unless it is refused, the kernel has looked at its arguments."""
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in REFUSED:
            raise
        return f"{name} answers {errno.errorcode[error.errno or 0]}"
    return f"{name} succeeds"


def finds(path: str, canary: str) -> str:
    """Look for the canary in a file."""
    with open(path, "rb") as file:
        return f"read {path}" if canary.encode() in file.read(64 * MEGABYTE) else ""


def opens(path: str) -> str:
    """Open a file for writing; nothing is written."""
    os.close(os.open(path, os.O_WRONLY))
    return f"may write {path}"


def says(
    family: int, address: tuple[str, int] | bytes | str, kind: int = socket.SOCK_STREAM
) -> str:
    """Connect to a listener, and read its greeting."""
    with socket.socket(family, kind) as client:
        client.settimeout(SECONDS)
        client.connect(address)
        if kind == socket.SOCK_DGRAM:
            client.send(b"?")
        return f"connected: {client.recv(100).decode()!r}"


def fetch(
    url: str, body: bytes | None = None, headers: dict[str, str] | None = None, method: str = ""
) -> tuple[int, str]:
    """Make a request, without a proxy; its status and body."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, body, headers or {}, method=method or None)
    try:
        with opener.open(request, timeout=SECONDS) as response:
            return response.status, response.read(MEGABYTE).decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read(MEGABYTE).decode("utf-8", "replace")


def linger(seconds: float) -> None:
    """Give whoever measures the time to do it."""
    time.sleep(seconds)


def state() -> str:
    """The agent's own state folder."""
    return os.environ["MOBOX_STATE"]


def daemonize(seconds: int) -> int:
    """Start a process in a session of its own whose parent is gone; its pid."""
    readable, writable = os.pipe()
    if os.fork() == 0:
        os.setsid()
        child = os.fork()
        if child:
            os.write(writable, str(child).encode())
            os._exit(0)
        os.close(writable)
        os.execvp("sleep", ["sleep", str(seconds)])
    os.close(writable)
    os.wait()
    return int(os.read(readable, 20))
