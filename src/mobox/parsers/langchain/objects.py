"""LangChain's objects in their equivalent JSON forms.

A message is `{"lc": 1, "type": "constructor", "id": […, class], "kwargs": {…}}` by its own `dumps`,
its fields with a `type` by `model_dump`, and those with the name of its class, `_lc` or `_class`,
in capture/sdk and recordings. Commands and interrupts are dataclasses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mobox.events import JSON

__all__ = ["MessageObject", "as_message", "is_command", "messages_in", "named", "unwrapped"]

Object = dict[str, JSON]

_KINDS: Final = {
    "AIMessage": "ai",
    "AIMessageChunk": "chunk",
    "ai": "ai",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "tool": "tool",
    "HumanMessage": "other",
    "HumanMessageChunk": "other",
    "human": "other",
    "SystemMessage": "other",
    "SystemMessageChunk": "other",
    "system": "other",
    "ChatMessage": "other",
    "ChatMessageChunk": "other",
    "FunctionMessage": "other",
    "FunctionMessageChunk": "other",
    "function": "other",
    "RemoveMessage": "other",
    "remove": "other",
}
"""By the class or the `type` of a message; "other" is input of the model, not its output."""


class MessageObject(NamedTuple):
    """A message: its kind and its fields."""

    kind: str
    fields: Object

    @property
    def id(self) -> str | None:
        """Its id in the graph's state."""
        name = self.fields.get("id")
        return name if isinstance(name, str) and name else None


def named(raw: JSON) -> str | None:
    """The class of an object, if its form has it."""
    if not isinstance(raw, dict):
        return None
    path = raw.get("id")
    if raw.get("lc") == 1 and isinstance(path, list) and path:
        return str(path[-1])
    name = raw.get("_lc") or raw.get("_class")
    return name if isinstance(name, str) else None


def unwrapped(raw: Object) -> Object:
    """The fields of an object."""
    kwargs = raw.get("kwargs")
    return kwargs if raw.get("lc") == 1 and isinstance(kwargs, dict) else raw


def as_message(raw: JSON) -> MessageObject | None:
    """The message that `raw` is, if it is one."""
    if not isinstance(raw, dict):
        return None
    name, fields = named(raw), unwrapped(raw)
    if name is None:
        kind = fields.get("type")
        name = kind if isinstance(kind, str) and "content" in fields else None
    known = _KINDS.get(name or "")
    return MessageObject(known, fields) if known is not None else None


def messages_in(raw: JSON) -> Iterator[MessageObject]:
    """The messages of a state, which may have one or several."""
    for each in raw if isinstance(raw, list) else [raw]:
        message = as_message(each)
        if message is not None:
            yield message


def is_command(raw: JSON) -> bool:
    """Whether a node or a tool returns a Command: an update, and where to go next."""
    return isinstance(raw, dict) and "update" in raw and "goto" in raw
