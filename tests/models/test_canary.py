"""No key of a provider reaches an agent, and an agent's token is of no use after its run."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import httpx
import pytest

from models.scripted_upstream import Connection, scripted_upstream
from models.served_gateway import CANARY, KEYS
from server.live_server import LIMIT, LiveServer, Reader, http_client, live_server

CALLS = {
    "anthropic": ("ANTHROPIC", "/v1/messages", "x-api-key", f"{CANARY}-a"),
    "openai": ("OPENAI", "/chat/completions", "authorization", f"Bearer {CANARY}-o"),
    "gemini": ("GEMINI", "/v1beta/models/m:generateContent", "x-goog-api-key", f"{CANARY}-g"),
    "tavily": ("TAVILY", "/extract", "authorization", f"Bearer {CANARY}-t"),
    "mine": ("MINE", "/responses", "authorization", f"Bearer {CANARY}-m"),
    "my-search": ("MY_SEARCH", "/search/web", "x-search-key", f"{CANARY}-s"),
}
"""By provider: its name in the agent's variables, a path, the header of the key and its value."""
MODELS = """
models:
  mine: {{url: '{url}/mine', key: MINE}}
  my-search: {{url: '{url}/my', key: SEARCH, send_key: X-Search-Key, format: http,
               paths: [POST /search/*]}}
"""
AGENT = """
    import json, os, sys, urllib.error, urllib.request
    from shared.emitter import emit_done, emit_text, read_turn

    read_turn()
    calls, tokens = json.loads(os.environ["CALLS"]), os.environ["TOKENS"]
    found = json.load(open(tokens)) if os.path.exists(tokens) else {}

    def status(name, path, key):
        url = os.environ.get(name + "_BASE_URL") or os.environ["GOOGLE_GEMINI_BASE_URL"]
        headers = {"authorization": "Bearer " + key, "x-search-key": key} if key else {}
        try:
            request = urllib.request.Request(url + path, b"{}", headers)
            return urllib.request.urlopen(request).status
        except urllib.error.HTTPError as error:
            return error.code

    own = os.environ["OPENAI_API_KEY"]
    told = [[status(name, path, key) for name, path in calls] for key in (own, *found, "")]
    emit_text(json.dumps(told))
    json.dump([own], open(tokens, "w"))
    seen = [open(f"/proc/{pid}/environ").read() for pid in (os.getpid(), os.getppid())]
    print(seen, dict(os.environ), file=sys.stderr)
    with open(os.path.join(os.environ["MOBOX_STATE"], "seen.json"), "w") as file:
        json.dump([seen, dict(os.environ)], file)
    emit_done()
"""
PATHS = (
    "/api/chats", "/api/chats/c", "/api/chats/c/messages", "/api/agents", "/healthz", "/metrics",
    "/api/runs/{run}/events", "/api/runs/{run}/inspect", "/api/runs/{run}/stderr",
)  # fmt: skip


async def reply(connection: Connection) -> None:
    """Fail, so that all that is logged of failures is seen too."""
    is_failing = "search" in connection.request.target
    await connection.document({"error": {"message": "no"}}, 500 if is_failing else 200)


def agents_in(folder: Path) -> Path:
    agent = folder / "agents" / "asker"
    agent.mkdir(parents=True)
    entry = json.dumps([sys.executable, str(agent / "run_agent.py")])
    calls = json.dumps([[name, path] for name, path, _, _ in CALLS.values()])
    env = json.dumps({"CALLS": calls, "TOKENS": str(folder / "tokens")})
    names = ", ".join(CALLS)
    (agent / "agent.yaml").write_text(f"models: [{names}]\nentry: {entry}\nenv: {env}\n")
    (agent / "run_agent.py").write_text(textwrap.dedent(AGENT))
    return agent.parent


def kept(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def everything(server: LiveServer, client: httpx.AsyncClient, run: str) -> str:
    found = [await client.get(path.format(run=run)) for path in PATHS]
    assert [each.status_code for each in found] == [200] * len(PATHS)
    return "\n".join(f"{each.headers} {each.text}" for each in found) + server.warnings


@pytest.mark.time_limit(3 * LIMIT)
async def test_keys_are_found_nowhere_and_tokens_end_with_their_run(tmp_path: Path) -> None:
    data, agents, first, second = tmp_path / "data", agents_in(tmp_path), Reader("c"), Reader("c")
    models = tmp_path / "models.yaml"
    async with scripted_upstream(reply) as upstream:
        models.write_text(MODELS.format(url=upstream.url))
        env = {
            **KEYS,
            "TAVILY_API_KEY": f"{CANARY}-t",
            "MINE": f"{CANARY}-m",
            "SEARCH": f"{CANARY}-s",
            "ANTHROPIC_BASE_URL": upstream.url,
            "OPENAI_BASE_URL": f"{upstream.url}/v1",
            "GOOGLE_GEMINI_BASE_URL": upstream.url,
            "TAVILY_BASE_URL": upstream.url,
        }
        flags = ("--agents", agents, "--models", models, "--record-models", "--log-level", "debug")
        with live_server(data, *flags, patience=3 * LIMIT, **env) as server:
            async with http_client(server) as client:
                await first.say(client, "ask")
                await second.say(client, "ask again")
                said = await everything(server, client, first.run_id)
                said += await everything(server, client, second.run_id)
                cassette = data / "models" / f"{second.run_id}.jsonl"
                recorded = [json.loads(line) for line in cassette.read_text().splitlines()]
                disk = kept(tmp_path)
                await client.delete("/api/chats/c")
                assert not cassette.exists(), "a cassette is deleted with its chat"
    passed, refused = [200, 200, 200, 200, 200, 500], [401] * 6
    assert json.loads(first.text) == [passed, refused], "with its token, and without one"
    assert json.loads(second.text) == [passed, refused, refused], "nor with that of another run"
    expected = [(header, value) for _, _, header, value in CALLS.values()] * 2
    pairs = zip(upstream.requests, expected, strict=True)
    assert [(name, seen.header(name)) for seen, (name, _) in pairs] == expected
    assert [call["provider"] for call in recorded] == list(CALLS)
    assert b"ANTHROPIC_BASE_URL" in disk, "the agent tells all that it knows"
    assert CANARY.encode() not in said.encode() + disk
    assert "mbm_" not in said, "a token is in no log and no response"
