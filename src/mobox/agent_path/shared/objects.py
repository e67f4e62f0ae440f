"""What an SDK hands over, as lines: its objects as they are, or its chat messages retold.

An object is told with all that it has, and left to the parser of its framework; prefer that. The
messages of LangChain and LangGraph are retold in the emitter's own words, for agents that only see
whole messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .output import plain, write_line

__all__ = ["emit_object", "process_messages"]


def emit_object(value: Any) -> None:
    """Say what an SDK's object says, in the form its parser reads: a line of its fields."""
    write_line(_described(value))


def _described(value: Any) -> Any:
    """Dataclasses are told with their class, which is all that tells some of them apart."""
    if isinstance(value, Mapping):
        return {str(key): _described(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_described(inner) for inner in value]
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
        return {"_class": type(value).__name__, **_described(fields)}
    if isinstance(value, BaseException):
        return {"_exception": type(value).__name__, "str": str(value)}
    return plain(value)


def process_messages(messages: Iterable[Any], skip_ai_text: bool = False) -> None:
    """Retell messages, objects or dicts; without the answer's words where those were streamed."""
    for message in messages:
        kind = _get(message, "type") or _get(message, "role")
        if kind in ("ai", "assistant", "AIMessageChunk"):
            _tell_answer(message, skip_ai_text)
        elif kind == "tool":
            _tell_result(message)


def _tell_answer(message: Any, skip_text: bool) -> None:
    text = _words(_get(message, "content"))
    if text and not skip_text:
        _emit("text", content=text)
    for call in _get(message, "tool_calls") or []:
        _emit("tool_use", id=_get(call, "id"), name=_get(call, "name"), input=_get(call, "args"))
    usage = _get(message, "usage_metadata")
    if usage:
        write_line({"type": "usage", "data": usage})


def _tell_result(message: Any) -> None:
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
