"""A server that is told to end ends its runs first, and then soon itself."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest

from mobox.events import Done
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server import Settings
from mobox.server.app import open_services
from mobox.settings import OWNER
from server.live_server import (
    AGENTS,
    LIMIT,
    Kept,
    LiveServer,
    Reader,
    agent_processes,
    http_client,
    live_server,
    message,
    stored,
)
from support.grammar_log import legal_log
from support.waiting import until

PROMISE = 10
"""Seconds from the signal to the end of the process, whatever agents and readers do."""
STUBBORN = 6
"""Seconds that an agent has which hears neither stop nor TERM."""
FLOOD = 200
RUNNING = ("count", "tool", "grandchild", "stubborn")
WAITING = ("question", "stubborn_question")


@contextmanager
def stalled(server: LiveServer, reader: Reader) -> Iterator[None]:
    """Somebody who asks for a stream and then reads no more of it."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(LIMIT)
        connection.connect((host, int(port)))
        path = f"/api/chat/{reader.chat_id}/stream?run={reader.run_id}"
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert connection.recv(64).startswith(b"HTTP/1.1 200 ")
        yield


@asynccontextmanager
async def reading(client: httpx.AsyncClient, *readers: Reader) -> AsyncIterator[None]:
    """Clients that read to the end, each of which has seen something."""
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as clients:
        for reader in readers:
            clients.create_task(reader.say(client, reader.chat_id))
        for reader in readers:
            await reader.has_seen(0 if reader.chat_id == "silent" else 1)
        yield


async def drain_has_begun(client: httpx.AsyncClient) -> None:
    deadline = time.monotonic() + LIMIT
    while (await client.get("/readyz")).status_code != 503:
        assert time.monotonic() < deadline


async def check_that_it_refuses(client: httpx.AsyncClient) -> None:
    refused = await client.post("/api/chat", json=message("late", "hello"))
    assert refused.status_code == 503, refused.text
    assert "the server is shutting down" in refused.text
    assert (await client.get("/healthz")).status_code == 200
    assert (await client.get("/api/chats")).status_code == 200


def check_that_it_was_interrupted(reader: Reader, kept: Kept) -> None:
    assert reader.has_ended, reader.chat_id
    assert (kept.run.status, kept.run.reason) == ("done", "interrupted"), reader.chat_id
    events = [entry.event for entry in kept.entries]
    legal_log(events)
    assert [event for event in events if isinstance(event, Done)] == [events[-1]]


async def check_that_it_can_be_answered(client: httpx.AsyncClient, reader: Reader) -> None:
    answer = {"requestId": "ask_1", "value": 7}
    told = await client.post(f"/api/chat/{reader.chat_id}/answer", json=answer)
    assert told.status_code == 202, told.text
    whole = Reader(reader.chat_id)
    await whole.replay(client, reader.run_id)
    assert whole.has_ended
    assert whole.text == "7 it is."


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_draining_server_ends_its_runs_and_keeps_waiting_ones(
    tmp_path: Path, number: signal.Signals
) -> None:
    data = tmp_path / "data"
    running = [Reader(chat_id) for chat_id in (*RUNNING, "silent")]
    waiting = [Reader(chat_id) for chat_id in WAITING]
    flood = Reader("flood")
    with live_server(data) as server:
        async with http_client(server) as client:
            for reader in waiting:
                await reader.say(client, reader.chat_id)
            async with reading(client, *running, flood):
                await flood.has_seen(1)
                with stalled(server, flood):
                    await flood.has_seen(FLOOD)
                    server.signal(number)
                    told_at = time.monotonic()
                    await drain_has_begun(client)
                    await check_that_it_refuses(client)
                    code = await asyncio.to_thread(server.wait)
                    took = time.monotonic() - told_at
        assert (code, server.warnings) == (0, "")
        assert took <= PROMISE
    assert agent_processes(data) == []
    kept = await stored(data)
    for reader in [*running, flood]:
        check_that_it_was_interrupted(reader, kept[reader.run_id])
    assert {kept[reader.run_id].run.status for reader in waiting} == {"waiting"}
    with live_server(data) as server:
        async with http_client(server) as client:
            for reader in waiting:
                await check_that_it_can_be_answered(client, reader)


def let_go(data: Path) -> None:
    """Let the agents finish that count until then."""
    for state in (data / "state").iterdir():
        (state / "go").touch()


async def test_sigterm_lets_running_agents_finish_and_queues_new_runs(tmp_path: Path) -> None:
    data = tmp_path / "data"
    running, waiting, late = Reader("until_go"), Reader("question"), Reader("late")
    with live_server(data, MOBOX_DRAIN="600") as server:
        async with http_client(server) as client:
            await waiting.say(client, "question")
            async with reading(client, running):
                server.signal(signal.SIGTERM)
                await drain_has_begun(client)
                asking = asyncio.create_task(late.say(client, "hello"))
                await until(lambda: late.run_id)
                await running.has_seen(len(running.frames) + 1)  # it goes on
                let_go(data)
                assert await asyncio.to_thread(server.wait) == 0
            await asyncio.gather(asking, return_exceptions=True)  # it was cut off
        assert server.warnings == ""
    kept = await stored(data)
    assert (running.has_ended, kept[running.run_id].run.reason) == (True, "stop")
    assert kept[waiting.run_id].run.status == "waiting"
    assert kept[late.run_id].run.status == "running"
    with live_server(data) as server:
        async with http_client(server) as client:
            again = Reader("late")
            await again.replay(client, late.run_id)
            assert again.text == "Hello again."
            await check_that_it_can_be_answered(client, waiting)


async def test_second_sigterm_exits_at_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    stubborn = Reader("stubborn")
    with live_server(data, MOBOX_DRAIN="600") as server:
        async with http_client(server) as client, reading(client, stubborn):
            server.signal(signal.SIGTERM)
            await drain_has_begun(client)
            server.signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.wait) == 0
    assert agent_processes(data) == []
    kept = await stored(data)
    assert kept[stubborn.run_id].run.reason == "interrupted"


async def test_second_ctrl_c_exits_at_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    stubborn, flood = Reader("stubborn"), Reader("flood")
    waiting = Reader("stubborn_question")
    with live_server(data) as server:
        async with http_client(server) as client:
            await waiting.say(client, waiting.chat_id)
            async with reading(client, stubborn, flood):
                with stalled(server, flood):
                    await flood.has_seen(FLOOD)
                    server.signal(signal.SIGINT)
                    await drain_has_begun(client)
                    server.signal(signal.SIGINT)
                    told_at = time.monotonic()
                    code = await asyncio.to_thread(server.wait)
                    took = time.monotonic() - told_at
        assert (code, server.warnings) == (0, "")
        assert took < STUBBORN - 1
    assert agent_processes(data) == []
    kept = await stored(data)
    for reader in (stubborn, flood):
        run = kept[reader.run_id].run
        assert (run.status, run.reason) == ("done", "interrupted")
    assert kept[waiting.run_id].run.status == "waiting"


async def test_run_started_during_shutdown_is_rejected_or_ended(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    readers: list[Reader] = []

    async def ask_on_and_on(client: httpx.AsyncClient, name: int) -> None:
        while True:
            reader = Reader(f"chat-{name}-{len(readers)}")
            readers.append(reader)
            await reader.say(client, "hello")
            if reader.status != 200:
                return

    with live_server(data) as server:
        async with http_client(server) as client, asyncio.TaskGroup() as clients:
            for name in range(8):
                clients.create_task(ask_on_and_on(client, name))
            await until(lambda: sum(reader.has_ended for reader in readers) >= 16)
            server.signal(signal.SIGTERM)
        assert server.wait() == 0
        assert server.warnings == ""
    assert {reader.status for reader in readers} <= {200, 503, 0}  # 0: nobody is there
    kept = await stored(data)
    assert {run.status for run, _ in kept.values()} == {"done"}
    for reader in readers:
        if reader.status == 200:
            assert reader.has_ended
            assert kept[reader.run_id].run.reason in ("stop", "interrupted")


async def test_a_run_that_is_stored_when_the_server_begins_to_end_is_interrupted(
    tmp_path: Path,
) -> None:
    settings = Settings(data=tmp_path / "data", agents=AGENTS)
    request = read_request({**message("c1", "count"), "agent": "counter"})
    async with asyncio.timeout(LIMIT), open_services(settings) as services:
        begun = asyncio.create_task(services.supervisor.begin(OWNER, request))
        for _ in range(3):  # until it is on its way to the store
            await asyncio.sleep(0)
        await services.supervisor.close()
        log = services.storage.follow((await begun).run.id)
        events = [entry.event for entry in [entry async for entries in log for entry in entries]]
    legal_log(events)
    assert events[-1] == Done(reason="interrupted")
