"""Gemini: chunks of generate_content, events of interactions, and the simplified lines."""

from __future__ import annotations

from typing import Final

import msgspec

from mobox import json_text
from mobox.errors import NotUnderstood
from mobox.events import JSON, Events, StreamEvent, TextDelta, ThinkingDelta
from mobox.parsers import EventParser
from mobox.parsers.gemini import wire
from mobox.parsers.gemini.chunks import Chunks
from mobox.parsers.gemini.formats import FORMATS
from mobox.parsers.gemini.interactions import Interactions
from mobox.parsers.gemini.spelling import camel

__all__ = ["SIMPLIFIED", "GeminiParser"]

_decode_delta: Final = msgspec.json.Decoder(wire.SpokenChunk).decode
_NAMES: Final = frozenset(
    {"candidates", "usageMetadata", "promptFeedback", "automaticFunctionCallingHistory", "error"}
)
"""Keys of which a chunk has at least one."""

SIMPLIFIED: Final = {"function_call": "functionCall", "function_response": "functionResponse"}
"""The simplified lines that the event-mapping document plans for Gemini, and the parts they are."""


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

    def more(self, line: bytes) -> StreamEvent | None:
        chunks = self._chunks
        block = chunks.content.block
        if block is None or not json_text.is_shallow(line):
            return None
        try:
            chunk = _decode_delta(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        part = chunk.candidates[0].content.parts[0]
        if part.thought is not block.thought or not part.text:
            return None
        if chunk.response_id != chunks.response and chunk.response_id is not None:
            return None
        if chunk.usage_metadata:
            chunks.usage = chunk.usage_metadata
        if part.thought:
            return ThinkingDelta(id=block.name, delta=part.text)
        return TextDelta(id=block.name, delta=part.text)

    def read(self, raw: JSON) -> Events:
        if not isinstance(raw, dict):
            raise NotUnderstood
        if self._interactions.knows(raw):
            return self._interactions.read(raw)
        kind, data = raw.get("type"), raw.get("data")
        if isinstance(kind, str) and kind in SIMPLIFIED and isinstance(data, dict):
            return self._chunks.content.part({SIMPLIFIED[kind]: data})
        if kind == "content" and isinstance(data, dict):
            return [TextDelta(delta=msgspec.convert(data, _Words).text)]
        chunk = camel(raw)
        if _NAMES.isdisjoint(chunk):
            raise NotUnderstood
        return self._chunks.read(msgspec.convert(chunk, wire.Chunk))

    def close(self) -> Events:
        return [*self._chunks.close(), *self._interactions.close()]
