"""The lines of `mobox.emitter`, `{"type": …, "data": {…}}`, which any framework's agents may print.

Rule 1: LINES holds the lines of the event-mapping document; a line of exactly `type` and `data`
        whose type is an EventType is that event itself.
Rule 2: a line of LINES is read by a Form: other names for a field are a row of its `names`, the
        first present one wins, null is the same as absent.
Rule 3: fields that a form does not read, and unknown enum values, are kept in
        `provider["emitted"]` of the first event made: nothing of a known line is lost.
Rule 4: a value of the wrong type raises `msgspec.ValidationError` before any state has changed.
Rule 5: lines have few ids. Missing ones are generated; a result or an end without one belongs to
        the oldest open call. A thought has no id even if its line has, as thoughts share a block.
Rule 6: a thought that comes both from a call and from a line is emitted once, for the first.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from mobox.events import JSON
from mobox.parsers.emitted.lines import LINES
from mobox.parsers.emitted.reader import EmittedLines
from mobox.parsers.formats import Format

# The fast path for the line that agents print most: text, and nothing else.

_STARTS = (b'{"type":"text","data":{"content":"', b'{"type": "text", "data": {"content": "')


class _Content(Struct, forbid_unknown_fields=True, gc=False):
    content: str


class _TextLine(Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    data: _Content


_decode = msgspec.json.Decoder(_TextLine).decode


def plain_text(line: bytes) -> str | None:
    """The text of a text line; `None` if it has other fields or another form."""
    if not line.startswith(_STARTS):
        return None
    try:
        return _decode(line).data.content
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


__all__ = ["EmittedLines", "plain_text"]


# The format of the simplified lines.

_knows = EmittedLines().knows


def _line(line: JSON) -> float:
    return 1.0 if isinstance(line, dict) and _knows(line) else 0.0


EMITTED = Format("Mobox's simplified lines", (_line,), kind=("type",), known=tuple(LINES))
