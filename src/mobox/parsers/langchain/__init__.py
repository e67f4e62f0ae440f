"""LangChain, LangGraph and DeepAgents, whichever of their streams an agent prints.

Lines are the typed protocol's (`astream_events` v3), the callbacks' (v2), the parts of LangGraph's
own `astream`, or bare messages; and the simplified lines, as with every framework.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, convert

from mobox import json_text
from mobox.events import JSON, Events, StreamEvent
from mobox.parsers import EventParser
from mobox.parsers.langchain import protocol_wire, wire
from mobox.parsers.langchain.callbacks import Callbacks
from mobox.parsers.langchain.formats import DEEP_FORMATS, FORMATS
from mobox.parsers.langchain.graph import Graph
from mobox.parsers.langchain.parts import as_part
from mobox.parsers.langchain.protocol import NO_FAST_PATH, Protocol
from mobox.parsers.langchain.protocol_wire import Spoken
from mobox.parsers.langchain.reasons import raised_end
from mobox.parsers.langchain.run import Run
from mobox.parsers.raised import class_of, is_raised

__all__ = ["DeepAgentsParser", "LangChainParser"]


class _Line(Struct):
    """Holds the union: msgspec analyzes a class once, but a bare union on every call."""

    line: protocol_wire.AnyLine


class _Event(Struct):
    event: protocol_wire.AnyEvent


_METHODS = {line.__struct_config__.tag for line in protocol_wire.Line.__subclasses__()}
_EVENTS = {event.__struct_config__.tag for event in protocol_wire.Event.__subclasses__()}

_decode = msgspec.json.Decoder(Spoken).decode


def _decode_delta(line: bytes) -> Any:
    """Decode a line with a delta of a block directly into its type; `None` for others."""
    try:
        return _decode(line).params if json_text.is_shallow(line) else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


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

    def feed(self, raw: JSON) -> Events:
        self._protocol.stretch = NO_FAST_PATH  # any line may end the block
        events = super().feed(raw)
        if isinstance(raw, dict) and is_raised(raw):
            self._run.failed = True
            self._run.ended = end = raised_end(class_of(raw))
            return events if end is None else [*events, end]
        return events

    def more(self, line: bytes) -> StreamEvent | None:
        namespace, run_id, index, delta_type, event_class, name, scope, hoard = (
            self._protocol.stretch
        )
        if delta_type is None or (params := _decode_delta(line)) is None:
            return None
        more, speaker = params.data
        delta: Any = more.delta
        is_more = type(delta) is delta_type and more.index == index and speaker.run_id == run_id
        if not is_more or params.namespace != namespace or not delta.said:
            return None
        if hoard is not None:
            hoard.append(delta.said)
        event: StreamEvent = event_class(id=name, scope=scope, delta=delta.said)
        return event

    def read(self, raw: JSON) -> Events:
        if isinstance(raw, dict):
            method = raw.get("method")
            if isinstance(method, str) and method in _METHODS:
                line = convert({"line": raw}, _Line).line
                return self._run.pass_on(self._protocol.read(line))
            event = raw.get("event")
            if isinstance(event, str) and event in _EVENTS:
                bare = convert({"event": raw}, _Event).event
                return self._protocol.read_event(bare, {})
            if self._callbacks.knows(event):
                return self._callbacks.read(raw)
            if "_interrupts" in raw:
                return self._run.ask(raw["_interrupts"] or None, ())
        return self._run.pass_on(self._read_part(raw))

    def _read_part(self, raw: JSON) -> Events:
        part = as_part(raw, self._graph)
        if part is None:
            return self._graph.message(raw, wire.MessageMetadata(), ())
        self._run.is_graph = True
        events = self._graph.read(part.mode, part.data, part.space)
        if part.interrupts:
            events += self._run.ask(part.interrupts, self._graph.scope(part.space))
        return events

    def close(self) -> Events:
        return self._run.pass_on(self._run.close())


class DeepAgentsParser(LangChainParser):
    """One run of a deep agent: a LangGraph graph with a plan, files and subagents."""

    framework = "deepagents"
    formats = DEEP_FORMATS
