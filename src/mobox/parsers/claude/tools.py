"""Claude's own tools by name: their kinds, and the other events that show them."""

from __future__ import annotations

from mobox.events import Display, ToolKind
from mobox.parsers import displays, kinds

__all__ = ["display_of", "kind_of"]

_KINDS: dict[str, ToolKind] = {
    "web_search": "search",
    "web_fetch": "search",
    "tool_search_tool_regex": "search",
    "tool_search_tool_bm25": "search",
    "text_editor_code_execution": "code",
    "bash_code_execution": "shell",
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


def kind_of(name: str, *, is_mcp: bool = False) -> ToolKind:
    """The kind of a tool; one of the caller's own is a function."""
    kind = kinds.kind_of(name, _KINDS)
    return "mcp" if (is_mcp or name.startswith("mcp__")) and kind != "code" else kind


def display_of(name: str) -> Display | None:
    """The kind of event that already shows what this tool does."""
    return displays.CLAUDE.get(name)
