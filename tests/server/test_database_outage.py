"""A server whose PostgreSQL goes away and comes back: who reads waits, and reads on exactly."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace
from starlette.requests import Request

from mobox.capture.catalog import Catalog
from mobox.capture.model_access import NoModels
from mobox.server.health import ready
from mobox.server.metrics import Registry
from mobox.server.readiness import Readiness
from mobox.server.services import Process
from mobox.settings import Settings
from mobox.storage.postgres import PostgresStorage
from mobox.supervisor import Supervisor
from server.live_server import LiveServer, live_server, loading_first, message
from server.scripted_agent import Gate, a_day_of_work, prompt
from storage.conformance import say, words
from storage.test_postgres_leases import given_up
from storage.test_postgres_outage import CALM, begin
from support.clocks import Clock
from support.postgres_server import Databases, running_postgres
from support.waiting import wait_until

SOON = """
from msgspec.structs import replace

import mobox.cli.serve as command

read = command.read_settings
command.read_settings = lambda *given: replace(read(*given), busy_seconds=1)
"""
"""What a server loads before all else: who asks is told sooner than is usual."""


def test_reader_waits_while_the_database_is_stopped_and_killed_and_continues(
    agents: Path, tmp_path: Path, http: httpx.Client, gate: Gate
) -> None:
    path = loading_first(tmp_path, SOON)
    day = a_day_of_work(1)
    said = message("chat", prompt(gate.step, *day[:20], gate.step, *day[20:]))
    said["messages"][0]["id"] = "m1"
    with running_postgres() as database:
        given = ("--agents", agents, "--database-url")
        url = asyncio.run(Databases(database.url).blank())
        with live_server(tmp_path / "data", *given, url, PYTHONPATH=path) as server:
            with http.stream("POST", f"{server.url}/api/chat", json=said) as response:
                for goes in (database.stop, database.kill):
                    gate.wait()
                    goes()
                    check_that_it_says_so(http, server)
                    gate.open()  # what the agent says now is written when somebody can
                    database.start()
                read = frames(response.read().decode())
            run = {"run": response.headers["x-mobox-run"]}
            wait_until(lambda: http.get(f"{server.url}/readyz").status_code == 200)
            assert frames(http.get(f"{server.url}/api/chat/chat/stream", params=run).text) == read
            assert '"finishReason":"stop"' in read[-2]
            assert read[-1] == "data: [DONE]"


def frames(body: str) -> list[str]:
    return [line for line in body.splitlines() if line.startswith("data: ")]


def check_that_it_says_so(http: httpx.Client, server: LiveServer) -> None:
    told = http.get(f"{server.url}/api/chats")
    assert (told.status_code, "retry-after" in told.headers) == (503, True)
    assert http.get(f"{server.url}/readyz").status_code == 503
    assert http.get(f"{server.url}/healthz").status_code == 200


async def test_readiness_check_does_not_hide_that_the_machine_slept(
    postgres: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose leases are over then, who looks after the runs must find out by itself."""
    clock, since_boot = Clock(), time.clock_gettime
    url = await postgres.database(str(tmp_path))
    store = await PostgresStorage.open(url, replace(CALM, clock=clock))
    silent = await begin(store)
    await say(store, silent, *words("a"))  # so no lease is renewed later
    clock.now += 3_600_000
    assert await given_up(store) == [silent.id]
    monkeypatch.setattr(time, "clock_gettime", lambda which: since_boot(which) + 3600)
    supervisor = Supervisor(store, Catalog([]), tmp_path)
    process = Process(
        settings=Settings(),
        storage=store,
        supervisor=supervisor,
        metrics=Registry(),
        models=NoModels(),
        readiness=Readiness(store, tmp_path),
    )
    assert (await ready(Request({"type": "http"}), process)).status_code == 200
    clock.now += 3_600_000
    assert await given_up(store) == []
    await store.close()
