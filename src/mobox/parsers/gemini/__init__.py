"""Gemini: chunks of generate_content, events of interactions, and the simplified lines."""

from __future__ import annotations

from typing import Final

import msgspec

from mobox.errors import UnrecognizedLine
from mobox.events import JSON, Events, TextDelta
from mobox.parsers import EventParser
from mobox.parsers.formats import Format, has_keys, kind_in, kind_starts_with
from mobox.parsers.gemini import wire
from mobox.parsers.gemini.chunks import Chunks
from mobox.parsers.gemini.content import Content
from mobox.parsers.gemini.interactions import Interactions
from mobox.parsers.gemini.wire import camel, camel_key
from mobox.parsers.values import as_object, objects_in

_AUTHOR = ("author",)
"""An event of ADK has one, and the fields of a chunk beside it."""
PARTS: Final = tuple(map(camel_key, Content.PARTS))
"""The kinds of parts, in the API's spelling."""
_WITHOUT_PARTS: Final = ("errorCode", "finishReason", "output", "promptFeedback", "error")


def _error(line: JSON) -> float:
    error = line.get("error") if isinstance(line, dict) else None
    return 0.6 if isinstance(error, dict) and error.keys() >= {"code", "status"} else 0.0


def _chunk_kind(line: dict[str, JSON]) -> str:
    chunk = as_object(camel(line))
    first = next(iter(objects_in(chunk.get("candidates"))), {})
    return kind_by_parts("chunk", first, {**chunk, **first})


def kind_by_parts(how: str, message: dict[str, JSON], line: dict[str, JSON]) -> str:
    """The kind of a line: by the parts of its message, or else by the first of its other fields."""
    parts = objects_in(as_object(message.get("content")).get("parts"))
    kinds = ["thought"] if any(part.get("thought") for part in parts) else []
    kinds += [name for part in parts if not part.get("thought") for name in part if name in PARTS]
    kinds = kinds or [name for name in _WITHOUT_PARTS if line.get(name)][:1] or ["nothing"]
    return f"{how}: {' + '.join(dict.fromkeys(kinds))}"


FORMATS: tuple[Format, ...] = (
    Format(
        "Gemini's generate_content chunks",
        (
            has_keys("candidates", without=_AUTHOR),
            has_keys("promptFeedback", without=_AUTHOR),
            has_keys("prompt_feedback", without=_AUTHOR),
            has_keys("usageMetadata", "modelVersion", without=_AUTHOR, confidence=0.9),
            has_keys("usage_metadata", "model_version", without=_AUTHOR, confidence=0.9),
            has_keys("automaticFunctionCallingHistory"),
            has_keys("automatic_function_calling_history"),
            _error,
        ),
        kind=_chunk_kind,
        known=tuple(f"chunk: {part}" for part in PARTS),
    ),
    Format(
        "Gemini's interactions events",
        (kind_starts_with("event_type", "interaction.", "step."),),
        kind=("event_type", "step.type", "delta.type"),
        known=tuple(Interactions.EVENTS),
    ),
    Format(
        "simplified lines for Gemini",
        (
            kind_in(
                "type", ("content", "function_call", "function_response"), "data", confidence=0.8
            ),
        ),
    ),
)


_NAMES: Final = frozenset(
    {"candidates", "usageMetadata", "promptFeedback", "automaticFunctionCallingHistory", "error"}
)
"""Keys of which a chunk has at least one."""

SIMPLIFIED: Final = {"function_call": "functionCall", "function_response": "functionResponse"}
"""The simplified lines that the event-mapping document plans for Gemini, and the parts they are."""


_decode_delta: Final = msgspec.json.Decoder(wire.DeltaChunk).decode


class _Words(msgspec.Struct):
    text: str


class GeminiParser(EventParser):
    """One run of an agent that emits Gemini's formats."""

    framework = "gemini"
    formats = FORMATS

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._chunks = Chunks(self.framework, prefix)
        self._interactions = Interactions(self.framework, prefix)

    def feed_line(self, line: bytes) -> Events:
        """Parse one line. A chunk that only continues the open block is decoded into its type."""
        events = self._feed_typed(_decode_delta, self._chunks.read_delta, line)
        return super().feed_line(line) if events is None else events

    def read(self, raw: JSON) -> Events:
        if not isinstance(raw, dict):
            raise UnrecognizedLine
        if self._interactions.knows(raw):
            return self._interactions.read(raw)
        kind, data = raw.get("type"), raw.get("data")
        if isinstance(kind, str) and kind in SIMPLIFIED and isinstance(data, dict):
            return self._chunks.content.part({SIMPLIFIED[kind]: data})
        if kind == "content" and isinstance(data, dict):
            return [TextDelta(delta=msgspec.convert(data, _Words).text)]
        chunk = camel(raw)
        if _NAMES.isdisjoint(chunk):
            raise UnrecognizedLine
        return self._chunks.read(msgspec.convert(chunk, wire.Chunk))

    def close(self) -> Events:
        return [*self._chunks.close(), *self._interactions.close()]
