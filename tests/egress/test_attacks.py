"""An agent tries to reach what it may not: private addresses, the server, others' networks."""

from __future__ import annotations

import asyncio
import socket

import pytest

from egress.internet import (
    EXAMPLE,
    Internet,
    Web,
    address_of,
    answer,
    authorization,
    connect_status,
    connected,
    echo,
    listening,
    rules,
    status,
)
from mobox.egress import Egress
from mobox.egress.destinations import is_own, open_stream
from mobox.egress.relay import Stream
from mobox.sandbox.addresses import parse

NAME = "api.example.com"

PRIVATE = [
    "127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1",
    "169.254.169.254", "100.100.100.200", "168.63.129.16", "100.64.0.1", "192.0.0.192",
    "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "127.0.0.1.", "[::1]", "[::]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:169.254.169.254]",
    "[0:0:0:0:0:ffff:0a00:0001]", "[::127.0.0.1]",
    "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::]", "[2001:0:7f00:1::1]", "[fe80::1]", "[fd00:ec2::254]", "[fc00::1]",
    "[ff02::1]", "[fec0::1]",
]  # fmt: skip
INVALID = [
    "0x7f.1", "0x7f000001", "2130706433", "017700000001", "127.1", "127.0.1", "0177.0.0.1",
    "127.0.0.0x1", "1.2.3.4.5", "256.0.0.1", "[fe80::1%25lo]", "[::1%lo]",
    "localhost%00.example.com", "127.0.0.1#.example.com", "example.com@127.0.0.1",
    "127.0.0.1\\.example.com", "..", ".", "-",
    "①②⑦.⓪.⓪.①", "127。0。0。1", "a" * 64 + ".com", "[127.0.0.1]", "[::1]x", "a,b.com",
]  # fmt: skip


@pytest.fixture
def internet() -> Internet:
    return Internet()


@pytest.mark.parametrize("host", PRIVATE)
async def test_full_reaches_no_private_address(internet: Internet, host: str) -> None:
    async with internet.agent(full=True) as grant:
        assert await connect_status(grant, f"{host}:443") == 403
        request = f"GET http://{host}/ HTTP/1.1\r\n@\r\n\r\n"
        assert await status(grant, request.encode()) == 403
    assert internet.connected == []
    assert internet.looked_up == []


@pytest.mark.parametrize("host", INVALID)
async def test_hosts_that_resolvers_might_read_as_others_are_invalid(
    internet: Internet, host: str
) -> None:
    async with internet.agent(full=True) as grant:
        assert await connect_status(grant, f"{host}:443") == 400
        request = f"GET http://{host}/ HTTP/1.1\r\n@\r\n\r\n"
        assert await status(grant, request.encode()) == 400
    assert internet.looked_up == []
    assert internet.connected == []


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1%1"]
)
async def test_a_name_does_not_lead_to_a_private_address(
    internet: Internet, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    internet.names["evil.example.com"] = [[address]]
    async with internet.agent("*.example.com", full=False) as grant:
        shown = await answer(grant, b"GET http://evil.example.com/ HTTP/1.1\r\n@\r\n\r\n")
    assert shown.startswith(b"HTTP/1.1 403 evil.example.com leads to an address that is not public")
    assert address.encode() not in shown  # nor does the agent learn who is where
    assert f"evil.example.com leads to {address}, which is not public" in caplog.text
    assert internet.connected == []


async def test_the_checked_address_is_the_one_that_is_connected_to(internet: Internet) -> None:
    internet.names["evil.example.com"] = [[EXAMPLE], ["127.0.0.1"]]
    async with internet.host(Web()), internet.agent(full=True) as grant:
        assert await status(grant, b"GET http://evil.example.com/ HTTP/1.1\r\n@\r\n\r\n") == 200
        assert internet.looked_up == ["evil.example.com"]
        assert internet.connected == [(EXAMPLE, 80)]
        assert await status(grant, b"GET http://evil.example.com/ HTTP/1.1\r\n@\r\n\r\n") == 403
        assert internet.connected == [(EXAMPLE, 80)]


async def test_private_addresses_among_public_ones_are_not_tried(internet: Internet) -> None:
    internet.names["evil.example.com"] = [["127.0.0.1", "1.1.1.1", "::ffff:10.0.0.1", "10.0.0.1"]]
    async with internet.agent(full=True) as grant:
        assert await connect_status(grant, "evil.example.com:443") == 502
    assert internet.connected == [("1.1.1.1", 443)]


async def test_an_address_is_connected_to_without_a_lookup() -> None:
    with pytest.raises(socket.gaierror):
        await open_stream("localhost", 9)


async def test_the_operator_may_name_a_private_address() -> None:
    """With the real resolver and real connections."""
    internet = Internet()
    async with internet.host(Web()):
        port = internet.ports[EXAMPLE]
        egress = Egress()
        await egress.open()
        grant = egress.grant("local", rules(f"127.0.0.1:{port}", f"localhost:{port}"))
        for host in ("127.0.0.1", "localhost", "LOCALHOST.", "[::ffff:127.0.0.1]"):
            request = f"GET http://{host}:{port}/ HTTP/1.1\r\n@\r\n\r\n"
            assert await status(grant, request.encode()) == 200
        for host in ("127.0.0.2", "127.1", "[::1]", "localhost.localdomain"):
            request = f"GET http://{host}:{port}/ HTTP/1.1\r\n@\r\n\r\n"
            assert await status(grant, request.encode()) in (400, 403)
        await egress.close()


OWN = ["127.0.0.1", "127.0.0.2", "localhost", "LocalHost.", "[::1]", "[::ffff:127.0.0.1]"]


@pytest.mark.parametrize("host", OWN)
@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0", "::", "localhost"])
async def test_no_rule_opens_the_ports_of_the_server(
    internet: Internet, host: str, bound: str
) -> None:
    internet.names["localhost"] = [["127.0.0.1", "::1"]]
    async with internet.agent(f"{host}:8000", forbidden=[(bound, 8000)]) as grant:
        assert await connect_status(grant, f"{host}:8000") == 403
    assert internet.connected == []


async def test_the_servers_other_hosts_are_forbidden_by_their_address(internet: Internet) -> None:
    internet.names["db.corp"] = [["10.0.0.9"]]
    forbidden = [("10.0.0.9", 5432), ("1.1.1.1", 443)]
    hosts = ["10.0.0.9:5432", "db.corp:5432", "[64:ff9b::a00:9]:5432", "1.1.1.1"]
    async with internet.agent(*hosts, "10.0.0.8:5432", forbidden=forbidden) as grant:
        for target in (*hosts[:3], "1.1.1.1:443"):
            assert await connect_status(grant, target) == 403
        assert await connect_status(grant, "10.0.0.8:5432") == 502
        assert await connect_status(grant, "1.1.1.1:80") == 502
    assert internet.connected == [("10.0.0.8", 5432), ("1.1.1.1", 80)]


async def test_the_proxy_is_not_reached_through_itself(internet: Internet) -> None:
    async with internet.proxy() as egress:
        port = address_of(egress.grant("a", rules()))[1]
        grant = egress.grant("b", rules(f"127.0.0.1:{port}"))
        assert await connect_status(grant, f"127.0.0.1:{port}") == 403


def test_own_addresses_are_known() -> None:
    assert is_own(parse("127.0.0.1"))
    assert is_own(parse("::ffff:127.0.0.9"))
    assert not is_own(parse("8.8.8.8"))
    assert not is_own(parse("2606:4700::1111"))


async def test_without_a_token_nothing_is_done(internet: Internet) -> None:
    async with internet.proxy() as egress:
        grant = egress.grant("research", rules(full=True))
        wrong = [
            b"",
            b"Proxy-Authorization: Basic\r\n",
            b"Proxy-Authorization: Basic YWdlbnQ6\r\n",
            b"Proxy-Authorization: Basic YWdlbnQ6bWJlX3g=\r\n",
            b"Proxy-Authorization: Bearer %s\r\n" % grant.token.encode(),
            b"Authorization: Basic YWdlbnQ6bWJlX3g=\r\n",
        ]
        for header in wrong:
            request = b"GET http://api.example.com/ HTTP/1.1\r\n" + header + b"\r\n"
            shown = await answer(grant, request)
            assert shown.startswith(b"HTTP/1.1 407 the token is missing or unknown")
            assert b'\r\nProxy-Authenticate: Basic realm="mobox"\r\n' in shown
    assert internet.looked_up == []


async def test_a_token_has_the_rules_of_its_own_agent(internet: Internet) -> None:
    async with internet.host(echo), internet.proxy() as egress:
        ours = egress.grant("ours", rules("a.example.com"))
        others = egress.grant("others", rules("b.example.com"))
        assert await connect_status(ours, "a.example.com:443") == 200
        assert await connect_status(ours, "b.example.com:443") == 403
        assert await connect_status(others, "b.example.com:443") == 200


async def test_a_revoked_token_is_unknown(internet: Internet) -> None:
    async with internet.host(echo), internet.agent(full=True) as grant:
        assert await connect_status(grant, "a.example.com:443") == 200
        grant.close()
        grant.close()
        assert await connect_status(grant, "a.example.com:443") == 407


SMUGGLED = [
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    b"Content-Length: 5\r\nContent-Length: 6\r\n",
    b"Content-Length: 5, 6\r\n",
    b"Transfer-Encoding: chunked, identity\r\n",
    b"Transfer-Encoding: \x0bchunked\r\n",
    b"Transfer-Encoding : chunked\r\n",
    b"Transfer-Encoding\r\n : chunked\r\n",
    b"X: y\nTransfer-Encoding: chunked\r\n",
    b"X: y\rContent-Length: 5\r\n",
]


@pytest.mark.parametrize("headers", SMUGGLED)
async def test_ambiguous_requests_open_no_connection(internet: Internet, headers: bytes) -> None:
    request = b"POST http://api.example.com/ HTTP/1.1\r\n" + headers + b"@\r\n\r\n0\r\n\r\n"
    async with internet.host(Web()), internet.agent(NAME) as grant:
        assert await status(grant, request) == 400
    assert internet.connected == []


async def test_one_connection_passes_on_one_request(internet: Internet) -> None:
    web = Web(is_early=False)
    second = b"GET http://api.example.com/second HTTP/1.1\r\n\r\n"
    requests = [
        b"GET http://api.example.com/ HTTP/1.1\r\n@\r\n\r\n" + second,
        b"POST http://api.example.com/ HTTP/1.1\r\nContent-Length: 2\r\n@\r\n\r\nab" + second,
        b"POST http://api.example.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n@\r\n\r\n"
        b"2\r\nab\r\n0\r\n\r\n" + second,
    ]
    async with internet.host(web), internet.agent(NAME) as grant:
        for request in requests:
            shown = await answer(grant, request)
            assert shown.count(b"HTTP/1.1 200 OK") == 1
            assert b"\r\nConnection: close\r\n" in shown
    assert web.bodies == [b"", b"ab", b"2\r\nab\r\n0\r\n\r\n"]
    assert not any(b"second" in each for each in (*web.heads, *web.bodies))


async def test_invalid_chunks_are_not_passed_on(internet: Internet) -> None:
    received = asyncio.Queue[bytes]()

    async def serve(stream: Stream) -> None:
        data = b""
        try:
            while piece := await stream.reader.read(1 << 16):
                data += piece
        finally:
            received.put_nowait(data)

    head = b"POST http://api.example.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n@\r\n\r\n"
    bodies = [
        b"2\r\nabX\r\n0\r\n\r\n",
        b"-2\r\nab\r\n0\r\n\r\n",
        b"2;a\nb\r\nab\r\n0\r\n\r\n",
        b"2;" + b"a" * 5000 + b"\r\nab\r\n0\r\n\r\n",
        b"0\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
    ]
    async with internet.host(serve), internet.agent(NAME) as grant:
        for body in bodies:
            assert await status(grant, head + body) == 400
            assert not (await received.get()).endswith(b"0\r\n\r\n")


async def test_the_host_of_the_target_counts_not_that_of_the_header(internet: Internet) -> None:
    web = Web()
    async with internet.host(web), internet.agent(NAME) as grant:
        request = b"GET http://api.example.com/ HTTP/1.1\r\nHost: metadata.corp\r\n@\r\n\r\n"
        assert await status(grant, request) == 200
        request = b"GET http://metadata.corp/ HTTP/1.1\r\nHost: api.example.com\r\n@\r\n\r\n"
        assert await status(grant, request) == 403
    assert b"metadata" not in web.heads[0]


async def test_control_characters_reach_neither_log_nor_response(
    internet: Internet, caplog: pytest.LogCaptureFixture
) -> None:
    async with internet.agent(NAME) as grant:
        for target in (b"\x1b[31m:443", b"a\r\nX: y:443", b"a%0d%0aX:443", b"a\x00.com:443"):
            shown = await answer(grant, b"CONNECT " + target + b" HTTP/1.1\r\n@\r\n\r\n")
            assert shown.startswith(b"HTTP/1.1 400 invalid request")
            assert b"\x1b" not in shown
    assert caplog.text == ""


async def test_the_log_has_a_limited_number_of_refusals(
    internet: Internet, caplog: pytest.LogCaptureFixture
) -> None:
    async with internet.agent(NAME) as grant:
        for number in range(60):
            assert await connect_status(grant, f"x{number}.example.org:443") == 403
    assert len(caplog.records) == 50


async def test_names_of_other_scripts_are_compared_as_the_dns_has_them(internet: Internet) -> None:
    async with internet.host(echo), internet.agent("bücher.example") as grant:
        assert await connect_status(grant, "xn--bcher-kva.example:443") == 200
        assert await connect_status(grant, "XN--BCHER-KVA.EXAMPLE.:443") == 200
        assert await connect_status(grant, "bucher.example:443") == 403


async def test_the_socket_of_a_sandbox_serves_its_own_grant_only(internet: Internet) -> None:
    async with internet.host(echo), internet.proxy() as egress:
        boxed_socket, port = listening()
        boxed = egress.grant("boxed", rules("a.example.com"), port=port)
        await boxed.serve(boxed_socket)
        wider = egress.grant("wider", rules(full=True))
        async with connected(boxed) as stream:  # another agent's token changes nothing
            request = b"CONNECT b.example.com:443 HTTP/1.1\r\n" + authorization(wider)
            await stream.send(request + b"\r\n")
            assert (await stream.reader.read()).startswith(b"HTTP/1.1 403 b.example.com is not in")
        async with connected(boxed) as stream:  # and none is needed
            await stream.send(b"CONNECT a.example.com:443 HTTP/1.1\r\n\r\n")
            assert (await stream.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
