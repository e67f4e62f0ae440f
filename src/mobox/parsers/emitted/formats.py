"""The format of the simplified lines."""

from __future__ import annotations

from mobox.events import JSON
from mobox.parsers.emitted.reader import EmittedLines
from mobox.parsers.formats import Format

__all__ = ["EMITTED"]

_knows = EmittedLines().knows


def _line(line: JSON) -> float:
    return 1.0 if isinstance(line, dict) and _knows(line) else 0.0


EMITTED = Format("Mobox's simplified lines", (_line,))
