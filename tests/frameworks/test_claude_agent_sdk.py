"""The real Claude Agent SDK with the program it brings along, asking a person through the server.

The program carries out a tool while the message that calls it still streams. So what comes after
the question is the end of that message, or more calls.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from frameworks.scripted_anthropic import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    ScriptedAnthropic,
    scripted_anthropic,
)
from server.live_server import LIMIT, LiveServer, agent_processes, live_server, message
from server.socket_clients import SocketClients

Json = dict[str, Any]

AGENT = Path(__file__).parent / "claude_agent" / "run_agent.py"
SETTINGS = {
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "NO_PROXY": "127.0.0.1",
}
"""What lets the program talk to nobody but the endpoint."""


class Stage:
    """A server with the agent, and somebody who asks it."""

    def __init__(self, folder: Path, python: Path, endpoint: ScriptedAnthropic) -> None:
        self.endpoint = endpoint
        self.data = folder / "data"
        self._agents = folder / "agents"
        agent = self._agents / "claude"
        agent.mkdir(parents=True)
        shutil.copy(AGENT, agent)
        env = {**SETTINGS, "ANTHROPIC_BASE_URL": endpoint.url}
        yaml = {"framework": "claude", "entry": [str(python), "run_agent.py"], "env": env}
        (agent / "agent.yaml").write_text(json.dumps(yaml))

    @contextmanager
    def serving(self) -> Iterator[tuple[LiveServer, httpx.Client]]:
        with (
            live_server(self.data, "--agents", self._agents, "--lease", "1") as server,
            httpx.Client(base_url=server.url, timeout=LIMIT, trust_env=False) as client,
        ):
            yield server, client

    @property
    def deleted(self) -> list[str]:
        """What the tool was called with."""
        files = self.data.glob("state/*/deleted.txt")
        return [line for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def stage(frameworks: Path, tmp_path: Path) -> Iterator[Stage]:
    with scripted_anthropic() as endpoint:
        yield Stage(tmp_path, frameworks, endpoint)


def read(client: httpx.Client, *request: str, **more: Any) -> tuple[str, list[Json]]:
    """The run of a response, and what it says until it ends, which it does where the run waits."""
    with client.stream(*request, **more) as response:
        lines = [line.removeprefix("data: ") for line in response.iter_lines()]
        chunks = [json.loads(line) for line in lines if line.startswith("{")]
        return response.headers["x-mobox-run"], chunks


def ask(client: httpx.Client, script: str) -> tuple[str, list[Json]]:
    body = {**message("chat", f"[[{script}]] Tidy up."), "agent": "claude"}
    return read(client, "POST", "/api/chat", json=body)


def answer(client: httpx.Client, call: str, **decision: str) -> None:
    told = client.post("/api/chat/chat/answer", json={"requestId": f"may_{call}", **decision})
    assert told.status_code == 202, told.text


def until(client: httpx.Client, *statuses: str) -> Json:
    """The chat, once its run has one of these statuses, or is over."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        chat: Json = client.get("/api/chats/chat").json()
        run = chat["activeRun"]
        if (run["status"] if run else "over") in statuses:
            return chat
        time.sleep(0.05)
    raise AssertionError(chat)


def until_the_message_ends(client: httpx.Client, run: str) -> None:
    """Which it does after the question."""

    def has_ended() -> bool:
        return any(each["event"]["type"] == "step_end" for each in events(client, run, "canonical"))

    wait_until(has_ended)


def wait_until(happens: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def events(client: httpx.Client, run: str, protocol: str) -> list[Json]:
    """The run as far as it is there, in a format."""
    asked = {"format": protocol, "live": "off"}
    lines = client.get(f"/api/runs/{run}/events", params=asked).text.splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    return [json.loads(line) for line in data]


def own_id(about: Json) -> str:
    """The agent's own id of a call, without the run's before it."""
    return str(about["toolCallId"]).split(":")[-1]


def asked_about(client: httpx.Client, server: LiveServer, run: str, node: str) -> Json:
    """The calls that a person is asked about, in each protocol."""
    until(client, "waiting")
    ai_sdk = read(client, "GET", "/api/chat/chat/stream")[1]
    ag_ui = events(client, run, "ag-ui")[-1]
    panes = {e["message_id"]: e["metadata"] for e in events(client, run, "panes")}.values()
    asked = [about for about in panes if "request" in about]
    with SocketClients(node) as sockets:
        socket = sockets.open(server)
        socket.join("chat")
        waiting = socket.read("session:waiting")[-1]
    return {
        "ai-sdk": [own_id(c) for c in ai_sdk if c["type"] == "tool-approval-request"],
        "ag-ui": [own_id(interrupt) for interrupt in ag_ui["outcome"]["interrupts"]],
        "panes": [a["request"]["tool_id"] for a in asked if a["status"] == "pending"],
        "agent-event": [request["toolCallId"] for request in waiting["requests"]],
    }


def everywhere(*calls: str) -> Json:
    return {name: [*calls] for name in ("ai-sdk", "ag-ui", "panes", "agent-event")}


def test_an_approved_call_is_carried_out_once(stage: Stage, node: str) -> None:
    with stage.serving() as (server, client):
        run, chunks = ask(client, "delete")
        requests = [c for c in chunks if c["type"] == "tool-approval-request"]
        assert [(c["approvalId"], c["toolCallId"]) for c in requests] == [
            (f"{run}:may_toolu_a", f"{run}:toolu_a")
        ]
        assert asked_about(client, server, run, node) == everywhere("toolu_a")
        answer(client, "toolu_a", decision="approved")
        chat = until(client, "over")
        assert stage.deleted == ["a.txt"]
        parts = chat["messages"][-1]["parts"]
        assert [part["text"] for part in parts if part["type"] == "text"][-1] == "That is all."
        assert events(client, run, "agent-event")[-1]["type"] == "complete"


def test_the_reason_of_a_denial_reaches_the_model(stage: Stage) -> None:
    with stage.serving() as (_, client):
        ask(client, "delete")
        answer(client, "toolu_a", decision="denied", reason="It is the only copy.")
        until(client, "over")
        assert stage.deleted == []
        (result,) = stage.endpoint.results()
        assert (result["content"], result["is_error"]) == ("It is the only copy.", True)


def test_next_call_of_the_same_message_is_requested_next(stage: Stage, node: str) -> None:
    with stage.serving() as (server, client):
        run, _ = ask(client, "two")
        stage.endpoint.gate.set()
        until_the_message_ends(client, run)
        assert asked_about(client, server, run, node) == everywhere("toolu_a")
        answer(client, "toolu_a", decision="approved")
        wait_until(lambda: stage.deleted)
        assert asked_about(client, server, run, node) == everywhere("toolu_b")
        answer(client, "toolu_b", decision="denied", reason="Not that one.")
        until(client, "over")
        assert stage.deleted == ["a.txt"]


def test_a_run_that_waits_when_the_server_is_killed_waits_on(stage: Stage, node: str) -> None:
    with stage.serving() as (server, client):
        run, _ = ask(client, "delete")
        until_the_message_ends(client, run)
        server.kill()
    wait_until(lambda: not agent_processes(stage.data))
    with stage.serving() as (server, client):
        time.sleep(2)  # twice the lease: what was lost would have ended by now
        assert asked_about(client, server, run, node) == everywhere("toolu_a")
        assert stage.deleted == []
        answer(client, "toolu_a", decision="denied")
        until(client, "over")
        usage = events(client, run, "agent-event")[-1]["usage"]
        used = {"input_tokens": 2 * INPUT_TOKENS, "output_tokens": 2 * OUTPUT_TOKENS}
        assert {name: usage[name] for name in used} == used, "one call in each execution"
