"""`mobox serve` with an agent that has no key and talks to a provider through the gateway."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

from models.scripted_upstream import Connection, anthropic_stream, scripted_upstream, streams
from models.served_gateway import CANARY
from server.live_server import LIMIT, Reader, http_client, live_server
from support.waiting import until

AGENT = """
    import anthropic
    from shared.emitter import emit_done, emit_text, read_turn

    read_turn()
    client = anthropic.Anthropic()
    asked = [{"role": "user", "content": "x"}]
    with client.messages.stream(model="claude-sonnet-4-5", max_tokens=9, messages=asked) as stream:
        for text in stream.text_stream:
            emit_text(text)
    emit_done()
"""


def agent_in(folder: Path, python: Path, more: str = "") -> Path:
    agent = folder / "agents" / "writer"
    agent.mkdir(parents=True)
    entry = json.dumps([str(python), str(agent / "run_agent.py")])
    (agent / "agent.yaml").write_text(f"models: [anthropic]\nentry: {entry}\n{more}")
    (agent / "run_agent.py").write_text(textwrap.dedent(AGENT))
    return agent.parent


def kept(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.time_limit(3 * LIMIT)
async def test_an_agent_without_a_key_uses_the_servers(frameworks: Path, tmp_path: Path) -> None:
    data, agents, reader = tmp_path / "data", agent_in(tmp_path, frameworks), Reader("c")
    async with scripted_upstream(streams(anthropic_stream("Hello", " you"))) as upstream:
        env = {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": upstream.url}
        with live_server(data, "--agents", agents, patience=3 * LIMIT, **env) as server:
            async with http_client(server) as client:
                await reader.say(client, "write")
                assert reader.text == "Hello you", server.warnings
                listed = (await client.get("/api/agents")).json()["agents"]
                metrics = (await client.get("/metrics")).text
    assert [seen.header("x-api-key") for seen in upstream.requests] == [CANARY]
    assert [agent["model"] for agent in listed] == ["provider"]
    counted = 'mobox_model_calls_total{provider="anthropic",source="provider",outcome="200"} 1'
    assert counted in metrics


EARLY = """
    import os, urllib.error, urllib.request
    from shared.emitter import emit_done, emit_text, read_turn

    def call():
        headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
        url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
        try:
            return urllib.request.urlopen(urllib.request.Request(url, b"{}", headers)).status
        except urllib.error.HTTPError as error:
            return error.code

    with open(os.environ["CALLS"], "a") as file:
        file.write(f"{call()}\\n")
    read_turn()
    emit_text(f"{call()}")
    emit_done()
"""


@pytest.mark.time_limit(3 * LIMIT)
async def test_a_spare_process_reaches_no_model_before_its_turn(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    agents = agent_in(tmp_path, Path(sys.executable), f"warm: 1\nenv: {{CALLS: {calls}}}\n")
    (agents / "writer" / "run_agent.py").write_text(textwrap.dedent(EARLY))
    first, second = Reader("c1"), Reader("c2")

    def statuses() -> list[str]:
        return calls.read_text().split() if calls.exists() else []

    async with scripted_upstream(streams(anthropic_stream("Hello"))) as upstream:
        env = {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": upstream.url}
        with live_server(
            tmp_path / "data", "--agents", agents, patience=3 * LIMIT, **env
        ) as server:
            async with http_client(server) as client:
                await first.say(client, "write")
                await until(lambda: len(statuses()) == 2)
                await second.say(client, "write")
    early = statuses()
    assert early[:2] == ["200", "403"], "the first process had its turn when it was started"
    assert early.count("200") == 1, "the second run has a spare"
    assert (first.text, second.text) == ("200", "200")


@pytest.mark.time_limit(3 * LIMIT)
async def test_a_recorded_run_is_played_without_a_provider(
    frameworks: Path, tmp_path: Path
) -> None:
    """What one server records, another plays."""
    data, agents = tmp_path / "data", agent_in(tmp_path, frameworks)
    first, second, third = Reader("c1"), Reader("c2"), Reader("c3")
    async with scripted_upstream(streams(anthropic_stream("Once", " upon"))) as upstream:
        env = {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": upstream.url}
        with live_server(
            data, "--agents", agents, "--record-models", patience=3 * LIMIT, **env
        ) as server:
            async with http_client(server) as client:
                await first.say(client, "write")
    tape = (data / "models" / f"{first.run_id}.jsonl").read_text()
    (agents / "writer" / "tape.jsonl").write_text(tape)
    with (agents / "writer" / "agent.yaml").open("a") as yaml:
        yaml.write("model: recorded\ncassette: tape.jsonl\n")
    with live_server(data, "--agents", agents) as server:
        async with http_client(server) as client:
            await second.say(client, "write")
            assert second.text == first.text == "Once upon"
            assert (await client.get("/api/agents")).json()["agents"][0]["model"] == "recorded"
            (agents / "writer" / "tape.jsonl").write_text(tape.replace('"x"', '"another"'))
            await third.say(client, "write")
            stderr = (await client.get(f"/api/runs/{third.run_id}/stderr")).text
            assert "this request is not in the cassette" in stderr
            assert "another" in stderr


@pytest.mark.time_limit(3 * LIMIT)
async def test_a_budget_ends_a_run_with_its_code(frameworks: Path, tmp_path: Path) -> None:
    async def reply(connection: Connection) -> None:
        await streams(anthropic_stream("Hello"))(connection)

    agents = agent_in(tmp_path, frameworks, "limits: {calls: 1}\n")
    script = agents / "writer" / "run_agent.py"
    calls = script.read_text().replace("emit_done()", "") + script.read_text()
    script.write_text(calls.replace("read_turn()\n", "turn = read_turn()\n", 1).replace(
        "\nread_turn()\n", "\n", 1))  # fmt: skip
    reader = Reader("c")
    async with scripted_upstream(reply) as upstream:
        env = {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": upstream.url}
        with live_server(
            tmp_path / "data", "--agents", agents, patience=3 * LIMIT, **env
        ) as server:
            async with http_client(server) as client:
                await reader.say(client, "write")
                events = (await client.get(f"/api/runs/{reader.run_id}/events")).text
        assert len(upstream.requests) == 1
    assert '"code":"budget"' in events, events


@pytest.mark.time_limit(3 * LIMIT)
async def test_a_key_in_a_dotenv_file_is_for_the_gateway_alone(
    frameworks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = agent_in(tmp_path, frameworks)
    server_folder = tmp_path / "server"
    server_folder.mkdir()
    async with scripted_upstream(streams(anthropic_stream("Hello"))) as upstream:
        (server_folder / ".env").write_text(f"ANTHROPIC_API_KEY='{CANARY}' # mine\n")
        (server_folder / "models.yaml").write_text(
            f"models: {{anthropic: {{url: '{upstream.url}'}}}}\n"
        )
        monkeypatch.chdir(server_folder)
        data = tmp_path / "data"
        reader = Reader("c")
        with live_server(data, "--agents", agents) as server:
            async with http_client(server) as client:
                await reader.say(client, "write")
                assert reader.text == "Hello", server.warnings
    assert upstream.requests[0].header("x-api-key") == CANARY
    assert CANARY.encode() not in kept(data)
