"""The exceptions of the real SDKs, made as the SDKs make them, and the codes that they get."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from mobox.events import Error
from server.live_server import clean_environment
from supervisor.functions import Events
from supervisor.stage import run, staged, write_agent

SHARED = Path(__file__).parents[2] / "src" / "mobox" / "agent_path"

SCRIPT = """
import json
import httpx
from shared.failures import failure_of

made = {}
request = httpx.Request("POST", "http://127.0.0.1/v1")

def answer(status, body, **headers):
    return httpx.Response(status, json=body, headers=headers, request=request)

def raised(name, make):
    try:
        made[name] = failure_of(make())
    except Exception as error:
        made[name] = failure_of(error)

def statuses(name, client, errors):
    for status, body in errors.items():
        reply = answer(status, body, **{"retry-after": "3"})
        raised(f"{name} {status}", lambda: client._make_status_error_from_response(reply))

def openai_body(code, message="no", kind=None):
    return {"error": {"message": message, "type": kind, "code": code}}
"""
CASES = {
    "anthropic": (
        """
import anthropic
client = anthropic.Anthropic(api_key="x")
def body(kind, message="no"): return {"type": "error", "error": {"type": kind, "message": message}}
statuses("anthropic", client, {
    400: body("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
    401: body("authentication_error"), 403: body("permission_error"),
    413: body("request_too_large"), 429: body("rate_limit_error"),
    500: body("api_error"), 529: body("overloaded_error"), 402: body("billing_error"),
    504: body("timeout_error"),
})
raised("anthropic timeout", lambda: anthropic.APITimeoutError(request=request))
raised("anthropic network", lambda: anthropic.APIConnectionError(request=request))
raised("anthropic stream", lambda: client._make_status_error(
    "overloaded", body=body("overloaded_error"), response=answer(200, {})))
""",
        {
            "400": "context_length",
            "401": "auth",
            "402": "budget",
            "403": "auth",
            "413": "context_length",
            "429": "rate_limited",
            "500": "overloaded",
            "504": "timeout",
            "529": "overloaded",
            "timeout": "timeout",
            "network": "network",
            "stream": "overloaded",
        },
    ),
    "openai": (
        """
import openai
client = openai.OpenAI(api_key="x")
statuses("openai", client, {
    400: openai_body("context_length_exceeded"), 401: openai_body("invalid_api_key"),
    403: openai_body(None), 429: openai_body("insufficient_quota"),
    500: openai_body(None, kind="server_error"), 503: openai_body(None),
})
raised("openai limited", lambda: client._make_status_error_from_response(
    answer(429, openai_body("rate_limit_exceeded", kind="tokens"))))
raised("openai filtered", lambda: client._make_status_error_from_response(
    answer(400, openai_body("content_filter"))))
raised("openai timeout", lambda: openai.APITimeoutError(request=request))
raised("openai network", lambda: openai.APIConnectionError(request=request))
raised("openai stream", lambda: openai.APIError(
    "x", request, body={"code": "server_error", "message": "no"}))
raised("openai finish", lambda: openai.ContentFilterFinishReasonError())
import os
os.environ.pop("OPENAI_API_KEY", None)
raised("openai key", lambda: openai.OpenAI())
""",
        {
            "400": "context_length",
            "401": "auth",
            "403": "auth",
            "429": "budget",
            "500": "overloaded",
            "503": "overloaded",
            "limited": "rate_limited",
            "filtered": "content_filter",
            "timeout": "timeout",
            "network": "network",
            "stream": "overloaded",
            "finish": "content_filter",
            "key": "auth",
        },
    ),
    "genai": (
        """
from google.genai import errors
def gemini(kind, code, status, message="no"):
    body = {"error": {"code": code, "status": status, "message": message}}
    raised(f"genai {code}", lambda: getattr(errors, kind)(code, body))
gemini("ClientError", 400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")
gemini("ClientError", 403, "PERMISSION_DENIED")
gemini("ClientError", 429, "RESOURCE_EXHAUSTED")
gemini("ServerError", 500, "INTERNAL")
gemini("ServerError", 503, "UNAVAILABLE")
gemini("ServerError", 504, "DEADLINE_EXCEEDED")
raised("genai long", lambda: errors.ClientError(400, {"error": {"code": 400,
    "status": "INVALID_ARGUMENT", "message": "The input token count (9) exceeds the maximum"}}))
""",
        {
            "400": "auth",
            "403": "auth",
            "429": "rate_limited",
            "500": "overloaded",
            "503": "overloaded",
            "504": "timeout",
            "long": "context_length",
        },
    ),
    "other": (
        """
import requests
raised("other httpx", lambda: httpx.ConnectError("no", request=request))
raised("other slow", lambda: httpx.ReadTimeout("no", request=request))
raised("other requests", lambda: requests.ConnectionError("no"))
raised("other late", lambda: requests.Timeout("no"))
""",
        {"httpx": "network", "slow": "timeout", "requests": "network", "late": "timeout"},
    ),
    "agents": (
        """
import agents, claude_agent_sdk, openai
from langgraph.errors import GraphRecursionError
from smolagents.utils import AgentGenerationError
class Quiet:
    def log(self, *more, **named): pass
    log_error = log
def wrapped():
    try:
        raise openai.OpenAI(api_key="x")._make_status_error_from_response(
            answer(429, openai_body("rate_limit_exceeded")))
    except Exception as error:
        raise AgentGenerationError("Error in generating model output", Quiet()) from error
raised("agents smolagents", wrapped)
raised("agents turns", lambda: agents.MaxTurnsExceeded("Max turns (1) exceeded"))
raised("agents recursion", lambda: GraphRecursionError("limit"))
raised("agents claude", lambda: claude_agent_sdk.ProcessError("failed", exit_code=1))
""",
        {"smolagents": "rate_limited", "turns": None, "recursion": None, "claude": None},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_real_exceptions_have_their_codes(name: str, frameworks: Path) -> None:
    code, expected = CASES[name]
    end = "\nprint(json.dumps(made))"
    done = subprocess.run(
        [str(frameworks), "-W", "ignore", "-c", SCRIPT + code + end],
        env=clean_environment(PYTHONPATH=str(SHARED)),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    made = json.loads(done.stdout.splitlines()[-1])
    codes = {key.partition(" ")[2]: found and found[0] for key, found in made.items()}
    assert codes == expected
    if name == "anthropic":
        assert made["anthropic 429"][2] == 3, "it says when to try again"


NODE = """
import sys
from typing import TypedDict
from langgraph.graph import START, StateGraph
from shared.control import read_turn

class State(TypedDict):
    n: int

def fails(state):
    raise ValueError("the node failed")

read_turn()
graph = StateGraph(State)
graph.add_node("work", fails)
graph.add_edge(START, "work")
graph.compile().invoke({"n": 1})
"""


def test_langgraphs_exception_is_the_error_and_not_its_note(
    frameworks: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    yaml = f"framework: langchain\nentry: ['{frameworks}', run_agent.py]"
    agent = write_agent(tmp_path / "it", NODE, yaml)

    async def scenario() -> Events:
        async with staged(tmp_path, agent) as stage:
            return await stage.until_it_ends(await stage.begin())

    events = run(scenario())
    error = [event for event in events if isinstance(event, Error)][-1]
    assert (error.code, error.message) == ("crashed", "ValueError: the node failed")
    assert "During task with name" in (error.stderr_tail or ""), "the note is in the traceback"
    (line,) = [line for line in caplog.messages if "failed" in line]
    assert "failed: ValueError: the node failed (mobox logs" in line
