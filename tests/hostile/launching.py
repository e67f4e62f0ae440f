"""Starts a server as another user, in a network of its own: `python launching.py ORDER`.

The order is JSON: the user id, whether to make a network, the folders that have to be readable, the
file for what there is, and the command. In that network are the machine's other programs, which
hostile agents look for: listeners that greet whoever connects. It has addresses that exist on real
networks, such as that of a cloud's metadata, and leads nowhere.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

NEW_MOUNTS, NEW_NETWORK = 0x00020000, 0x40000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
GREETING = b"hello"
ADDRESSES = {"lo:1": "169.254.169.254", "lo:2": "10.99.0.53"}
LIBRARY = ctypes.CDLL(None, use_errno=True)


def main(order: dict[str, Any]) -> None:
    uid = order["uid"]
    if order["network"]:
        unshare(NEW_NETWORK)
        bring_up()
    if uid is not None:
        show([Path(path) for path in order["paths"]], uid)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    listeners = Listeners(order["socket"])
    Path(order["report"]).write_text(json.dumps(listeners.report))
    listeners.serve_in_background()
    os.execvp(order["command"][0], order["command"])


def unshare(flags: int) -> None:
    if LIBRARY.unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")


def mount(source: str, target: Path, kind: str, flags: int, options: str = "") -> None:
    words = (source.encode(), os.fsencode(target), kind.encode())
    if LIBRARY.mount(*words, ctypes.c_ulong(flags), options.encode()):
        raise OSError(ctypes.get_errno(), "mount", str(target))


def bring_up() -> None:
    """Give the loopback interface its address, and others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, address in ADDRESSES.items():
            place = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(control, 0x8916, struct.pack("16s16s8x", name.encode(), place))
        for name in ("lo", *ADDRESSES):
            fcntl.ioctl(control, 0x8914, struct.pack("16sh22x", name.encode(), 0x1 | 0x40))


def show(paths: list[Path], uid: int) -> None:
    """Make folders readable for a user, in mounts of its own: an interpreter may be in /root."""
    hidden = {path: first for path in paths if (first := first_unreadable(path, uid)) is not None}
    if not hidden:
        return
    unshare(NEW_MOUNTS)
    mount("none", Path("/"), "", RECURSIVE | PRIVATE)
    opened = {path: os.open(path, os.O_PATH) for path in hidden}
    for place in sorted(set(hidden.values())):
        mount("hostile", place, "tmpfs", 0, "mode=755")
    for path, number in opened.items():
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{number}", path, "", BIND | RECURSIVE)
        os.close(number)


def first_unreadable(path: Path, uid: int) -> Path | None:
    """The uppermost folder of a path that others may not enter."""
    for folder in reversed([path, *path.parents]):
        about = folder.stat()
        if about.st_uid != uid and about.st_mode & 0o5 != 0o5:
            return folder
    return None


class Listeners:
    """Programs of the machine that have nothing to do with agents."""

    def __init__(self, path: str) -> None:
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("0.0.0.0", 0))
        abstract = f"hostile-{os.getpid()}"
        tcp = socket.create_server(("0.0.0.0", 0))
        self._streams = [tcp, unix(b"\0" + abstract.encode()), unix(path)]
        port_6 = 0
        if socket.has_ipv6:
            try:
                ipv6 = socket.create_server(("::1", 0), family=socket.AF_INET6)
            except OSError:
                pass
            else:
                self._streams.append(ipv6)
                port_6 = ipv6.getsockname()[1]
        self.report = {
            "port": tcp.getsockname()[1],
            "port_6": port_6,
            "udp_port": self._datagrams.getsockname()[1],
            "abstract": abstract,
            "socket": path,
        }

    def serve_in_background(self) -> None:
        """In a process that ends with this one, which becomes the server."""
        if os.fork():
            self._datagrams.close()
            for stream in self._streams:
                stream.close()
            return
        LIBRARY.prctl(1, signal.SIGKILL, 0, 0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        while True:
            ready, _, _ = select.select([*self._streams, self._datagrams], [], [])
            for each in ready:
                if each is self._datagrams:
                    _, client = each.recvfrom(100)
                    each.sendto(GREETING, client)
                else:
                    with each.accept()[0] as connection:
                        connection.send(GREETING)


def unix(name: bytes | str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(name)
    listening.listen()
    return listening


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
