"""What the requests of a cassette tell: the user's message, and the results of tools.

A response of a model ends with tool calls; their results are in the next request. Each provider
writes them in its own way: a table of the shapes, read defensively.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mobox.events import JSON


class Result(NamedTuple):
    """The result of a tool call."""

    call_id: str
    output: JSON
    is_error: bool
    source: JSON
    """The part of the request."""


def prompt_of(request: JSON) -> str | None:
    """The user's last message in a request."""
    for message in reversed(_messages(request)):
        if message.get("role") == "user" and (text := _text_of(_content(message))):
            return text
    given = request.get("input") if isinstance(request, dict) else None
    return given if isinstance(given, str) else None


def results_of(request: JSON) -> Iterator[Result]:
    """The results of tools in a request, oldest first."""
    for message in _messages(request):
        if message.get("role") == "tool":  # chat completions
            yield from _result(message, "tool_call_id", "content")
        elif message.get("type") == "function_call_output":  # the Responses API
            yield from _result(message, "call_id", "output")
        else:  # the Messages API
            for part in _parts(_content(message)):
                if part.get("type") == "tool_result":
                    yield from _result(part, "tool_use_id", "content")


def _result(item: dict[str, Any], id_key: str, output_key: str) -> Iterator[Result]:
    call_id = item.get(id_key)
    if isinstance(call_id, str):
        output = item.get(output_key)
        text = _text_of(output)
        yield Result(call_id, output if text is None else text, bool(item.get("is_error")), item)


def _messages(request: JSON) -> list[dict[str, Any]]:
    if not isinstance(request, dict):
        return []
    named = (request.get(name) for name in ("messages", "input", "contents"))
    found = next((each for each in named if isinstance(each, list)), [])
    return _parts(found)


def _content(message: dict[str, Any]) -> JSON:
    return message.get("content", message.get("parts"))


def _parts(content: JSON) -> list[dict[str, Any]]:
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def _text_of(content: JSON) -> str | None:
    """The text of a content that is nothing but text."""
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in _parts(content)]
    words = [text for text in texts if isinstance(text, str)]
    return "\n".join(words) if words else None
