"""The END of a call whose input came as JSON text."""

from __future__ import annotations

from mobox import json_text
from mobox.errors import NotJson
from mobox.events import JSON, ToolUseEnd

__all__ = ["input_of"]


def input_of(name: str, text: JSON, scope: tuple[str, ...] = ()) -> ToolUseEnd:
    """The END of a call with this input: JSON text, nothing, or the value itself."""
    if not isinstance(text, str):
        return ToolUseEnd(id=name, scope=scope, input={} if text is None else text)
    if not text.strip():
        return ToolUseEnd(id=name, scope=scope, input={})
    try:
        return ToolUseEnd(id=name, scope=scope, input=json_text.decode(text.encode()))
    except NotJson:
        return ToolUseEnd(id=name, scope=scope, invalid=text)
