"""The clients of Anthropic, OpenAI and Google, as their pages in docs show them.

With the real packages, a real server and scripted providers, which keep every request.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frameworks.adapters.clients import CLIENTS, SCENARIOS_OF_CLIENTS, Client
from frameworks.matrix import Case, Provider, Scenario
from frameworks.scripted_anthropic import CUT, call, fail, say
from frameworks.stage import Stage
from mobox import Recorder, StreamEvent
from mobox.events import Done, Error, Raw, Retract
from mobox.events.transcript import build_message
from server.live_server import clean_environment
from support.grammar_log import legal_log

each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.folder)

SCRIPTS = {
    "cut": [[say("It is "), CUT, say("21 degrees.")]],
    "tool": [[call("c1", "look_up", city="Lisbon")], [say("It is warm.")]],
    "no": [[fail(429, "rate_limit_error", "Too many tokens.", retry_after="7")]],
}
SHARED = Path(__file__).parents[2] / "src" / "mobox" / "agent_path"


@pytest.fixture(scope="module", params=CLIENTS, ids=lambda client: client.folder)
def shared(
    request: pytest.FixtureRequest, frameworks: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Client, Provider, Stage]]:
    client: Client = request.param
    with client.provider(client.scripts()) as provider:
        stage = client.stage(tmp_path_factory.mktemp(client.folder), frameworks, provider)
        yield client, provider, stage
        stage.close()


@pytest.mark.parametrize("run", SCENARIOS_OF_CLIENTS, ids=lambda run: run.__name__)
def test_client_passes_scenario(shared: tuple[Client, Provider, Stage], run: Any) -> None:
    client, provider, stage = shared
    scenario = Scenario(0, "", run)
    name = f"{client.folder}-{scenario.name}".replace("_", "-")
    scenario.run(Case(client, stage, stage.chat(name), provider))


@each_client
def test_agent_of_three_lines_answers(client: Client, frameworks: Path, tmp_path: Path) -> None:
    with client.provider({}) as provider:
        stage = client.stage_of("chat", tmp_path, frameworks, provider)
        try:
            chat = stage.chat("short")
            reply = chat.send("Hi")
            assert (chat.text, chat.errors(reply.run)) == ("Fine.", [])
        finally:
            stage.close()


APP = """
import json
from app import app
from starlette.testclient import TestClient

def ask(chat, text):
    said = {"id": f"m-{chat}", "role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": chat, "messages": [said]}
    lines = client.post("/mobox/api/chat", json=body).text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]

with TestClient(app) as client:
    print(json.dumps(ask("c1", "Hi")))
"""


@each_client
def test_app_of_the_page_answers(client: Client, frameworks: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(client.block("app.py"))
    with client.provider({}) as provider:
        env = clean_environment(**client.environment(provider))
        command = [str(frameworks), "-W", "ignore", "-c", APP]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    chunks = json.loads(done.stdout.splitlines()[-1])
    assert "".join(c["delta"] for c in chunks if c["type"] == "text-delta") == "Fine."


# By hand, to see the lines and what `emit` returns


def lines_of(client: Client, python: Path, code: str) -> tuple[list[StreamEvent], list[Any]]:
    """The log of an agent that does this, and what it writes to stderr, as JSON lines."""
    with client.provider(SCRIPTS) as provider:
        env = clean_environment(**client.environment(provider), PYTHONPATH=str(SHARED))
        command = [str(python), "-W", "ignore", "-c", code]
        done = subprocess.run(command, env=env, capture_output=True, check=False, stdin=-3)
    assert done.returncode == 0, done.stderr.decode()
    recorder = Recorder(client.framework)
    log = recorder.read(done.stdout) + recorder.close()
    legal_log([entry.event for entry in log])
    told = [json.loads(line) for line in done.stderr.splitlines()]
    return [entry.event for entry in log], told


SETUP = {
    "anthropic": """
import anthropic
from shared.frameworks.anthropic import emit
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
ABOUT = {"model": "m", "max_tokens": 9, "tools": [{"name": "look_up", "input_schema": SCHEMA}]}
client = anthropic.Anthropic(max_retries=0)
asynchronous = anthropic.AsyncAnthropic(max_retries=0)
def first(text): return [{"role": "user", "content": text}]
def ask(messages): return client.messages.create(**ABOUT, messages=messages, stream=True)
def ask_async(m): return asynchronous.messages.create(**ABOUT, messages=m, stream=True)
""",
    "openai": """
import openai
from shared.frameworks.openai import emit
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
ABOUT = {"model": "m", "tools": [TOOL], "stream": True}
client = openai.OpenAI(max_retries=0)
asynchronous = openai.AsyncOpenAI(max_retries=0)
def first(text): return [{"role": "user", "content": text}]
def ask(messages): return client.chat.completions.create(**ABOUT, messages=messages)
def ask_async(m): return asynchronous.chat.completions.create(**ABOUT, messages=m)
""",
    "responses": """
import openai
from shared.frameworks.openai import emit
TOOL = {"type": "function", "name": "look_up", "parameters": {"type": "object"}, "strict": False}
ABOUT = {"model": "m", "tools": [TOOL], "stream": True}
client = openai.OpenAI(max_retries=0)
asynchronous = openai.AsyncOpenAI(max_retries=0)
def first(text): return [{"role": "user", "content": text}]
def ask(messages): return client.responses.create(**ABOUT, input=messages)
def ask_async(m): return asynchronous.responses.create(**ABOUT, input=m)
""",
    "gemini": """
from google import genai
from shared.frameworks.gemini import emit
TOOL = {"function_declarations": [{"name": "look_up"}]}
client = genai.Client()
def first(text): return [{"role": "user", "parts": [{"text": text}]}]
def request(contents): return {"model": "m", "contents": contents, "config": {"tools": [TOOL]}}
def ask(m): return client.models.generate_content_stream(**request(m))
def ask_async(m): return client.aio.models.generate_content_stream(**request(m))
""",
}

LOOP = """
import sys, json
history = first("[[tool x]] Go.")
answer = emit(ask(history))
(call,) = answer.calls
print(json.dumps([call.id, call.name, call.input]), file=sys.stderr)
answer.result(call, {"warm": True})
history += answer.messages()
last = emit(ask(history))
print(json.dumps([last.text, last.calls, last.stop_reason]), file=sys.stderr)
"""
ASYNC_LOOP = LOOP.replace("emit(ask(", "await emit(ask_async(").replace("\n", "\n    ")


@each_client
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_calls_and_results_go_around(client: Client, frameworks: Path, kind: str) -> None:
    code = (
        LOOP
        if kind == "sync"
        else f"async def main():{ASYNC_LOOP}\nimport asyncio\nasyncio.run(main())"
    )
    log, (called, ended) = lines_of(client, frameworks, SETUP[client.folder] + code)
    assert called == ["c1", "look_up", {"city": "Lisbon"}]
    assert ended[:2] == ["It is warm.", []]
    assert log[-1].type == "done"
    assert isinstance(log[-1], Done)
    assert log[-1].reason == "stop"
    assert not [event for event in log if isinstance(event, Raw | Error)]
    message = build_message(Recorder("emitted").feed(log), "run")
    (tool,) = [part for part in message.parts if part.__class__.__name__ == "ToolPart"]
    assert (getattr(tool, "status", ""), getattr(tool, "output", "")) == ("ok", {"warm": True})
    assert message.content == "It is warm."


AGAIN = """
try:
    emit(ask(first("[[cut x]] Go.")))
except Exception as error:
    pass
emit(ask(first("[[cut x]] Go.")))
"""


@each_client
def test_answer_that_broke_and_is_made_again_is_there_once(
    client: Client, frameworks: Path
) -> None:
    log, _ = lines_of(client, frameworks, SETUP[client.folder] + AGAIN)
    message = build_message(Recorder("emitted").feed(log), "run")
    assert message.content == "It is 21 degrees."
    assert [type(event) for event in log if isinstance(event, Retract | Error)] == [Error, Retract]
    (error,) = [event for event in log if isinstance(event, Error)]
    assert (error.code, error.retryable) == ("network", True)


LIMITED = """
import json, sys
from shared.failures import failure_of
try:
    emit(ask(first("[[no x]] Go.")))
except Exception as error:
    print(json.dumps(failure_of(error)), file=sys.stderr)
"""


@each_client
def test_provider_says_when_to_try_again(client: Client, frameworks: Path) -> None:
    _, (told,) = lines_of(client, frameworks, SETUP[client.folder] + LIMITED)
    assert told[:2] == ["rate_limited", "Too many tokens."]
    assert told[2] == 7 or client.folder == "gemini"
