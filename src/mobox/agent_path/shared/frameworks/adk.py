"""Agents on Google's Agent Development Kit: `run(agent)`.

    from google.adk.agents import Agent
    from shared.frameworks.adk import run
    run(Agent(name="assistant", model="gemini-2.5-flash", instruction="You are brief."))

docs/adk.md describes memory, approvals, subagents, the page's tools and errors.

Rule 1: ADK's session is the memory. It is kept in the chat's state folder, and goes back by ADK's
        own rewind: adk_memory.py.
Rule 2: a run that waits for a person ends its process. The next one gives ADK the answers as the
        responses of the calls that asked: adk_answers.py.
Rule 3: what ADK yields, it has stored. A call without a result was under way when its process
        ended: it is reported as such, and not made again.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Any

from ..control import read_turn
from ..failures import failure_of
from .loading import load
from .running import emit_all

__all__ = ["messages", "run", "stream"]

LOWEST, BELOW = "2.12", "3"
SERVICES = ("artifact_service", "credential_service", "memory_service", "session_service")
"""Options of ADK's `Runner`."""
MODULES = (
    "google.adk.agents",
    "google.adk.apps.app",
    "google.adk.artifacts.file_artifact_service",
    "google.adk.auth.auth_preprocessor",
    "google.adk.models.google_llm",
    "google.adk.plugins.base_plugin",
    "google.adk.runners",
    "google.adk.sessions.in_memory_session_service",
    "google.adk.sessions.sqlite_session_service",
    "google.adk.tools.base_tool",
    "google.genai.types",
)
"""What a turn needs: ADK itself would import most of it with the first message."""


def run(thing: Any, **options: Any) -> None:
    """Run an agent for the turn of this process; the options are those of `stream`."""
    _load()
    turn = read_turn()
    # What a function makes is closed at the end, such as connections to MCP servers.
    emit_all(stream(thing if _is_function(thing) else lambda: thing, turn, **options))


def messages(turn: Any) -> list[Any]:
    """The conversation as `types.Content`, with calls, their results and files."""
    _load()
    from .adk_contents import contents_of

    return contents_of(turn.history, turn.parts)


async def stream(
    thing: Any,
    turn: Any,
    *,
    input: Any = None,
    state: Any = None,
    run_config: Any = None,
    **services: Any,
) -> AsyncGenerator[Any, None]:
    """ADK's events for one turn.

    `thing` is an agent, a workflow or an `App`, or a function that returns one, which may be async
    or an async context manager. `input(turn)` makes the new message, a `types.Content`. `state` is
    added to the state of the session, and `run_config` is ADK's; both are values or functions of
    the turn. So are the services of `Runner`: `session_service`, `artifact_service`,
    `memory_service` and `credential_service`.
    """
    _check(services)
    _load()
    from .adk_answers import Answers
    from .adk_contents import message_of
    from .adk_memory import Memory
    from .adk_runner import app_of, run_config_of, runner_of

    async with AsyncExitStack() as opened:
        answers = Answers(turn)
        app = app_of(await _made(thing, opened), answers.plugin)
        runner = runner_of(app, turn, {name: _value(services[name], turn) for name in services})
        if _is_function(thing):
            opened.push_async_callback(runner.close)
        memory = Memory(runner, turn)
        is_answer = turn.kind == "answers"
        if is_answer:
            results, new = answers.continuation(await memory.events())
            await memory.add(results)
            for event in results:
                yield event
        else:
            await memory.go_to_start()
            new = message_of(turn.parts) if input is None else input(turn)
        running = runner.run_async(
            user_id=memory.user,
            session_id=memory.session,
            new_message=new,
            state_delta=None if is_answer else _value(state, turn),
            run_config=run_config_of(_value(run_config, turn), turn),
            yield_user_message=is_answer,  # it has the results of the page's tools
        )
        async with aclosing(_events(running)) as events:
            async for event in events:
                yield event


async def _events(running: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """ADK's events. What it says about a provider's failure is left to the exception after it."""
    held = None
    try:
        async with aclosing(running):
            async for event in running:
                if held is not None:
                    yield held
                is_error = event.error_code is not None and event.content is None
                held = event if is_error else None
                if not is_error:
                    yield event
    except Exception as error:
        if held is not None and failure_of(error) is None:
            yield held
        raise
    if held is not None:
        yield held


def _check(services: dict[str, Any]) -> None:
    unknown = ", ".join(sorted({*services} - {*SERVICES}))
    if unknown:
        known = ", ".join(("input", "run_config", "state", *SERVICES))
        raise TypeError(f"unknown option: {unknown}; known: {known}")


def _value(option: Any, turn: Any) -> Any:
    return option(turn) if callable(option) else option


async def _made(thing: Any, opened: AsyncExitStack) -> Any:
    """The agent itself, or what a function makes."""
    if not _is_function(thing):
        return thing
    made = thing()
    if hasattr(made, "__aenter__"):
        return await opened.enter_async_context(made)
    return await made if inspect.isawaitable(made) else made


def _is_function(thing: Any) -> bool:
    return callable(thing) and not hasattr(thing, "name")


def _load() -> None:
    load("google-adk", LOWEST, BELOW, *MODULES)
