"""Spares of real frameworks: the memory of a chat is there with its turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from frameworks.adapters.adk import ADK
from frameworks.adapters.claude import CLAUDE
from frameworks.adapters.langchain import DEEPAGENTS
from frameworks.matrix import Adapter, Case, said, user
from frameworks.stage import wait_until
from server.live_server import agent_processes


def _is_gone(folder: Path) -> bool:
    return not folder.exists()


@pytest.fixture(params=[DEEPAGENTS, CLAUDE, ADK], ids=lambda adapter: adapter.folder)
def case(request: pytest.FixtureRequest, frameworks: Path, tmp_path: Path) -> Iterator[Case]:
    adapter: Adapter = replace(request.param, warm=1)
    with adapter.provider(adapter.scripts()) as provider:
        stage = adapter.stage(tmp_path, frameworks, provider)
        yield Case(adapter, stage, stage.chat("warm"), provider)
        stage.close()


def test_a_spare_has_the_memory_of_its_chat(case: Case) -> None:
    data = case.stage.data
    spares = data / "state" / ".spares"
    assert case.chat.send(case.ask("talk")).text == "One."
    for words, answer in (("And?", "Two."), ("Well?", "Three.")):
        wait_until(lambda: "mobox_spares 1\n" in case.stage.client.get("/metrics").text)
        wait_until(lambda: len(list(spares.iterdir())) == 1)  # that of the last turn is gone
        (spare,) = spares.iterdir()
        assert case.chat.send(words).text == answer
        wait_until(partial(_is_gone, spare))  # it was used, and has ended
    expected = [said("One."), said("Two."), user("Well?")]
    assert [item for item in case.last() if item in expected] == expected
    case.stage.close()
    wait_until(lambda: not agent_processes(data))
