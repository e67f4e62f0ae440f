"""Placeholders of charts on AG-UI: a client that looks their calls up by id finds them, always."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from server.ag_ui_clients import NEWEST, OLDER, AGUIFrontend, AGUIPages, Json
from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import Gate, emit, prompt
from support.document_client import DocumentClient, charts_of

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server of the demo, which waits for nothing."""
    data = tmp_path_factory.mktemp("demo") / "data"
    agents = ROOT / "agents"
    with live_server(
        data, "--agents", agents, "--agent", "demo", patience=60 * LIMIT, MOBOX_DEMO_SPEED="0"
    ) as server:
        yield server


def body_of(thread_id: str, words: str | None = None) -> Json:
    said = [] if words is None else [{"id": str(uuid4()), "role": "user", "content": words}]
    return {"threadId": thread_id, "runId": str(uuid4()), "messages": said}


@pytest.mark.parametrize("version", [{}, {"protocolVersion": "1.0"}], ids=["pre-1.0", "1.0"])
def test_the_charts_of_the_demo_are_found_by_a_client_of_the_document(
    demo: LiveServer, http: httpx.Client, version: Json
) -> None:
    thread = str(uuid4())
    for _ in range(2):  # the demo gives its call the same id each time
        body = body_of(thread, "chart") | version
        told = http.post(f"{demo.url}/api/agui/chat", json=body).raise_for_status()
        client = DocumentClient().read(told.text)
        assert client.charts == ["api"]
        assert client.order == ["tools", "text"]
    again = http.post(
        f"{demo.url}/api/agui/chat/connect?replay=1", json=body_of(thread) | version
    ).raise_for_status()
    assert DocumentClient().read(again.text).charts == ["api"]


@pytest.mark.parametrize("client", [NEWEST, OLDER])
def test_the_charts_of_the_demo_are_found_in_the_messages_of_the_real_client(
    demo: LiveServer, http: httpx.Client, agui_pages: AGUIPages, client: str
) -> None:
    frontend = AGUIFrontend(agui_pages, http, demo, client)
    thread = str(uuid4())
    page = frontend.open(thread, "demo")
    assert charts_of(page.say("chart").messages) == ["api"]
    assert charts_of(page.say("chart").messages) == ["api", "api"]
    told = http.post(f"{demo.url}/api/agui/chat/connect", json=body_of(thread)).raise_for_status()
    frames = [json.loads(line[6:]) for line in told.text.split("\n") if line.startswith("data: ")]
    (reloaded,) = [each for each in frames if each["type"] == "MESSAGES_SNAPSHOT"]
    assert charts_of(reloaded["messages"]) == ["api", "api"]


def matrix(job: str) -> Json:
    series = {"metric": {"job": job}, "values": [[1700000000, "1"]]}
    return {"status": "success", "data": {"resultType": "matrix", "result": [series]}}


def test_client_joining_within_a_placeholder_finds_its_call(
    agui: AGUIFrontend, chat_id: str
) -> None:
    with Gate() as gate:
        script = prompt(
            emit("tool_use", id="q", name="query_range", input={}),
            emit("tool_result", tool_use_id="q", content=matrix("first")),
            emit("text", content='Before <<{"type":"promql","tool_'),
            gate.step,
            emit("text", content='call_id":"q"}>> after'),
        )
        url, version = f"{agui.url}/api/agui/chat", {"protocolVersion": "1.0"}
        first = agui.http.build_request("POST", url, json=body_of(chat_id, script) | version)
        started = agui.http.send(first, stream=True).iter_lines()
        read = [next(started)]
        while "Before " not in read[-1]:
            read.append(next(started))
        second = agui.http.build_request("POST", f"{url}/connect", json=body_of(chat_id) | version)
        joined = agui.http.send(second, stream=True)
        lines = joined.iter_lines()
        beginning = [next(lines) for _ in range(3)]
        gate.open()
        rest = [*beginning, *lines]
        whole = "\n".join([*read, *started])
        assert DocumentClient().read(whole).charts == ["first"]
    frames = [json.loads(line[6:]) for line in rest if line.startswith("data: ")]
    (snapshot,) = [each for each in frames if each["type"] == "MESSAGES_SNAPSHOT"]
    assert snapshot["messages"][-1]["content"] == "Before "
    deltas = [each["delta"] for each in frames if each["type"] == "TEXT_MESSAGE_CONTENT"]
    text = {**snapshot["messages"][-1], "content": "".join(["Before ", *deltas])}
    assert text["content"].endswith(" after")
    assert charts_of([*snapshot["messages"][:-1], text]) == ["first"]
