"""The plan of an agent with a tool `write_todos`, whose input is the whole list.

OpenAI has no such tool of its own; this is the name that LangChain gives it.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct, convert
from msgspec.structs import replace

from mobox.events import Events, Scope, TodoItem, ToolUseEnd, ToolUseStart
from mobox.parsers.tool_kinds import todo_change, todo_item

TOOL: Final = "write_todos"
_CALLS = {ToolUseStart, ToolUseEnd}


class _Todo(Struct):
    content: str
    status: str | None = None


class _Todos(Struct):
    todos: list[_Todo]


class Plans:
    """The lists so far, by the scope of the agent whose plan it is."""

    def __init__(self) -> None:
        self._plans: dict[Scope, tuple[TodoItem, ...]] = {}
        self._writes: set[str | None] = set()

    def follow(self, events: Events) -> Events:
        """`events`, with the changes that they make to a plan."""
        if _CALLS.isdisjoint(map(type, events)):
            return events
        result: Events = []
        for event in events:
            if isinstance(event, ToolUseStart) and event.name == TOOL:
                self._writes.add(event.id)
                result.append(replace(event, display="todos"))
            else:
                result.append(event)
            if isinstance(event, ToolUseEnd) and event.id in self._writes:
                result += self._written(event)
        return result

    def _written(self, event: ToolUseEnd) -> Events:
        try:
            todos = convert(event.input, _Todos).todos
        except msgspec.ValidationError:
            return []  # the call itself is in the log
        before = self._plans.get(event.scope, ())
        after = tuple(todo_item(todo.content, todo.status) for todo in todos)
        self._plans[event.scope] = after
        return [replace(each, scope=event.scope) for each in todo_change(before, after)]
