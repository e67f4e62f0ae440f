"""LangGraph, DeepAgents and LangChain agents: `run(graph)`.

    from shared.frameworks.langchain import run
    from graph import graph
    run(graph)

The graph remembers by its checkpoints, which are kept in the chat's state folder if it has no
checkpointer of its own. docs/langchain.md describes memory, approvals and the page's tools.

Rule 1: checkpoints are written before the next step (`durability="sync"`): what a process that is
        killed had done, the next one knows.
Rule 2: a run that an interrupt pauses ends its process; the answers come to the next one.
Rule 3: a runnable that is not a graph has no memory: it gets the whole conversation.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import warnings
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Any

from ..control import Turn, read_turn
from ..objects import emit_object
from ..output import write_exit
from .langchain_answers import TURN, Interrupts, resume_values
from .langchain_lines import lines_in_stream
from .langchain_memory import RUN, Start, find_start, messages_for, with_memory
from .langchain_messages import messages_of
from .loading import load

__all__ = ["frontend_tools", "messages", "run", "stream"]

EXPERIMENTAL = "The v3 streaming protocol"


def run(thing: Any, **options: Any) -> None:
    """Run an agent for the turn of this process; the options are those of `stream`."""
    _load()
    turn = read_turn()
    try:
        asyncio.run(_emit(thing, turn, options))
    except KeyboardInterrupt:  # it was stopped
        sys.exit(130)
    write_exit()


async def _emit(thing: Any, turn: Turn, options: dict[str, Any]) -> None:
    async for event in stream(thing, turn, **options):
        emit_object(event)


def messages(turn: Any) -> list[Any]:
    """The conversation as HumanMessages, AIMessages with their calls, and ToolMessages."""
    _load()
    return messages_of(turn.history, turn.parts)


def frontend_tools() -> Any:
    """Middleware for `create_agent` and `create_deep_agent` that offers the page's tools."""
    _load()
    from .langchain_frontend import FrontendTools

    return FrontendTools()


async def stream(
    thing: Any,
    turn: Any,
    *,
    input: Any = None,
    config: Any = None,
    context: Any = None,
) -> AsyncGenerator[Any, None]:
    """The native events of one turn.

    `thing` is a graph, another runnable, or a function that returns one, which may be async or an
    async context manager. `input(turn)` makes the graph's input in place of its messages; `config`
    and `context` are LangGraph's, values or functions of the turn.
    """
    _load()
    async with AsyncExitStack() as opened:
        runnable = await _made(thing, opened)
        given = _value(config, turn) or {}
        if not _is_graph(runnable):
            told = messages(turn) if input is None else input(turn)
            async for event in runnable.astream_events(told, given, version="v2"):
                yield event
            return
        graph = with_memory(runnable, turn)
        if graph.checkpointer is not runnable.checkpointer:
            opened.callback(getattr(graph.checkpointer, "close", lambda: None))
        start = await find_start(graph, turn)
        told = await _input(graph, turn, start, input)
        more = {} if context is None else {"context": _value(context, turn)}
        interrupts = Interrupts(turn)
        opened.enter_context(lines_in_stream())
        async with aclosing(_events(graph, told, _config(given, turn, start), more)) as events:
            async for event in events:
                yield interrupts.take(event)
        for event in interrupts.all():
            yield event


async def _events(graph: Any, given: Any, config: Any, more: Any) -> AsyncGenerator[Any, None]:
    from langgraph.stream.transformers import CustomTransformer

    warnings.filterwarnings("ignore", EXPERIMENTAL)
    more = {"durability": "sync", "transformers": [CustomTransformer], **more}
    events = await graph.astream_events(given, config, version="v3", **more)
    try:
        async for event in events:
            yield event
    finally:
        await events.abort()


async def _input(graph: Any, turn: Any, start: Start, own: Any) -> Any:
    if turn.kind == "answers":
        from langgraph.types import Command

        state = await graph.aget_state({"configurable": start.place})
        values = resume_values(state.interrupts, turn)
        return Command(resume=values) if values else None  # `None`: a tool asked, not the graph
    if own is not None:
        return own(turn)
    if "messages" not in graph.channels:
        raise ValueError("the graph's state has no `messages`: give `input=`, a function of turn")
    return {"messages": await messages_for(graph, turn, start)}


def _config(given: Any, turn: Any, start: Start) -> Any:
    configurable = {**(given.get("configurable") or {}), **start.place, TURN: turn}
    about = {**(given.get("metadata") or {}), RUN: turn.run_id, "mobox_chat": turn.chat_id}
    return {**given, "configurable": configurable, "metadata": about}


def _value(option: Any, turn: Any) -> Any:
    return option(turn) if callable(option) else option


async def _made(thing: Any, opened: AsyncExitStack) -> Any:
    """The runnable itself, or what a function makes."""
    made = thing if hasattr(thing, "astream_events") or not callable(thing) else thing()
    if made is not thing and hasattr(made, "__aenter__"):
        made = await opened.enter_async_context(made)
    elif inspect.isawaitable(made):
        made = await made
    if not hasattr(made, "astream_events"):
        kind = type(made).__name__
        hint = ": call its `compile()`" if hasattr(made, "compile") else ""
        raise TypeError(f"a graph is needed, or another runnable; not {kind}{hint}")
    return made


def _is_graph(runnable: Any) -> bool:
    from langgraph.pregel import Pregel

    return isinstance(runnable, Pregel)


def _load() -> None:
    load("langgraph", "1.2", "2", "langgraph.pregel", "langgraph.types", "langchain_core.messages")
