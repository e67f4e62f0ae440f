"""Sockets that mean no good, or are served badly: they hold little, and are told what is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from server.live_server import LiveServer, live_server
from server.raw_sockets import RawWebSocket
from server.scripted_agent import prompt, text
from server.server_probe import ServerProbe
from server.socket_clients import RawPoll, SocketClients
from support.waiting import wait_until

JOIN = '42["session:join",{"sessionId":"c"}]'


@pytest.fixture
def alone(tmp_path: Path, agents: Path) -> Iterator[LiveServer]:
    """One with nobody else on it, that had nothing to complain of."""
    with live_server(tmp_path / "data", "--agents", agents) as server:
        yield server
        said = server.warnings.splitlines()
        assert [line for line in said if " INFO [" not in line] == []


def test_client_that_opens_connections_without_reading_uses_little_memory(
    http: httpx.Client, alone: LiveServer
) -> None:
    server_probe = ServerProbe(http, alone)
    with RawWebSocket(alone) as socket:
        socket.connect()
        packet = "40/" + "a" * 190 + ","
        assert socket.flood(packet, 200_000) < 200_000, "it is not listened to any more"
        assert server_probe.metric("mobox_sockets_held") < 400_000
        socket.abort()
    wait_until(lambda: server_probe.metric("mobox_sockets") == 0)


@pytest.mark.parametrize("packet", ["40/" + "a" * 1000 + ",", "42/" + "a" * 1000 + ',["a"]', "5"])
def test_invalid_packet_closes_a_websocket(strict: LiveServer, packet: str) -> None:
    with RawWebSocket(strict) as socket:
        socket.connect()
        socket.send(packet)
        assert socket.read() == ""


def test_a_namespace_that_is_not_there_is_refused(
    sockets: SocketClients, strict: LiveServer
) -> None:
    assert sockets.open(strict, path="/socket.io").refused is None
    with RawWebSocket(strict) as socket:
        socket.connect()
        socket.send("40/admin,", JOIN)
        assert socket.read().startswith("44/admin,")
        assert "session:joined" in socket.read(), "and the socket goes on"


def test_body_in_pieces_is_read(http: httpx.Client, strict: LiveServer) -> None:
    poll = RawPoll(http, strict)
    pieces = iter([JOIN[:10].encode(), JOIN[10:].encode()])
    answer = poll.send(pieces)
    assert "content-length" not in answer.request.headers
    assert answer.status_code == 200
    assert "session:joined" in poll.take().text


def test_client_may_leave_a_namespace_and_come_back(strict: LiveServer) -> None:
    with RawWebSocket(strict) as socket:
        socket.connect()
        socket.send(JOIN)
        assert "session:joined" in socket.read()
        socket.send("41", "40")
        assert socket.read().startswith('40{"sid"')
        socket.send('427["session:join",{"sessionId":"c"}]')
        assert "session:joined" in socket.read()
        assert socket.read().startswith("437[{")


def test_stalled_client_that_sends_and_leaves_receives_nothing_more(
    sockets: SocketClients, http: httpx.Client, alone: LiveServer
) -> None:
    """It sits where it waits for room, and nobody listens to it."""
    server_probe = ServerProbe(http, alone)
    speaker = sockets.open(alone)
    speaker.join("big")
    speaker.say("big", prompt(["flood", 1_500, 16_000]))
    speaker.events()
    speaker.close()
    with RawWebSocket(alone) as socket:
        socket.connect()
        socket.send('42["session:join",{"sessionId":"big"}]')
        wait_until(lambda: server_probe.metric("mobox_sockets_held") > 200_000)
        socket.send('42["session:leave",{"sessionId":"other"}]')
        socket.abort()
    wait_until(lambda: server_probe.metric("mobox_sockets") == 0, seconds=20)
    assert server_probe.metric("mobox_sessions") == 0


def test_concurrent_posts_are_handled_in_order(http: httpx.Client, alone: LiveServer) -> None:
    """A client that polls has one request at a time by which it speaks."""
    poll = RawPoll(http, alone)
    bodies = [
        "\x1e".join(f'42["session:join",{{"sessionId":"{body}-{n}"}}]' for n in range(90))
        for body in range(8)
    ]
    with ThreadPoolExecutor(len(bodies)) as posts:
        answers = list(posts.map(poll.send, bodies))
    assert {answer.status_code for answer in answers} <= {200, 400}
    assert ServerProbe(http, alone).metric("mobox_sessions") <= 100


def test_a_session_that_broke_off_does_not_count(
    sockets: SocketClients, http: httpx.Client, alone: LiveServer
) -> None:
    server_probe, socket = ServerProbe(http, alone), sockets.open(alone)
    for number in range(100):
        socket.join(f"c{number}")
    socket.say("c7", prompt(text("Hi")))
    socket.events()
    assert socket.join("one more")["error"]["code"] == "too_many_sessions"
    server_probe.delete("c7")
    socket.read("session:error")
    wait_until(lambda: server_probe.metric("mobox_sessions") == 99)
    assert "error" not in socket.join("one more")
    assert socket.join("c7")["error"]["code"] == "too_many_sessions"
    assert server_probe.metric("mobox_sessions") == 100
