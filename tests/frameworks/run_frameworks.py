"""Run real agents in each of their streams; leave what Mobox hears of them in a folder.

`<run>_<leg>.jsonl` are the lines that `emit_object` would print, `<run>.log` is the log that a
recorder in this process makes of the objects of the first leg. Without a folder, the one run that
is named is printed by `emit_object`. The tests run it with the Python of the frameworks' venv.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, TodoListMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command
from scripted_model import ScriptedModel

from mobox.capture.callable import SdkObjects
from mobox.capture.pipeline import Recorder
from mobox.emitter import emit_object
from mobox.events import encode_many

MODES = ["values", "updates", "messages", "custom", "tasks", "checkpoints", "debug"]


def internet_search(query: str) -> str:
    """Search."""
    return json.dumps([{"title": f"On {query}", "url": f"https://example.org/{query}"}])


def think_tool(thought: str) -> str:
    """Think."""
    return "Thought recorded"


def get_weather(city: str) -> str:
    """Tell the weather."""
    get_stream_writer()({"progress": f"looking up {city}"})
    return f"{city}: 21C"


def boom(x: int) -> str:
    """Fail."""
    raise ValueError("boom failed")


def send_email(to: str, body: str) -> str:
    """Send."""
    return "sent"


def deep_agent() -> Any:
    researcher = {
        "name": "research-agent",
        "description": "Researches",
        "system_prompt": "You research.",
        "tools": [internet_search, think_tool],
    }
    return create_deep_agent(
        model=ScriptedModel(),
        system_prompt="You orchestrate.",
        subagents=[researcher],
        middleware=[TodoListMiddleware()],
        name="orchestrator",
    )


def graph() -> Any:
    """A graph of nodes and edges, without anything that builds it."""

    async def model(state: MessagesState) -> Any:
        return {"messages": [await ScriptedModel().ainvoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("model", model)
    built.add_node("tools", ToolNode([get_weather]))
    built.add_edge(START, "model")
    built.add_conditional_edges("model", tools_condition)
    built.add_edge("tools", "model")
    return built.compile()


def failing() -> Any:
    return create_agent(ScriptedModel(), tools=[boom])


def asking() -> Any:
    asks = HumanInTheLoopMiddleware(interrupt_on={"send_email": True})
    tools = [send_email]
    return create_agent(
        ScriptedModel(), tools=tools, middleware=[asks], checkpointer=InMemorySaver()
    )


APPROVE = Command(resume={"decisions": [{"type": "approve"}]})
EDITED = {"name": "send_email", "args": {"to": "c@d.e", "body": "hi"}}
EDIT = Command(resume={"decisions": [{"type": "edit", "edited_action": EDITED}]})
RESPOND = Command(resume={"decisions": [{"type": "respond", "message": "I sent it."}]})
REJECT = Command(resume={"decisions": [{"type": "reject", "message": "Not now."}]})
AGENTS: dict[str, tuple[Callable[[], Any], str, list[Any]]] = {
    "deep": (deep_agent, "da_orch", []),
    "tools": (graph, "lc_tools", []),
    "fail": (failing, "lc_fail", []),
    "hitl": (asking, "lc_hitl", [APPROVE]),
    "edit": (asking, "lc_hitl", [EDIT]),
    "respond": (asking, "lc_hitl", [RESPOND]),
    "reject": (asking, "lc_hitl", [REJECT]),
}
"""How each is made, what it is asked, and what it is told when it waits."""


def callbacks(agent: Any, given: Any, config: Any) -> Any:
    return agent.astream_events(given, config, version="v2")


async def protocol(agent: Any, given: Any, config: Any) -> AsyncIterator[Any]:
    async for event in await agent.astream_events(given, config, version="v3"):
        yield event


def parts(agent: Any, given: Any, config: Any) -> Any:
    return agent.astream(given, config, stream_mode=MODES, subgraphs=True)


def objects(agent: Any, given: Any, config: Any) -> Any:
    return agent.astream(given, config, stream_mode=MODES, subgraphs=True, version="v2")


STREAMS = {"callbacks": callbacks, "protocol": protocol, "parts": parts, "objects": objects}


async def told(name: str, stream: str) -> AsyncIterator[tuple[int, Any]]:
    """The objects of a run, with the number of the leg."""
    make, scenario, answers = AGENTS[name]
    agent, config = make(), {"configurable": {"thread_id": "t"}}
    ask = {"messages": [{"role": "user", "content": f"[[{scenario}]] go"}]}
    for leg, given in enumerate([ask, *answers], 1):
        try:
            async for each in STREAMS[stream](agent, given, config):
                yield leg, each
        except ValueError as error:
            yield leg, error


async def keep(name: str, stream: str, folder: Path) -> None:
    run = f"{name}_{stream}"
    legs: dict[int, list[Any]] = {}
    described, recorder, in_process = SdkObjects(), Recorder("deepagents"), SdkObjects()
    log = []
    async for leg, each in told(name, stream):
        legs.setdefault(leg, []).append(described.describe(each))
        if leg == 1:
            log += recorder.feed([in_process.describe(each)])
    for leg, lines in legs.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{run}_{leg}.jsonl").write_text(text, "utf-8")
    (folder / f"{run}.log").write_bytes(encode_many(log + recorder.close()))


async def main(*arguments: str) -> None:
    if len(arguments) == 2:
        async for _, each in told(*arguments):
            emit_object(each)
        return
    for name in AGENTS:
        for stream in STREAMS:
            await keep(name, stream, Path(arguments[0]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
