"""Extracts the code from a call's input while it is streamed: a prefix of JSON text.

Code that cannot be found in the prefix is sent at the end, when the input is complete.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

__all__ = ["StreamedCode"]

_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_BEFORE: Final = re.compile(
    rf'\s*\{{\s*(?:(?!"code"){_STRING}\s*:\s*(?:{_STRING}|[^"\\{{}}\[\],\s]+)\s*,\s*)*"code"\s*:\s*"'
)
"""An object up to its member `code`; members before it may be strings, numbers or literals."""
_LONGEST: Final = 2048
"""Characters after which the search for the code stops."""
_WHOLE: Final = re.compile(
    r'(?:[^"\\]'
    r'|\\["\\/bfnrt]'
    r"|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*"
)
"""Characters of a JSON text, each of them complete."""


class StreamedCode:
    """The code of one call."""

    def __init__(self) -> None:
        self._unread = ""
        self._has_started = self._is_over = False

    def feed(self, delta: str) -> str:
        """The new part of the code."""
        if self._is_over:
            return ""
        self._unread += delta
        if not self._has_started:
            self._look_for_code()
        return self._code() if self._has_started else ""

    def _look_for_code(self) -> None:
        if before := _BEFORE.match(self._unread):
            self._has_started, self._unread = True, self._unread[before.end() :]
        elif len(self._unread) > _LONGEST:
            self._is_over = True

    def _code(self) -> str:
        found = _WHOLE.match(self._unread)
        assert found is not None  # it may be empty
        self._unread = self._unread[found.end() :]
        self._is_over = self._unread.startswith('"')
        try:
            return msgspec.json.decode(f'"{found[0]}"'.encode(), type=str)
        except (msgspec.DecodeError, UnicodeEncodeError):
            self._is_over = True
            return ""
