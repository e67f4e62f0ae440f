"""The demo in a real server, by the real clients: each shows the same, live and stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.agent_stage import AgentStage, Answer, Clients, agent_stage, check_clients


@pytest.fixture(scope="module")
def stage(frameworks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentStage]:
    folder = tmp_path_factory.mktemp("demo")
    with agent_stage(folder, frameworks, "demo", env={"MOBOX_DEMO_SPEED": "0"}) as stage:
        yield stage


@pytest.mark.parametrize(
    ("prompt", "answers", "done"),
    [
        ("all", (), ["get_weather", "internet_search", "query_range", "task"]),
        ("approve", (True,), ["delete_file"]),
        ("approve", (False,), []),
        ("ask", ("Bern",), []),
    ],
)
def test_demo_is_the_same_for_every_client(
    stage: AgentStage, clients: Clients, prompt: str, answers: tuple[Answer, ...], done: list[str]
) -> None:
    assert check_clients(stage, clients, prompt, *answers).done == done
