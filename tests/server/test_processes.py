"""Several processes on one database: what is begun in one is read and ended in another."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.live_server import (
    LIMIT,
    Reader,
    agent_processes,
    http_client,
    live_server,
    stored,
)
from server.many_processes import (
    LEASE,
    TwoServers,
    answer,
    check_the_end,
    looking_often,
    read_elsewhere,
    stop,
    two_servers,
)
from support.waiting import until


@pytest.fixture(scope="module")
def two(lasting_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoServers]:
    """Two servers that some tests share."""
    with two_servers(tmp_path_factory.mktemp("two"), lasting_url) as servers:
        yield servers


async def test_run_is_answered_at_another_server_than_it_was_started_at(two: TwoServers) -> None:
    reader = Reader("question")
    async with http_client(two.one) as here, http_client(two.other) as there:
        await reader.say(here, "question")
        assert reader.has_ended
        await answer(there, reader.chat_id)
        for server in (two.one, two.other):
            again = await read_elsewhere(server, reader)
            assert (again.text, again.has_ended) == ("7 it is.", True)
    await until(lambda: agent_processes(two.data) == [])
    check_the_end((await stored(two.data, two.url))[reader.run_id], "stop")


async def test_run_is_stopped_and_read_at_another_server_than_it_was_started_at(
    two: TwoServers,
) -> None:
    reader, again = Reader("count"), Reader("count")
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
    check_the_end((await stored(two.data, two.url))[reader.run_id], "cancelled")


async def test_a_run_is_ended_by_another_server_when_its_own_is_killed(
    tmp_path: Path, shared_url: str
) -> None:
    data, often = tmp_path / "data", looking_often(tmp_path)
    given = (*LEASE, "--database-url", shared_url)
    reader = Reader("count")
    with live_server(data, *given, PYTHONPATH=often) as other:
        with live_server(data, *given, PYTHONPATH=often) as one:
            async with http_client(one) as here, asyncio.TaskGroup() as readers:
                readers.create_task(reader.say(here, "count"))
                await reader.has_seen(5)
                one.kill()
        again = await read_elsewhere(other, reader)
        assert again.has_ended
        assert again.text.startswith(reader.text)
        await until(lambda: agent_processes(data) == [])
    check_the_end((await stored(data, shared_url))[reader.run_id], "lost")


@pytest.mark.parametrize(
    ("shared_url", "manner"),
    [("sqlite", "count"), ("sqlite", "silent"), ("postgres", "count")],
    indirect=["shared_url"],
)
async def test_a_server_that_was_asleep_writes_nothing_and_ends_its_agent(
    tmp_path: Path, shared_url: str, manner: str
) -> None:
    data, often = tmp_path / "data", looking_often(tmp_path)
    given = (*LEASE, "--database-url", shared_url)
    reader = Reader(manner)
    with (
        live_server(data, *given, PYTHONPATH=often) as one,
        live_server(data, *given, PYTHONPATH=often) as other,
    ):
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
    check_the_end((await stored(data, shared_url))[reader.run_id], "lost")
