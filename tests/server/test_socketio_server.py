"""Sockets and the server around them: other protocols, slow readers, ends of all kinds."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.ag_ui_clients import COPILOTKIT, AGUIFrontend, AGUIPages
from server.chat_clients import ChatClients, Frontend
from server.live_server import LiveServer, live_server
from server.scripted_agent import Gate, a_day_of_work, prompt, text
from server.server_probe import ServerProbe
from server.socket_clients import Json, RawPoll, SocketClients
from support.waiting import wait_until

each_transport = pytest.mark.parametrize("transport", ["websocket", "polling"])


def text_of_parts(message: Json) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def text_of_events(events: list[Json]) -> str:
    return "".join(event["content"] for event in events if event["type"] == "message")


def text_of_frames(frames: list[Json]) -> str:
    chunks = [frame["data"] for frame in frames if frame["data"] != "[DONE]"]
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


def test_run_started_with_the_ai_sdk_is_watched_by_sockets_and_ag_ui_at_once(
    sockets: SocketClients,
    clients: ChatClients,
    agui_pages: AGUIPages,
    http: httpx.Client,
    server: LiveServer,
    chat_id: str,
    gate: Gate,
) -> None:
    page = Frontend(clients, http, server, "ai", "v7").open(chat_id)
    work = prompt(*a_day_of_work(1), gate.step, *a_day_of_work(2)[len(a_day_of_work(1)) :])
    page.begin("sendMessage", {"text": work})
    page.read(10)
    events, frames = sockets.open(server), sockets.open(server, "polling")
    assert events.join(chat_id)["status"] == "running"
    assert frames.join(chat_id, format="ai-sdk")["status"] == "running"
    watcher = AGUIFrontend(agui_pages, http, server, COPILOTKIT).open(chat_id)
    watcher.begin(call="connect")
    watcher.read(3)
    gate.open()
    shown = text_of_parts(page.settle().messages[-1])
    assert shown
    assert text_of_events(events.events()) == shown
    assert text_of_frames(frames.frames()) == shown
    answers = [each for each in watcher.settle().messages if each["role"] == "assistant"]
    assert "".join(each.get("content") or "" for each in answers) == shown


@each_transport
def test_a_page_of_another_origin_comes_in_where_that_is_listed(
    sockets: SocketClients, http: httpx.Client, tmp_path: Path, agents: Path, transport: str
) -> None:
    page = {"origin": "https://page.example"}
    listed = ("--agents", agents, "--allowed-origins", page["origin"])
    with live_server(tmp_path / "data", *listed) as server:
        assert sockets.open(server, transport, extraHeaders=page).refused is None
        other = {"origin": "https://other.example"}
        assert sockets.open(server, transport, extraHeaders=other).refused
        url = f"{server.url}/socket.io/?EIO=4&transport=polling"
        told = http.get(url, headers=page).headers
        assert told["access-control-allow-origin"] == page["origin"]
        assert told["cache-control"] == "no-store"
        assert http.get(url, headers=other).status_code == 403


# Ends of all kinds


@each_transport
def test_socket_that_leaves_receives_nothing_more(
    sockets: SocketClients, http: httpx.Client, tmp_path: Path, agents: Path, transport: str
) -> None:
    with live_server(tmp_path / "data", "--agents", agents) as server:
        server_probe = ServerProbe(http, server)
        socket, stays = sockets.open(server, transport), sockets.open(server)
        for number in range(3):
            socket.join(f"c{number}")
        stays.join("c0")
        assert (server_probe.metric("mobox_sockets"), server_probe.metric("mobox_sessions")) == (
            2,
            4,
        )
        socket.close()
        wait_until(lambda: server_probe.metric("mobox_sessions") == 1)
        assert server_probe.metric("mobox_sockets") == 1
        assert stays.say("c0", prompt(text("Hi")))
        stays.events()
        answers = 'mobox_socket_answers_total{event="%s",outcome="%s"}'
        assert server_probe.metric(answers % ("session:join", "ok")) == 4
        stays.ask("chat:shout")
        assert server_probe.metric(answers % ("other", "invalid_request")) == 1
        stays.close()
        assert server.warnings == ""


def test_a_poll_that_breaks_off_is_a_socket_that_left(
    http: httpx.Client, tmp_path: Path, agents: Path
) -> None:
    with live_server(tmp_path / "data", "--agents", agents) as server:
        server_probe = ServerProbe(http, server)
        poll = RawPoll(http, server)
        poll.send('42["session:join",{"sessionId":"c"}]')
        assert server_probe.metric("mobox_sessions") == 1
        poll.take()  # what it was told so far, so that the next one waits
        with pytest.raises(httpx.ReadTimeout):
            poll.take(timeout=0.5)
        wait_until(lambda: server_probe.metric("mobox_sessions") == 0)
        assert server_probe.metric("mobox_sockets") == 0
        assert server.warnings == ""


@each_transport
def test_draining_server_sends_sockets_the_end_of_their_runs(
    sockets: SocketClients, tmp_path: Path, agents: Path, gate: Gate, transport: str
) -> None:
    with live_server(tmp_path / "data", "--agents", agents) as server:
        socket = sockets.open(server, transport, reconnection=False)
        socket.join("c")
        socket.say("c", prompt(text("One"), gate.step))
        gate.wait()
        server.signal(signal.SIGTERM)
        assert socket.events()[-1]["stop_reason"] == "interrupted"
        assert "transport" in socket.gone()
        assert server.wait() == 0
        assert server.warnings == ""


@pytest.mark.parametrize("name", ["agent-event", "ai-sdk"])
def test_client_reconnecting_after_a_server_kill_has_lost_nothing(
    sockets: SocketClients,
    http: httpx.Client,
    tmp_path: Path,
    agents: Path,
    gate: Gate,
    name: str,
) -> None:
    data = tmp_path / "data"
    event = "agent:event" if name == "agent-event" else "agent:frame"
    with live_server(data, "--agents", agents, "--lease", "1") as server:
        socket = sockets.open(server, reconnection=False)
        socket.join("c", format=name)
        run_id = socket.say("c", prompt(*a_day_of_work(2), gate.step, text("Never")))["runId"]
        gate.wait()
        there = ServerProbe(http, server).told(run_id, name, live="off")
        before = socket.read(event, len(there))
        server.kill()
        socket.gone()
    with live_server(data, "--agents", agents, "--lease", "1") as server:
        again = sockets.open(server)
        last = before[-1]
        place = (
            {"lastEventIndex": last["eventIndex"]}
            if name == "agent-event"
            else {"after": {"runId": run_id, "cursor": last["cursor"]}}
        )
        assert "error" not in again.join("c", format=name, **place)
        rest = again.read(event, last="error")  # the reaper's word for a run that was lost
        whole = ServerProbe(http, server).told(run_id, name)
        rest = again.read(event, len(whole) - len(before))
    told = [_told(each, name) for each in before + rest]
    assert told == [document for _, document in whole]


def _told(each: Json, name: str) -> Any:
    return each if name == "agent-event" else each["data"]


# Slow and hostile clients


def test_a_socket_that_takes_nothing_holds_little_and_misses_nothing(
    sockets: SocketClients, http: httpx.Client, tmp_path: Path, agents: Path, gate: Gate
) -> None:
    """More is said than the machine's own buffers hold."""
    with live_server(tmp_path / "data", "--agents", agents) as server:
        server_probe = ServerProbe(http, server)
        socket, speaker = sockets.open(server), sockets.open(server)
        socket.join("c")
        run_id = speaker.say("c", prompt(gate.step, ["flood", 1_500, 16_000]))["runId"]
        socket.pause()
        gate.open()
        whole = server_probe.events(run_id)
        wait_until(lambda: server_probe.metric("mobox_sockets_held") > 0)
        assert server_probe.metric("mobox_sockets_held") < 400_000
        socket.go_on()
        assert socket.read("agent:event", len(whole)) == whole
        assert server.warnings == ""
