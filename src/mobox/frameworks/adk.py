"""Agents on Google's ADK in an app: `agent("assistant", Agent(…))`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from mobox.agent_path.shared.frameworks.adk import messages, run, stream
from mobox.capture.asking import Turn
from mobox.capture.catalog import FunctionAgent
from mobox.capture.catalog import agent as function_agent

__all__ = ["agent", "messages", "run", "stream"]


def agent(
    agent_id: str, thing: Any, *, name: str = "", description: str = "", **options: Any
) -> FunctionAgent:
    """A function agent of an agent of ADK; the options are those of `stream`."""

    @function_agent(agent_id, framework="adk", name=name, description=description)
    async def run_agent(turn: Turn) -> AsyncGenerator[object, None]:
        async with aclosing(stream(thing, turn, **options)) as events:
            async for event in events:
                yield event

    return run_agent
