"""One line for the input of a tool call, and one for its result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from mobox.cli.terminal.style import one_line
from mobox.events import JSON

_TEXTS: Final = ("text", "content", "output", "result", "stdout", "message", "answer", "error")
"""Members of a result that may be all of it that a person wants to read."""
_LISTS: Final = ("results", "items", "documents", "rows", "matches", "sources", "files")
_MOST: Final = 100_000
"""Characters of a text that is looked at as JSON."""


def of_input(value: JSON) -> str:
    """The input: its only value, or `name: value` of each."""
    if value in (None, {}, [], ""):
        return ""
    if not isinstance(value, Mapping):
        return _inline(value)
    given = {name: each for name, each in value.items() if each not in (None, "", [], {})}
    if len(given) == 1:
        return "".join(map(_inline, given.values()))
    return ", ".join(f"{one_line(str(name))}: {_inline(each)}" for name, each in given.items())


def _inline(value: JSON) -> str:
    if isinstance(value, str):
        lines = value.strip().splitlines()
        return f'"{one_line(value)}"' if len(lines) <= 1 else f'"{one_line(lines[0])} …"'
    return one_line(_json(value))


def of_answer(value: JSON) -> str:
    """The answer to a question, or to several."""
    answers = value.get("answers") if isinstance(value, Mapping) else None
    if isinstance(answers, Mapping):
        return ", ".join(one_line(str(each)) for each in answers.values())
    return one_line(value) if isinstance(value, str) else of_input(value)


def of_result(value: JSON) -> str:
    """The result: how many there are of a list, the first line of a text, else JSON."""
    value = _decoded(value)
    if value in (None, "", {}):
        return "done"
    if isinstance(value, Mapping):
        return _of_object(value)
    if isinstance(value, list):
        text = _text_of_parts(value)
        return _counted(value) if text is None else of_result(text)
    return _first_line(value) if isinstance(value, str) else one_line(_json(value))


def _of_object(value: Mapping[str, JSON]) -> str:
    for name in _LISTS:
        if isinstance(value.get(name), list):
            return _counted(value[name])
    texts = [value[name] for name in _TEXTS if isinstance(value.get(name), str) and value[name]]
    rest = [each for name, each in value.items() if name not in _TEXTS and _is_large(each)]
    if len(texts) == 1 and not rest:
        return _first_line(texts[0])
    return one_line(_json(value))


def _is_large(value: JSON) -> bool:
    return isinstance(value, list | Mapping) and bool(value)


def _counted(values: list[Any]) -> str:
    if not values:
        return "no results"
    return "1 result" if len(values) == 1 else f"{len(values)} results"


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "done"
    if lines[0].endswith(":") and len(lines) > 1:  # a heading
        lines[:2] = [f"{lines[0]} {lines[1]}"]
    more = len(lines) - 1
    return one_line(lines[0]) + (f" (+{_lines(more)})" if more else "")


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _decoded(value: JSON) -> JSON:
    """The value of a text that is JSON; many tools return such texts."""
    if isinstance(value, str) and value[:1] in ("{", "[") and len(value) <= _MOST:
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _text_of_parts(parts: Iterable[JSON]) -> str | None:
    """The text of a provider's content parts; `None` if it is another list."""
    texts = []
    for part in parts:
        if not isinstance(part, Mapping) or "type" not in part:
            return None
        text = part.get("text")
        texts.append(text if isinstance(text, str) else f"[{part['type']}]")
    return "\n".join(texts) if texts else None


def _json(value: JSON) -> str:
    return msgspec.json.encode(value).decode()
