"""Parses a LangGraph graph in every mode of its stream; the typed protocol has most of them.

Rule 1: a graph within a graph has a namespace. If a tool call started it, it is an agent, and the
        calls along its namespace are its scope; if not, it has its parent's scope.
Rule 2: the protocol and the tasks of a graph name that call. If neither is present, it is found by
        the agent's name and task, among the calls without a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from msgspec import convert
from msgspec.structs import replace

from mobox.errors import UnrecognizedLine
from mobox.events import JSON, Events, Scope
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.calls import Call, as_calls
from mobox.parsers.langchain.run import Run
from mobox.parsers.langchain.wire import (
    Namespace,
    Object,
    as_message,
    is_command,
    messages_in,
    unwrapped,
)
from mobox.parsers.values import as_text, exception_error, failure, is_exception

Mode = Callable[["Graph", JSON, Namespace], Events]

INTERRUPT = "__interrupt__"
_TOOLS = "tools:"


class Part(NamedTuple):
    """One part of `astream`.

    It is `[mode, data]`, with subgraphs `[namespace, mode, data]`; with a single mode it is only
    the data, with subgraphs `[namespace, data]`. In version 2 it is `{"type": mode, "ns", "data"}`.
    """

    mode: str
    data: JSON
    namespace: Namespace = ()
    interrupts: JSON = None


class Graph:
    """A graph and those within it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tasks: dict[str, str] = {}  # the calls that nodes run
        self._failures: set[str] = set()  # tasks whose error was emitted; `debug` repeats it
        self._namespaces: dict[Namespace, Call | None] = {(): None}  # the calls that started them

    # Namespaces

    def bind(self, namespace: Namespace, call_id: str) -> Call:
        """A call started the graph of this namespace."""
        call = self._run.calls.get_or_add(call_id, self.scope(namespace[:-1]))
        self._namespaces[namespace] = call
        return call

    def bind_scope(self, scope: Scope) -> Namespace:
        """A namespace for events that have only a scope."""
        for depth in range(1, len(scope) + 1):
            self.bind(scope[:depth], scope[depth - 1])
        return scope

    def inherit_scope(self, namespace: Namespace) -> None:
        """Mark a namespace as that of a graph with its parent's scope."""
        self._namespaces.setdefault(namespace, None)

    def call_of(self, namespace: Namespace) -> Call | None:
        """The call that started the graph of a namespace, if any."""
        return self._namespaces.get(namespace)

    def scope(self, namespace: Namespace) -> Scope:
        """The scope of a namespace, as far as it is known."""
        for depth in range(len(namespace), 0, -1):
            call = self._namespaces.get(namespace[:depth])
            if call is not None:
                return call.inner_scope
        return ()

    def enter(self, namespace: Namespace, agent: str | None = None, task: JSON = None) -> Events:
        """An event of a namespace: find its agent, and announce it if it is new."""
        events: Events = []
        for depth in range(1, len(namespace) + 1):
            inner = namespace[:depth]
            if inner not in self._namespaces:
                self._find(inner, agent, task)
            call = self._namespaces.get(inner)
            if call is not None:
                events += self._run.calls.start_agent(call, agent)
        return events

    def _find(self, namespace: Namespace, agent: str | None, task: JSON) -> None:
        node, _, task_id = namespace[-1].partition(":")
        if task_id in self._tasks:
            self.bind(namespace, self._tasks[task_id])
        elif f"{node}:" == _TOOLS:
            call = self._run.calls.find_spawner(self.scope(namespace[:-1]), agent, task)
            if call is not None:
                self._namespaces[namespace] = call
        else:
            self._namespaces[namespace] = None

    # Modes

    def read(self, part: Part) -> Events:
        """Parse one part."""
        events = self.MODES[part.mode](self, part.data, part.namespace)
        if part.interrupts:
            events += self._run.request_input(part.interrupts, self.scope(part.namespace))
        return events

    def _values(self, data: JSON, namespace: Namespace) -> Events:
        if not isinstance(data, dict):
            raise UnrecognizedLine
        interrupts = data.get(INTERRUPT)
        if interrupts is not None:
            return [
                *self._state(data, namespace),
                *self._run.request_input(interrupts, self.scope(namespace)),
            ]
        return self._state(data, namespace)

    def _state(self, data: Object, namespace: Namespace) -> Events:
        if not (data.keys() - {INTERRUPT}):
            return []
        entered: Events = []
        if not self._run.states.is_new(namespace):
            entered = self.enter(namespace)
        elif namespace not in self._namespaces:
            # Its history is its task, by which its call is found.
            contents = [m.fields.get("content") for m in messages_in(data.get("messages"))]
            self._find(namespace, None, contents[-1] if contents else None)
        return [*entered, *self._run.state(data, self.scope(namespace), namespace)]

    def _updates(self, data: JSON, namespace: Namespace) -> Events:
        if not isinstance(data, dict):
            raise UnrecognizedLine
        if isinstance(data.get("node"), str) and isinstance(data.get("values"), dict):
            data = {data["node"]: data["values"]}  # as the protocol puts it
        entered = self.enter(namespace) if any(data.values()) else []
        events: Events = []
        for node, update in data.items():
            if node == INTERRUPT:
                events += self._run.request_input(update, self.scope(namespace))
            else:
                events += self.update(update, namespace)
        return [*entered, *events]

    def update(self, update: JSON, namespace: Namespace) -> Events:
        """The output of a node: an update, a Command, or several of these."""
        if isinstance(update, list):
            return [event for each in update for event in self.update(each, namespace)]
        if is_command(update):
            return self.update(update["update"], namespace)
        if not isinstance(update, dict):
            return []
        if as_message(update) is not None:
            update = {"messages": [update]}
        return self._run.update(unwrapped(update), self.scope(namespace), namespace)

    def _messages(self, data: JSON, namespace: Namespace) -> Events:
        if not (isinstance(data, list) and len(data) == 2):
            raise UnrecognizedLine
        about = convert(data[1], wire.MessageMetadata) if isinstance(data[1], dict) else None
        return self.message(data[0], about or wire.MessageMetadata(), namespace)

    def message(self, raw: JSON, about: wire.MessageMetadata, namespace: Namespace) -> Events:
        """A message, or a delta of one."""
        message = as_message(raw)
        if message is None:
            raise UnrecognizedLine
        if message.kind == "other":
            return []
        if message.kind == "tool":
            return [
                *self.enter(namespace, about.agent),
                *self._run.add_message(message, self.scope(namespace)),
            ]
        inner = namespace_of(namespace, about)
        entered = self.enter(inner, about.agent)
        if message.kind == "ai":
            events = self._run.add_message(message, self.scope(inner), about.vendor)
        else:
            events = self._run.add_chunk(
                convert(message.fields, wire.AiMessage), self.scope(inner), about
            )
        return self._run.emit([*entered, *events], about)

    def _tasks_of(self, data: JSON, namespace: Namespace) -> Events:
        task = convert(data, wire.Task)
        if task.input is not None:
            calls = as_calls(task.input)
            if len(calls) == 1 and calls[0].id:
                self._tasks[task.id] = calls[0].id
                self._run.calls.remember(calls[0], self.scope(namespace))
            return []
        events = self._failed(task, namespace)
        if task.interrupts:
            events += self._run.request_input(task.interrupts, self.scope(namespace))
        return events

    def _failed(self, task: wire.Task, namespace: Namespace) -> Events:
        if not task.error or task.id in self._failures:
            return []
        self._failures.add(task.id)
        raised = task.error if isinstance(task.error, dict) else {}
        why = raised.get("str") if raised else task.error
        call_id, scope = self._tasks.get(task.id), self.scope(namespace)
        if call_id is not None:
            return self._run.calls.add_result(call_id, None, scope, why, "error")
        if is_exception(raised):
            return [replace(exception_error(raised), scope=scope)]
        text = as_text(why)  # a `repr`: `RateLimitError('…')`
        name, is_call, _ = text.partition("(")
        return [failure(text, name if is_call and name.isidentifier() else None, scope=scope)]

    def _debug(self, data: JSON, namespace: Namespace) -> Events:
        """The tasks and checkpoints, repeated."""
        payload = data.get("payload") if isinstance(data, dict) else None
        is_task = isinstance(payload, dict) and str(data.get("type")).startswith("task")
        return self._tasks_of(payload, namespace) if is_task else []

    def _checkpoints(self, _data: JSON, _as_namespace: Namespace) -> Events:
        return []  # the state, which is emitted already

    def _custom(self, data: JSON, namespace: Namespace) -> Events:
        name, value = None, data
        if isinstance(data, dict) and isinstance(data.get("name"), str) and "payload" in data:
            name, value = data["name"], data["payload"]  # as the protocol puts it
        return [*self.enter(namespace), *self._run.custom(name, value, self.scope(namespace))]

    MODES: ClassVar[dict[str, Mode]] = {
        "values": _values,
        "updates": _updates,
        "messages": _messages,
        "tasks": _tasks_of,
        "debug": _debug,
        "checkpoints": _checkpoints,
        "custom": _custom,
    }


def namespace_of(namespace: Namespace, about: wire.MessageMetadata) -> Namespace:
    """The namespace of a message; a model that a tool calls belongs to that call."""
    node = (about.checkpoint_ns or "").rpartition("|")[2]
    return (*namespace, node) if node.startswith(_TOOLS) and node not in namespace else namespace


def as_part(raw: JSON) -> Part | None:
    """The part that a line is, if it is one."""
    if isinstance(raw, dict):
        return _object(raw) or _data(raw, ())
    return _tuple(raw) if isinstance(raw, list) else None


def _object(raw: dict[str, JSON]) -> Part | None:
    mode = raw.get("mode", raw.get("type"))
    namespace = _as_namespace(raw.get("ns"))
    if (
        namespace is None
        or "data" not in raw
        or not isinstance(mode, str)
        or mode not in Graph.MODES
    ):
        return None
    return Part(mode, raw["data"], namespace, raw.get("interrupts"))


def _tuple(raw: list[JSON]) -> Part | None:
    match raw:
        case [str() as mode, data] if mode in Graph.MODES:
            return Part(mode, data)
        case [list() as names, str() as mode, data] if mode in Graph.MODES:
            namespace = _as_namespace(names)
            return Part(mode, data, namespace) if namespace is not None else None
        case [list() as names, data]:
            namespace = _as_namespace(names)
            return _data(data, namespace) if namespace is not None else None
        case _:
            return _data(raw, ())


def _data(data: Any, namespace: Namespace) -> Part | None:
    """A part without a mode: the mode is derived from its shape."""
    match data:
        case [message, dict()] if as_message(message) is not None:
            return Part("messages", data, namespace)
        case {"messages": list()}:
            return Part("values", data, namespace)
        case dict() if INTERRUPT in data or _is_update(data):
            return Part("updates", data, namespace)
        case _:
            return None


def _is_update(data: dict[str, JSON]) -> bool:
    updates = list(data.values())
    return all(isinstance(each, dict) or each is None for each in updates) and any(
        isinstance(each, dict) and "messages" in each for each in updates
    )


def _as_namespace(names: JSON) -> Namespace | None:
    is_space = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return tuple(names) if is_space else None
