"""Agents that connect to the server's own API: HTTP, WebSocket and Socket.IO are refused."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

import mobox
from server.calling_agent import (
    POLLING,
    SOCKET,
    WAYS,
    WEBSOCKET,
    asking,
    called,
    responses_in,
    task,
    tasks_of,
    write_agent,
)
from server.live_server import (
    LIMIT,
    LiveServer,
    http_client,
    live_server,
    loading_first,
)
from server.live_worker import live_worker
from server.many_processes import ELSEWHERE, LEASE, looking_often
from server.server_with_keys import give_key_at
from server.serving import client_of

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux shows whose a socket is"
)

ON_PROCESS = ("--sandbox", "process", "--agents")
REFUSED = {"code": "agent_client", "message": "agents cannot use the server's API"}


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_agent(tmp_path_factory.mktemp("calling"))


@pytest.fixture(scope="module")
def server(agents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server whose only agent calls it."""
    with live_server(tmp_path_factory.mktemp("called") / "data", *ON_PROCESS, agents) as server:
        yield server


def error_in(response: dict[str, Any]) -> dict[str, Any]:
    error: dict[str, Any] = json.loads(response["body"])["error"]
    return error


@pytest.mark.parametrize("way", WAYS)
async def test_requests_of_an_agent_are_refused(server: LiveServer, way: str) -> None:
    get = task(server.url, "/api/chats", way)
    delete = task(server.url, f"/api/chats/{way}", way, method="DELETE")
    page, polling = task(server.url, "/", way), task(server.url, POLLING, way)
    websocket = task(server.url, SOCKET, way, headers=WEBSOCKET)
    responses = await called(server, way, get, delete, page, polling, websocket)
    assert [response["status"] for response in responses] == [403] * 5
    assert [error_in(response) for response in responses[:4]] == [REFUSED] * 4
    async with http_client(server) as client:
        assert (await client.get(f"/api/chats/{way}")).status_code == 200


async def test_forwarded_addresses_do_not_hide_an_agent(server: LiveServer) -> None:
    headers = {"x-forwarded-for": "203.0.113.7", "forwarded": "for=203.0.113.7"}
    responses = await called(server, "hides", task(server.url, "/api/chats", headers=headers))
    assert [error_in(response) for response in responses] == [REFUSED]


@pytest.mark.parametrize("way", ["leaving", "resetting"])
async def test_an_agent_that_does_not_wait_for_the_response_is_refused(
    server: LiveServer, way: str
) -> None:
    await called(server, "kept")
    for number in range(10):
        delete = task(server.url, "/api/chats/kept", way, method="DELETE")
        await called(server, f"{way}-{number}", *[delete] * 5)
    async with http_client(server) as client:
        assert (await client.get("/api/chats/kept")).status_code == 200


async def test_clients_of_the_same_machine_are_served_meanwhile(server: LiveServer) -> None:
    async with http_client(server) as client, asyncio.TaskGroup() as group:
        group.create_task(called(server, "many", *[task(server.url, "/api/chats")] * 20))
        for _ in range(20):
            assert (await client.get("/api/chats")).status_code == 200
            async with http_client(server) as another:
                assert (await another.get("/api/chats")).status_code == 200


WITHOUT_CAPABILITIES = """
import ctypes

libc = ctypes.CDLL(None)
for capability in range(64):
    libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: root's children have none either
libc.capset(ctypes.byref((ctypes.c_uint32 * 2)(0x20080522, 0)), (ctypes.c_uint32 * 6)())
"""
"""Makes root as any other user: descriptors of processes that forbid it cannot be read."""
CLIENT = """
import json, sys
from urllib.request import ProxyHandler, Request, build_opener

server, *bodies = sys.argv[1:]
opened = build_opener(ProxyHandler({})).open
json_type = {"content-type": "application/json"}
for body in bodies:
    response = opened(Request(server + "/api/chat", body.encode(), json_type))
    shown = next(line for line in response if b"text-delta" in line)
    print(json.loads(shown[6:])["delta"])
print(opened(server + "/api/chats").status)
"""
"""Prints the first text of the answers to messages, and then the status of a request."""


def test_a_process_that_hides_its_descriptors_is_refused(agents: Path, tmp_path: Path) -> None:
    path = loading_first(tmp_path, WITHOUT_CAPABILITIES)
    with live_server(tmp_path / "data", *ON_PROCESS, agents, PYTHONPATH=path) as server:
        ways = ("hidden", "lasting")
        tasks = [asking(way, task(server.url, "/api/chats", way)) for way in ways]
        code = WITHOUT_CAPABILITIES + CLIENT
        command = [sys.executable, "-c", code, server.url, *map(json.dumps, tasks)]
        first, second, third = subprocess.check_output(command, text=True).splitlines()
    assert [error_in(response) for response in json.loads(first)] == [REFUSED]
    assert (second, third) == ("It is hidden.", "200"), "other processes of this user are served"


def own_addresses(family: socket.AddressFamily, far: str) -> list[str]:
    """The address with which this machine would connect to another; nothing is sent."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((far, 9))
        except OSError:  # it has no network
            return []
        return [probe.getsockname()[0]]


IPV4 = ["127.0.0.1", "127.0.0.3", "localhost", socket.gethostname()]
IPV4 += own_addresses(socket.AF_INET, "203.0.113.1")
IPV6 = ["::1", *own_addresses(socket.AF_INET6, "2001:db8::1")]


@pytest.mark.parametrize(
    ("host", "at", "names"), [("0.0.0.0", "127.0.0.1", IPV4), ("::", "[::1]", IPV6)]
)
async def test_all_names_of_the_machine_are_refused(
    agents: Path, tmp_path: Path, host: str, at: str, names: list[str]
) -> None:
    data = tmp_path / "data"
    with live_server(data, *ON_PROCESS, agents, "--host", host, "--auth", "keys") as server:
        server.url = f"http://{at}:{server.url.rpartition(':')[2]}"
        _, key = await give_key_at(data, "ann")
        tasks = [{**task(server.url, "/api/chats"), "host": name} for name in names]
        responses = await called(server, "c", *tasks, key=key)
    assert [error_in(response) for response in responses] == [REFUSED] * len(names)


async def test_agents_of_other_processes_are_refused(
    agents: Path, tmp_path: Path, shared_url: str
) -> None:
    shared = (*LEASE, *ON_PROCESS, agents, "--database-url", shared_url)
    often = looking_often(tmp_path)
    with (
        live_server(tmp_path / "data", *ELSEWHERE, *shared, PYTHONPATH=often) as server,
        live_worker(tmp_path / "data", *shared, PYTHONPATH=often),
    ):
        responses = await called(server, "c", *tasks_of(server.url, "orphan"))
    assert [response["status"] for response in responses] == [403, 403, 403]


async def test_agents_of_all_processes_of_a_server_are_refused(
    agents: Path, tmp_path: Path
) -> None:
    with live_server(tmp_path / "data", *ON_PROCESS, agents, "--workers", "2") as server:
        for number in range(4):  # each connection is accepted by one of the two
            responses = await called(server, f"c{number}", *tasks_of(server.url, "child"))
            assert [response["status"] for response in responses] == [403, 403, 403]


async def test_agents_of_an_app_are_refused(agents: Path, tmp_path: Path) -> None:
    app = Starlette()
    mobox.mount(
        app, principal=lambda _: "ann", agents=[agents], data=tmp_path / "data", sandbox="process"
    )
    async with app.router.lifespan_context(app), client_of(app) as client:
        tasks = [task(str(client.base_url), path) for path in ("/mobox/api/chats", "/mobox/")]
        told = await client.post("/mobox/api/chat", json=asking("c", *tasks), timeout=LIMIT)
        assert [error_in(response) for response in responses_in(told.text)] == [REFUSED] * 2
