"""Two servers on one database, which a Valkey joins; neither looks for what the other did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from server.live_server import LiveServer, live_server, loading_first, message
from server.scripted_agent import Gate, a_day_of_work, prompt, text
from server.server_probe import ServerProbe
from server.socket_clients import SocketClients
from support.valkey_server import Valkey
from support.waiting import wait_until

NOBODY_LOOKS = """
from msgspec.structs import replace

import mobox.cli.serve as command

read = command.read_settings
command.read_settings = lambda *given: replace(read(*given), poll_seconds=3600, look=3600)
"""
"""What a server loads before all else."""


class Two(NamedTuple):
    """Two servers that hear each other."""

    one: LiveServer
    two: LiveServer


def health(http: httpx.Client, server: LiveServer, path: str = "/healthz") -> dict[str, str | None]:
    answer = http.get(server.url + path)
    assert answer.status_code == 200
    told: dict[str, str | None] = answer.json()
    return told


@pytest.fixture(scope="module")
def servers(
    agents: Path, tmp_path_factory: pytest.TempPathFactory, valkey: Valkey, http: httpx.Client
) -> Iterator[Two]:
    folder = tmp_path_factory.mktemp("two")
    patient = loading_first(folder, NOBODY_LOOKS)
    given = ("--agents", agents, "--redis-url", valkey.url)
    with (
        live_server(folder / "data", *given, PYTHONPATH=patient) as one,
        live_server(folder / "data", *given, PYTHONPATH=patient) as two,
    ):
        wait_until(lambda: {health(http, server)["status"] for server in (one, two)} == {"ok"})
        yield Two(one, two)


def test_socket_of_one_server_receives_runs_started_on_the_other(
    servers: Two, sockets: SocketClients, http: httpx.Client, chat_id: str
) -> None:
    socket = sockets.open(servers.two)
    assert socket.join(chat_id)["status"] == "idle"
    there = sockets.open(servers.one)
    there.join(chat_id)
    runs = [there.say(chat_id, prompt(*a_day_of_work(2)))["runId"]]
    whole = ServerProbe(http, servers.one).events(*runs)
    assert socket.read("agent:event", len(whole)) == whole
    runs.append(there.say(chat_id, prompt(text("More")))["runId"])
    whole = ServerProbe(http, servers.one).events(*runs)
    assert socket.read("agent:event", len(whole)) == there.read("agent:event", len(whole)) == whole


def test_a_run_of_one_server_is_stopped_by_the_other(
    servers: Two, sockets: SocketClients, http: httpx.Client, chat_id: str, gate: Gate
) -> None:
    socket = sockets.open(servers.two)
    socket.join(chat_id)
    there = sockets.open(servers.one)
    run_id = there.say(chat_id, prompt(text("One"), gate.step, text("never")))["runId"]
    socket.read("agent:event", 2)
    assert socket.ask("chat:stop", {"sessionId": chat_id})["runId"] == run_id
    events = socket.events()
    assert events == ServerProbe(http, servers.two).events(run_id)
    assert "never" not in str(events)


def test_response_of_one_server_has_what_the_other_writes(
    servers: Two, http: httpx.Client, chat_id: str, gate: Gate
) -> None:
    body = message(chat_id, prompt(text("One"), gate.step, text("more")))
    with http.stream("POST", f"{servers.one.url}/api/chat", json=body) as first:
        run_id = first.headers["x-mobox-run"]
        path = f"{servers.two.url}/api/chat/{chat_id}/stream"
        with http.stream("GET", path, params={"run": run_id}) as second:
            lines = second.iter_lines()
            while "One" not in next(lines):
                pass
            gate.open()
            assert [line for line in lines if "more" in line]
        whole = first.read()
    assert http.get(path, params={"run": run_id}).content == whole


def test_server_without_valkey_reports_it_and_continues(
    agents: Path, tmp_path: Path, own_valkey: Valkey, http: httpx.Client
) -> None:
    given = ("--agents", agents, "--redis-url", own_valkey.url)
    with live_server(tmp_path / "data", *given) as server:
        server_probe = ServerProbe(http, server)
        wait_until(lambda: health(http, server)["status"] == "ok")
        assert server_probe.metric("mobox_wake_ups") == 1
        own_valkey.kill()
        wait_until(lambda: health(http, server)["status"] == "degraded")
        for path in ("/healthz", "/readyz"):
            assert "polling the database" in str(health(http, server, path)["problem"])
        assert server_probe.metric("mobox_wake_ups") == 0
        server_probe.say("chat", prompt(text("Hi")))
        own_valkey.recover()
        wait_until(lambda: health(http, server, "/readyz")["status"] == "ok")
        assert server_probe.metric("mobox_wake_ups") == 1
