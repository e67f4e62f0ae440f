"""LangGraph, DeepAgents and LangChain agents in an app: `agent("researcher", graph)`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from mobox.agent_path.shared.frameworks.langchain import frontend_tools, messages, run, stream
from mobox.capture.asking import Turn
from mobox.capture.catalog import FunctionAgent
from mobox.capture.catalog import agent as function_agent

__all__ = ["agent", "frontend_tools", "messages", "run", "stream"]


def agent(
    agent_id: str,
    thing: Any,
    *,
    framework: str = "langchain",
    name: str = "",
    description: str = "",
    **options: Any,
) -> FunctionAgent:
    """A function agent of a graph; the options are those of `stream`."""

    @function_agent(agent_id, framework=framework, name=name, description=description)
    async def run_graph(turn: Turn) -> AsyncIterator[object]:
        async with aclosing(stream(thing, turn, **options)) as events:
            async for event in events:
                yield event

    return run_graph
