"""Emits an SDK's objects as lines, or its chat messages as the emitter's own lines.

An object is written with all its fields, for the parser of its framework; prefer that. Messages of
LangChain and LangGraph can be converted to the emitter's own lines, for agents that only have
complete messages.

Rule 1: no SDK is imported. Objects are recognized by their fields and the names of their classes.
Rule 2: dataclasses and chat messages are written with their class, which distinguishes some of
        them; a pydantic model with its names on the wire.
Rule 3: what is repeated is left out: messages of a state that were written before, the input of a
        model or a node, which is the state, and all of an agent but its name.
Rule 4: every object is written in some form; it never raises.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import BytesIO
from typing import Any

from .output import MAX_DEPTH, plain, write_line

__all__ = ["Objects", "emit_object", "process_messages"]

CUT = "…"
MOST_TOLD = 10_000
"""How many messages are remembered."""

REPEATS = {
    "on_chain_end": ("input",),
    "on_chat_model_end": ("input",),
    "on_chat_model_start": ("input",),
}
"""Fields of callback events that repeat the history, by the event's name."""

HISTORY = frozenset({"model_input_messages"})
"""Fields of dataclasses with the whole input of a model: every step would repeat it."""

WAYS_OF_MODELS: tuple[dict[str, Any], ...] = (
    {"mode": "json", "by_alias": True, "exclude_none": True},
    {"mode": "json"},
    {},
)
"""Options to dump a pydantic model, the best first."""


class Objects:
    """Converts objects to plain values; remembers which messages of a state were written."""

    def __init__(self) -> None:
        self._seen: dict[Any, None] = {}  # an ordered set

    def describe(self, value: Any, above: tuple[int, ...] = ()) -> Any:
        """A JSON value for `value`, in the form that its parser reads."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return plain(value)
        if len(above) > MAX_DEPTH or id(value) in above:
            return CUT
        above = (*above, id(value))
        if isinstance(value, Mapping):
            return self._mapping(value, above)
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.describe(inner, above) for inner in list(value)]
        fields = None
        with suppress(Exception):  # an agent's attributes may raise anything
            fields = _fields(value)
        return plain(value) if fields is None else self.describe(fields, above)

    def _mapping(self, value: Mapping[Any, Any], above: tuple[int, ...]) -> dict[str, Any]:
        repeats = REPEATS.get(str(value.get("event")))
        if repeats and isinstance(value.get("data"), Mapping):
            data = {name: value["data"][name] for name in value["data"] if name not in repeats}
            value = {**value, "data": data}
        fields = {}
        for key, inner in list(value.items()):
            if key == "messages" and isinstance(inner, (list, tuple)):
                inner = [each for each in inner if self._is_new(each)]
            # Most values are texts, which need no call.
            fields[str(key)] = inner if type(inner) is str else self.describe(inner, above)
        return fields

    def _is_new(self, message: Any) -> bool:
        """Whether a message of a state was not written before; always true without an id."""
        name = _get(message, "id") if _is_message(message) else None
        if not isinstance(name, str):
            return True
        if name in self._seen:
            return False
        self._seen[name] = None
        if len(self._seen) > MOST_TOLD:
            del self._seen[next(iter(self._seen))]
        return True


def _fields(value: Any) -> Any:
    """The fields of an object; `None` if only its `repr` is left."""
    if isinstance(value, type):
        return None
    if isinstance(value, BaseException):
        from .uncaught import exception_line  # only now: an agent should start fast

        return exception_line(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(bytes(value)).decode("ascii")
    if hasattr(value, "__dataclass_fields__"):
        if _is_agent(value):
            return {"_class": type(value).__name__, "name": value.name}
        names = [name for name in value.__dataclass_fields__ if name not in HISTORY]
        return {"_class": type(value).__name__, **{name: getattr(value, name) for name in names}}
    if hasattr(value, "model_dump"):
        return _message(value) if _is_message(value) else _model(value)
    if hasattr(value, "save") and hasattr(value, "mode") and hasattr(value, "size"):
        return _image(value)
    return None


def _is_agent(value: Any) -> bool:
    """Whether it is an agent of the Agents SDK: every item of a run has one, with all its tools."""
    return any(each.__name__ == "AgentBase" for each in type(value).__mro__)


def _is_message(value: Any) -> bool:
    return any(each.__name__ == "BaseMessage" for each in type(value).__mro__)


def _message(message: Any) -> dict[str, Any]:
    """A chat message without its empty fields."""
    fields = message.model_dump()
    described = {n: v for n, v in fields.items() if n == "content" or v not in (None, [], {}, "")}
    return {"_class": type(message).__name__, **described}


def _model(value: Any) -> Any:
    for how in WAYS_OF_MODELS:
        with suppress(Exception):  # not a pydantic model, or it cannot dump its values
            return value.model_dump(**how)
    return None


def _image(image: Any) -> dict[str, str]:
    """An image, as a content block."""
    data = BytesIO()
    image.save(data, format="PNG")
    base64 = b64encode(data.getvalue()).decode("ascii")
    return {"type": "image", "base64": base64, "mime_type": "image/png"}


_objects = Objects()


def emit_object(value: Any) -> None:
    """Emit an SDK's object in the form its parser reads: a line of its fields."""
    write_line(_objects.describe(value))


def process_messages(messages: Iterable[Any], skip_ai_text: bool = False) -> None:
    """Emit messages, objects or dicts; without the answer's text if that was streamed."""
    for message in messages:
        kind = _get(message, "type") or _get(message, "role")
        if kind in ("ai", "assistant", "AIMessageChunk"):
            _emit_answer(message, skip_ai_text)
        elif kind == "tool":
            _emit_result(message)


def _emit_answer(message: Any, skip_text: bool) -> None:
    text = _words(_get(message, "content"))
    if text and not skip_text:
        _emit("text", content=text)
    for call in _get(message, "tool_calls") or []:
        _emit("tool_use", id=_get(call, "id"), name=_get(call, "name"), input=_get(call, "args"))
    usage = _get(message, "usage_metadata")
    if usage:
        write_line({"type": "usage", "data": usage})


def _emit_result(message: Any) -> None:
    failed = _get(message, "status") == "error"
    content = _get(message, "content")
    _emit(
        "tool_result", tool_use_id=_get(message, "tool_call_id"), content=content, is_error=failed
    )


def _emit(kind: str, **data: Any) -> None:
    write_line({"type": kind, "data": data})


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _words(content: Any) -> str:
    """The text of a message, whose content is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = [each for each in content or [] if _get(each, "type") == "text"]
    return "".join(str(_get(each, "text")) for each in blocks)
