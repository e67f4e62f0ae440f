"""Which other event shows the calls of well-known tools, however an agent reports them."""

from __future__ import annotations

from typing import Final

from mobox.events import Display

__all__ = ["CLAUDE", "LANGCHAIN"]

CLAUDE: Final[dict[str, Display]] = {
    "Agent": "agent",
    "Task": "agent",
    "TaskCreate": "todos",
    "TaskGet": "todos",
    "TaskList": "todos",
    "TaskUpdate": "todos",
    "TodoWrite": "todos",
}
LANGCHAIN: Final[dict[str, Display]] = {
    "task": "agent",
    "think_tool": "think",
    "write_todos": "todos",
}
