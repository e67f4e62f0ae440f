"""Looks up TCP sockets of this machine in the kernel's tables (Linux).

One socket by both of its addresses is a netlink request, about 20 µs: sock_diag(7). The whole table
is in /proc/net/tcp and tcp6, in proc_pid_net(5), for kernels that do not allow the request, and for
connections whose destination was rewritten (NAT): their client knows another remote address.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

IP: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

ESTABLISHED: Final = 1
LISTEN: Final = 10
_SOCK_DIAG: Final = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY: Final = 20  # SOCK_DIAG_BY_FAMILY
_REQUEST: Final = 1  # NLM_F_REQUEST
_ANY_STATE: Final = 0xFFFFFFFF
_NO_COOKIE: Final = (0xFFFFFFFF, 0xFFFFFFFF)
_HEADER: Final = struct.Struct("=IHHII")  # struct nlmsghdr
_QUERY: Final = struct.Struct("=BBBxI")  # struct inet_diag_req_v2, up to its id
_PORTS: Final = struct.Struct("!HH")  # struct inet_diag_sockid, up to its addresses
_REST: Final = struct.Struct("=III")  # the rest of it: interface and cookie
_REPLY: Final = struct.Struct("=BBBB4s44s5I")  # struct inet_diag_msg
_MAPPED: Final = ipaddress.ip_network("::ffff:0:0/96")
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


class Address(NamedTuple):
    """One end of a connection."""

    ip: IP
    port: int


class TcpSocket(NamedTuple):
    """A socket of this machine."""

    state: int
    user: int
    inode: int
    """0 if no process has it open any more."""


def address_of(pair: object) -> Address | None:
    """The address in an ASGI scope, if it is one of TCP."""
    match pair:
        case (str(host), int(port)) if port:
            with suppress(ValueError):
                return Address(_plain(ipaddress.ip_address(host)), port)
    return None


def _plain(ip: IP) -> IP:
    """The IPv4 address of a client that is connected to an IPv6 socket."""
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return mapped or ip


def find_socket(local: Address, remote: Address) -> TcpSocket | None:
    """The socket with these addresses."""
    if local.ip.version != remote.ip.version:
        return None
    try:
        return _request(local, remote)
    except OSError:  # not allowed here, or not supported
        return next(search_sockets(local, remote), None)


def _request(local: Address, remote: Address) -> TcpSocket | None:
    family = socket.AF_INET if local.ip.version == 4 else socket.AF_INET6
    query = _QUERY.pack(family, socket.IPPROTO_TCP, 0, _ANY_STATE)
    query += _PORTS.pack(local.port, remote.port)
    query += local.ip.packed.ljust(16, b"\0") + remote.ip.packed.ljust(16, b"\0")
    query += _REST.pack(0, *_NO_COOKIE)
    length = _HEADER.size + len(query)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.setblocking(False)  # the reply is there when `send` returns
        kernel.send(_HEADER.pack(length, _BY_FAMILY, _REQUEST, 0, 0) + query)
        reply = kernel.recv(4096)
    return _read_reply(reply, _PORTS.pack(local.port, remote.port))


def _read_reply(reply: bytes, ports: bytes) -> TcpSocket | None:
    if _HEADER.unpack_from(reply)[1] != _BY_FAMILY:
        (number,) = struct.unpack_from("=i", reply, _HEADER.size)
        if -number == errno.ENOENT:
            return None
        raise OSError(-number, "sock_diag")
    _, state, _, _, found, _, _, _, _, user, inode = _REPLY.unpack_from(reply, _HEADER.size)
    # For want of the socket itself, the kernel finds one that listens on its port.
    return TcpSocket(state, user, inode) if found == ports and state != LISTEN else None


def search_sockets(local: Address, remote: Address | None = None) -> Iterator[TcpSocket]:
    """The connected sockets with this local address, in the whole table."""
    here = _written(local)
    there = None if remote is None else _written(remote)
    for path in _TABLES:
        with suppress(OSError), path.open(encoding="ascii") as table:
            for line in table:
                row = line.split()
                if row[1] not in here or (there is not None and row[2] not in there):
                    continue
                if (state := int(row[3], 16)) != LISTEN:
                    yield TcpSocket(state, int(row[7]), int(row[9]))


def _written(address: Address) -> set[str]:
    """The address as the tables write it; an IPv4 address may also be in that of IPv6."""
    packed = [address.ip.packed]
    if address.ip.version == 4:
        packed.append(_MAPPED.network_address.packed[:12] + address.ip.packed)
    return {f"{_words(each)}:{address.port:04X}" for each in packed}


def _words(packed: bytes) -> str:
    starts = range(0, len(packed), 4)
    words = (int.from_bytes(packed[at : at + 4], sys.byteorder) for at in starts)
    return "".join(f"{word:08X}" for word in words)


def is_own_address(ip: IP) -> bool:
    """Whether it is an address of this machine: then the kernel would choose it as the source.

    Nothing is sent: connecting a UDP socket only looks up the route.
    """
    if ip.is_loopback:
        return True
    family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(ip), 9))
            return ipaddress.ip_address(probe.getsockname()[0]) == ip
    except (OSError, ValueError):
        return False
