"""aimock, a simulator that nobody here wrote, in the provider's place: the gateway adds nothing."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from models.served_gateway import KEYS, pointing_to, served_gateway, token_of
from models.simulator.asking import WIRES, Wire
from server.live_server import clean_environment
from support.ai_sdk_client import CLIENTS

PROGRAM = CLIENTS / "node_modules/@copilotkit/aimock/dist/cli.js"
TEXT = {"content": "It is 21 degrees in Lisbon, says the report of today.", "reasoning": "Hm."}
CALL = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Lisbon"}}
FIXED = {"id": "fixed_1", "created": 1700000000}
RESPONSES: dict[str, dict[str, Any]] = {
    "text": {"response": {**TEXT, **FIXED}},
    "tool": {"response": {"toolCalls": [CALL], **FIXED}},
    "cut": {"response": {**TEXT, **FIXED}, "truncateAfterChunks": 3, "latency": 20},
    "bad": {"response": {"error": {"message": "Wrong."}, "status": 400}},
    "limited": {"response": {"error": {"message": "Slow."}, "status": 429, "retryAfter": 7}},
    "overloaded": {"response": {"error": {"message": "Later."}, "status": 503}},
}
RANDOM = re.compile(rb"(aimock-int-|[a-z]{2,4}-|evt_)[\w-]+(?=\")")
"""The ids that it makes for the items of OpenAI's responses, and of Google's interactions."""
OWN = {"connection", "keep-alive", "transfer-encoding", "date", "x-request-id"}
"""Headers of a connection, and those that differ between two equal requests."""


@pytest.fixture(scope="module")
def aimock(node: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its URL. It accepts the keys of the server only."""
    file = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    found = [{"match": {"userMessage": name}, **given} for name, given in RESPONSES.items()]
    file.write_text(json.dumps({"fixtures": found}))
    command = [node, str(PROGRAM), "--port", "0", "--fixtures", str(file), "--strict"]
    env = clean_environment(AIMOCK_API_KEYS=",".join(KEYS.values()))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        try:
            yield next(f[0] for line in lines if (f := re.search(r"http://[\d.:]+", line)))
        finally:
            process.terminate()


Seen = tuple[int, set[tuple[str, str]], bytes, str]


async def ask(client: httpx.AsyncClient, path: str, body: object) -> Seen:
    """The status, the headers, the body as far as it came, and what broke it off."""
    received, broken = b"", ""
    async with client.stream("POST", path, json=body) as response:
        try:
            async for data in response.aiter_raw():
                received += data
        except httpx.TransportError as error:
            broken = type(error).__name__
    headers = {(name, value) for name, value in response.headers.items() if name not in OWN}
    return response.status_code, headers, received, broken


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_responses_are_the_same_as_directly(
    tmp_path: Path, aimock: str, wire: Wire, stream: bool
) -> None:
    key = f"Bearer {KEYS['OPENAI_API_KEY']}"
    async with (
        served_gateway(tmp_path, pointing_to(aimock)) as served,
        served.client(token_of(served.grant())) as agent,
        httpx.AsyncClient(trust_env=False, headers={"authorization": key}) as direct,
    ):
        path = wire.stream_path if stream and wire.stream_path else wire.path
        for name, given in RESPONSES.items():
            body = wire.body(name, stream=stream)
            status, headers, data, broken = await ask(direct, aimock + path, body)
            ours = await ask(agent, wire.mount + path, body)
            assert ours[:2] == (status, headers), name
            assert status == given["response"].get("status", 200), data
            if wire.name in ("responses", "interactions"):
                data, ours = RANDOM.sub(b"_", data), (*ours[:2], RANDOM.sub(b"_", ours[2]), ours[3])
            assert ours[2:] == (data, broken), name
            assert data, name
            assert bool(broken) == (name == "cut" and stream)
    assert len(served.reports) == len(RESPONSES)


async def test_it_does_not_accept_a_token(aimock: str) -> None:
    async with httpx.AsyncClient(trust_env=False, headers={"x-api-key": "mbm_1"}) as client:
        assert (await client.post(f"{aimock}/v1/messages", json={})).status_code == 401
