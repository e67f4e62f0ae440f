"""LangChain, LangGraph and DeepAgents, whichever of their streams an agent prints.

Lines are the typed protocol's (`astream_events` v3), the callbacks' (v2), the parts of LangGraph's
own `astream`, or bare messages; and the simplified lines, as with every framework.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, convert

from mobox import json_text
from mobox.errors import NotUnderstood
from mobox.events import JSON, Raw, StreamEvent
from mobox.parsers import EventParser
from mobox.parsers.langchain import protocol_wire, wire
from mobox.parsers.langchain.callbacks import Callbacks
from mobox.parsers.langchain.graph import Graph
from mobox.parsers.langchain.parts import as_part
from mobox.parsers.langchain.protocol import NO_STRETCH, Protocol
from mobox.parsers.langchain.protocol_wire import BlockMore, Messages
from mobox.parsers.langchain.run import Run
from mobox.parsers.raised import is_raised

__all__ = ["DeepAgentsParser", "LangChainParser"]

Events = list[StreamEvent]


class _Line(Struct):
    """Holds the union: msgspec works its type out once for a class, but anew for a bare union."""

    line: protocol_wire.AnyLine


class _Event(Struct):
    event: protocol_wire.AnyEvent


_decode = msgspec.json.Decoder(protocol_wire.AnyLine).decode
_METHODS = {line.__struct_config__.tag for line in protocol_wire.Line.__subclasses__()}
_EVENTS = {event.__struct_config__.tag for event in protocol_wire.Event.__subclasses__()}
_METHOD = b'"method"'
_HEAD = 40
"""Where a line of the protocol has that word, as everybody writes it; if not, it takes longer."""


def _typed(line: bytes) -> Any:
    """A line of the protocol, decoded straight into its shape; `None` for any other."""
    if line.find(_METHOD, 0, _HEAD) < 0 or not json_text.is_shallow(line):
        return None
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None  # the long way tells what it is


class LangChainParser(EventParser):
    """One run of an agent that speaks one of LangChain's formats."""

    framework = "langchain"

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._run = Run(self.framework, prefix)
        self._graph = Graph(self._run)
        self._protocol = Protocol(self._run, self._graph)
        self._callbacks = Callbacks(self._run, self._graph)

    def feed(self, raw: JSON) -> Events:
        self._protocol.stretch = NO_STRETCH  # whatever it is, it may end what was being said
        events = super().feed(raw)
        if isinstance(raw, dict) and is_raised(raw):
            self._run.failed = True
        return events

    def feed_line(self, line: bytes) -> Events:
        """Take one line of JSON."""
        return self.feed_lines([line])

    def more(self, line: bytes) -> StreamEvent | None:
        namespace, run_id, index, hears, tells, name, scope, hoard = self._protocol.stretch
        if hears is None:
            return None
        typed = _typed(line)
        if type(typed) is not Messages or type(typed.params.data) is not tuple:
            return None
        event, about = typed.params.data
        if (
            type(event) is BlockMore
            and event.index == index
            and about.run_id == run_id
            and typed.params.namespace == namespace
        ):
            delta: Any = event.delta
            if type(delta) is hears and (said := delta.said):
                if hoard is not None:
                    hoard.append(said)
                told: StreamEvent = tells(id=name, scope=scope, delta=said)
                return told
        return None

    def feed_lines(self, lines: Iterable[bytes | StreamEvent]) -> Events:
        """Take what one read brought. Most lines are more of the same block: a short way is theirs.

        It does what the long way would do, which for such a line ends in `Message.speak`.
        """
        events: Events = []
        namespace, run_id, index, hears, tells, name, scope, hoard = self._protocol.stretch
        for line in lines:
            if not isinstance(line, bytes):
                events.append(line)
                continue
            typed = _typed(line)
            if type(typed) is Messages and type(typed.params.data) is tuple:
                event, about = typed.params.data
                if (
                    type(event) is BlockMore
                    and event.index == index
                    and about.run_id == run_id
                    and typed.params.namespace == namespace
                ):
                    delta: Any = event.delta
                    if type(delta) is hears and (said := delta.said):
                        if hoard is not None:
                            hoard.append(said)
                        events.append(tells(id=name, scope=scope, delta=said))
                        continue
            events += self._read_typed(line, typed)
            namespace, run_id, index, hears, tells, name, scope, hoard = self._protocol.stretch
        return events

    def _read_typed(self, line: bytes, typed: Any) -> Events:
        if typed is None or type(typed) is not Messages:
            return super().feed_line(line)
        try:
            return self._run.start(self._protocol.read(typed))
        except NotUnderstood:
            return [Raw(raw=json_text.decode(line))]
        except msgspec.ValidationError as error:
            return [Raw(raw=json_text.decode(line), source=f"malformed: {error}")]

    def read(self, raw: JSON) -> Events:
        if isinstance(raw, dict):
            if raw.get("method") in _METHODS and isinstance(raw.get("params"), dict):
                line = convert({"line": raw}, _Line).line
                return self._run.start(self._protocol.read(line))
            event = raw.get("event")
            if isinstance(event, str) and event in _EVENTS:
                bare = convert({"event": raw}, _Event).event
                return self._protocol.read_event(bare, wire.MessageMetadata())
            if self._callbacks.knows(event):
                return self._callbacks.read(raw)
            if "_interrupts" in raw:
                return self._run.ask(raw["_interrupts"] or None, ())
        return self._run.start(self._read_part(raw))

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
        return self._run.start(self._run.close())


class DeepAgentsParser(LangChainParser):
    """One run of a deep agent: a LangGraph graph with a plan, files and subagents."""

    framework = "deepagents"
