"""What an SDK hands over, as lines: its objects as they are, or its chat messages retold.

An object is told with all that it has, and left to the parser of its framework; prefer that. The
messages of LangChain and LangGraph are retold in the emitter's own words, for agents that only see
whole messages.

Rule 1: no SDK is imported. What an object is, its fields and the names of its classes tell.
Rule 2: dataclasses and chat messages are told with their class, which is all that tells some of
        them apart; a pydantic model by the names that it has on the wire.
Rule 3: what repeats the history is left out: of a state's messages those that were told, and what
        a model or a node was given, which is the state.
Rule 4: whatever the object, it is told in some way; it never raises.
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
"""Of the events of callbacks, by their name: what says the history again."""

HISTORY = frozenset({"model_input_messages"})
"""Fields of dataclasses that hold all that a model was given: every step would repeat it."""

WAYS_OF_MODELS: tuple[dict[str, Any], ...] = (
    {"mode": "json", "by_alias": True, "exclude_none": True},
    {"mode": "json"},
    {},
)
"""How a pydantic model is asked for its fields, the best way first."""


class Objects:
    """Makes plain values of objects; remembers which messages of a state were told."""

    def __init__(self) -> None:
        self._seen: dict[Any, None] = {}  # an ordered set

    def describe(self, value: Any, above: tuple[int, ...] = ()) -> Any:
        """A JSON value that says what `value` says, in the form that its parser reads."""
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
        with suppress(Exception):  # what a guest's attributes may raise is anything
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
            fields[str(key)] = self.describe(inner, above)
        return fields

    def _is_new(self, message: Any) -> bool:
        """Whether a message of a state was not told before; one without a name always is."""
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
    """What an object is made of; `None` where only its `repr` is left."""
    if isinstance(value, type):
        return None
    if isinstance(value, BaseException):
        return {"_exception": type(value).__name__, "str": str(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(bytes(value)).decode("ascii")
    if hasattr(value, "__dataclass_fields__"):
        names = [name for name in value.__dataclass_fields__ if name not in HISTORY]
        return {"_class": type(value).__name__, **{name: getattr(value, name) for name in names}}
    if hasattr(value, "model_dump"):
        return _message(value) if _is_message(value) else _model(value)
    if hasattr(value, "save") and hasattr(value, "mode") and hasattr(value, "size"):
        return _image(value)
    return None


def _is_message(value: Any) -> bool:
    return any(each.__name__ == "BaseMessage" for each in type(value).__mro__)


def _message(message: Any) -> dict[str, Any]:
    """A chat message without the fields that say nothing."""
    fields = message.model_dump()
    described = {n: v for n, v in fields.items() if n == "content" or v not in (None, [], {}, "")}
    return {"_class": type(message).__name__, **described}


def _model(value: Any) -> Any:
    for how in WAYS_OF_MODELS:
        with suppress(Exception):  # it holds what pydantic cannot write, or is no model of theirs
            return value.model_dump(**how)
    return None


def _image(image: Any) -> dict[str, str]:
    """A picture, as the block of content that shows it."""
    data = BytesIO()
    image.save(data, format="PNG")
    base64 = b64encode(data.getvalue()).decode("ascii")
    return {"type": "image", "base64": base64, "mime_type": "image/png"}


_objects = Objects()


def emit_object(value: Any) -> None:
    """Say what an SDK's object says, in the form its parser reads: a line of its fields."""
    write_line(_objects.describe(value))


def process_messages(messages: Iterable[Any], skip_ai_text: bool = False) -> None:
    """Retell messages, objects or dicts; without the answer's words where those were streamed."""
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
    """The text of a message, whose content is words or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = [each for each in content or [] if _get(each, "type") == "text"]
    return "".join(str(_get(each, "text")) for each in blocks)
