"""The built-in tools of LangChain and DeepAgents: their kinds, and the events that show them."""

from __future__ import annotations

from typing import Final

from mobox.events import Display, ToolKind
from mobox.parsers import displays, kinds

__all__ = ["display_of", "kind_of"]

_KINDS: Final[dict[str, ToolKind]] = {
    "task": "agent",
    "execute": "shell",
    "shell": "shell",
    "bash_code_execution": "shell",
    "glob": "search",
    "grep": "search",
    "internet_search": "search",
    "tavily_search": "search",
    "web_fetch": "search",
    "web_search": "search",
}


def kind_of(name: str) -> ToolKind:
    """The kind of a tool; one of the caller's own is a function."""
    return kinds.kind_of(name, _KINDS)


def display_of(name: str) -> Display | None:
    """The kind of event that already shows what this tool does."""
    return displays.LANGCHAIN.get(name)
