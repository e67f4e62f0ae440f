"""ADK: the events of a Runner, whose contents are Gemini's.

Rule 1: the actions of an event (state, artifacts, transfer) count only if it is not partial:
        partial events share an object that is still being changed.
Rule 2: an error code that is a finish reason is why the model stopped, not a failure. Any other is
        followed by the exception itself, which is reported once.
Rule 3: an agent to which the root transfers has the root's scope; one that a call spawned, or that
        runs in parallel, has its own scope.
Rule 4: if no agent has the root's scope, the answer is the output of the parallel agents, or else
        that of the workflow.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mobox.errors import UnrecognizedLine
from mobox.events import JSON, Events, Raw
from mobox.parsers import EventParser
from mobox.parsers.adk import wire
from mobox.parsers.adk.run import Run
from mobox.parsers.formats import Format, has_keys
from mobox.parsers.gemini import PARTS, kind_by_parts
from mobox.parsers.gemini.wire import camel
from mobox.parsers.values import ALREADY_REPORTED, as_object, exception_error, is_exception

# The formats of ADK's lines.

_FOLLOW_UP: Final = "__follow_up__"
"""The key of the caller's next message in a recording."""


def _kind(line: dict[str, JSON]) -> str:
    event = as_object(camel(line))
    how = "partial" if event.get("partial") else "whole"
    return _FOLLOW_UP if _FOLLOW_UP in line else kind_by_parts(how, event, event)


FORMATS: tuple[Format, ...] = (
    Format(
        "ADK's events",
        (
            has_keys("author", "invocationId"),
            has_keys("author", "invocation_id"),
            has_keys("author", "actions"),
            has_keys(_FOLLOW_UP, confidence=0.5),
        ),
        kind=_kind,
        known=tuple(f"{how}: {part}" for how in ("partial", "whole") for part in PARTS),
    ),
)


_NAMES: Final = frozenset({"invocationId", "actions"})
"""Keys of which an event has at least one, beside its author."""
_decode_delta: Final = msgspec.json.Decoder(wire.DeltaEvent).decode


class AdkParser(EventParser):
    """One run of a Runner."""

    framework = "adk"
    formats = FORMATS

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._run = Run(self.framework, prefix)

    def feed_line(self, line: bytes) -> Events:
        """Parse one line. One that only continues the open block is decoded into its type."""
        events = self._feed_typed(_decode_delta, self._run.read_delta, line)
        return super().feed_line(line) if events is None else events

    def feed(self, raw: JSON) -> Events:
        """Parse a line; an exception that follows the event which reported it is RAW."""
        if isinstance(raw, dict) and self._run.failure is not None and is_exception(raw):
            try:
                message = exception_error(raw).message
            except msgspec.ValidationError:
                message = None
            if message == self._run.failure:
                return [Raw(raw=raw, source=ALREADY_REPORTED)]
        return super().feed(raw)

    def read(self, raw: JSON) -> Events:
        if not isinstance(raw, dict):
            raise UnrecognizedLine
        if _FOLLOW_UP in raw:
            answer = msgspec.convert(camel(raw[_FOLLOW_UP]), wire.Answer)
            responses = [part.function_response for part in answer.parts or ()]
            return self._run.answer([each for each in responses if each is not None])
        event = camel(raw)
        if "author" not in event or _NAMES.isdisjoint(event):
            raise UnrecognizedLine
        return self._run.read(msgspec.convert(event, wire.Event))

    def close(self) -> Events:
        return self._run.close()
