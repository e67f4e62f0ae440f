"""LangChain, LangGraph and DeepAgents, whichever of their streams an agent prints.

Lines are the typed protocol's (`astream_events` v3), the callbacks' (v2), the parts of LangGraph's
own `astream`, or bare messages; and the simplified lines, as with every framework.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, convert, json

from mobox.errors import UnrecognizedLine
from mobox.events import JSON, Events
from mobox.parsers import EventParser
from mobox.parsers.formats import Format, has_keys, kind_in, kind_starts_with
from mobox.parsers.langchain import protocol_wire, wire
from mobox.parsers.langchain.callbacks import Callbacks
from mobox.parsers.langchain.graph import INTERRUPT, Graph, as_part
from mobox.parsers.langchain.protocol import Protocol
from mobox.parsers.langchain.run import Run
from mobox.parsers.langchain.wire import (
    Object,
    as_message,
    class_name,
    done_of_exception,
    emitted_in,
)
from mobox.parsers.values import as_object, exception_class, is_exception

_METHODS = tuple(str(line.__struct_config__.tag) for line in protocol_wire.Line.__subclasses__())
_EVENTS = tuple(str(event.__struct_config__.tag) for event in protocol_wire.Event.__subclasses__())
_MIDDLEWARE = ("PatchToolCallsMiddleware", "SubAgentMiddleware", "FilesystemMiddleware")
"""Nodes of a deep agent, which other graphs do not have by default."""


def _callback(line: JSON) -> float:
    return kind_starts_with("event", "on_")(line) * has_keys("run_id")(line)


def _part(line: JSON) -> float:
    match line:
        case {"ns": list(), "data": _, "mode": str() as mode}:
            return float(mode in Graph.MODES)
        case {"ns": list(), "data": _, "type": str() as mode}:
            return float(mode in Graph.MODES)
        case [str() as mode, _] | [list(), str() as mode, _]:
            return float(mode in Graph.MODES)
        case [list(), {"messages": list()}]:
            return 0.8
        case _:
            return 0.0


def _message(line: JSON) -> float:
    match line:
        case [dict() as message, dict()]:
            return _message(message)
        case {"lc": 1} | {"_lc": str()}:
            return 1.0
        case {"messages": list() as messages}:
            return 0.8 if all(map(as_message, messages)) else 0.0
        case dict() if INTERRUPT in line:
            return 0.9
        case dict() if as_message(line) is not None:
            return 0.9 if class_name(line) is not None else 0.7
        case dict() if line:
            return 0.7 * all(_is_update(each) for each in line.values())
        case _:
            return 0.0


def _is_update(update: JSON) -> bool:
    return isinstance(update, dict) and _message({"messages": update.get("messages")}) > 0


def _deep(line: JSON) -> float:
    return float(any(map(_is_deep, _about(line))))


def _is_deep(metadata: dict[str, JSON]) -> bool:
    names = (metadata.get("name"), metadata.get("langgraph_node"))
    return (
        "deepagents" in as_object(metadata.get("lc_versions"))
        or metadata.get("ls_integration") == "deepagents"
        or any(isinstance(name, str) and name.startswith(_MIDDLEWARE) for name in names)
        or any(name.startswith(_MIDDLEWARE) for name in metadata)
    )


def _about(line: JSON) -> Iterator[dict[str, JSON]]:
    """The objects of a line that may name its agent; no others are searched."""
    if isinstance(line, list):
        yield from _about_data(line[-1] if line else None)
        return
    outer = as_object(line)
    yield outer
    yield as_object(outer.get("metadata"))
    yield from _about_data(outer.get("data"))
    yield from _about_data(as_object(outer.get("params")).get("data"))


def _about_data(data: JSON) -> Iterator[dict[str, JSON]]:
    if isinstance(data, list):
        yield as_object(data[-1] if data else None)
    else:
        yield as_object(data)
        yield as_object(as_object(data).get("metadata"))


FORMATS: tuple[Format, ...] = (
    Format(
        "LangChain's events",
        (
            _callback,
            kind_in("method", _METHODS, "params"),
            kind_in("event", _EVENTS),
            has_keys("_interrupts"),
        ),
        kind=(
            *("type", "method", "event", "content.type", "delta.type", "_interrupts"),
            *("params.data.event", "params.data.0.event"),
            *("params.data.0.content.type", "params.data.0.delta.type"),
        ),
    ),
    Format("LangGraph's stream parts", (_part,), kind=("mode", "type", "data.type", "data.0._lc")),
    Format("LangChain's messages", (_message,), kind=("type",)),
)

DEEP_FORMATS: tuple[Format, ...] = (Format("DeepAgents' events", (_deep,), narrows="langchain"),)


class _Line(Struct):
    """Holds the union: msgspec analyzes a class once, but a bare union on every call."""

    line: protocol_wire.AnyLine


class _Event(Struct):
    event: protocol_wire.AnyEvent


_decode_delta = json.Decoder(protocol_wire.DeltaLine).decode


class LangChainParser(EventParser):
    """One run of an agent that emits one of LangChain's formats."""

    framework = "langchain"
    formats = FORMATS

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._run = Run(self.framework, prefix)
        self._graph = Graph(self._run)
        self._protocol = Protocol(self._run, self._graph)
        self._callbacks = Callbacks(self._run, self._graph)

    def feed_line(self, line: bytes) -> Events:
        """Parse one line. One that only continues an open block is decoded into its type."""
        events = self._feed_typed(_decode_delta, self._protocol.read_delta, line)
        return super().feed_line(line) if events is None else events

    def feed(self, raw: JSON) -> Events:
        if isinstance(raw, dict) and raw.get("method") == "custom" and emitted_in(raw) is not None:
            return self._or_raw(self._read_emitted, raw, lambda: raw)
        events = super().feed(raw)
        if isinstance(raw, dict) and is_exception(raw):
            self._run.failed = True
            self._run.ended = end = done_of_exception(exception_class(raw))
            return events if end is None else [*events, end]
        return events

    def _read_emitted(self, raw: Object) -> Events:
        """A line of `mobox.emitter` in the stream of the graph: its scope is that of its agent."""
        namespace, line = emitted_in(raw) or ((), {})
        entered = self._graph.enter(namespace)
        scope = {"scope": list(self._graph.scope(namespace))}
        line = {**line, "data": {**scope, **as_object(line.get("data"))}}
        if not self._emitted.knows(line):
            raise UnrecognizedLine
        return [*self._run.emit(entered), *self._emitted.read(line)]

    def read(self, raw: JSON) -> Events:
        if isinstance(raw, dict):
            method = raw.get("method")
            if isinstance(method, str) and method in _METHODS:
                line = convert({"line": raw}, _Line).line
                return self._run.emit(self._protocol.read(line))
            event = raw.get("event")
            if isinstance(event, str) and event in _EVENTS:
                bare = convert({"event": raw}, _Event).event
                return self._protocol.read_event(bare, {})
            if isinstance(event, str) and event.startswith("on_"):
                return self._callbacks.read(raw)
            if "_interrupts" in raw:
                return self._run.request_input(raw["_interrupts"] or None, ())
        return self._run.emit(self._read_part(raw))

    def _read_part(self, raw: JSON) -> Events:
        part = as_part(raw)
        if part is None:
            return self._graph.message(raw, wire.MessageMetadata(), ())
        self._run.is_graph = True
        return self._graph.read(part)

    def close(self) -> Events:
        return self._run.emit(self._run.close())


class DeepAgentsParser(LangChainParser):
    """One run of a deep agent: a LangGraph graph with a plan, files and subagents."""

    framework = "deepagents"
    formats = DEEP_FORMATS
