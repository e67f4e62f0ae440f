"""Parses the Agents SDK: events of `Runner.run_streamed().stream_events()`, and the run's record.

Rule 1: text, thoughts and inputs come in raw events; run items repeat them later. Only results,
        hand-offs and answers come in run items alone.
Rule 2: a response ends a turn, never the run. How the run ended is known from the exception that
        left the iterator, or from the record that an agent prints at its end: `{"__result__": true,
        "final_output", "current_turn", "interruptions", "usage", "state"}`.
Rule 3: only the record has approval requests; a later run continues from its `state`.
Rule 4: an agent that is a tool passes its events to a callback; the callback's arguments (event,
        agent, tool_call) are a line of its own, and the call is its scope.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from msgspec import convert

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    Done,
    Events,
    Outcome,
    Paused,
    Result,
    Scope,
    Start,
    SubagentEnd,
    SubagentStart,
    ToolResult,
    ToolUseStart,
)
from mobox.events.names import tool_use_end
from mobox.parsers.openai import wire
from mobox.parsers.openai.parts import without_images
from mobox.parsers.openai.responses import Responses
from mobox.parsers.openai.token_usage import done_of, used
from mobox.parsers.openai.wire import Names
from mobox.parsers.tool_kinds import tool_kind
from mobox.parsers.values import parse_or_raw

Object = dict[str, JSON]

_OUTCOMES: tuple[tuple[str, Outcome], ...] = (
    ("Tool execution was not approved.", "denied"),
    ("An error occurred while running the tool.", "error"),
)
"""Texts that the SDK gives the model in place of an output: the only sign of these outcomes."""


class Agents:
    """One run of the SDK."""

    def __init__(self, framework: str, names: Names, root: Responses) -> None:
        self.started = False
        """A line of the SDK was read."""
        self._framework = framework
        self._names = names
        self._responses: dict[Scope, Responses] = {(): root}
        self._agents: dict[str, tuple[str, Scope]] = {}  # calls that are agents: name and scope
        self._streams = False  # raw events have come
        self._done: Done | None = None
        self._over = False  # the run's record was read
        self._paused = False  # and it had requests

    def knows(self, raw: Object) -> bool:
        """Whether a line comes from the SDK, or from a callback of it."""
        return _kind(raw) in self.LINES or "__result__" in raw or _is_nested(raw)

    def read(self, raw: Object) -> Events:
        self.started = True
        self._responses[()].items.hands_off = True
        if "__result__" in raw:
            return self._result(convert(raw, wire.RunResult))
        if _is_nested(raw):
            return self._nested(raw)
        return self.LINES[_kind(raw)](self, raw, ())

    def raised(self, name: str) -> Done:
        """An exception left the iterator: that is how the run ended."""
        done = done_of(name)
        if done.reason == "stop":  # any other exception
            last = self._responses[()].done
            cut = last is not None and last.reason in ("length", "content_filter")
            done = last if last is not None and cut else Done(reason="error", native=name)
        self._done = done
        return done

    def close(self) -> Events:
        """The run ended: return PAUSED if it waits, else how it ended."""
        if self._paused:
            return []
        waiting = self._waiting
        if waiting and self._done is None:
            return [Paused(request_ids=waiting)]
        done = self._done or self._responses[()].done
        if done is None:
            return []
        if done.reason != "tool":
            return [done]
        # The SDK runs the tools itself: a call without a result was interrupted.
        return [Done(reason="stop", native=done.native)] if self._over else []

    # Lines

    def read_delta(self, line: wire.WrappedDelta) -> Events | None:
        """`read` for the delta of a raw event; `None` if it is something else."""
        return self._responses[()].read_delta(line.data) if self._streams else None

    def _raw_response(self, raw: Object, scope: Scope) -> Events:
        self._streams = True
        return self._of(scope).read(_object(raw.get("data"), "data"))

    def _agent_updated(self, raw: Object, scope: Scope) -> Events:
        if scope:
            return []  # its start was emitted already
        return [Start(framework=self._framework, agent=_name(raw.get("new_agent")))]

    def _run_item(self, raw: Object, scope: Scope) -> Events:
        item = convert(_object(raw.get("item"), "item"), wire.RunItem)
        if item.type not in self.ITEMS:
            raise UnrecognizedLine(f"item of type {item.type}")
        return self.ITEMS[item.type](self, item, scope)

    def _nested(self, raw: Object) -> Events:
        call, agent = self._call_of(raw), _name(raw.get("agent"))
        scope = (*self._scope_of(call), call)
        before = self._spawn(call, agent, raw["tool_call"])
        event = raw["event"]
        if not isinstance(event, dict) or _kind(event) not in self.LINES:
            if before:
                return before
            raise UnrecognizedLine("an event without its data")
        return [*before, *self.LINES[_kind(event)](self, event, scope)]

    def _call_of(self, raw: Object) -> str:
        """The call that an inner agent runs for, by its id or by its tool's name."""
        tool_call = raw.get("tool_call")
        name = tool_call.get("call_id") if isinstance(tool_call, dict) else None
        if isinstance(name, str):
            return name
        named = tool_call.get("name") if isinstance(tool_call, dict) else tool_call
        for responses in self._responses.values():
            for call, tool in responses.items.calls.items():
                if tool == named:
                    return call
        raise UnrecognizedLine("no such call")

    def _scope_of(self, call: str) -> Scope:
        return next((s for s, r in self._responses.items() if call in r.items.calls), ())

    def _of(self, scope: Scope) -> Responses:
        if scope not in self._responses:
            self._responses[scope] = Responses(self._names, scope, hands_off=True)
        return self._responses[scope]

    # Run items

    def _repeated(self, item: wire.RunItem, scope: Scope) -> Events:
        """An item of a response: it is new only if the response was not streamed."""
        if self._streams:
            return []
        return self._of(scope).items.finish(None, _object(item.raw_item, "raw_item"))

    def _tool_call(self, item: wire.RunItem, scope: Scope) -> Events:
        events, agent = self._repeated(item, scope), _agent_of(item.tool_origin)
        raw = item.raw_item or {}
        call = raw.get("call_id")
        if agent is None or not isinstance(call, str):
            return events
        return [*events, *self._spawn(call, agent, raw)]

    def _spawn(self, call: str, agent: str | None, raw: JSON) -> Events:
        if call in self._agents:
            return []
        scope, name = self._scope_of(call), agent or "agent"
        self._agents[call] = (name, scope)
        if self._names.prefix and call not in self._of(scope).items.calls:
            return []  # it was called before the pause, and goes on
        return [SubagentStart(id=call, scope=scope, agent=name, task=_task(raw))]

    def _tool_output(self, item: wire.RunItem, scope: Scope) -> Events:
        raw = _object(item.raw_item, "raw_item")
        name = raw.get("call_id") or raw.get("id")
        if not isinstance(name, str):
            raise UnrecognizedLine("an output of no call")
        self._of(scope).items.calls.pop(name, None)
        self._of(scope).items.approvals.pop(name, None)
        value = raw.get("output") if item.output is None else item.output
        output, files = without_images(name, scope, value)
        result = ToolResult(id=name, scope=scope, output=output, status=_outcome(value))
        if name not in self._agents:
            return [result, *files]
        agent, spawned_in = self._agents.pop(name)  # the call was an agent, which has ended
        end = SubagentEnd(id=name, scope=spawned_in, agent=agent, status=result.status)
        return [end, result, *files]

    # The end

    def _result(self, record: wire.RunResult) -> Events:
        self._over = True
        events = used(record.usage, per="run")
        text = record.final_output if isinstance(record.final_output, str) else None
        failed = self._done is not None and self._done.reason == "error"
        events.append(Result(text=text, num_turns=record.current_turn, is_error=failed))
        for interruption in record.interruptions or ():
            events += parse_or_raw(partial(self._ask, interruption), interruption)
        waiting = self._waiting
        if waiting and record.interruptions:
            self._paused = True
            events.append(Paused(request_ids=waiting, resume=record.state))
        return events

    @property
    def _waiting(self) -> tuple[str, ...]:
        """The requests of all agents; those of inner ones have the scope of their calls."""
        return tuple(call for each in self._responses.values() for call in each.items.approvals)

    def _ask(self, value: JSON) -> Events:
        interruption = convert(value, wire.Interruption)
        raw = interruption.raw or interruption.raw_item or {}
        name = interruption.call_id or raw.get("call_id") or raw.get("id")
        if not isinstance(name, str):
            raise UnrecognizedLine("a request about no call")
        items = self._of(self._scope_of(name)).items
        known = name in items.calls or name in items.approvals or bool(self._names.prefix)
        call = [] if known else _whole_call(name, interruption, raw)
        return [*call, *items.ask(name, interruption.kind or "approval")]

    LINES: ClassVar[dict[str, Callable[[Agents, Object, Scope], Events]]] = {
        "raw_response_event": _raw_response,
        "agent_updated_stream_event": _agent_updated,
        "run_item_stream_event": _run_item,
    }
    ITEMS: ClassVar[dict[str, Callable[[Agents, wire.RunItem, Scope], Events]]] = {
        "message_output_item": _repeated,
        "reasoning_item": _repeated,
        "tool_call_item": _tool_call,
        "handoff_call_item": _repeated,
        "mcp_list_tools_item": _repeated,
        "mcp_approval_request_item": _repeated,
        "tool_search_call_item": _repeated,
        "tool_search_output_item": _repeated,
        "compaction_item": _repeated,
        "tool_call_output_item": _tool_output,
        "handoff_output_item": _tool_output,
        "mcp_approval_response_item": lambda run, item, scope: run._of(scope).items.answer(
            _object(item.raw_item, "raw_item")
        ),
    }


def _kind(raw: Object) -> str:
    kind = raw.get("type")
    return kind if isinstance(kind, str) else ""


def _is_nested(raw: Object) -> bool:
    return "event" in raw and "tool_call" in raw and "agent" in raw


def _object(value: JSON, name: str) -> Object:
    if not isinstance(value, dict):
        raise UnrecognizedLine(f"no {name}")
    return value


def _name(agent: JSON) -> str | None:
    """An agent's name, from a string or an object."""
    name = agent.get("name") if isinstance(agent, dict) else agent
    return name if isinstance(name, str) else None


def _agent_of(origin: JSON) -> str | None:
    """The agent that a tool is, by the SDK's origin of the tool."""
    if isinstance(origin, dict):
        name = origin.get("agent_name")
        return name if isinstance(name, str) else None
    # A recording has its `repr`.
    _, named, rest = str(origin).partition("agent_name='")
    return rest.partition("'")[0] if named else None


def _task(call: JSON) -> str | None:
    """The task of an agent that is a tool, if the call has it under the usual key."""
    arguments = call.get("arguments") if isinstance(call, dict) else None
    given = tool_use_end("", arguments).input
    task = given.get("input") if isinstance(given, dict) else None
    return task if isinstance(task, str) else None


def _outcome(output: JSON) -> Outcome:
    text = output if isinstance(output, str) else ""
    return next((outcome for words, outcome in _OUTCOMES if text.startswith(words)), "ok")


def _whole_call(name: str, interruption: wire.Interruption, raw: Object) -> Events:
    named = interruption.tool_name or interruption.name or raw.get("name")
    tool = named if isinstance(named, str) else UNKNOWN_TOOL
    given = interruption.arguments
    arguments = raw.get("arguments") if given is None else given
    return [ToolUseStart(id=name, name=tool, kind=tool_kind(tool)), tool_use_end(name, arguments)]
