"""Parses `astream_events` v2: the callbacks of every runnable, each event with its ancestors.

Rule 1: only models, tools and retrievers are read. Chains repeat them, except for the answers of a
        graph's nodes and its interrupts, which are in the chain's stream.
Rule 2: a tool's event does not name its call. Its result and its error do, and its parent's input
        is the call; otherwise the call is the one with that name and input.
Rule 3: an event with a tool's run among its ancestors is from an agent which that call spawned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from msgspec import Struct, convert

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    Events,
    Scope,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.calls import as_calls, sources_in
from mobox.parsers.langchain.graph import INTERRUPT, Graph
from mobox.parsers.langchain.message import Message
from mobox.parsers.langchain.protocol import read_tool_output
from mobox.parsers.langchain.run import Run, text_of
from mobox.parsers.langchain.wire import (
    MessageObject,
    Object,
    as_message,
    is_command,
    messages_in,
)


class Metadata(wire.MessageMetadata, frozen=True, kw_only=True):
    """Where in a graph an event comes from."""

    langgraph_node: str | None = None


class Line(Struct):
    """One event."""

    event: str
    run_id: str
    name: str = ""
    data: Object = {}
    metadata: Metadata = Metadata()
    parent_ids: list[str] = []


class Callbacks:
    """The events of one run."""

    def __init__(self, run: Run, graph: Graph) -> None:
        self._run = run
        self._graph = graph
        self._calls_of: dict[str, str] = {}  # runs of tools, and of the nodes that run one
        self._tools: dict[str, Metadata] = {}  # runs of tools
        self._models: dict[str, Message] = {}  # runs of models that stream

    def read(self, raw: Object) -> Events:
        """Parse one line."""
        line = convert({name: raw[name] for name in raw if raw[name] is not None}, Line)
        handle = self.LINES.get(line.event)
        if handle is None:
            if line.event.startswith(("on_prompt_", "on_parser_")):
                return []
            raise UnrecognizedLine
        return self._run.emit(handle(self, line), line.metadata)

    def _scope(self, line: Line) -> Scope:
        return tuple(self._calls_of[name] for name in line.parent_ids if name in self._tools)

    def _enter(self, line: Line) -> Events:
        """Announce the agent of an event, if it is new."""
        events: Events = []
        for name in line.parent_ids:
            call = self._run.calls.get(self._calls_of[name]) if name in self._tools else None
            if call is not None:
                events += self._run.calls.start_agent(call, line.metadata.agent)
        return events

    # Models

    def _model_stream(self, line: Line) -> Events:
        message = as_message(line.data.get("chunk"))
        if message is None:
            return self._text_stream(line)
        piece = convert(message.fields, wire.AiMessage)
        known = self._models.get(line.run_id)
        piece.id = known.id if known is not None else piece.id or line.run_id
        events = [*self._enter(line), *self._run.add_chunk(piece, self._scope(line), line.metadata)]
        self._remember_model(line.run_id, piece.id)
        return events

    def _text_stream(self, line: Line) -> Events:
        """A model that is not a chat model: it streams text."""
        chunk = line.data.get("chunk")
        text = chunk.get("text") if isinstance(chunk, dict) else chunk
        if not isinstance(text, str):
            raise UnrecognizedLine
        piece = wire.AiMessage(content=text, id=line.run_id)
        events = [*self._enter(line), *self._run.add_chunk(piece, self._scope(line), line.metadata)]
        self._remember_model(line.run_id, line.run_id)
        return events

    def _remember_model(self, run_id: str, message_id: str | None) -> None:
        message = self._run.messages.find(message_id)
        if message is not None:
            self._models[run_id] = message

    def _model_end(self, line: Line) -> Events:
        output = as_message(line.data.get("output"))
        message = self._models.pop(line.run_id, None)
        events: Events = []
        if output is None:
            events = self._run.end(message) if message is not None else []
        elif message is not None:
            events = self._run.add_message(
                MessageObject("ai", {**output.fields, "id": message.id}), message.scope
            )
            self._run.remember(output, message.scope)
        else:
            events = [*self._enter(line), *self._run.add_message(output, self._scope(line))]
        if line.parent_ids:
            return events
        return [*events, *self._run.finish(output)]

    # Tools

    def _tool_start(self, line: Line) -> Events:
        given, scope = line.data.get("input"), self._scope(line)
        parents = [self._calls_of[name] for name in line.parent_ids[-1:] if name in self._calls_of]
        call = self._run.calls.find_call(line.name, given, scope)
        call_id = parents[0] if parents else call.id if call is not None else line.run_id
        self._calls_of[line.run_id] = call_id
        self._tools[line.run_id] = line.metadata
        self._run.interrupts.waiting.clear()
        return [
            *self._enter(line),
            *self._run.calls.ensure_started(call_id, line.name, given, scope),
        ]

    def _tool_end(self, line: Line) -> Events:
        output = line.data.get("output")
        call_id = _call_in(output) or self._calls_of.get(line.run_id, line.run_id)
        scope = self._scope(line)
        started = self._run.calls.ensure_started(call_id, line.name, line.data.get("input"), scope)
        namespace = self._graph.bind_scope(scope)
        return [*started, *read_tool_output(self._run, self._graph, call_id, output, namespace)]

    def _tool_error(self, line: Line) -> Events:
        given = line.data.get("tool_call_id")
        call_id = given if isinstance(given, str) else self._calls_of.get(line.run_id, line.run_id)
        error = line.data.get("error")
        why = error.get("str") if isinstance(error, dict) and "str" in error else error
        return self._run.calls.add_result(call_id, line.name, self._scope(line), why, "error")

    # Retrievers, which are handled as tools

    def _retriever_start(self, line: Line) -> Events:
        name, scope, given = line.run_id, self._scope(line), line.data.get("input")
        start = ToolUseStart(id=name, scope=scope, name=line.name or "retriever", kind="search")
        end = ToolUseEnd(id=name, scope=scope, input={} if given is None else given)
        return self._run.track_calls([start, end])

    def _retriever_end(self, line: Line) -> Events:
        documents = line.data.get("output")
        scope = self._scope(line)
        result = self._run.calls.add_result(line.run_id, line.name, scope, documents)
        return [*result, *sources_in(documents, line.run_id, scope)]

    # Chains

    def _chain_start(self, line: Line) -> Events:
        self._run.is_graph = True
        given = line.data.get("input")
        calls = as_calls(given)
        if line.name == "tools" and len(calls) == 1 and calls[0].id:
            self._calls_of[line.run_id] = calls[0].id
            self._run.calls.remember(calls[0], self._scope(line))
        elif isinstance(given, dict):  # the input state of a node, which some return again
            for message in messages_in(given.get("messages")):
                self._run.remember(message, self._scope(line))
        above = [self._tools[name] for name in line.parent_ids[-1:] if name in self._tools]
        is_agent = any(line.metadata.agent != tool.agent for tool in above)
        return self._enter(line) if is_agent and line.metadata.agent else []

    def _chain_stream(self, line: Line) -> Events:
        chunk, scope = line.data.get("chunk"), self._scope(line)
        if isinstance(chunk, dict) and INTERRUPT in chunk:
            return self._run.request_input(chunk[INTERRUPT], scope)
        if line.metadata.langgraph_node != line.name:
            return []  # the graph's own, which repeats its nodes
        return self._graph.update(chunk, self._graph.bind_scope(scope))

    def _chain_end(self, line: Line) -> Events:
        if line.parent_ids:
            return []
        output = line.data.get("output")
        answer: JSON = as_message(output) or output
        state: Events = []
        if isinstance(output, dict) and as_message(output) is None:
            state = [
                *self._run.states.plan(output, ()),
                *self._run.states.snapshot(output, (), ()),
            ]
            last = list(messages_in(output.get("messages") or []))[-1:]
            answer = text_of(last[0]) if last and last[0].kind in ("ai", "chunk") else None
            answer = answer if last else self._run.answer
        return [*state, *self._run.finish(answer)]

    def _custom(self, line: Line) -> Events:
        return self._run.custom(line.name or None, line.data, self._scope(line))

    LINES: ClassVar[dict[str, Callable[[Callbacks, Line], Events]]] = {
        "on_chat_model_start": _enter,
        "on_chat_model_stream": _model_stream,
        "on_chat_model_end": _model_end,
        "on_llm_start": _enter,
        "on_llm_stream": _model_stream,
        "on_llm_end": _model_end,
        "on_tool_start": _tool_start,
        "on_tool_end": _tool_end,
        "on_tool_error": _tool_error,
        "on_retriever_start": _retriever_start,
        "on_retriever_end": _retriever_end,
        "on_chain_start": _chain_start,
        "on_chain_stream": _chain_stream,
        "on_chain_end": _chain_end,
        "on_custom_event": _custom,
    }


def _call_in(output: JSON) -> str | None:
    """The call id of a result, if it has one."""
    if is_command(output):
        update = output.get("update")
        inner = update.get("messages") if isinstance(update, dict) else None
        results = [m for m in messages_in(inner or []) if m.kind == "tool"]
    else:
        results = [m for m in messages_in(output) if m.kind == "tool"]
    called = [m.fields.get("tool_call_id") for m in results]
    return called[0] if len(called) == 1 and isinstance(called[0], str) and called[0] else None
