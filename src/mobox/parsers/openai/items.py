"""The output of a response: items, which are messages, calls or results.

Rule 1: an item is identified by its output index; its id may change, and some models have none. An
        event of another kind belongs to an item whose added event is missing.
Rule 2: a call is complete when its item is done, and a hosted tool's result is in the same item.
Rule 3: an approved call has the id of its request: it is the call to approve.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec import convert

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    Events,
    File,
    InputRequest,
    InputResponse,
    Outcome,
    Scope,
    Status,
    StepEnd,
    StepStart,
    ToolKind,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.names import tool_use_end
from mobox.parsers.openai import wire
from mobox.parsers.openai.chat_calls import json_of
from mobox.parsers.openai.parts import Item, Parts, page_of, without_images
from mobox.parsers.openai.token_usage import VENDOR
from mobox.parsers.openai.wire import Names
from mobox.parsers.tool_kinds import runs_python
from mobox.parsers.values import as_object, is_web_url, objects_in

Object = dict[str, JSON]


class Tool(NamedTuple):
    """One kind of item that is a call."""

    kind: ToolKind
    given: Callable[[Object], JSON]
    """The input of a call whose item is complete."""
    name: str | None = None
    """The name of the tool; items of the caller's own tools have it."""
    server: bool = False
    """The provider runs it, and its item carries the output."""
    ready: bool = False
    """The input is complete when the item is added: nothing of it is streamed."""
    head: Callable[[Object], str] | None = None
    """The JSON text that comes before an input which is streamed as plain text."""
    found: Callable[[Object], JSON] | None = None
    """The output."""


def end_of(tool: Tool, name: str, scope: Scope, item: Object) -> ToolUseEnd:
    """The input of a call is complete."""
    given = tool.given(item)
    if tool.given is _arguments:
        return tool_use_end(name, given, scope)
    return ToolUseEnd(id=name, scope=scope, input=given)


def result_of(tool: Tool, name: str, scope: Scope, item: Object) -> Events:
    """The result of a hosted tool, and its pages and files."""
    if tool.found is None:
        return []
    output, files = without_images(name, scope, tool.found(item))
    status = _outcome(item)
    if status == "error" and item.get("error") is not None:
        output = item["error"]
    listed = as_object(item.get("action")).get("sources"), item.get("results")
    pages = [page for pages in listed if isinstance(pages, list) for page in pages]
    sources = [page_of(name, scope, page) for page in pages]
    return [
        ToolResult(id=name, scope=scope, output=output, status=status),
        *files,
        *_files_of(name, scope, item),
        *(source for source in sources if source is not None),
    ]


def shell_output(item: Object, name: str, scope: Scope) -> ToolResult:
    """The printed output of commands."""
    output = item.get("output")
    outcomes = [as_object(run.get("outcome")) for run in objects_in(output)]
    failed = any(o.get("type") == "timeout" or o.get("exit_code") for o in outcomes)
    status: Outcome = "error" if failed else "ok"
    return ToolResult(id=name, scope=scope, output={"output": output}, status=status)


def _outcome(item: Object) -> Outcome:
    failed = item.get("status") in ("failed", "incomplete") or item.get("error") is not None
    return "error" if failed else "ok"


def _files_of(name: str, scope: Scope, item: Object) -> list[File]:
    image = item.get("result") if item.get("type") == "image_generation_call" else None
    if not isinstance(image, str) or not image:
        return []
    if is_web_url(image):
        return [File(id=name, scope=scope, media_type="image/*", url=image)]
    output_format = item.get("output_format")
    media_type = f"image/{output_format}" if isinstance(output_format, str) else "image/png"
    return [File(id=name, scope=scope, media_type=media_type, base64=image)]


# Inputs


def _field(name: str, default: JSON = None) -> Callable[[Object], JSON]:
    return lambda item: item.get(name) or default


def _fields(*names: str, **renamed: str) -> Callable[[Object], JSON]:
    """An object of these fields of the item, some under other names."""
    ours = {**{name: name for name in names}, **renamed}
    return lambda item: {name: item.get(theirs) for name, theirs in ours.items()}


def _arguments(item: Object) -> JSON:
    return item.get("arguments")


def _code(item: Object) -> JSON:
    return {"code": item.get("code") or "", "containerId": item.get("container_id")}


def _action(item: Object) -> JSON:
    fields = {name: item.get(name) for name in ("action", "actions", "pending_safety_checks")}
    return {name: value for name, value in fields.items() if value}


def _commands(item: Object) -> JSON:
    action = as_object(item.get("action"))
    limits = {
        "timeoutMs": action.get("timeout_ms"),
        "maxOutputLength": action.get("max_output_length"),
    }
    known = {name: limit for name, limit in limits.items() if limit is not None}
    return {"action": {"commands": action.get("commands") or [], **known}}


# Prefixes of inputs that are streamed as plain text


def _code_head(item: Object) -> str:
    return f'{{"containerId":{_json(item.get("container_id"))},"code":"'


def _patch_head(item: Object) -> str:
    fields = as_object(item.get("operation"))
    operation = {name: value for name, value in fields.items() if name != "diff"}
    prefix = _json(operation)[:-1] + ("," if operation else "")
    return f'{{"callId":{_json(item.get("call_id"))},"operation":{prefix}"diff":"'


def _json(value: JSON) -> str:
    return msgspec.json.encode(value).decode()


# Outputs


def _searched(item: Object) -> JSON:
    action = as_object(item.get("action"))
    sources = action.get("sources")
    kept = {name: value for name, value in action.items() if name != "sources"}
    return {"action": kept, **({"sources": sources} if sources else {})}


def _drawn(item: Object) -> JSON:
    hidden = ("id", "type", "result")  # the image is a FILE
    return {name: v for name, v in item.items() if name not in hidden and v is not None}


def _output(item: Object) -> JSON:
    return item.get("output")


_server = partial(Tool, server=True)
_ready = partial(Tool, given=lambda _: {}, server=True, ready=True)

TOOLS: dict[str, Tool] = {
    "function_call": Tool("function", _arguments),
    "custom_tool_call": Tool("custom", _field("input", ""), head=lambda _: '"'),
    "mcp_call": _server("mcp", _arguments, found=_output),
    "web_search_call": _ready("search", name="web_search", found=_searched),
    "file_search_call": _ready("search", name="file_search", found=_fields("queries", "results")),
    "code_interpreter_call": _server(
        "code", _code, "code_interpreter", head=_code_head, found=_field("outputs", [])
    ),
    "image_generation_call": _ready("image", name="image_generation", found=_drawn),
    "computer_call": Tool("custom", _action, "computer_use"),
    "local_shell_call": Tool("shell", _action, "local_shell"),
    "shell_call": Tool("shell", _commands, "shell"),
    "apply_patch_call": Tool(
        "code", _fields(callId="call_id", operation="operation"), "apply_patch", head=_patch_head
    ),
    "tool_search_call": Tool("search", _fields("arguments", "call_id"), "tool_search"),
    "program": _server("code", _fields("code", "fingerprint"), "programmatic_tool_calling"),
    "mcp_approval_request": Tool("mcp", _arguments),
}
"""Items that are calls.

Names and inputs of hosted tools are those of the AI SDK's own OpenAI provider (`containerId`, not
`container_id`): pages that show these tools are written for it.
"""


def name_of(tool: Tool, item: Object) -> str:
    """The name of the call."""
    given = item.get("name")
    name = tool.name or (given if isinstance(given, str) and given else UNKNOWN_TOOL)
    return f"mcp.{name}" if tool.kind == "mcp" else name


def runs_elsewhere(item: Object) -> bool:
    """Whether the provider runs a call that its caller could run too."""
    kind = as_object(item.get("environment")).get("type")
    return item.get("execution") == "server" or str(kind).startswith("container")


def about(item: Object) -> dict[str, JSON] | None:
    """The vendor's fields of a call beside name and input."""
    kept = ("server_label", "namespace", "caller", "container_id", "environment")
    fields = {name: item[name] for name in kept if item.get(name) is not None}
    return {VENDOR: fields} if fields else None


OUTPUTS: dict[str, Callable[[Object], JSON]] = {
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "computer_call_output": _output,
    "local_shell_call_output": _output,
    "apply_patch_call_output": _output,
    "tool_search_output": _fields("tools"),
    "program_output": lambda item: item.get("result"),
}
"""Items that are the result of a call; `shell_call_output` may also be streamed."""


def output_of(item: Object, name: str, scope: Scope) -> Events:
    """The result in an item."""
    output, files = without_images(name, scope, OUTPUTS[str(item.get("type"))](item))
    return [ToolResult(id=name, scope=scope, output=output, status=_outcome(item)), *files]


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
        events: Events = []
        for item in self._items.values():
            events += self.parts.leave(item, interrupted=interrupted)
        events += [StepEnd(id=name, scope=self._scope) for name in self._compactions]
        self._compactions = {}
        return events

    # An item is added

    def add(self, index: int | None, raw: Object) -> Events:
        parsed = convert(raw, wire.Item)
        item = Item(self._names.unique(parsed.id, "item"), parsed.type, parsed.id, raw)
        self._items[len(self._items) if index is None else index] = item
        if parsed.type in TOOLS:
            return self._begin_call(item, parsed)
        if parsed.type not in self.ENDINGS and parsed.type not in OUTPUTS:
            raise UnrecognizedLine(f"item of type {parsed.type}")
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
            raise UnrecognizedLine(f"item of type {parsed.type}")
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

    def ask(self, call: str, kind: Literal["approval", "tool"] = "approval") -> Events:
        """Request approval of a call, or its result; nothing if it was requested already."""
        if call in self.approvals:
            return []
        request = InputRequest(id=call, scope=self._scope, kind=kind, tool_call_id=call)
        self.approvals[call] = request
        return [request]

    def answer(self, raw: Object) -> Events:
        name = raw.get("approval_request_id")
        if not isinstance(name, str):
            raise UnrecognizedLine("an answer to nothing")
        decision: Any = "approved" if raw.get("approve") else "denied"
        why = raw.get("reason")
        reason = why if isinstance(why, str) else None
        return [InputResponse(id=name, scope=self._scope, decision=decision, reason=reason)]

    def _output(self, parsed: wire.Item, raw: Object) -> Events:
        is_search = parsed.type == "tool_search_output" and bool(self._searches)
        name = parsed.call_id or (self._searches[-1] if is_search else parsed.id)
        if name is None:
            raise UnrecognizedLine("an output of no call")
        self.calls.pop(name, None)
        return output_of(raw, name, self._scope)

    def _shell_output(self, item: Item, _parsed: wire.Item, raw: Object) -> Events:
        self.calls.pop(item.call, None)
        return [shell_output(raw, item.call, self._scope)]

    def _message(self, item: Item, parsed: wire.Item, raw: Object) -> Events:
        item.phase = parsed.phase or item.phase
        return self.parts.end_message(item, raw)

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
        about: Any = {"message": f"{server} offers {count} tools", "kind": "activity"}
        if problem is not None:
            about = {"message": f"{server} does not list its tools", "kind": "notice"}
        return [Status(scope=self._scope, provider={VENDOR: {parsed.type: raw}}, **about)]

    ENDINGS: ClassVar[dict[str, Callable[[Items, Item, wire.Item, Object], Events]]] = {
        "message": _message,
        "reasoning": lambda items, item, _, raw: items.parts.end_reasoning(item, raw),
        "compaction": _compaction,
        "mcp_list_tools": _listing,
        "additional_tools": _listing,
        "mcp_approval_response": lambda items, _item, _parsed, raw: items.answer(raw),
        "shell_call_output": _shell_output,
    }
    """Items that are neither a call nor simply the output of one."""
