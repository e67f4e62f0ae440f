"""Gemini: chunks of generate_content, events of interactions, and the simplified lines."""

from __future__ import annotations

import re
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
from mobox.parsers.values import as_object, objects_in

_AUTHOR = ("author",)
"""An event of ADK has one, and the fields of a chunk beside it."""
_LATER_WORD: Final = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")


def _camel(key: str) -> str:
    return _LATER_WORD.sub(lambda found: found[1].upper(), key)


PARTS: Final = tuple(map(_camel, Content.PARTS))
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


# Keys: Python's objects are dumped in snake_case, the API writes camelCase.

_OWN_NAMES: Final = frozenset(
    {
        "args", "artifactDelta", "customMetadata", "output", "payload", "requestedAuthConfigs",
        "requestedToolConfirmations", "response", "stateDelta",
    }
)  # fmt: skip
"""Values from a caller or a tool: their keys are not changed."""
_CONTAINERS: Final = (dict, list)


def camel(value: JSON) -> JSON:
    """`value` with the keys that are the API's in the API's spelling."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    spelled = {}
    for key, inner in value.items():
        name = _LATER_WORD.sub(_upper, key) if "_" in key else key
        # Most values are scalars, which need no call.
        is_apis = isinstance(inner, _CONTAINERS) and name not in _OWN_NAMES
        spelled[name] = camel(inner) if is_apis else inner
    return spelled


def _upper(found: re.Match[str]) -> str:
    return found[1].upper()


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
