"""Servers that leave their runs to workers."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx
import pytest
import uvicorn
from msgspec.structs import replace

from mobox.errors import InvalidSetting
from mobox.server import Settings
from mobox.server.app import open_process, open_services
from mobox.server.ops.run_server import serve
from mobox.server.ops.run_worker import served_health, work
from server.live_server import (
    AGENTS,
    LIMIT,
    Reader,
    agent_processes,
    http_client,
    live_server,
    stored,
)
from server.live_worker import live_worker
from server.many_processes import (
    ELSEWHERE,
    LEASE,
    answer,
    check_the_end,
    looking_often,
    read_elsewhere,
    stop,
)
from support.waiting import until


async def test_servers_leave_runs_to_a_worker(tmp_path: Path, shared_url: str) -> None:
    data, often = tmp_path / "data", looking_often(tmp_path)
    shared = ("--database-url", shared_url)
    counts, again, asks = Reader("count"), Reader("count"), Reader("question")
    with (
        live_server(data, *ELSEWHERE, *shared, PYTHONPATH=often) as one,
        live_server(data, *ELSEWHERE, *shared, PYTHONPATH=often) as other,
        live_worker(data, *LEASE, *shared, "--health-port", "0", PYTHONPATH=often) as worker,
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
            assert "mobox_wake_ups " in metrics
            assert (await here.get(f"{worker.health}/readyz")).status_code == 200
            assert "mobox_legs 0\n" in (await here.get("/metrics")).text
            await stop(there, counts.chat_id)
        async with http_client(other) as there:
            await asks.say(there, "question")
            await answer(there, asks.chat_id)
        assert (await read_elsewhere(one, asks)).text == "7 it is."
        worker.signal(signal.SIGTERM)
        assert (worker.wait(), worker.warnings) == (0, [])
    kept = await stored(data, shared_url)
    check_the_end(kept[counts.run_id], "cancelled")
    check_the_end(kept[asks.run_id], "stop")


async def test_a_run_waits_for_a_worker_as_long_as_is_set(tmp_path: Path) -> None:
    data, often = tmp_path / "data", looking_often(tmp_path)
    reader = Reader("count")
    with live_server(data, *ELSEWHERE, "--queue", "0.1", PYTHONPATH=often) as server:
        async with http_client(server) as client, asyncio.timeout(LIMIT / 2):
            await reader.say(client, "count")
        assert reader.has_ended
    check_the_end((await stored(data))[reader.run_id], "lost")


@pytest.mark.parametrize(("address", "status"), [("127.0.0.1", 421), ("0.0.0.0", 200)])
def test_health_of_a_worker_is_public_only_on_request(
    tmp_path: Path, address: str, status: int
) -> None:
    given = ("--health-port", "0", "--health-host", address)
    with live_worker(tmp_path / "data", *given) as worker:
        assert f"//{address}:" in worker.health
        told = httpx.get(
            worker.health.replace(address, "127.0.0.1") + "/readyz",
            headers={"host": "10.1.2.3:8100"},  # as a kubelet calls it
            trust_env=False,
        )
        assert told.status_code == status


async def test_worker_logs_that_its_health_endpoint_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(self: uvicorn.Server, sockets: object) -> None:
        raise OSError("too many open files")

    settings = Settings(data=tmp_path / "data", agents=AGENTS, health_port=0)

    monkeypatch.setattr(uvicorn.Server, "serve", broken)
    async with open_process(settings) as process, served_health(process):
        await until(lambda: "health endpoint failed; its runs continue" in caplog.text)
    assert "too many open files" in caplog.text


async def test_a_worker_that_dies_or_ends_leaves_no_run_without_an_end(tmp_path: Path) -> None:
    data, often = tmp_path / "data", looking_often(tmp_path)
    readers = [Reader(f"count-{n}") for n in range(2)]
    with live_server(data, *ELSEWHERE, PYTHONPATH=often) as server:
        async with http_client(server) as client, asyncio.TaskGroup() as tasks:
            with live_worker(data, *LEASE, PYTHONPATH=often) as first:
                tasks.create_task(readers[0].say(client, "count"))
                await readers[0].has_seen(1)
                first.signal(signal.SIGKILL)
                first.wait()
            with live_worker(data, *LEASE, PYTHONPATH=often) as second:
                tasks.create_task(readers[1].say(client, "count"))
                await readers[1].has_seen(1)
                second.signal(signal.SIGTERM)
                assert second.wait() == 0
                # The server or this worker, whichever comes first, ends the run of the other.
                assert [line for line in second.warnings if "ending it as lost" not in line] == []
    assert [reader.has_ended for reader in readers] == [True, True]
    assert agent_processes(data) == []
    kept = await stored(data)
    check_the_end(kept[readers[0].run_id], "lost")
    check_the_end(kept[readers[1].run_id], "interrupted")


async def test_worker_that_drains_finishes_its_runs_and_starts_no_others(tmp_path: Path) -> None:
    data, often = tmp_path / "data", looking_often(tmp_path)
    first, second = Reader("until_go-1"), Reader("until_go-2")
    with live_server(data, *ELSEWHERE, PYTHONPATH=often) as server:
        async with http_client(server) as client, asyncio.TaskGroup() as tasks:
            with live_worker(data, *LEASE, PYTHONPATH=often, MOBOX_DRAIN="600") as draining:
                tasks.create_task(first.say(client, "until_go"))
                await first.has_seen(1)
                draining.signal(signal.SIGTERM)
                assert draining.process.stdout is not None
                read_line = draining.process.stdout.readline
                while "Waiting up to 600 s for 1 run" not in await asyncio.to_thread(read_line):
                    pass
                tasks.create_task(second.say(client, "until_go"))
                await until(lambda: second.run_id)
                with live_worker(data, *LEASE, PYTHONPATH=often):
                    await second.has_seen(1)
                    for state in (data / "state").iterdir():
                        (state / "go").touch()
                    assert await asyncio.to_thread(draining.wait) == 0
                    await until(lambda: first.has_ended and second.has_ended)
    kept = await stored(data)
    check_the_end(kept[first.run_id], "stop")
    check_the_end(kept[second.run_id], "stop")


async def test_multi_process_settings_are_rejected_for_a_single_process(
    tmp_path: Path,
) -> None:
    alone = Settings(data=tmp_path, database_url="memory:", agents=AGENTS)
    with pytest.raises(InvalidSetting, match=r"^workers=2: several processes cannot share memory:"):
        serve(replace(alone, workers=2))
    with pytest.raises(
        InvalidSetting, match=r"^database_url=memory:: several processes cannot share memory:"
    ):
        work(alone)

    with pytest.raises(
        InvalidSetting, match=r"^execute=workers: several processes cannot share memory:"
    ):
        async with open_services(replace(alone, execute="workers")):
            pass
