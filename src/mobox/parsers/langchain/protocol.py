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
    Events,
    Outcome,
    Raw,
    StepEnd,
    StepStart,
    ToolResult,
)
from mobox.parsers.langchain import protocol_wire as lines
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.content import cite, read_content, server_result
from mobox.parsers.langchain.graph import Graph, Part, namespace_of
from mobox.parsers.langchain.message import Message
from mobox.parsers.langchain.run import Run
from mobox.parsers.langchain.wire import Namespace, Object, as_message, is_command, stop_reason
from mobox.parsers.values import failure, objects_in

Key = tuple[Namespace, str | None]

_KINDS: Final = {
    lines.TextDelta: "text",
    lines.ReasoningDelta: "thinking",
    lines.ToolCallDelta: "tool",
}
_TEXT_KINDS: Final = {"text": "text", "reasoning": "thinking"}
_CALL_TYPES: Final = {"tool_call_chunk", "tool_call", "server_tool_call_chunk", "server_tool_call"}
_COMPLETE_AT_END: Final = {"non_standard", "server_tool_result", "invalid_tool_call"}
"""Blocks that are complete only at their end."""
_ENDS: Final[dict[str, Outcome]] = {
    "completed": "ok",
    "failed": "error",
    "interrupted": "interrupted",
}


class Protocol:
    """The events of one run."""

    def __init__(self, run: Run, graph: Graph) -> None:
        self._run = run
        self._graph = graph
        self._messages: dict[Key, Message | None] = {}  # `None` for input of the model

    def read(self, line: Any) -> Events:
        """Parse one line."""
        self._run.is_graph = True
        namespace = tuple(line.params.namespace or ())
        handle = self.LINES.get(type(line))
        if handle is None:  # a part of LangGraph's own stream, under the name of its mode
            mode = line.__struct_config__.tag
            return self._graph.read(Part(mode, line.params.data, namespace, line.params.interrupts))
        return handle(self, line.params, namespace)

    def read_delta(self, line: lines.DeltaLine) -> Events | None:
        """`read` for a line that continues an open block; `None` if it does anything else."""
        event, model_run = line.params.data
        message = self._messages.get((tuple(line.params.namespace or ()), model_run.run_id))
        if message is None or self._run.failed:  # work after an error revives the run
            return None
        delta = message.delta_of(_KINDS[type(event.delta)], event.index, event.delta.text)
        if delta is None:
            return None
        self._run.is_graph = True
        return [delta]

    # Messages

    def _read_messages(self, params: lines.MessagesParams, namespace: Namespace) -> Events:
        event, metadata = params.data if isinstance(params.data, tuple) else (params.data, {})
        return self.read_event(event, metadata, namespace)

    def read_event(self, event: lines.Event, metadata: Object, namespace: Namespace = ()) -> Events:
        """Parse an event of a message."""
        key = (namespace, convert(metadata, lines.ModelRun).run_id)
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
        return [*opened, *self._run.emit(self._run.track_calls(events))]

    def _message_start(
        self, event: lines.MessageStart, about: wire.MessageMetadata, key: Key
    ) -> Events:
        if event.role not in (None, "ai"):
            self._messages[key] = None
            return []
        before = self._messages.get(key)
        left = self._run.end(before, "interrupted") if before is not None else []
        namespace = namespace_of(key[0], about)
        entered = self._graph.enter(namespace, about.agent)
        metadata = event.metadata or lines.StartMetadata()
        model = metadata.model or about.model
        vendor = metadata.provider or about.vendor
        name = event.id or (f"lc_run--{about.run_id}" if about.run_id else None)
        scope, node = self._graph.scope(namespace), about.checkpoint_ns
        message, opened = self._run.begin(name, scope, vendor, model, node)
        self._messages[key] = message
        return self._run.emit([*left, *entered, *opened], replace(about, model=model))

    def _block_start(self, message: Message, event: lines.ContentBlockStart) -> Events:
        content, kind = event.content, str(event.content.get("type"))
        if kind in _TEXT_KINDS:
            text = content.get(kind)
            return message.add_text(
                _TEXT_KINDS[kind], event.index, text if isinstance(text, str) else ""
            )
        if kind in _CALL_TYPES:
            return _call(message, event.index, content)
        if kind in _COMPLETE_AT_END or (kind in _FILES and not _has_data(content)):
            return message.leave_block()
        return _other(message, event.index, content)

    def _block_delta(self, message: Message, event: lines.ContentBlockDelta) -> Events:
        delta: Any = event.delta
        kind = _KINDS.get(type(delta))
        if kind == "tool":
            return message.add_input_delta(event.index, delta.text)
        if kind is not None:
            return message.add_text(kind, event.index, delta.text)
        if isinstance(delta, lines.BlockDelta):
            return _other(message, event.index, delta.fields)
        return []  # data, which the end of its block repeats

    def _block_finish(self, message: Message, event: lines.ContentBlockFinish) -> Events:
        finish = _FINISHES.get(str(event.content.get("type")), _other)
        return finish(message, event.index, event.content)

    def _message_finish(self, message: Message, event: lines.MessageFinish) -> Events:
        message.stop_reason = stop_reason(event.metadata) or event.reason
        used = message.add_usage(event.usage, whole=True)
        return [*used, *self._run.end(message)]

    def _message_error(self, message: Message, event: lines.MessageError) -> Events:
        ends = self._run.messages.fail(message)
        return [*ends, failure(event.message, event.code, scope=message.scope)]

    # Tools

    def _read_tools(self, params: lines.ToolsParams, namespace: Namespace) -> Events:
        data = params.data
        entered, scope = self._graph.enter(namespace), self._graph.scope(namespace)
        opened = self._run.calls.ensure_started(
            data.tool_call_id, data.tool_name or UNKNOWN_TOOL, data.input, scope
        )
        self._run.interrupts.waiting.clear()
        handle = self.TOOLS.get(data.event)
        if handle is None:
            return [*entered, *opened, Raw(scope=scope, raw={"tools": data.event})]
        return [*entered, *opened, *handle(self, data, namespace)]

    def _tool_started(self, _data: lines.ToolData, _as_namespace: Namespace) -> Events:
        return []

    def _tool_delta(self, data: lines.ToolData, namespace: Namespace) -> Events:
        scope = self._graph.scope(namespace)
        return [ToolResult(id=data.tool_call_id, scope=scope, output=data.delta, partial=True)]

    def _tool_finished(self, data: lines.ToolData, namespace: Namespace) -> Events:
        return read_tool_output(self._run, self._graph, data.tool_call_id, data.output, namespace)

    def _tool_error(self, data: lines.ToolData, namespace: Namespace) -> Events:
        scope, why = self._graph.scope(namespace), data.message
        return self._run.calls.add_result(data.tool_call_id, data.tool_name, scope, why, "error")

    # Graphs

    def _read_lifecycle(self, params: lines.LifecycleParams, namespace: Namespace) -> Events:
        data = params.data
        inner = namespace if data.namespace is None else tuple(data.namespace)
        if data.event in _ENDS:
            return self._ended(data, inner)
        if data.event != "started" or not inner:
            return []
        if data.cause is not None and data.cause.tool_call_id:
            self._graph.bind(inner, data.cause.tool_call_id)
            return self._graph.enter(inner, data.graph_name)
        self._graph.inherit_scope(inner)
        scope = self._graph.scope(inner)
        return [StepStart(id="/".join(inner), scope=scope, kind="node", name=data.graph_name)]

    def _ended(self, data: lines.LifecycleData, namespace: Namespace) -> Events:
        status, scope = _ENDS[data.event], self._graph.scope(namespace)
        call = self._graph.call_of(namespace)
        if call is not None:
            return self._run.calls.end_agent(call.id, status)
        if namespace:
            return [StepEnd(id="/".join(namespace), scope=scope, status=status)]
        return [failure(data.error or "The graph failed.")] if status == "error" else []

    def _read_input(self, params: lines.InputParams, namespace: Namespace) -> Events:
        interrupt = {"id": params.data.interrupt_id, "value": params.data.payload}
        return self._run.request_input([interrupt], self._graph.scope(namespace))

    LINES: ClassVar[dict[type[lines.Line], Callable[[Protocol, Any, Namespace], Events]]] = {
        lines.Messages: _read_messages,
        lines.Tools: _read_tools,
        lines.Lifecycle: _read_lifecycle,
        lines.Input: _read_input,
    }
    EVENTS: ClassVar[dict[type[lines.Event], Callable[[Protocol, Message, Any], Events]]] = {
        lines.ContentBlockStart: _block_start,
        lines.ContentBlockDelta: _block_delta,
        lines.ContentBlockFinish: _block_finish,
        lines.MessageFinish: _message_finish,
        lines.MessageError: _message_error,
    }
    TOOLS: ClassVar[dict[str, Callable[[Protocol, lines.ToolData, Namespace], Events]]] = {
        "tool-started": _tool_started,
        "tool-output-delta": _tool_delta,
        "tool-finished": _tool_finished,
        "tool-error": _tool_error,
    }


def read_tool_output(
    run: Run, graph: Graph, call_id: str, output: JSON, namespace: Namespace
) -> Events:
    """The result of a tool: the message for the model, a Command, or a value."""
    scope = graph.scope(namespace)
    message = as_message(output)
    if message is not None and message.kind == "tool":
        fields = {**message.fields, "tool_call_id": message.fields.get("tool_call_id") or call_id}
        return run.calls.add_tool_message(convert(fields, wire.ToolMessage), scope)
    if is_command(output) or isinstance(output, list):
        events = graph.update(output, namespace)
        call = run.calls.get(call_id)
        if call is not None and call.answered:
            return events
        value = None if is_command(output) else output
        return [*events, *run.calls.add_result(call_id, None, scope, value)]
    return run.calls.add_result(call_id, None, scope, output)


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
        events = message.start_call(index, given_id, given_name, server=server)
    if isinstance(args, str):
        return [*events, *message.add_input_delta(index, args)]
    return [*events, *message.finish_input(index, args)] if args is not None else events


def _finish_text(message: Message, index: wire.Index, content: Object) -> Events:
    events: Events = []
    if message.find("text", index) is None:
        events = _other(message, index, {**content, "annotations": None})
    name, found = message.block_id("text", index), objects_in(content.get("annotations"))
    return [*events, *(cite(name, message.scope, each, message.vendor) for each in found)]


def _finish_reasoning(message: Message, index: wire.Index, content: Object) -> Events:
    if message.find("thinking", index) is None:
        return _other(message, index, content)
    extras = content.get("extras")
    signature = extras.get("signature") if isinstance(extras, dict) else None
    if isinstance(signature, str) and signature:
        return message.add_signature(index, signature)
    return []


def _finish_call(message: Message, index: wire.Index, content: Object) -> Events:
    opened = [] if message.find("tool", index) else _call(message, index, {**content, "args": None})
    return [*opened, *message.finish_input(index, content.get("args"))]


def _finish_invalid(message: Message, index: wire.Index, content: Object) -> Events:
    args = content.get("args")
    opened = [] if message.find("tool", index) else _call(message, index, content)
    return [*opened, *message.finish_input(index, None, args if isinstance(args, str) else "")]


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
