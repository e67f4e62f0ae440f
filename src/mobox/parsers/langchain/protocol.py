"""Parses the typed protocol, `astream_events` v3: each event of a run has its namespace.

Rule 1: the events of a message have no message id: namespace and model run identify it.
Rule 2: the ends of all blocks come in a burst at the end of the message, so a block ends where the
        next one starts. Only the burst has citations, signatures and results of provider tools.
Rule 3: a call of a tool that does not exist has no event; its result is in the graph's state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from msgspec import convert
from msgspec.structs import replace

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    Error,
    Events,
    Outcome,
    Raw,
    StepEnd,
    StepStart,
    TextDelta,
    ThinkingDelta,
    ToolResult,
    ToolUseDelta,
)
from mobox.parsers.langchain import protocol_wire as lines
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.content import cite, read_content, server_result
from mobox.parsers.langchain.graph import Graph, Part, within
from mobox.parsers.langchain.message import Message
from mobox.parsers.langchain.run import Run
from mobox.parsers.langchain.wire import as_message, is_command, stop_reason
from mobox.parsers.values import objects_in

Object = dict[str, JSON]
Space = tuple[str, ...]
Key = tuple[Space, str | None]

_KINDS: Final = {
    lines.TextDelta: "text",
    lines.ReasoningDelta: "thinking",
    lines.ToolCallDelta: "tool",
}
_TEXT_KINDS: Final = {"text": "text", "reasoning": "thinking"}
_CALLED: Final = {"tool_call_chunk", "tool_call", "server_tool_call_chunk", "server_tool_call"}
_LATER: Final = {"non_standard", "server_tool_result", "invalid_tool_call"}
"""Blocks that are complete only at their end."""
_ENDS: Final[dict[str, Outcome]] = {
    "completed": "ok",
    "failed": "error",
    "interrupted": "interrupted",
}
_DELTA_TYPES: Final[dict[str, tuple[Any, Any]]] = {
    "text": (lines.TextDelta, TextDelta),
    "thinking": (lines.ReasoningDelta, ThinkingDelta),
    "tool": (lines.ToolCallDelta, ToolUseDelta),
}

FastPath = tuple[list[str], str | None, Any, Any, Any, str, tuple[str, ...], list[str] | None]
"""Consecutive deltas of one block (fast path): namespace, model run and index, the wire type, the
event class, the block's id and scope, and the list of a call's input deltas."""

NO_FAST_PATH: FastPath = ([], None, None, None, None, "", (), None)


class Protocol:
    """The events of one run."""

    def __init__(self, run: Run, graph: Graph) -> None:
        self.stretch = NO_FAST_PATH
        """The fast path for deltas that continue the last block."""
        self._run = run
        self._graph = graph
        self._messages: dict[Key, Message | None] = {}  # `None` for input of the model

    def read(self, line: Any) -> Events:
        """Parse one line."""
        self._run.is_graph = True
        self.stretch = NO_FAST_PATH
        space = tuple(line.params.namespace or ())
        handle = self.LINES.get(type(line))
        if handle is None:  # a part of LangGraph's own stream, under the name of its mode
            return self._in_part(line.params, space, line.__struct_config__.tag)
        return handle(self, line.params, space)

    # Messages

    def _in_messages(self, params: lines.MessagesParams, space: Space) -> Events:
        event, metadata = params.data if isinstance(params.data, tuple) else (params.data, {})
        return self.read_event(event, metadata, space)

    def read_event(self, event: lines.Event, metadata: Object, space: Space = ()) -> Events:
        """Parse an event of a message."""
        key = (space, convert(metadata, lines.Speaker).run_id)
        if isinstance(event, lines.MessageStart):
            return self._message_start(event, convert(metadata, wire.MessageMetadata), key)
        opened: Events = []
        if key not in self._messages:  # the stream was joined in the middle
            about = convert(metadata, wire.MessageMetadata)
            opened = self._message_start(lines.MessageStart(), about, key)
        message = self._messages[key]
        if message is None:
            return []
        events = self.EVENTS[type(event)](self, message, event)
        self._extend(event, key, message)
        return [*opened, *self._run.pass_on(self._run.watch(events))]

    def _extend(self, event: lines.Event, key: Key, message: Message) -> None:
        if not isinstance(event, lines.BlockStart | lines.BlockMore):
            return
        for kind, (delta_type, event_class) in _DELTA_TYPES.items():
            block = message.find(kind, event.index)
            if block is not None and not block.ended:
                hoard = block.parts if kind == "tool" else None
                space, run_id = key
                self.stretch = (
                    *(
                        list(space),
                        run_id,
                        event.index,
                        delta_type,
                        event_class,
                        block.id,
                        message.scope,
                    ),
                    hoard,
                )

    def _message_start(
        self, event: lines.MessageStart, about: wire.MessageMetadata, key: Key
    ) -> Events:
        if event.role not in (None, "ai"):
            self._messages[key] = None
            return []
        before = self._messages.get(key)
        left = self._run.end(before, "interrupted") if before is not None else []
        space = within(key[0], about)
        entered = self._graph.enter(space, about.agent)
        metadata = event.metadata or lines.StartMetadata()
        model = metadata.model or about.model
        vendor = metadata.provider or about.vendor
        name = event.id or (f"lc_run--{about.run_id}" if about.run_id else None)
        scope, node = self._graph.scope(space), about.checkpoint_ns
        message, opened = self._run.begin(name, scope, vendor, model, node)
        self._messages[key] = message
        return self._run.pass_on([*left, *entered, *opened], replace(about, model=model))

    def _block_start(self, message: Message, event: lines.BlockStart) -> Events:
        content, kind = event.content, str(event.content.get("type"))
        if kind in _TEXT_KINDS:
            text = content.get(kind)
            return message.speak(
                _TEXT_KINDS[kind], event.index, text if isinstance(text, str) else ""
            )
        if kind in _CALLED:
            return _call(message, event.index, content)
        if kind in _LATER or (kind in _FILES and not _has_data(content)):
            return message.leave()
        return _other(message, event.index, content)

    def _block_more(self, message: Message, event: lines.BlockMore) -> Events:
        delta: Any = event.delta
        kind = _KINDS.get(type(delta))
        if kind == "tool":
            return message.argue(event.index, delta.said)
        if kind is not None:
            return message.speak(kind, event.index, delta.said)
        if isinstance(delta, lines.BlockDelta):
            return _other(message, event.index, delta.fields)
        return []  # data, which the end of its block repeats

    def _block_finish(self, message: Message, event: lines.BlockFinish) -> Events:
        finish = _FINISHES.get(str(event.content.get("type")), _other)
        return finish(message, event.index, event.content)

    def _message_finish(self, message: Message, event: lines.MessageFinish) -> Events:
        message.stop_reason = stop_reason(event.metadata) or event.reason
        used = message.use(event.usage, whole=True)
        return [*used, *self._run.end(message)]

    def _message_error(self, message: Message, event: lines.MessageError) -> Events:
        ends = self._run.messages.fail(message)
        return [*ends, Error(scope=message.scope, message=event.message, code=event.code)]

    # Tools

    def _in_tools(self, params: lines.ToolsParams, space: Space) -> Events:
        data = params.data
        entered, scope = self._graph.enter(space), self._graph.scope(space)
        opened = self._run.calls.run(
            data.tool_call_id, data.tool_name or UNKNOWN_TOOL, data.input, scope
        )
        self._run.interrupts.waiting.clear()
        handle = self.TOOLS.get(data.event)
        if handle is None:
            return [*entered, *opened, Raw(scope=scope, raw={"tools": data.event})]
        return [*entered, *opened, *handle(self, data, space)]

    def _tool_started(self, _data: lines.ToolData, _space: Space) -> Events:
        return []

    def _tool_delta(self, data: lines.ToolData, space: Space) -> Events:
        scope = self._graph.scope(space)
        return [ToolResult(id=data.tool_call_id, scope=scope, output=data.delta, partial=True)]

    def _tool_finished(self, data: lines.ToolData, space: Space) -> Events:
        return finished(self._run, self._graph, data.tool_call_id, data.output, space)

    def _tool_error(self, data: lines.ToolData, space: Space) -> Events:
        scope, why = self._graph.scope(space), data.message
        return self._run.calls.settle(data.tool_call_id, data.tool_name, scope, why, "error")

    # Graphs

    def _in_lifecycle(self, params: lines.LifecycleParams, space: Space) -> Events:
        data = params.data
        inner = space if data.namespace is None else tuple(data.namespace)
        if data.event in _ENDS:
            return self._ended(data, inner)
        if data.event != "started" or not inner:
            return []
        if data.cause is not None and data.cause.tool_call_id:
            self._graph.bind(inner, data.cause.tool_call_id)
            return self._graph.enter(inner, data.graph_name)
        self._graph.join(inner)
        scope = self._graph.scope(inner)
        return [StepStart(id="/".join(inner), scope=scope, kind="node", name=data.graph_name)]

    def _ended(self, data: lines.LifecycleData, space: Space) -> Events:
        status, scope = _ENDS[data.event], self._graph.scope(space)
        call = self._graph.call_of(space)
        if call is not None:
            return self._run.calls.end_agent(call.id, status)
        if space:
            return [StepEnd(id="/".join(space), scope=scope, status=status)]
        return [Error(message=data.error or "The graph failed.")] if status == "error" else []

    def _in_part(self, params: lines.StateParams, space: Space, mode: str) -> Events:
        return self._graph.read(Part(mode, params.data, space, params.interrupts))

    def _in_input(self, params: lines.InputParams, space: Space) -> Events:
        interrupt = {"id": params.data.interrupt_id, "value": params.data.payload}
        return self._run.ask([interrupt], self._graph.scope(space))

    LINES: ClassVar[dict[type[lines.Line], Callable[[Protocol, Any, Space], Events]]] = {
        lines.Messages: _in_messages,
        lines.Tools: _in_tools,
        lines.Lifecycle: _in_lifecycle,
        lines.Input: _in_input,
    }
    EVENTS: ClassVar[dict[type[lines.Event], Callable[[Protocol, Message, Any], Events]]] = {
        lines.BlockStart: _block_start,
        lines.BlockMore: _block_more,
        lines.BlockFinish: _block_finish,
        lines.MessageFinish: _message_finish,
        lines.MessageError: _message_error,
    }
    TOOLS: ClassVar[dict[str, Callable[[Protocol, lines.ToolData, Space], Events]]] = {
        "tool-started": _tool_started,
        "tool-output-delta": _tool_delta,
        "tool-finished": _tool_finished,
        "tool-error": _tool_error,
    }


def finished(run: Run, graph: Graph, call_id: str, output: JSON, space: Space) -> Events:
    """The result of a tool: the message for the model, a Command, or a value."""
    scope = graph.scope(space)
    message = as_message(output)
    if message is not None and message.kind == "tool":
        fields = {**message.fields, "tool_call_id": message.fields.get("tool_call_id") or call_id}
        return run.calls.answer(convert(fields, wire.ToolMessage), scope)
    if is_command(output) or isinstance(output, list):
        events = graph.update(output, space)
        call = run.calls.get(call_id)
        if call is not None and call.answered:
            return events
        value = None if is_command(output) else output
        return [*events, *run.calls.settle(call_id, None, scope, value)]
    return run.calls.settle(call_id, None, scope, output)


# Starts and ends of blocks

Finish = Callable[[Message, wire.Index, Object], Events]
_FILES: Final = {"image", "audio", "video", "file"}


def _has_data(content: Object) -> bool:
    return any(content.get(name) for name in ("url", "base64", "file_id"))


def _other(message: Message, index: wire.Index, content: Object) -> Events:
    """Any other block, as if it were one of a message's content."""
    piece = wire.AiMessage(content=[{"index": index, **content}])
    return read_content(message, piece, whole=True)


def _call(message: Message, index: wire.Index, content: Object) -> Events:
    opened = message.find("tool", index)
    call_id, name, args = content.get("id"), content.get("name"), content.get("args")
    events: Events = []
    if opened is None:
        server = str(content.get("type")).startswith("server_")
        given_id = call_id if isinstance(call_id, str) else None
        given_name = name if isinstance(name, str) and name else UNKNOWN_TOOL
        events = message.call(index, given_id, given_name, server=server)
    if isinstance(args, str):
        return [*events, *message.argue(index, args)]
    return [*events, *message.argued(index, args)] if args is not None else events


def _finish_text(message: Message, index: wire.Index, content: Object) -> Events:
    events: Events = []
    if message.find("text", index) is None:
        events = _other(message, index, {**content, "annotations": None})
    name, found = message.name_of("text", index), objects_in(content.get("annotations"))
    return [*events, *(cite(name, message.scope, each, message.vendor) for each in found)]


def _finish_reasoning(message: Message, index: wire.Index, content: Object) -> Events:
    if message.find("thinking", index) is None:
        return _other(message, index, content)
    extras = content.get("extras")
    signature = extras.get("signature") if isinstance(extras, dict) else None
    if isinstance(signature, str) and signature:
        return message.sign(index, signature)
    return []


def _finish_call(message: Message, index: wire.Index, content: Object) -> Events:
    opened = [] if message.find("tool", index) else _call(message, index, {**content, "args": None})
    return [*opened, *message.argued(index, content.get("args"))]


def _finish_invalid(message: Message, index: wire.Index, content: Object) -> Events:
    args = content.get("args")
    opened = [] if message.find("tool", index) else _call(message, index, content)
    return [*opened, *message.argued(index, None, args if isinstance(args, str) else "")]


def _finish_result(message: Message, _index: wire.Index, content: Object) -> Events:
    return server_result(message, content)


_FINISHES: Final[dict[str, Finish]] = {
    "text": _finish_text,
    "reasoning": _finish_reasoning,
    "tool_call": _finish_call,
    "server_tool_call": _finish_call,
    "invalid_tool_call": _finish_invalid,
    "server_tool_result": _finish_result,
}
