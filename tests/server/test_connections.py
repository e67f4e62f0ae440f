"""Requests that are too large or too slow are closed before any other code of the server."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from server.live_server import LIMIT, LiveServer, live_server
from support.waiting import wait_until

AGENTS = Path(__file__).parents[2] / "agents"
SECONDS = 1.0
POST = b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("connections")
    options = ("--agents", AGENTS, "--agent", "demo", "--request-timeout", str(SECONDS))
    with live_server(folder / "data", *options) as server:
        yield server


def connect(server: LiveServer) -> socket.socket:
    address = urlsplit(server.url)
    return socket.create_connection((address.hostname, address.port), LIMIT)


def read(connection: socket.socket) -> bytes:
    """All until the server closes the connection."""
    data = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(1 << 16):
            data += piece
    return data


def refused(server: LiveServer, reason: str) -> int:
    for line in httpx.get(f"{server.url}/metrics").text.splitlines():
        if line.startswith(f'mobox_connections_refused_total{{reason="{reason}"}}'):
            return int(line.rpartition(" ")[2])
    return 0


def test_a_header_without_an_end_is_refused_at_the_limit(server: LiveServer) -> None:
    before = refused(server, "headers_too_large")
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        sent = 0
        with suppress(ConnectionError):
            while sent < 8 << 20:
                connection.sendall(b"a" * 4096)
                sent += 4096
    assert sent < 8 << 20
    assert refused(server, "headers_too_large") == before + 1


@pytest.mark.parametrize(
    "headers",
    [b"X: " + b"a" * 70_000, b"\r\n".join(b"X-%d: 1" % n for n in range(10_000))],
    ids=["one", "many"],
)
def test_complete_headers_are_refused_above_the_limit(server: LiveServer, headers: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n\r\n")
        assert read(connection).startswith(b"HTTP/1.1 431 ")


def test_headers_below_the_limit_and_their_body_are_accepted(server: LiveServer) -> None:
    headers = {"x-long": "a" * 60_000, "content-type": "application/json"}
    body = b'{"padding": "' + b"b" * 1_000_000 + b'"}'
    with httpx.Client(base_url=server.url) as client:
        for _ in range(3):  # on one connection
            assert client.get("/healthz", headers=headers).status_code == 200
            assert client.post("/api/chat", content=body, headers=headers).status_code == 400
            assert client.get("/healthz", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "slow_headers"),
        (b"GET / HTTP/1.1\r\nHost: loc", "slow_headers"),
        (POST + b"Content-Length: 100\r\n\r\n{", "slow_body"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "slow_body"),
    ],
    ids=["nothing", "half of the headers", "half of the body", "one chunk"],
)
def test_an_incomplete_request_is_closed(server: LiveServer, sent: bytes, reason: str) -> None:
    before = refused(server, reason)
    with connect(server) as connection:
        connection.sendall(sent)
        response = read(connection)
    assert response.startswith(b"HTTP/1.1 408 ") is bool(sent), response
    assert refused(server, reason) == before + 1


def test_empty_lines_after_a_response_do_not_keep_a_connection_open(server: LiveServer) -> None:
    before = refused(server, "slow_headers")
    with connect(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"\r\n")
        assert read(connection).endswith(b"The request did not arrive in time.\n")
    assert refused(server, "slow_headers") == before + 1


def test_bytes_that_trickle_do_not_keep_a_connection_open(server: LiveServer) -> None:
    with connect(server) as connection:
        connection.sendall(POST + b"Content-Length: 100000\r\n\r\n")
        connection.settimeout(0.1)
        started, response = time.monotonic(), b""
        while not response and time.monotonic() - started < LIMIT:
            with suppress(TimeoutError):
                connection.send(b" ")
                response = connection.recv(1 << 16)
    assert response.startswith(b"HTTP/1.1 408 ")


def test_a_slow_body_that_goes_on_is_read_to_its_end(server: LiveServer) -> None:
    body = b'{"padding": "' + b"b" * 20_000 + b'"}'
    with connect(server) as connection:
        connection.sendall(POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
        started = time.monotonic()
        for at in range(0, len(body), 2000):
            connection.sendall(body[at : at + 2000])
            time.sleep(0.3)  # a slow client
        assert time.monotonic() - started > 2 * SECONDS
        assert read(connection).startswith(b"HTTP/1.1 400 ")


def test_streams_and_idle_connections_stay_open(server: LiveServer) -> None:
    with httpx.Client(base_url=server.url, timeout=LIMIT) as client:
        assert client.get("/healthz").status_code == 200
        body = {
            "id": "slow",
            "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "slow"}]},
        }
        with client.stream("POST", "/api/chat", json=body) as response:
            started = time.monotonic()
            for _ in response.iter_bytes():
                if time.monotonic() - started > 2.5 * SECONDS:
                    break
            else:
                pytest.fail("the stream ended early")


def test_many_half_open_connections_leave_room_and_are_logged_once(tmp_path: Path) -> None:
    with (
        live_server(tmp_path / "data", "--request-timeout", str(SECONDS)) as server,
        ExitStack() as stack,
    ):
        for _ in range(200):
            stack.enter_context(connect(server)).sendall(b"GET / HTTP/1.1\r\n")
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        wait_until(lambda: refused(server, "slow_headers") == 200)
        lines = [line for line in server.warnings.splitlines() if "closed connections" in line]
        assert len(lines) == 1
        assert "slow_headers: " in lines[0]
