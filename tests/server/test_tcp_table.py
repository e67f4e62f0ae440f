"""The kernel's tables of TCP sockets: by a request for one, and by reading them all."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from mobox.server import tcp_table
from mobox.server.tcp_table import (
    ESTABLISHED,
    Address,
    TcpSocket,
    address_of,
    find_socket,
    is_own_address,
    search_sockets,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tables are those of Linux")

Find = Callable[[Address, Address], TcpSocket | None]


class Connection(NamedTuple):
    client: socket.socket
    server: socket.socket

    @property
    def here(self) -> Address:
        return known(self.server.getsockname())

    @property
    def there(self) -> Address:
        return known(self.server.getpeername())


def known(pair: tuple[str, int]) -> Address:
    address = address_of(pair[:2])
    assert address is not None
    return address


@contextmanager
def connected(host: str, to: str | None = None) -> Iterator[Connection]:
    """A connection on this machine; `to` is where the client connects, if not to the host."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    is_both = to is not None
    with socket.create_server((host, 0), family=family, dualstack_ipv6=is_both) as listener:
        at = (to or host, listener.getsockname()[1])
        with socket.create_connection(at) as client, listener.accept()[0] as server:
            yield Connection(client, server)


def searched(local: Address, remote: Address) -> TcpSocket | None:
    return next(search_sockets(local, remote), None)


WAYS = pytest.mark.parametrize("find", [find_socket, searched])
HOSTS = pytest.mark.parametrize(
    ("host", "to"), [("127.0.0.1", None), ("127.0.0.9", None), ("::1", None), ("::", "127.0.0.1")]
)


@HOSTS
@WAYS
def test_both_ends_of_a_connection_are_found(find: Find, host: str, to: str | None) -> None:
    with connected(host, to) as (client, server):
        both = Connection(client, server)
        for end, found in (
            (client, find(both.there, both.here)),
            (server, find(both.here, both.there)),
        ):
            assert found == TcpSocket(ESTABLISHED, os.getuid(), os.fstat(end.fileno()).st_ino)


@WAYS
def test_a_closed_socket_has_no_inode(find: Find) -> None:
    with connected("127.0.0.1") as both:
        here, there = both.here, both.there
        both.client.close()
        found = find(there, here)
        assert found is not None
        assert found.inode == 0
        ours = find(here, there)
        assert ours is not None
        assert ours.state != ESTABLISHED


@WAYS
def test_a_listening_socket_is_no_connection(find: Find) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        here = known(listener.getsockname())
        assert find(here, Address(here.ip, 9)) is None
        assert find(Address(here.ip, 9), here) is None


def test_a_socket_is_found_by_its_local_address_alone() -> None:
    with connected("127.0.0.1") as both:
        inodes = [found.inode for found in search_sockets(both.there)]
        assert os.fstat(both.client.fileno()).st_ino in inodes


def test_the_table_is_read_where_requests_are_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_table, "_SOCK_DIAG", 0xFF)  # no such protocol
    with connected("::1") as both:
        found = find_socket(both.there, both.here)
        assert found is not None
        assert found.inode == os.fstat(both.client.fileno()).st_ino


@pytest.mark.parametrize(
    ("pair", "address"),
    [
        (("127.0.0.1", 80), "127.0.0.1"),
        (("::ffff:127.0.0.1", 80), "127.0.0.1"),
        (["::1", 80], "::1"),
        (("127.0.0.1", 0), None),
        (("127.0.0.1", None), None),
        (("testclient", 50000), None),
        (("/run/mobox.sock", None), None),
        (None, None),
    ],
)
def test_only_tcp_has_addresses(pair: object, address: str | None) -> None:
    expected = address and Address(ipaddress.ip_address(address), 80)
    assert address_of(pair) == expected


@pytest.mark.parametrize(
    ("address", "is_own"),
    [("127.0.0.1", True), ("127.3.2.1", True), ("::1", True), ("203.0.113.9", False),
     ("2001:db8::9", False)],
)  # fmt: skip
def test_own_addresses(address: str, is_own: bool) -> None:
    assert is_own_address(ipaddress.ip_address(address)) is is_own
