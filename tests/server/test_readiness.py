"""What /readyz says while nothing can be stored, and why."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from mobox.storage.sqlite import SqliteStorage
from server.app_client import app_client
from server.live_server import message, reserved_port
from storage.conformance_queue import begin_queued
from storage.test_postgres_connections import FEW, Fillers
from support.pgbouncer import running_pgbouncer
from support.postgres_server import Databases, running_postgres
from support.waiting import until_async

SECONDS = 120
OK = (200, None)


async def readiness(client: httpx.AsyncClient) -> tuple[int, str | None]:
    told = await client.get("/readyz")
    return told.status_code, told.json().get("reason")


async def until_it_says(client: httpx.AsyncClient, wanted: tuple[int, str | None]) -> None:
    async def says_so() -> bool:
        return await readiness(client) == wanted

    await until_async(says_so)


async def test_full_disk_under_a_file(tmp_path: Path) -> None:
    """A message does not fit; a row still does, and is not taken for room."""
    async with app_client(tmp_path) as (services, client):
        assert await readiness(client) == OK
        store = services.storage
        assert isinstance(store, SqliteStorage)
        await _limit(store, 1)  # as many pages as there are
        body = message("c1", "x" * 500_000)
        body["messages"][0]["id"] = "m1"
        refused = await client.post("/api/chat", json=body)
        assert refused.status_code == 503
        await until_it_says(client, (503, "disk_full"))
        assert (await client.get("/healthz")).status_code == 200
        await _limit(store, 1_000_000)
        await until_it_says(client, OK)


async def test_full_disk_under_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app_client(tmp_path) as (_, client):
        assert await readiness(client) == OK
        with monkeypatch.context() as changed:
            changed.setattr("mobox.server.readiness.LEAST_FREE", 1 << 62)  # no disk has so much
            await until_it_says(client, (503, "disk_full"))
        await until_it_says(client, OK)


async def _limit(store: SqliteStorage, pages: int) -> None:
    limit = f"PRAGMA max_page_count = {pages}"
    await store._writer.submit(lambda t: t.connection.execute(limit).fetchall())


@pytest.mark.time_limit(SECONDS)
async def test_no_connection_for_the_writer(tmp_path: Path) -> None:
    with running_postgres(FEW) as database:
        url = await Databases(database.url).blank()
        async with app_client(tmp_path, url) as (_, client):
            assert await readiness(client) == OK
            fillers = Fillers(url)
            await fillers.fill()
            while await readiness(client) != (503, "no_connections"):
                await fillers.end_all()
                await fillers.fill()
            numbers = (await client.get("/metrics")).text.splitlines()
            assert "mobox_writer_up 0" in numbers
            assert "mobox_queued_runs NaN" in numbers
            await fillers.close()
            await until_it_says(client, OK)
            assert "mobox_writer_up 1" in (await client.get("/metrics")).text.splitlines()


@pytest.mark.time_limit(SECONDS)
async def test_pooler_that_is_restarted_in_another_mode(
    postgres: Databases, tmp_path: Path
) -> None:
    """Other clients hold the pool's connections in turns, so each statement gets another one."""
    url = await postgres.blank()
    with reserved_port() as port:
        server = AsyncExitStack()
        with running_pgbouncer(url, "session", port) as pooled:
            opened = app_client(tmp_path, pooled, busy_seconds=2)
            _, client = await server.enter_async_context(opened)
            assert await readiness(client) == OK
        with running_pgbouncer(url, "transaction", port, default_pool_size=3):
            others = [await asyncpg.connect(pooled, statement_cache_size=0) for _ in range(2)]
            n = 0
            while await readiness(client) != (503, "wrong_pooler"):
                await others[n % 2].execute("BEGIN")
                await client.get("/api/chats")
                await others[n % 2].execute("ROLLBACK")
                n += 1
            for other in others:
                other.terminate()
        with running_pgbouncer(url, "session", port):
            await until_it_says(client, OK)
            await server.aclose()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_process_of_an_older_version_claims_nothing(
    kind: str, tmp_path: Path, postgres: Databases, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mobox")
    url = "" if kind == "sqlite" else await postgres.blank()
    said = "this process claims no more queued runs: the database has version 9999"
    async with app_client(tmp_path, url, look=0.02, sweep=0.02) as (services, client):
        first = await begin_queued(services.storage, "c1", owner="local", agent="counter")
        await until_async(lambda: _is_claimed(services.storage, first.id))
        await _execute(tmp_path, url, "INSERT INTO migration VALUES (9999, 'later', 0)")
        await until_it_says(client, (503, "newer_schema"))
        await until_async(lambda: _is_logged(caplog, said))
        second = await begin_queued(services.storage, "c2", owner="local", agent="counter")
        polls = _Polls(services.supervisor)
        await until_async(polls.are_several)
        assert (await services.storage.run("local", second.id)).lease_owner is None
        await _execute(tmp_path, url, "DELETE FROM migration WHERE version = 9999")
        await until_async(lambda: _is_claimed(services.storage, second.id))
    assert caplog.text.count(said) == 1


class _Polls:
    """Counts how often a supervisor has looked for work."""

    def __init__(self, supervisor: Any) -> None:
        self._count = 0
        self._poll = supervisor._polling._poll
        supervisor._polling._poll = self._counted

    async def _counted(self) -> None:
        await self._poll()
        self._count += 1

    async def are_several(self) -> bool:
        return self._count >= 3


async def _is_claimed(storage: Any, run_id: str) -> bool:
    run = await storage.run("local", run_id)
    return run.lease_owner is not None or run.status != "running"


async def _is_logged(caplog: pytest.LogCaptureFixture, line: str) -> bool:
    return line in caplog.text


async def _execute(folder: Path, url: str, statement: str) -> None:
    if url:
        connection = await asyncpg.connect(url)
        await connection.execute(f"SET search_path = mobox; {statement}")
        await connection.close()
        return
    with sqlite3.connect(folder / "mobox.db") as file:
        file.execute(statement)
    file.close()
