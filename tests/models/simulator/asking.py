"""Asks the simulator in this process, in each wire format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
from msgspec import Struct

from mobox.models.simulator import Script, simulator

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Wire(Struct, frozen=True):
    """A wire format: where it is asked, its parser, and how a request is written."""

    name: str
    path: str
    framework: str
    mount: str
    """Where the gateway has it."""
    stream_path: str = ""

    def body(self, prompt: str, *, stream: bool = False) -> dict[str, Any]:
        said = {"role": "user", "content": prompt}
        match self.name:
            case "anthropic":
                body: dict[str, Any] = {"model": "m", "max_tokens": 999, "messages": [said]}
            case "chat":
                body = {"model": "m", "messages": [said], "stream_options": {"include_usage": True}}
            case "responses":
                body = {"model": "m", "input": [said]}
            case "interactions":
                body = {"model": "m", "input": prompt}
            case _:
                return {"contents": [{"role": "user", "parts": [{"text": prompt}]}]}
        return {**body, "stream": stream}


WIRES = (
    Wire("anthropic", "/v1/messages", "claude", "/anthropic"),
    Wire("chat", "/v1/chat/completions", "openai", "/openai"),
    Wire("responses", "/v1/responses", "openai", "/openai"),
    Wire(
        "gemini", "/v1beta/models/m:generateContent", "gemini", "/gemini",
        "/v1beta/models/m:streamGenerateContent?alt=sse",
    ),
    Wire("interactions", "/v1beta/interactions", "gemini", "/gemini"),
)  # fmt: skip


def client(script: Script | None = None, pace: float = 0) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(simulator(script, pace=pace))
    return httpx.AsyncClient(transport=transport, base_url="http://sim")


async def ask(
    wire: Wire, body: Mapping[str, Any], script: Script | None = None, *, stream: bool = False
) -> httpx.Response:
    async with client(script) as http:
        path = wire.stream_path if stream and wire.stream_path else wire.path
        return await http.post(path, json=body)


def events(response: httpx.Response) -> list[Any]:
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]
