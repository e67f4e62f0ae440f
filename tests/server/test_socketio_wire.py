"""What no client should say over a socket breaks nothing, and is no error of ours."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import httpx
import pytest

from mobox.delivery.socketio_packets import BAD, EventPayload, Packet
from server.live_server import LIMIT, LiveServer
from server.scripted_agent import prompt, text
from server.socket_clients import RawPoll, SocketClients
from support.ai_sdk_client import CLIENTS

PAGE = Path(__file__).parents[2] / "docs" / "socketio.md"

NO_EVENTS = [
    "42",
    "42{}",
    "42[]",
    "42[1]",
    "42[",
    "42nonsense",
    '42[["a"]]',
    '42["connect"]',
    '42["disconnect","why"]',
    '42[""]',
    '43["an answer to nothing"]',
    '44{"message":"refused"}',
    '451-["chat:message",{"_placeholder":true,"num":0}]',
    "461-[]",
    "42" + "[" * 100_000,
    "42" + "9" * 5_000,
]
"""Packets of Engine.IO that are no events."""

NO_PACKETS = ["", "x", "7", "4", "4x", "0", "2", "6", "bAAAA", "4[[", "2" + "[" * 100_000, "٤٢"]

JOIN = '42["session:join",{"sessionId":"c"}]'


@pytest.mark.parametrize("packet", NO_EVENTS, ids=lambda packet: packet[:20])
def test_packet_without_event_is_rejected(
    sockets: SocketClients, strict: LiveServer, packet: str
) -> None:
    socket = sockets.open(strict)
    socket.send_raw(packet)
    [told] = socket.read("session:error")
    assert (told["sessionId"], told["error"]["code"]) == (None, "invalid_request")
    assert socket.join("c")["status"] == "idle", "and the socket goes on"
    socket.close()


@pytest.mark.parametrize("packet", NO_PACKETS, ids=lambda packet: packet[:20])
def test_socket_with_another_protocol_is_closed(
    sockets: SocketClients, strict: LiveServer, packet: str
) -> None:
    socket = sockets.open(strict, reconnection=False)
    socket.send_raw(packet)
    assert "transport" in socket.gone()


@pytest.mark.parametrize("packet", NO_EVENTS, ids=lambda packet: packet[:20])
def test_the_same_is_true_of_one_that_polls(
    http: httpx.Client, strict: LiveServer, packet: str
) -> None:
    poll = RawPoll(http, strict)
    assert poll.send(packet).status_code == 200
    told = poll.take().text
    assert told.startswith('42["session:error",')
    assert json.loads(told[2:])[1]["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("body", [*NO_PACKETS[1:], b"\xff", "\x1e".join(["3"] * 101)],
                         ids=lambda body: str(body[:20]))  # fmt: skip
def test_a_body_that_is_no_packets_is_refused_and_the_socket_goes_on(
    http: httpx.Client, strict: LiveServer, body: str | bytes
) -> None:
    poll = RawPoll(http, strict)
    assert poll.send(body).status_code == 400
    assert poll.send(JOIN).status_code == 200
    assert '"session:joined"' in poll.take().text


def test_many_packets_may_come_at_once(http: httpx.Client, strict: LiveServer) -> None:
    poll = RawPoll(http, strict)
    joins = [f'42{n}["session:join",{{"sessionId":"c{n}"}}]' for n in range(50)]
    assert poll.send("\x1e".join(joins)).status_code == 200
    packets = poll.take().text.split("\x1e")
    assert [packet[:2] for packet in packets] == ["42", "43"] * 50, "each is answered, in order"


def test_a_client_that_waits_for_an_answer_gets_it_also_to_nonsense() -> None:
    packet = Packet(encoded_packet='27["connect"]')
    assert (packet.id, packet.data[0]) == (7, BAD)
    assert packet.data[1].wants_answer
    named = Packet(encoded_packet='2/admin,7["a",{"b":1},2]')
    assert (named.namespace, named.id, named.data) == (
        "/admin",
        7,
        ["a", EventPayload({"b": 1}, True)],
    )
    assert Packet(encoded_packet=b"binary").data[0] == BAD


def test_bodies_are_text_and_nothing_else(http: httpx.Client, strict: LiveServer) -> None:
    poll = RawPoll(http, strict)
    assert poll.send(JOIN, "application/json").status_code == 415
    assert poll.send(JOIN, "application/x-www-form-urlencoded").status_code == 415


def test_no_script_of_another_page_reads_along(http: httpx.Client, strict: LiveServer) -> None:
    assert RawPoll(http, strict, j="0").opening.startswith('0{"sid"'), "not a call of a function"
    headers = {"sec-fetch-site": "cross-site"}
    url = f"{strict.url}/socket.io/?EIO=4&transport=polling"
    assert http.get(url, headers=headers).status_code == 403


def test_unknown_socket_is_rejected(http: httpx.Client, strict: LiveServer) -> None:
    url = f"{strict.url}/socket.io/?EIO=4&transport=polling&sid=nobody"
    assert http.get(url).status_code == 400
    assert http.post(url, content="3", headers={"content-type": "text/plain"}).status_code == 400
    gone = RawPoll(http, strict)
    assert gone.send("1").status_code == 200  # goodbye
    assert gone.send("3").status_code == 400


def example(server: LiveServer, chat_id: str, words: str) -> tuple[str, str]:
    """What the page shows, up to where something is said, and from there on."""
    found = re.search(r"```js\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    shown = (
        found[1].replace("http://127.0.0.1:8000", server.url).replace('"c1"', json.dumps(chat_id))
    )
    begins, says, rest = shown.replace('"Hello"', json.dumps(words)).partition("const { runId")
    return begins, says + rest


def run_node(node: str, *script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [node, "--input-type=module", "-e", "\n".join(script)],
        cwd=CLIENTS, capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip


def test_the_example_of_the_page_works(node: str, strict: LiveServer, chat_id: str) -> None:
    begins, says = example(strict, chat_id, prompt(text("Hello to you")))
    heard = """
    const told = [];
    const isOver = new Promise((over) => {
      socket.on("agent:event", (event) => told.push(event) && event.type === "complete" && over());
    });
    """
    ending = """
    await isOver;
    const { content, messageId } = told.find((event) => event.type === "message");
    const isCounted = last === told.at(-1).eventIndex;
    console.log(JSON.stringify({ content, error, isCounted, isIt: messageId === runId }));
    socket.close();"""
    done = run_node(node, begins, heard, says, ending)
    assert done.stderr == ""
    shown = {"content": "Hello to you", "isCounted": True, "isIt": True}
    assert json.loads(done.stdout) == shown


def test_the_example_of_the_page_survives_a_break_before_the_answer(
    node: str, strict: LiveServer, chat_id: str
) -> None:
    begins, _ = example(strict, chat_id, "")
    breaks = """
    let connects = 0;
    socket.on("connect", () => connects++ || socket.io.engine.close()); // it has asked by then
    await new Promise((joined) => socket.on("session:joined", joined));
    console.log(connects);
    socket.close();"""
    done = run_node(node, begins, breaks)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_example_of_the_page_names_the_error(node: str, strict: LiveServer, chat_id: str) -> None:
    begins, _ = example(strict, chat_id, "")
    asks = """
    last = 7;
    const said = new Promise((resolve) => (console.error = resolve));
    console.log(await said);
    socket.close();"""
    done = run_node(node, begins, asks)
    assert (done.returncode, done.stderr) == (0, "")
    assert "7" in done.stdout
