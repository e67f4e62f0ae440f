"""Claude's own tools by name: what kind they are, and what they show up as elsewhere."""

from __future__ import annotations

from mobox.events import Display, ToolKind
from mobox.parsers import displays

__all__ = ["display_of", "kind_of"]

_KINDS: dict[str, ToolKind] = {
    "web_search": "search",
    "web_fetch": "search",
    "tool_search_tool_regex": "search",
    "tool_search_tool_bm25": "search",
    "code_execution": "code",
    "text_editor_code_execution": "code",
    "bash_code_execution": "shell",
    "mcp": "mcp",
    "Agent": "agent",
    "Task": "agent",
    "Bash": "shell",
    "BashOutput": "shell",
    "KillShell": "shell",
    "NotebookEdit": "code",
    "Glob": "search",
    "Grep": "search",
    "ToolSearch": "search",
    "WebFetch": "search",
    "WebSearch": "search",
}


def kind_of(name: str) -> ToolKind:
    """What a tool does; one of the caller's own is a function."""
    return "mcp" if name.startswith("mcp__") else _KINDS.get(name, "function")


def display_of(name: str) -> Display | None:
    """The part of a screen that already shows what this tool does."""
    return displays.CLAUDE.get(name)
