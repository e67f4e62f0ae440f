"""The state of a graph beside its messages: the plan, and all other keys.

Rule 1: messages and the plan have events of their own; the rest of the state is STATE, and the
        files in it that a deep agent has written are FILEs too.
Rule 2: a graph that sends its whole state needs no patches; its state is emitted when it changed.
Rule 3: an agent's state is that of its own graph, not of graphs that are nodes of it.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Final

from msgspec import ValidationError, convert
from msgspec.structs import replace

from mobox.events import JSON, Events, File, Scope, State, TodoItem
from mobox.parsers.langchain import wire
from mobox.parsers.plans import change, item_of

__all__ = ["States"]

Object = dict[str, JSON]
Space = tuple[str, ...]
"""The namespace of a graph within a graph."""

_SEPARATE: Final = {"messages", "todos", "__interrupt__", "_lc", "_class", "jump_to"}
_TYPES: Final = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "svg": "image/svg+xml",
}
"""Media types of files, by their extensions."""


class States:
    """The plans and states of a run's agents, by their scopes."""

    def __init__(self) -> None:
        self._plans: dict[Scope, tuple[TodoItem, ...]] = {}
        self._states: dict[Scope, Object] = {}
        self._files: dict[str, str] = {}  # texts of the root's files
        self._seen: set[Scope] = set()  # scopes whose whole state was sent

    def is_new(self, space: Space) -> bool:
        """Whether this is the first state of a graph."""
        return space not in self._seen

    def plan(self, state: Object, scope: Scope) -> Events:
        """The change of the plan: one event or none."""
        todos = state.get("todos")
        if not isinstance(todos, list):
            return []
        try:
            parsed = [convert(todo, wire.Todo) for todo in todos]
        except ValidationError:
            return []  # another application's key; it is in the call
        items = tuple(item_of(todo.content, todo.status) for todo in parsed)
        before, self._plans[scope] = self._plans.get(scope, ()), items
        changes = change(before, items)
        return [replace(event, scope=scope) for event in changes] if scope else changes

    def patch(self, update: Object, scope: Scope, space: Space) -> Events:
        """The changes of a node."""
        value = _rest(update)
        if not value or space in self._seen or len(space) != len(scope):
            return []
        known = self._states.setdefault(scope, {})
        if all(name in known and known[name] == value[name] for name in value):
            return []
        self._states[scope] = {**known, **value}
        return [State(scope=scope, mode="patch", value=value)]

    def whole(self, state: Object, scope: Scope, space: Space) -> Events:
        """The whole state, if it changed."""
        value, known = _rest(state), self._states.get(scope, {})
        self._seen.add(space)
        if value == known or not (known or any(value.values())) or len(space) != len(scope):
            return []
        self._states[scope] = value
        snapshot = State(scope=scope, mode="snapshot", value=value)
        return [snapshot] if scope else [snapshot, *self._files_in(value)]

    def _files_in(self, state: Object) -> Events:
        """The files of the run that are new or changed."""
        files = state.get("files")
        events: Events = []
        for path, file in files.items() if isinstance(files, dict) else ():
            text = _text_of(file)
            if text is not None and self._files.get(path) != text:
                self._files[path] = text
                events.append(_file(path, text))
        return events


def _text_of(file: JSON) -> str | None:
    """The content of a file in a deep agent's state: its text, or its lines."""
    content = file.get("content") if isinstance(file, dict) else file
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        return "\n".join(content)
    is_text = not isinstance(file, dict) or file.get("encoding") in (None, "utf-8")
    return content if isinstance(content, str) and is_text else None


def _file(path: str, text: str) -> File:
    data = text.encode(errors="replace")
    suffix = path.rpartition(".")[2].lower()
    return File(
        media_type=_TYPES.get(suffix, "text/plain"),
        base64=b64encode(data).decode(),
        name=path,
        size=len(data),
    )


def _rest(state: Object) -> Object:
    return {name: value for name, value in state.items() if name not in _SEPARATE}
