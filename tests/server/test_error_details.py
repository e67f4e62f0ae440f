"""What readers see of errors where their details are not shown, and who else sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mobox.agent_path.shared.failure_codes import sentence_of
from mobox.settings import Settings
from server.live_server import message
from server.server_with_keys import bearer, give_key, keyed_app
from support.waiting import until

CANARY = "c4nary-of-a-cluster"
VARIABLE = "VARIABLE_WITHOUT_A_VALUE"
WIRE = json.dumps(
    {"type": "error", "error": {"type": "overloaded_error", "message": f"{CANARY} is busy"}}
)
UNKNOWN = json.dumps({"nobody": CANARY})
EMITTER = "from shared.emitter import *\n"
AGENTS = {
    # the name: its framework, its code, and the code of its error
    "raises": ("emitted", f"{EMITTER}raise KeyError('{CANARY}')", "crashed"),
    "bare": ("emitted", f"raise KeyError('{CANARY}')", "crashed"),
    "exits": ("emitted", f"import sys; sys.exit('{CANARY}')", "crashed"),
    "emits": (
        "emitted",
        f"{EMITTER}emit_error('{CANARY}'); emit_text('Well.'); emit_error(ValueError('{CANARY}'))\n"
        "import sys; sys.exit(1)",
        "ValueError",
    ),
    "wire": ("claude", f"print({WIRE!r}); import sys; sys.exit(1)", "overloaded"),
    "unread": ("claude", f"print({UNKNOWN!r})", "not_understood"),
    "notice": (
        "emitted",
        f"{EMITTER}emit_error('{CANARY}'); emit_text('Well.'); emit_done()",
        None,
    ),
}


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    for name, (framework, code, _) in AGENTS.items():
        (folder / name).mkdir(parents=True)
        yaml = f"name: {name}\nframework: {framework}\nenv: [{VARIABLE}]\n"
        (folder / name / "agent.yaml").write_text(yaml)
        (folder / name / "run_agent.py").write_text(code)
    return folder


@pytest.mark.parametrize("name", AGENTS)
async def test_words_of_an_error_are_in_no_response(
    name: str, agents: Path, tmp_path: Path
) -> None:
    async with keyed_app(tmp_path / "data", agents=agents) as (services, client):
        _, reads = await give_key(services.storage, "ann", ("read", "write"))
        _, operates = await give_key(services.storage, "ann")
        reader, operator = bearer(reads), bearer(operates)
        body = message("c", "hello") | {"agent": name}
        live = await client.post("/api/chat", json=body, headers=reader)
        await until(lambda: services.supervisor.running == 0)
        path = f"/api/runs/{live.headers['x-mobox-run']}"
        formats = (await client.get("/api/formats", headers=reader)).json()["formats"]
        reading = [
            *(f"{path}/events?format={each['name']}" for each in formats),
            *(f"{path}/events?after=1", f"{path}/inspect", f"{path}/stderr", "/api/chats"),
            *("/api/chats/c", "/api/chats/c/messages", "/api/agents", "/api/chat/c/stream"),
        ]
        told = {"live": live.text}
        for each in reading:
            told[each] = (await client.get(each, headers=reader)).text
        connect = {"threadId": "c", "runId": "r", "state": {}, "messages": [], "tools": []}
        connect |= {"context": [], "forwardedProps": {}}
        joined = await client.post("/api/agui/chat/connect", json=connect, headers=reader)
        assert joined.status_code == 200
        told["connect"] = joined.text
        assert [each for each, text in told.items() if CANARY in text] == []
        assert [each for each, text in told.items() if VARIABLE in text] == []
        if (code := AGENTS[name][2]) is not None:
            assert sentence_of(code) in told["live"]
            assert sentence_of(code) in told["/api/chats/c"]
        rows = (await client.get(f"{path}/inspect", headers=operator)).text
        assert CANARY in rows, "an operator sees the words"
        forbidden = await client.get(f"{path}/stderr", headers=reader)
        allowed = await client.get(f"{path}/stderr", headers=operator)
        assert (forbidden.status_code, allowed.status_code) == (403, 200)


async def test_replay_is_what_a_live_reader_saw(agents: Path, tmp_path: Path) -> None:
    async with keyed_app(tmp_path / "data", agents=agents) as (services, client):
        _, secret = await give_key(services.storage, "ann", ("read", "write"))
        body = message("c", "hello") | {"agent": "emits"}
        live = await client.post("/api/chat", json=body, headers=bearer(secret))
        path = f"/api/runs/{live.headers['x-mobox-run']}/events?format=ai-sdk"
        again = await client.get(path, headers=bearer(secret))
        documents = [line for line in again.text.splitlines() if line.startswith("data")]
        assert documents == [line for line in live.text.splitlines() if line.startswith("data")]


async def test_public_error_is_shown_to_readers(agents: Path, tmp_path: Path) -> None:
    code = f"{EMITTER}emit_error('No such order.', public=True)\nimport sys; sys.exit(1)"
    (agents / "exits" / "run_agent.py").write_text(code)
    async with keyed_app(tmp_path / "data", agents=agents) as (services, client):
        _, secret = await give_key(services.storage, "ann", ("read", "write"))
        body = message("c", "hello") | {"agent": "exits"}
        live = await client.post("/api/chat", json=body, headers=bearer(secret))
        assert "No such order." in live.text


async def test_details_can_be_shown_with_keys(agents: Path, tmp_path: Path) -> None:
    app = keyed_app(tmp_path / "data", agents=agents, error_details="full")
    async with app as (services, client):
        _, secret = await give_key(services.storage, "ann", ("read", "write"))
        body = message("c", "hello") | {"agent": "raises"}
        live = await client.post("/api/chat", json=body, headers=bearer(secret))
        assert CANARY in live.text


def test_details_are_shown_on_a_local_server_only() -> None:
    assert Settings().shows_error_details
    assert not Settings(auth="keys").shows_error_details
    assert not Settings(error_details="brief").shows_error_details
    assert Settings(auth="keys", error_details="full").shows_error_details
