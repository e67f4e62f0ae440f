"""What those are told who run the server."""

from __future__ import annotations

from pathlib import Path

from server.app_client import app_client
from server.serving import on_uvloop


@on_uvloop
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


@on_uvloop
async def test_what_goes_wrong_in_here_is_counted_and_guarded_like_any_answer(
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
