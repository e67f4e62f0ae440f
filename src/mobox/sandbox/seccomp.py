"""The filter of system calls for sandboxed agents: a BPF program that is generated from the tables.

Generated here and not with libseccomp: it is 60 lines, needs no library on the machine, and can be
tested. Everything is allowed but what the tables name: an agent may be any program, and the
namespaces around it are the first defence. The filter removes what can undo them, or what is not
separated by them.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

NO_SUCH_CALL: Final = ("clone3", "memfd_create", "memfd_secret")
"""Answered with ENOSYS, after which programs use an older call. A filter cannot read the flags of
`clone3`, which are in memory. Files in memory are counted by no limit of an unprivileged server."""

DENIED: Final = (
    # New namespaces, and what is done with them.
    "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
    "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
    # Other processes.
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "perf_event_open",
    # The kernel itself.
    "bpf", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd",
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
    "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "vhangup",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm",
    "open_by_handle_at", "name_to_handle_at", "lookup_dcookie",
    # Not separated by namespaces, or memory that no limit counts.
    "keyctl", "add_key", "request_key", "shmget", "msgget", "semget",
)  # fmt: skip
"""Answered with EPERM."""

NEW_NAMESPACES: Final = 0x7E020000
"""The CLONE_NEW… flags of `clone`: mount, cgroup, UTS, IPC, user, PID and network."""
FAMILIES: Final = (1, 2, 10, 16)
"""The address families of `socket` that are allowed: Unix, IPv4, IPv6, netlink. Others, such as
vsock, reach beyond a network namespace."""
PAIR_FAMILIES: Final = (1,)
"""Those of `socketpair`: else it would make the sockets that `socket` refuses."""
TERMINAL_INPUT: Final = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX of `ioctl`: typing into the terminal of the server."""


class Architecture(NamedTuple):
    """The numbers of an architecture."""

    audit: int
    """AUDIT_ARCH_… in <linux/audit.h>."""
    calls: Mapping[str, int]


_COMMON: Final = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "clone3": 435, "pidfd_getfd": 438, "mount_setattr": 442, "quotactl_fd": 443,
    "memfd_secret": 447, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree_attr": 467,
}  # fmt: skip
"""New calls have the same number everywhere."""

ARCHITECTURES: Final[Mapping[str, Architecture]] = {
    "x86_64": Architecture(0xC000003E, {
        **_COMMON,
        "ioctl": 16, "shmget": 29, "socket": 41, "socketpair": 53, "clone": 56,
        "semget": 64, "msgget": 68,
        "ptrace": 101, "syslog": 103, "vhangup": 153, "pivot_root": 155, "adjtimex": 159,
        "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166,
        "swapon": 167, "swapoff": 168, "reboot": 169, "iopl": 172, "ioperm": 173,
        "init_module": 175, "delete_module": 176, "quotactl": 179, "lookup_dcookie": 212,
        "clock_settime": 227, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
        "unshare": 272, "perf_event_open": 298, "name_to_handle_at": 303, "open_by_handle_at": 304,
        "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
        "kcmp": 312, "finit_module": 313, "memfd_create": 319, "kexec_file_load": 320, "bpf": 321,
        "userfaultfd": 323,
    }),
    "aarch64": Architecture(0xC00000B7, {
        **_COMMON,
        "lookup_dcookie": 18, "ioctl": 29, "umount2": 39, "mount": 40, "pivot_root": 41,
        "chroot": 51, "vhangup": 58, "quotactl": 60, "acct": 89, "unshare": 97, "kexec_load": 104,
        "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116,
        "ptrace": 117, "reboot": 142, "settimeofday": 170, "adjtimex": 171, "msgget": 186,
        "semget": 190, "shmget": 194, "socket": 198, "socketpair": 199,
        "add_key": 217, "request_key": 218,
        "keyctl": 219, "clone": 220, "swapon": 224, "swapoff": 225, "perf_event_open": 241,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
        "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273,
        "memfd_create": 279, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
    }),
}  # fmt: skip
X32: Final = 0x40000000
"""The bit of the second, rarely used set of calls of x86-64."""

# <linux/bpf_common.h> and <linux/seccomp.h>
_LOAD, _EQUAL, _AT_LEAST, _HAS_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


class NoFilter(Exception):
    """There is no filter for this machine."""


def filter_program(machine: str = platform.machine()) -> bytes:
    """The BPF program for this machine; raises `NoFilter`."""
    if machine not in ARCHITECTURES:
        raise NoFilter(f"there is no filter of system calls for {machine}")
    architecture = ARCHITECTURES[machine]
    calls = architecture.calls
    program = _Program()
    program.add(_LOAD, _ARCHITECTURE)
    program.refuse_unless(_EQUAL, architecture.audit, errno.ENOSYS)
    program.add(_LOAD, _NUMBER)
    if machine == "x86_64":
        program.refuse_if(_AT_LEAST, X32, errno.ENOSYS)
    for name in NO_SUCH_CALL:
        program.refuse_if(_EQUAL, calls[name], errno.ENOSYS)
    for name in DENIED:
        if name in calls:  # some are not there on each architecture
            program.refuse_if(_EQUAL, calls[name], errno.EPERM)
    program.refuse_arguments(calls["clone"], 0, _HAS_BITS, (NEW_NAMESPACES,), errno.EPERM)
    program.refuse_arguments(calls["ioctl"], 1, _EQUAL, TERMINAL_INPUT, errno.EPERM)
    program.allow_arguments(calls["socket"], 0, FAMILIES, errno.EAFNOSUPPORT)
    program.allow_arguments(calls["socketpair"], 0, PAIR_FAMILIES, errno.EAFNOSUPPORT)
    program.add(_RETURN, _ALLOW)
    return program.encode()


class _Program:
    """Instructions; jumps are over what follows, so no labels are needed."""

    def __init__(self) -> None:
        self._code: list[tuple[int, int, int, int]] = []

    def add(self, code: int, value: int, then: int = 0, otherwise: int = 0) -> None:
        self._code.append((code, then, otherwise, value))

    def refuse_if(self, comparison: int, value: int, error: int) -> None:
        self.add(comparison, value, 0, 1)
        self.add(_RETURN, _ERRNO | error)

    def refuse_unless(self, comparison: int, value: int, error: int) -> None:
        self.add(comparison, value, 1, 0)
        self.add(_RETURN, _ERRNO | error)

    def refuse_arguments(
        self, call: int, place: int, comparison: int, values: tuple[int, ...], error: int
    ) -> None:
        """Refuse a call with one of these values as argument number `place`."""
        self.add(_EQUAL, call, 0, 2 * len(values) + 2)
        self.add(_LOAD, _FIRST_ARGUMENT + 8 * place)  # its lower half, on little-endian machines
        for value in values:
            self.refuse_if(comparison, value, error)
        self.add(_RETURN, _ALLOW)

    def allow_arguments(self, call: int, place: int, values: tuple[int, ...], error: int) -> None:
        """Refuse a call unless argument number `place` has one of these values."""
        self.add(_EQUAL, call, 0, 2 * len(values) + 2)
        self.add(_LOAD, _FIRST_ARGUMENT + 8 * place)
        for value in values:
            self.add(_EQUAL, value, 0, 1)
            self.add(_RETURN, _ALLOW)
        self.add(_RETURN, _ERRNO | error)

    def encode(self) -> bytes:
        return b"".join(struct.pack("HBBI", *instruction) for instruction in self._code)
