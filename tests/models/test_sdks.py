"""The providers' real SDKs get the same objects through the gateway as directly."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from models.scripted_upstream import (
    Connection,
    anthropic_message,
    anthropic_stream,
    gemini_stream,
    openai_stream,
    scripted_upstream,
    sse,
    streams,
)
from models.served_gateway import KEYS, ServedGateway, pointing_to, served_gateway

SCRIPTS = {
    "anthropic": """
import anthropic, json
client = anthropic.Anthropic()
asked = dict(model="claude-sonnet-4-5", max_tokens=9, messages=[{"role": "user", "content": "x"}])
seen = []
with client.messages.stream(**asked) as stream:
    seen += [event.to_dict() for event in stream]
seen.append(client.messages.create(**asked, extra_headers={"x-whole": "1"}).to_dict())
print(json.dumps(seen, sort_keys=True))
""",
    "openai": """
import openai, json
client = openai.OpenAI()
asked = dict(model="gpt-4o", messages=[{"role": "user", "content": "x"}])
seen = [chunk.to_dict() for chunk in client.chat.completions.create(**asked, stream=True)]
seen += [e.to_dict() for e in client.responses.create(model="gpt-4o", input="x", stream=True)]
print(json.dumps(seen, sort_keys=True))
""",
    "gemini": """
import json
from google import genai
client = genai.Client()
found = client.models.generate_content_stream(model="gemini-2.5-flash", contents="x")
print(json.dumps([chunk.model_dump(mode="json", exclude={"sdk_http_response"}) for chunk in found]))
""",
}
FAILURES = """
import json
from shared.failures import failure_of
try:
    {call}
except Exception as error:
    failure = failure_of(error)
    print(json.dumps([type(error).__name__, failure.code, failure.message]))
"""
CALLS = {
    "anthropic": 'import anthropic; anthropic.Anthropic().messages.create(model="m", max_tokens=1,'
    ' messages=[{"role": "user", "content": "x"}])',
    "openai": 'import openai; openai.OpenAI().chat.completions.create(model="m", messages=[])',
    "gemini": "from google import genai; client = genai.Client();"
    ' client.models.generate_content(model="m", contents="x")',
}
RESPONSE = {
    "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-4o", "output": [],
    "status": "completed", "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5,
              "input_tokens_details": {"cached_tokens": 1},
              "output_tokens_details": {"reasoning_tokens": 0}},
}  # fmt: skip


async def reply(connection: Connection) -> None:
    request = connection.request
    if request.header("x-whole"):
        await connection.document(anthropic_message("whole"))
    elif "messages" in request.target:
        await streams(anthropic_stream("Hello", " you"))(connection)
    elif "responses" in request.target:
        done = {"type": "response.completed", "sequence_number": 1, "response": RESPONSE}
        await streams(sse(done, named=True))(connection)
    else:
        frames = gemini_stream("Hi", "!") if "gemini" in request.target else openai_stream("Hi")
        await streams(frames)(connection)


async def run(python: Path, code: str, env: dict[str, str]) -> Any:
    """What a program prints, in an environment with these variables only."""
    basic = {"PATH": os.environ["PATH"], "PYTHONPATH": "src/mobox/agent_path"}
    process = await asyncio.create_subprocess_exec(
        python, "-c", code, env={**basic, **env},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return json.loads(out)


def granted(served: ServedGateway, **limits: Any) -> dict[str, str]:
    return dict(served.grant(**limits).env)


@pytest.mark.time_limit(180)
@pytest.mark.parametrize("name", SCRIPTS)
async def test_an_sdk_gets_the_same_objects(frameworks: Path, tmp_path: Path, name: str) -> None:
    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
    ):
        ours = await run(frameworks, SCRIPTS[name], granted(served))
        direct = await run(frameworks, SCRIPTS[name], pointing_to(upstream.url))
        assert ours == direct
        assert len(ours) > 1
        assert {report.outcome for report in served.reports} == {"200"}
        assert all(report.usage.total for report in served.reports)


@pytest.mark.time_limit(180)
@pytest.mark.parametrize("name", CALLS)
async def test_a_used_up_budget_ends_as_budget(frameworks: Path, tmp_path: Path, name: str) -> None:
    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
    ):
        env = granted(served, tokens=1)
        await run(frameworks, SCRIPTS[name], granted(served))
        asked = len(upstream.requests)
        kind, code, message = await run(frameworks, FAILURES.format(call=CALLS[name]), env)
        assert (code, len(upstream.requests)) == ("budget", asked), kind
        assert "model budget of this run is used up" in message
        assert len(served.reports) == asked + 1, "the SDK did not try again"


@pytest.mark.time_limit(180)
@pytest.mark.parametrize("name", CALLS)
async def test_a_refused_token_ends_as_auth(frameworks: Path, tmp_path: Path, name: str) -> None:
    async with served_gateway(tmp_path, KEYS) as served:
        grant = served.grant()
        grant.close()
        _, code, _ = await run(frameworks, FAILURES.format(call=CALLS[name]), dict(grant.env))
        assert code == "auth"
