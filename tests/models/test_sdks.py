"""What the gateway refuses is an error of the provider's own SDK, with the right code of a run."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from models.served_gateway import KEYS, pointing_to, served_gateway

FAILURES = """
import json
from shared.failures import failure_of
codes = []
for _ in range({times}):
    try:
        {call}
        codes.append(None)
    except Exception as error:
        failure = failure_of(error)
        codes.append([failure.code, failure.message])
print(json.dumps(codes))
"""
CALLS = {
    "anthropic": 'import anthropic; anthropic.Anthropic().messages.create(model="m", max_tokens=1,'
    ' messages=[{"role": "user", "content": "x"}])',
    "openai": 'import openai; openai.OpenAI().chat.completions.create(model="m", messages=[])',
    "gemini": "from google import genai; client = genai.Client();"
    ' client.models.generate_content(model="m", contents="x")',
}


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


@pytest.mark.time_limit(180)
@pytest.mark.parametrize("name", CALLS)
async def test_a_used_up_budget_ends_as_budget(frameworks: Path, tmp_path: Path, name: str) -> None:
    async with served_gateway(tmp_path, {}) as served:
        code = FAILURES.format(times=2, call=CALLS[name])
        first, second = await run(frameworks, code, dict(served.grant(tokens=1).env))
        assert first is None
        assert second[0] == "budget"
        assert "model budget of this run is used up" in second[1]
        assert len(served.reports) == 2, "the SDK did not try again"


@pytest.mark.time_limit(180)
@pytest.mark.parametrize("name", CALLS)
async def test_a_refused_token_ends_as_auth(frameworks: Path, tmp_path: Path, name: str) -> None:
    async with served_gateway(tmp_path, KEYS) as served:
        grant = served.grant()
        grant.close()
        code = FAILURES.format(times=1, call=CALLS[name])
        [(kind, _)] = await run(frameworks, code, dict(grant.env))
        assert kind == "auth"


@pytest.mark.time_limit(180)
@pytest.mark.parametrize("name", CALLS)
async def test_an_unreachable_provider_ends_as_network(
    frameworks: Path, tmp_path: Path, name: str
) -> None:
    async with served_gateway(tmp_path, pointing_to("http://127.0.0.1:1")) as served:
        code = FAILURES.format(times=1, call=CALLS[name])
        [(kind, message)] = await run(frameworks, code, dict(served.grant().env))
        assert kind == "network"
        assert "cannot be reached" in message
