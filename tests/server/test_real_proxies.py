"""nginx and Caddy before two servers, set up as docs/deployment.md says."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.live_server import LIMIT, WANTS_JSON, LiveServer, live_server, loading_first, message
from server.proxies import NAME, PROXIES, Proxy, running_proxy
from server.scripted_agent import Gate, a_day_of_work, prompt, text
from server.server_probe import ServerProbe
from server.socket_clients import SocketClients
from support.valkey_server import Valkey
from support.waiting import wait_until

PATIENCE = 4
"""Seconds of silence after which a proxy gives up that is less patient than the one of the page."""
BEAT = 0.5
SOONER = f"""
from functools import partial

import mobox.server.app as app

app.Heartbeats = partial(app.Heartbeats, {BEAT})
"""
"""What a server loads before all else: it is to be heard more often than is usual."""


@pytest.fixture(scope="module")
def servers(
    agents: Path, tmp_path_factory: pytest.TempPathFactory, valkey: Valkey
) -> Iterator[list[LiveServer]]:
    folder = tmp_path_factory.mktemp("behind")
    path = loading_first(folder, SOONER)
    data = folder / "data"
    given = ("--agents", agents, "--allowed-hosts", NAME, "--redis-url", valkey.url)
    with (
        live_server(data, *given, PYTHONPATH=path) as one,
        live_server(data, *given, PYTHONPATH=path) as two,
    ):
        yield [one, two]


@pytest.fixture(scope="module", params=PROXIES)
def proxy(
    request: pytest.FixtureRequest,
    servers: list[LiveServer],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy") / request.param
    with running_proxy(request.param, folder, servers) as proxy:
        yield proxy


def metrics(http: httpx.Client, servers: list[LiveServer], name: str) -> list[float]:
    return [ServerProbe(http, server).metric(name) for server in servers]


def as_a_page(proxy: Proxy, scheme: str = "http") -> dict[str, str]:
    """What a browser says of a page that comes from there."""
    return {"host": proxy.host, "origin": f"{scheme}://{proxy.host}", "accept-encoding": "gzip"}


def read_to(lines: Iterator[str], words: str) -> None:
    while words not in next(lines):
        pass


# Streams


def test_an_answer_is_read_while_it_is_given(
    proxy: Proxy, http: httpx.Client, chat_id: str, gate: Gate
) -> None:
    said = message(chat_id, prompt(text("One"), gate.step, text("two")))
    page = as_a_page(proxy)
    with http.stream("POST", f"{proxy.url}/api/chat", json=said, headers=page) as response:
        assert "content-encoding" not in response.headers
        lines = response.iter_lines()
        read_to(lines, '"One"')
        path = f"{proxy.url}/api/chat/{chat_id}/stream"
        with http.stream("GET", path, headers=page) as other:
            read_to(other.iter_lines(), '"One"')
        gate.open()
        assert list(lines)[-2] == "data: [DONE]"


def test_a_reader_that_leaves_is_missed_and_the_run_goes_on(
    proxy: Proxy, servers: list[LiveServer], http: httpx.Client, chat_id: str, gate: Gate
) -> None:
    said = message(chat_id, prompt(text("One"), gate.step, text("two")))
    with http.stream("POST", f"{proxy.url}/api/chat", json=said) as response:
        lines = response.iter_lines()
        read_to(lines, '"One"')
        wait_until(lambda: sum(metrics(http, servers, "mobox_streams")) == 1)
        run_id = response.headers["x-mobox-run"]
    wait_until(lambda: sum(metrics(http, servers, "mobox_streams")) == 0)
    gate.open()
    whole = http.get(f"{proxy.url}/api/chat/{chat_id}/stream", params={"run": run_id})
    assert '"two"' in whole.text


def test_keep_alive_is_shorter_than_a_proxys_timeout(
    servers: list[LiveServer], http: httpx.Client, chat_id: str, gate: Gate, tmp_path: Path
) -> None:
    """Caddy has no such limit unless it is given one."""
    patience = ("listen 80;", f"listen 80; proxy_read_timeout {PATIENCE}s;")
    said = message(chat_id, prompt(text("One"), gate.step, text("two")))
    with (
        running_proxy("nginx", tmp_path / "nginx", servers, patience) as proxy,
        http.stream("POST", f"{proxy.url}/api/chat", json=said) as response,
    ):
        lines = response.iter_lines()
        beats = (line for line in lines if line == ":")
        for _ in range(int(PATIENCE / BEAT) + 2):
            next(beats)
        gate.open()
        assert list(lines)[-2] == "data: [DONE]"


# Sockets


@pytest.mark.parametrize(
    "transports", [["polling", "websocket"], ["polling"], ["websocket"]], ids="-".join
)
def test_sockets_receive_everything_whichever_server_they_connect_to(
    proxy: Proxy,
    servers: list[LiveServer],
    http: httpx.Client,
    sockets: SocketClients,
    transports: list[str],
) -> None:
    session = "-".join([proxy.name, *transports])
    clients = [
        sockets.open(proxy, transports=transports, **{"from": f"127.0.0.{n}"}) for n in range(2, 22)
    ]
    for client in clients:
        assert client.refused is None
        if transports == ["polling", "websocket"]:
            client.upgraded()
        assert client.join(session)["status"] == "idle"
    assert all(metrics(http, servers, "mobox_sockets"))
    run_id = clients[0].say(session, prompt(*a_day_of_work(1)))["runId"]
    whole = ServerProbe(http, servers[0]).events(run_id)
    assert all(client.events() == whole for client in clients)
    for client in clients:
        client.close()


# Who asks, and for whom


def say(http: httpx.Client, proxy: Proxy, chat_id: str, **more: Any) -> httpx.Response:
    return http.post(
        f"{proxy.url}/api/chat", json=message(chat_id, prompt(text("Hi"))), headers=more
    )


def test_a_page_of_the_server_may_ask_and_no_other(
    proxy: Proxy, http: httpx.Client, chat_id: str
) -> None:
    assert say(http, proxy, chat_id, **as_a_page(proxy)).status_code == 200
    foreign = {**as_a_page(proxy), "origin": "http://elsewhere.example"}
    assert say(http, proxy, chat_id, **foreign).json()["error"]["code"] == "cross_origin"


def test_a_name_that_is_not_listed_is_refused(
    servers: list[LiveServer], http: httpx.Client, chat_id: str, tmp_path: Path
) -> None:
    """Caddy serves no name but those that its file has."""
    with running_proxy("nginx", tmp_path / "nginx", servers) as proxy:
        told = say(http, proxy, chat_id, host="elsewhere.example")
    assert told.status_code == 421
    assert told.json()["error"]["code"] == "unknown_host"


def test_a_message_may_be_as_big_as_the_server_takes_it(
    proxy: Proxy, http: httpx.Client, chat_id: str
) -> None:
    said = message(chat_id, prompt(text("Hi"), text("x" * 4_000_000)))
    said["messages"][0]["id"] = "big"
    assert http.post(f"{proxy.url}/api/chat", json=said).status_code == 200


# TLS


@pytest.mark.parametrize("name", PROXIES)
def test_a_page_that_came_by_tls_may_ask_and_one_that_did_not_may_not(
    name: str, servers: list[LiveServer], chat_id: str, tmp_path: Path
) -> None:
    with running_proxy(name, tmp_path / name, servers, tls=True) as proxy:
        trusted = ssl.create_default_context(cafile=proxy.certificate)
        with httpx.Client(
            timeout=LIMIT, trust_env=False, verify=trusted, headers=WANTS_JSON
        ) as https:
            assert say(https, proxy, chat_id, **as_a_page(proxy, "https")).status_code == 200
            plain = say(https, proxy, chat_id, **as_a_page(proxy, "http"))
            assert plain.json()["error"]["code"] == "cross_origin"


# Servers that die


@pytest.mark.parametrize("name", PROXIES)
def test_disconnected_client_continues_at_the_remaining_server(
    name: str, agents: Path, http: httpx.Client, tmp_path: Path, gate: Gate
) -> None:
    given = ("--agents", agents)
    with (
        live_server(tmp_path / "data", *given) as one,
        live_server(tmp_path / "data", *given) as two,
        running_proxy(name, tmp_path / name, [one, two]) as proxy,
    ):
        said = message("chat", prompt(text("One"), gate.step, text("two")))
        path = "/api/chat/chat/stream"
        with http.stream("POST", f"{one.url}/api/chat", json=said) as first:
            gate.wait()
            read = read_until_killed(http, proxy, path, two)
            gate.open()
            whole = without_beats(first.read())
        assert whole.endswith(b"data: [DONE]\n\n")
        assert whole.startswith(read)
        run_id = first.headers["x-mobox-run"]
        for _ in range(4):  # whoever is asked
            again = http.get(proxy.url + path, params={"run": run_id})
            assert without_beats(again.content) == whole


def read_until_killed(http: httpx.Client, proxy: Proxy, path: str, server: LiveServer) -> bytes:
    """What is read at this server before it is killed, whichever way the proxy tells its end."""
    while True:
        with http.stream("GET", proxy.url + path) as response:
            body = response.iter_bytes()
            read = next(body)
            if not ServerProbe(http, server).metric("mobox_streams"):
                continue  # it was the other one's turn
            server.kill()
            with suppress(httpx.RemoteProtocolError):
                read += b"".join(body)
            return without_beats(read)


def without_beats(body: bytes) -> bytes:
    return body.replace(b":\n\n", b"")
