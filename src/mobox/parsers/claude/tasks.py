"""Background work of a session: subagents, background commands, compactions."""

from __future__ import annotations

from msgspec import Struct

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
)
from mobox.names import Names
from mobox.parsers.claude import session_wire as lines
from mobox.parsers.claude.search_results import VENDOR
from mobox.parsers.json_values import object_of, text_in

__all__ = ["Tasks"]

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

    def __init__(self, names: Names) -> None:
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

    def spoke(self, tool_id: str, scope: Scope, arguments: JSON) -> Events:
        """A subagent emits output: announce it, if it was not announced."""
        if tool_id in self._agents:
            return []
        self._agents.add(tool_id)
        fields = object_of(arguments)
        agent = self._unannounced[tool_id] = text_in(fields, "subagent_type") or "agent"
        return [SubagentStart(id=tool_id, scope=scope, agent=agent, task=text_in(fields, "prompt"))]

    def returned(self, tool_id: str, scope: Scope, ok: bool) -> Events:
        """A call has its result: a subagent that is not a task ends with it."""
        agent = self._unannounced.pop(tool_id, None)
        if agent is None:
            return []
        status: Outcome = "ok" if ok else "error"
        return [SubagentEnd(id=tool_id, scope=scope, agent=agent, status=status)]

    def knows(self, task_id: str) -> bool:
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
