"""What the bodies of all routes must be, whichever reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobox.events import InputRequest, Paused
from server.app_client import app_client, begin, say
from server.serving import on_uvloop


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/chat/c1/stop", {"runId": "a\0b"}),
        ("/api/chat/c1/answer", {"requestId": "r1", "runId": "a\nb"}),
        ("/api/agui/chat/stop", {"threadId": "c1", "runId": "a\x7fb"}),
        ("/api/copilotkit/agent/default/stop/c1", {"runId": "a\0b"}),
        ("/api/tickets", {"runId": "a\0b"}),
    ],
)
@on_uvloop
async def test_ids_have_no_control_characters_wherever_they_are_told(
    tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    async with app_client(tmp_path) as (services, client):
        await begin(services, "c1", "one")
        told = await client.post(path, json=body)
        assert told.status_code == 400
        assert told.json()["error"]["field"] == "runId"


@on_uvloop
async def test_an_error_repeats_no_more_of_a_body_than_tells_what_is_meant(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        told = await client.post("/api/tickets", json={"x" * 10_000: 1})
        assert told.status_code == 400
        assert len(told.content) < 1_000
        missing = (await client.post("/api/tickets", json={})).json()["error"]
        assert missing["field"] == "runId"


@on_uvloop
async def test_an_agent_calls_its_request_what_it_likes(tmp_path: Path) -> None:
    name = "q\n" * 500
    async with app_client(tmp_path) as (services, client):
        run = await begin(services, "c1", "one")
        asked = InputRequest(id=name, kind="question")
        await say(services, run, asked, Paused(request_ids=(name,)))
        told = await client.post("/api/chat/c1/answer", json={"requestId": name})
        assert told.status_code == 202
