"""The work of a session beside its messages: subagents, background commands, compactions, the plan.

Rule 1: TodoWrite sends the whole plan; TaskCreate and TaskUpdate change one item of a list that
        only their results number.
Rule 2: with TodoWrite every agent has a list of its own; the tasks belong to the session,
        whichever agent changes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, convert, field
from msgspec.structs import replace

from mobox.events import (
    JSON,
    Events,
    Outcome,
    Scope,
    StepEnd,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    TodoItem,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.names import IdAllocator
from mobox.parsers.claude import session_wire as lines
from mobox.parsers.claude.content import VENDOR
from mobox.parsers.tool_kinds import todo_change, todo_item
from mobox.parsers.values import as_object, first_text

_OUTCOMES: dict[str | None, Outcome] = {
    "completed": "ok",
    "failed": "error",
    "killed": "interrupted",
    "stopped": "interrupted",
    "cancelled": "interrupted",
}


class _Task(Struct):
    id: str
    """For a subagent, the tool call that spawned it."""
    agent: str | None
    """`None` for a background command."""
    scope: Scope
    status: str | None = None


class Tasks:
    """The running tasks."""

    def __init__(self, names: IdAllocator) -> None:
        self._names = names
        self._running: dict[str, _Task] = {}  # by task id
        self._agents: set[str] = set()  # calls whose subagent was announced
        self._unannounced: dict[str, str] = {}  # agents that are not tasks, by call
        self._compacting: str | None = None

    def started(self, task: lines.TaskStarted, scope: Scope) -> Events:
        """A task started; `scope` is that of the call which spawned it."""
        is_agent = task.task_type == "local_agent" or task.subagent_type is not None
        if not is_agent or task.tool_use_id is None:
            self._running[task.task_id] = _Task(task.task_id, None, scope)
            return [StepStart(id=task.task_id, scope=scope, kind="task", name=task.description)]
        agent = task.subagent_type or "agent"
        self._running[task.task_id] = _Task(task.tool_use_id, agent, scope)
        self._unannounced.pop(task.tool_use_id, None)
        if task.tool_use_id in self._agents:
            return []
        self._agents.add(task.tool_use_id)
        return [
            SubagentStart(
                id=task.tool_use_id,
                scope=scope,
                agent=agent,
                task=task.prompt or task.description,
                background=bool(task.is_backgrounded),
            )
        ]

    def announce(self, tool_id: str, scope: Scope, arguments: JSON) -> Events:
        """A subagent emits output: announce it, if it was not announced."""
        if tool_id in self._agents:
            return []
        self._agents.add(tool_id)
        fields = as_object(arguments)
        agent = self._unannounced[tool_id] = first_text(fields, "subagent_type") or "agent"
        return [
            SubagentStart(id=tool_id, scope=scope, agent=agent, task=first_text(fields, "prompt"))
        ]

    def end_with_call(self, tool_id: str, scope: Scope, ok: bool) -> Events:
        """A call has its result: a subagent that is not a task ends with it."""
        agent = self._unannounced.pop(tool_id, None)
        if agent is None:
            return []
        status: Outcome = "ok" if ok else "error"
        return [SubagentEnd(id=tool_id, scope=scope, agent=agent, status=status)]

    def is_running(self, task_id: str) -> bool:
        """Whether this task is running."""
        return task_id in self._running

    def scope_of(self, task_id: str) -> Scope:
        """The scope of a task's output."""
        task = self._running.get(task_id)
        if task is None:
            return ()
        return (*task.scope, task.id) if task.agent is not None else task.scope

    def updated(self, task: lines.TaskUpdated) -> None:
        """A task changed; its notification usually follows, with a summary."""
        running = self._running.get(task.task_id)
        if running is not None and task.patch.status in _OUTCOMES:
            running.status = task.patch.status

    def ended(self, task: lines.TaskNotification) -> Events:
        """A task that was running ended."""
        return [_end(self._running.pop(task.task_id), task.status, task.summary)]

    def close(self) -> Events:
        """The ends of tasks that ended without a notification."""
        ended = [task for task in self._running.values() if task.status is not None]
        self._running = {k: task for k, task in self._running.items() if task.status is None}
        return [_end(task, task.status, None) for task in ended]

    def compact(self) -> Events:
        """The conversation is being shortened."""
        self._compacting = self._names.fresh("compaction")
        return [StepStart(id=self._compacting, kind="compaction")]

    def compacted(self, about: dict[str, JSON], status: Outcome) -> Events:
        """The conversation was shortened."""
        begin = [] if self._compacting is not None else self.compact()
        end = StepEnd(id=self._compacting, status=status, provider={VENDOR: {"compaction": about}})
        self._compacting = None
        return [*begin, end]


def _end(task: _Task, status: str | None, summary: str | None) -> StreamEvent:
    outcome = _OUTCOMES.get(status, "unknown")
    if task.agent is None:
        return StepEnd(id=task.id, scope=task.scope, status=outcome, reason=summary)
    return SubagentEnd(
        id=task.id, scope=task.scope, agent=task.agent, status=outcome, summary=summary
    )


# The plan


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
        apply = self.CHANGES.get(tool)
        if apply is None:
            return []
        fields = {**as_object(arguments), **as_object(outcome)}
        before = tuple(self._items.values())
        try:
            apply(self, fields)
        except msgspec.ValidationError:
            return []  # the call itself is in the log; only its effect is unknown
        return todo_change(before, tuple(self._items.values()))

    def _write(self, fields: dict[str, JSON]) -> None:
        write = convert(fields, _TodoWrite)
        todos = write.todos if write.new_todos is None else write.new_todos
        self._items = {
            str(n): todo_item(todo.content, todo.status, todo.active_form)
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
        self._items[update.task_id] = todo_item(
            update.subject or item.content,
            update.status or item.status,
            update.active_form or item.active_form,
        )

    def _list(self, fields: dict[str, JSON]) -> None:
        """A list may be older than a concurrent update: it only adds items."""
        for listed in convert(fields, _TaskList).tasks:
            self._items.setdefault(listed.id, todo_item(listed.subject, listed.status, None))

    CHANGES: ClassVar[dict[str, Callable[[Todos, dict[str, Any]], None]]] = {
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
