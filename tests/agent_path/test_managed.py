"""Listening to agents that others manage, as their framework would have them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from mobox.agent_path.shared.managed import emit_managed, listen


@dataclass
class FinalAnswerStep:
    output: Any


class Agent:
    def __init__(self, answer: str, **managed: Any) -> None:
        self.managed_agents = managed
        self._answer = answer

    def run(self, task: str, stream: bool = False, **_more: Any) -> Any:
        steps = self._steps(task)
        return steps if stream else list(steps)[-1].output

    def _steps(self, task: str) -> Iterator[Any]:
        inner = [agent.run(f"{task}!") for agent in self.managed_agents.values()]
        yield FinalAnswerStep(" ".join([self._answer, *inner]))


def test_output_of_managed_agents_is_emitted_and_their_answers_kept() -> None:
    told: list[tuple[Any, tuple[str, ...]]] = []
    agent = Agent("root", a=Agent("A", b=Agent("B")), c=Agent("C"))
    listen(agent, lambda step, within: told.append((step, within)))
    assert agent.run("go") == "root A B C"
    assert told == [
        ({"_class": "TaskStep", "task": "go!"}, ("a:1",)),
        ({"_class": "TaskStep", "task": "go!!"}, ("a:1", "b:2")),
        (FinalAnswerStep("B"), ("a:1", "b:2")),
        (FinalAnswerStep("A B"), ("a:1",)),
        ({"_class": "TaskStep", "task": "go!"}, ("c:3",)),
        (FinalAnswerStep("C"), ("c:3",)),
    ]


def test_stream_is_sent_on_request() -> None:
    told: list[Any] = []
    agent = Agent("root", a=Agent("A"))
    listen(agent, lambda step, _within: told.append(step))
    steps = agent.managed_agents["a"].run("go", stream=True)
    assert [step.output for step in steps] == ["A"]
    assert told == []


def test_agent_with_two_managers_is_emitted_once() -> None:
    told: list[Any] = []
    both = Agent("B")
    listen(Agent("root", a=Agent("A", b=both), b=both), lambda step, _within: told.append(step))
    both.run("go")
    assert len(told) == 2


@pytest.mark.parametrize("managed", [None, {}, ["a"], {"a": "no agent"}])
def test_other_managed_values_are_left_unchanged(managed: Any) -> None:
    agent = Agent("root")
    agent.managed_agents = managed
    listen(agent, lambda *_: None)
    assert agent.managed_agents is managed


def test_an_error_of_a_managed_agent_is_its_managers() -> None:
    agent = Agent("root", a=Agent("A"))
    listen(agent, lambda *_: None)
    agent.managed_agents["a"]._answer = 7
    with pytest.raises(TypeError):
        agent.run("go")


def test_emitted_steps_name_their_agent(capfd: pytest.CaptureFixture[str]) -> None:
    agent = Agent("root", a=Agent("A"))
    emit_managed(agent)
    agent.run("go")
    lines = [json.loads(text) for text in capfd.readouterr().out.splitlines()]
    assert lines == [
        {"_class": "TaskStep", "task": "go!", "within": ["a:1"]},
        {"_class": "FinalAnswerStep", "output": "A", "within": ["a:1"]},
    ]
