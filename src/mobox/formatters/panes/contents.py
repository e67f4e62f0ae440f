"""Extracts text for the panes from tools' inputs and outputs: code, commands, printed output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mobox.events import JSON, TodoItem
from mobox.formatters.panes.messages import encode

__all__ = ["checklist", "code_of", "command_of", "fenced", "language_of", "printed", "shown"]

_PRINTED: Final = ("stdout", "stderr", "logs", "output", "text")
"""Keys of results that hold printed output, in the order in which it is shown."""
_CODE: Final = (
    *("python_code", "source_code", "script", "source", "cell", "query", "command", "input"),
    "__arg1",
)
"""Other keys of a Python tool's input that may hold its code; LangChain's REPL uses `query`."""
_DEEPEST: Final = 16
_OPENING: Final = re.compile(r" {0,3}```(?:python|py)[0-9]?\b", re.IGNORECASE)
_CLOSING: Final = re.compile(r" {0,3}```\s*")
_BOXES: Final = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}


def shown(value: JSON) -> str:
    """A text as it is, any other value as JSON; an empty string for null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else encode(value).decode()


def code_of(given: JSON) -> str:
    """The code in the input of a code tool."""
    members = given if isinstance(given, dict) else {}
    operation = members.get("operation")
    patch = operation.get("diff") if isinstance(operation, dict) else None
    candidates = (members.get("code"), patch, *(members.get(name) for name in _CODE))
    return next((value for value in candidates if isinstance(value, str)), shown(given))


def language_of(given: JSON) -> str:
    """The language of the code: Python, unless the input names one."""
    if not isinstance(given, dict):
        return "python"
    named = given.get("language")
    if isinstance(named, str) and named:
        return named.lower()
    return "diff" if "operation" in given and "code" not in given else "python"


def command_of(given: JSON) -> str:
    """The commands in the input of a shell, each after a prompt."""
    members = given if isinstance(given, dict) else {}
    action = members.get("action")
    members = action if isinstance(action, dict) else members
    for name in ("command", "commands", "cmd", "code"):
        if lines := _lines(members.get(name), one_command=name != "commands"):
            return "\n".join(f"$ {line}" for line in lines)
    return f"$ {shown(given)}"


def _lines(value: JSON, *, one_command: bool) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        return []
    return [" ".join(value)] if one_command and value else value


def printed(value: JSON, depth: int = 0) -> str:
    """Printed output, from the forms in which tools return it."""
    if depth < _DEEPEST and isinstance(value, list):
        return _joined(printed(each, depth + 1) for each in value)
    if depth < _DEEPEST and isinstance(value, dict) and (names := value.keys() & set(_PRINTED)):
        return _joined(printed(value[name], depth + 1) for name in _PRINTED if name in names)
    return shown(value)


def _joined(texts: Iterable[str]) -> str:
    """The texts, each on its own lines."""
    filled = [text for text in texts if text]
    ended = [text if text.endswith("\n") else f"{text}\n" for text in filled[:-1]]
    return "".join([*ended, *filled[-1:]])


def fenced(text: str) -> Iterator[str]:
    """The Python code in a text: closed fences that are marked as Python."""
    code: list[str] | None = None
    for line in text.splitlines(keepends=True):
        if code is None:
            code = [] if _OPENING.match(line) else None
        elif _CLOSING.fullmatch(line):
            yield "".join(code)
            code = None
        else:
            code.append(line)


def checklist(items: Iterable[TodoItem]) -> str:
    """A plan as a list to tick off."""
    return "\n".join(f"- {_BOXES[item.status]} {item.content}" for item in items)
