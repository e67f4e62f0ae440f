"""The code of docs/claude.md runs, with the real Claude Agent SDK and a scripted model."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from frameworks.adapters.claude import OFFLINE
from frameworks.scripted_anthropic import ScriptedAnthropic, Scripts, call, say, scripted_anthropic
from frameworks.stage import Chat, Stage

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "claude.md"
BLOCKS = dict(re.findall(r"^```py\n# (\S+)\n(.*?)^```", PAGE.read_text(), re.M | re.S))
"""The code of the page, by the file that it is in."""

END = [say("That is all.")]
SCRIPTS: Scripts = {
    "talk": [[say("One.")], [say("Two.")]],
    "files": [
        [call("call_1", "mcp__files__list_files")],
        [call("call_2", "mcp__files__delete_file", path="a.txt")],
        END,
    ],
    "remove": [[call("call_1", "Bash", command="rm a.txt", description="Remove")], END],
}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedAnthropic]:
    with scripted_anthropic(SCRIPTS) as running:
        yield running


@pytest.fixture
def chat_with(
    frameworks: Path, endpoint: ScriptedAnthropic, tmp_path: Path
) -> Iterator[Callable[[str], Chat]]:
    """A chat with an agent of the page."""
    stages: list[Stage] = []

    def start(name: str) -> Chat:
        env = {**OFFLINE, "NO_PROXY": "127.0.0.1", "ANTHROPIC_BASE_URL": endpoint.url}
        agent = {"framework": "claude", "entry": [str(frameworks), "run_agent.py"], "env": env}
        files = {"run_agent.py": BLOCKS[f"agents/{name}/run_agent.py"]}
        stages.append(Stage(tmp_path, files, agent))
        return stages[-1].chat(name)

    yield start
    for stage in stages:
        stage.close()


def body_of(endpoint: ScriptedAnthropic, chat: Chat) -> dict[str, Any]:
    """The last request of a chat."""
    return [each.body for each in endpoint.asked if each.chat == chat.name][-1]


def test_three_lines_are_an_agent_that_remembers(
    chat_with: Callable[[str], Chat], endpoint: ScriptedAnthropic
) -> None:
    chat = chat_with("assistant")
    chat.send("[[talk assistant]] Go.")
    chat.send("And then?")
    assert chat.text == "Two."
    assert "You are brief." in json.dumps(body_of(endpoint, chat)["system"])


def test_options_of_a_turn(chat_with: Callable[[str], Chat], endpoint: ScriptedAnthropic) -> None:
    chat = chat_with("librarian")
    chat.send("[[talk librarian]] Go.")
    body = body_of(endpoint, chat)
    assert "You help " in json.dumps(body["system"])
    assert {"Grep", "Read"} <= {each["name"] for each in body["tools"]}
    assert "Bash" not in {each["name"] for each in body["tools"]}


def test_a_loop_of_ones_own(chat_with: Callable[[str], Chat]) -> None:
    chat = chat_with("loop")
    reply = chat.send("[[talk loop]] Go.")
    assert reply.text == "One."
    (turns,) = [event for event in chat.events(reply.run) if event.get("name") == "turns"]
    assert turns["value"] == 1


def test_tools_with_and_without_an_approval(
    chat_with: Callable[[str], Chat], endpoint: ScriptedAnthropic
) -> None:
    chat = chat_with("files")
    chat.send("[[files files]] Go.")
    assert [each.own_call for each in chat.pending] == ["call_2"]
    chat.decide(True)
    chat.until("over")
    results = [item.text for item in endpoint.conversations("files")[-1] if item.kind == "result"]
    assert results == ["a.txt", "deleted a.txt"]


def test_own_decision_about_a_tool(
    chat_with: Callable[[str], Chat], endpoint: ScriptedAnthropic
) -> None:
    chat = chat_with("careful")
    chat.send("[[remove careful]] Go.")
    (told,) = [item for item in endpoint.conversations("careful")[-1] if item.kind == "result"]
    assert told.text == "Nothing is removed here."


def test_an_agent_in_an_app(frameworks: Path, tmp_path: Path) -> None:
    """The app of the page, and what waits and stops in an app."""
    (tmp_path / "app.py").write_text(BLOCKS["app.py"])
    command = [str(frameworks), str(HERE / "run_claude_app.py"), str(tmp_path / "app.py")]
    env = {**os.environ, **OFFLINE, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "page": [["user", "[[talk page]] Go."], ["text", "One."], ["user", "And then?"]],
        "approved": [["deleted a.txt"], ["result", "deleted"], 2],
        "approved_later": [["deleted a.txt"], ["result", "deleted"], 2],
        "stopped": ["user", "call", "result", "user"],
    }


def test_all_code_of_the_page_is_tested() -> None:
    tested = ["assistant", "librarian", "loop", "files", "careful"]
    assert sorted(BLOCKS) == sorted(["app.py", *(f"agents/{each}/run_agent.py" for each in tested)])
