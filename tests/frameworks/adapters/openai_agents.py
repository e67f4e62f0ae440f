"""OpenAI's Agents SDK in the matrix, with the Responses API."""

from __future__ import annotations

from frameworks.matrix import Adapter
from frameworks.scripted_anthropic import Block, call
from frameworks.scripted_openai import scripted_openai


def _to_agent(task: str) -> Block:
    return call("call_2", "ask_helper", input=task)


OPENAI_AGENTS = Adapter(
    name="OpenAI Agents",
    framework="openai-agents",
    folder="openai_agents",
    provider=scripted_openai,
    base_url="OPENAI_BASE_URL",
    env={"OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1"},
    delegate=_to_agent,
)
