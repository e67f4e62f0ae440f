"""The code of docs/adk.md runs, with the real ADK and a scripted model."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frameworks.scripted_anthropic import Scripts, call, say
from frameworks.scripted_gemini import ScriptedGemini, scripted_gemini
from frameworks.stage import Json, Stage
from frameworks.test_adk_helper import OFFLINE
from frameworks.test_openai_agents_docs import APP
from server.live_server import clean_environment

PAGE = Path(__file__).parents[2] / "docs" / "adk.md"
BLOCKS = dict(re.findall(r"^```py\n# (\S+)\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S))
"""The code of the page, by the file that it is in."""
AGENTS = [file.split("/")[1] for file in BLOCKS if file.startswith("agents/")]

END = [say("That is all.")]
SCRIPTS: Scripts = {
    "talk": [[say("One.")], [say("Two.")]],
    "weather": [[call("c1", "get_weather", city="Lisbon")], [say("It is warm.")], [say("Yes.")]],
    "session": [[call("c1", "count")], END, [call("c2", "count")], END],
    "files": [[call("c1", "list_files")], [call("c2", "delete_file", path="a.txt")], END],
    "form": [[call("c1", "fill_form", who="Ann")], END],
    "boss": [[call("c1", "cleaner", request="[[inner boss]] Clean.")], END],
    "inner": [
        [call("c2", "delete_file", path="a.txt")],
        [call("c3", "finish_task", result="It is clean.")],
    ],
}


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedGemini]:
    with scripted_gemini(SCRIPTS) as provider:
        yield provider


@pytest.fixture(scope="module")
def stage(
    frameworks: Path, provider: ScriptedGemini, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """A server with all agents of the page."""
    sources = {each: {"run_agent.py": BLOCKS[f"agents/{each}/run_agent.py"]} for each in AGENTS}
    env = {**OFFLINE, "GOOGLE_GEMINI_BASE_URL": provider.url}
    agent = {"framework": "adk", "entry": [str(frameworks), "run_agent.py"], "env": env}
    stage = Stage(tmp_path_factory.mktemp("docs"), sources["weather"], agent, sources)
    yield stage
    stage.close()


def results(provider: ScriptedGemini, chat: str) -> list[Any]:
    return [item.text for item in provider.conversations(chat)[-1] if item.kind == "result"]


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
    assert "assistant has answered" in [event["message"] for event in statuses]


def test_a_session_service_of_ones_own(stage: Stage, provider: ScriptedGemini) -> None:
    chat = stage.chat("session", "session")
    chat.send("[[session session]] Go.")
    chat.send("Again.")
    assert results(provider, "session") == [1, 2]
    [instruction] = provider.requests[-1]["systemInstruction"]["parts"]
    assert instruction["text"].startswith("Say hello.")
    assert (chat.folder / "mine.sqlite").exists()


def test_tools_with_and_without_an_approval(stage: Stage, provider: ScriptedGemini) -> None:
    chat = stage.chat("files", "files")
    chat.send("[[files files]] Go.")
    assert [each.own_call for each in chat.pending] == ["c2"]
    chat.decide(False, reason="Not yet.")
    assert results(provider, "files") == [["a.txt"], "This tool call is rejected. Not yet."]
    assert chat.text == "That is all."


def test_a_subagent_asks_for_an_approval(stage: Stage) -> None:
    chat = stage.chat("boss", "boss")
    reply = chat.send("[[boss boss]] Go.")
    chat.until("waiting")
    [request] = [e for e in chat.events(reply.run) if e["type"] == "input_request"]
    assert (request["tool_call_id"], request["scope"]) == ("c2", ["c1"])
    stage.restart()
    chat.answer(request["id"], decision="approved")
    chat.until("over")
    results = {e["id"]: e["output"] for e in chat.events(reply.run) if e["type"] == "tool_result"}
    assert results["c2"] == {"result": "deleted a.txt"}
    assert results["c1"] == {"result": "It is clean."}
    assert chat.text == "That is all."


def test_tools_of_the_page_after_a_kill(stage: Stage, provider: ScriptedGemini) -> None:
    chat = stage.chat("form", "weather")
    asked = {"id": "m1", "role": "user", "content": "[[form form]] Go."}
    first = post(stage, chat.name, "r1", asked)
    chat.until("waiting")
    stage.restart()
    [started] = [event for event in first if event["type"] == "TOOL_CALL_START"]
    value = json.dumps({"result": "filled"})
    told = {"id": "m2", "role": "tool", "toolCallId": started["toolCallId"], "content": value}
    second = post(stage, chat.name, "r2", asked, told)
    assert second[-1]["outcome"]["type"] == "success"
    assert results(provider, "form") == ["filled"]
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


def test_an_agent_in_an_app(frameworks: Path, provider: ScriptedGemini, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(BLOCKS["app.py"])
    (tmp_path / "main.py").write_text(APP)
    done = subprocess.run(
        [str(frameworks), "-W", "ignore", "main.py"],
        cwd=tmp_path,
        env=clean_environment(**OFFLINE, GOOGLE_GEMINI_BASE_URL=provider.url),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "One.\n", done.stderr


def test_all_code_of_the_page_is_tested() -> None:
    assert AGENTS == ["weather", "loop", "session", "files", "boss"]
    assert len(BLOCKS) == len(AGENTS) + 1
