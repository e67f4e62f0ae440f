"""The output of a response: items, which are messages, calls or results.

Rule 1: an item is identified by its output index; its id may change, and some models have none. An
        event of another kind belongs to an item whose added event is missing.
Rule 2: a call is complete when its item is done, and a hosted tool's result is in the same item.
Rule 3: an approved call has the id of its request: it is the call to approve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from msgspec import convert

from mobox.errors import NotUnderstood
from mobox.events import (
    JSON,
    Events,
    InputRequest,
    InputResponse,
    Scope,
    Status,
    StepEnd,
    StepStart,
    ToolResult,
    ToolUseDelta,
    ToolUseStart,
)
from mobox.parsers.kinds import runs_python
from mobox.parsers.openai import wire
from mobox.parsers.openai.chat_calls import json_of
from mobox.parsers.openai.hosted import (
    OUTPUTS,
    TOOLS,
    about,
    end_of,
    name_of,
    output_of,
    result_of,
    runs_elsewhere,
    shell_output,
)
from mobox.parsers.openai.names import Names
from mobox.parsers.openai.parts import Item, Parts
from mobox.parsers.openai.token_usage import VENDOR

__all__ = ["Items"]

Object = dict[str, JSON]

HANDOFF = "transfer_to_"
"""Prefix of the tools by which the Agents SDK hands over to another agent."""


class Items:
    """The items of one agent's responses."""

    def __init__(self, names: Names, scope: Scope, *, hands_off: bool = False) -> None:
        self.parts = Parts(scope)
        self.approvals: dict[str, InputRequest] = {}
        """The open approval requests, by their ids."""
        self.calls: dict[str, str] = {}
        """The calls for the caller to run that have no result yet, with their names."""
        self.hands_off = hands_off
        """The current agent may hand over to others."""
        self._names = names
        self._scope = scope
        self._items: dict[int, Item] = {}
        self._searches: list[str] = []  # tool searches, whose outputs have no call id
        self._compactions: dict[str, None] = {}

    def __bool__(self) -> bool:
        """Whether the response has an item."""
        return bool(self._items)

    def begin(self) -> None:
        """Another response: its indexes restart."""
        self._items = {}
        self.parts.begin()

    def find(self, event: wire.Event, kind: str) -> Item:
        """The item of an event; a new one of `kind` if its added event is missing."""
        index = event.output_index
        if index is None:
            found = [i for i, item in self._items.items() if item.given_id == event.item_id]
            index = found[0] if found else len(self._items)
        item = self._items.get(index)
        if item is None or item.kind != kind:
            name = self._names.unique(event.item_id, "item")
            item = self._items[index] = Item(name, kind, event.item_id)
        return item

    def leave(self, *, interrupted: bool) -> Events:
        """The response ended: end the open parts of its items."""
        ends = [
            end
            for item in self._items.values()
            for end in self.parts.leave(item, interrupted=interrupted)
        ]
        steps = [StepEnd(id=name, scope=self._scope) for name in self._compactions]
        self._compactions = {}
        return [*ends, *steps]

    # An item is added

    def add(self, index: int | None, raw: Object) -> Events:
        """An item is added."""
        parsed = convert(raw, wire.Item)
        item = Item(self._names.unique(parsed.id, "item"), parsed.type, parsed.id, raw)
        self._items[len(self._items) if index is None else index] = item
        if parsed.type in TOOLS:
            return self._begin_call(item, parsed)
        if parsed.type not in self.ENDINGS and parsed.type not in OUTPUTS:
            raise NotUnderstood(f"item of type {parsed.type}")
        item.phase = parsed.phase
        item.call = parsed.call_id or item.id
        return self.compact(parsed.id or item.id) if parsed.type == "compaction" else []

    def _begin_call(self, item: Item, parsed: wire.Item) -> Events:
        tool = TOOLS[parsed.type]
        item.call = parsed.approval_request_id or parsed.call_id or item.id
        # A call that was approved in an earlier attempt of the run is in its log.
        known = item.call in self.approvals or bool(self._names.prefix)
        item.silent = parsed.approval_request_id is not None and known
        if item.silent:
            return []
        self.parts.block_ids.append(item.call)
        start = self._start(item, parsed)
        if not start.server and tool.kind != "mcp":
            self.calls[item.call] = start.name
        if parsed.type == "tool_search_call":
            self._searches.append(item.call)
        ready = [end_of(tool, item.call, self._scope, item.raw)] if tool.ready else []
        return [start, *ready]

    def _start(self, item: Item, parsed: wire.Item) -> ToolUseStart:
        tool, name = TOOLS[parsed.type], name_of(TOOLS[parsed.type], item.raw)
        hands_off = self.hands_off and parsed.type == "function_call" and name.startswith(HANDOFF)
        return ToolUseStart(
            id=item.call,
            scope=self._scope,
            name=name,
            kind="handoff" if hands_off else "code" if runs_python(name) else tool.kind,
            server=tool.server or runs_elsewhere(item.raw),
            provider=about(item.raw),
        )

    def compact(self, name: str) -> Events:
        """The conversation is being shortened."""
        if name in self._compactions:
            return []
        self._compactions[name] = None
        return [StepStart(id=name, scope=self._scope, kind="compaction")]

    # Deltas of a call

    def add_input(self, item: Item, text: str, *, plain: bool = False) -> Events:
        """A delta of a call's input; plain text is emitted as JSON."""
        if item.silent or not text:
            return []
        head = TOOLS[item.kind].head
        prefix = head(item.raw) if plain and head is not None and not item.streamed else ""
        item.streamed = True
        delta = prefix + (json_of(text) if plain else text)
        return [ToolUseDelta(id=item.call, scope=self._scope, delta=delta)]

    def add_json(self, item: Item, text: str) -> Events:
        """A generated delta of a call's input."""
        item.streamed = True
        return [ToolUseDelta(id=item.call, scope=self._scope, delta=text)]

    def add_output(self, item: Item, output: JSON) -> Events:
        """The partial result of a call."""
        return [ToolResult(id=item.call, scope=self._scope, output=output, partial=True)]

    def add_shell_output(self, item: Item, command: int, delta: Object) -> Events:
        """A delta of a command's output; sent complete each time, as results replace each other."""
        run = item.runs.setdefault(command, {"stdout": "", "stderr": ""})
        for name in run:
            text = delta.get(name)
            run[name] += text if isinstance(text, str) else ""
        return self.add_output(item, {"output": [dict(item.runs[n]) for n in sorted(item.runs)]})

    # An item is done

    def finish(self, index: int | None, raw: Object) -> Events:
        """An item is done."""
        parsed = convert(raw, wire.Item)
        item = self._items.get(-1 if index is None else index)
        before: Events = []
        if item is None or item.kind != parsed.type:
            before = self.add(index, raw)
            item = next(reversed(self._items.values())) if index is None else self._items[index]
        if parsed.type in TOOLS:
            return [*before, *self._end_call(item, raw)]
        if parsed.type in OUTPUTS:
            return [*before, *self._output(parsed, raw)]
        if parsed.type not in self.ENDINGS:
            raise NotUnderstood(f"item of type {parsed.type}")
        return [*before, *self.ENDINGS[parsed.type](self, item, parsed, raw)]

    def _end_call(self, item: Item, raw: Object) -> Events:
        tool = TOOLS[item.kind]
        given = tool.ready or item.silent
        ends: Events = [] if given else [end_of(tool, item.call, self._scope, raw)]
        if item.kind == "mcp_approval_request":
            return [*ends, *self.ask(item.call)]
        if item.silent:
            self.approvals.pop(item.call, None)
        return [*ends, *result_of(tool, item.call, self._scope, raw)]

    def ask(self, call: str) -> Events:
        """Request approval of a call; nothing if it was requested already."""
        if call in self.approvals:
            return []
        request = InputRequest(id=call, scope=self._scope, tool_call_id=call)
        self.approvals[call] = request
        return [request]

    def answer(self, raw: Object) -> Events:
        """Handle the answer of a person."""
        name = raw.get("approval_request_id")
        if not isinstance(name, str):
            raise NotUnderstood("an answer to nothing")
        decision: Any = "approved" if raw.get("approve") else "denied"
        why = raw.get("reason")
        reason = why if isinstance(why, str) else None
        return [InputResponse(id=name, scope=self._scope, decision=decision, reason=reason)]

    def _approval_response(self, _item: Item, _parsed: wire.Item, raw: Object) -> Events:
        return self.answer(raw)

    def _output(self, parsed: wire.Item, raw: Object) -> Events:
        name = parsed.call_id
        if name is None and parsed.type == "tool_search_output" and self._searches:
            name = self._searches[-1]
        name = name or parsed.id
        if name is None:
            raise NotUnderstood("an output of no call")
        self.calls.pop(name, None)
        return output_of(raw, name, self._scope)

    def _shell_output(self, item: Item, _parsed: wire.Item, raw: Object) -> Events:
        self.calls.pop(item.call, None)
        return [shell_output(raw, item.call, self._scope)]

    def _message(self, item: Item, parsed: wire.Item, raw: Object) -> Events:
        item.phase = parsed.phase or item.phase
        return self.parts.end_message(item, raw)

    def _reasoning(self, item: Item, _parsed: wire.Item, raw: Object) -> Events:
        return self.parts.end_reasoning(item, raw)

    def _compaction(self, item: Item, parsed: wire.Item, raw: Object) -> Events:
        name = parsed.id or item.id
        started = self.compact(name)
        del self._compactions[name]
        summary = {k: v for k, v in raw.items() if k not in ("id", "type") and v is not None}
        end = StepEnd(id=name, scope=self._scope, provider={VENDOR: summary} if summary else None)
        return [*started, end]

    def _listing(self, _item: Item, parsed: wire.Item, raw: Object) -> Events:
        tools, problem = raw.get("tools"), raw.get("error")
        count = len(tools) if isinstance(tools, list) else 0
        server = parsed.server_label or "The provider"
        failed = problem is not None
        message = (
            f"{server} does not list its tools" if failed else f"{server} offers {count} tools"
        )
        kind: Any = "notice" if failed else "activity"
        bag = {VENDOR: {parsed.type: raw}}
        return [Status(scope=self._scope, message=message, kind=kind, provider=bag)]

    ENDINGS: ClassVar[dict[str, Callable[[Items, Item, wire.Item, Object], Events]]] = {
        "message": _message,
        "reasoning": _reasoning,
        "compaction": _compaction,
        "mcp_list_tools": _listing,
        "additional_tools": _listing,
        "mcp_approval_response": _approval_response,
        "shell_call_output": _shell_output,
    }
    """Items that are neither a call nor simply the output of one."""
