"""What those are told who run the server."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path

import httpx
import pytest

from server.app_client import app_client, begin
from server.live_server import message
from support.waiting import until_async


async def test_the_numbers_can_be_read(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        await client.get("/healthz")
        await client.get("/nowhere")
        told = await client.get("/metrics")
    assert told.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = told.text.splitlines()
    assert "mobox_legs 0" in lines
    assert "mobox_streams 0" in lines
    assert 'mobox_responses_total{method="GET",status="200"} 1' in lines
    assert 'mobox_responses_total{method="GET",status="404"} 1' in lines


async def test_internal_errors_are_counted_and_guarded_like_any_response(
    tmp_path: Path,
) -> None:
    async with app_client(tmp_path) as (services, client):
        await services.storage.close()  # as nobody does who still serves
        answer = await client.get("/api/chats")
        numbers = (await client.get("/metrics")).text.splitlines()
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert 'mobox_responses_total{method="GET",status="500"} 1' in numbers


async def test_unknown_method_has_no_label_of_its_own(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        for method in ("MAKE", "MAKE2"):
            assert (await client.request(method, "/healthz")).status_code == 405
        numbers = (await client.get("/metrics")).text.splitlines()
    assert 'mobox_responses_total{method="other",status="405"} 2' in numbers
    assert not [line for line in numbers if "MAKE" in line]


async def test_a_server_is_ready_until_it_closes(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        assert (await client.get("/readyz")).json() == {"status": "ok", "problem": None}
        await services.supervisor.close()
        told = await client.get("/readyz")
        assert (told.status_code, told.json()["status"]) == (503, "closing")
        assert (await client.get("/healthz")).status_code == 200


async def test_server_that_cannot_store_is_not_ready_and_logs_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mobox.server")
    async with app_client(tmp_path) as (_, client):
        with sqlite3.connect(tmp_path / "mobox.db") as connection:
            connection.execute("ALTER TABLE write_check RENAME TO elsewhere")
        told = await client.get("/readyz")
        with connection:
            connection.execute("ALTER TABLE elsewhere RENAME TO write_check")
        connection.close()
        await until_async(lambda: is_ready(client))
    assert (told.status_code, told.json()["status"]) == (503, "degraded")
    assert told.json()["reason"] == "unavailable"
    assert "table" not in told.json()["problem"]
    assert "not ready, /readyz returns 503: cannot write to the database: no such" in caplog.text
    assert caplog.messages[-1] == "ready again"


async def is_ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200


async def test_readiness_is_checked_once_a_second_however_many_ask(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        find = "SELECT value FROM write_check WHERE name = 'little'"
        with sqlite3.connect(tmp_path / "mobox.db") as connection:
            await asyncio.gather(*(client.get("/readyz") for _ in range(20)))
            first = connection.execute(find).fetchall()

            async def was_written_again() -> bool:
                await client.get("/readyz")
                return connection.execute(find).fetchall() != first

            await until_async(was_written_again)
        connection.close()


async def test_ends_of_attempts_are_counted(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        for n, text in enumerate(("hello", "question")):
            await client.post("/api/chat", json=message(f"c{n}", text))
        lines: list[str] = []

        async def are_counted() -> bool:
            lines[:] = (await client.get("/metrics")).text.splitlines()
            return any(line.startswith("mobox_attempts_ended_total{") for line in lines)

        await until_async(are_counted)
    assert 'mobox_attempts_ended_total{end="stop"} 1' in lines
    assert "mobox_writer_up 1" in lines
    assert "mobox_queued_runs 0" in lines
    assert "mobox_queued_oldest_seconds 0.0" in lines
    assert "mobox_leases 0" in lines


async def test_numbers_of_a_queue_are_those_of_all_processes(tmp_path: Path) -> None:
    async with app_client(tmp_path, execute="workers") as (services, client):
        await begin(services, "c1", "hello")
        lines = (await client.get("/metrics")).text.splitlines()
        assert "mobox_leases 1" in lines
    assert "mobox_queued_runs 0" in lines
