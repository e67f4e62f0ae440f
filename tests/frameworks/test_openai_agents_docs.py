"""The code of docs/openai-agents.md runs, with the real Agents SDK and a scripted model."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks.scripted_anthropic import Scripts, call, say
from frameworks.scripted_openai import ScriptedOpenAI, scripted_openai
from frameworks.stage import Json, Stage
from frameworks.test_openai_agents_helper import OFFLINE
from server.live_server import clean_environment

PAGE = Path(__file__).parents[2] / "docs" / "openai-agents.md"
BLOCKS = dict(re.findall(r"^```py\n# (\S+)\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S))
"""The code of the page, by the file that it is in."""
AGENTS = [file.split("/")[1] for file in BLOCKS if file.startswith("agents/")]

END = [say("That is all.")]
SCRIPTS: Scripts = {
    "talk": [[say("One.")], [say("Two.")]],
    "weather": [[call("c1", "get_weather", city="Lisbon")], [say("It is warm.")], [say("Yes.")]],
    "files": [[call("c1", "list_files")], [call("c2", "delete_file", path="a.txt")], END],
    "plan": [[call("c1", "write_todos", todos=[{"content": "Go", "status": "pending"}])], END],
    "form": [[call("c1", "fill_form", who="Ann")], END],
    "boss": [[call("c1", "clean", input="[[inner boss]] Clean.")], END],
    "inner": [[call("c2", "delete_file", path="a.txt")], [say("It is clean.")]],
}
APP = """
import json
from app import app
from starlette.testclient import TestClient

said = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "[[talk app]] Go."}]}
with TestClient(app) as client:
    body = {"id": "c1", "messages": [said], "agent": "assistant"}
    lines = client.post("/mobox/api/chat", json=body).text.splitlines()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
print("".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta"))
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedOpenAI]:
    with scripted_openai(SCRIPTS) as provider:
        yield provider


@pytest.fixture(scope="module")
def stage(
    frameworks: Path, provider: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """A server with all agents of the page."""
    sources = {each: {"run_agent.py": BLOCKS[f"agents/{each}/run_agent.py"]} for each in AGENTS}
    env = {**OFFLINE, "OPENAI_BASE_URL": provider.url}
    entry = [str(frameworks), "run_agent.py"]
    agent = {"framework": "openai-agents", "entry": entry, "env": env}
    stage = Stage(tmp_path_factory.mktemp("docs"), sources["weather"], agent, sources)
    yield stage
    stage.close()


def test_three_lines_are_an_agent_that_remembers(stage: Stage) -> None:
    chat = stage.chat("weather", "weather")
    chat.send("[[weather weather]] Go.")
    assert chat.text == "It is warm."
    chat.send("Sure?")
    assert chat.text == "Yes."


def test_a_loop_of_ones_own(stage: Stage) -> None:
    chat = stage.chat("loop", "loop")
    reply = chat.send("[[talk loop]] Go.")
    assert reply.text == "One."
    statuses = [event for event in chat.events(reply.run) if event["type"] == "status"]
    assert "1 turns" in [event["message"] for event in statuses]


def test_a_session_of_the_sdk(stage: Stage, provider: ScriptedOpenAI) -> None:
    chat = stage.chat("session", "session")
    chat.send("[[talk session]] Go.")
    chat.send("And then?")
    told = [item.text for item in provider.conversations("session")[-1]]
    assert told == ["[[talk session]] Go.", "One.", "And then?"]
    assert (chat.folder / "session.sqlite").exists()


def test_tools_with_and_without_an_approval(stage: Stage, provider: ScriptedOpenAI) -> None:
    chat = stage.chat("files", "files")
    chat.send("[[files files]] Go.")
    assert [each.own_call for each in chat.pending] == ["c2"]
    chat.decide(False, reason="Not yet.")
    told = [item.text for item in provider.conversations("files")[-1] if item.kind == "result"]
    assert told == ["a.txt", "Tool execution was not approved. Not yet."]
    assert chat.text == "That is all."


def test_an_agent_as_a_tool_asks_for_an_approval(stage: Stage, provider: ScriptedOpenAI) -> None:
    chat = stage.chat("boss", "boss")
    reply = chat.send("[[boss boss]] Go.")
    chat.until("waiting")
    [request] = [e for e in chat.events(reply.run) if e["type"] == "input_request"]
    assert (request["tool_call_id"], request["scope"]) == ("c2", ["c1"])
    stage.restart()
    chat.answer(request["id"], decision="approved")
    chat.until("over")
    results = {e["id"]: e["output"] for e in chat.events(reply.run) if e["type"] == "tool_result"}
    assert results == {"c2": "deleted a.txt", "c1": "It is clean."}
    assert chat.text == "That is all."
    names = [tool["name"] for tool in provider.requests[-1]["tools"]]
    assert names == ["clean", "transfer_to_writer"]


def test_plan(stage: Stage) -> None:
    chat = stage.chat("planner", "planner")
    reply = chat.send("[[plan planner]] Go.")
    (plan,) = [event for event in chat.events(reply.run) if event["type"] == "todo_create"]
    assert plan["items"] == [{"content": "Go"}]
    assert chat.text == "That is all."


def test_tools_of_the_page_after_a_kill(stage: Stage, provider: ScriptedOpenAI) -> None:
    chat = stage.chat("form", "weather")
    asked = {"id": "m1", "role": "user", "content": "[[form form]] Go."}
    first = post(stage, chat.name, "r1", asked)
    chat.until("waiting")
    stage.restart()
    [started] = [event for event in first if event["type"] == "TOOL_CALL_START"]
    value = json.dumps({"filled": True})
    told = {"id": "m2", "role": "tool", "toolCallId": started["toolCallId"], "content": value}
    second = post(stage, chat.name, "r2", asked, told)
    assert second[-1]["outcome"]["type"] == "success"
    [result] = [item for item in provider.conversations("form")[-1] if item.kind == "result"]
    assert json.loads(result.text) == {"filled": True}
    assert chat.text == "That is all."


def post(stage: Stage, thread: str, run: str, *messages: Json) -> list[Json]:
    """What a page of AG-UI gets that has a tool."""
    schema = {"type": "object", "properties": {"who": {"type": "string"}}}
    tool = {"name": "fill_form", "description": "Fills it.", "parameters": schema}
    given = {"threadId": thread, "runId": run, "messages": messages, "tools": [tool]}
    body = {**given, "context": [], "state": {}, "forwardedProps": {}}
    with stage.client.stream("POST", "/api/agui/agents/weather", json=body) as response:
        lines = list(response.iter_lines())
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def test_an_agent_in_an_app(frameworks: Path, provider: ScriptedOpenAI, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(BLOCKS["app.py"])
    (tmp_path / "main.py").write_text(APP)
    done = subprocess.run(
        [str(frameworks), "-W", "ignore", "main.py"],
        cwd=tmp_path,
        env=clean_environment(**OFFLINE, OPENAI_BASE_URL=provider.url),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "One.\n", done.stderr


def test_all_code_of_the_page_is_tested() -> None:
    assert AGENTS == ["weather", "loop", "session", "files", "boss", "planner"]
    assert len(BLOCKS) == len(AGENTS) + 1
