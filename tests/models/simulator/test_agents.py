"""Real agents with the default model, in the gateway: it plans, searches, delegates and writes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from mobox.models.config import ModelsConfig
from mobox.models.providers import PROVIDERS
from mobox.models.simulator import Script
from models.served_gateway import served_gateway
from server.live_server import clean_environment

RUN = Path(__file__).parent / "run_agents.py"
TOPIC = "how honey bees find flowers"
SEARCHES = [{"query": TOPIC}, {"query": f"{TOPIC} examples"}]


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Those of an agent that uses the gateway of a server without keys."""
    config = ModelsConfig(PROVIDERS, {}, script=Script(pace=0))
    served = served_gateway(tmp_path_factory.mktemp("gateway"), {}, config)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(served) as gateway:
        yield gateway.grant().env


def run(
    frameworks: Path, variables: Mapping[str, str], agent: str
) -> tuple[list[Any], str, dict[str, Any]]:
    command = [str(frameworks), str(RUN), agent]
    env = clean_environment(**variables)
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout.splitlines()[-1])
    return told.pop("calls"), told.pop("answer"), told


def statuses(calls: list[Any]) -> list[list[str]]:
    return [[item["status"] for item in given["todos"]] for name, given in calls if "odo" in name]


PROGRESS = [
    ["completed"] * done + ["in_progress"] * (done < 4) + ["pending"] * (3 - done)
    for done in range(5)
]


def test_deep_agent(frameworks: Path, variables: Mapping[str, str]) -> None:
    calls, answer, more = run(frameworks, variables, "deepagents")
    assert statuses(calls) == PROGRESS
    others = [call for call in calls if call[0] != "write_todos"]
    assert [name for name, _ in others] == ["internet_search"] * 2 + ["task", "write_file"]
    assert [given for _, given in others[:2]] == SEARCHES
    assert others[2][1]["subagent_type"] == "research-agent"
    assert more["files"] == ["/report.md"]
    (report,) = [text for text in more["results"] if text.startswith("**Report on")]
    assert f"Three pages about {TOPIC}." in report
    assert answer.startswith("## How honey bees find flowers\n")
    assert "`task`: **Report on" in answer
    assert "simulated model" in answer


@pytest.mark.parametrize("agent", ["openai-agents", "openai-agents-chat"])
def test_openai_agents_hand_off(frameworks: Path, variables: Mapping[str, str], agent: str) -> None:
    calls, answer, more = run(frameworks, variables, agent)
    assert [given for _, given in calls[:2]] == SEARCHES
    assert [name for name, _ in calls[2:]] == ["transfer_to_writer"]
    assert more["last"] == "writer"
    assert f"`internet_search`: Three pages about {TOPIC}." in answer


def test_adk_transfers(frameworks: Path, variables: Mapping[str, str]) -> None:
    calls, answer, _ = run(frameworks, variables, "adk")
    assert [given for _, given in calls] == [*SEARCHES, {"agent_name": "writer"}, *SEARCHES]
    assert "simulated model" in answer


@pytest.mark.parametrize("agent", ["smolagents", "smolagents-code", "smolagents-json"])
def test_smolagents(frameworks: Path, variables: Mapping[str, str], agent: str) -> None:
    calls, answer, _ = run(frameworks, variables, agent)
    assert [given for _, given in calls] == SEARCHES
    is_code = agent != "smolagents"
    assert answer.startswith("Here is what" if is_code else "## How honey bees find flowers\n")


def test_claude_code(frameworks: Path, variables: Mapping[str, str]) -> None:
    calls, answer, more = run(frameworks, variables, "claude")
    assert statuses(calls) == PROGRESS
    names = [name for name, _ in calls if name != "TodoWrite"]
    assert names == ["mcp__web__internet_search"] * 2 + ["Agent", "Write"]
    assert more == {"error": False, "written": True}
    assert "`Agent`: " in answer
