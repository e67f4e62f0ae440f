"""A research team: an orchestrator that plans and reports, and a subagent that searches.

The orchestrator has no search of its own. It delegates by the tool `task`, to one researcher at a
time, or to as many as three at once if the question is a comparison. `prompts/` has the rules.
"""

import os
from pathlib import Path

from deepagents import FilesystemMiddleware, create_deep_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_anthropic import ChatAnthropic
from shared.frameworks.langchain import run
from tools.search import internet_search
from tools.think_tool import think_tool

PROMPTS = Path(__file__).parent / "prompts"
MODEL = os.environ.get("MODEL", "claude-sonnet-4-5")


def prompt(name: str) -> str:
    return (PROMPTS / f"{name}.txt").read_text(encoding="utf-8")


def only_reading() -> FilesystemMiddleware:
    """Deep agents put long results into files, which the model has to read. It writes none."""
    return FilesystemMiddleware(tools=["ls", "read_file"])


researcher = {
    "name": "researcher",
    "description": "Searches for the answer to one question and reports it with sources.",
    "system_prompt": prompt("researcher"),
    "tools": [internet_search, think_tool],
    "middleware": [only_reading()],
}

graph = create_deep_agent(
    model=ChatAnthropic(model=MODEL, max_tokens=8192),
    system_prompt=prompt("orchestrator"),
    subagents=[researcher],
    middleware=[TodoListMiddleware(), only_reading()],
)

run(graph, config={"recursion_limit": 100})
