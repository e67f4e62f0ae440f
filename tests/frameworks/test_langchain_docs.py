"""Every agent in docs/langchain.md runs, with the real packages and a scripted provider."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frameworks.scripted_anthropic import ScriptedAnthropic, call, say, scripted_anthropic
from frameworks.stage import Chat, Stage
from server.live_server import clean_environment

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "langchain.md"
BLOCK = re.compile(r"^```python (\S+)(?: (\w+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = {(name, which): code for name, which, code in BLOCK.findall(PAGE.read_text("utf-8"))}
AGENTS = [which for name, which in BLOCKS if name == "run_agent.py" and which]

SCRIPTS = {
    "weather": [[call("c1", "get_weather", city="Lisbon")], [say("It is warm.")], [say("Yes.")]],
    "mail": [[call("c1", "send_email", to="a@b.c", body="Hi")], [say("Done.")]],
    "city": [[call("c1", "choose_city")], [say("A fine city.")]],
    "form": [[call("c1", "fill_form", who="Ann")], [say("Filled.")]],
    "research": [
        [
            call("c1", "write_todos", todos=[{"content": "Search", "status": "in_progress"}]),
            call("c2", "task", description="[[search]] Search.", subagent_type="researcher"),
        ],
        [call("c3", "write_file", file_path="/report.md", content="# Report")],
        [say("Here it is.")],
    ],
    "search": [[call("s1", "search", query="ships")], [say("Nothing.")]],
}
APP = """
import json
from app import app
from starlette.testclient import TestClient

said = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "[[weather]] Go."}]}
with TestClient(app) as client:
    body = {"id": "c1", "messages": [said], "agent": "weather"}
    lines = client.post("/mobox/api/chat", json=body).text.splitlines()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
print("".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta"))
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedAnthropic]:
    with scripted_anthropic(SCRIPTS) as provider:
        yield provider


def environment(provider: ScriptedAnthropic) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": provider.url,
        "NO_PROXY": "127.0.0.1",
    }


@pytest.fixture(scope="module")
def stage(
    frameworks: Path, provider: ScriptedAnthropic, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """A server with all agents of the page, by the words behind their file names."""
    graph = BLOCKS["graph.py", ""]
    files = {"graph.py": graph, "run_agent.py": BLOCKS["run_agent.py", ""]}
    others = {
        which: {"graph.py": graph, "run_agent.py": BLOCKS["run_agent.py", which]}
        for which in AGENTS
    }
    entry = [str(frameworks), "run_agent.py"]
    agent = {"framework": "langchain", "entry": entry, "env": environment(provider)}
    stage = Stage(tmp_path_factory.mktemp("docs"), files, agent, others)
    yield stage
    stage.close()


def test_three_lines(stage: Stage) -> None:
    chat = stage.chat("c1")
    chat.send("[[weather]] Go.")
    chat.send("Sure?")
    assert chat.text == "Yes."


def test_own_loop(stage: Stage) -> None:
    chat = stage.chat("c2", "loop")
    reply = chat.send("[[weather]] Go.")
    statuses = [event for event in chat.events(reply.run) if event["type"] == "status"]
    assert "Looking at the sky" in [event["message"] for event in statuses]
    assert chat.text == "It is warm."


def test_approvals(stage: Stage, provider: ScriptedAnthropic) -> None:
    chat = stage.chat("c3", "approvals")
    chat.send("[[mail]] Go.")
    chat.decide(False, reason="Not yet.")
    assert chat.text == "Done."
    assert "Not yet." in provider.results()[-1]["content"]


def test_questions(stage: Stage, provider: ScriptedAnthropic) -> None:
    chat = stage.chat("c4", "questions")
    reply = chat.send("[[city]] Go.")
    chat.until("waiting")
    [request] = [e for e in chat.events(reply.run) if e["type"] == "input_request"]
    assert request["prompt"] == "Which city?"
    chat.answer(request["id"], decision="answered", value="Porto")
    chat.until("over")
    assert provider.results()[-1]["content"] == "Porto"
    assert chat.text == "A fine city."


def test_tools_of_the_page(stage: Stage, provider: ScriptedAnthropic) -> None:
    chat = Chat(stage, "c5", "frontend")
    schema = {"type": "object", "properties": {"who": {"type": "string"}}}
    tool = {"name": "fill_form", "description": "Fills it.", "parameters": schema}
    asked = {"id": "m1", "role": "user", "content": "[[form]] Go."}
    first = post(stage, run_input(chat.name, "r1", [asked], tool))
    chat.until("waiting")
    [started] = [event for event in first if event["type"] == "TOOL_CALL_START"]
    answered = {
        "id": "m2",
        "role": "tool",
        "toolCallId": started["toolCallId"],
        "content": json.dumps({"filled": True}),
    }
    second = post(stage, run_input(chat.name, "r2", [asked, answered], tool))
    assert second[-1]["outcome"]["type"] == "success"
    assert json.loads(provider.results()[-1]["content"]) == {"filled": True}
    assert chat.text == "Filled."


def run_input(thread: str, run: str, messages: list[Any], tool: Any) -> dict[str, Any]:
    """The body that AG-UI's client sends."""
    given = {"threadId": thread, "runId": run, "messages": messages, "tools": [tool]}
    return {**given, "context": [], "state": {}, "forwardedProps": {}}


def post(stage: Stage, body: dict[str, Any]) -> list[dict[str, Any]]:
    with stage.client.stream("POST", "/api/agui/agents/frontend", json=body) as response:
        lines = list(response.iter_lines())
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def test_deep_agent(stage: Stage) -> None:
    chat = stage.chat("c6", "deep")
    reply = chat.send("[[research]] Go.")
    events = chat.events(reply.run)
    assert [e["agent"] for e in events if e["type"] == "subagent_start"] == ["researcher"]
    assert [e["name"] for e in events if e["type"] == "file"] == ["/report.md"]
    assert [item["content"] for e in events if e["type"] == "todo_create" for item in e["items"]]
    inner = [e["id"] for e in events if e["type"] == "tool_result" and e.get("scope") == ["c2"]]
    assert inner == ["s1"]
    assert chat.text == "Here it is."


def test_app(frameworks: Path, provider: ScriptedAnthropic, tmp_path: Path) -> None:
    for name in ("graph.py", "app.py"):
        (tmp_path / name).write_text(BLOCKS[name, ""])
    (tmp_path / "main.py").write_text(APP)
    done = subprocess.run(
        [str(frameworks), "-W", "ignore", "main.py"],
        cwd=tmp_path,
        env=clean_environment(**environment(provider)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "It is warm.\n", done.stderr


def test_every_agent_of_the_page_is_tested() -> None:
    assert AGENTS == ["loop", "approvals", "questions", "frontend", "deep"]
    assert {name for name, _ in BLOCKS} == {"graph.py", "run_agent.py", "app.py"}
