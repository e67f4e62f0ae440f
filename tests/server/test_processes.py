"""Several processes on one database: what is begun in one is read and ended in another."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from msgspec.structs import replace

from grammar_log import legal_log
from mobox.errors import InvalidSetting
from mobox.events import Done
from mobox.server import Settings
from mobox.server.app import open_services
from mobox.server.serving import serve
from mobox.server.working import work
from server.live_server import (
    AGENTS,
    LIMIT,
    MOBOX,
    Kept,
    LiveServer,
    Reader,
    agent_processes,
    clean_environment,
    http_client,
    live_server,
    message,
    mobox,
    stored,
    until,
)
from server.live_worker import live_worker
from server.scripted_agent import a_day_of_work, prompt
from server.socket_clients import SocketClients

LEASE = ("--lease", "1")
ELSEWHERE = (*LEASE, "--execute", "workers")


async def read_elsewhere(server: LiveServer, reader: Reader) -> Reader:
    """The same run, from its first entry to its end, at another server."""
    again = Reader(reader.chat_id)
    async with http_client(server) as client:
        await again.replay(client, reader.run_id)
    return again


async def answer(client: httpx.AsyncClient, chat_id: str) -> None:
    said = {"requestId": "ask_1", "value": 7}
    told = await client.post(f"/api/chat/{chat_id}/answer", json=said)
    assert told.status_code == 202, told.text


async def stop(client: httpx.AsyncClient, chat_id: str) -> None:
    told = await client.post(f"/api/chat/{chat_id}/stop", json={})
    assert told.status_code in (200, 202), told.text


def check_the_end(kept: Kept, reason: str) -> None:
    events = [entry.event for entry in kept.entries]
    legal_log(events)
    assert [event for event in events if isinstance(event, Done)] == [events[-1]]
    assert kept.run.reason == reason
    assert [entry.seq for entry in kept.entries] == list(range(1, len(events) + 1))


# Two servers


class Two(NamedTuple):
    data: Path
    one: LiveServer
    other: LiveServer


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    """Two servers that some tests share."""
    data = tmp_path_factory.mktemp("two") / "data"
    with live_server(data, *LEASE) as one, live_server(data, *LEASE) as other:
        yield Two(data, one, other)


def test_a_run_is_answered_at_another_server_than_it_was_begun_at(two: Two) -> None:
    reader = Reader("question")

    async def scenario() -> None:
        async with http_client(two.one) as here, http_client(two.other) as there:
            await reader.say(here, "question")
            assert reader.has_ended
            await answer(there, reader.chat_id)
            for server in (two.one, two.other):
                again = await read_elsewhere(server, reader)
                assert (again.text, again.has_ended) == ("7 it is.", True)
        await until(lambda: agent_processes(two.data) == [])
        check_the_end((await stored(two.data))[reader.run_id], "stop")

    asyncio.run(scenario())


def test_a_run_is_stopped_and_read_at_another_server_than_it_was_begun_at(two: Two) -> None:
    reader, again = Reader("count"), Reader("count")

    async def scenario() -> None:
        async with (
            http_client(two.one) as here,
            http_client(two.other) as there,
            asyncio.timeout(LIMIT),
            asyncio.TaskGroup() as readers,
        ):
            readers.create_task(reader.say(here, "count"))
            await reader.has_seen(5)
            readers.create_task(again.replay(there, reader.run_id))
            await again.has_seen(5)
            await stop(there, reader.chat_id)
        assert (reader.has_ended, again.has_ended) == (True, True)
        assert reader.text == again.text
        check_the_end((await stored(two.data))[reader.run_id], "cancelled")

    asyncio.run(scenario())


def test_a_run_is_ended_by_another_server_when_its_own_is_killed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    reader = Reader("count")

    async def scenario() -> None:
        with live_server(data, *LEASE) as other:
            with live_server(data, *LEASE) as one:
                async with http_client(one) as here, asyncio.TaskGroup() as readers:
                    readers.create_task(reader.say(here, "count"))
                    await reader.has_seen(5)
                    one.kill()
            again = await read_elsewhere(other, reader)
            assert again.has_ended
            assert again.text.startswith(reader.text)
            await until(lambda: agent_processes(data) == [])
        check_the_end((await stored(data))[reader.run_id], "lost")

    asyncio.run(scenario())


@pytest.mark.parametrize("manner", ["count", "silent"])
def test_a_server_that_was_asleep_writes_nothing_and_ends_its_agent(
    tmp_path: Path, manner: str
) -> None:
    data = tmp_path / "data"
    reader = Reader(manner)

    async def scenario() -> None:
        with live_server(data, *LEASE) as one, live_server(data, *LEASE) as other:
            async with http_client(one) as here, asyncio.TaskGroup() as readers:
                readers.create_task(reader.say(here, manner))
                await until(lambda: agent_processes(data))
                await reader.has_seen(5 if manner == "count" else 0)
                await until(lambda: reader.frames)
                one.signal(signal.SIGSTOP)
                ended = await read_elsewhere(other, reader)
                assert ended.has_ended
                one.signal(signal.SIGCONT)
                await until(lambda: agent_processes(data) == [])
            assert (await read_elsewhere(one, reader)).frames == ended.frames
        check_the_end((await stored(data))[reader.run_id], "lost")

    asyncio.run(scenario())


# Servers and workers


def test_servers_leave_runs_to_a_worker(tmp_path: Path) -> None:
    data = tmp_path / "data"
    counts, again, asks = Reader("count"), Reader("count"), Reader("question")

    async def scenario() -> None:
        with (
            live_server(data, *ELSEWHERE) as one,
            live_server(data, *ELSEWHERE) as other,
            live_worker(data, *LEASE, "--health-port", "0") as worker,
        ):
            async with (
                http_client(one) as here,
                http_client(other) as there,
                asyncio.timeout(LIMIT),
                asyncio.TaskGroup() as readers,
            ):
                readers.create_task(counts.say(here, "count"))
                await counts.has_seen(5)
                readers.create_task(again.replay(there, counts.run_id))
                await again.has_seen(5)
                metrics = (await here.get(f"{worker.health}/metrics")).text
                assert "mobox_legs 1\n" in metrics
                assert (await here.get(f"{worker.health}/readyz")).status_code == 200
                assert "mobox_legs 0\n" in (await here.get("/metrics")).text
                await stop(there, counts.chat_id)
            async with http_client(other) as there:
                await asks.say(there, "question")
                await answer(there, asks.chat_id)
            assert (await read_elsewhere(one, asks)).text == "7 it is."
            worker.signal(signal.SIGTERM)
            assert (worker.wait(), worker.warnings) == (0, [])
        kept = await stored(data)
        check_the_end(kept[counts.run_id], "cancelled")
        check_the_end(kept[asks.run_id], "stop")

    asyncio.run(scenario())


def test_a_worker_that_dies_or_ends_leaves_no_run_without_an_end(tmp_path: Path) -> None:
    data = tmp_path / "data"
    readers = [Reader(f"count-{n}") for n in range(2)]

    async def scenario() -> None:
        with live_server(data, *ELSEWHERE) as server:
            async with http_client(server) as client, asyncio.TaskGroup() as tasks:
                with live_worker(data, *LEASE) as first:
                    tasks.create_task(readers[0].say(client, "count"))
                    await readers[0].has_seen(1)
                    first.signal(signal.SIGKILL)
                    first.wait()
                with live_worker(data, *LEASE) as second:
                    tasks.create_task(readers[1].say(client, "count"))
                    await readers[1].has_seen(1)
                    second.signal(signal.SIGTERM)
                    assert (second.wait(), second.warnings) == (0, [])
        assert [reader.has_ended for reader in readers] == [True, True]
        assert agent_processes(data) == []
        kept = await stored(data)
        check_the_end(kept[readers[0].run_id], "lost")
        check_the_end(kept[readers[1].run_id], "interrupted")

    asyncio.run(scenario())


def test_what_several_processes_need_is_refused_where_there_can_be_one_only(tmp_path: Path) -> None:
    alone = Settings(data=tmp_path, database_url="memory:", agents=AGENTS)
    with pytest.raises(InvalidSetting, match=r"^workers=2: memory: is of one process"):
        serve(replace(alone, workers=2))
    with pytest.raises(InvalidSetting, match=r"^database_url=memory:: memory: is of one process"):
        work(alone)

    async def leave_them_to_others() -> None:
        async with open_services(replace(alone, execute="workers")):
            pass

    with pytest.raises(InvalidSetting, match=r"^execute=workers: memory: is of one process"):
        asyncio.run(leave_them_to_others())


# Several at one port


def children(process: int) -> list[int]:
    return [
        int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def is_gone(process: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return True


def test_several_processes_serve_at_one_port_and_end_as_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    readers = [Reader(f"count-{n}") for n in range(6)]

    async def scenario() -> None:
        with live_server(data, "--workers", "2", *LEASE) as server:
            assert server.first_line == f"Mobox is at {server.url} (Ctrl+C to stop)\n"
            assert len(children(server.process.pid)) == 2
            async with http_client(server) as client, asyncio.TaskGroup() as tasks:
                for reader in readers:
                    tasks.create_task(reader.say(client, "count"))
                for reader in readers:
                    await reader.has_seen(1)
                server.signal(signal.SIGTERM)
                assert await asyncio.to_thread(server.wait) == 0
            assert "WARNING" not in server.warnings
        assert all(reader.has_ended for reader in readers)
        assert agent_processes(data) == []
        kept = await stored(data)
        for reader in readers:
            check_the_end(kept[reader.run_id], "interrupted")

    asyncio.run(scenario())


def test_one_that_dies_is_replaced_and_its_runs_are_ended(tmp_path: Path) -> None:
    data = tmp_path / "data"
    readers = [Reader(f"count-{n}") for n in range(4)]

    async def scenario() -> None:
        with live_server(data, "--workers", "2", *LEASE) as server:
            victim, survivor = children(server.process.pid)
            async with http_client(server) as client, asyncio.TaskGroup() as tasks:
                for reader in readers:
                    tasks.create_task(reader.say(client, "count"))
                for reader in readers:
                    await reader.has_seen(1)
                os.kill(victim, signal.SIGKILL)
                await until(lambda: len(set(children(server.process.pid)) - {victim}) == 2)
                assert survivor in children(server.process.pid)
                for reader in readers:  # by whoever takes the request
                    await stop(client, reader.chat_id)
                async with asyncio.timeout(LIMIT):
                    again = [await read_elsewhere(server, reader) for reader in readers]
                assert all(reader.has_ended for reader in again)
            server.signal(signal.SIGINT)
            assert server.wait() == 0
            assert f"(pid {victim}) ended with signal 9" in server.warnings
        kept = await stored(data)
        for reader in readers:
            reason = kept[reader.run_id].run.reason
            assert reason in ("cancelled", "lost")
            check_the_end(kept[reader.run_id], reason)

    asyncio.run(scenario())


def test_none_outlives_its_parent(tmp_path: Path) -> None:
    async def scenario() -> None:
        with live_server(tmp_path / "data", "--workers", "2") as server:
            pids = children(server.process.pid)
            server.kill()
            await until(lambda: all(map(is_gone, pids)))

    asyncio.run(scenario())


def test_a_child_that_it_did_not_make_ends_alone(tmp_path: Path) -> None:
    """As the first process of a container has them, and whoever was started by a script."""
    script = 'sleep 600 & exec "$@"'
    flags = ["--workers", "2", "--port", "0", "--data", str(tmp_path / "data")]
    errors = tmp_path / "stderr"
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            ["sh", "-c", script, "sh", *MOBOX, "serve", *flags],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=clean_environment(),
        ) as process,
    ):
        try:
            server = LiveServer(process, errors)
            stranger = min(children(process.pid))
            os.kill(stranger, signal.SIGKILL)
            asyncio.run(until(lambda: stranger not in children(process.pid)))
            assert httpx.get(f"{server.url}/readyz", trust_env=False).status_code == 200
            server.signal(signal.SIGTERM)
            assert server.wait() == 0
        finally:
            process.kill()


def test_what_keeps_all_of_them_from_serving_is_said_once(tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "mobox.db"
    flags = ["--port", "0", "--data", str(tmp_path), "--database-url", f"sqlite:///{nowhere}"]
    code, out, err = mobox("serve", "--workers", "3", *flags)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"mobox: {nowhere} cannot be opened: ")


# Sockets at such a port


@pytest.fixture(scope="module")
def several(agents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    data = tmp_path_factory.mktemp("several") / "data"
    with live_server(data, "--workers", "2", "--agents", agents, patience=30 * LIMIT) as server:
        yield server


@pytest.mark.parametrize(
    "transports", [["polling", "websocket"], ["polling"], ["websocket"]], ids="-".join
)
def test_sockets_are_told_everything_whichever_process_takes_their_requests(
    sockets: SocketClients, several: LiveServer, transports: list[str]
) -> None:
    session = "-".join(transports)
    clients = [sockets.open(several, transports=transports) for _ in range(20)]
    for client in clients:
        assert client.refused is None
        if transports == ["polling", "websocket"]:
            client.upgraded()
        assert client.join(session)["status"] == "idle"
    run_id = clients[0].say(session, prompt(*a_day_of_work(1)))["runId"]
    told = [client.events() for client in clients]
    assert {event["runId"] for event in told[0] if "runId" in event} <= {run_id}
    assert [event["eventIndex"] for event in told[0]] == list(range(len(told[0])))
    assert all(events == told[0] for events in told)
    for client in clients:
        client.close()


def test_a_page_says_something_at_any_process(several: LiveServer) -> None:
    for n in range(6):
        words = prompt(["emit", "text", {"content": "hello"}])
        told = httpx.post(
            f"{several.url}/api/chat", json=message(f"any-{n}", words), trust_env=False
        )
        assert '"hello"' in told.text
