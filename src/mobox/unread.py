"""The lines of a run that its parser did not recognize: how many, and of which kinds.

Rule 1: a run of which no line was recognized fails, with the error NOT_UNDERSTOOD. START and DONE
        do not count as recognized lines.
Rule 2: error messages name keys and types of a few lines, shortened, and never their content.
Rule 3: a log gives the same counts as the lines that it was made of: see `recall`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mobox.events import JSON, Error, EventType, Raw, StreamEvent
from mobox.parsers.detection import Detector
from mobox.printable import on_one_line

__all__ = ["NOT_UNDERSTOOD", "UnreadLines", "is_unread", "shape_of"]

NOT_UNDERSTOOD: Final = "not_understood"
"""The code of the error."""

_FRAME: Final = {EventType.START, EventType.DONE}
_SERVERS_OWN: Final = {*_FRAME, EventType.STATUS, EventType.INPUT_RESPONSE, EventType.CUSTOM}
"""Events of a log that an agent may not have emitted."""
_READ: Final = (
    "not shown", "told before", "answered already", "somebody is asked first",
    "stray ", "choice ", "another candidate",
)  # fmt: skip
"""Prefixes of the `source` of a RAW whose line was recognized, but is no event of its own."""
_KEYS: Final = 8
_KEY: Final = 40
_TYPES: Final = ((bool, "a boolean"), (str, "a string"), (int | float, "a number"))
_AGENTS: Final = "docs/agents.md"
_ADD_A_FRAMEWORK: Final = "docs/add-a-framework.md"


def is_unread(event: StreamEvent) -> bool:
    """Whether this is a line, or a part of one, that was not recognized."""
    return isinstance(event, Raw) and not (event.source or "").startswith(_READ)


class UnreadLines:
    """The unrecognized lines of one run."""

    def __init__(self, framework: str) -> None:
        self.count = 0
        self.understood = False
        """Whether any line was recognized."""
        self._framework = framework
        self._first = ""
        self._has_json = False
        self._detector = Detector()

    def see(self, events: Iterable[StreamEvent]) -> None:
        """Take the events that a parser made of an agent's lines."""
        for event in events:
            if isinstance(event, Raw):
                if is_unread(event):
                    self._add(event)
            elif event.type not in _FRAME:
                self.understood = True

    def recall(self, events: Iterable[StreamEvent]) -> None:
        """Take the events of a log, which has the server's own events too."""
        self.see(event for event in events if event.type not in _SERVERS_OWN)

    def afresh(self) -> UnreadLines:
        """Reset the count for the same run; that a line was recognized stays true."""
        lines = UnreadLines(self._framework)
        lines.understood = self.understood
        return lines

    def _add(self, event: Raw) -> None:
        self.count += 1
        is_json = isinstance(event.raw, dict | list)
        if self.count == 1 or (is_json and not self._has_json):
            which = "line" if self.count == 1 else "JSON line"
            self._first = f"The first {which} is {shape_of(event)}."
        self._has_json = self._has_json or is_json
        if not self.understood:
            self._detector.see(event.raw)

    def error(self) -> Error | None:
        """The error that ends a run of which no line was recognized; `None` for other runs."""
        if self.understood or not self.count:
            return None
        return Error(message=self.summary(), code=NOT_UNDERSTOOD, retryable=False)

    def summary(self) -> str:
        """How many lines there are, what the first looks like, and what to do."""
        if self.understood:
            lines = "1 line" if self.count == 1 else f"{self.count:,} lines"
            return f"{lines} could not be read as {self._framework}. {self._first}"
        lines = "Not one line" if self.count == 1 else f"None of the {self.count:,} lines"
        return f"{lines} could be read as {self._framework}. {self._first} {self._advice()}"

    def _advice(self) -> str:
        if not self._has_json:
            return f"An agent writes JSON lines to its standard output: {_AGENTS}"
        guess = self._detector.guess()
        if guess is None:
            return f"Mobox knows no format that looks like it: {_ADD_A_FRAMEWORK}"
        looks = f"It looks like {guess.name}"
        if guess.framework is None:
            return f"{looks}; Mobox has no parser for them yet: {_ADD_A_FRAMEWORK}"
        if guess.framework == self._framework:
            return f"{looks}, but with fields that this version of Mobox cannot read."
        return f"{looks}: set framework: {guess.framework}"


def shape_of(event: Raw) -> str:
    """The kind of value that a line is, without its content."""
    match event.raw:
        case {"dropped_bytes": int() as size} if event.source is not None:
            return f"too long to be read ({size:,} bytes)"
        case dict() as line if line:
            return f"an object with the {_keys_of(line)}"
        case dict():
            return "an empty object"
        case list() as items:
            return f"an array of {len(items):,} values"
        case str() if event.source is not None:
            return "text, not JSON"
        case None:
            return "null"
        case value:
            return next(name for kind, name in _TYPES if isinstance(value, kind))


def _keys_of(line: dict[str, JSON]) -> str:
    shown = ", ".join(on_one_line(key, _KEY) for key in list(line)[:_KEYS])
    more = f" and {len(line) - _KEYS:,} more" if len(line) > _KEYS else ""
    return f"{'key' if len(line) == 1 else 'keys'} {shown}{more}"
