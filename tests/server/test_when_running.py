"""A message during a running run: what a client that has left means, over every protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from server.ag_ui_clients import AGUIFrontend
from server.live_server import (
    LIMIT,
    LiveServer,
    Reader,
    http_client,
    live_server,
    message,
    reserved_port,
    stored,
)
from server.many_processes import TwoServers, check_the_end, two_servers
from server.scripted_agent import Gate, prompt, text
from server.socket_clients import SocketClients


@pytest.fixture(scope="module")
def two(lasting_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoServers]:
    """Two servers that some tests share."""
    with two_servers(tmp_path_factory.mktemp("two"), lasting_url) as servers:
        yield servers


@asynccontextmanager
async def reading(client: httpx.AsyncClient, reader: Reader) -> AsyncIterator[None]:
    """Send `count`, or read that run if it was sent; the connection is cut at the end."""
    work = reader.replay(client, reader.run_id) if reader.run_id else reader.say(client, "count")
    task = asyncio.create_task(work)
    try:
        await reader.has_seen(3)
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def post(client: httpx.AsyncClient, chat_id: str, **more: object) -> httpx.Response:
    """Send a message that is answered at once."""
    body = {**message(chat_id, "question"), **more}
    return await client.post("/api/chat", json=body, timeout=LIMIT)


async def test_client_that_has_left_sends_again_at_once(two: TwoServers) -> None:
    reader = Reader("left")
    async with http_client(two.one) as client:
        async with reading(client, reader):
            pass
        answer = await post(client, "left")
        assert answer.status_code == 200, answer.text
    runs = await stored(two.data, two.url)
    check_the_end(runs[reader.run_id], "cancelled")
    assert runs[answer.headers["x-mobox-run"]].run.status == "waiting"


async def test_message_at_another_server_than_the_run_that_was_left(two: TwoServers) -> None:
    reader = Reader("elsewhere")
    async with http_client(two.one) as here, http_client(two.other) as there:
        async with reading(here, reader):
            pass
        answer = await post(there, "elsewhere")
        assert answer.status_code == 200, answer.text
    check_the_end((await stored(two.data, two.url))[reader.run_id], "cancelled")


async def test_reader_at_another_server_keeps_the_run(two: TwoServers) -> None:
    reader, other = Reader("kept"), Reader("kept")
    async with http_client(two.one) as here, http_client(two.other) as there:
        async with reading(here, reader):
            other.run_id = reader.run_id
            keeping = reading(there, other)
            await keeping.__aenter__()
        answer = await post(here, "kept")
        assert (answer.status_code, answer.json()["error"]["runId"]) == (409, reader.run_id)
        await keeping.__aexit__(None, None, None)
        assert (await post(here, "kept")).status_code == 200


async def test_policy_of_a_request(two: TwoServers) -> None:
    reader = Reader("policy")
    async with http_client(two.one) as client, reading(client, reader):
        refused = await post(client, "policy", whenRunning="reject")
        assert refused.status_code == 409
        wrong = await post(client, "policy", whenRunning="enqueue")
        assert (wrong.status_code, wrong.json()["error"]["field"]) == (400, "whenRunning")
        assert (await post(client, "policy", whenRunning="interrupt")).status_code == 200
    check_the_end((await stored(two.data, two.url))[reader.run_id], "cancelled")


async def test_message_after_a_killed_server_is_back(tmp_path: Path) -> None:
    reader = Reader("killed")
    with reserved_port() as port:
        given = (tmp_path / "data", "--port", str(port))
        with live_server(*given) as server:
            async with http_client(server) as client, reading(client, reader):
                server.kill()
        with live_server(*given) as server:
            async with http_client(server) as client:
                answer = await post(client, "killed")
                assert answer.status_code == 200, answer.text
    check_the_end((await stored(tmp_path / "data"))[reader.run_id], "lost")


async def test_a_server_that_shuts_down_does_not_count_as_left(tmp_path: Path) -> None:
    """Its clients come back: the run that a worker executes is not interrupted for them."""
    data = tmp_path / "data"
    reader = Reader("drained")
    with live_server(data) as keeping:
        async with http_client(keeping) as here:
            async with reading(here, reader):
                with live_server(data) as leaving:
                    async with http_client(leaving) as there:
                        other = Reader("drained")
                        other.run_id = reader.run_id
                        task = asyncio.create_task(other.replay(there, reader.run_id))
                        await other.has_seen(3)
                        leaving.process.terminate()
                        leaving.wait()
                        await task
            # The first has left too: now it may be interrupted.
            assert (await post(here, "drained")).status_code == 200


async def test_a_server_that_was_killed_has_no_readers(tmp_path: Path) -> None:
    data = tmp_path / "data"
    reader, other = Reader("read"), Reader("read")
    async with AsyncExitStack() as stack:
        one, killed = (stack.enter_context(live_server(data)) for _ in range(2))
        here = await stack.enter_async_context(http_client(one))
        there = await stack.enter_async_context(http_client(killed))
        async with reading(here, reader):
            other.run_id = reader.run_id
            await stack.enter_async_context(reading(there, other))
        assert (await post(here, "read")).status_code == 409
        killed.kill()
        assert (await post(here, "read")).status_code == 200


# Other protocols


def test_ag_ui_client_that_aborts_sends_again(agui: AGUIFrontend, chat_id: str, gate: Gate) -> None:
    page = agui.open(chat_id)
    page.begin(prompt(text("One"), gate.step, text(" two")))
    page.read(1, "TEXT_MESSAGE_CONTENT")
    page.abort()
    page.settle()
    report = page.say(prompt(text("Three")))
    assert (report.failure, report.text) == (None, "Three")
    assert [each["role"] for each in agui.stored(chat_id)["messages"]] == [
        "user",
        "assistant",
    ] * 2


def test_ag_ui_policy_of_a_request(agui: AGUIFrontend, chat_id: str, gate: Gate) -> None:
    page = agui.open(chat_id)
    page.begin(prompt(text("One"), gate.step, text(" two")))
    page.read(1, "TEXT_MESSAGE_CONTENT")
    properties = {"forwardedProps": {"whenRunning": "interrupt"}}
    report = agui.open(chat_id).say(prompt(text("Three")), **properties)
    assert (report.failure, report.text) == (None, "Three")
    assert page.settle().outcome in (None, "cancelled")


def test_socket_that_leaves_its_session_sends_again(
    server: LiveServer, sockets: SocketClients, chat_id: str, gate: Gate
) -> None:
    socket = sockets.open(server)
    socket.join(chat_id)
    first = socket.say(chat_id, prompt(text("One"), gate.step))["runId"]
    socket.read("agent:event", 2)
    refused = socket.say(chat_id, prompt(text("Two")))["error"]
    assert (refused["code"], refused["runId"]) == ("run_active", first)
    socket.ask("session:leave", {"sessionId": chat_id})
    second = socket.say(chat_id, prompt(text("Two"), gate.step))["runId"]
    third = socket.say(chat_id, prompt(text("Three")), whenRunning="interrupt")["runId"]
    assert len({first, second, third}) == 3
    socket.join(chat_id, lastEventIndex=-1)
    # The runs that were interrupted have ended with a `complete` of their own.
    assert socket.events(run=third)[-1]["type"] == "complete"
