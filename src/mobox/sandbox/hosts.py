"""The hosts that an agent may connect to: the entries of `network` in agent.yaml.

    api.example.com         this host
    *.example.com           all hosts below example.com, but not itself
    api.example.com:8443    this port of it; without a port, 80 and 443
    10.0.0.5, [::1]:8080    an address, also a private one
    localhost:11434         a local name

Rule 1: hosts are compared in one spelling: lower case, without a final dot, `xn--` for other
        scripts, addresses as `ipaddress` writes them. A host that resolvers would read as an
        address, such as 0x7f.1 or 2130706433, has no such spelling and is refused.
Rule 2: a name leads to public addresses only, as its owner decides where it leads. Two exceptions
        are the operator's decision: an address with an entry of its own, and a local name (of one
        word, or below a domain that the public DNS does not have) with an entry of its own, which
        may lead to loopback, private and shared addresses.
Rule 3: with `full` all public hosts are allowed, on all ports but 25, by which machines send spam.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv6Address
from typing import Final

from msgspec import Struct

from mobox.sandbox.addresses import Address, Kind, kind_of, parse, reached

WEB_PORTS: Final = frozenset({80, 443})
CLOSED_PORTS: Final = frozenset({25})
MOST: Final = 1000
"""Entries of a list."""

_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ENTRY: Final = re.compile(r"(?P<below>\*\.)?(?P<host>\[[^\[\]]*\]|[^:\[\]]+)(?::(?P<port>[^:]*))?")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_LOCAL_DOMAINS: Final = frozenset({
    "corp", "home", "internal", "intranet", "lan", "local", "localdomain", "localhost", "private",
    "test",
})  # fmt: skip
_LOCAL_KINDS: Final[frozenset[Kind]] = frozenset({"loopback", "private", "shared"})


class HostRule(Struct, frozen=True):
    """One entry."""

    host: str
    port: int | None = None
    below: bool = False
    """Whether it allows the hosts below this one, instead of this one."""

    def has_host(self, host: str) -> bool:
        """Whether this is an entry for the host."""
        return host.endswith(f".{self.host}") if self.below else host == self.host

    def has_port(self, port: int) -> bool:
        """Whether it allows the port."""
        return port in WEB_PORTS if self.port is None else port == self.port


class Rules(Struct, frozen=True):
    """What an agent may connect to. Hosts are in the spelling of `normal_host`."""

    hosts: tuple[HostRule, ...] = ()
    is_full: bool = False

    def allow(self, host: str, port: int) -> bool:
        """Whether the agent may connect to this host, if its address is allowed too."""
        if any(rule.has_port(port) for rule in self.entries(host)):
            return True
        return self.is_full and port not in CLOSED_PORTS

    def allow_address(self, host: str, address: Address, port: int) -> bool:
        """Whether it may connect to this address of the host although it is not public."""
        named = {rule.host for rule in self.hosts if not rule.below and rule.has_port(port)}
        if str(address) in named or str(reached(address)) in named:
            return True
        return host in named and is_local(host) and kind_of(address) in _LOCAL_KINDS

    def entries(self, host: str) -> list[HostRule]:
        """The entries for the host, on any port."""
        return [rule for rule in self.hosts if rule.has_host(host)]


NO_HOSTS: Final = Rules()
ALL_HOSTS: Final = Rules(is_full=True)


def parse_hosts(entries: Sequence[str]) -> Rules:
    """The rules of a list; raises `ValueError` with a sentence about the first invalid entry."""
    if len(entries) > MOST:
        raise ValueError(f"expected at most {MOST} hosts, got {len(entries)}")
    return Rules(tuple(dict.fromkeys(map(_parse_entry, entries))))


def _parse_entry(entry: str) -> HostRule:
    if entry == "*":
        raise ValueError("'*' is not a host; for all public hosts, write `network: full`")
    if "/" in entry or "@" in entry:
        raise ValueError(f"{entry!r} is not a host; write only its name, such as api.example.com")
    found = _ENTRY.fullmatch(entry) if entry.count(":") < 2 or "[" in entry else None
    below, host, port = found.group("below", "host", "port") if found else (None, entry, None)
    try:
        rule = HostRule(_spelled(host), None if port is None else parse_port(port))
    except ValueError as error:
        raise ValueError(f"{entry!r} is not a valid host: {error}") from None
    if below and _as_address(rule.host):
        raise ValueError(f"{entry!r} is not a valid host: an address has no hosts below it")
    return HostRule(rule.host, rule.port, bool(below))


def _spelled(host: str) -> str:
    """The host of an entry in its one spelling."""
    is_bracketed = host.startswith("[")
    if is_bracketed and not (host.endswith("]") and ":" in host):
        raise ValueError("expected an IPv6 address in brackets")
    name = normal_host(host[1:-1] if is_bracketed else _as_ascii(host))
    address = _as_address(name)
    if address is not None and kind_of(address) in ("unspecified", "multicast"):
        raise ValueError("no single host has this address")
    return name


def _as_ascii(host: str) -> str:
    """The name as the DNS has it: a name in another script in its `xn--` form."""
    if host.isascii():
        return host
    try:
        name = host.encode("idna").decode()
        same = name.encode().decode("idna") == host.lower()
    except UnicodeError:
        same = False
    if not same:  # such as "straße", which the two standards of IDNA encode differently
        raise ValueError("write it in its xn-- form")
    return name


def parse_port(text: str) -> int:
    """The number of a port; raises `ValueError`."""
    if not _PORT.fullmatch(text) or not 0 < int(text) < 1 << 16:
        raise ValueError("expected a port from 1 to 65535 after the colon")
    return int(text)


def normal_host(text: str) -> str:
    """The one spelling of a name or of an address without brackets; raises `ValueError`."""
    if (address := _as_address(text)) is not None:
        return str(address)
    name = text.lower().removesuffix(".")
    if (address := _as_address(name)) is not None:
        return str(address)
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("expected a host name or an IP address")
    if _NUMBER.fullmatch(labels[-1]):
        raise ValueError("expected an IP address as four numbers, such as 10.0.0.5")
    return name


def _as_address(text: str) -> Address | None:
    try:
        address = parse(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise ValueError("an address with a zone leads to another host on every machine")
    return address


def is_local(host: str) -> bool:
    """Whether the public DNS has no such name, so that no stranger decides where it leads."""
    if _as_address(host) is not None:
        return False
    _, dot, domain = host.rpartition(".")
    return not dot or domain in _LOCAL_DOMAINS or host.endswith(".home.arpa")
