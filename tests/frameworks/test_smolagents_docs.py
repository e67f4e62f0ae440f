"""The code of docs/smolagents.md runs, with the real smolagents and a scripted model."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks.scripted_anthropic import Block, Scripts, call, say
from frameworks.scripted_openai import ScriptedOpenAI, scripted_openai
from frameworks.stage import Json, Stage
from frameworks.test_smolagents_helper import OFFLINE
from server.live_server import clean_environment

PAGE = Path(__file__).parents[2] / "docs" / "smolagents.md"
BLOCKS = dict(re.findall(r"^```py\n# (\S+)\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S))
"""The code of the page, by the file that it is in."""
AGENTS = [file.split("/")[1] for file in BLOCKS if file.startswith("agents/")]


def code(*lines: str) -> list[Block]:
    return [say("\n".join(["Thought: Now.", "<code>", *lines, "</code>"]))]


def final(answer: str) -> list[Block]:
    return [call("call_end", "final_answer", answer=answer)]


END = code("final_answer('That is all.')")
SCRIPTS: Scripts = {
    "talk": [final("One."), final("Two.")],
    "weather": [
        code("print(get_weather('Lisbon'))"),
        code("final_answer('It is warm.')"),
        code("final_answer('Yes.')"),
    ],
    "files": [
        code("print(list_files())", "delete_file('a.tmp')", "delete_file('a.txt')"),
        END,
    ],
    "form": [code("print(fill_form(who='Ann')['filled'])"), END],
    "boss": [code("print(cleaner(task='[[inner boss]] Clean.'))"), END],
    "inner": [[call("c2", "delete_file", path="a.txt")], final("It is clean.")],
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
print()
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
    agent = {"framework": "smolagents", "entry": entry, "env": env}
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
    assert "step 1" in [event["message"] for event in statuses]


def test_tools_with_and_without_an_approval(stage: Stage, provider: ScriptedOpenAI) -> None:
    chat = stage.chat("files", "files")
    chat.send("[[files files]] Go.")
    [pending] = chat.pending
    assert (pending.own_call, pending.input) == ("call_1.3", {"path": "a.txt"})
    chat.decide(False, reason="Not yet.")
    assert "Not yet." in provider.conversations("files")[-1][-1].text
    assert chat.text == "That is all."


def test_a_managed_agent_asks_for_an_approval(stage: Stage) -> None:
    chat = stage.chat("boss", "boss")
    reply = chat.send("[[boss boss]] Go.")
    chat.until("waiting")
    [request] = [e for e in chat.events(reply.run) if e["type"] == "input_request"]
    assert (request["tool_call_id"], request["scope"]) == ("call_1.1/c2", ["call_1.1"])
    chat.answer(request["id"], decision="approved")
    chat.until("over")
    results = {e["id"]: e["output"] for e in chat.events(reply.run) if e["type"] == "tool_result"}
    assert results["call_1.1/c2"] == "deleted a.txt"
    assert results["call_1.1"].endswith("It is clean.")
    assert chat.text == "That is all."


def test_tools_of_the_page(stage: Stage, provider: ScriptedOpenAI) -> None:
    chat = stage.chat("form", "weather")
    asked = {"id": "m1", "role": "user", "content": "[[form form]] Go."}
    first = post(stage, chat.name, "r1", asked)
    chat.until("waiting")
    [started] = [e for e in first if e.get("toolCallName") == "fill_form"]
    value = json.dumps({"filled": True})
    told = {"id": "m2", "role": "tool", "toolCallId": started["toolCallId"], "content": value}
    second = post(stage, chat.name, "r2", asked, told)
    assert second[-1]["outcome"]["type"] == "success"
    assert "Execution logs:\nTrue\n" in provider.conversations("form")[-1][-1].text
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
    assert done.stdout.splitlines()[-1:] == ["One."], done.stderr


def test_all_code_of_the_page_is_tested() -> None:
    assert AGENTS == ["weather", "loop", "files", "boss"]
    assert len(BLOCKS) == len(AGENTS) + 1
