"""System calls and files of the kernel that lead out of a sandbox, or that had many mistakes."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import signal
import socket

from hostile.attacks import MACHINE, POSSIBLE, STOPPED, Section, Targets
from hostile.attacks.tools import LIBRARY, call, numbered, opens, reached

KERNEL = Section("The kernel")
ROOT = "root may, unless a container forbids it"
KERNELS = "as far as the kernel's settings allow it"
NEW_USER, NEW_MOUNTS, NEW_NETWORK, NEW_PIDS = 0x10000000, 0x20000, 0x40000000, 0x20000000


@KERNEL.attack("write kernel settings (/proc/sys)", MACHINE, STOPPED, why=ROOT)
def kernel_settings(at: Targets) -> str:
    return opens("/proc/sys/kernel/hostname")


@KERNEL.attack(
    "have the kernel start a program at a crash (core_pattern)", MACHINE, STOPPED, why=ROOT
)
def core_pattern(at: Targets) -> str:
    return opens("/proc/sys/kernel/core_pattern")


@KERNEL.attack("restart the machine (sysrq-trigger)", MACHINE, STOPPED, why=ROOT)
def sysrq(at: Targets) -> str:
    return opens("/proc/sysrq-trigger")


@KERNEL.attack("restart the machine (reboot)", MACHINE, STOPPED, why=ROOT)
def reboot(at: Targets) -> str:
    return reached("reboot", 0, 0, 0, 0)  # without the magic numbers it does nothing


@KERNEL.attack("read addresses of the kernel (kallsyms)", MACHINE, STOPPED, why=ROOT)
def kallsyms(at: Targets) -> str:
    with open("/proc/kallsyms") as file:
        return "read one" if any(int(file.readline().split()[0], 16) for _ in range(20)) else ""


@KERNEL.attack("read the kernel's log", MACHINE, why=KERNELS)
def kernel_log(at: Targets) -> str:
    return reached("syslog", 10, 0, 0)


@KERNEL.attack("read the kernel's memory (/proc/kcore, /dev/mem)", MACHINE, STOPPED, why=ROOT)
def kernel_memory(at: Targets) -> str:
    for path in ("/proc/kcore", "/dev/mem", "/dev/kmsg"):
        try:
            os.close(os.open(path, os.O_RDONLY))
        except OSError:
            continue
        return f"opened {path}"
    return ""


@KERNEL.attack("write to /sys (cgroups, devices)", MACHINE, STOPPED, why=ROOT)
def system_files(at: Targets) -> str:
    for path in ("/sys/fs/cgroup", "/sys/kernel", "/sys/class"):
        if os.path.isdir(path) and os.access(path, os.W_OK):
            return f"may write to {path}"
    return ""


@KERNEL.attack("leave its cgroup", MACHINE, STOPPED, why=ROOT)
def leave_cgroup(at: Targets) -> str:
    for folder, _, files in os.walk("/sys/fs/cgroup"):
        if "cgroup.procs" in files and os.access(os.path.join(folder, "cgroup.procs"), os.W_OK):
            return f"may join {folder}"
    return ""


@KERNEL.attack("open disks and other devices", MACHINE, STOPPED, why=ROOT)
def devices(at: Targets) -> str:
    harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "stdin", "stdout"}
    found = []
    for name in set(os.listdir("/dev")) - harmless - {"stderr", "fd", "core", "console"}:
        path = os.path.join("/dev", name)
        if os.path.islink(path) or os.path.isdir(path):
            continue
        if os.access(path, os.R_OK | os.W_OK):
            found.append(path)
    return f"{sorted(found)[:5]}" if found else ""


def raw(*flags: int) -> str:
    """The old `clone` with flags, as a fork."""
    child = call("clone", signal.SIGCHLD | sum(flags), 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "made one"


@KERNEL.attack("a new user namespace (unshare)", MACHINE, why=KERNELS)
def new_user_namespace(at: Targets) -> str:
    call("unshare", NEW_USER)
    return "has all capabilities in a namespace of its own"


@KERNEL.attack("a new mount or network namespace (unshare)", MACHINE, STOPPED, why=ROOT)
def new_other_namespaces(at: Targets) -> str:
    call("unshare", NEW_MOUNTS)
    return "has mounts of its own"


@KERNEL.attack("a new user namespace (clone)", MACHINE, why=KERNELS)
def new_namespace_clone(at: Targets) -> str:
    return raw(NEW_USER)


@KERNEL.attack("new PID and network namespaces (clone)", MACHINE, why=KERNELS)
def new_namespaces_clone(at: Targets) -> str:
    return raw(NEW_USER, NEW_PIDS, NEW_NETWORK)


@KERNEL.attack("a new namespace by clone3, whose flags a filter cannot see", MACHINE, why=KERNELS)
def new_namespace_clone3(at: Targets) -> str:
    return reached("clone3", 0, 0)


@KERNEL.attack("enter the namespaces of another process (setns)", MACHINE, why=KERNELS)
def enter_namespace(at: Targets) -> str:
    number = os.open("/proc/self/ns/net", os.O_RDONLY)
    return reached("setns", number, NEW_PIDS)  # the wrong kind: EINVAL


@KERNEL.attack("mount a file system", MACHINE, STOPPED, why=ROOT)
def mount(at: Targets) -> str:
    return reached("mount", b"none", b"/", b"no-such-kind", 0, 0)


@KERNEL.attack("mount /proc again, without what hides parts of it", MACHINE, STOPPED, why=ROOT)
def mount_proc(at: Targets) -> str:
    return reached("fsopen", b"no-such-kind", 0)


@KERNEL.attack("make the system writable (remount)", MACHINE, why=ROOT)
def remount(at: Targets) -> str:
    return reached("mount_setattr", -100, b"/usr", 0, 0, 0)  # without attributes: EINVAL


@KERNEL.attack("unmount what hides something (umount2)", MACHINE, why=ROOT)
def unmount(at: Targets) -> str:
    return reached("umount2", b"/no-such-place", 0x80)  # an unknown flag


@KERNEL.attack("copy a mount (open_tree)", MACHINE, why=KERNELS)
def copy_mount(at: Targets) -> str:
    return reached("open_tree", -100, b"/", 1)  # OPEN_TREE_CLONE


@KERNEL.attack("another root folder (chroot, pivot_root)", MACHINE, STOPPED, why=ROOT)
def change_root(at: Targets) -> str:
    return reached("chroot", b"/")


@KERNEL.attack("open files by handle, past the sandbox's root", MACHINE, why=ROOT)
def file_handles(at: Targets) -> str:
    return reached("open_by_handle_at", -1, 0, 0)


@KERNEL.attack("io_uring, which filters do not see", MACHINE, why=KERNELS)
def io_uring(at: Targets) -> str:
    parameters = ctypes.create_string_buffer(256)
    return reached("io_uring_setup", 1, ctypes.addressof(parameters))


@KERNEL.attack("keyrings, which namespaces do not separate", MACHINE, why=KERNELS)
def keyrings(at: Targets) -> str:
    return reached("keyctl", 0, -4, 0)  # the id of the user's keyring


@KERNEL.attack("store a key", MACHINE, why=KERNELS)
def add_key(at: Targets) -> str:
    return reached("add_key", b"user", b"hostile", b"x", 1, -2)


@KERNEL.attack("programs in the kernel (bpf)", MACHINE, why=KERNELS)
def bpf(at: Targets) -> str:
    return reached("bpf", 9999, 0, 0)


@KERNEL.attack("handle page faults (userfaultfd)", MACHINE, why=KERNELS)
def page_faults(at: Targets) -> str:
    return reached("userfaultfd", 1)


@KERNEL.attack("measure other programs (perf_event_open)", MACHINE, why=KERNELS)
def measure(at: Targets) -> str:
    return reached("perf_event_open", 0, 0, -1, -1, 0)


@KERNEL.attack("load a module, or another kernel", MACHINE, STOPPED, why=ROOT)
def load_module(at: Targets) -> str:
    try:
        return reached("init_module", 0, 0, b"")
    except OSError:
        return reached("kexec_load", 0, 0, 0, 0xFFFF)


@KERNEL.attack("set the clock", MACHINE, STOPPED, why=ROOT)
def set_clock(at: Targets) -> str:
    return reached("settimeofday", 0, 0)  # nothing to set


@KERNEL.attack("rename the machine", MACHINE, STOPPED, why=ROOT)
def rename_machine(at: Targets) -> str:
    name = socket.gethostname()
    socket.sethostname(name)
    return f"may rename {name}"


def family(number: int) -> str:
    with socket.socket(number, socket.SOCK_STREAM):
        return "made a socket"


@KERNEL.attack("a socket to the hypervisor (AF_VSOCK)", MACHINE, why=KERNELS)
def vsock(at: Targets) -> str:
    return family(40)


@KERNEL.attack("a socket to the kernel's ciphers (AF_ALG)", MACHINE, why=KERNELS)
def ciphers(at: Targets) -> str:
    with socket.socket(38, socket.SOCK_SEQPACKET):
        return "made a socket"


@KERNEL.attack("read all packets (AF_PACKET)", MACHINE, STOPPED, why=ROOT)
def packets(at: Targets) -> str:
    with socket.socket(17, socket.SOCK_RAW):
        return "made a socket"


@KERNEL.attack("raw packets (SOCK_RAW)", MACHINE, STOPPED, why=ROOT)
def raw_packets(at: Targets) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP):
        return "made a socket"


@KERNEL.attack("rare kinds of sockets (TIPC, RDS, CAN, Bluetooth)", MACHINE, why=KERNELS)
def rare_sockets(at: Targets) -> str:
    found = []
    for number in (30, 21, 29, 31, 39, 41, 44, 9, 4, 5):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
            try:
                socket.socket(number, kind).close()
            except OSError:
                continue
            found.append(number)
    return f"{found}" if found else ""


@KERNEL.attack("the same as a pair (socketpair)", MACHINE, why=KERNELS)
def socket_pairs(at: Targets) -> str:
    pair = ctypes.create_string_buffer(8)
    for number in (30, 40, 31):
        try:
            call("socketpair", number, 1, 0, ctypes.addressof(pair))
        except OSError as error:
            if error.errno in (1, 97, 94, 93):  # refused, or there is no such kind
                continue
        return f"family {number} is answered"
    return ""


def type_into_terminal(request: int) -> str:
    """Type into a terminal of its own: with the server's it would be the same."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it comes when the terminal is closed
    main, side = os.openpty()
    os.setsid()
    fcntl.ioctl(side, 0x540E, 0)  # TIOCSCTTY
    letter = ctypes.create_string_buffer(b"x")
    call("ioctl", side, request, ctypes.addressof(letter))
    os.close(main)
    return "typed a letter"


@KERNEL.attack("type into a terminal (TIOCSTI)", MACHINE, why=KERNELS)
def terminal_input(at: Targets) -> str:
    return type_into_terminal(0x5412)


@KERNEL.attack("the same with bits that a filter may overlook", MACHINE, why=KERNELS)
def terminal_input_bits(at: Targets) -> str:
    return type_into_terminal(0x5412 | 1 << 32)


@KERNEL.attack("have the server's terminal", MACHINE, why="if the server has one")
def server_terminal(at: Targets) -> str:
    os.close(os.open("/dev/tty", os.O_RDWR))
    return "opened /dev/tty"


@KERNEL.attack("system calls of x32", MACHINE, why=KERNELS)
def x32_calls(at: Targets) -> str:
    if platform.machine() != "x86_64":
        return ""
    return f"getpid is {numbered(0x40000000 | 39)}"


@KERNEL.attack("system calls of 32-bit programs", MACHINE, why=KERNELS)
def calls_32(at: Targets) -> str:
    if platform.machine() != "x86_64":
        return ""
    # mov eax, 20 (getpid); int 0x80; ret
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    place = ctypes.addressof(ctypes.c_char.from_buffer(code))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(place)()
    return f"getpid is {result}" if result > 0 else ""


@KERNEL.attack("switch the filter of system calls off", POSSIBLE, why="there is none")
def no_filter(at: Targets) -> str:
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    filters, no_rights = lines["Seccomp"].strip(), lines["NoNewPrivs"].strip()
    LIBRARY.prctl(38, 0, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS cannot be undone
    return (
        "" if (filters, no_rights) == ("2", "1") else f"Seccomp {filters}, NoNewPrivs {no_rights}"
    )
