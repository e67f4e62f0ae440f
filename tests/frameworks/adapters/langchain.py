"""LangGraph and DeepAgents in the matrix."""

from __future__ import annotations

from frameworks.matrix import Adapter
from frameworks.scripted_anthropic import Block, call, scripted_anthropic


def _to_tool(task: str) -> Block:
    return call("call_2", "ask_helper", task=task)


def _to_subagent(task: str) -> Block:
    return call("call_2", "task", description=task, subagent_type="helper")


LANGGRAPH = Adapter(
    name="LangGraph",
    framework="langchain",
    folder="langgraph",
    provider=scripted_anthropic,
    base_url="ANTHROPIC_BASE_URL",
    delegate=_to_tool,
)
DEEPAGENTS = Adapter(
    name="DeepAgents",
    framework="deepagents",
    folder="deepagents",
    provider=scripted_anthropic,
    base_url="ANTHROPIC_BASE_URL",
    delegate=_to_subagent,
)
