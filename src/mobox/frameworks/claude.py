"""Agents on the Claude Agent SDK in an app: `agent("assistant", options)`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from mobox.agent_path.shared.frameworks.claude import messages, run, stream
from mobox.capture.asking import Turn
from mobox.capture.catalog import FunctionAgent
from mobox.capture.catalog import agent as function_agent

__all__ = ["agent", "messages", "run", "stream"]


def agent(
    agent_id: str, options: Any = None, *, name: str = "", description: str = "", **more: Any
) -> FunctionAgent:
    """A function agent; the other arguments are those of `stream`."""

    @function_agent(agent_id, framework="claude", name=name, description=description)
    async def run_session(turn: Turn) -> AsyncGenerator[object, None]:
        async with aclosing(stream(options, turn, **more)) as native:
            async for message in native:
                yield message

    return run_session
