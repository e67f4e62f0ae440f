"""The entries of `network`, and which hosts, ports and addresses they allow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.sandbox.addresses import kind_of, parse, reached
from mobox.sandbox.hosts import ALL_HOSTS, NO_HOSTS, HostRule, normal_host, parse_hosts

SPELLINGS = [
    ("api.example.com", HostRule("api.example.com")),
    ("API.Example.COM.", HostRule("api.example.com")),
    ("_dmarc.example.com", HostRule("_dmarc.example.com")),
    ("*.example.com", HostRule("example.com", below=True)),
    ("*.example.com:8443", HostRule("example.com", 8443, below=True)),
    ("api.example.com:8443", HostRule("api.example.com", 8443)),
    ("localhost:11434", HostRule("localhost", 11434)),
    ("127.0.0.1:11434", HostRule("127.0.0.1", 11434)),
    ("10.0.0.5", HostRule("10.0.0.5")),
    ("::1", HostRule("::1")),
    ("[::1]", HostRule("::1")),
    ("[2606:4700:0::1]:8080", HostRule("2606:4700::1", 8080)),
    ("[::ffff:10.0.0.5]:80", HostRule("10.0.0.5", 80)),
    ("bücher.example", HostRule("xn--bcher-kva.example")),
    ("BÜCHER.example", HostRule("xn--bcher-kva.example")),
]

INVALID = {
    "*": "for all public hosts, write `network: full`",
    "https://api.example.com": "write only its name",
    "api.example.com/v1": "write only its name",
    "10.0.0.0/8": "write only its name",
    "me@example.com": "write only its name",
    "": "expected a host name or an IP address",
    "a b.com": "expected a host name or an IP address",
    "a..com": "expected a host name or an IP address",
    "example.com..": "expected a host name or an IP address",
    "-a.com": "expected a host name or an IP address",
    "exa*mple.com": "expected a host name or an IP address",
    "*.*.com": "expected a host name or an IP address",
    "*.": "expected a host name or an IP address",
    "example.com\n": "expected a host name or an IP address",
    f"{'a' * 64}.com": "expected a host name or an IP address",
    ".".join(["a" * 60] * 5): "expected a host name or an IP address",
    "example.com:": "expected a port from 1 to 65535",
    "example.com:0": "expected a port from 1 to 65535",
    "example.com:65536": "expected a port from 1 to 65535",
    "example.com:٣": "expected a port from 1 to 65535",
    "example.com:http": "expected a port from 1 to 65535",
    "0x7f.1": "as four numbers",
    "2130706433": "as four numbers",
    "127.1": "as four numbers",
    "0177.0.0.1": "as four numbers",
    "1.2.3.4.5": "as four numbers",
    "example.0x10": "as four numbers",
    "[::1": "IPv6 address in brackets",
    "[10.0.0.5]": "IPv6 address in brackets",
    "[example.com]:80": "IPv6 address in brackets",
    "fe80::1%eth0": "zone",
    "*.10.0.0.5": "no hosts below it",
    "0.0.0.0": "no single host",
    "[::]:80": "no single host",
    "224.0.0.1": "no single host",
    "straße.de": "xn--",
    "\uff11\uff12\uff17.0.0.1": "xn--",
}

NOT_PUBLIC = {
    "unspecified": ["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"],
    "loopback": ["127.0.0.1", "127.255.0.3", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"],
    "private": ["10.1.2.3", "172.31.255.255", "192.168.0.1", "fd12::1", "fec0::1", "2002:a00:1::"],
    "link-local": ["169.254.0.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.1.1"],
    "shared": ["100.64.0.1", "100.127.255.255", "64:ff9b::6440:1"],
    "metadata": [
        "169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254",
        "2002:a9fe:a9fe::1", "64:ff9b::a9fe:a9fe",
    ],
    "multicast": ["224.0.0.1", "239.255.255.250", "ff02::1"],
    "reserved": [
        "192.0.2.1", "198.18.0.1", "198.19.255.255", "203.0.113.9", "240.0.0.1", "255.255.255.255",
        "2001::1", "2001:db8::1", "3fff::1", "::127.0.0.1", "64:ff9b:1::1", "100::1", "4000::1",
        "5f00::1",
    ],
}  # fmt: skip
PUBLIC = [
    "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.0.1.1",
    "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::101:101",
    "2002:101:101::1",
]  # fmt: skip


@pytest.mark.parametrize(("entry", "rule"), SPELLINGS)
def test_entries_have_one_spelling(entry: str, rule: HostRule) -> None:
    assert parse_hosts([entry]).hosts == (rule,)


@pytest.mark.parametrize("entry", INVALID)
def test_invalid_entries_are_explained(entry: str) -> None:
    with pytest.raises(ValueError, match=r"is not a (valid )?host") as error:
        parse_hosts(["api.example.com", entry])
    assert repr(entry) in str(error.value)
    assert INVALID[entry] in str(error.value)


def test_a_list_has_a_limit_and_no_repetitions() -> None:
    assert parse_hosts(["a.com", "A.com.", "b.com"]).hosts == (HostRule("a.com"), HostRule("b.com"))
    with pytest.raises(ValueError, match="at most 1000 hosts, got 1001"):
        parse_hosts(["a.com"] * 1001)


@pytest.mark.parametrize("kind", NOT_PUBLIC)
def test_special_addresses_are_not_public(kind: str) -> None:
    assert {kind_of(parse(address)) for address in NOT_PUBLIC[kind]} == {kind}


@pytest.mark.parametrize("address", PUBLIC)
def test_other_addresses_are_public(address: str) -> None:
    assert kind_of(parse(address)) is None


@given(st.ip_addresses(v=4))
def test_ipv4_addresses_keep_their_kind_inside_of_ipv6_addresses(address: object) -> None:
    kind = kind_of(parse(str(address)))
    packed = parse(str(address)).packed.hex()
    for spelling in (
        f"::ffff:{address}",
        f"64:ff9b::{address}",
        f"2002:{packed[:4]}:{packed[4:]}::1",
    ):
        assert kind_of(parse(spelling)) == kind


@given(st.ip_addresses())
def test_no_address_that_python_calls_special_is_public(address: object) -> None:
    parsed = reached(parse(str(address)))
    if parsed.is_private or parsed.is_multicast or parsed.is_reserved or parsed.is_link_local:
        assert kind_of(parsed) is not None


def test_a_name_allows_itself_on_the_ports_of_the_web() -> None:
    rules = parse_hosts(["api.example.com"])
    assert rules.allow("api.example.com", 443)
    assert rules.allow("api.example.com", 80)
    assert not rules.allow("api.example.com", 8443)
    assert not rules.allow("example.com", 443)
    assert not rules.allow("x.api.example.com", 443)
    assert not rules.allow("notapi.example.com", 443)


def test_a_port_replaces_the_ports_of_the_web() -> None:
    rules = parse_hosts(["api.example.com:8443"])
    assert rules.allow("api.example.com", 8443)
    assert not rules.allow("api.example.com", 443)


def test_a_wildcard_allows_subdomains_only() -> None:
    rules = parse_hosts(["*.example.com"])
    assert rules.allow("a.example.com", 443)
    assert rules.allow("a.b.example.com", 443)
    assert not rules.allow("example.com", 443)
    assert not rules.allow("badexample.com", 443)
    assert not rules.allow("example.com.evil.org", 443)


def test_full_allows_all_ports_but_that_of_mail_servers() -> None:
    assert ALL_HOSTS.allow("git.example.com", 22)
    assert not ALL_HOSTS.allow("mail.example.com", 25)
    assert not NO_HOSTS.allow("example.com", 443)


ADDRESSES = [
    (["127.0.0.1:11434"], "127.0.0.1", "127.0.0.1", 11434, True),
    (["127.0.0.1:11434"], "127.0.0.1", "127.0.0.1", 80, False),
    (["127.0.0.1:11434"], "127.0.0.2", "127.0.0.2", 11434, False),
    (["10.0.0.5"], "10.0.0.5", "10.0.0.5", 443, True),
    (["169.254.169.254"], "169.254.169.254", "169.254.169.254", 80, True),
    (["localhost:11434"], "localhost", "127.0.0.1", 11434, True),
    (["localhost:11434"], "localhost", "::1", 11434, True),
    (["localhost:11434"], "localhost", "127.0.0.1", 80, False),
    (["ollama:11434"], "ollama", "172.18.0.3", 11434, True),
    (["git.corp"], "git.corp", "100.64.0.9", 443, True),
    (["nas.home.arpa"], "nas.home.arpa", "192.168.1.9", 443, True),
    (["metadata.google.internal"], "metadata.google.internal", "169.254.169.254", 80, False),
    (["*.corp"], "git.corp", "10.0.0.9", 443, False),
    (["api.example.com"], "api.example.com", "10.0.0.5", 443, False),
    (["api.example.com", "10.0.0.5"], "api.example.com", "10.0.0.5", 443, True),
    (["api.example.com", "10.0.0.5"], "api.example.com", "10.0.0.6", 443, False),
    (["api.example.com", "10.0.0.5:80"], "api.example.com", "10.0.0.5", 443, False),
    (["[64:ff9b::a00:5]"], "64:ff9b::a00:5", "64:ff9b::a00:5", 443, True),
    (["10.0.0.5"], "64:ff9b::a00:5", "64:ff9b::a00:5", 443, True),
]


@pytest.mark.parametrize(("entries", "host", "address", "port", "is_allowed"), ADDRESSES)
def test_private_addresses_need_an_entry_of_the_operator(
    entries: list[str], host: str, address: str, port: int, is_allowed: bool
) -> None:
    assert parse_hosts(entries).allow_address(host, parse(address), port) is is_allowed


def test_full_names_no_private_address() -> None:
    assert not ALL_HOSTS.allow_address("localhost", parse("127.0.0.1"), 443)


@given(st.text(max_size=40))
def test_a_spelling_is_final(text: str) -> None:
    try:
        host = normal_host(text)
    except ValueError:
        return
    assert normal_host(host) == host
    assert host == host.lower()
