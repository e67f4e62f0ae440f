"""The plan of a Claude Code session, from the tools that keep it.

TodoWrite sends the whole list; TaskCreate and TaskUpdate change one item of a list that only their
results number. With TodoWrite every agent has a list of its own; the tasks belong to the session,
whichever agent changes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, convert, field
from msgspec.structs import replace

from mobox.events import JSON, Scope, StreamEvent, TodoItem, ToolUseEnd, ToolUseStart
from mobox.parsers.json_values import object_of
from mobox.parsers.plans import change, item_of

__all__ = ["InputPlan", "Plans", "Todos"]


class _Todo(Struct, rename="camel"):
    content: str
    status: str | None = None
    active_form: str | None = None


class _TodoWrite(Struct):
    todos: list[_Todo] | None = None
    new_todos: list[_Todo] | None = field(default=None, name="newTodos")


class _Created(Struct):
    id: str
    subject: str


class _TaskCreate(Struct, rename="camel"):
    task: _Created
    active_form: str | None = None


class _TaskUpdate(Struct, rename="camel"):
    task_id: str
    status: str | None = None
    subject: str | None = None
    active_form: str | None = None


class _Listed(Struct):
    id: str
    subject: str
    status: str | None = None


class _TaskList(Struct):
    tasks: list[_Listed]


class Todos:
    """The list so far, whichever agent changed it last."""

    def __init__(self) -> None:
        self._items: dict[str, TodoItem] = {}

    def after(self, tool: str, arguments: JSON, outcome: JSON) -> list[StreamEvent]:
        """The change that a finished call of `tool` made to the list: one event or none."""
        keep = self.KEEPERS.get(tool)
        if keep is None:
            return []
        fields = {**object_of(arguments), **object_of(outcome)}
        before = tuple(self._items.values())
        try:
            keep(self, fields)
        except msgspec.ValidationError:
            return []  # the call itself is in the log; only its effect is unknown
        return change(before, tuple(self._items.values()))

    def _write(self, fields: dict[str, JSON]) -> None:
        write = convert(fields, _TodoWrite)
        todos = write.todos if write.new_todos is None else write.new_todos
        self._items = {
            str(n): item_of(todo.content, todo.status, todo.active_form)
            for n, todo in enumerate(todos or ())
        }

    def _create(self, fields: dict[str, JSON]) -> None:
        created = convert(fields, _TaskCreate)
        item = TodoItem(content=created.task.subject, active_form=created.active_form)
        self._items[created.task.id] = item

    def _update(self, fields: dict[str, JSON]) -> None:
        update = convert(fields, _TaskUpdate)
        item = self._items.get(update.task_id)
        if item is None:
            return
        if update.status == "deleted":
            del self._items[update.task_id]
            return
        self._items[update.task_id] = item_of(
            update.subject or item.content,
            update.status or item.status,
            update.active_form or item.active_form,
        )

    def _list(self, fields: dict[str, JSON]) -> None:
        """A list may be older than a concurrent update: it only adds items."""
        for listed in convert(fields, _TaskList).tasks:
            self._items.setdefault(listed.id, item_of(listed.subject, listed.status, None))

    KEEPERS: ClassVar[dict[str, Callable[[Todos, dict[str, Any]], None]]] = {
        "TodoWrite": _write,
        "TaskCreate": _create,
        "TaskUpdate": _update,
        "TaskList": _list,
    }


_CALLS = {ToolUseStart, ToolUseEnd}


class Plans:
    """The lists of a session, by the scope of the agent whose plan it is."""

    def __init__(self) -> None:
        self._todos: dict[Scope, Todos] = {}

    def after(self, tool: str, arguments: JSON, outcome: JSON, scope: Scope) -> list[StreamEvent]:
        """The change that a call of `tool` in `scope` made to its list, or to the session's."""
        owner = scope if tool == "TodoWrite" else ()
        changes = self._todos.setdefault(owner, Todos()).after(tool, arguments, outcome)
        return [replace(event, scope=owner) for event in changes] if owner else changes


class InputPlan:
    """The plan of a stream without results: the input of a call is the plan."""

    def __init__(self) -> None:
        self._todos = Todos()
        self._writes: set[str | None] = set()

    def follow(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """`events`, with the changes that they make to the plan."""
        if _CALLS.isdisjoint(map(type, events)):
            return events
        result: list[StreamEvent] = []
        for event in events:
            result.append(event)
            if isinstance(event, ToolUseStart) and event.name == "TodoWrite":
                self._writes.add(event.id)
            elif isinstance(event, ToolUseEnd) and event.id in self._writes:
                result += self._todos.after("TodoWrite", event.input, None)
        return result
