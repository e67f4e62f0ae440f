"""Agents of smolagents in an app: `agent("coder", CodeAgent(…))`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from mobox.agent_path.shared.frameworks.smolagents import messages, needs_approval, run, stream
from mobox.capture.asking import Turn
from mobox.capture.catalog import FunctionAgent
from mobox.capture.catalog import agent as function_agent

__all__ = ["agent", "messages", "needs_approval", "run", "stream"]


def agent(
    agent_id: str, thing: Any, *, name: str = "", description: str = "", **options: Any
) -> FunctionAgent:
    """A function agent of an agent of smolagents; the options are those of `stream`."""

    @function_agent(agent_id, framework="smolagents", name=name, description=description)
    async def run_agent(turn: Turn) -> AsyncGenerator[object, None]:
        async with aclosing(stream(thing, turn, **options)) as steps:
            async for step in steps:
                yield step

    return run_agent
