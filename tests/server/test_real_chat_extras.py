"""What a page sends along reaches the agent, with the real AI SDK clients and over sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.chat_clients import Chat, Frontend, Report
from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import emit, prompt
from server.socket_clients import SocketClients

each_major = pytest.mark.parametrize("frontend", ["ai-v6 v6", "ai v7"], indirect=True)

TOLD = prompt(["told"])
SCHEMA = {"type": "object", "properties": {}}
BODY = {
    "model": "small",
    "webSearch": True,
    "system": "Be brief.",
    "tools": {"locate": {"description": "Where am I?", "parameters": SCHEMA}},
}
OPTIONS = {
    "body": BODY,
    "headers": {"X-Tenant": "one", "x-secret": "two", "authorization": "Bearer three"},
}
GOT = {
    "tools": [{"name": "locate", "description": "Where am I?", "parameters": SCHEMA}],
    "context": [],
    "state": None,
    "instructions": ["Be brief."],
    "properties": {},
    "body": {"model": "small", "webSearch": True},
    "headers": {"x-tenant": "one"},
}
NOTHING = {**GOT, "tools": [], "instructions": [], "body": {}, "headers": {}}


@pytest.fixture(scope="module")
def forwarding(agents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server that forwards a header."""
    data = tmp_path_factory.mktemp("forwarding") / "data"
    flags = ("--agents", agents, "--forwarded-headers", "x-tenant")
    with live_server(data, *flags, patience=10 * LIMIT) as server:
        yield server


def said(report: Report) -> Any:
    """What the agent says that it got from the page."""
    assert (report.status, report.error) == ("ready", None)
    texts = [part["text"] for part in report.messages[-1]["parts"] if part["type"] == "text"]
    return json.loads(texts[-1])


def call(page: Chat, name: str, *args: object) -> Any:
    page.begin(name, *args)
    return said(page.settle())


@each_major
def test_messages_edits_and_regenerations_bring_what_the_page_sends(
    frontend: Frontend, chat_id: str, forwarding: LiveServer
) -> None:
    page = frontend.at(forwarding).open(chat_id)
    assert call(page, "sendMessage", {"text": TOLD}) == NOTHING
    assert call(page, "sendMessage", {"text": TOLD}, OPTIONS) == GOT
    first = page.settle().messages[0]["id"]
    assert call(page, "regenerate", {**OPTIONS, "body": {"model": "big"}}) == {
        **NOTHING,
        "body": {"model": "big"},
        "headers": {"x-tenant": "one"},
    }
    assert call(page, "sendMessage", {"text": TOLD, "messageId": first}, OPTIONS) == GOT


@each_major
@pytest.mark.parametrize("leaves", [False, True], ids=["agent waits", "agent has left"])
def test_answers_bring_what_the_page_sends_then(
    frontend: Frontend, chat_id: str, forwarding: LiveServer, leaves: bool
) -> None:
    approval = ["approve", "call_1", [], []]
    steps = [emit("tool_use", id="call_1", name="delete", input={}), approval, ["told"]]
    if leaves:
        request = {"id": "may_call_1", "kind": "approval", "tool_call_id": "call_1"}
        pause = emit("paused", request_ids=["may_call_1"], resume=steps[1:])
        steps = [steps[0], emit("input_request", **request), pause, ["exit", 0]]
    page = frontend.at(forwarding).open(chat_id)
    page.begin("sendMessage", {"text": prompt(*steps)}, {"body": {"model": "old"}})
    page.settle()
    page.answer("may_call_1", True)
    assert call(page, "sendMessage", None, OPTIONS) == GOT


def test_message_over_a_socket_brings_the_same(
    sockets: SocketClients, chat_id: str, forwarding: LiveServer
) -> None:
    client = sockets.open(forwarding, extraHeaders=OPTIONS["headers"])
    client.join(chat_id, format="ai-sdk")
    client.say(chat_id, TOLD, **BODY)
    frames = [frame["data"] for frame in client.frames() if frame["data"] != "[DONE]"]
    texts = [each["delta"] for each in frames if each["type"] == "text-delta"]
    assert json.loads("".join(texts)) == GOT
