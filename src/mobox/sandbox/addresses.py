"""Which IP addresses are public: those that an agent may connect to without an entry of their own.

The table is our own because `ipaddress.is_private` and `is_global` differ between releases of
Python. Of IPv6 only 2000::/3 is in use for public hosts, so all other blocks are refused.
https://www.iana.org/assignments/iana-ipv4-special-registry, and -ipv6-.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Literal

Address = IPv4Address | IPv6Address
Kind = Literal[
    "unspecified", "loopback", "private", "link-local", "shared", "metadata", "multicast",
    "reserved",
]  # fmt: skip
"""Why an address is not public."""

_BLOCKS: Final[tuple[tuple[Kind, str], ...]] = (
    ("metadata", "169.254.169.254 100.100.100.200 192.0.0.192 168.63.129.16"),
    ("unspecified", "0.0.0.0/8"),
    ("loopback", "127.0.0.0/8"),
    ("private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16"),
    ("link-local", "169.254.0.0/16"),
    ("shared", "100.64.0.0/10"),
    ("multicast", "224.0.0.0/4"),
    ("reserved", "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24"),
    ("reserved", "203.0.113.0/24 240.0.0.0/4"),
    ("metadata", "fd00:ec2::254 fd20:ce::254"),
    ("unspecified", "::"),
    ("loopback", "::1"),
    ("private", "fc00::/7 fec0::/10"),
    ("link-local", "fe80::/10"),
    ("multicast", "ff00::/8"),
    ("reserved", "2001::/23 2001:db8::/32 3fff::/20"),  # Teredo is 2001::/32
    ("reserved", "::/3 4000::/2 8000::/1"),  # all but 2000::/3
)
"""The first that contains an address counts. 168.63.129.16 is Azure's, and looks public."""

_NETWORKS: Final = tuple(
    (kind, ip_network(block)) for kind, blocks in _BLOCKS for block in blocks.split()
)

_EMBEDDING: Final = tuple(
    (IPv6Network(block), shift)
    for block, shift in (
        ("::ffff:0:0/96", 0),  # IPv4-mapped
        ("::ffff:0:0:0/96", 0),  # IPv4-translated
        ("64:ff9b::/96", 0),  # NAT64, which the addresses of DNS64 are in
        ("2002::/16", 80),  # 6to4
    )
)
"""Blocks of IPv6 addresses for hosts that have IPv4, with the position of that address."""


def parse(text: str) -> Address:
    """The address; raises `ValueError`. A mapped one is IPv4, as it is to the kernel."""
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def reached(address: Address) -> Address:
    """The host's own address: the IPv4 address to which this one may be translated on the way."""
    if isinstance(address, IPv6Address):
        for block, shift in _EMBEDDING:
            if address in block:
                return IPv4Address(int(address) >> shift & 0xFFFF_FFFF)
    return address


def kind_of(address: Address) -> Kind | None:
    """Why the address is not public; `None` if it is."""
    host = reached(address)
    return next((kind for kind, block in _NETWORKS if host in block), None)
