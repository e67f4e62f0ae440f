"""Placeholders in a text, `<<{…}>>`: a JSON object that names a tool call to be shown there.

Rule 1: a placeholder names a call by a string value that is the call's id, under any key.
Rule 2: only such values are replaced. All else, and what only looks like a placeholder, stays the
        text that it is.
Rule 3: a text may come in pieces of any size. A piece that may be the beginning of a placeholder is
        held back until that is certain, and a placeholder is told in one piece. What is told and
        what is held back depend on the whole text only, never on the pieces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["LONGEST", "Placeholders", "Resolve", "resolved"]

Resolve = Callable[[str], str | None]
"""What to write for a string of a placeholder; `None` leaves it as it is."""

LONGEST: Final = 2000
"""Characters of a placeholder; more is held back from nobody, and has no id replaced."""

_OPENING: Final = "<<{"
_CLOSING: Final = "}>>"
_NO_OBJECT: Final = re.compile(r'<<\{\s*[^\s"]|<<\{.*?\n[ \t\r]*\n', re.DOTALL)
"""A member must begin with a quote, and a blank line ends a paragraph: JSON has none here."""
_VALUE: Final = re.compile(r'"(?:[^"\\]|\\.)*"(?=\s*[,\]}])')
"""A string that is no key, in JSON that is valid."""


class Placeholders:
    """One text that comes in pieces."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be told by now, with the ids of its placeholders replaced."""
        if not self._held and "<" not in piece:
            return piece
        text, self._held = self._held + piece, ""
        ready: list[str] = []
        done, start = 0, text.find("<")
        while start >= 0:
            end = _end_of(text, start)
            if end is None:
                self._held = text[start:]
                return "".join([*ready, text[done:start]])
            if end > start:
                ready += [text[done:start], self._replaced(text[start:end])]
                done = end
            start = text.find("<", max(end, start + 1))
        return "".join([*ready, text[done:]])

    def concern(self, pieces: Sequence[str]) -> bool:
        """Whether these pieces may have to do with a placeholder: most have not."""
        return bool(self._held) or "<" in "".join(pieces)

    def flush(self) -> str:
        """The text has ended: what was held back is no placeholder."""
        held, self._held = self._held, ""
        return held

    def _replaced(self, placeholder: str) -> str:
        return _VALUE.sub(self._value, placeholder)

    def _value(self, found: re.Match[str]) -> str:
        replacement = self._resolve(json.loads(found.group()))
        return found.group() if replacement is None else json.dumps(replacement, ensure_ascii=False)


def resolved(text: str, resolve: Resolve, *, ended: bool) -> str:
    """What is told of a text that has come so far."""
    if "<" not in text:
        return text
    placeholders = Placeholders(resolve)
    ready = placeholders.feed(text)
    return ready + placeholders.flush() if ended else ready


def _end_of(text: str, start: int) -> int | None:
    """Behind the placeholder that begins at `start`; `start` if none does, `None` if it may be."""
    head = text[start : start + len(_OPENING)]
    if head != _OPENING:
        is_cut = start + len(head) == len(text) and _OPENING.startswith(head)
        return None if is_cut else start
    longest = text[start : start + LONGEST]
    closing = longest.find(_CLOSING)
    while closing >= 0:
        end = closing + len(_CLOSING)
        if _NO_OBJECT.match(longest[:end]):
            return start
        if _is_object(longest[2 : end - 2]):
            return start + end
        closing = longest.find(_CLOSING, closing + 1)
    is_hopeless = len(longest) == LONGEST or _NO_OBJECT.match(longest)
    return start if is_hopeless else None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
