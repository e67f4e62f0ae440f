"""The texts of a code agent: what the model said beside its code, and what the code printed."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Struct

_LABEL: Final = re.compile(r"\A\s*Thought:")
_OPENING: Final = re.compile(r"\n?[^\S\n]*(?:<code>|```\w*)\s*\Z")
_CLOSING: Final = re.compile(r"\A\s*(?:</code>|```)[^\S\n]*\n?")
_OBSERVED: Final = re.compile(
    r"Execution logs:\n(.*?)\n?Last output from code snippet:\n(.*)", re.DOTALL
)


class _Structured(Struct):
    """What a code agent with structured output says."""

    thought: str
    code: str


class CodeText:
    """A text that comes in pieces: what is said, and the code after the opening tag.

    Without a closing tag, all that follows is code. What may be the start of a tag is held back.
    """

    def __init__(self, opening: str = "<code>", closing: str | None = None) -> None:
        self._opening, self._closing = opening, closing
        self._held = ""
        self.has_code = False
        """Whether the opening tag has come."""
        self.has_ended = False
        """Whether the closing tag has come too."""

    def feed(self, text: str) -> tuple[str, str]:
        """What is said and the code in another piece."""
        said, self._held = self._held + text, ""
        if not self.has_code:
            said, found, rest = said.partition(self._opening)
            if not found:
                return self._hold(said, self._opening), ""
            self.has_code = True
            return said, self._code(rest)
        if self.has_ended:
            return said, ""
        return "", self._code(said)

    def _code(self, text: str) -> str:
        if self._closing is None:
            return text
        code, found, _ = text.partition(self._closing)
        self.has_ended = bool(found)
        return code if found else self._hold(code, self._closing)

    def _hold(self, text: str, tag: str) -> str:
        most = min(len(tag) - 1, len(text))
        held = next((n for n in range(most, 0, -1) if tag.startswith(text[-n:])), 0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> str:
        """What was held back, which is no tag then."""
        held, self._held = self._held, ""
        return held


def without_code(text: str, code: str) -> str | None:
    """What the model said beside its code; `None` if the code is not in it as it is."""
    before, found, after = text.rpartition(code.strip() or "\0")
    if found:
        said = _LABEL.sub("", _OPENING.sub("", before))
        kept = [said.strip(), _CLOSING.sub("", after).strip()]
        return "\n\n".join(filter(None, kept))
    try:
        return msgspec.json.decode(text, type=_Structured).thought
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


def printed(observation: str) -> str:
    """What code printed; what it returned, if it printed nothing."""
    found = _OBSERVED.fullmatch(observation)
    if found is None:
        return observation
    logs, value = found.groups()
    return logs or ("" if value == "None" else value)
