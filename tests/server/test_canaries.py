"""Secrets of the server stay there: they are looked for wherever something is said or kept."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.live_server import LIMIT, LiveServer, live_server, message, mobox
from server.server_with_keys import bearer

CANARIES = {
    "OPENAI_API_KEY": "canary-of-a-provider-7f3a",
    "AWS_SECRET_ACCESS_KEY": "canary-of-a-cloud-91bc",
    "REDIS_URL": "redis://:canary-of-a-cache-20de@127.0.0.1:1",
    "GIVEN_TO_NOBODY": "canary-of-nobody-55aa",
}
SHARED = {"GIVEN": "what-the-agent-was-given-33ff"}
AGENT = """
    import json, os, sys
    from shared.emitter import emit_done, emit_text, read_turn

    read_turn()
    emit_text(json.dumps(dict(os.environ)))
    print(json.dumps(dict(os.environ)), file=sys.stderr)
    emit_done()
"""
PATHS = (
    "/api/chats", "/api/chats/c", "/api/chats/c/messages", "/api/agents", "/api/formats",
    "/api/copilotkit/info", "/healthz", "/readyz", "/metrics", "/openapi.json", "/chat",
    "/api/runs/{run}/events", "/api/runs/{run}/inspect", "/api/runs/{run}/stderr", "/nowhere",
)  # fmt: skip


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents" / "gossip"
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text("name: Gossip\nframework: emitted\nenv: [GIVEN]\n")
    (folder / "run_agent.py").write_text(textwrap.dedent(AGENT))
    return folder.parent


def a_key(data: Path) -> str:
    told = ("--owner", "ann", "--scopes", "read,write,operate", "--data", str(data))
    code, secret, _ = mobox("keys", "add", *told)
    assert code == 0
    return secret.strip()


def said(server: LiveServer, secret: str) -> Iterator[str]:
    """All that the server says to the owner of a key."""
    with httpx.Client(base_url=server.url, headers=bearer(secret), trust_env=False) as client:
        answer = client.post("/api/chat", json=message("c", "Tell me"))
        run = answer.headers["x-mobox-run"]
        assert "MOBOX_STATE" in answer.text, "the agent tells all that it knows"
        yield answer.text
        for path in PATHS:
            told = client.get(path.format(run=run))
            yield f"{told.headers} {told.text}"
        bought = client.post("/api/tickets", json={"runId": run}).json()["ticket"]
        shown = {"ticket": bought}
        with httpx.Client(base_url=server.url, trust_env=False) as other:
            yield other.get(f"/api/runs/{run}/events", params=shown).text
            yield other.get(f"/api/runs/{run}/events", params=shown).text


def kept(folder: Path) -> bytes:
    """All that is on the disk, the log of the server too."""
    return b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_no_secret_of_the_server_gets_out(agents: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    secret = a_key(data)
    flags = ("--agents", agents, "--auth", "keys", "--log-level", "debug")
    with live_server(data, *flags, patience=3 * LIMIT, **CANARIES, **SHARED) as server:
        told = "\n".join(said(server, secret))
        assert server.process.poll() is None
    disk = kept(tmp_path)
    assert SHARED["GIVEN"].encode() in disk, "what an agent is given, and tells, is found"
    for each in (*CANARIES.values(), secret):
        assert each.encode() not in told.encode() + disk, each
    for prefix in (b"mbx_", b"mbt_"):
        assert prefix not in disk, "neither keys nor tickets are kept as they are"
