"""The list of agents: which there are, which can be used, and which is the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobox.agent_path.shared.failure_codes import sentence_of
from mobox.sandbox import Probe, bubblewrap
from mobox.sandbox.process import ProcessSandbox
from mobox.supervisor import sandboxes
from server.app_client import app_client
from server.live_server import message
from server.server_with_keys import bearer, give_key, keyed_app
from support.wheels import index

__all__ = ["index"]

KEY = "OPENAI_API_KEY"
COMMAND = "run mobox agents install echo --agents {} --environments {}"
MODELS = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", KEY)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in MODELS:
        monkeypatch.delenv(name, raising=False)


def make(tmp_path: Path, name: str, yaml: str = "", requirements: str | None = None) -> Path:
    """An agent; returns the folder of all."""
    folder = tmp_path / "agents" / name
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text(yaml)
    code = "from shared.emitter import *; read_turn(); import tiny; emit_text('hi'); emit_done()"
    (folder / "run_agent.py").write_text(code)
    if requirements is not None:
        (folder / "requirements.txt").write_text(requirements)
    return folder.parent


async def listed(tmp_path: Path, folder: Path, **settings: Any) -> dict[str, Any]:
    async with keyed_app(tmp_path / "data", agents=folder, **settings) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        answer: dict[str, Any] = (await client.get("/api/agents", headers=bearer(secret))).json()
    return answer


async def test_the_agents_are_listed(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        answer = (await client.get("/api/agents")).json()
    [agent] = answer["agents"]
    assert agent["id"] == answer["default"] == "counter"
    assert agent.keys() == {
        "id", "name", "description", "icon", "starters", "model", "availability", "notice",
        "sandbox", "network",
    }  # fmt: skip
    assert (agent["model"], agent["availability"], agent["notice"]) == (None, "ready", "")


async def test_without_agents_there_is_no_default(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    assert (await listed(tmp_path, tmp_path / "agents"))["default"] is None


# The default


@pytest.fixture
def three(tmp_path: Path) -> Path:
    make(tmp_path, "claude", "models: [anthropic]\n")
    make(tmp_path, "demo")
    return make(tmp_path, "shop", "models: [openai]\n")


async def test_the_demo_is_the_default_without_a_key(tmp_path: Path, three: Path) -> None:
    assert (await listed(tmp_path, three))["default"] == "demo"


async def test_the_first_agent_whose_model_has_a_key_is_the_default(
    tmp_path: Path, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-1")
    assert (await listed(tmp_path, three))["default"] == "shop"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    assert (await listed(tmp_path, three))["default"] == "claude"


async def test_an_agent_that_cannot_start_is_not_the_default(
    tmp_path: Path, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-1")
    (three / "shop" / "requirements.txt").write_text("tiny\n")
    assert (await listed(tmp_path, three))["default"] == "demo"
    assert (await listed(tmp_path, three, installs=True))["default"] == "shop"


async def test_the_setting_wins(
    tmp_path: Path, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-1")
    assert (await listed(tmp_path, three, agent="claude"))["default"] == "claude"


async def test_the_default_answers_those_who_name_no_agent(tmp_path: Path) -> None:
    make(tmp_path, "a-first")
    folder = make(tmp_path, "demo")
    settings: dict[str, Any] = {"agents": folder, "auth": "none"}
    async with keyed_app(tmp_path / "data", **settings) as (_, client):
        await client.post("/api/chat", json=message("c", "hello"))
        assert (await client.get("/api/chats/c")).json()["agent"] == "demo"


# Packages


def row(answer: dict[str, Any]) -> tuple[str, str]:
    [agent] = answer["agents"]
    return agent["availability"], agent["notice"]


async def test_a_server_that_installs_says_so(tmp_path: Path, index: Path) -> None:
    folder = make(tmp_path, "echo", requirements="tiny\n")
    settings: dict[str, Any] = {"agents": folder, "auth": "none", "installs": True}
    async with keyed_app(tmp_path / "data", **settings) as (_, client):
        before = (await client.get("/api/agents")).json()
        assert row(before) == ("installs", "Will be installed at the first message.")
        answer = await client.post("/api/chat", json=message("c", "hello"))
        assert "Installed 1 package in" in answer.text
        assert '"delta":"hi"' in answer.text
        assert row((await client.get("/api/agents")).json()) == ("ready", "")


async def test_a_failed_install_is_shown_with_its_cause(tmp_path: Path, index: Path) -> None:
    folder = make(tmp_path, "echo", requirements="unheard\n")
    settings: dict[str, Any] = {"agents": folder, "auth": "none", "installs": True}
    async with keyed_app(tmp_path / "data", **settings) as (_, client):
        answer = await client.post("/api/chat", json=message("c", "hello"))
        assert '"errorCode":"not_installed"' in answer.text
        availability, notice = row((await client.get("/api/agents")).json())
    assert availability == "failed"
    assert notice.startswith("Its packages could not be installed: No solution found")


async def test_a_message_on_a_server_with_keys_installs_nothing(
    tmp_path: Path, index: Path
) -> None:
    folder = make(tmp_path, "echo", requirements="tiny\n")
    data = tmp_path / "data"
    async with keyed_app(data, agents=folder) as (services, client):
        _, reads = await give_key(services.storage, "ann", ("read", "write"))
        _, operates = await give_key(services.storage, "ann")
        reader, operator = bearer(reads), bearer(operates)
        answer = await client.post("/api/chat", json=message("c", "hello"), headers=reader)
        assert sentence_of("not_installed") in answer.text
        assert '"errorCode":"not_installed"' in answer.text
        assert "mobox agents install" not in answer.text
        assert not (data / "environments").exists()
        plain = row((await client.get("/api/agents", headers=reader)).json())
        full = row((await client.get("/api/agents", headers=operator)).json())
        run = answer.headers["x-mobox-run"]
        log = (await client.get(f"/api/runs/{run}/inspect", headers=operator)).text
    command = COMMAND.format(folder, data / "environments")
    assert plain == ("unavailable", "Its packages are not installed.")
    assert full == ("unavailable", f"Its packages are not installed: {command}")
    assert command in log


async def test_a_server_whose_workers_execute_does_not_know_their_packages(
    tmp_path: Path,
) -> None:
    folder = make(tmp_path, "echo", requirements="tiny\n")
    url = f"sqlite:///{tmp_path}/mobox.db"
    answer = await listed(tmp_path, folder, execute="workers", database_url=url)
    assert row(answer) == ("ready", "")


# Sandboxes


class Isolating(ProcessSandbox):
    """A sandbox of which it is only said that it isolates."""

    isolates = True

    def probe(self) -> Probe:
        return Probe()


def give(name: str) -> ProcessSandbox:
    return ProcessSandbox() if name == "process" else Isolating()


async def rows(tmp_path: Path, folder: Path, *scopes: str, **settings: Any) -> list[dict[str, Any]]:
    async with keyed_app(tmp_path / "data", agents=folder, **settings) as (services, client):
        _, secret = await give_key(services.storage, "ann", scopes)
        answer = await client.get("/api/agents", headers=bearer(secret))
    agents: list[dict[str, Any]] = answer.json()["agents"]
    return agents


async def test_the_sandbox_and_the_network_of_an_agent_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandboxes, "get_sandbox", give)
    make(tmp_path, "boxed", "sandbox: bubblewrap\nnetwork: [api.example.com]\n")
    make(tmp_path, "plain")
    folder = make(tmp_path, "same", "sandbox: subprocess\nmodels: [openai]\n")
    found = await rows(tmp_path, folder, "read", sandbox="process")
    assert [(each["sandbox"], each["network"], each["availability"]) for each in found] == [
        ("bubblewrap", "hosts", "ready"),
        ("process", "full", "ready"),
        ("process", "model", "ready"),
    ]


async def test_an_agent_that_asks_for_less_than_the_server_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandboxes, "get_sandbox", give)
    folder = make(tmp_path, "loose", "sandbox: process\n")
    (loose,) = await rows(tmp_path, folder, "read", "operate", sandbox="bubblewrap")
    assert (loose["sandbox"], loose["availability"]) == ("process", "unavailable")
    assert loose["notice"] == (
        "Agent 'loose' asks for the sandbox 'process', which isolates less than 'bubblewrap', the"
        " least that this server allows."
    )


async def test_an_agent_whose_sandbox_does_not_work_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "PROGRAM", "no-such-program")
    folder = make(tmp_path, "boxed", "sandbox: bubblewrap\n")
    (full,) = await rows(tmp_path, folder, "read", "operate", sandbox="process")
    (brief,) = await rows(tmp_path, folder, "read", sandbox="process")
    assert (full["sandbox"], full["availability"]) == ("bubblewrap", "unavailable")
    assert full["notice"].startswith("Bubblewrap is not installed")
    assert (brief["availability"], brief["notice"]) == (
        "unavailable",
        "Its sandbox is not available.",
    )


async def test_workers_know_the_sandboxes_of_agents(tmp_path: Path) -> None:
    folder = make(tmp_path, "boxed", "sandbox: bubblewrap\nnetwork: none\n")
    url = f"sqlite:///{tmp_path}/shared.db"
    (boxed,) = await rows(tmp_path, folder, "read", execute="workers", database_url=url)
    assert (boxed["sandbox"], boxed["network"], boxed["availability"]) == (None, "none", "ready")
