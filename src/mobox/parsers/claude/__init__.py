"""Claude: the Messages API's stream, beside the simplified lines that every agent may print."""

from __future__ import annotations

from typing import get_args

from msgspec import convert

from mobox.events import JSON, Done, DoneReason, Raw, Start, StreamEvent
from mobox.parsers import EventParser
from mobox.parsers.claude import wire
from mobox.parsers.claude.messages import Messages

__all__ = ["ClaudeParser"]

REASONS: dict[str, DoneReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "compaction": "stop",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
"""What the API's stop reasons mean; an unknown one is its own word for stopping."""

_API_LINES = {line.__struct_config__.tag for line in get_args(wire.AnyLine)}


class ClaudeParser(EventParser):
    """One run of an agent that speaks Claude's formats."""

    framework = "claude"

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._messages = Messages(prefix)
        self._started = False

    def read(self, raw: JSON) -> list[StreamEvent]:
        kind = raw.get("type") if isinstance(raw, dict) else None
        if not isinstance(kind, str) or kind not in _API_LINES:
            return [Raw(raw=raw)]
        line = convert(raw, wire.AnyLine)
        return [*self._begin(line), *self._messages.read(line)]

    def close(self) -> list[StreamEvent]:
        events = self._messages.close()
        native = self._messages.stop_reason
        if native is not None:
            events.append(Done(reason=REASONS.get(native, "stop"), native=native))
        return events

    def _begin(self, line: wire.Line) -> list[StreamEvent]:
        if self._started or not isinstance(line, wire.MessageStart):
            return []
        self._started = True
        return [Start(framework=self.framework, model=line.message.model)]
