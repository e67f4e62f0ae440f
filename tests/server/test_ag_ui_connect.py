"""Who connects to a thread while its agent speaks, at any word, has in the end what all have."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from mobox.capture.jsonlines import JsonLines
from mobox.capture.pipeline import Recorder
from mobox.events import StreamEvent
from mobox.server.services import Services
from server.app_client import app_client, begin, say
from support.ag_ui_client import CLIENTS, AGUIClients, AGUIReading
from support.waiting import until

RECORDINGS = Path(__file__).parent.parent / "recordings"
SPOKEN = ["claude/everything", "emitted/every_event", "openai/responses_full", "adk/transfer"]
CUTS = 12
"""At how many places of a log somebody connects; at every place, the law of the formatter does."""


def recorded(name: str) -> list[StreamEvent]:
    framework, _, _ = name.partition("/")
    lines, recorder = JsonLines(), Recorder(framework)
    log = recorder.feed(lines.feed((RECORDINGS / f"{name}.jsonl").read_bytes()))
    log += recorder.feed(lines.close()) + recorder.close()
    return [entry.event for entry in log]


async def connected(
    client: httpx.AsyncClient, thread_id: str, profile: str, **query: str
) -> list[bytes]:
    version = {"protocolVersion": "1.0"} if profile == "1.0" else {}
    body = {"threadId": thread_id, "runId": str(uuid4()), "messages": [], **version}
    told = await client.post("/api/agui/chat/connect", json=body, params=query)
    assert told.headers["content-type"].startswith("text/event-stream")
    return [frame[6:].encode() for frame in told.text.split("\n\n") if frame.startswith("data: ")]


async def joined_after(
    services: Services, client: httpx.AsyncClient, events: list[StreamEvent], cut: int, profile: str
) -> tuple[str, list[bytes]]:
    """A thread in which somebody connected when the run had said so much, and what they read."""
    thread_id = str(uuid4())
    run = await begin(services, thread_id, "Hello")
    await say(services, run, *events[:cut])
    reading = asyncio.create_task(connected(client, thread_id, profile))
    await until(lambda: services.heartbeats.open_streams)  # it begins where the log ends
    await say(services, run, *events[cut:])
    return thread_id, await reading


def shown(reading: AGUIReading) -> str:
    """What the page shows of the run, whatever its id is; arguments by their value, as at rest."""
    assert (reading.error, reading.warnings) == (None, [])
    mine = [message for message in reading.messages if message["role"] != "user"]
    for call in [call for message in mine for call in message.get("toolCalls", ())]:
        call["function"]["arguments"] = json.loads(call["function"]["arguments"] or "{}")
    said = [mine, reading.state, reading.outcome, reading.run_error]
    told = json.dumps(said, sort_keys=True)
    return told.replace(mine[0]["id"].partition(":")[0], "run")


@pytest.mark.parametrize("name", SPOKEN)
async def test_replay_equals_the_live_stream(ag_ui: AGUIClients, name: str, tmp_path: Path) -> None:
    async with app_client(tmp_path, database_url="memory:") as (services, client):
        thread_id = str(uuid4())
        run = await begin(services, thread_id, "Hello")
        await say(services, run, *recorded(name))
        joined = await connected(client, thread_id, "1.0")
        replayed = await connected(client, thread_id, "1.0", replay="1")
    types = [json.loads(event)["type"] for event in replayed]
    assert {"RUN_STARTED", "TEXT_MESSAGE_CONTENT", "CUSTOM"} <= set(types)
    assert len(types) > len(joined)
    assert shown(ag_ui.read("1.0", replayed)) == shown(ag_ui.read("1.0", joined))


@pytest.mark.parametrize("profile", CLIENTS)
@pytest.mark.parametrize("name", SPOKEN)
async def test_client_connecting_at_any_event_has_what_all_have(
    ag_ui: AGUIClients, name: str, profile: str, tmp_path: Path
) -> None:
    events = recorded(name)
    cuts = sorted({max(1, len(events) * n // CUTS) for n in range(CUTS)})
    everybody: set[str] = set()
    async with app_client(tmp_path, database_url="memory:") as (services, client):
        for cut in cuts:
            thread_id, read = await joined_after(services, client, events, cut, profile)
            late = await connected(client, thread_id, profile)
            everybody.add(shown(ag_ui.read(profile, read)))
            everybody.add(shown(ag_ui.read(profile, late)))
    assert len(everybody) == 1


async def test_a_thread_that_is_not_there_is_an_empty_stream(tmp_path: Path) -> None:
    async with app_client(tmp_path, database_url="memory:") as (_, client):
        assert await connected(client, "nobody's", "1.0") == []
