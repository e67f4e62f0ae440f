"""The simplified lines that the event-mapping document plans for Gemini."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from msgspec import Struct, convert

from mobox.events import JSON, StreamEvent, TextDelta
from mobox.parsers.gemini.content import Content

__all__ = ["Simplified"]

Events = list[StreamEvent]


class _Content(Struct):
    text: str


class Simplified:
    """`content`, `function_call` and `function_response`; the emitter's own are read elsewhere."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def knows(self, raw: dict[str, JSON]) -> bool:
        """Whether this is such a line."""
        kind = raw.get("type")
        return isinstance(kind, str) and kind in self.LINES and isinstance(raw.get("data"), dict)

    def read(self, raw: dict[str, JSON]) -> Events:
        """What such a line means."""
        return self.LINES[raw["type"]](self, raw["data"])

    def _text(self, data: dict[str, JSON]) -> Events:
        return [TextDelta(delta=convert(data, _Content).text)]

    def _call(self, data: dict[str, JSON]) -> Events:
        return self._content.part({"functionCall": data})

    def _response(self, data: dict[str, JSON]) -> Events:
        return self._content.part({"functionResponse": data})

    LINES: ClassVar[dict[str, Callable[[Simplified, dict[str, Any]], Events]]] = {
        "content": _text,
        "function_call": _call,
        "function_response": _response,
    }
