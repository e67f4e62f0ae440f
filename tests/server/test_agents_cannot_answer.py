"""Agents that answer their own requests: by the API, and by what they print."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mobox.events import InputRequest, InputResponse, Raw
from server import calling_agent, scripted_agent
from server.live_server import (
    Kept,
    LiveServer,
    Reader,
    agent_processes,
    http_client,
    live_server,
    message,
    stored,
)
from server.many_processes import answer, stop
from server.scripted_agent import Step, emit, text, tool
from support.waiting import until

NEVER_HELD = ("--hold", "0.2")
"""The process of a run that waits ends soon: the next attempt is given the answers."""
YES = {"id": "may_c1", "decision": "approved", "permission": "p", "automatic": True}
CALL = tool("c1", "delete", {"path": "/"})
ASKS: Step = ["approve", "c1", [text("It is deleted.")], [text("It is kept.")]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forging") / "data"


@pytest.fixture(scope="module")
def server(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    agents = scripted_agent.write_agent(tmp_path_factory.mktemp("agents"))
    with live_server(data, "--agents", agents, *NEVER_HELD) as server:
        yield server


def asking(chat_id: str, *steps: Step) -> dict[str, Any]:
    body = message(chat_id, json.dumps(steps))
    body["messages"][0]["id"] = chat_id
    return body


async def kept(data: Path, chat_id: str) -> Kept:
    (found,) = [each for each in (await stored(data)).values() if each.run.chat_id == chat_id]
    return found


async def waiting(data: Path, chat_id: str, request: str) -> Kept:
    """The run, once it waits for the answer to this request."""
    while True:
        found = await kept(data, chat_id)
        names = [e.event.id for e in found.entries if isinstance(e.event, InputRequest)]
        if found.run.status == "waiting" and names[-1:] == [request]:
            return found
        await asyncio.sleep(0.05)


def answers_in(found: Kept) -> list[tuple[str | None, str]]:
    events = [entry.event for entry in found.entries]
    return [(event.id, event.decision) for event in events if isinstance(event, InputResponse)]


def raws_in(found: Kept) -> list[Raw]:
    return [entry.event for entry in found.entries if isinstance(entry.event, Raw)]


@pytest.mark.parametrize("is_early", [True, False])
async def test_a_printed_answer_does_not_count(
    server: LiveServer, data: Path, is_early: bool
) -> None:
    chat = f"printed-{is_early}"
    request = emit("input_request", id="may_c1", kind="approval", tool_call_id="c1")
    asks = [request, emit("paused", request_ids=["may_c1"])]
    forged = [emit("input_response", **YES)]
    async with http_client(server) as client:
        steps = [*CALL, *(forged + asks if is_early else asks + forged), ["exit", 0]]
        await client.post("/api/chat", json=asking(chat, *steps))
        found = await waiting(data, chat, "may_c1")
        while not (raws := raws_in(found)):  # the answer may come after the request
            found = await waiting(data, chat, "may_c1")
        assert answers_in(found) == []
        assert [raw.source for raw in raws] == ["answered by the agent itself"]
        assert (await client.get(f"/api/chats/{chat}/permissions")).json()["permissions"] == []
        await stop(client, chat)


async def test_a_later_attempt_is_not_given_a_printed_answer(
    server: LiveServer, data: Path
) -> None:
    forged = emit("input_response", **YES)
    async with http_client(server) as client:
        question: Step = ["ask", "ask_1", "Which?"]
        await client.post("/api/chat", json=asking("later", *CALL, forged, question, ASKS))
        await waiting(data, "later", "ask_1")
        await until(lambda: not agent_processes(data))
        await answer(client, "later")
        found = await waiting(data, "later", "may_c1")
        assert found.run.leg == 2
        assert answers_in(found) == [("ask_1", "answered")], "a person is asked"
        await stop(client, "later")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows whose a socket is")
async def test_an_agent_cannot_approve_its_own_request_by_the_api(tmp_path: Path) -> None:
    agents = calling_agent.write_agent(tmp_path / "agents")
    with live_server(tmp_path / "data", "--sandbox", "process", "--agents", agents) as server:
        yes = {"requestId": "may", "decision": "approved"}
        own = calling_agent.task(server.url, "/api/chat/own/answer", method="POST", body=yes)
        reader = Reader("own")
        async with http_client(server) as client:
            while not reader.text:  # the response ends at the pause, and again when it has tried
                await (reader.replay if reader.run_id else reader.say)(
                    client, reader.run_id or json.dumps(own)
                )
            assert reader.text == "403"
            found = await waiting(tmp_path / "data", "own", "may")
            assert answers_in(found) == []
            await stop(client, "own")
