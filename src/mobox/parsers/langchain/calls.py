"""The calls of a run: which were told, which have their result, and which agents they spawned.

Rule 1: a result comes in up to four ways (a tool's own event, the message, the node's update, the
        graph's state) and is told once, the first time.
Rule 2: a call that this stream did not tell is of the graph's past, such as one that was approved
        before this leg. It is told when it runs, but for a later leg, whose log has it already.
Rule 3: an agent that was spawned ends with its call.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, convert

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    Events,
    Outcome,
    Scope,
    SubagentEnd,
    SubagentStart,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.parsers.json_values import object_of, text_in
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.findings import without_files
from mobox.parsers.langchain.tools import display_of, kind_of

__all__ = ["Call", "Calls", "as_calls"]

_REJECTED: Final = "User rejected the tool call"
"""How the middleware that asks people begins the result of a call that they rejected."""


class Call(Struct):
    """What is known of a call."""

    id: str
    name: str
    scope: Scope = ()
    input: JSON = None
    started: bool = False
    answered: bool = False
    has_request: bool = False
    """A person was asked about it."""
    agent: str | None = None
    """The agent it spawned, while that runs."""
    spawned: bool = False

    @property
    def within(self) -> Scope:
        """The scope of what the call itself does."""
        return (*self.scope, self.id)


class Calls:
    """The calls of one run, in the order in which they were made."""

    def __init__(self, *, later: bool) -> None:
        self._later = later  # a later leg of the run
        self._calls: dict[str, Call] = {}

    def get(self, call_id: str) -> Call | None:
        """The call of that id, if anybody told of it."""
        return self._calls.get(call_id)

    def start(self, event: ToolUseStart) -> None:
        """A call is being told."""
        known = self._calls.get(event.id or "")
        if event.id is not None and (known is None or known.answered or not known.started):
            call = Call(event.id, event.name, event.scope, started=True, answered=event.server)
            self._calls[event.id] = call

    def complete(self, event: ToolUseEnd) -> None:
        """Its input is."""
        call = self._calls.get(event.id or "")
        if call is not None:
            call.input = event.input

    def remember(self, call: wire.ToolCall, scope: Scope) -> None:
        """A call of the past, or one that is told elsewhere."""
        if call.id and call.id not in self._calls:
            self._calls[call.id] = Call(call.id, call.name, scope, call.args)

    def past(self, call_id: str, scope: Scope) -> Call:
        """A call of which nobody told more than its id."""
        return self._calls.setdefault(call_id, Call(call_id, UNKNOWN_TOOL, scope))

    def forget(self, call_id: str | None) -> None:
        """A call of the past has its result."""
        call = self._calls.get(call_id or "")
        if call is not None and not call.started:
            call.answered = True

    def run(self, call_id: str, name: str, given: JSON, scope: Scope) -> Events:
        """A call runs: tell it, where nobody has."""
        call = self._calls.setdefault(call_id, Call(call_id, name, scope, given))
        if call.started:
            return []
        call.started = True
        call.name = name if call.name == UNKNOWN_TOOL else call.name
        call.input = given if call.input is None else call.input
        if self._later:
            return []
        start = ToolUseStart(
            id=call.id,
            scope=call.scope,
            name=call.name,
            kind=kind_of(call.name),
            display=display_of(call.name),
        )
        given = {} if call.input is None else call.input
        return [start, ToolUseEnd(id=call.id, scope=call.scope, input=given)]

    # Results

    def answer(self, message: wire.ToolMessage, scope: Scope) -> Events:
        """A result, as the message that the model gets; nothing, where it was told."""
        call_id = message.tool_call_id
        if not call_id:
            return []
        output, files = without_files(message.content, call_id, scope)
        failed = message.status == "error"
        denied = failed and isinstance(output, str) and output.startswith(_REJECTED)
        status: Outcome = "denied" if denied else "error" if failed else "ok"
        events = self.settle(
            call_id, message.name, scope, output, status=status, structured=message.artifact
        )
        return [*events, *files] if events else []

    def settle(
        self,
        call_id: str,
        name: str | None,
        scope: Scope,
        output: JSON,
        status: Outcome = "ok",
        structured: JSON = None,
    ) -> Events:
        """A result; nothing, where it was told."""
        known = self._calls.get(call_id)
        if known is not None and known.answered:
            return []
        events = self.run(call_id, name or UNKNOWN_TOOL, None, scope)
        call = self._calls[call_id]
        call.answered, call.input = True, None  # which may be a whole file
        result = ToolResult(
            id=call_id, scope=call.scope, output=output, status=status, structured=structured
        )
        return [*events, result, *self.end_agent(call_id, status)]

    # Agents

    def spawn(self, call: Call, agent: str | None) -> Events:
        """A call's agent begins to speak; nothing, where that was told."""
        if call.spawned:
            return []
        call.spawned = True
        arguments = object_of(call.input)
        call.agent = agent or text_in(arguments, "subagent_type") or call.name
        return [
            *self.run(call.id, call.name, call.input, call.scope),
            SubagentStart(
                id=call.id,
                scope=call.scope,
                agent=call.agent,
                task=text_in(arguments, "description"),
            ),
        ]

    def end_agent(self, call_id: str, status: Outcome) -> Events:
        """The agent of a call has ended, if it runs."""
        call = self._calls.get(call_id)
        if call is None or call.agent is None:
            return []
        agent, call.agent = call.agent, None
        return [SubagentEnd(id=call_id, scope=call.scope, agent=agent, status=status)]

    # Which call is meant

    @property
    def unanswered(self) -> list[Call]:
        """Those that wait for a result."""
        return [call for call in self._calls.values() if not call.answered]

    def meant(self, name: str | None, given: JSON, scope: Scope | None = None) -> Call | None:
        """The unanswered call of that tool, best with that very input, that nobody asked about."""
        named = [
            call
            for call in self.unanswered
            if call.name == name and not call.has_request and scope in (None, call.scope)
        ]
        same = [call for call in named if call.input == given]
        return next(iter(same or named), None)

    def spawner(self, scope: Scope, agent: str | None, task: JSON) -> Call | None:
        """The call that an agent was spawned by of which only its name and task are known."""
        free = [c for c in self.unanswered if c.scope == scope and not c.spawned]
        fields = [(c, object_of(c.input)) for c in free]
        by_task = [c for c, args in fields if task and args.get("description") == task]
        by_name = [c for c, args in fields if agent and args.get("subagent_type") == agent]
        return next(iter(by_task or by_name or free), None)


def as_calls(raw: JSON) -> list[wire.ToolCall]:
    """The calls that a node of tools is to run."""
    items = raw if isinstance(raw, list) else [raw]
    calls = [each for each in items if isinstance(each, dict) and each.get("id") and "args" in each]
    return [convert(each, wire.ToolCall) for each in calls]
