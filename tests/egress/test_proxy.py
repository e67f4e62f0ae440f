"""Real clients reach allowed hosts through the proxy, and learn why they do not reach others."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from egress.internet import (
    EXAMPLE,
    Internet,
    Web,
    answer,
    ask_tunnel,
    authorization,
    connect_status,
    connected,
    echo,
    status,
)
from mobox.egress import EgressGrant
from mobox.egress.connections import Limits
from mobox.egress.relay import Stream
from server.live_server import LIMIT

NAME = "api.example.com"


@pytest.fixture
def internet() -> Internet:
    return Internet()


def client(grant: EgressGrant, tls: ssl.SSLContext | bool = True) -> httpx.AsyncClient:
    return httpx.AsyncClient(proxy=grant.env["HTTPS_PROXY"], trust_env=False, verify=tls)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tls") / "both.pem"
    command: list[str | Path] = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-subj", f"/CN={NAME}",
               "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", made, "-out", "-"]  # fmt: skip
    shown = subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
    with made.open("ab") as file:
        file.write(shown.stdout)
    return made


async def test_plain_http_is_passed_on(internet: Internet) -> None:
    web = Web()
    async with internet.host(web), internet.agent(NAME) as grant, client(grant) as http:
        response = await http.get(f"http://{NAME}/path?query", headers={"X-Own": "1"})
    assert (response.status_code, response.text) == (200, "ok")
    (head,) = web.heads
    assert head.startswith(b"GET /path?query HTTP/1.1\r\nHost: api.example.com\r\n")
    assert b"x-own: 1" in head.lower()
    assert b"authorization" not in head.lower()
    assert internet.connected == [(EXAMPLE, 80)]


async def test_tls_goes_through_a_tunnel(internet: Internet, certificate: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    trusted = ssl.create_default_context(cafile=certificate)

    async def serve(stream: Stream) -> None:
        head = await stream.reader.readuntil(b"\r\n\r\n")
        assert b"proxy-authorization" not in head.lower()
        body = await stream.reader.readexactly(1 << 20)
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    body = os.urandom(1 << 20)
    async with (
        internet.host(serve, tls=tls),
        internet.agent(NAME) as grant,
        client(grant, trusted) as http,
    ):
        response = await http.post(f"https://{NAME}/", content=body)
    assert response.content == body
    assert internet.connected == [(EXAMPLE, 443)]


async def test_variables_are_enough_for_a_client_in_another_process(internet: Internet) -> None:
    program = (
        "import urllib.request as u, urllib.error\n"
        f"print(u.urlopen('http://{NAME}/').read())\n"
        "try: u.urlopen('https://other.example.com/')\n"
        "except urllib.error.URLError as error: print(error)"
    )
    async with internet.host(Web()), internet.agent(NAME) as grant:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, env=dict(grant.env), stdout=subprocess.PIPE
        )
        shown = (await process.communicate())[0].decode()
    assert "b'ok'" in shown
    assert "Tunnel connection failed: 403 other.example.com is not in `network`" in shown


async def test_refusals_name_host_and_agent(
    internet: Internet, caplog: pytest.LogCaptureFixture
) -> None:
    async with internet.agent(NAME) as grant, client(grant) as http:
        for _ in range(3):
            plain = await http.get("http://api.github.com/")
        with pytest.raises(httpx.ProxyError, match=r"403 api.github.com is not in `network`"):
            await http.get("https://api.github.com/")
        other_port = await http.get(f"http://{NAME}:8080/")
    assert plain.status_code == 403
    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    assert plain.text == (
        "api.github.com is not in `network` of agent research:"
        " add api.github.com there if the agent may connect to it\n"
    )
    assert other_port.text.startswith("port 8080 of api.example.com is not in `network`")
    assert "add api.example.com:8080 there" in other_port.text
    assert internet.looked_up == []  # a name can carry data out
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3  # one for each host and port
    assert lines[0].startswith("agent research: network connection refused: api.github.com is not")
    assert "mbe_" not in caplog.text


async def test_hosts_that_cannot_be_reached(internet: Internet) -> None:
    async with internet.agent(full=True) as grant, client(grant) as http:
        refused = await http.get("http://down.example.com/")
        unknown = await http.get("http://gone.invalid/")
    assert refused.status_code == unknown.status_code == 502
    assert refused.text == "cannot connect to down.example.com:80: Connection refused\n"
    assert unknown.text == "cannot connect to gone.invalid:80: Name or service not known\n"


async def test_a_host_that_does_not_answer_is_given_up(internet: Internet) -> None:
    async def never(address: str, port: int) -> Stream:
        await asyncio.Event().wait()
        raise AssertionError

    internet.connect = never
    async with (
        internet.agent(full=True, limits=Limits(connect=0.05)) as grant,
        client(grant) as http,
    ):
        response = await http.get("http://slow.example.com/")
    assert response.status_code == 504
    assert response.text == "slow.example.com:80 did not answer in 0.05 seconds\n"


async def test_the_next_address_is_tried(internet: Internet) -> None:
    internet.names[NAME] = [["2606:4700::1", EXAMPLE]]
    async with internet.host(Web()), internet.agent(NAME) as grant, client(grant) as http:
        assert (await http.get(f"http://{NAME}/")).text == "ok"
    assert internet.connected == [("2606:4700::1", 80), (EXAMPLE, 80)]


async def test_an_address_that_hangs_does_not_delay_the_others(internet: Internet) -> None:
    internet.names[NAME] = [["2606:4700::1", EXAMPLE]]
    usual, ended = internet.connect, asyncio.Event()

    async def hanging(address: str, port: int) -> Stream:
        if ":" in address:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
        return await usual(address, port)

    internet.connect = hanging
    async with internet.host(Web()), internet.agent(NAME) as grant, client(grant) as http:
        assert (await http.get(f"http://{NAME}/")).text == "ok"
        await ended.wait()


async def test_bodies_of_all_kinds_arrive(internet: Internet) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"one", b"two" * 50_000, b"three"):
            yield piece

    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;extension=1\r\nabc\r\n1\r\nd\r\n0\r\nTrailer: x\r\n\r\n"
    )
    web = Web(chunked)
    async with internet.host(web), internet.agent(NAME) as grant, client(grant) as http:
        url = f"http://{NAME}/"
        posted = await http.post(url, content=pieces())
        assert posted.content == b"abcd"
        assert "trailer" not in posted.headers
        assert web.bodies[0] == (
            b"3\r\none\r\n249f0\r\n" + b"two" * 50_000 + b"\r\n5\r\nthree\r\n0\r\n\r\n"
        )
        web.response = b"HTTP/1.0 200 OK\r\n\r\nuntil the end"
        assert (await http.put(url, content=b"x" * 300_000)).text == "until the end"
        assert web.bodies[1] == b"x" * 300_000
        web.response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        assert (await http.head(url)).headers["content-length"] == "5"
        web.response = b"HTTP/1.1 204 No Content\r\n\r\n"
        assert (await http.delete(url)).status_code == 204
        web.response = (
            b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        )
        assert (await http.get(url)).status_code == 200


async def test_a_client_without_chunks_gets_the_body_as_it_is(internet: Internet) -> None:
    web = Web(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    async with internet.host(web), internet.agent(NAME) as grant:
        shown = await answer(grant, b"GET http://api.example.com/ HTTP/1.0\r\n@\r\n\r\n")
    head, _, body = shown.partition(b"\r\n\r\n")
    assert body == b"abc"
    assert b"chunked" not in head


async def test_a_client_may_wait_for_100_continue(internet: Internet) -> None:
    async def serve(stream: Stream) -> None:
        assert b"Expect: 100-continue" in await stream.reader.readuntil(b"\r\n\r\n")
        await stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert await stream.reader.readexactly(4) == b"body"
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    request = (
        b"POST http://api.example.com/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n"
    )
    async with internet.host(serve), internet.agent(NAME) as grant, connected(grant) as stream:
        await stream.send(request + authorization(grant) + b"\r\n")
        assert (await stream.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 Continue")
        await stream.send(b"body")
        assert (await stream.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK")


async def test_an_early_response_arrives_although_the_request_is_not_complete(
    internet: Internet,
) -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig"
    web = Web(refusal, is_early=True)
    request = b"POST http://api.example.com/ HTTP/1.1\r\nContent-Length: 999999999\r\n@\r\n\r\nsome"
    async with internet.host(web), internet.agent(NAME) as grant:
        shown = await answer(grant, request)
    assert shown.startswith(b"HTTP/1.1 413 Too Large\r\n")
    assert shown.endswith(b"big")


async def test_a_response_that_breaks_off_is_a_break(internet: Internet) -> None:
    web = Web(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
    async with internet.host(web), internet.agent(NAME) as grant, client(grant) as http:
        with pytest.raises(httpx.RemoteProtocolError):
            await http.get(f"http://{NAME}/")
        web.response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcXX0\r\n\r\n"
        with pytest.raises(httpx.RemoteProtocolError):
            await http.get(f"http://{NAME}/")


RESPONSES = [
    b"",
    b"SSH-2.0-OpenSSH_9\r\n",
    b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
    b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n",
]


@pytest.mark.parametrize("response", RESPONSES, ids=range(len(RESPONSES)))
async def test_invalid_responses_are_not_passed_on(internet: Internet, response: bytes) -> None:
    async with internet.host(Web(response)), internet.agent(NAME) as grant:
        shown = await answer(grant, b"GET http://api.example.com/ HTTP/1.1\r\n@\r\n\r\n")
    assert b"HTTP/1.1 502 invalid response of api.example.com" in shown


async def test_both_directions_of_a_tunnel_end_by_themselves(internet: Internet) -> None:
    async with internet.host(echo), internet.agent(NAME) as grant, connected(grant) as stream:
        head = await ask_tunnel(stream, grant, f"{NAME}:443")
        assert head == b"HTTP/1.1 200 Connection established\r\n\r\n"
        await stream.send(b"before")
        assert await stream.reader.readexactly(6) == b"before"
        await stream.send(b"after" * 100_000)
        await stream.end()
        assert await stream.reader.read() == b"after" * 100_000


async def test_a_server_may_end_before_its_client(internet: Internet) -> None:
    received = asyncio.Queue[bytes]()

    async def serve(stream: Stream) -> None:
        await stream.send(b"bye")
        await stream.end()
        received.put_nowait(await stream.reader.read())

    async with internet.host(serve), internet.agent(NAME) as grant, connected(grant) as stream:
        await ask_tunnel(stream, grant, f"{NAME}:443")
        assert await stream.reader.read() == b"bye"
        await stream.send(b"still here")
        await stream.end()
        assert await received.get() == b"still here"


async def test_bytes_sent_with_the_request_belong_to_the_tunnel(internet: Internet) -> None:
    async with internet.host(echo), internet.agent(NAME) as grant, connected(grant) as stream:
        request = b"CONNECT api.example.com:443 HTTP/1.1\r\n" + authorization(grant)
        await stream.send(request + b"\r\nhello")
        await stream.reader.readuntil(b"\r\n\r\n")
        assert await stream.reader.readexactly(5) == b"hello"


async def test_full_allows_public_hosts_on_all_ports_but_25(internet: Internet) -> None:
    async with internet.host(echo), internet.agent(full=True) as grant:
        assert await connect_status(grant, "git.example.com:22") == 200
        assert await connect_status(grant, f"{EXAMPLE}:443") == 200
        assert await connect_status(grant, "mail.example.com:25") == 403


async def test_a_proxy_serves_no_pages_of_its_own(internet: Internet) -> None:
    async with internet.agent(full=True) as grant:
        assert await status(grant, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n@\r\n\r\n") == 400
        assert await status(grant, b"OPTIONS * HTTP/1.1\r\n@\r\n\r\n") == 400
