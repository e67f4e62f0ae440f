"""Branches, runs and feedback of a chat: the routes, and that every protocol shows one branch."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from mobox.events import Done, InputRequest, Paused, Start, Text, TextEnd, Usage
from mobox.events.turn import HistoryMessage
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.services import Services
from mobox.server.session_index import Format
from mobox.server.socketio.reader import FramedSession, Session, SessionSources
from mobox.settings import OWNER
from mobox.storage.log import Run
from mobox.supervisor.input_requests import InputRequests
from mobox.supervisor.turn import turn_for
from server.app_client import answered, app_client, begin, say
from server.test_chats import refused

URLS = ["memory:", ""]
CHAT = "/api/chats/c"


async def edited(services: Services, message_id: str, text: str, answer: str) -> Run:
    """As `useChat` does it: the message keeps its id."""
    said = {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": "c", "messages": [said], "messageId": message_id, "trigger": "submit-message"}
    started = await services.storage.begin_turn(OWNER, read_request(body), "counter", "emitted")
    said_events = [Text(id="text_1", content=answer), TextEnd(id="text_1"), Done(reason="stop")]
    await say(services, started.run, *said_events)
    return started.run


async def two_branches(services: Services) -> tuple[Run, Run]:
    await answered(services, "c", "one", "1")
    old = await answered(services, "c", "two", "2")
    return old, await edited(services, "c-two", "zwei", "II")


async def stored_texts(client: httpx.AsyncClient) -> list[str]:
    chat = (await client.get(CHAT)).raise_for_status().json()
    return [message["content"] for message in chat["messages"]]


async def paged_texts(client: httpx.AsyncClient) -> list[str]:
    page = (await client.get(f"{CHAT}/messages")).raise_for_status().json()
    return [message["content"] for message in page["messages"]]


async def thread_texts(client: httpx.AsyncClient, path: str) -> list[str]:
    body = {"threadId": "c", "runId": str(uuid4()), "messages": [], "protocolVersion": "1.0"}
    told = (await client.post(path, json=body)).text.split("\n\n")
    events = [json.loads(frame[6:]) for frame in told if frame.startswith("data: ")]
    (snapshot,) = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    return [message["content"] for message in snapshot["messages"]]


async def agent_texts(services: Services) -> list[str]:
    """What an agent gets as the history of the next message, which then is stopped."""
    run = await begin(services, "c", uuid4().hex)
    turn = await turn_for(services.storage, run, InputRequests())
    await say(services, run, Done(reason="stop"))
    assert turn.parent == turn.history[-1].id
    return [_text(message) for message in turn.history]


def _text(message: HistoryMessage) -> str:
    return "".join(part.get("text", "") for part in message.parts)


@pytest.mark.parametrize("url", URLS)
async def test_every_protocol_shows_the_chosen_branch(tmp_path: Path, url: str) -> None:
    async with app_client(tmp_path, url) as (services, client):
        old, new = await two_branches(services)
        for run, texts in [(old, ["two", "2"]), (new, ["zwei", "II"]), (old, ["two", "2"])]:
            chosen = await client.post(f"{CHAT}/branch", json={"runId": run.id})
            assert chosen.status_code == 200 and chosen.json()["runId"] == run.id
            expected = ["one", "1", *texts]
            assert await stored_texts(client) == expected
            assert await paged_texts(client) == expected
            for path in ("/api/agui/chat/connect", "/api/copilotkit/agent/counter/connect"):
                assert await thread_texts(client, path) == expected
        assert await agent_texts(services) == ["one", "1", "two", "2"]


async def test_a_page_is_told_which_versions_there_are(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c", "one", "1")
        assert (await client.get(f"{CHAT}/branches")).json()["forks"] == []
        old = await answered(services, "c", "two", "2")
        new = await edited(services, "c-two", "zwei", "II")
        (fork,) = (await client.get(f"{CHAT}/branches")).json()["forks"]
        assert (fork["messageId"], fork["role"], fork["chosen"]) == ("c-two", "user", 1)
        assert [version["runId"] for version in fork["versions"]] == [old.id, new.id]
        assert all(version["createdAt"] > 0 for version in fork["versions"])


async def test_the_agent_of_the_chosen_branch_answers_next(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        old, _ = await two_branches(services)
        said = {"id": "c-two", "role": "user", "parts": [{"type": "text", "text": "deux"}]}
        body = {"id": "c", "messages": [said], "messageId": "c-two"}
        request = read_request({**body, "trigger": "submit-message"})
        other = (await services.storage.begin_turn(OWNER, request, "other", "emitted")).run
        await say(services, other, Done(reason="stop"))
        assert (await client.get(CHAT)).json()["agent"] == "other"
        await client.post(f"{CHAT}/branch", json={"runId": old.id})
        assert (await client.get(CHAT)).json()["agent"] == "counter"


@pytest.mark.parametrize("waits", [False, True])
async def test_an_active_run_keeps_its_branch(tmp_path: Path, waits: bool) -> None:
    async with app_client(tmp_path) as (services, client):
        old, _ = await two_branches(services)
        run = await begin(services, "c", "more")
        if waits:
            await say(services, run, InputRequest(id="r"), Paused(request_ids=("r",)))
        response = await client.post(f"{CHAT}/branch", json={"runId": old.id})
        assert refused(response)[:2] == (409, "run_active")
        assert response.json()["error"]["runId"] == run.id
        assert "stop it" in response.json()["error"]["message"]
        assert await stored_texts(client) == ["one", "1", "zwei", "II", "more"]


@pytest.mark.parametrize("run_id", ["run_of_nobody", "of another chat"])
async def test_a_run_that_is_not_of_this_chat_is_not_found(tmp_path: Path, run_id: str) -> None:
    async with app_client(tmp_path) as (services, client):
        await two_branches(services)
        other = await answered(services, "other", "one", "1")
        name = other.id if run_id == "of another chat" else run_id
        response = await client.post(f"{CHAT}/branch", json={"runId": name})
        assert refused(response)[:2] == (404, "not_found")


async def test_a_socket_that_reconnects_skips_what_is_not_chosen(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        first = await answered(services, "c", "one", "1")
        old = await answered(services, "c", "two", "2")
        await edited(services, "c-two", "zwei", "II")
        await client.post(f"{CHAT}/branch", json={"runId": old.id})
        more = await answered(services, "c", "more", "3")
        sources = SessionSources(services.storage, services.index, services.readers)
        reading = FramedSession(sources, Session(OWNER, "c", Format("ai-sdk")))
        await reading.open(first.id, "0")
        runs: list[str] = []
        async with asyncio.timeout(10), aclosing(reading.batches()) as batches:
            async for batch in batches:
                runs += [batch.run.id] if batch.run.id not in runs else []
                if batch.run.id == more.id:
                    break
        assert runs == [first.id, old.id, more.id]


# Runs


async def test_runs_have_agents_models_tokens_and_totals(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        assert (await client.get("/api/chats/nothing/runs")).status_code == 404
        first = await begin(services, "c", "one")
        used = Usage(id="1", input=1000, output=50, cache_read=800, model="gpt-4o-mini")
        await say(services, first, Start(framework="emitted"), used)
        (row,) = (await client.get(f"{CHAT}/runs")).json()["runs"]
        assert (row["status"], row["model"], row["usage"]) == ("running", None, None)
        cost = Usage(id="2", input=1200, output=70, reasoning=30, cost_usd=0.5, model="gpt-4o-mini")
        await say(services, first, cost, Done(reason="stop"))
        second = await begin(services, "c", "two")
        free = Usage(id="1", input=10, output=1, cost_usd=9.0, model="nobody-knows")
        await say(services, second, Start(framework="emitted", simulated=True), free)
        await say(services, second, Done(reason="error"))
        found: dict[str, Any] = (await client.get(f"{CHAT}/runs")).json()
        one, two = found["runs"]
        assert (one["id"], one["agent"], one["isChosen"]) == (first.id, "counter", True)
        assert one["endedAt"] >= one["startedAt"] > 0
        assert (one["model"], one["simulated"]) == ("gpt-4o-mini", False)
        assert (one["contextTokens"], one["contextWindow"]) == (1270, 128_000)
        assert one["usage"] == {
            "inputTokens": 2200, "outputTokens": 120, "cachedInputTokens": 800,
            "cacheWriteTokens": None, "reasoningTokens": 30, "costUsd": 0.5,
        }  # fmt: skip
        assert (two["simulated"], two["contextWindow"], two["reason"]) == (True, None, "error")
        assert found["totals"] == {
            "inputTokens": 2210, "outputTokens": 121, "cachedInputTokens": 800,
            "cacheWriteTokens": None, "reasoningTokens": 30, "costUsd": 0.5,
        }  # fmt: skip


async def test_totals_count_all_branches(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await begin(services, "c", "one")
        await say(services, run, Usage(id="1", input=10, output=1), Done(reason="stop"))
        await edited(services, "c-one", "eins", "I")
        found = (await client.get(f"{CHAT}/runs")).json()
        assert [row["isChosen"] for row in found["runs"]] == [False, True]
        assert found["totals"]["inputTokens"] == 10


# Feedback


async def test_feedback_is_given_changed_and_taken_back(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c", "one", "1")
        given = {"runId": run.id, "value": "down", "comment": "  too short "}
        row = (await client.post(f"{CHAT}/feedback", json=given)).raise_for_status().json()
        assert (row["value"], row["comment"]) == ("down", "too short")
        await client.post(f"{CHAT}/feedback", json={"runId": run.id, "value": "up"})
        (row,) = (await client.get(f"{CHAT}/feedback")).json()["feedback"]
        assert (row["runId"], row["value"], row["comment"]) == (run.id, "up", "")
        assert (await client.delete(f"{CHAT}/feedback/{run.id}")).status_code == 204
        assert (await client.get(f"{CHAT}/feedback")).json() == {"feedback": []}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"value": "sideways"}, "value"),
        ({"value": "up", "comment": "x" * 4001}, "comment"),
        ({"value": "up", "coment": ""}, "coment"),
        ({}, "value"),
    ],
)
async def test_invalid_feedback_is_refused(
    tmp_path: Path, body: dict[str, Any], field: str
) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c", "one", "1")
        response = await client.post(f"{CHAT}/feedback", json={"runId": run.id, **body})
        assert refused(response) == (400, "invalid_request", field)
        assert (await client.get(f"{CHAT}/feedback")).json() == {"feedback": []}


async def test_feedback_is_deleted_with_the_chat(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c", "one", "1")
        await client.post(f"{CHAT}/feedback", json={"runId": run.id, "value": "up"})
        await client.delete(CHAT)
        assert refused(await client.get(f"{CHAT}/feedback"))[:2] == (404, "not_found")
        await answered(services, "c", "one", "1")
        assert (await client.get(f"{CHAT}/feedback")).json() == {"feedback": []}
