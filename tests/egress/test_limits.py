"""Slow, silent and greedy clients and servers cost a bounded amount, and end with their grant."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest

from egress.internet import (
    Internet,
    Web,
    address_of,
    answer,
    ask_tunnel,
    authorization,
    connect_status,
    connected,
    echo,
    listening,
    rules,
    status,
)
from mobox.egress import Egress, EgressGrant
from mobox.egress.connections import Limits
from mobox.egress.destinations import LOOKUPS_OF_A_GRANT, open_stream
from mobox.egress.relay import Stream
from mobox.errors import NotOpen
from support.waiting import until

GET = b"GET http://api.example.com/ HTTP/1.1\r\n@\r\n\r\n"
PIECE = b"x" * (1 << 16)
FAR_TOO_MUCH = 64 << 20
"""Bytes; more than all buffers on the way, those of the kernel included."""


@pytest.fixture
def internet() -> Internet:
    return Internet()


async def read_all(stream: Stream) -> bytes:
    """What comes until the connection ends, in whatever way."""
    data = b""
    try:
        while piece := await stream.reader.read(1 << 16):
            data += piece
    except OSError:
        pass
    return data


async def test_slow_heads_are_given_up(internet: Internet) -> None:
    async with internet.agent(full=True, limits=Limits(head=0.05)) as grant:
        for sent in (b"", b"GET http://api.example.com/ HTTP/1.1\r\n", GET[:-6]):
            async with connected(grant) as stream:
                await stream.send(sent)
                assert (await stream.reader.read()).startswith(b"HTTP/1.1 408 ")
    assert internet.looked_up == []


async def test_huge_heads_are_refused(internet: Internet) -> None:
    async with internet.agent(full=True) as grant:
        many = b"".join(b"X-%d: y\r\n" % number for number in range(10_000))
        for more in (b"X: " + b"y" * 100_000 + b"\r\n", many):
            assert await status(grant, GET[:-4] + more + b"\r\n\r\n") == 431
        endless = b"GET http://api.example.com/" + b"a" * 300_000
        async with connected(grant) as stream:
            await stream.send(endless)
            assert (await stream.reader.read()).startswith(b"HTTP/1.1 431 ")
    assert internet.looked_up == []


async def test_a_head_of_less_than_the_limit_is_passed_on(internet: Internet) -> None:
    web = Web()
    async with internet.host(web), internet.agent(full=True) as grant:
        assert await status(grant, GET[:-2] + b"X: " + b"y" * 60_000 + b"\r\n\r\n") == 200
    assert b"X: " + b"y" * 60_000 in web.heads[0]


async def test_a_client_that_leaves_in_its_head_is_forgotten(internet: Internet) -> None:
    async with internet.agent(full=True) as grant, connected(grant) as stream:
        await stream.send(GET[:20])
        await stream.end()
        assert await stream.reader.read() == b""


async def test_a_client_that_never_reads_stops_its_server(internet: Internet) -> None:
    sent, broken = 0, asyncio.Event()

    async def flood(stream: Stream) -> None:
        nonlocal sent
        try:
            while sent < FAR_TOO_MUCH:
                await stream.send(PIECE)
                sent += len(PIECE)
        except OSError:
            broken.set()

    short = Limits(idle=0.5)
    request = b"CONNECT a.example.com:443 HTTP/1.1\r\n"
    async with internet.host(flood), internet.agent(full=True, limits=short) as grant:
        with socket.create_connection(address_of(grant)) as raw:
            raw.sendall(request + authorization(grant) + b"\r\n")
            await broken.wait()
    assert 0 < sent < FAR_TOO_MUCH


async def test_a_server_that_never_reads_stops_its_client(internet: Internet) -> None:
    left = asyncio.Event()

    async def silent(stream: Stream) -> None:
        await left.wait()

    async def flood(stream: Stream) -> int:
        sent = 0
        try:
            while sent < FAR_TOO_MUCH:
                await stream.send(PIECE)
                sent += len(PIECE)
        except OSError:
            left.set()
        return sent

    short = Limits(idle=0.5)
    async with internet.host(silent), internet.agent(full=True, limits=short) as grant:
        async with connected(grant) as stream:
            await ask_tunnel(stream, grant, "a.example.com:443")
            assert 0 < await flood(stream) < FAR_TOO_MUCH
        left.clear()
        async with connected(grant) as stream:
            head = b"POST http://a.example.com/ HTTP/1.1\r\nContent-Length: %d\r\n" % (1 << 40)
            await stream.send(head + authorization(grant) + b"\r\n")
            assert 0 < await flood(stream) < FAR_TOO_MUCH


async def test_bytes_in_one_direction_keep_a_tunnel_open(internet: Internet) -> None:
    async def trickle(stream: Stream) -> None:
        for _ in range(4):
            await asyncio.sleep(0.5)
            await stream.send(b".")
        await stream.end()

    short = Limits(idle=1.5)
    async with internet.host(trickle), internet.agent(full=True, limits=short) as grant:
        async with connected(grant) as stream:
            await ask_tunnel(stream, grant, "a.example.com:443")
            assert await stream.reader.read() == b"." * 4
            assert grant.connections
        await until(lambda: not grant.connections)


async def test_an_idle_tunnel_is_closed(internet: Internet) -> None:
    short = Limits(idle=0.05)
    async with (
        internet.host(echo),
        internet.agent(full=True, limits=short) as grant,
        connected(grant) as stream,
    ):
        await ask_tunnel(stream, grant, "a.example.com:443")
        assert await read_all(stream) == b""


FEW = 4


async def open_tunnels(stack: AsyncExitStack, grant: EgressGrant, number: int) -> None:
    for _ in range(number):
        stream = await stack.enter_async_context(connected(grant))
        head = await ask_tunnel(stream, grant, "a.example.com:443")
        assert head.startswith(b"HTTP/1.1 200 ")


async def test_connections_of_a_grant_are_limited(internet: Internet) -> None:
    few = Limits(connections=FEW)
    async with internet.host(echo), internet.proxy(limits=few) as egress, AsyncExitStack() as stack:
        greedy, modest = (egress.grant(name, rules(full=True)) for name in ("greedy", "modest"))
        boxed_socket, port = listening()
        boxed = egress.grant("boxed", rules(full=True), port=port)
        await boxed.serve(boxed_socket)
        await open_tunnels(stack, greedy, FEW)
        await open_tunnels(stack, boxed, FEW)
        assert await connect_status(greedy, "a.example.com:443") == 503
        async with connected(boxed) as stream:
            assert (await read_all(stream)).startswith(b"HTTP/1.1 503 too many connections")
        assert await connect_status(modest, "a.example.com:443") == 200
        await stack.aclose()
        await until(lambda: not greedy.connections and not boxed.connections)
        assert await connect_status(greedy, "a.example.com:443") == 200
        assert await connect_status(boxed, "a.example.com:443") == 200


async def test_connections_of_all_grants_are_limited(internet: Internet) -> None:
    few = Limits(total=2 * FEW)
    async with internet.host(echo), internet.proxy(limits=few) as egress, AsyncExitStack() as stack:
        first, second = (egress.grant(name, rules(full=True)) for name in ("first", "second"))
        await open_tunnels(stack, first, FEW)
        await open_tunnels(stack, second, FEW)
        async with connected(second) as stream:
            assert (await read_all(stream)).startswith(b"HTTP/1.1 503 too many connections")
        first.close()
        await until(lambda: not first.connections)
        await open_tunnels(stack, second, 1)


async def test_connections_without_a_token_are_limited(internet: Internet) -> None:
    few = Limits(connections=FEW)
    async with internet.agent(full=True, limits=few) as grant, AsyncExitStack() as stack:
        for _ in range(FEW):
            await stack.enter_async_context(connected(grant))
        async with connected(grant) as stream:
            assert (await read_all(stream)).startswith(b"HTTP/1.1 503 too many connections")


async def test_lookups_of_a_grant_are_limited_even_if_it_has_left(internet: Internet) -> None:
    started, done = [], asyncio.Event()

    async def slow(host: str, port: int) -> Sequence[str]:
        started.append(host)
        await done.wait()
        return ["1.1.1.1"]

    egress = Egress(resolve=slow, connect=internet.connect, limits=Limits(connect=0.05))
    await egress.open()
    grant, other = egress.grant("a", rules(full=True)), egress.grant("b", rules(full=True))
    targets = [f"x{number}.example.com:443" for number in range(LOOKUPS_OF_A_GRANT + 3)]
    answers = await asyncio.gather(*(connect_status(grant, target) for target in targets))
    assert answers == [504] * len(targets)
    assert len(started) == LOOKUPS_OF_A_GRANT
    assert await connect_status(other, "y.example.com:443") == 504
    assert started[-1] == "y.example.com"
    done.set()
    await until(lambda: len(started) == len(targets) + 1)
    assert await connect_status(grant, "z.example.com:443") == 502
    await egress.close()


async def test_a_closed_grant_ends_its_connections_at_once(internet: Internet) -> None:
    ended = asyncio.Queue[bytes]()

    async def serve(stream: Stream) -> None:
        ended.put_nowait(await read_all(stream))

    async with internet.host(serve), internet.proxy() as egress:
        boxed_socket, port = listening()
        boxed = egress.grant("boxed", rules(full=True), port=port)
        await boxed.serve(boxed_socket)
        plain, other = (egress.grant(name, rules(full=True)) for name in ("plain", "other"))
        async with connected(boxed) as first, connected(plain) as second, connected(other) as third:
            for stream, grant in ((first, boxed), (second, plain), (third, other)):
                await ask_tunnel(stream, grant, "a.example.com:443")
            boxed.close()
            plain.close()
            assert await read_all(first) == await read_all(second) == b""
            assert [await ended.get(), await ended.get()] == [b"", b""]
            await third.send(b"goes on")
            await third.end()
            assert await ended.get() == b"goes on"
        with pytest.raises(OSError, match=r"."):
            await open_stream(*address_of(boxed))


async def test_a_socket_that_comes_after_the_end_is_closed(internet: Internet) -> None:
    async with internet.proxy() as egress:
        boxed_socket, port = listening()
        boxed = egress.grant("boxed", rules(full=True), port=port)
        boxed.close()
        await boxed.serve(boxed_socket)
        assert boxed_socket.fileno() == -1


async def test_a_grant_may_end_while_its_socket_is_opened(internet: Internet) -> None:
    async with internet.proxy() as egress:
        boxed_socket, port = listening()
        boxed = egress.grant("boxed", rules(full=True), port=port)
        serving = asyncio.ensure_future(boxed.serve(boxed_socket))
        await asyncio.sleep(0)
        boxed.close()
        await serving
        with pytest.raises(OSError, match=r"."):
            await open_stream("127.0.0.1", port)


async def test_a_grant_may_end_in_any_state(internet: Internet) -> None:
    """While the head arrives, the name is looked up, the connection is made, or data flows."""
    started = asyncio.Event()

    async def forever(_: str, __: int) -> Stream:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    internet.connect = forever
    async with internet.proxy() as egress:
        grant = egress.grant("a", rules(full=True))
        async with connected(grant) as stream:
            await stream.send(GET.replace(b"@\r\n", authorization(grant)))
            await started.wait()
            grant.close()
            assert await read_all(stream) == b""


async def test_closing_the_proxy_ends_everything(internet: Internet) -> None:
    async with internet.host(echo), internet.proxy() as egress:
        grant = egress.grant("a", rules(full=True))
        async with connected(grant) as tunnel, connected(grant) as silent:
            await ask_tunnel(tunnel, grant, "a.example.com:443")
            await silent.send(b"GET ")
            await egress.close()
            assert await read_all(tunnel) == await read_all(silent) == b""
        with pytest.raises(OSError, match=r"."):
            await open_stream(*address_of(grant))


async def test_a_grant_needs_a_port() -> None:
    egress = Egress()
    with pytest.raises(NotOpen):
        egress.grant("a", rules())
    assert ":4321" in egress.grant("a", rules(), port=4321).env["HTTPS_PROXY"]
    await egress.close()


async def test_the_variables_of_a_grant(internet: Internet) -> None:
    async with internet.agent() as grant:
        _, port = address_of(grant)
        address = f"http://agent:{grant.token}@127.0.0.1:{port}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        assert all(grant.env[name] == grant.env[name.lower()] == address for name in names)
        assert grant.env["NO_PROXY"] == grant.env["no_proxy"] == "127.0.0.1"


async def test_a_large_response_is_complete_for_a_slow_client(internet: Internet) -> None:
    """The end is sent after all data, and the connection is not closed before."""
    body = b"y" * (8 << 20)
    web = Web(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    async with internet.host(web), internet.agent(full=True) as grant:
        raw = socket.create_connection(address_of(grant))
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        raw.setblocking(False)
        loop = asyncio.get_running_loop()
        with raw:
            await loop.sock_sendall(raw, GET.replace(b"@\r\n", authorization(grant)))
            data = bytearray()
            while piece := await loop.sock_recv(raw, 1 << 12):
                data += piece
    assert data.endswith(b"\r\n\r\n" + body)


async def test_a_refused_client_may_still_be_sending(internet: Internet) -> None:
    async with internet.agent("a.example.com") as grant:
        body = b"z" * 500_000
        request = (
            b"POST http://b.example.com/ HTTP/1.1\r\nContent-Length: 500000\r\n@\r\n\r\n" + body
        )
        assert (await answer(grant, request)).startswith(b"HTTP/1.1 403 b.example.com is not in")
