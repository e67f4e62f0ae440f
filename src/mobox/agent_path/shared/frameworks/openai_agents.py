"""Agents on OpenAI's Agents SDK: `run(agent)`.

    from agents import Agent
    from shared.frameworks.openai_agents import run
    run(Agent(name="assistant", instructions="You are brief."))

docs/openai-agents.md describes memory, approvals, hand-offs, the page's tools and errors.

Rule 1: the chat's log is the memory, unless a session of the SDK is given: openai_agents_memory.py.
Rule 2: a run that waits for a person ends its process. Its state is stored before the person is
        asked, and the next process continues from there: openai_agents_pause.py.
Rule 3: the SDK can continue only from a pause: a run whose process was killed is lost, and its
        calls without a result are reported as interrupted. None of them is made again.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from importlib import import_module
from typing import Any

from ..control import read_turn
from .loading import load
from .openai_agents_memory import Memory
from .openai_agents_page import PageTools
from .openai_agents_pause import Pauses, resumed
from .running import emit_all

__all__ = ["messages", "run", "stream"]

LOWEST, BELOW = "0.24", "0.25"
OPTIONS = ("error_handlers", "hooks", "max_turns", "run_config")
"""Options of `Runner.run_streamed`. Conversations that OpenAI's server keeps cannot go back."""
ENDS = (
    "MaxTurnsExceeded",
    "ModelRefusalError",
    "InputGuardrailTripwireTriggered",
    "OutputGuardrailTripwireTriggered",
    "ToolInputGuardrailTripwireTriggered",
    "ToolOutputGuardrailTripwireTriggered",
)
"""Exceptions that are ends of a run, for which the parser has reasons; all others are failures."""
SECONDS_TO_STOP = 0.8
"""How long a stopped run may take to end; the process is terminated after a second."""


def run(thing: Any, **options: Any) -> None:
    """Run an agent for the turn of this process; the options are those of `stream`."""
    _load()
    turn = read_turn()
    emit_all(stream(thing, turn, **options))


def messages(turn: Any) -> list[dict[str, Any]]:
    """The conversation as input items, with calls, their results and images."""
    items: list[dict[str, Any]] = turn.messages(style="responses")
    return items


async def stream(
    thing: Any,
    turn: Any,
    *,
    input: Any = None,
    context: Any = None,
    session: Any = None,
    **options: Any,
) -> AsyncGenerator[Any, None]:
    """The SDK's events for one turn, and a record of how it ended, which the parser needs.

    An exception that is an end of the run, such as `MaxTurnsExceeded`, is an event too.

    `thing` is an `Agent`, or a function that returns one, which may be async or an async context
    manager. `input(turn)` makes the input in place of the messages; `context` and `session` are the
    SDK's, values or functions of the turn. The other options are those of `Runner.run_streamed`:
    `max_turns`, `run_config`, `hooks` and `error_handlers`.
    """
    _check(options)
    sdk = _load()
    async with AsyncExitStack() as opened:
        agent = await _made(sdk, thing, opened)
        pauses, memory = Pauses(turn), Memory(turn, _value(session, turn))
        pause, given = pauses.begin(), _value(context, turn)
        page = PageTools(sdk, turn, pause.tools if pause is not None else [])
        agent = page.added_to(agent)
        if pause is not None:
            told = await resumed(sdk, agent, pause, turn.answers, page, given)
            given = None if isinstance(given, Mapping) else given  # the state has it
            pauses.end_last()
        else:
            told = await memory.input(input)
        about = {"context": given, "session": memory.session, **options}
        result = sdk.Runner.run_streamed(agent, told, **about)
        async with aclosing(_events(result)) as events:
            async for event in events:
                yield event
        memory.end(is_whole=result.final_output is not None)
        yield pauses.record(result, pause, page)


def _check(options: dict[str, Any]) -> None:
    unknown = ", ".join(sorted({*options} - {*OPTIONS}))
    if unknown:
        known = ", ".join(("context", "input", "session", *OPTIONS))
        raise TypeError(f"unknown option: {unknown}; known: {known}")


async def _events(result: Any) -> AsyncGenerator[Any, None]:
    """The events of a run, which is cancelled if nobody wants the rest of them."""
    events = result.stream_events()
    try:
        async for event in events:
            yield event
    except Exception as error:
        if type(error).__name__ not in ENDS:
            raise
        yield error
    else:
        if result.run_loop_exception is not None:  # before the first event, the SDK does not raise
            raise result.run_loop_exception
    finally:
        if not result.is_complete:
            result.cancel()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(events.aclose(), SECONDS_TO_STOP)


def _value(option: Any, turn: Any) -> Any:
    return option(turn) if callable(option) else option


async def _made(sdk: Any, thing: Any, opened: AsyncExitStack) -> Any:
    """The agent itself, or what a function makes."""
    made = thing() if callable(thing) else thing
    if hasattr(made, "__aenter__"):
        made = await opened.enter_async_context(made)
    elif inspect.isawaitable(made):
        made = await made
    if not isinstance(made, sdk.Agent):
        kind = type(made).__name__
        raise TypeError(f"an `agents.Agent` is needed, or a function that returns one; not {kind}")
    return made


def _load() -> Any:
    load("openai-agents", LOWEST, BELOW, "agents")
    return import_module("agents")
