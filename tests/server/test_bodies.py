"""What the bodies of all routes must be, whichever reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobox.events import InputRequest, Paused
from mobox.settings import OWNER
from server.app_client import app_client, begin, say


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
async def test_ids_have_no_control_characters_in_any_output(
    tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    async with app_client(tmp_path) as (services, client):
        await begin(services, "c1", "one")
        told = await client.post(path, json=body)
        assert told.status_code == 400
        assert told.json()["error"]["field"] == "runId"


GUIDE = {"id": "m1", "role": "assistant", "parts": [{"type": "text", "text": "Half a"}]}
"""What a page has of the message that is being written."""


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"assistantMessage": GUIDE},
        {"assistantMessage": GUIDE, "activeStreamId": None},
        {"assistantMessage": None, "activeStreamId": "the run"},
        {"assistantMessage": GUIDE, "activeStreamId": "the run", "reason": "user", "more": [1]},
        {"runId": "the run", "activeStreamId": "the run", "messages": []},
    ],
)
async def test_stop_takes_the_documented_body_and_ignores_other_fields(
    tmp_path: Path, body: dict[str, Any]
) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await begin(services, "c1", "one")
        told = {name: run.id if value == "the run" else value for name, value in body.items()}
        stopped = await client.post("/api/chat/c1/stop", json=told)
        assert (stopped.status_code, stopped.json()["runId"]) == (202, run.id)


@pytest.mark.parametrize("stale", ["run_of_yesterday", "", "x" * 1000])
async def test_stop_for_another_stream_stops_nothing(tmp_path: Path, stale: str) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await begin(services, "c1", "one")
        body = {"assistantMessage": GUIDE, "activeStreamId": stale}
        told = await client.post("/api/chat/c1/stop", json=body)
        assert (told.status_code, told.json()) == (200, {"runId": None, "status": None})
        assert (await services.storage.run(OWNER, run.id)).status == "running"


@pytest.mark.parametrize(
    ("body", "field"), [(b"{oops", ""), (b"[]", ""), (b'{"activeStreamId": 1}', "activeStreamId")]
)
async def test_stop_refuses_a_body_of_another_shape(
    tmp_path: Path, body: bytes, field: str
) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await begin(services, "c1", "one")
        headers = {"content-type": "application/json"}
        told = await client.post("/api/chat/c1/stop", content=body, headers=headers)
        assert told.status_code == 400
        assert told.json()["error"]["code"] == "invalid_request"
        assert told.json()["error"].get("field", "") == field
        assert (await services.storage.run(OWNER, run.id)).status == "running"


async def test_error_quotes_little_of_the_body(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        told = await client.post("/api/tickets", json={"x" * 10_000: 1})
        assert told.status_code == 400
        assert len(told.content) < 1_000
        missing = (await client.post("/api/tickets", json={})).json()["error"]
        assert missing["field"] == "runId"


async def test_an_agent_calls_its_request_what_it_likes(tmp_path: Path) -> None:
    name = "q\n" * 500
    async with app_client(tmp_path) as (services, client):
        run = await begin(services, "c1", "one")
        asked = InputRequest(id=name, kind="question")
        await say(services, run, asked, Paused(request_ids=(name,)))
        told = await client.post("/api/chat/c1/answer", json={"requestId": name})
        assert told.status_code == 202
