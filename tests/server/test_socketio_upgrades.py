"""A client that polls and tries a WebSocket, which may come to nothing."""

from __future__ import annotations

import httpx
import pytest

from server.live_server import LiveServer
from server.raw_sockets import CuttingProxy, RawWebSocket
from server.scripted_agent import prompt, text
from server.socket_clients import RawPoll, SocketClients
from support.waiting import wait_until

JOIN = '42["session:join",{"sessionId":"c"}]'
MANY = 100_000
NOTHING = "6"
"""What a poll is answered that is to end."""


def taken(poll: RawPoll) -> str:
    """What a client is told that polls again as long as there is nothing."""
    polls = (poll.take().text for _ in range(MANY))
    return next(told for told in polls if told != NOTHING)


def test_the_real_client_goes_over_to_a_websocket(
    sockets: SocketClients, server: LiveServer, chat_id: str
) -> None:
    socket = sockets.open(server, transports=["polling", "websocket"])
    assert socket.join(chat_id)["status"] == "idle"
    socket.upgraded()
    assert "runId" in socket.say(chat_id, prompt(text("Hi")))
    assert socket.events()[-1]["type"] == "complete"


def test_the_real_client_goes_on_polling_where_websockets_break_off(
    sockets: SocketClients, server: LiveServer, chat_id: str
) -> None:
    with CuttingProxy(server) as proxy:
        socket = sockets.open(proxy, transports=["polling", "websocket"])
        wait_until(lambda: proxy.cut == 1)
        assert socket.join(chat_id)["status"] == "idle"
        socket.say(chat_id, prompt(text("Hi")))
        assert socket.events()[-1]["type"] == "complete"
        socket.close()


def test_silent_websocket_does_not_block_a_polling_client(
    http: httpx.Client, server: LiveServer
) -> None:
    poll = RawPoll(http, server)
    with RawWebSocket(server, sid=poll.sid):
        poll.send(JOIN)
        assert "session:joined" in poll.take().text


@pytest.mark.parametrize("says", [[], ["2probe"], ["x"], ["5"], ["40"], ["2probe", "2probe"]])
def test_polling_client_continues_when_the_websocket_fails(
    http: httpx.Client, server: LiveServer, says: list[str]
) -> None:
    poll = RawPoll(http, server)
    with RawWebSocket(server, sid=poll.sid) as other:
        other.send(*says)
        if says == ["2probe"]:
            assert other.read() == "3probe"
        other.abort()
    poll.send(JOIN)
    assert "session:joined" in taken(poll)


def test_silence_after_the_probe_is_no_upgrade(http: httpx.Client, server: LiveServer) -> None:
    poll = RawPoll(http, server)
    with RawWebSocket(server, sid=poll.sid) as other:
        other.send("2probe")
        assert other.read() == "3probe"
        poll.send(JOIN)
        assert other.read() == "", "it is hung up after a while"
        assert "session:joined" in taken(poll)


def test_a_client_goes_over_once(http: httpx.Client, server: LiveServer) -> None:
    poll = RawPoll(http, server)
    with RawWebSocket(server, sid=poll.sid) as first, RawWebSocket(server, sid=poll.sid) as second:
        first.send("2probe")
        assert first.read() == "3probe"
        second.send("2probe")
        assert second.read() == ""
        first.send("5", JOIN)
        told = [first.read()]
        while "session:joined" not in told[-1]:
            told.append(first.read())
        assert set(told[:-1]) <= {NOTHING}
