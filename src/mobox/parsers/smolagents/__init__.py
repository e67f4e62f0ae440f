"""smolagents: what `agent.run(stream=True)` yields, and the output of managed agents.

A line is `{"type": class, "data": fields}`, or the fields beside `_class`. smolagents does not
stream managed agents; code that listens to them adds `within`: their names, each with the id or a
number of the call, such as `["researcher:1"]`. It may also report calls that code makes, as
ToolCall and ToolOutput.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from mobox.errors import NotShown, UnrecognizedLine
from mobox.events import (
    JSON,
    Done,
    Events,
    SubagentEnd,
    SubagentStart,
)
from mobox.parsers import EventParser
from mobox.parsers.formats import Format, has_keys, kind_in
from mobox.parsers.smolagents import wire
from mobox.parsers.smolagents.agent import Agent
from mobox.parsers.tool_kinds import runs_python
from mobox.parsers.values import as_text

_STEPS = (
    "ActionOutput", "ActionStep", "ChatMessageStreamDelta", "FinalAnswerStep", "PlanningStep",
    "TaskStep", "ToolOutput",
)  # fmt: skip


def _call(line: JSON) -> float:
    """A call of a tool; LlamaIndex has a class of the same name, with other fields."""
    if not kind_in("type", ("ToolCall",), "data")(line):
        return 0.0
    return max(has_keys("function")(line["data"]), has_keys("name", "arguments")(line["data"]))


FORMATS: tuple[Format, ...] = (
    Format(
        "smolagents' steps",
        (
            kind_in("type", _STEPS, "data"),
            kind_in("_class", _STEPS),
            _call,
            kind_in("_class", ("ToolCall",), "name", "arguments"),
        ),
        known=tuple(Agent.READERS),
    ),
)


# Python objects, `{"_class": name, …fields}`, are converted into the lines that the package's own
# `dict()` methods make: as a dataclass, a call has its function's name and arguments beside its id,
# and the error of a step is an exception.

Data = dict[str, JSON]


def as_line(raw: Data) -> Data:
    """The line of an object."""
    kind, within = raw.get("_class"), raw.get("within")
    data = {name: value for name, value in raw.items() if name not in ("_class", "within")}
    convert = _CONVERTERS.get(kind) if isinstance(kind, str) else None
    line = {"type": kind, "data": data if convert is None else convert(data)}
    return line if within is None else {**line, "within": within}


def _convert_call(data: Data) -> Data:
    if "function" in data or "name" not in data:
        return data
    function = {"name": data["name"], "arguments": data.get("arguments")}
    return {"id": data.get("id"), "function": function}


def _convert_step(data: Data) -> Data:
    error: Any = data.get("error")
    if not isinstance(error, dict) or "_exception" not in error:
        return data
    return {**data, "error": {"type": error["_exception"], "message": error.get("str") or ""}}


_CONVERTERS: dict[str, Callable[[Data], Data]] = {
    "ToolCall": _convert_call,
    "ActionStep": _convert_step,
}


Path = tuple[str, ...]

_TASK: Final = "TaskStep"
MAX_AGENTS: Final = 1000
"""Maximum number of managed agents in a run: lines name them, and each is remembered."""


class SmolagentsParser(EventParser):
    """One run of a CodeAgent or a ToolCallingAgent, and the agents that it manages."""

    framework = "smolagents"
    formats = FORMATS

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._agents: dict[Path, Agent] = {(): Agent(prefix)}
        self._spawned: set[str] = set()  # the calls that started a managed agent

    def read(self, raw: JSON) -> Events:
        if not isinstance(raw, dict):
            raise UnrecognizedLine
        line = msgspec.convert(as_line(raw) if "_class" in raw else raw, wire.Line)
        if line.type not in self.TYPES:
            raise UnrecognizedLine
        path = tuple(line.within or ())
        if line.type == _TASK:
            return self._announce(path, msgspec.convert(line.data, wire.TaskStep))
        data = msgspec.convert(line.data, Agent.READERS[line.type][0])
        events = self._announce(path)
        agent = self._agents[path]
        events += agent.read(line.type, data)
        return [*events, *self._end_of_agent(path, agent)]

    def close(self) -> Events:
        root = self._agents[()]
        rest = [event for agent in self._agents.values() for event in agent.say_rest()]
        if not root.has_ended:
            return rest
        return [*rest, Done(reason="max_turns" if root.reached_limit else "stop")]

    # Managed agents

    def _announce(self, path: Path, task: wire.TaskStep | None = None) -> Events:
        if path in self._agents:
            if task is not None and not path:
                raise NotShown  # the root's task is the user's own message
            return []
        if len(self._agents) >= MAX_AGENTS:
            raise UnrecognizedLine
        events = self._announce(path[:-1])
        parent = self._agents[path[:-1]]
        name, _, number = path[-1].partition(":")
        spawned_by = self._call_of(parent, name, number) or f"{self.prefix}{path[-1]}"
        self._spawned.add(spawned_by)
        self._agents[path] = Agent(f"{spawned_by}/", (*parent.scope, spawned_by))
        start = SubagentStart(
            id=spawned_by,
            scope=parent.scope,
            agent=name or "agent",
            task=task.task if task is not None else None,
        )
        return [*events, start]

    def _call_of(self, parent: Agent, name: str, number: str) -> str | None:
        """The open call of this agent: a tool of its name, or code, which can call it by name."""
        if (given := parent.call_id(number)) in parent.calls:
            return given
        calls = [call for call in parent.calls if call not in self._spawned]
        named = [call for call in calls if parent.calls[call] == name]
        code = [call for call in calls if runs_python(parent.calls[call])]
        return next(iter(named + code), None)

    def _end_of_agent(self, path: Path, agent: Agent) -> Events:
        if not path or not agent.has_ended:
            return []
        del self._agents[path]
        summary = None if agent.final is None else as_text(agent.final)
        return [SubagentEnd(id=agent.scope[-1], scope=agent.scope[:-1], summary=summary)]

    TYPES: Final = frozenset({*Agent.READERS, _TASK})
