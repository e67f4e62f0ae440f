"""An agent of `mobox agents new` answers at once, with each framework, on the simulated model.

Here it has the packages of the tests; test_new_agents_installed.py installs its own.
"""

from __future__ import annotations

from pathlib import Path

from cli.test_agents import NO_KEYS, agents, each_framework
from server.live_server import mobox

QUESTION = "What is the weather in Lisbon?"
ANSWERS = {"emitted": f"You said: {QUESTION}"}


def answer_of(framework: str) -> str:
    """What the agent of the template says: what its tool returned, where it has one."""
    return ANSWERS.get(framework, "21 degrees and sunny in Lisbon")


@each_framework
def test_a_new_agent_answers_at_once(tmp_path: Path, framework: str, frameworks: Path) -> None:
    assert agents(tmp_path, "new", "mine", "--framework", framework)[0] == 0
    (tmp_path / "agents" / "mine" / ".venv").symlink_to(frameworks.parents[1])
    code, shown, errors = mobox("run", "mine", QUESTION, cwd=tmp_path, **NO_KEYS)
    assert code == 0, errors
    assert answer_of(framework) in shown
