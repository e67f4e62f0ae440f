"""Placeholders in a text, `<<{…}>>`: a JSON object that names a tool call to be shown there.

Rule 1: a placeholder names a call by a string value that is the call's id, under any key.
Rule 2: only such values are replaced. All other text is unchanged, including text that only looks
        like a placeholder.
Rule 3: a text may come in pieces of any size. A piece that may be the start of a placeholder is
        held back until that is certain, and a placeholder is returned in one piece. What is
        returned and held back depends on the whole text only, never on the pieces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

Resolve = Callable[[str], str | None]
"""The replacement for a string of a placeholder; `None` leaves it as it is."""

LONGEST: Final = 2000
"""Maximum characters of a placeholder; a longer one is passed on with no id replaced."""

_OPENING: Final = "<<{"
_CLOSING: Final = "}>>"
_NO_OBJECT: Final = re.compile(r'<<\{\s*[^\s"]|<<\{.*?\n[ \t\r]*\n', re.DOTALL)
"""Not a placeholder: a member must start with a quote, and this JSON has no blank line."""
_VALUE: Final = re.compile(r'"(?:[^"\\]|\\.)*"(?=\s*[,\]}])')
"""A string that is no key, in JSON that is valid."""


class Placeholders:
    """One text that comes in pieces."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._held = ""

    def feed(self, piece: str) -> str:
        """The text that is certain by now, with the ids of its placeholders replaced."""
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
        """Whether these pieces may be part of a placeholder: most are not."""
        return bool(self._held) or "<" in "".join(pieces)

    def flush(self) -> str:
        """The text has ended: return what was held back, which is no placeholder."""
        held, self._held = self._held, ""
        return held

    def _replaced(self, placeholder: str) -> str:
        return _VALUE.sub(self._value, placeholder)

    def _value(self, found: re.Match[str]) -> str:
        replacement = self._resolve(json.loads(found.group()))
        return found.group() if replacement is None else json.dumps(replacement, ensure_ascii=False)


def resolved(text: str, resolve: Resolve, *, ended: bool) -> str:
    """The text received so far with its ids replaced, without what is held back."""
    if "<" not in text:
        return text
    placeholders = Placeholders(resolve)
    ready = placeholders.feed(text)
    return ready + placeholders.flush() if ended else ready


def _end_of(text: str, start: int) -> int | None:
    """The end of the placeholder at `start`; `start` if there is none, `None` if it may be one."""
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
