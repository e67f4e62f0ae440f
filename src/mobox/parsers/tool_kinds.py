"""The kind of a tool by its name, in every framework: the usual names of tools that run Python.

A framework's own tools are in its own table, which takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from mobox.events import (
    JSON,
    Display,
    Source,
    StreamEvent,
    TodoCreate,
    TodoDone,
    TodoItem,
    TodoUpdate,
    ToolKind,
)
from mobox.parsers.values import first_text, objects_in

_NONE: Final[Mapping[str, ToolKind]] = MappingProxyType({})
_PYTHON: Final = r"(?:i?python|jupyter|pyodide|py)"
_RUNS: Final = r"(?:interpreter|execution|executor|execute|exec|runner|run|repl|eval)"
_BESIDE: Final = r"(?:code|script|cell|notebook|kernel|shell|sandbox|tool|ast|in|the|lab|\d)"
_PYTHON_TOOL: Final = re.compile(
    rf"(?:{_RUNS}|{_BESIDE})*{_PYTHON}(?:{_PYTHON}|{_RUNS}|{_BESIDE})*"
    rf"|{_BESIDE}*(?:{_RUNS}{_BESIDE}*code|code{_BESIDE}*{_RUNS})(?:{_RUNS}|{_BESIDE})*"
)
"""`python_interpreter`, `PythonREPLTool`, `run_python_code`, `execute_ipython_cell`; and, as Python
is what they run by default, `code_interpreter`, `code_execution`, `execute_code`. All words of a
name have to be such words: `search_python_docs` and `run_code_review` are none."""
_SEPARATORS: Final = re.compile(r"[\W_]+")
_LONGEST: Final = 64
_MCP: Final = re.compile(r"mcp(?:__|\.)(?:.*?(?:__|\.))?")
"""Prefix of the names of tools that a Model Context Protocol server offers."""


def tool_kind(name: str, own: Mapping[str, ToolKind] = _NONE) -> ToolKind:
    """The kind of a tool; one of the caller's own is a function."""
    if name in own:
        return own[name]
    return "code" if runs_python(name) else "function"


def _without_server(name: str) -> str:
    server = _MCP.match(name)
    return name[server.end() :] if server is not None else name


def runs_python(name: str) -> bool:
    """Whether a tool of this name runs Python, however the name is written."""
    return len(name) <= 2 * _LONGEST and _runs_python(name)


@lru_cache(maxsize=1024)
def _runs_python(name: str) -> bool:
    words = _SEPARATORS.sub("", _without_server(name)).lower()
    return len(words) <= _LONGEST and _PYTHON_TOOL.fullmatch(words) is not None


# Which other event shows the calls of well-known tools, however an agent reports them.

CLAUDE_DISPLAYS: Final[dict[str, Display]] = {
    "Agent": "agent",
    "Task": "agent",
    "TaskCreate": "todos",
    "TaskGet": "todos",
    "TaskList": "todos",
    "TaskUpdate": "todos",
    "TodoWrite": "todos",
}
LANGCHAIN_DISPLAYS: Final[dict[str, Display]] = {
    "task": "agent",
    "think_tool": "think",
    "write_todos": "todos",
}


# Results of a provider's own tools, from its API or from a framework around it.

SECRET: Final = "encrypted_"
"""Prefix of members that only their provider can read."""


def is_failed_output(output: JSON) -> bool:
    """Whether a tool reports a failure: by an error type, or an exit code."""
    if not isinstance(output, dict):
        return False
    kind, code = output.get("type"), output.get("return_code")
    return (isinstance(kind, str) and kind.endswith("_error")) or code not in (None, 0)


def search_sources(name: str | None, scope: tuple[str, ...], output: JSON) -> list[Source]:
    """The pages that a search names."""
    items = objects_in(output if isinstance(output, list) else [output])
    return [
        Source(id=name, scope=scope, url=url, title=first_text(item, "title"))
        for item in items
        if (url := first_text(item, "url")) is not None
    ]


def split_encrypted(value: JSON, path: str = "") -> tuple[JSON, dict[str, JSON]]:
    """`value` without its encrypted members, and those by their JSON pointer."""
    if isinstance(value, list):
        children = {str(i): child for i, child in enumerate(value)}
    elif isinstance(value, dict):
        children = value
    else:
        return value, {}
    clean, secrets = {}, {}
    for key, child in children.items():
        if key.startswith(SECRET) and child is not None:
            secrets[f"{path}/{key}"] = child
        else:
            clean[key], inner = split_encrypted(child, f"{path}/{key}")
            secrets |= inner
    return (list(clean.values()) if isinstance(value, list) else clean), secrets


# Finds what changed between two states of a plan, for frameworks that only send the list.

Items = tuple[TodoItem, ...]


def todo_item(content: str, status: str | None, active_form: str | None = None) -> TodoItem:
    """An item of a plan; an unknown status counts as pending."""
    item = TodoItem(content=content, active_form=active_form)
    return replace(item, status=status) if status in ("in_progress", "completed") else item


def todo_change(before: Items, after: Items) -> list[StreamEvent]:
    """The event for the change from one list to the next; none if nothing changed."""
    if before == after:
        return []
    if not before:
        return [TodoCreate(items=after)]
    finished = _newly_finished(before, after)
    if len(finished) == 1:
        index = finished[0]
        return [TodoDone(items=after, item=after[index].content, index=index)]
    return [TodoUpdate(items=after)]


def _newly_finished(before: Items, after: Items) -> list[int]:
    done = {item.content for item in before if item.status == "completed"}
    return [
        index
        for index, item in enumerate(after)
        if item.status == "completed" and item.content not in done
    ]
