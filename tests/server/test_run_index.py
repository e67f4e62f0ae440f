"""A run's events have their places in the chat, whenever they are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mobox.events import Done, InputRequest, Paused, Start, Text, TextEnd
from mobox.server.app import create_app, open_services
from mobox.settings import Settings
from server.app_client import begin, say
from server.live_server import AGENTS
from server.serving import client_of
from server.stored_runs import told_in

ASKS = [Start(framework="test"), InputRequest(id="q"), Paused(request_ids=("q",))]
SPEAKS = [Start(framework="test"), Text(id="t", content="Hi"), TextEnd(id="t"), Done(reason="stop")]


def indexes(kind: str, documents: list[Any]) -> list[int]:
    if kind == "events":
        return [event["eventIndex"] for event in documents]
    frames = [row["frames"]["agent-event"] for row in documents]
    return [event["eventIndex"] for events in frames for event in events]


@pytest.mark.parametrize("kind", ["events", "inspect"])
async def test_run_read_before_its_first_event_keeps_its_indexes(tmp_path: Path, kind: str) -> None:
    """The run before it waits when this one is begun, and is ended then."""
    settings = Settings(data=tmp_path, agents=AGENTS, database_url="memory:")
    async with open_services(settings) as services, client_of(create_app(services)) as client:
        waiting = await begin(services, "c1", "One")
        await say(services, waiting, *ASKS)
        run = await begin(services, "c1", "Two")
        path, asked = f"/api/runs/{run.id}/{kind}", {"format": "agent-event"}
        async with client.stream("GET", path, params=asked) as early:
            await say(services, waiting, Done(reason="cancelled"))
            await say(services, run, *SPEAKS)
            told = told_in((await early.aread()).decode())
        later = told_in((await client.get(path, params=asked)).text)
        assert told == later
        assert indexes(kind, [json.loads(each.data) for each in told]) == [2, 3, 4, 5]
