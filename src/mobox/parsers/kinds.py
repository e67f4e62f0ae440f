"""The kind of a tool by its name, in every framework: the usual names of tools that run Python.

A framework's own tools are in its own table, which takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from mobox.events import ToolKind

__all__ = ["kind_of", "runs_python"]

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


def kind_of(name: str, own: Mapping[str, ToolKind] = _NONE) -> ToolKind:
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
